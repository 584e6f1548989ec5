// SPDX-License-Identifier: MIT
// The members of a submission entry for commands with a buffer, as the queue passes its words. They
// are stable from the cycle after the last word to the next command.

module wse_cmd (
  input  logic               clk_i,
  input  wse_port_pkg::ld_t  ld_i,
  input  logic [63:0]        ld_word_i,
  output wse_port_pkg::cmd_t cmd_o
);
  always @(posedge clk_i) begin
    if (ld_i.valid) begin
      case (ld_i.idx)
        4'd0: begin
          cmd_o.direct <= |(ld_word_i[15:8] & 8'(wse_regs_pkg::SQF_BUF_DIRECT));
          cmd_o.masked <= |(ld_word_i[15:8] & 8'(wse_regs_pkg::SQF_MASKED));
          cmd_o.mask_direct <= |(ld_word_i[15:8] & 8'(wse_regs_pkg::SQF_MASK_DIRECT));
          cmd_o.linear <= |(ld_word_i[15:8] & 8'(wse_regs_pkg::SQF_LINEAR));
          cmd_o.pshift <= ld_word_i[36:32];
          cmd_o.mshift <= ld_word_i[44:40];
        end
        4'd1: begin
          cmd_o.col0 <= ld_word_i[15:0];
          cmd_o.cols <= ld_word_i[47:32];
          cmd_o.color <= ld_word_i[52:48];
          cmd_o.etype <= ld_word_i[63:56];
        end
        4'd3: cmd_o.buf_addr <= ld_word_i;
        4'd4: cmd_o.off <= ld_word_i;
        4'd5: cmd_o.mask <= ld_word_i;
        4'd6: cmd_o.moff <= ld_word_i;
        4'd7: cmd_o.len <= ld_word_i[63:32];
        4'd8: begin
          cmd_o.nline <= ld_word_i[31:0];
          cmd_o.lstride <= ld_word_i[63:32];
        end
        4'd9: cmd_o.cstride <= ld_word_i[63:32];
        4'd10: begin
          cmd_o.rstride <= ld_word_i[31:0];
          cmd_o.kcol <= ld_word_i[47:32];
          cmd_o.nfeat <= ld_word_i[50:48];
        end
        4'd11: cmd_o.mcstride <= ld_word_i[63:32];
        default: ;
      endcase
    end
  end
endmodule
