// SPDX-License-Identifier: MIT
// The service plane's driver, for some columns of a tile: one operation a cycle from their copy
// executor or the start executor onto the registered broadcast bus, and the word that it returns.

module wse_service #(
  parameter int unsigned ROWS = 4,
  parameter int unsigned COLS = 4
) (
  input  logic            clk_i,
  input  logic            rst_ni,

  input  logic            a_valid_i,       // start executor: goes first
  input  logic [3:0]      a_op_i,
  input  logic [15:0]     a_addr_i,
  input  logic [63:0]     a_wdata_i,
  input  logic [ROWS-1:0] a_rows_i,
  input  logic [COLS-1:0] a_cols_i,

  input  logic            b_valid_i,       // copy executor
  output logic            b_ready_o,
  input  logic [3:0]      b_op_i,
  input  logic [15:0]     b_addr_i,
  input  logic [63:0]     b_wdata_i,
  input  logic [ROWS-1:0] b_rows_i,
  input  logic [COLS-1:0] b_cols_i,
  input  logic [23:0]     b_core_i,        // read: row * COLS + col

  input  logic            d_valid_i,       // debugger: one core, an operation without data
  output logic            d_ready_o,
  input  logic [3:0]      d_op_i,
  input  logic [15:0]     d_addr_i,
  input  logic [15:0]     d_row_i,
  input  logic [15:0]     d_col_i,

  output logic [3:0]      svc_op_o,
  output logic [15:0]     svc_addr_o,
  output logic [31:0]     svc_wdata_lo_o,
  output logic [31:0]     svc_wdata_hi_o,
  output logic [ROWS-1:0] svc_rows_o,
  output logic [COLS-1:0] svc_cols_o,
  output logic [23:0]     svc_rd_core_o,
  output logic            rd_valid_o       // the word of a read is on the wafer's svc_rdata now
);
  localparam logic [3:0] OpRead = 4'd2;

  logic [3:0] pipe;                        // reads on their way

  assign d_ready_o = !a_valid_i;
  assign b_ready_o = !a_valid_i && !d_valid_i;

  always @(posedge clk_i) begin
    if (!rst_ni) begin
      svc_op_o <= '0;
      svc_rows_o <= '0;
      svc_cols_o <= '0;
      pipe <= '0;
      rd_valid_o <= 1'b0;
    end else begin
      svc_op_o <= '0;
      if (a_valid_i) begin
        svc_op_o <= a_op_i;
        svc_addr_o <= a_addr_i;
        svc_wdata_lo_o <= a_wdata_i[31:0];
        svc_wdata_hi_o <= a_wdata_i[63:32];
        svc_rows_o <= a_rows_i;
        svc_cols_o <= a_cols_i;
      end else if (d_valid_i) begin
        svc_op_o <= d_op_i;
        svc_addr_o <= d_addr_i;
        svc_rows_o <= ROWS'(1) << d_row_i;
        svc_cols_o <= COLS'(1) << d_col_i;
      end else if (b_valid_i) begin
        svc_op_o <= b_op_i;
        svc_addr_o <= b_addr_i;
        svc_wdata_lo_o <= b_wdata_i[31:0];
        svc_wdata_hi_o <= b_wdata_i[63:32];
        svc_rows_o <= b_rows_i;
        svc_cols_o <= b_cols_i;
        svc_rd_core_o <= b_core_i;
      end
      // on the bus 1, core 3, selection 1 cycles
      pipe <= {pipe[2:0], b_valid_i && b_ready_o && b_op_i == OpRead};
      rd_valid_o <= pipe[3];
    end
  end
endmodule
