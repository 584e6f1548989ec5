// SPDX-License-Identifier: MIT
// Bench of wse_wafer with stub cores: ramps and edges are arrays that the C++ side reads and
// writes. Public signals: arrays of the bench only.

module tb_mesh #(
  parameter int unsigned ROWS = 4,
  parameter int unsigned COLS = 4
) (
  input logic clk_i,
  input logic rst_ni,
  input logic clear_i
);
  logic [6:0]  tx_head [ROWS*COLS] /*verilator public_flat_rw*/;
  logic [31:0] tx_data [ROWS*COLS] /*verilator public_flat_rw*/;
  logic [5:0]  tx_cr [ROWS*COLS]   /*verilator public_flat_rw*/;
  logic [6:0]  rx_head [ROWS*COLS] /*verilator public_flat_rw*/;
  logic [31:0] rx_data [ROWS*COLS] /*verilator public_flat_rw*/;
  logic [5:0]  rx_cr [ROWS*COLS]   /*verilator public_flat_rw*/;
  logic [6:0]  rn_head [ROWS*COLS] /*verilator public_flat_rw*/;
  logic [31:0] rn_data [ROWS*COLS] /*verilator public_flat_rw*/;
  logic [5:0]  rn_cr [ROWS*COLS]   /*verilator public_flat_rw*/;
  logic [13:0] rt [ROWS*COLS]      /*verilator public_flat_rw*/;

  logic [3:0]  st [ROWS*COLS]      /*verilator public_flat_rw*/;
  logic [ROWS-1:0] st_rows         /*verilator public_flat_rw*/;
  logic [COLS-1:0] st_cols         /*verilator public_flat_rw*/;
  logic [2:0]  st_any              /*verilator public_flat_rd*/;

  logic [6:0]  n_head [COLS] /*verilator public_flat_rw*/;
  logic [31:0] n_data [COLS] /*verilator public_flat_rw*/;
  logic [5:0]  n_cr [COLS]   /*verilator public_flat_rd*/;
  logic [6:0]  s_head [COLS] /*verilator public_flat_rd*/;
  logic [31:0] s_data [COLS] /*verilator public_flat_rd*/;
  logic [5:0]  s_cr [COLS]   /*verilator public_flat_rw*/;
  logic [16*wse_regs_pkg::CNT_CORE_N-1:0] sum /*verilator public_flat_rd*/;
  logic [15:0] sum_link      /*verilator public_flat_rd*/;
  logic [31:0] cnt_sel       /*verilator public_flat_rw*/;
  logic [63:0] cnt_val       /*verilator public_flat_rd*/;
  logic        moved         /*verilator public_flat_rd*/;

  // the links as the wafer has them
  logic [7*COLS-1:0]  north_head, south_head;
  logic [32*COLS-1:0] north_data, south_data;
  logic [6*COLS-1:0]  north_cr, south_cr;

  for (genvar c = 0; c < COLS; c++) begin : g_link
    assign north_head[7*c +: 7] = n_head[c];
    assign north_data[32*c +: 32] = n_data[c];
    assign n_cr[c] = north_cr[6*c +: 6];
    assign s_head[c] = south_head[7*c +: 7];
    assign s_data[c] = south_data[32*c +: 32];
    assign south_cr[6*c +: 6] = s_cr[c];
  end

  wse_wafer #(.ROWS(ROWS), .COLS(COLS)) u_wafer (
    .clk_i, .rst_ni, .clear_i,
    .north_head_i(north_head), .north_data_i(north_data), .north_cr_o(north_cr),
    .south_head_o(south_head), .south_data_o(south_data), .south_cr_i(south_cr),
    .svc_op_i('0), .svc_addr_i('0), .svc_wdata_lo_i('0), .svc_wdata_hi_i('0),
    .svc_rows_i('0), .svc_cols_i('0), .svc_rd_core_i('0),
    .svc_rdata_lo_o(), .svc_rdata_hi_o(), .svc_busy_o(),
    .st_en_i(1'b0), .st_core_i('0), .st_o(),
    .st_rows_i(st_rows), .st_cols_i(st_cols), .st_any_o(st_any),
    .moved_o(moved), .any_fault_o(), .cnt_core_o(sum), .cnt_link_o(sum_link), .cnt_sel_i(cnt_sel),
    .cnt_val_o(cnt_val)
  );
endmodule
