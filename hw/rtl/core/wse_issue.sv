// SPDX-License-Identifier: MIT
// The DSRs and the waiting instructions in front of the engines. The scalar side writes through one
// registered command port, in order; an engine sees the oldest instruction that waits for it and
// reports one cycle later that it took it.
//
// l_o, m0_o, m1_o are written by blocking assignment, unlike all other outputs of modules: each has
// 14 words that would be copied in every simulated cycle. No unit reads them at the edge at which
// they change, because valid_o is low before it.

module wse_issue (
  input  logic        clk_i,
  input  logic        clr_i,            // held: queues empty
  input  logic        init_i,           // after BOOT: DSR init_idx_i becomes 0
  input  logic [3:0]  init_idx_i,

  input  logic        cmd_valid_i,
  input  logic [1:0]  cmd_op_i,         // 0, 1: DSR words 0,1 or 2,3; 2: ISSUE
  input  logic [3:0]  cmd_idx_i,
  input  logic [31:0] cmd_a_i,
  input  logic [31:0] cmd_b_i,
  output logic [2:0]  full_o,           // per engine; a command on its way counts

  output logic [2:0]  valid_o,
  output wse_tensor_pkg::ins_t l_o,
  output wse_tensor_pkg::ins_t m0_o,
  output wse_tensor_pkg::ins_t m1_o,
  input  logic [2:0]  take_i,
  output logic [2:0]  pending_o         // something waits or is on its way here
);
  // memories: a cycle reads or writes
  (* nomem2reg *) logic [31:0] w0 [16];
  (* nomem2reg *) logic [31:0] w1 [16];
  (* nomem2reg *) logic [31:0] w2 [16];
  (* nomem2reg *) logic [7:0] w3 [16];
  wse_tensor_pkg::ins_t l1, m01, m11;   // second slots
  logic [2:0] v0, v1;                   // slots taken
  logic [2:0] coming;

  assign coming = cmd_valid_i && cmd_op_i == 2'd2 ? 3'b001 << cmd_a_i[21:20] : 3'b000;
  assign full_o = v1 | (v0 & coming);
  assign pending_o = v0 | coming;
  // an instruction that was just taken is still in its slot
  assign valid_o = v0 & ~take_i;

  wse_tensor_pkg::ins_t ins;
  logic [2:0] n0, n1;
  always @(posedge clk_i) begin
    if (clr_i) begin
      v0 <= '0;
      v1 <= '0;
      if (init_i) begin
        w0[init_idx_i] = '0;
        w1[init_idx_i] = '0;
        w2[init_idx_i] = '0;
        w3[init_idx_i] = '0;
      end
    end else if (cmd_valid_i || take_i != '0) begin
      n0 = v0;
      n1 = v1;
      if (take_i[0]) l_o = l1;
      if (take_i[1]) m0_o = m01;
      if (take_i[2]) m1_o = m11;
      n0 = (n0 & ~take_i) | (n1 & take_i);
      n1 = n1 & ~take_i;
      if (cmd_valid_i && cmd_op_i == 2'd0) begin
        w0[cmd_idx_i] = cmd_a_i;
        w1[cmd_idx_i] = cmd_b_i;
      end
      if (cmd_valid_i && cmd_op_i == 2'd1) begin
        w2[cmd_idx_i] = cmd_a_i;
        w3[cmd_idx_i] = cmd_b_i[7:0];
      end
      if (cmd_valid_i && cmd_op_i == 2'd2) begin
        ins.cw = cmd_a_i;
        ins.scalar = cmd_b_i;
        ins.d0 = w0[cmd_a_i[11:8]];
        ins.d1 = w1[cmd_a_i[11:8]];
        ins.d2 = w2[cmd_a_i[11:8]];
        ins.d3 = 32'(w3[cmd_a_i[11:8]]);
        ins.a0 = w0[cmd_a_i[15:12]];
        ins.a1 = w1[cmd_a_i[15:12]];
        ins.a2 = w2[cmd_a_i[15:12]];
        ins.a3 = 32'(w3[cmd_a_i[15:12]]);
        ins.b0 = w0[cmd_a_i[19:16]];
        ins.b1 = w1[cmd_a_i[19:16]];
        ins.b2 = w2[cmd_a_i[19:16]];
        ins.b3 = 32'(w3[cmd_a_i[19:16]]);
        if (coming[0] && n0[0]) l1 = ins;
        if (coming[1] && n0[1]) m01 = ins;
        if (coming[2] && n0[2]) m11 = ins;
        if (coming[0] && !n0[0]) l_o = ins;
        if (coming[1] && !n0[1]) m0_o = ins;
        if (coming[2] && !n0[2]) m1_o = ins;
        n1 = n1 | (n0 & coming);
        n0 = n0 | coming;
      end
      v0 <= n0;
      v1 <= n1;
    end
  end

`ifndef SYNTHESIS
  always @(posedge clk_i) if (!clr_i) begin
    assert ((coming & v1 & ~take_i) == '0) else $error("issue: no slot");
    assert ((take_i & ~v0) == '0) else $error("issue: an engine took nothing");
  end
`endif
endmodule
