// SPDX-License-Identifier: MIT
// The host interface: registers, queues, executors and bus masters, with the service plane and the
// edge links towards the wafer. Without port groups one bus master serves all; with them each group
// of GROUP columns has executors of copies and streams, a part of the service plane, and a bus
// master of its own.

module wse_host #(
  parameter int unsigned ROWS = 4,
  parameter int unsigned COLS = 4,
  parameter int unsigned NQ = 5,
  parameter bit HOSTFP = 1'b0,
  parameter int unsigned GROUP = 0,       // columns of a port group; 0: one bus for all
  parameter int unsigned NP = GROUP == 0 ? 1 : 1 + COLS / (GROUP + 32'(GROUP == 0)),  // AXI masters
  parameter int unsigned NS = GROUP == 0 ? 1 : NP - 1   // parts of the service plane
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  // AXI4-Lite target: BAR0
  input  logic            s_awvalid_i,
  output logic            s_awready_o,
  input  logic [15:0]     s_awaddr_i,
  input  logic            s_wvalid_i,
  output logic            s_wready_o,
  input  logic [31:0]     s_wdata_i,
  output logic            s_bvalid_o,
  input  logic            s_bready_i,
  input  logic            s_arvalid_i,
  output logic            s_arready_o,
  input  logic [15:0]     s_araddr_i,
  output logic            s_rvalid_o,
  input  logic            s_rready_i,
  output logic [31:0]     s_rdata_o,
  // AXI4 masters: 0 of rings (and, without groups, of all), 1 + g of group g
  output logic [NP-1:0]     m_arvalid_o,
  input  logic [NP-1:0]     m_arready_i,
  output logic [64*NP-1:0]  m_araddr_o,
  output logic [8*NP-1:0]   m_arlen_o,
  input  logic [NP-1:0]     m_rvalid_i,
  output logic [NP-1:0]     m_rready_o,
  input  logic [64*NP-1:0]  m_rdata_i,
  input  logic [2*NP-1:0]   m_rresp_i,
  input  logic [NP-1:0]     m_rlast_i,
  output logic [NP-1:0]     m_awvalid_o,
  input  logic [NP-1:0]     m_awready_i,
  output logic [64*NP-1:0]  m_awaddr_o,
  output logic [8*NP-1:0]   m_awlen_o,
  output logic [NP-1:0]     m_wvalid_o,
  input  logic [NP-1:0]     m_wready_i,
  output logic [64*NP-1:0]  m_wdata_o,
  output logic [8*NP-1:0]   m_wstrb_o,
  output logic [NP-1:0]     m_wlast_o,
  input  logic [NP-1:0]     m_bvalid_i,
  output logic [NP-1:0]     m_bready_o,
  input  logic [2*NP-1:0]   m_bresp_i,
  // MSI-X requests
  output logic            irq_o,
  output logic [4:0]      irq_vec_o,
  // debugger: boot or hold one core (service plane operations)
  input  logic            dbg_valid_i,
  output logic            dbg_ready_o,
  input  logic [3:0]      dbg_op_i,
  input  logic [15:0]     dbg_addr_i,
  input  logic [15:0]     dbg_row_i,
  input  logic [15:0]     dbg_col_i,
  // wafer
  output logic            dev_rst_no,
  output logic            tile_clear_o,
  output logic [7*COLS-1:0]  north_head_o,
  output logic [32*COLS-1:0] north_data_o,
  input  logic [6*COLS-1:0]  north_cr_i,
  input  logic [7*COLS-1:0]  south_head_i,
  input  logic [32*COLS-1:0] south_data_i,
  output logic [6*COLS-1:0]  south_cr_o,
  output logic [4*NS-1:0]  svc_op_o,           // of each group
  output logic [16*NS-1:0] svc_addr_o,
  output logic [24*NS-1:0] svc_rd_core_o,
  output logic [32*NS-1:0] svc_wdata_lo_o,
  output logic [32*NS-1:0] svc_wdata_hi_o,
  output logic [ROWS*NS-1:0] svc_rows_o,
  output logic [COLS-1:0] svc_cols_o,
  input  logic [32*NS-1:0] svc_rdata_lo_i,
  input  logic [32*NS-1:0] svc_rdata_hi_i,
  input  logic            svc_busy_i,
  output logic            st_en_o,
  output logic [23:0]     st_core_o,
  input  wse_port_pkg::status_t st_i,
  output logic [ROWS-1:0] st_rows_o,
  output logic [COLS-1:0] st_cols_o,
  input  wse_port_pkg::any_t st_any_i,
  input  logic            moved_i,
  input  logic            any_fault_i,
  input  logic [16*wse_regs_pkg::CNT_CORE_N-1:0] cnt_core_i,
  input  logic [16*wse_regs_pkg::CNT_LINK_N-1:0] cnt_link_i,
  output logic [31:0]     cnt_sel_o,
  input  logic [63:0]     cnt_val_i,
  output logic            idle_o,            // nothing to do before the next doorbell
  output logic            halted_o,
  // an edge port transferred, or the bus has not answered yet
  output logic            edge_moved_o
);

  logic        rst_n, flush, quiet;
  logic [63:0] cycle;
  logic        en, rdy, halted, busy, q_irq, db_valid;
  logic [31:0] aq_size, fault_size, fault_head, fault_tail, fault_lost, db_value;
  logic [63:0] asq, acq, fault_base;
  logic [4:0]  q_irq_vec;
  logic [7:0]  db_index;
  wse_regs_pkg::cnt_tile_t cnt_tile;
  wse_regs_pkg::cnt_queue_t cnt_queue;
  logic [2:0]  cnt_which;

  // bus master's clients
  logic [3:0]  rreq_valid, rreq_ready, rd_valid;
  logic [63:0] rreq_addr0, rreq_addr1, rreq_addr2, rreq_addr3;
  logic [5:0]  rreq_beats1, rreq_beats2, rreq_beats3;
  logic [23:0] rreq_tag1, rreq_tag2, rreq_tag3, rd_tag;
  logic [63:0] rd_data, rd_addr;
  logic [4:0]  rd_beat;
  logic        rd_last, rd_err;
  logic [2:0]  wreq_valid, wreq_ready, wdat_valid, wdat_ready, wrsp_valid;
  logic [63:0] wreq_addr0, wreq_addr1, wreq_addr2, wdat0, wdat1, wdat2, wrsp_addr;
  logic [5:0]  wreq_beats0, wreq_beats1, wreq_beats2;
  logic [7:0]  wstrb2;
  logic        wrsp_err;

  logic [NP-1:0] quiet_p;
  logic [4*NP-1:0] rd_bytes, wr_bytes;

  // executors
  logic [3:0]  ld, go, abort, abort_status, ack, done, ld_idx;
  logic [2:0]  held, bus;                 // of copies, streams in and out
  logic [63:0] ld_word;
  logic [3:0]  status0, status1, status2, status3;
  logic [63:0] iova0, iova1, iova2;
  logic [15:0] port0, nports0, port1, nports1, port2, nports2;
  logic [4:0]  color1, color2;
  logic        edge_moved, closed, in_moved, out_moved;
  logic [15:0] f_row, f_col, f_ncores;
  logic [31:0] f_cause, f_pc, f_addr, f_color, f_value;

  // service plane
  logic        a_valid;
  logic [3:0]  a_op;
  logic [15:0] a_addr;
  logic [63:0] a_wdata;
  logic [ROWS-1:0] a_rows;
  logic [COLS-1:0] a_cols;

  assign dev_rst_no = rst_n;
  assign halted_o = halted;
  assign edge_moved_o = edge_moved;
  // START's rectangle, from its begin on
  assign st_rows_o = a_rows;
  assign st_cols_o = a_cols;
  // a slow bus is no deadlock: a request without its answer counts as a move
  assign edge_moved = in_moved | out_moved | !quiet;

  wse_bar #(.ROWS(ROWS), .COLS(COLS), .NQ(NQ), .HOSTFP(HOSTFP), .GROUP(GROUP)) u_bar (
    .clk_i, .rst_ni,
    .awvalid_i(s_awvalid_i), .awready_o(s_awready_o), .awaddr_i(s_awaddr_i),
    .wvalid_i(s_wvalid_i), .wready_o(s_wready_o), .wdata_i(s_wdata_i),
    .bvalid_o(s_bvalid_o), .bready_i(s_bready_i),
    .arvalid_i(s_arvalid_i), .arready_o(s_arready_o), .araddr_i(s_araddr_i),
    .rvalid_o(s_rvalid_o), .rready_i(s_rready_i), .rdata_o(s_rdata_o),
    .dev_rst_no(rst_n), .flush_o(flush), .quiet_i(quiet),
    .cycle_o(cycle), .en_o(en), .aq_size_o(aq_size), .asq_o(asq), .acq_o(acq),
    .fault_base_o(fault_base), .fault_size_o(fault_size), .fault_head_o(fault_head),
    .fault_tail_i(fault_tail), .fault_lost_i(fault_lost),
    .rdy_i(rdy), .halted_i(halted), .busy_i(busy), .any_fault_i,
    .db_valid_o(db_valid), .db_index_o(db_index), .db_value_o(db_value),
    .cnt_core_i, .cnt_link_i, .cnt_tile_i(cnt_tile), .cnt_queue_i(cnt_queue),
    .cnt_which_i(cnt_which),
    .cnt_sel_o, .cnt_val_i,
    .irq_set_i(q_irq), .irq_set_vec_i(q_irq_vec), .irq_o, .irq_vec_o
  );

  wse_queue #(.ROWS(ROWS), .COLS(COLS), .NQ(NQ)) u_queue (
    .clk_i, .rst_ni(rst_n), .cycle_i(cycle),
    .en_i(en), .aq_size_i(aq_size), .asq_i(asq), .acq_i(acq),
    .fault_base_i(fault_base), .fault_size_i(fault_size), .fault_head_i(fault_head),
    .fault_tail_o(fault_tail), .fault_lost_o(fault_lost),
    .rdy_o(rdy), .halted_o(halted), .busy_o(busy), .idle_o,
    .db_valid_i(db_valid), .db_index_i(db_index), .db_value_i(db_value),
    .irq_o(q_irq), .irq_vec_o(q_irq_vec),
    .rreq_valid_o(rreq_valid[0]), .rreq_ready_i(rreq_ready[0]), .rreq_addr_o(rreq_addr0),
    .rd_valid_i(rd_valid[0]), .rd_data_i(rd_data), .rd_beat_i(rd_beat[3:0]), .rd_last_i(rd_last),
    .rd_err_i(rd_err),
    .wreq_valid_o(wreq_valid[0]), .wreq_ready_i(wreq_ready[0]), .wreq_addr_o(wreq_addr0),
    .wreq_beats_o(wreq_beats0), .wdat_valid_o(wdat_valid[0]), .wdat_ready_i(wdat_ready[0]),
    .wdat_data_o(wdat0), .wrsp_valid_i(wrsp_valid[0]), .wrsp_err_i(wrsp_err),
    .ld_o(ld), .ld_idx_o(ld_idx), .ld_word_o(ld_word), .go_o(go), .abort_o(abort),
    .abort_status_o(abort_status), .ack_o(ack), .done_i(done),
    .status0_i(status0), .status1_i(status1), .status2_i(status2), .status3_i(status3),
    .iova0_i(iova0), .iova1_i(iova1), .iova2_i(iova2),
    .port0_i(port0), .nports0_i(nports0), .port1_i(port1), .nports1_i(nports1), .port2_i(port2),
    .nports2_i(nports2), .held_i(held), .bus0_i(bus[0]), .bus1_i(bus[1]), .bus2_i(bus[2]),
    .color1_i(color1), .color2_i(color2),
    .f_row_i(f_row), .f_col_i(f_col), .f_ncores_i(f_ncores), .f_cause_i(f_cause), .f_pc_i(f_pc),
    .f_addr_i(f_addr), .f_color_i(f_color), .f_value_i(f_value), .closed_i(closed),
    .moved_i(moved_i | edge_moved), .tile_clear_o, .cnt_o(cnt_queue), .cnt_which_o(cnt_which)
  );

  wse_start #(.ROWS(ROWS), .COLS(COLS)) u_start (
    .clk_i, .rst_ni(rst_n),
    .ld_i(ld[3]), .ld_idx_i(ld_idx), .ld_word_i(ld_word), .go_i(go[3]), .abort_i(abort[3]),
    .abort_status_i(abort_status), .closed_o(closed), .done_o(done[3]),
    .status_o(status3), .f_row_o(f_row), .f_col_o(f_col), .f_ncores_o(f_ncores),
    .f_cause_o(f_cause),
    .f_pc_o(f_pc), .f_addr_o(f_addr), .f_color_o(f_color), .f_value_o(f_value), .ack_i(ack[3]),
    .svc_valid_o(a_valid), .svc_op_o(a_op), .svc_addr_o(a_addr), .svc_wdata_o(a_wdata),
    .svc_rows_o(a_rows), .svc_cols_o(a_cols), .svc_busy_i,
    .any_held_i(st_any_i.held), .any_open_i(st_any_i.open), .any_bad_i(st_any_i.bad),
    .st_en_o, .st_core_o, .st_held_i(st_i.held), .st_done_i(st_i.done),
    .st_done_value_i(st_i.done_value),
    .st_faulted_i(st_i.faulted), .st_fault_cause_i(st_i.fault_cause), .st_fault_pc_i(st_i.fault_pc),
    .st_fault_addr_i(st_i.fault_addr), .st_fault_color_i(st_i.fault_color),
    .st_fault_value_i(st_i.fault_value),
    .st_wait_cause_i(st_i.wait_cause), .st_wait_color_i(st_i.wait_color)
  );

  wse_dma u_dma (
    .clk_i, .rst_ni, .flush_i(flush), .quiet_o(quiet_p[0]),
    .rreq_valid_i(rreq_valid), .rreq_ready_o(rreq_ready),
    .rreq_addr0_i(rreq_addr0), .rreq_addr1_i(rreq_addr1), .rreq_addr2_i(rreq_addr2),
    .rreq_addr3_i(rreq_addr3), .rreq_beats0_i(6'd16), .rreq_beats1_i(rreq_beats1),
    .rreq_beats2_i(rreq_beats2), .rreq_beats3_i(rreq_beats3), .rreq_tag1_i(rreq_tag1),
    .rreq_tag2_i(rreq_tag2), .rreq_tag3_i(rreq_tag3),
    .rd_valid_o(rd_valid), .rd_data_o(rd_data), .rd_beat_o(rd_beat), .rd_last_o(rd_last),
    .rd_err_o(rd_err), .rd_tag_o(rd_tag), .rd_addr_o(rd_addr),
    .wreq_valid_i(wreq_valid), .wreq_ready_o(wreq_ready), .wreq_addr0_i(wreq_addr0),
    .wreq_addr1_i(wreq_addr1), .wreq_addr2_i(wreq_addr2), .wreq_beats0_i(wreq_beats0),
    .wreq_beats1_i(wreq_beats1), .wreq_beats2_i(wreq_beats2), .wdat_valid_i(wdat_valid),
    .wdat_ready_o(wdat_ready), .wdat_data0_i(wdat0), .wdat_data1_i(wdat1), .wdat_data2_i(wdat2),
    .wdat_strb2_i(wstrb2), .wrsp_valid_o(wrsp_valid), .wrsp_err_o(wrsp_err),
    .wrsp_addr_o(wrsp_addr),
    .rd_bytes_o(rd_bytes[3:0]), .wr_bytes_o(wr_bytes[3:0]),
    .arvalid_o(m_arvalid_o[0]), .arready_i(m_arready_i[0]), .araddr_o(m_araddr_o[63:0]),
    .arlen_o(m_arlen_o[7:0]),
    .rvalid_i(m_rvalid_i[0]), .rready_o(m_rready_o[0]), .rdata_i(m_rdata_i[63:0]),
    .rresp_i(m_rresp_i[1:0]),
    .rlast_i(m_rlast_i[0]), .awvalid_o(m_awvalid_o[0]), .awready_i(m_awready_i[0]),
    .awaddr_o(m_awaddr_o[63:0]),
    .awlen_o(m_awlen_o[7:0]), .wvalid_o(m_wvalid_o[0]), .wready_i(m_wready_i[0]),
    .wdata_o(m_wdata_o[63:0]),
    .wstrb_o(m_wstrb_o[7:0]), .wlast_o(m_wlast_o[0]), .bvalid_i(m_bvalid_i[0]),
    .bready_o(m_bready_o[0]),
    .bresp_i(m_bresp_i[1:0])
  );

  // what the ports have moved in the last cycle
  always_comb begin : p_sum
    integer i;
    cnt_tile = '0;
    for (i = 0; i < NP; i++) begin
      cnt_tile.dma_rd = cnt_tile.dma_rd + 12'(rd_bytes[4*i +: 4]);
      cnt_tile.dma_wr = cnt_tile.dma_wr + 12'(wr_bytes[4*i +: 4]);
    end
  end
  assign quiet = &quiet_p;

  if (GROUP == 0) begin : g_one
      assign held = '0;
      assign bus = '0;
      assign port0 = '0;
      assign nports0 = '0;

      // copies on the service plane
      logic        b_valid, b_ready, svc_rd_valid;
      logic [3:0]  b_op;
      logic [15:0] b_addr;
      logic [63:0] b_wdata;
      logic [ROWS-1:0] b_rows;
      logic [COLS-1:0] b_cols;
      logic [23:0] b_core;

      wse_copy #(.ROWS(ROWS), .COLS(COLS)) u_copy (
        .clk_i, .rst_ni(rst_n), .c0_i(16'd0),
        .ld_i(ld[0]), .ld_idx_i(ld_idx), .ld_word_i(ld_word), .go_i(go[0]), .abort_i(abort[0]),
        .abort_status_i(abort_status), .done_o(done[0]), .status_o(status0),
        .iova_o(iova0), .ack_i(ack[0]),
        .svc_valid_o(b_valid), .svc_ready_i(b_ready), .svc_op_o(b_op), .svc_addr_o(b_addr),
        .svc_wdata_o(b_wdata), .svc_rows_o(b_rows), .svc_cols_o(b_cols), .svc_core_o(b_core),
        .svc_rd_valid_i(svc_rd_valid), .svc_rdata_i({svc_rdata_hi_i, svc_rdata_lo_i}),
        .rreq_valid_o(rreq_valid[1]), .rreq_ready_i(rreq_ready[1]), .rreq_addr_o(rreq_addr1),
        .rreq_beats_o(rreq_beats1), .rreq_tag_o(rreq_tag1),
        .rd_valid_i(rd_valid[1]), .rd_data_i(rd_data), .rd_last_i(rd_last), .rd_err_i(rd_err),
        .rd_tag_i(rd_tag), .rd_addr_i(rd_addr),
        .wreq_valid_o(wreq_valid[1]), .wreq_ready_i(wreq_ready[1]), .wreq_addr_o(wreq_addr1),
        .wreq_beats_o(wreq_beats1), .wdat_valid_o(wdat_valid[1]), .wdat_ready_i(wdat_ready[1]),
        .wdat_data_o(wdat1), .wrsp_valid_i(wrsp_valid[1]), .wrsp_err_i(wrsp_err),
        .wrsp_addr_i(wrsp_addr)
      );

      wse_service #(.ROWS(ROWS), .COLS(COLS)) u_service (
        .clk_i, .rst_ni(rst_n),
        .a_valid_i(a_valid), .a_op_i(a_op), .a_addr_i(a_addr), .a_wdata_i(a_wdata),
        .a_rows_i(a_rows), .a_cols_i(a_cols),
        .b_valid_i(b_valid), .b_ready_o(b_ready), .b_op_i(b_op), .b_addr_i(b_addr),
        .b_wdata_i(b_wdata), .b_rows_i(b_rows), .b_cols_i(b_cols), .b_core_i(b_core),
        .d_valid_i(dbg_valid_i), .d_ready_o(dbg_ready_o), .d_op_i(dbg_op_i), .d_addr_i(dbg_addr_i),
        .d_row_i(dbg_row_i), .d_col_i(dbg_col_i),
        .svc_op_o, .svc_addr_o, .svc_wdata_lo_o, .svc_wdata_hi_o, .svc_rows_o, .svc_cols_o,
        .svc_rd_core_o, .rd_valid_o(svc_rd_valid)
      );

      wse_stream_in #(.COLS(COLS)) u_stream_in (
        .clk_i, .rst_ni(rst_n), .clear_i(tile_clear_o), .c0_i(16'd0),
        .ld_i(ld[1]), .ld_idx_i(ld_idx), .ld_word_i(ld_word), .go_i(go[1]), .abort_i(abort[1]),
        .abort_status_i(abort_status), .done_o(done[1]), .status_o(status1),
        .iova_o(iova1), .port_o(port1), .nports_o(nports1), .color_o(color1), .moved_o(in_moved),
        .ack_i(ack[1]),
        .rreq_valid_o(rreq_valid[2]), .rreq_ready_i(rreq_ready[2]), .rreq_addr_o(rreq_addr2),
        .rreq_beats_o(rreq_beats2), .rreq_tag_o(rreq_tag2), .rd_valid_i(rd_valid[2]),
        .rd_data_i(rd_data),
        .rd_beat_i(rd_beat), .rd_last_i(rd_last), .rd_err_i(rd_err), .rd_tag_i(rd_tag),
        .rd_addr_i(rd_addr),
        .north_head_o, .north_data_o, .north_cr_i
      );

      wse_stream_out #(.COLS(COLS)) u_stream_out (
        .clk_i, .rst_ni(rst_n), .clear_i(tile_clear_o), .c0_i(16'd0),
        .ld_i(ld[2]), .ld_idx_i(ld_idx), .ld_word_i(ld_word), .go_i(go[2]), .abort_i(abort[2]),
        .abort_status_i(abort_status), .done_o(done[2]), .status_o(status2),
        .iova_o(iova2), .port_o(port2), .nports_o(nports2), .color_o(color2), .moved_o(out_moved),
        .ack_i(ack[2]),
        .rreq_valid_o(rreq_valid[3]), .rreq_ready_i(rreq_ready[3]), .rreq_addr_o(rreq_addr3),
        .rreq_beats_o(rreq_beats3), .rreq_tag_o(rreq_tag3), .rd_valid_i(rd_valid[3]),
        .rd_data_i(rd_data),
        .rd_last_i(rd_last), .rd_err_i(rd_err), .rd_tag_i(rd_tag), .rd_addr_i(rd_addr),
        .wreq_valid_o(wreq_valid[2]), .wreq_ready_i(wreq_ready[2]), .wreq_addr_o(wreq_addr2),
        .wreq_beats_o(wreq_beats2), .wdat_valid_o(wdat_valid[2]), .wdat_ready_i(wdat_ready[2]),
        .wdat_data_o(wdat2), .wdat_strb_o(wstrb2), .wrsp_valid_i(wrsp_valid[2]),
        .wrsp_err_i(wrsp_err),
        .wrsp_addr_i(wrsp_addr),
        .south_head_i, .south_data_i, .south_cr_o
      );
  end else begin : g_groups
    localparam int unsigned NG = COLS / GROUP;

    logic [NG-1:0]    copy_done, in_done, out_done, port_moved, d_ready;
    logic [4*NG-1:0]  copy_status, in_status, out_status;
    logic [64*NG-1:0] copy_iova, in_iova, out_iova;
    logic [16*NG-1:0] in_port, out_port, in_nports, out_nports;
    logic [5*NG-1:0]  in_color, out_color;
    logic             copy_abort, in_abort, out_abort;
    logic [3:0]       copy_abort_status, in_abort_status, out_abort_status;
    logic [2:0]       group_ack;

    assign rreq_valid[3:1] = '0;
    assign {rreq_addr1, rreq_addr2, rreq_addr3} = '0;
    assign {rreq_beats1, rreq_beats2, rreq_beats3} = '0;
    assign {rreq_tag1, rreq_tag2, rreq_tag3} = '0;
    assign {wreq_valid[2:1], wdat_valid[2:1]} = '0;
    assign {wreq_addr1, wdat1, wreq_addr2, wdat2} = '0;
    assign {wreq_beats1, wreq_beats2} = '0;
    assign wstrb2 = '0;
    assign dbg_ready_o = &d_ready;             // the same in all

    logic unused;
    assign unused = &{1'b0, rd_tag, rd_addr, wrsp_addr};
    assign in_moved = |port_moved;
    assign out_moved = 1'b0;
    assign color1 = in_color[4:0];             // the same in all
    assign color2 = out_color[4:0];

    wse_io_join #(.N(NG), .COLS(GROUP)) u_join_copy (
      .clk_i, .rst_ni(rst_n), .go_i(go[0]), .abort_i(abort[0]), .abort_status_i(abort_status),
      .ack_i(ack[0]), .done_o(done[0]), .held_o(held[0]), .status_o(status0),
      .iova_o(iova0), .bus_o(bus[0]), .port_o(port0), .ack_o(group_ack[0]),
      .nports_o(nports0), .abort_o(copy_abort), .abort_status_o(copy_abort_status),
      .done_i(copy_done), .status_i(copy_status), .iova_i(copy_iova), .port_i('0), .nports_i('0)
    );
    wse_io_join #(.N(NG), .COLS(GROUP)) u_join_in (
      .clk_i, .rst_ni(rst_n), .go_i(go[1]), .abort_i(abort[1]), .abort_status_i(abort_status),
      .ack_i(ack[1]), .done_o(done[1]), .held_o(held[1]), .status_o(status1),
      .iova_o(iova1), .bus_o(bus[1]), .port_o(port1), .ack_o(group_ack[1]),
      .nports_o(nports1), .abort_o(in_abort), .abort_status_o(in_abort_status), .done_i(in_done),
      .status_i(in_status), .iova_i(in_iova), .port_i(in_port), .nports_i(in_nports)
    );
    wse_io_join #(.N(NG), .COLS(GROUP)) u_join_out (
      .clk_i, .rst_ni(rst_n), .go_i(go[2]), .abort_i(abort[2]), .abort_status_i(abort_status),
      .ack_i(ack[2]), .done_o(done[2]), .held_o(held[2]), .status_o(status2),
      .iova_o(iova2), .bus_o(bus[2]), .port_o(port2), .ack_o(group_ack[2]),
      .nports_o(nports2), .abort_o(out_abort), .abort_status_o(out_abort_status), .done_i(out_done),
      .status_i(out_status), .iova_i(out_iova), .port_i(out_port), .nports_i(out_nports)
    );

    for (genvar g = 0; g < NG; g++) begin : g_group
      logic [15:0] d_col;                      // 0 to GROUP - 1: it is here

      assign d_col = dbg_col_i - 16'(GROUP * g);
      wse_io_group #(.ROWS(ROWS), .COLS(GROUP)) u_group (
        .clk_i, .rst_ni, .dev_rst_ni(rst_n), .flush_i(flush), .quiet_o(quiet_p[g+1]),
        .clear_i(tile_clear_o), .c0_i(16'(g * GROUP)),
        .ld_i(ld[2:0]), .ld_idx_i(ld_idx), .ld_word_i(ld_word), .go_i(go[2:0]),
        .abort_i({out_abort, in_abort, copy_abort}), .abort0_status_i(copy_abort_status),
        .abort1_status_i(in_abort_status), .abort2_status_i(out_abort_status), .ack_i(group_ack),
        .done_o({out_done[g], in_done[g], copy_done[g]}), .status0_o(copy_status[4*g +: 4]),
        .status1_o(in_status[4*g +: 4]), .status2_o(out_status[4*g +: 4]),
        .iova0_o(copy_iova[64*g +: 64]), .iova1_o(in_iova[64*g +: 64]),
        .iova2_o(out_iova[64*g +: 64]),
        .port1_o(in_port[16*g +: 16]), .port2_o(out_port[16*g +: 16]),
        .nports1_o(in_nports[16*g +: 16]), .nports2_o(out_nports[16*g +: 16]),
        .color1_o(in_color[5*g +: 5]), .color2_o(out_color[5*g +: 5]), .moved_o(port_moved[g]),
        .a_valid_i(a_valid), .a_op_i(a_op), .a_addr_i(a_addr), .a_wdata_i(a_wdata),
        .a_rows_i(a_rows), .a_cols_i(a_cols[GROUP*g +: GROUP]),
        .d_valid_i(dbg_valid_i && d_col < 16'(GROUP)), .d_ready_o(d_ready[g]), .d_op_i(dbg_op_i),
        .d_addr_i(dbg_addr_i), .d_row_i(dbg_row_i), .d_col_i(d_col),
        .svc_op_o(svc_op_o[4*g +: 4]), .svc_addr_o(svc_addr_o[16*g +: 16]),
        .svc_rd_core_o(svc_rd_core_o[24*g +: 24]), .svc_wdata_lo_o(svc_wdata_lo_o[32*g +: 32]),
        .svc_wdata_hi_o(svc_wdata_hi_o[32*g +: 32]), .svc_rows_o(svc_rows_o[ROWS*g +: ROWS]),
        .svc_cols_o(svc_cols_o[GROUP*g +: GROUP]), .svc_rdata_lo_i(svc_rdata_lo_i[32*g +: 32]),
        .svc_rdata_hi_i(svc_rdata_hi_i[32*g +: 32]),
        .rd_bytes_o(rd_bytes[4*g+4 +: 4]), .wr_bytes_o(wr_bytes[4*g+4 +: 4]),
        .arvalid_o(m_arvalid_o[g+1]), .arready_i(m_arready_i[g+1]),
        .araddr_o(m_araddr_o[64*g+64 +: 64]), .arlen_o(m_arlen_o[8*g+8 +: 8]),
        .rvalid_i(m_rvalid_i[g+1]), .rready_o(m_rready_o[g+1]), .rdata_i(m_rdata_i[64*g+64 +: 64]),
        .rresp_i(m_rresp_i[2*g+2 +: 2]), .rlast_i(m_rlast_i[g+1]), .awvalid_o(m_awvalid_o[g+1]),
        .awready_i(m_awready_i[g+1]), .awaddr_o(m_awaddr_o[64*g+64 +: 64]),
        .awlen_o(m_awlen_o[8*g+8 +: 8]), .wvalid_o(m_wvalid_o[g+1]), .wready_i(m_wready_i[g+1]),
        .wdata_o(m_wdata_o[64*g+64 +: 64]), .wstrb_o(m_wstrb_o[8*g+8 +: 8]),
        .wlast_o(m_wlast_o[g+1]), .bvalid_i(m_bvalid_i[g+1]), .bready_o(m_bready_o[g+1]),
        .bresp_i(m_bresp_i[2*g+2 +: 2]),
        .north_head_o(north_head_o[7*GROUP*g +: 7*GROUP]),
        .north_data_o(north_data_o[32*GROUP*g +: 32*GROUP]),
        .north_cr_i(north_cr_i[6*GROUP*g +: 6*GROUP]),
        .south_head_i(south_head_i[7*GROUP*g +: 7*GROUP]),
        .south_data_i(south_data_i[32*GROUP*g +: 32*GROUP]),
        .south_cr_o(south_cr_o[6*GROUP*g +: 6*GROUP])
      );
    end
  end
endmodule
