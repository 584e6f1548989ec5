// SPDX-License-Identifier: MIT
// Members of a submission entry that every command with a buffer has, as the queue hands its words over. They stand
// still from the cycle after the last word to the next command.

module wse_cmd (
  input  logic        clk_i,
  input  logic        ld_i,
  input  logic [3:0]  ld_idx_i,
  input  logic [63:0] ld_word_i,
  output logic        direct_o,
  output logic [4:0]  pshift_o,
  output logic [15:0] col0_o,
  output logic [15:0] cols_o,
  output logic [63:0] buf_o,
  output logic [63:0] off_o,
  output logic [31:0] nline_o,
  output logic [31:0] lstride_o,
  output logic [31:0] cstride_o,
  output logic [31:0] rstride_o
);
  always @(posedge clk_i) begin
    if (ld_i) begin
      case (ld_idx_i)
        4'd0: begin
          direct_o <= |(ld_word_i[15:8] & 8'(wse_regs_pkg::SQF_BUF_DIRECT));
          pshift_o <= ld_word_i[36:32];
        end
        4'd1: begin
          col0_o <= ld_word_i[15:0];
          cols_o <= ld_word_i[47:32];
        end
        4'd3: buf_o <= ld_word_i;
        4'd4: off_o <= ld_word_i;
        4'd8: {lstride_o, nline_o} <= ld_word_i;
        4'd9: cstride_o <= ld_word_i[63:32];
        4'd10: rstride_o <= ld_word_i[31:0];
        default: ;
      endcase
    end
  end
endmodule
