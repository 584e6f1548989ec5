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

  // Byte b of row r is m[r][8*b +: 8]: a row is one word of a simulator's memory, so one line of
  // its host's cache. Blocking assignment, after both reads, writes it: a simulator's shortest way
  // to make a read give the old data. nomem2reg keeps it a memory.
  (* nomem2reg *) logic [127:0] m [Rows] /*verilator public_flat_rw*/;

  always @(posedge clk_i) begin
    if (a_en_i && a_we_i == '0) begin
      {a_rd3_o, a_rd2_o, a_rd1_o, a_rd0_o} <= m[a_row_i];
    end
    if (b_en_i && b_we_i == '0) begin
      {b_rd3_o, b_rd2_o, b_rd1_o, b_rd0_o} <= m[b_row_i];
    end
    if (b_en_i && b_we_i != '0) begin
      if (b_we_i[0]) m[b_row_i][7:0] = b_wd0_i[7:0];
      if (b_we_i[1]) m[b_row_i][15:8] = b_wd0_i[15:8];
      if (b_we_i[2]) m[b_row_i][23:16] = b_wd0_i[23:16];
      if (b_we_i[3]) m[b_row_i][31:24] = b_wd0_i[31:24];
      if (b_we_i[4]) m[b_row_i][39:32] = b_wd1_i[7:0];
      if (b_we_i[5]) m[b_row_i][47:40] = b_wd1_i[15:8];
      if (b_we_i[6]) m[b_row_i][55:48] = b_wd1_i[23:16];
      if (b_we_i[7]) m[b_row_i][63:56] = b_wd1_i[31:24];
      if (b_we_i[8]) m[b_row_i][71:64] = b_wd2_i[7:0];
      if (b_we_i[9]) m[b_row_i][79:72] = b_wd2_i[15:8];
      if (b_we_i[10]) m[b_row_i][87:80] = b_wd2_i[23:16];
      if (b_we_i[11]) m[b_row_i][95:88] = b_wd2_i[31:24];
      if (b_we_i[12]) m[b_row_i][103:96] = b_wd3_i[7:0];
      if (b_we_i[13]) m[b_row_i][111:104] = b_wd3_i[15:8];
      if (b_we_i[14]) m[b_row_i][119:112] = b_wd3_i[23:16];
      if (b_we_i[15]) m[b_row_i][127:120] = b_wd3_i[31:24];
    end
    if (a_en_i && a_we_i != '0) begin
      if (a_we_i[0]) m[a_row_i][7:0] = a_wd0_i[7:0];
      if (a_we_i[1]) m[a_row_i][15:8] = a_wd0_i[15:8];
      if (a_we_i[2]) m[a_row_i][23:16] = a_wd0_i[23:16];
      if (a_we_i[3]) m[a_row_i][31:24] = a_wd0_i[31:24];
      if (a_we_i[4]) m[a_row_i][39:32] = a_wd1_i[7:0];
      if (a_we_i[5]) m[a_row_i][47:40] = a_wd1_i[15:8];
      if (a_we_i[6]) m[a_row_i][55:48] = a_wd1_i[23:16];
      if (a_we_i[7]) m[a_row_i][63:56] = a_wd1_i[31:24];
      if (a_we_i[8]) m[a_row_i][71:64] = a_wd2_i[7:0];
      if (a_we_i[9]) m[a_row_i][79:72] = a_wd2_i[15:8];
      if (a_we_i[10]) m[a_row_i][87:80] = a_wd2_i[23:16];
      if (a_we_i[11]) m[a_row_i][95:88] = a_wd2_i[31:24];
      if (a_we_i[12]) m[a_row_i][103:96] = a_wd3_i[7:0];
      if (a_we_i[13]) m[a_row_i][111:104] = a_wd3_i[15:8];
      if (a_we_i[14]) m[a_row_i][119:112] = a_wd3_i[23:16];
      if (a_we_i[15]) m[a_row_i][127:120] = a_wd3_i[31:24];
    end
  end

`ifndef SYNTHESIS
  always @(posedge clk_i) begin
    assert (!a_en_i || a_row_i < 12'(Rows)) else $error("SRAM port A: row %0d", a_row_i);
    assert (!b_en_i || b_row_i < 12'(Rows)) else $error("SRAM port B: row %0d", b_row_i);
  end
`endif
endmodule
