// SPDX-License-Identifier: MIT
// The arithmetic functions behind ports, for test_fp.

module tb_fp (
  input  logic [2:0]  op_i,   // 0 add, 1 mul, 2 mul_bf16, 3 gt, 4 to_int, 5 from_int, 6 to_bf16
  input  logic [31:0] a_i,
  input  logic [31:0] b_i,
  output logic [31:0] r_o
);
  always_comb
    case (op_i)
      3'd0: r_o = wse_fp_pkg::fp_add(a_i, b_i);
      3'd1: r_o = wse_fp_pkg::fp_mul(a_i, b_i);
      3'd2: r_o = wse_fp_pkg::fp_mul_bf16(a_i, b_i);
      3'd3: r_o = 32'(wse_fp_pkg::fp_gt(a_i, b_i));
      3'd4: r_o = wse_fp_pkg::fp_to_int(a_i);
      3'd5: r_o = wse_fp_pkg::fp_from_int(a_i);
      default: r_o = wse_fp_pkg::fp_to_bf16(a_i);
    endcase
endmodule
