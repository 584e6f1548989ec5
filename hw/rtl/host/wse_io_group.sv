// SPDX-License-Identifier: MIT
// A few columns with a bus of their own: the executors of copies and of both streams for them,
// their part of the service plane, and a bus master behind an AXI4 port. All groups of a tile get
// the same commands; each works on those of the command's columns that it has, and is done at once
// if it has none of them.

module wse_io_group #(
  parameter int unsigned ROWS = 4,
  parameter int unsigned COLS = 4         // of the group
) (
  input  logic        clk_i,
  input  logic        rst_ni,             // of the bus master
  input  logic        dev_rst_ni,         // of the rest
  input  logic        flush_i,
  output logic        quiet_o,
  input  logic        clear_i,
  input  logic [15:0] c0_i,               // the tile's column that is the first of these
  // commands: 0 copies, 1 stream in, 2 stream out
  input  logic [2:0]  ld_i,
  input  logic [3:0]  ld_idx_i,
  input  logic [63:0] ld_word_i,
  input  logic [2:0]  go_i,
  input  logic [2:0]  abort_i,
  input  logic [3:0]  abort0_status_i,
  input  logic [3:0]  abort1_status_i,
  input  logic [3:0]  abort2_status_i,
  input  logic [2:0]  ack_i,
  output logic [2:0]  done_o,
  output logic [3:0]  status0_o,
  output logic [3:0]  status1_o,
  output logic [3:0]  status2_o,
  output logic [63:0] iova0_o,
  output logic [63:0] iova1_o,
  output logic [63:0] iova2_o,
  output logic [15:0] port1_o,
  output logic [15:0] port2_o,
  output logic [15:0] nports1_o,
  output logic [15:0] nports2_o,
  output logic [4:0]  color1_o,
  output logic [4:0]  color2_o,
  output logic        moved_o,
  output logic [3:0]  rd_bytes_o,
  output logic [3:0]  wr_bytes_o,
  // service plane: operations of the start executor and of the debugger, as wse_service has them
  input  logic            a_valid_i,
  input  logic [3:0]      a_op_i,
  input  logic [15:0]     a_addr_i,
  input  logic [63:0]     a_wdata_i,
  input  logic [ROWS-1:0] a_rows_i,
  input  logic [COLS-1:0] a_cols_i,
  input  logic            d_valid_i,
  output logic            d_ready_o,
  input  logic [3:0]      d_op_i,
  input  logic [15:0]     d_addr_i,
  input  logic [15:0]     d_row_i,
  input  logic [15:0]     d_col_i,           // of these columns
  output logic [3:0]      svc_op_o,
  output logic [15:0]     svc_addr_o,
  output logic [23:0]     svc_rd_core_o,
  output logic [31:0]     svc_wdata_lo_o,
  output logic [31:0]     svc_wdata_hi_o,
  output logic [ROWS-1:0] svc_rows_o,
  output logic [COLS-1:0] svc_cols_o,
  input  logic [31:0]     svc_rdata_lo_i,
  input  logic [31:0]     svc_rdata_hi_i,
  // AXI4 master
  output logic        arvalid_o,
  input  logic        arready_i,
  output logic [63:0] araddr_o,
  output logic [7:0]  arlen_o,
  input  logic        rvalid_i,
  output logic        rready_o,
  input  logic [63:0] rdata_i,
  input  logic [1:0]  rresp_i,
  input  logic        rlast_i,
  output logic        awvalid_o,
  input  logic        awready_i,
  output logic [63:0] awaddr_o,
  output logic [7:0]  awlen_o,
  output logic        wvalid_o,
  input  logic        wready_i,
  output logic [63:0] wdata_o,
  output logic [7:0]  wstrb_o,
  output logic        wlast_o,
  input  logic        bvalid_i,
  output logic        bready_o,
  input  logic [1:0]  bresp_i,
  // links into the wafer and out of it, one per column
  output logic [7*COLS-1:0]  north_head_o,
  output logic [32*COLS-1:0] north_data_o,
  input  logic [6*COLS-1:0]  north_cr_i,
  input  logic [7*COLS-1:0]  south_head_i,
  input  logic [32*COLS-1:0] south_data_i,
  output logic [6*COLS-1:0]  south_cr_o
);
  /*verilator no_inline_module*/

  // clients of the bus master: those of rings do not exist here
  logic [3:0]  rreq_valid, rreq_ready, rd_valid;
  logic [63:0] rreq_addr1, rreq_addr2, rreq_addr3, rd_data, rd_addr;
  logic [5:0]  rreq_beats1, rreq_beats2, rreq_beats3;
  logic [23:0] rreq_tag1, rreq_tag2, rreq_tag3, rd_tag;
  logic [4:0]  rd_beat;
  logic        rd_last, rd_err;
  logic [2:0]  wreq_valid, wreq_ready, wdat_valid, wdat_ready, wrsp_valid;
  logic [63:0] wreq_addr1, wreq_addr2, wdat1, wdat2, wrsp_addr;
  logic [5:0]  wreq_beats1, wreq_beats2;
  logic [7:0]  wstrb;
  logic        wrsp_err, in_moved, out_moved;
  // copies on the service plane
  logic        b_valid, b_ready, svc_rd_valid;
  logic [3:0]  b_op;
  logic [15:0] b_addr;
  logic [63:0] b_wdata;
  logic [ROWS-1:0] b_rows;
  logic [COLS-1:0] b_cols;
  logic [23:0] b_core;

  assign rreq_valid[0] = 1'b0;
  assign wreq_valid[0] = 1'b0;
  assign wdat_valid[0] = 1'b0;
  assign moved_o = in_moved | out_moved;

  wse_dma u_dma (
    .clk_i, .rst_ni, .flush_i, .quiet_o,
    .rreq_valid_i(rreq_valid), .rreq_ready_o(rreq_ready),
    .rreq_addr0_i('0), .rreq_addr1_i(rreq_addr1), .rreq_addr2_i(rreq_addr2),
    .rreq_addr3_i(rreq_addr3), .rreq_beats0_i('0), .rreq_beats1_i(rreq_beats1),
    .rreq_beats2_i(rreq_beats2), .rreq_beats3_i(rreq_beats3),
    .rreq_tag1_i(rreq_tag1), .rreq_tag2_i(rreq_tag2), .rreq_tag3_i(rreq_tag3),
    .rd_valid_o(rd_valid), .rd_data_o(rd_data), .rd_beat_o(rd_beat), .rd_last_o(rd_last),
    .rd_err_o(rd_err), .rd_tag_o(rd_tag), .rd_addr_o(rd_addr),
    .wreq_valid_i(wreq_valid), .wreq_ready_o(wreq_ready), .wreq_addr0_i('0),
    .wreq_addr1_i(wreq_addr1), .wreq_addr2_i(wreq_addr2), .wreq_beats0_i('0),
    .wreq_beats1_i(wreq_beats1), .wreq_beats2_i(wreq_beats2),
    .wdat_valid_i(wdat_valid), .wdat_ready_o(wdat_ready), .wdat_data0_i('0), .wdat_data1_i(wdat1),
    .wdat_data2_i(wdat2), .wdat_strb2_i(wstrb), .wrsp_valid_o(wrsp_valid), .wrsp_err_o(wrsp_err),
    .wrsp_addr_o(wrsp_addr), .rd_bytes_o, .wr_bytes_o,
    .arvalid_o, .arready_i, .araddr_o, .arlen_o, .rvalid_i, .rready_o, .rdata_i, .rresp_i, .rlast_i,
    .awvalid_o, .awready_i, .awaddr_o, .awlen_o, .wvalid_o, .wready_i, .wdata_o, .wstrb_o, .wlast_o,
    .bvalid_i, .bready_o, .bresp_i
  );

  wse_copy #(.ROWS(ROWS), .COLS(COLS)) u_copy (
    .clk_i, .rst_ni(dev_rst_ni), .c0_i,
    .ld_i(ld_i[0]), .ld_idx_i, .ld_word_i, .go_i(go_i[0]), .abort_i(abort_i[0]),
    .abort_status_i(abort0_status_i), .done_o(done_o[0]), .status_o(status0_o), .iova_o(iova0_o),
    .ack_i(ack_i[0]),
    .svc_valid_o(b_valid), .svc_ready_i(b_ready), .svc_op_o(b_op), .svc_addr_o(b_addr),
    .svc_wdata_o(b_wdata), .svc_rows_o(b_rows), .svc_cols_o(b_cols), .svc_core_o(b_core),
    .svc_rd_valid_i(svc_rd_valid), .svc_rdata_i({svc_rdata_hi_i, svc_rdata_lo_i}),
    .rreq_valid_o(rreq_valid[1]), .rreq_ready_i(rreq_ready[1]), .rreq_addr_o(rreq_addr1),
    .rreq_beats_o(rreq_beats1), .rreq_tag_o(rreq_tag1), .rd_valid_i(rd_valid[1]),
    .rd_data_i(rd_data), .rd_last_i(rd_last), .rd_err_i(rd_err), .rd_tag_i(rd_tag),
    .rd_addr_i(rd_addr),
    .wreq_valid_o(wreq_valid[1]), .wreq_ready_i(wreq_ready[1]), .wreq_addr_o(wreq_addr1),
    .wreq_beats_o(wreq_beats1), .wdat_valid_o(wdat_valid[1]), .wdat_ready_i(wdat_ready[1]),
    .wdat_data_o(wdat1), .wrsp_valid_i(wrsp_valid[1]), .wrsp_err_i(wrsp_err),
    .wrsp_addr_i(wrsp_addr)
  );

  wse_service #(.ROWS(ROWS), .COLS(COLS)) u_service (
    .clk_i, .rst_ni(dev_rst_ni),
    .a_valid_i, .a_op_i, .a_addr_i, .a_wdata_i, .a_rows_i, .a_cols_i,
    .b_valid_i(b_valid), .b_ready_o(b_ready), .b_op_i(b_op), .b_addr_i(b_addr),
    .b_wdata_i(b_wdata), .b_rows_i(b_rows), .b_cols_i(b_cols), .b_core_i(b_core),
    .d_valid_i, .d_ready_o, .d_op_i, .d_addr_i, .d_row_i, .d_col_i,
    .svc_op_o, .svc_addr_o, .svc_wdata_lo_o, .svc_wdata_hi_o, .svc_rows_o, .svc_cols_o,
    .svc_rd_core_o, .rd_valid_o(svc_rd_valid)
  );

  wse_stream_in #(.COLS(COLS)) u_stream_in (
    .clk_i, .rst_ni(dev_rst_ni), .clear_i, .c0_i,
    .ld_i(ld_i[1]), .ld_idx_i, .ld_word_i, .go_i(go_i[1]), .abort_i(abort_i[1]),
    .abort_status_i(abort1_status_i), .done_o(done_o[1]), .status_o(status1_o), .iova_o(iova1_o),
    .port_o(port1_o), .nports_o(nports1_o), .color_o(color1_o), .moved_o(in_moved),
    .ack_i(ack_i[1]),
    .rreq_valid_o(rreq_valid[2]), .rreq_ready_i(rreq_ready[2]), .rreq_addr_o(rreq_addr2),
    .rreq_beats_o(rreq_beats2), .rreq_tag_o(rreq_tag2), .rd_valid_i(rd_valid[2]),
    .rd_data_i(rd_data),
    .rd_beat_i(rd_beat), .rd_last_i(rd_last), .rd_err_i(rd_err), .rd_tag_i(rd_tag),
    .rd_addr_i(rd_addr),
    .north_head_o, .north_data_o, .north_cr_i
  );

  // four columns fill the bus with gradients: bursts of 64 bytes hide the time to an answer
  wse_stream_out #(.COLS(COLS), .WORDS(8)) u_stream_out (
    .clk_i, .rst_ni(dev_rst_ni), .clear_i, .c0_i,
    .ld_i(ld_i[2]), .ld_idx_i, .ld_word_i, .go_i(go_i[2]), .abort_i(abort_i[2]),
    .abort_status_i(abort2_status_i), .done_o(done_o[2]), .status_o(status2_o), .iova_o(iova2_o),
    .port_o(port2_o), .nports_o(nports2_o), .color_o(color2_o), .moved_o(out_moved),
    .ack_i(ack_i[2]),
    .rreq_valid_o(rreq_valid[3]), .rreq_ready_i(rreq_ready[3]), .rreq_addr_o(rreq_addr3),
    .rreq_beats_o(rreq_beats3), .rreq_tag_o(rreq_tag3), .rd_valid_i(rd_valid[3]),
    .rd_data_i(rd_data),
    .rd_last_i(rd_last), .rd_err_i(rd_err), .rd_tag_i(rd_tag), .rd_addr_i(rd_addr),
    .wreq_valid_o(wreq_valid[2]), .wreq_ready_i(wreq_ready[2]), .wreq_addr_o(wreq_addr2),
    .wreq_beats_o(wreq_beats2), .wdat_valid_o(wdat_valid[2]), .wdat_ready_i(wdat_ready[2]),
    .wdat_data_o(wdat2), .wdat_strb_o(wstrb), .wrsp_valid_i(wrsp_valid[2]), .wrsp_err_i(wrsp_err),
    .wrsp_addr_i(wrsp_addr), .south_head_i, .south_data_i, .south_cr_o
  );

  logic unused;
  assign unused = &{1'b0, rreq_ready[0], rd_valid[0], wreq_ready[0], wdat_ready[0], wrsp_valid[0]};
endmodule
