// SPDX-License-Identifier: MIT
// What both directions of a stream share: the members of the command, the words of its mask, and one request port for
// the mask's reads and those of the executor. The mask's go first: a word of it serves 64 elements.

module wse_stream_cmd #(
  parameter int unsigned COLS = 4
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  // command: words of the submission entry, then go
  input  logic              ld_i,
  input  logic [3:0]        ld_idx_i,
  input  logic [63:0]       ld_word_i,
  input  logic              go_i,
  input  logic              stop_i,           // at rest, or ending early: the mask asks for nothing more
  output logic              direct_o,
  output logic [4:0]        pshift_o,
  output logic [15:0]       col0_o,
  output logic [15:0]       cols_o,
  output logic [63:0]       buf_o,
  output logic [63:0]       off_o,
  output logic [31:0]       nblk_o,
  output logic [31:0]       lstride_o,
  output logic [31:0]       cstride_o,
  output logic              masked_o,
  output logic [4:0]        color_o,
  output logic [7:0]        etype_o,
  output logic [15:0]       kcol_o,
  output logic [2:0]        nfeat_o,
  // mask words, as in wse_stream_mask
  output logic [4*COLS-1:0]   m_valid_o,
  output logic [256*COLS-1:0] m_word_o,
  input  logic [4*COLS-1:0]   m_pop_i,
  // requests of the executor, tag 1:0 0 or 1
  input  logic              d_valid_i,
  output logic              d_ready_o,
  input  logic [63:0]       d_addr_i,
  input  logic [5:0]        d_beats_i,
  input  logic [23:0]       d_tag_i,
  // bus
  output logic              rreq_valid_o,
  input  logic              rreq_ready_i,
  output logic [63:0]       rreq_addr_o,
  output logic [5:0]        rreq_beats_o,
  output logic [23:0]       rreq_tag_o,
  input  logic              rd_valid_i,
  input  logic [63:0]       rd_data_i,
  input  logic              rd_err_i,
  input  logic [23:0]       rd_tag_i
);
  logic        m_req, mdirect;
  logic [63:0] m_addr, mask, moff;
  logic [23:0] m_tag;
  logic [31:0] rstride, mcstride;
  logic [4:0]  mshift;

  assign rreq_valid_o = m_req || d_valid_i;
  assign rreq_addr_o = m_req ? m_addr : d_addr_i;
  assign rreq_beats_o = m_req ? 6'd1 : d_beats_i;
  assign rreq_tag_o = m_req ? m_tag : d_tag_i;
  assign d_ready_o = rreq_ready_i && !m_req;

  wse_cmd u_cmd (
    .clk_i, .ld_i, .ld_idx_i, .ld_word_i, .direct_o, .pshift_o, .col0_o, .cols_o, .buf_o, .off_o, .nline_o(nblk_o),
    .lstride_o, .cstride_o, .rstride_o(rstride)
  );

  always @(posedge clk_i) begin
    if (ld_i) begin
      case (ld_idx_i)
        4'd0: begin
          masked_o <= |(ld_word_i[15:8] & 8'(wse_regs_pkg::SQF_MASKED));
          mdirect <= |(ld_word_i[15:8] & 8'(wse_regs_pkg::SQF_MASK_DIRECT));
          mshift <= ld_word_i[44:40];
        end
        4'd1: begin
          color_o <= ld_word_i[52:48];
          etype_o <= ld_word_i[63:56];
        end
        4'd5: mask <= ld_word_i;
        4'd6: moff <= ld_word_i;
        4'd10: begin
          kcol_o <= ld_word_i[47:32];
          nfeat_o <= ld_word_i[50:48];
        end
        4'd11: mcstride <= ld_word_i[63:32];
        default: ;
      endcase
    end
  end

  wse_stream_mask #(.COLS(COLS)) u_mask (
    .clk_i, .rst_ni, .go_i(go_i && masked_o), .stop_i, .direct_i(mdirect), .shift_i(mshift), .base_i(mask),
    .moff_i(moff), .rstride_i(rstride), .mcstride_i(mcstride), .nblk_i(nblk_o), .kcol_i(kcol_o), .nfeat_i(nfeat_o),
    .col0_i(col0_o), .cols_i(cols_o), .valid_o(m_valid_o), .word_o(m_word_o), .pop_i(m_pop_i), .rreq_valid_o(m_req), .rreq_ready_i, .rreq_addr_o(m_addr), .rreq_tag_o(m_tag), .rd_valid_i,
    .rd_data_i, .rd_err_i, .rd_tag_i
  );
endmodule
