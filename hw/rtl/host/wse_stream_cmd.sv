// SPDX-License-Identifier: MIT
// The shared part of both stream directions: the members of the command, the words of its mask, and
// one request port for reads of the mask and of the executor. The mask's reads go first: one word
// of it serves 64 elements.

module wse_stream_cmd #(
  parameter int unsigned COLS = 4
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic [15:0]         c0_i,             // the tile's column that is the first of these
  input  wse_port_pkg::ld_t   ld_i,             // words of the submission entry, then go
  input  logic [63:0]         ld_word_i,
  input  logic                go_i,
  // at rest, or ending early: the mask asks for nothing more
  input  logic                stop_i,
  output wse_port_pkg::cmd_t  cmd_o,
  // mask words, as in wse_stream_mask
  output logic [4*COLS-1:0]   m_valid_o,
  output logic [256*COLS-1:0] m_word0_o,
  output logic [256*COLS-1:0] m_word1_o,
  output logic [4*COLS-1:0]   m_second_o,
  input  logic [4*COLS-1:0]   m_pop_i,
  // requests of the executor, tag 1:0 0 or 1
  input  wse_port_pkg::rreq_t d_req_i,
  input  logic [63:0]         d_addr_i,
  output logic                d_ready_o,
  // bus
  output wse_port_pkg::rreq_t rreq_o,
  output logic [63:0]         rreq_addr_o,
  input  logic                rreq_ready_i,
  input  wse_port_pkg::rd_t   rd_i,
  input  logic [63:0]         rd_data_i
);
  wse_port_pkg::rreq_t m_req;
  logic [63:0]         m_addr;

  assign m_req.beats = 6'd1;
  assign rreq_o = m_req.valid ? m_req : d_req_i;
  assign rreq_addr_o = m_req.valid ? m_addr : d_addr_i;
  assign d_ready_o = rreq_ready_i && !m_req.valid;

  wse_cmd u_cmd (.clk_i, .ld_i, .ld_word_i, .cmd_o);

  wse_stream_mask #(.COLS(COLS)) u_mask (
    .clk_i, .rst_ni, .c0_i, .go_i(go_i && cmd_o.masked), .stop_i, .direct_i(cmd_o.mask_direct),
    .shift_i(cmd_o.mshift),
    .base_i(cmd_o.mask), .moff_i(cmd_o.moff), .rstride_i(cmd_o.rstride),
    .mcstride_i(cmd_o.mcstride),
    .nblk_i(cmd_o.nline), .kcol_i(cmd_o.kcol), .nfeat_i(cmd_o.nfeat), .col0_i(cmd_o.col0),
    .cols_i(cmd_o.cols),
    .valid_o(m_valid_o), .word0_o(m_word0_o), .word1_o(m_word1_o), .second_o(m_second_o),
    .pop_i(m_pop_i), .rreq_valid_o(m_req.valid),
    .rreq_ready_i,
    .rreq_addr_o(m_addr), .rreq_tag_o(m_req.tag), .rd_valid_i(rd_i.valid), .rd_data_i,
    .rd_err_i(rd_i.err), .rd_tag_i(rd_i.tag)
  );
endmodule
