// SPDX-License-Identifier: MIT
// The task unit: bindings, flags, entries, the pending start; answers TNEXT and RECV of the scalar
// side.
//
// A request stays up until the answer (a pulse). The unit examines it once a cycle, pops the
// wavelet one cycle later and answers with it.

module wse_tasks (
  input  logic        clk_i,
  input  logic        clr_i,
  input  logic        init_i,           // after BOOT: entry init_idx_i becomes 0
  input  logic [4:0]  init_idx_i,

  input  logic        start_i,          // service plane: a start becomes pending
  input  logic [31:0] start_pc_i,

  input  logic        cmd_valid_i,
  input  logic [2:0]  cmd_op_i,         // enum TASKOP
  input  logic [31:0] cmd_a_i,
  input  logic [31:0] cmd_b_i,
  input  logic [2:0]  act_i,            // completions: the engine makes its task ready ...
  input  logic [2:0]  unb_i,            // ... or unblocks it
  input  logic [4:0]  task0_i,
  input  logic [4:0]  task1_i,
  input  logic [4:0]  task2_i,

  input  logic        tnext_i,          // the scalar side waits in TNEXT ...
  input  logic        recv_i,           // ... or in RECV of recv_color_i
  input  logic [4:0]  recv_color_i,
  // no instruction is between queue and engine: claims are complete
  input  logic        settled_i,
  input  logic [23:0] claim_i,

  input  logic [23:0] some_i,           // ramp: colors with a wavelet
  input  logic [23:0] ctrl_i,
  output logic        s_ask_o,          // looks at the head of s_color_o
  output logic [4:0]  s_color_o,
  output logic        s_pop_o,
  input  logic        s_valid_i,
  input  logic        s_ctrl_i,
  input  logic [31:0] s_data_i,

  output logic        ans_o,            // pulse
  output logic [7:0]  ans_task_o,       // 255: a start
  output logic [31:0] ans_entry_o,
  output logic [31:0] ans_wdata_o,
  output logic [31:0] ans_winfo_o
);

  (* nomem2reg *) logic [31:0] entry [32];    // a memory: one write a cycle, behind the reads
  logic [4:0]  dtask [24];              // task of a color's data wavelets
  logic [4:0]  ctask [24];              // and control wavelets
  logic [23:0] dbound, cbound;
  logic [31:0] ready, blocked;
  logic        start;
  logic [31:0] start_pc;
  logic        popping;                 // the head of s_color_o is taken in this cycle
  assign s_ask_o = popping;
  logic [4:0]  pop_task;

  function automatic logic [4:0] index32(input logic [31:0] one);
    index32 = {|(one & 32'hffff0000), |(one & 32'hff00ff00), |(one & 32'hf0f0f0f0),
        |(one & 32'hcccccccc),
               |(one & 32'haaaaaaaa)};
  endfunction

  (* scratch *) logic [31:0] wtask, one;  // tasks with a wavelet
  (* scratch *) logic [23:0] cand;
  (* scratch *) logic [4:0] color;
  task automatic wavelet_tasks;
    integer c;
    wtask = '0;
    for (c = 0; c < 24; c++)
      if (cand[c]) wtask = wtask | (32'd1 << (ctrl_i[c] ? ctask[c] : dtask[c]));
  endtask
  task automatic color_of(input logic [4:0] t);
    integer c;
    color = '0;
    for (c = 23; c >= 0; c--)
      if (cand[c] && (ctrl_i[c] ? ctask[c] : dtask[c]) == t) color = c[4:0];
  endtask

  always @(posedge clk_i) begin
    ans_o <= 1'b0;
    s_pop_o <= 1'b0;
    if (clr_i) begin
      dbound = '0;
      cbound = '0;
      ready = '0;
      blocked = '0;
      start = 1'b0;
      popping = 1'b0;
      if (init_i) entry[init_idx_i] = '0;
    end else begin
      // a completion counts in the cycle in which the engine's claim ends
      if ((act_i | unb_i) != '0) begin
        ready = ready | (32'(act_i[0]) << task0_i) | (32'(act_i[1]) << task1_i) |
            (32'(act_i[2]) << task2_i);
        blocked = blocked & ~((32'(unb_i[0]) << task0_i) | (32'(unb_i[1]) << task1_i) |
            (32'(unb_i[2]) << task2_i));
      end
      if (popping) begin
        popping = 1'b0;
        if (s_valid_i) begin
          s_pop_o <= 1'b1;
          ans_o <= 1'b1;
          ans_task_o <= 8'(pop_task);
          ans_entry_o <= entry[pop_task];
          ans_wdata_o <= s_data_i;
          ans_winfo_o <= 32'(s_color_o) | (32'(s_ctrl_i) << 8);
        end
      end else if (recv_i && !ans_o) begin
        if (some_i[recv_color_i]) begin
          s_color_o <= recv_color_i;
          popping = 1'b1;
        end
      end else if (tnext_i && !ans_o && settled_i) begin
        cand = some_i & ~claim_i & ((ctrl_i & cbound) | (~ctrl_i & dbound));
        if (start) begin
          start = 1'b0;
          ans_o <= 1'b1;
          ans_task_o <= 8'hff;
          ans_entry_o <= start_pc;
          ans_wdata_o <= wse_regs_pkg::SRAM_BASE + wse_regs_pkg::ARGS_OFFSET;
          ans_winfo_o <= 32'h8000;
        end else if (cand != '0 || (ready & ~blocked) != '0) begin
          wtask = '0;
          if (cand != '0) wavelet_tasks;
          one = (ready | wtask) & ~blocked;
          one = one & -one;
          if ((ready & one) != '0) begin
            ready = ready & ~one;
            ans_o <= 1'b1;
            ans_task_o <= 8'(index32(one));
            ans_entry_o <= entry[index32(one)];
            ans_wdata_o <= '0;
            ans_winfo_o <= 32'h4000;
          end else if (one != '0) begin
            pop_task = index32(one);
            color_of(pop_task);
            s_color_o <= color;
            popping = 1'b1;
          end
        end
      end

      if (start_i) begin
        start = 1'b1;
        start_pc = start_pc_i;
      end
      if (cmd_valid_i) begin
        one = 32'd1 << cmd_a_i[4:0];
        if (cmd_op_i == wse_regs_pkg::TASKOP_BIND[2:0]) begin
          dbound[cmd_a_i[4:0]] = cmd_b_i[7:0] != 8'hff;
          dtask[cmd_a_i[4:0]] = cmd_b_i[4:0];
        end else if (cmd_op_i == wse_regs_pkg::TASKOP_CBIND[2:0]) begin
          cbound[cmd_a_i[4:0]] = cmd_b_i[7:0] != 8'hff;
          ctask[cmd_a_i[4:0]] = cmd_b_i[4:0];
        end else if (cmd_op_i == wse_regs_pkg::TASKOP_ENTRY[2:0]) begin
          entry[cmd_a_i[4:0]] = cmd_b_i;
        end else if (cmd_op_i == wse_regs_pkg::TASKOP_ACTIVATE[2:0]) begin
          ready = ready | one;
        end else if (cmd_op_i == wse_regs_pkg::TASKOP_BLOCK[2:0]) begin
          blocked = blocked | one;
        end else begin
          blocked = blocked & ~one;
        end
      end
    end
  end
endmodule
