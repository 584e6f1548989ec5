// SPDX-License-Identifier: MIT
// 48 KiB in rows of 16 bytes, two ports with synchronous read: A for the lanes, B for everything else. Reads give the row
// of the cycle before; a row read and written at once on the two ports is undefined in the contract (old data here).

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
  localparam int unsigned Rows = 3072;

  // word w of row r is mw[r]: byte address 16 r + 4 w
  logic [31:0] m0 [Rows] /*verilator public_flat_rw*/;
  logic [31:0] m1 [Rows] /*verilator public_flat_rw*/;
  logic [31:0] m2 [Rows] /*verilator public_flat_rw*/;
  logic [31:0] m3 [Rows] /*verilator public_flat_rw*/;

  function automatic logic [31:0] bits(input logic [3:0] be);
    bits = {{8{be[3]}}, {8{be[2]}}, {8{be[1]}}, {8{be[0]}}};
  endfunction

  always @(posedge clk_i) begin
    if (a_en_i) begin
      if (a_we_i == '0) begin
        a_rd0_o <= m0[a_row_i];
        a_rd1_o <= m1[a_row_i];
        a_rd2_o <= m2[a_row_i];
        a_rd3_o <= m3[a_row_i];
      end
    end
    if (b_en_i) begin
      if (b_we_i == '0) begin
        b_rd0_o <= m0[b_row_i];
        b_rd1_o <= m1[b_row_i];
        b_rd2_o <= m2[b_row_i];
        b_rd3_o <= m3[b_row_i];
      end else begin
        m0[b_row_i] = (m0[b_row_i] & ~bits(b_we_i[3:0]))   | (b_wd0_i & bits(b_we_i[3:0]));
        m1[b_row_i] = (m1[b_row_i] & ~bits(b_we_i[7:4]))   | (b_wd1_i & bits(b_we_i[7:4]));
        m2[b_row_i] = (m2[b_row_i] & ~bits(b_we_i[11:8]))  | (b_wd2_i & bits(b_we_i[11:8]));
        m3[b_row_i] = (m3[b_row_i] & ~bits(b_we_i[15:12])) | (b_wd3_i & bits(b_we_i[15:12]));
      end
    end
    if (a_en_i && a_we_i != '0) begin
      m0[a_row_i] = (m0[a_row_i] & ~bits(a_we_i[3:0]))   | (a_wd0_i & bits(a_we_i[3:0]));
      m1[a_row_i] = (m1[a_row_i] & ~bits(a_we_i[7:4]))   | (a_wd1_i & bits(a_we_i[7:4]));
      m2[a_row_i] = (m2[a_row_i] & ~bits(a_we_i[11:8]))  | (a_wd2_i & bits(a_we_i[11:8]));
      m3[a_row_i] = (m3[a_row_i] & ~bits(a_we_i[15:12])) | (a_wd3_i & bits(a_we_i[15:12]));
    end
  end

  always @(posedge clk_i) begin
    assert (!a_en_i || a_row_i < 12'(Rows)) else $error("SRAM port A: row %0d", a_row_i);
    assert (!b_en_i || b_row_i < 12'(Rows)) else $error("SRAM port B: row %0d", b_row_i);
  end
endmodule
