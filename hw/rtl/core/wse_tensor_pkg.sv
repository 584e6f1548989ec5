// SPDX-License-Identifier: MIT
// A tensor instruction as ISSUE captures it, and the rules of its operands (hw/doc/core.md).

package wse_tensor_pkg;
  // words of a DSR: 0 base, 1 len and stride, 2 len1 and stride1, 3 kind and type
  typedef struct packed {
    logic [31:0] cw;
    logic [31:0] scalar;
    logic [31:0] d0, d1, d2, d3;        // DST
    logic [31:0] a0, a1, a2, a3;        // SRC1
    logic [31:0] b0, b1, b2, b3;        // SRC2
  } ins_t;

  // result of a check: [0] BAD_DSR, [1] OPERAND_ADDR
  localparam logic [1:0] RuleMover = 2'd0;
  localparam logic [1:0] RuleLane = 2'd1;
  localparam logic [1:0] RuleSingle = 2'd2;

  function automatic logic is_store(input logic [3:0] kind);
    is_store = kind == wse_regs_pkg::KIND_MEM[3:0] || kind == wse_regs_pkg::KIND_ACC[3:0];
  endfunction

  // bytes from the first to the last element, lowest and highest offset from the base, signed
  function automatic logic signed [33:0] span(input logic [31:0] w1, input logic [31:0] w2,
                                              input logic high);
    logic signed [33:0] a, b;
    a = 34'($signed(w1[31:16])) * 34'($signed({1'b0, w1[15:0] - 16'd1}));
    b = w2[15:0] == '0 ? 34'sd0 : 34'($signed(w2[31:16])) * 34'($signed({1'b0, w2[15:0] - 16'd1}));
    span = (a[33] ^ high ? a : 34'sd0) + (b[33] ^ high ? b : 34'sd0);
  endfunction

  // memory or accumulator operand; the engines have the rules of the others
  function automatic logic [1:0] check(input logic [31:0] w0, input logic [31:0] w1,
                                       input logic [31:0] w2, input logic [7:0] w3,
                                       input logic [1:0] rule);
    logic bad, acc, half;
    logic [31:0] align, base, size, limit;
    logic signed [35:0] lo, hi;
    acc = w3[3:0] == wse_regs_pkg::KIND_ACC[3:0];
    half = !acc && w3[7:4] == wse_regs_pkg::DT_BF16[3:0];
    size = acc ? 32'd1 : half ? 32'd2 : 32'd4;
    align = size - 1;
    bad = !is_store(w3[3:0]) || w1[15:0] == '0 || (!acc && w3[7:4] > wse_regs_pkg::DT_I32[3:0]);
    if (rule == RuleSingle)
      bad = bad || w1[15:0] != 16'd1 || w2[15:0] > 16'd1 || (w0 & align) != '0;
    else if (rule == RuleLane && acc)
      bad = bad || w1[31:16] != 16'd1 || w0[2:0] != '0 || w2[18:16] != '0 || w1[2:0] != '0;
    else if (rule == RuleLane)
      bad = bad || w1[31:16] != size[15:0] || w0[3:0] != '0 || w2[19:16] != '0 || w1[2:0] != '0;
    else
      bad = bad || ((w0 | 32'(w1[31:16]) | 32'(w2[31:16])) & align) != '0;
    base = acc ? w0 : w0 - wse_regs_pkg::SRAM_BASE;
    limit = acc ? wse_regs_pkg::NACC : wse_regs_pkg::SRAM_BYTES;
    lo = $signed({4'd0, base}) + 36'(span(w1, w2, 1'b0));
    hi = $signed({4'd0, base}) + 36'(span(w1, w2, 1'b1)) + $signed({4'd0, size});
    check = {lo < 0 || hi > $signed({4'd0, limit}) || base >= limit, bad};
  endfunction

  // same number of elements and rows
  function automatic logic same_shape(input logic [31:0] a1, input logic [31:0] a2,
                                      input logic [31:0] b1, input logic [31:0] b2);
    same_shape = a1[15:0] == b1[15:0] &&
                 (a2[15:0] == '0 ? 16'd1 : a2[15:0]) == (b2[15:0] == '0 ? 16'd1 : b2[15:0]);
  endfunction
endpackage
