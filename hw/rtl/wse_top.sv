// SPDX-License-Identifier: MIT
// The device: wafer and host interface. It has the ports of a vendor's PCIe bridge: AXI4-Lite
// target for BAR0, AXI4 masters for DMA, MSI-X requests.

module wse_top #(
  parameter int unsigned ROWS = 4,
  parameter int unsigned COLS = 4,
  parameter int unsigned NQ = 5,
  parameter bit HOSTFP = 1'b0,
  parameter int unsigned GROUP = 0,       // columns of a port group; 0: one bus for all
  parameter int unsigned NP = GROUP == 0 ? 1 : 1 + COLS / (GROUP + 32'(GROUP == 0))   // AXI masters
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
  // for the owner of the clock: nothing to do before the next doorbell; nothing moved in the last
  // cycle
  output logic            idle_o,
  output logic            halted_o,
  output logic            moved_o
);

  localparam int unsigned NS = GROUP == 0 ? 1 : NP - 1;   // parts of the service plane

  logic dev_rst_n, edge_moved;
  logic tile_clear;
  logic [7*COLS-1:0] north_head, south_head;
  logic [32*COLS-1:0] north_data, south_data;
  logic [6*COLS-1:0] north_cr, south_cr;
  logic [4*NS-1:0] svc_op;
  logic [16*NS-1:0] svc_addr;
  logic [24*NS-1:0] svc_rd_core;
  logic [32*NS-1:0] svc_wdata_lo;
  logic [32*NS-1:0] svc_wdata_hi;
  logic [ROWS*NS-1:0] svc_rows;
  logic [COLS-1:0] svc_cols;
  logic [32*NS-1:0] svc_rdata_lo;
  logic [32*NS-1:0] svc_rdata_hi;
  logic svc_busy;
  logic st_en;
  logic [23:0] st_core;
  wse_port_pkg::status_t st;
  logic [ROWS-1:0] st_rows;
  logic [COLS-1:0] st_cols;
  wse_port_pkg::any_t st_any;
  logic moved;
  logic any_fault;
  logic [16*wse_regs_pkg::CNT_CORE_N-1:0] cnt_core;
  logic [16*wse_regs_pkg::CNT_LINK_N-1:0] cnt_link;
  logic [31:0] cnt_sel;
  logic [63:0] cnt_val;

  assign moved_o = moved | edge_moved;

  if (GROUP != 0 && COLS % GROUP != 0) begin : g_refused
    $error("GROUP does not divide COLS");
  end
  if (ROWS * COLS > 8191) begin : g_too_large
    $error("more than 8191 cores: lanes of counters overflow (wse_wafer)");
  end

  wse_host #(.ROWS(ROWS), .COLS(COLS), .NQ(NQ), .HOSTFP(HOSTFP), .GROUP(GROUP), .NP(NP)) u_host (
    .clk_i, .rst_ni,
    .dbg_valid_i, .dbg_ready_o, .dbg_op_i, .dbg_addr_i, .dbg_row_i, .dbg_col_i,
    .s_awvalid_i, .s_awready_o, .s_awaddr_i, .s_wvalid_i, .s_wready_o, .s_wdata_i, .s_bvalid_o,
    .s_bready_i, .s_arvalid_i, .s_arready_o, .s_araddr_i, .s_rvalid_o, .s_rready_i, .s_rdata_o,
    .m_arvalid_o, .m_arready_i, .m_araddr_o, .m_arlen_o, .m_rvalid_i, .m_rready_o, .m_rdata_i,
    .m_rresp_i, .m_rlast_i, .m_awvalid_o, .m_awready_i, .m_awaddr_o, .m_awlen_o, .m_wvalid_o,
    .m_wready_i, .m_wdata_o, .m_wstrb_o, .m_wlast_o, .m_bvalid_i, .m_bready_o, .m_bresp_i, .irq_o,
    .irq_vec_o, .dev_rst_no(dev_rst_n), .tile_clear_o(tile_clear), .north_head_o(north_head),
    .north_data_o(north_data), .north_cr_i(north_cr), .south_head_i(south_head),
    .south_data_i(south_data), .south_cr_o(south_cr), .svc_op_o(svc_op),
    .svc_addr_o(svc_addr), .svc_rd_core_o(svc_rd_core),
    .svc_wdata_lo_o(svc_wdata_lo), .svc_wdata_hi_o(svc_wdata_hi), .svc_rows_o(svc_rows),
    .svc_cols_o(svc_cols), .svc_rdata_lo_i(svc_rdata_lo),
    .svc_rdata_hi_i(svc_rdata_hi), .svc_busy_i(svc_busy), .st_en_o(st_en), .st_core_o(st_core),
    .st_i(st), .st_rows_o(st_rows), .st_cols_o(st_cols), .st_any_i(st_any),
    .moved_i(moved), .any_fault_i(any_fault), .cnt_core_i(cnt_core), .cnt_link_i(cnt_link),
    .cnt_sel_o(cnt_sel), .cnt_val_i(cnt_val), .idle_o, .halted_o,
    .edge_moved_o(edge_moved)
  );

  wse_wafer #(.ROWS(ROWS), .COLS(COLS), .NS(NS)) u_wafer (
    .clk_i, .rst_ni(dev_rst_n), .clear_i(tile_clear),
    .north_head_i(north_head), .north_data_i(north_data), .north_cr_o(north_cr),
    .south_head_o(south_head), .south_data_o(south_data), .south_cr_i(south_cr), .svc_op_i(svc_op),
    .svc_addr_i(svc_addr), .svc_rd_core_i(svc_rd_core),
    .svc_wdata_lo_i(svc_wdata_lo), .svc_wdata_hi_i(svc_wdata_hi),
    .svc_rows_i(svc_rows), .svc_cols_i(svc_cols),
    .svc_rdata_lo_o(svc_rdata_lo), .svc_rdata_hi_o(svc_rdata_hi), .svc_busy_o(svc_busy),
    .st_en_i(st_en), .st_core_i(st_core), .st_o(st),
    .st_rows_i(st_rows), .st_cols_i(st_cols), .st_any_o(st_any),
    .moved_o(moved), .any_fault_o(any_fault), .cnt_core_o(cnt_core), .cnt_link_o(cnt_link),
    .cnt_sel_i(cnt_sel), .cnt_val_o(cnt_val)
  );
endmodule
