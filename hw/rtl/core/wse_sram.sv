// SPDX-License-Identifier: MIT
// SRAM_BYTES in rows of 16 bytes, two ports with synchronous read: A for the lanes, B for
// everything else. Reads give the row of the cycle before; a row read and written at once on the
// two ports is undefined in the contract (old data here).

module wse_sram (
  input  logic        clk_i,

  input  logic        a_en_i,
  input  logic [15:0] a_we_i,       // byte enables; 0: read
  input  logic [11:0] a_row_i,
  input  logic [31:0] a_wd0_i,
  input  logic [31:0] a_wd1_i,
  input  logic [31:0] a_wd2_i,
  input  logic [31:0] a_wd3_i,
  output logic [31:0] a_rd0_o,
  output logic [31:0] a_rd1_o,
  output logic [31:0] a_rd2_o,
  output logic [31:0] a_rd3_o,

  input  logic        b_en_i,
  input  logic [15:0] b_we_i,
  input  logic [11:0] b_row_i,
  input  logic [31:0] b_wd0_i,
  input  logic [31:0] b_wd1_i,
  input  logic [31:0] b_wd2_i,
  input  logic [31:0] b_wd3_i,
  output logic [31:0] b_rd0_o,
  output logic [31:0] b_rd1_o,
  output logic [31:0] b_rd2_o,
  output logic [31:0] b_rd3_o
);
  localparam int unsigned Rows = wse_regs_pkg::SRAM_BYTES / 16;

  // Word w of row r is mw[r]: byte address 16 r + 4 w. Blocking assignment, after both reads,
  // writes it: a simulator's shortest way to make a read give the old data. nomem2reg keeps it a
  // memory.
  (* nomem2reg *) logic [31:0] m0 [Rows] /*verilator public_flat_rw*/;
  (* nomem2reg *) logic [31:0] m1 [Rows] /*verilator public_flat_rw*/;
  (* nomem2reg *) logic [31:0] m2 [Rows] /*verilator public_flat_rw*/;
  (* nomem2reg *) logic [31:0] m3 [Rows] /*verilator public_flat_rw*/;

  always @(posedge clk_i) begin
    if (a_en_i && a_we_i == '0) begin
      a_rd0_o <= m0[a_row_i];
      a_rd1_o <= m1[a_row_i];
      a_rd2_o <= m2[a_row_i];
      a_rd3_o <= m3[a_row_i];
    end
    if (b_en_i && b_we_i == '0) begin
      b_rd0_o <= m0[b_row_i];
      b_rd1_o <= m1[b_row_i];
      b_rd2_o <= m2[b_row_i];
      b_rd3_o <= m3[b_row_i];
    end
    if (b_en_i && b_we_i != '0) begin
      if (b_we_i[0]) m0[b_row_i][7:0] = b_wd0_i[7:0];
      if (b_we_i[1]) m0[b_row_i][15:8] = b_wd0_i[15:8];
      if (b_we_i[2]) m0[b_row_i][23:16] = b_wd0_i[23:16];
      if (b_we_i[3]) m0[b_row_i][31:24] = b_wd0_i[31:24];
      if (b_we_i[4]) m1[b_row_i][7:0] = b_wd1_i[7:0];
      if (b_we_i[5]) m1[b_row_i][15:8] = b_wd1_i[15:8];
      if (b_we_i[6]) m1[b_row_i][23:16] = b_wd1_i[23:16];
      if (b_we_i[7]) m1[b_row_i][31:24] = b_wd1_i[31:24];
      if (b_we_i[8]) m2[b_row_i][7:0] = b_wd2_i[7:0];
      if (b_we_i[9]) m2[b_row_i][15:8] = b_wd2_i[15:8];
      if (b_we_i[10]) m2[b_row_i][23:16] = b_wd2_i[23:16];
      if (b_we_i[11]) m2[b_row_i][31:24] = b_wd2_i[31:24];
      if (b_we_i[12]) m3[b_row_i][7:0] = b_wd3_i[7:0];
      if (b_we_i[13]) m3[b_row_i][15:8] = b_wd3_i[15:8];
      if (b_we_i[14]) m3[b_row_i][23:16] = b_wd3_i[23:16];
      if (b_we_i[15]) m3[b_row_i][31:24] = b_wd3_i[31:24];
    end
    if (a_en_i && a_we_i != '0) begin
      if (a_we_i[0]) m0[a_row_i][7:0] = a_wd0_i[7:0];
      if (a_we_i[1]) m0[a_row_i][15:8] = a_wd0_i[15:8];
      if (a_we_i[2]) m0[a_row_i][23:16] = a_wd0_i[23:16];
      if (a_we_i[3]) m0[a_row_i][31:24] = a_wd0_i[31:24];
      if (a_we_i[4]) m1[a_row_i][7:0] = a_wd1_i[7:0];
      if (a_we_i[5]) m1[a_row_i][15:8] = a_wd1_i[15:8];
      if (a_we_i[6]) m1[a_row_i][23:16] = a_wd1_i[23:16];
      if (a_we_i[7]) m1[a_row_i][31:24] = a_wd1_i[31:24];
      if (a_we_i[8]) m2[a_row_i][7:0] = a_wd2_i[7:0];
      if (a_we_i[9]) m2[a_row_i][15:8] = a_wd2_i[15:8];
      if (a_we_i[10]) m2[a_row_i][23:16] = a_wd2_i[23:16];
      if (a_we_i[11]) m2[a_row_i][31:24] = a_wd2_i[31:24];
      if (a_we_i[12]) m3[a_row_i][7:0] = a_wd3_i[7:0];
      if (a_we_i[13]) m3[a_row_i][15:8] = a_wd3_i[15:8];
      if (a_we_i[14]) m3[a_row_i][23:16] = a_wd3_i[23:16];
      if (a_we_i[15]) m3[a_row_i][31:24] = a_wd3_i[31:24];
    end
  end

`ifndef SYNTHESIS
  always @(posedge clk_i) begin
    assert (!a_en_i || a_row_i < 12'(Rows)) else $error("SRAM port A: row %0d", a_row_i);
    assert (!b_en_i || b_row_i < 12'(Rows)) else $error("SRAM port B: row %0d", b_row_i);
  end
`endif
endmodule
