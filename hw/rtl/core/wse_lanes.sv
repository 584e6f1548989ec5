// SPDX-License-Identifier: MIT
// Engine L: 8 lanes with the accumulator file. Streams (AXPY, DOT) take one group of 8 elements a
// cycle:
//
//   head of the receive queue -> address | SRAM read | product | sum (into the accumulators, or
//   DOT's partials)
//
// A sum is read and written in one stage, so the same accumulators may follow each other at once.
// DOT's partials then go through a pipelined tree of adders. Vector operations walk group by group:
// load, execute, store.
//
// The accumulator file is a register file; movers read it with one cycle of latency and write it
// here.

module wse_lanes (
  input  logic        clk_i,
  input  logic        clr_i,            // held
  // faulted, or held by a debugger: freeze, and port A with it
  input  logic        stop_i,

  input  logic        ins_valid_i,
  input  wse_tensor_pkg::ins_t ins_i,
  output logic        ins_take_o,
  output logic        busy_o,
  output logic        act_o,            // completion, one cycle: make task_o ready ...
  output logic        unb_o,            // ... unblock it
  output logic [4:0]  task_o,
  output logic        fault_o,          // one cycle
  output logic [31:0] fault_cause_o,
  output logic [31:0] fault_color_o,
  output logic [31:0] fault_value_o,
  output logic        moved_o,
  output logic        lwait_o,          // a stream waits for a wavelet or for room
  output logic [3:0]  mac_o,            // useful multiply-adds of this cycle

  output logic        claim_o,          // reads color_o
  output logic [4:0]  color_o,
  output logic        rx_pop_o,
  input  logic        rx_valid_i,
  input  logic        rx_ctrl_i,
  input  logic [31:0] rx_data_i,

  output logic        dq_push_o,
  output logic        dq_end_o,
  output logic [31:0] dq_data_o,
  input  logic [4:0]  dq_count_i,

  output logic        a_en_o,
  output logic [15:0] a_we_o,
  output logic [11:0] a_row_o,
  output logic [31:0] a_wd0_o,
  output logic [31:0] a_wd1_o,
  output logic [31:0] a_wd2_o,
  output logic [31:0] a_wd3_o,
  input  logic [31:0] a_rd0_i,
  input  logic [31:0] a_rd1_i,
  input  logic [31:0] a_rd2_i,
  input  logic [31:0] a_rd3_i,

  // movers: two reads and a write each
  input  logic        m0_re_i,
  input  logic [6:0]  m0_ra_i,
  input  logic [6:0]  m0_rb_i,
  output logic [31:0] m0_rda_o,
  output logic [31:0] m0_rdb_o,
  input  logic        m0_we_i,
  input  logic [6:0]  m0_wa_i,
  input  logic [31:0] m0_wd_i,
  input  logic        m1_re_i,
  input  logic [6:0]  m1_ra_i,
  input  logic [6:0]  m1_rb_i,
  output logic [31:0] m1_rda_o,
  output logic [31:0] m1_rdb_o,
  input  logic        m1_we_i,
  input  logic [6:0]  m1_wa_i,
  input  logic [31:0] m1_wd_i
);

  localparam logic [6:0] OpAxpy = wse_regs_pkg::TOP_AXPY[6:0];
  localparam logic [6:0] OpDot = wse_regs_pkg::TOP_DOT[6:0];
  localparam logic [6:0] OpDotx = wse_regs_pkg::TOP_DOTX[6:0];
  localparam logic [3:0] Mem = wse_regs_pkg::KIND_MEM[3:0];
  localparam logic [3:0] Acc = wse_regs_pkg::KIND_ACC[3:0];
  localparam logic [3:0] FabIn = wse_regs_pkg::KIND_FABIN[3:0];
  localparam logic [3:0] Half = wse_regs_pkg::DT_BF16[3:0];

  typedef enum logic [3:0] {
    StIdle, StRefuse, StStream, StDrain, StLast, StEnd, StLoad, StExec, StAdd, StStore, StTree,
    StFlow
  } state_e;

  // Accumulator 8 g + l is acc[g][l], or 0 while clean[g]. In a cycle all reads come before all
  // writes.
  (* nomem2reg *) logic [31:0] acc [16][8] /*verilator public_flat_rw*/;
  logic [15:0] clean /*verilator public_flat_rd*/;
  state_e      state;
  (* scratch *) state_e from;           // before this edge
  wse_tensor_pkg::ins_t        ins;
  logic [6:0]  op;
  (* scratch *) logic [6:0] next;
  logic [1:0]  step;                    // operands of ins_i that have been checked
  logic [1:0]  chk_d, chk_a, chk_b;
  (* scratch *) logic [1:0] rule, chk;
  (* scratch *) logic [31:0] w0, w1, w2;  // words of the DSR
  (* scratch *) logic [7:0] w3;
  logic        dot, bad;
  // a stream that ends in a fault: cause and value wait until it has drained
  logic        failed;
  logic [31:0] cause, value;

  // ---- streams ----
  logic [31:0] base, stride1;           // x
  logic [15:0] len1;
  logic [2:0]  feats;
  logic [4:0]  groups;                  // T / 8
  logic [3:0]  group0;                  // first accumulator / 8
  // groups of the current wavelet that still have to be addressed
  logic [4:0]  left;
  logic [11:0] row;
  logic [4:0]  infl;                    // results on their way to the DOT queue
  // stage registers: address out, data there, product there
  logic        r_v, d_v, x_v, r_first, d_first, x_first, r_last, d_last, x_last;
  logic [3:0]  r_g, d_g, x_g;
  logic [31:0] r_w, d_w;                // the wavelet's value, widened
  logic        t1_v, t2_v, t3_v, pushed;
  (* scratch *) logic took;
  (* scratch *) logic [31:0] xw [8];    // row of x, widened
  logic [31:0] part [8];
  logic [31:0] t1 [8];
  logic [31:0] t2 [4];
  logic [31:0] t3 [2];

  // ---- adders, comparators and multipliers; the active unit sets the operands ----
  localparam logic [1:0] MulNone = 2'd0, MulBf16 = 2'd1, MulHalf = 2'd2, MulFull = 2'd3;
  (* scratch *) logic adds, compares;
  (* scratch *) logic [1:0] mul;        // bf16 x bf16, binary32 x bf16, binary32 x binary32
  (* scratch *) logic [31:0] p [8];     // operands of adder and comparator
  (* scratch *) logic [31:0] q [8];
  (* scratch *) logic [31:0] sum [8];
  (* scratch *) logic [31:0] more [8];  // all ones: p > q
  (* scratch *) logic [31:0] mp [8];    // operands of the multiplier
  (* scratch *) logic [31:0] mq [8];
  logic [31:0] prod [8];

  // ---- vector operations ----
  logic        d_acc, a_acc, b_acc, d_half, a_half, b_half, b_mem, b_scalar, reduce, mac, vmax;
  // accumulator or byte offset of group and row
  logic [15:0] d_pos, a_pos, b_pos, d_line, a_line, b_line;
  logic [12:0] in_left;                 // groups left in the row, rows left
  logic [15:0] rows_left;
  logic [5:0]  need;                    // rows of SRAM to read: SRC1, SRC2, DST; low and high
  logic [5:0]  n_out, n_in;             // address out, data there
  (* scratch *) logic [5:0] n_now;      // this cycle
  // results into accumulators alone: rows of later groups are read while earlier ones are worked on
  logic        flow, full;              // full: a group's rows are there
  (* scratch *) logic go;               // a group is worked on
  logic        z_out, z_in;             // the row is the last of its group
  logic [12:0] l_left;                  // groups and rows left to read
  logic [15:0] l_rows;
  logic        last;
  (* scratch *) logic l_last;
  logic [1:0]  level;                   // of the tree
  logic [31:0] av [8];
  logic [31:0] bv [8];
  logic [31:0] dv [8];
  logic [31:0] rv [8];

  // what is done to rows of eight: operands, results, conversions
  `include "wse_lanes_rows.svh"

  // where the next group of an operand lies
  function automatic logic [15:0] next_pos(input logic [15:0] pos, input logic [15:0] line,
                                           input logic wrap, input logic [15:0] s1,
                                           input logic is_acc, input logic half);
    next_pos = wrap ? line + s1 : pos + (is_acc ? 16'd8 : half ? 16'd16 : 16'd32);
  endfunction
  // rows to read for a group: per operand, low and high
  function automatic logic [5:0] needs(input logic aa, input logic ah, input logic bm,
                                       input logic bh, input logic dm, input logic dh);
    needs = {dm & ~dh, dm, bm & ~bh, bm, ~aa & ~ah, ~aa};
  endfunction

  task automatic complete;
    busy_o <= 1'b0;
    claim_o <= 1'b0;
    task_o <= ins.cw[31:27];
    act_o <= ins.cw[wse_regs_pkg::TCW_ACTIVATE_LO];
    unb_o <= ins.cw[wse_regs_pkg::TCW_UNBLOCK_LO];
    moved_o <= 1'b1;
    state = StIdle;
  endtask
  task automatic fail(input logic [31:0] c, input logic [31:0] col, input logic [31:0] v);
    fault_o <= 1'b1;
    fault_cause_o <= c;
    fault_color_o <= col;
    fault_value_o <= v;
    state = StIdle;
  endtask

  (* scratch *) logic failing;          // fault_o, before it is written
  // nothing to do, and nothing said in the last cycle: all registers stand
  logic        live;
  (* scratch *) logic idle;
  always @(posedge clk_i) if (live || ins_valid_i || clr_i || m0_re_i || m1_re_i || m0_we_i ||
      m1_we_i) begin
    idle = state == StIdle && !ins_valid_i && !stop_i;
    failing = fault_o;
    act_o <= 1'b0;
    unb_o <= 1'b0;
    ins_take_o <= 1'b0;
    fault_o <= 1'b0;
    moved_o <= 1'b0;
    lwait_o <= 1'b0;
    mac_o <= '0;
    rx_pop_o <= 1'b0;
    dq_push_o <= 1'b0;
    if (!stop_i) a_en_o <= 1'b0;          // port A stands with its reader
    // ---- the movers' reads ----
    if (m0_re_i) begin
      m0_rda_o <= acc[m0_ra_i[6:3]][m0_ra_i[2:0]] & keep(m0_ra_i[6:3]);
      m0_rdb_o <= acc[m0_rb_i[6:3]][m0_rb_i[2:0]] & keep(m0_rb_i[6:3]);
    end
    if (m1_re_i) begin
      m1_rda_o <= acc[m1_ra_i[6:3]][m1_ra_i[2:0]] & keep(m1_ra_i[6:3]);
      m1_rdb_o <= acc[m1_rb_i[6:3]][m1_rb_i[2:0]] & keep(m1_rb_i[6:3]);
    end
    if (clr_i) begin
      clean = '1;
      step = '0;
      busy_o <= 1'b0;
      claim_o <= 1'b0;
      state = StIdle;
    end else if (!stop_i) begin
      // ---- the adders and comparators ----
      go = state == StExec || (state == StFlow && full);
      adds = 1'b0;
      compares = 1'b0;
      if (state == StStream || state == StDrain) begin
        adds = x_v;
        if (x_v && dot) dot_operands(x_first ? '0 : '1);
        else if (x_v) axpy_operands(x_g);
      end else if (go) begin
        if (a_acc) a_from_acc(a_pos[6:3]);
        if (b_acc) b_from_acc(b_pos[6:3]);
        if (d_acc && mac) d_from_acc(d_pos[6:3]);
        adds = op == wse_regs_pkg::OpVadd || op == wse_regs_pkg::OpVsub || (reduce && !vmax);
        compares = op == wse_regs_pkg::OpVmax || op == wse_regs_pkg::OpVmin ||
            op == wse_regs_pkg::OpVgate ||
                   op == wse_regs_pkg::OpVcgt || vmax;
        if (reduce) v_reduce_operands;
        else if (op == wse_regs_pkg::OpVmin) v_swapped;
        else if (op == wse_regs_pkg::OpVgate) v_against_zero;
        else if (adds || compares) v_operands(op == wse_regs_pkg::OpVsub ? 32'h80000000 : '0);
      end else if (state == StAdd) begin
        adds = 1'b1;
        v_mac_operands;
      end else if (state == StTree) begin
        adds = !vmax;
        compares = vmax;
        v_pairs;
      end
      if (adds) add_lanes;
      if (compares) begin
        compare_lanes;
        if (op != wse_regs_pkg::OpVgate && op != wse_regs_pkg::OpVcgt) choose;
      end

      // ---- the multipliers ----
      mul = MulNone;
      if (state == StStream || state == StDrain) begin
        if (d_v) begin
          widen;
          mul = dot ? MulHalf : MulBf16;
          if (dot) dot_factors(d_g);
          else axpy_factors(d_w);
        end
      end else if (go && (mac || op == wse_regs_pkg::OpVmul)) begin
        mul = MulFull;
        v_factors;
      end
      if (mul != MulNone) multiply_lanes;

      // ---- check the operands of the waiting instruction, one a cycle, whatever runs ----
      if (!ins_valid_i) begin
        step = '0;
      end else if (step != 2'd3) begin
        next = ins_i.cw[6:0];
        rule = step == 2'd0 && wse_regs_pkg::vop_reduce(next) ? wse_tensor_pkg::RuleSingle :
                                                                wse_tensor_pkg::RuleLane;
        w0 = step == 2'd0 ? ins_i.d0 : step == 2'd1 ? ins_i.a0 : ins_i.b0;
        w1 = step == 2'd0 ? ins_i.d1 : step == 2'd1 ? ins_i.a1 : ins_i.b1;
        w2 = step == 2'd0 ? ins_i.d2 : step == 2'd1 ? ins_i.a2 : ins_i.b2;
        w3 = step == 2'd0 ? ins_i.d3[7:0] : step == 2'd1 ? ins_i.a3[7:0] : ins_i.b3[7:0];
        chk = wse_tensor_pkg::check(w0, w1, w2, w3, rule);
        if (step == 2'd0) chk_d = chk;
        else if (step == 2'd1) chk_a = chk;
        else chk_b = chk;
        step = step + 2'd1;
      end

      from = state;
      if (state == StRefuse) begin
        fail(bad ? wse_regs_pkg::CAUSE_BAD_DSR : wse_regs_pkg::CAUSE_OPERAND_ADDR, '1, '0);
      end else if (state == StStream || state == StDrain) begin
        // ---- streams, last stage first ----
        if (dot) begin
          took = pushed;                          // counted by the queue from the next cycle on
          pushed = t3_v;
          if (t3_v) begin
            dq_push_o <= 1'b1;
            dq_end_o <= 1'b0;
            dq_data_o <= wse_fp_pkg::fp_add(t3[0], t3[1]);
          end
          t3_v = t2_v;
          if (t2_v) tree2;
          t2_v = t1_v;
          if (t1_v) tree1;
          t1_v = 1'b0;
        end else begin
          took = 1'b0;
        end
        if (x_v) begin
          mac_o <= 4'd8;
          moved_o <= 1'b1;
          if (dot) begin
            sum_to_part;
            if (x_last) begin
              copy_part;
              t1_v = 1'b1;
            end
          end else begin
            sum_to_acc(x_g);
          end
        end
        x_v = d_v;
        x_g = d_g;
        x_first = d_first;
        x_last = d_last;
        d_v = r_v;
        d_g = r_g;
        d_w = r_w;
        d_first = r_first;
        d_last = r_last;
        r_v = 1'b0;
        if (left != '0) begin
          row = row + 12'd1;
          r_g = r_g + 4'd1;
          r_v = 1'b1;
          r_first = 1'b0;
          left = left - 5'd1;
          r_last = left == '0;
          a_en_o <= 1'b1;
          a_row_o <= row;
        end else if (state == StStream) begin
          if (rx_valid_i) begin
            if (rx_ctrl_i && !rx_data_i[wse_regs_pkg::CTRLW_END_LO]) begin
              failed = 1'b1;
              cause = wse_regs_pkg::CAUSE_BAD_CTRL;
              value = rx_data_i;
              state = StDrain;
            end else if (!rx_ctrl_i &&
                (3'(rx_data_i[15:14]) >= feats || 16'(rx_data_i[13:0]) >= len1)) begin
              failed = 1'b1;
              cause = wse_regs_pkg::CAUSE_STREAM_INDEX;
              value = rx_data_i;
              state = StDrain;
            end else if (dot && !(rx_ctrl_i && op == OpDotx) &&
                dq_count_i + infl >= 5'(wse_regs_pkg::DOTQ_DEPTH)) begin
              lwait_o <= 1'b1;
            end else begin
              rx_pop_o <= 1'b1;
              moved_o <= 1'b1;
              if (dot && !(rx_ctrl_i && op == OpDotx)) infl = infl + 5'd1;
              if (rx_ctrl_i) begin
                state = StDrain;
              end else begin
                row = 12'((base + 32'(rx_data_i[13:0]) * stride1) >> 4);
                r_g = group0 + 4'(rx_data_i[15:14]) * groups[3:0];
                r_w = rx_data_i & 32'hffff0000;
                r_v = 1'b1;
                r_first = 1'b1;
                left = groups - 5'd1;
                r_last = left == '0;
                a_en_o <= 1'b1;
                a_row_o <= row;
              end
            end
          end else begin
            lwait_o <= 1'b1;
          end
        end else if (!d_v && !x_v && !t1_v && !t2_v && !t3_v) begin
          state = StLast;
        end
        if (took) infl = infl - 5'd1;
        a_we_o <= '0;
      end else if (state == StLast) begin
        // sums that no wavelet has touched are zero, too
        if (failed) begin
          fail(cause, 32'(color_o), value);
        end else begin
          if (op == OpDot) begin
            dq_push_o <= 1'b1;
            dq_end_o <= 1'b1;
            dq_data_o <= '0;
          end
          complete;
        end
      end else if (state == StLoad) begin
        // ---- vector operations: rows of SRAM that this group needs ----
        if (n_in != '0) capture;
        n_in = n_out;
        n_now = need & -need;
        need = need & ~n_now;
        n_out = n_now;
        if (n_now != '0) begin
          a_en_o <= 1'b1;
          a_we_o <= '0;
          a_row_o <= ((n_now[0] || n_now[1]) ? a_pos[15:4] : (n_now[2] || n_now[3]) ? b_pos[15:4] :
              d_pos[15:4]) +
                     12'(n_now[1] || n_now[3] || n_now[5]);
        end
        if (need == '0 && n_now == '0 && n_in == '0) begin
          state = StExec;
        end
      end else if (state == StStore) begin
        // second row of 32-bit results
        a_en_o <= 1'b1;
        a_we_o <= '1;
        a_row_o <= d_pos[15:4] + 12'd1;
        a_wd0_o <= rv[4];
        a_wd1_o <= rv[5];
        a_wd2_o <= rv[6];
        a_wd3_o <= rv[7];
        d_pos = next_pos(d_pos, d_line, last, ins.d2[31:16], d_acc, d_half);
        if (last) d_line = d_pos;
        if (rows_left == '0) complete;
        else state = need != '0 ? StLoad : StExec;
      end else if (state == StTree) begin
        sum_to_part;
        level = level + 2'd1;
        if (level == 2'd3) begin
          if (d_acc) begin
            put(d_pos[6:0], part[0]);
          end else begin
            a_en_o <= 1'b1;
            a_row_o <= d_pos[15:4];
            a_we_o <= d_half ? 16'h3 << d_pos[3:0] : 16'hf << d_pos[3:0];
            rv[0] = d_half ? pair(part[0], part[0]) : part[0];
            a_wd0_o <= rv[0];
            a_wd1_o <= rv[0];
            a_wd2_o <= rv[0];
            a_wd3_o <= rv[0];
          end
          complete;
        end
      end else if (go || state == StAdd) begin
        moved_o <= 1'b1;
        if (state == StAdd) begin
          v_sum;
          mac_o <= 4'd8;
          state = StExec;
        end else if (reduce) begin
          sum_to_part;
        end else if (mac || op == wse_regs_pkg::OpVmul) begin
          v_product;
          if (mac) state = StAdd;
        end else if (op == wse_regs_pkg::OpVadd || op == wse_regs_pkg::OpVsub ||
            op == wse_regs_pkg::OpVmax ||
                     op == wse_regs_pkg::OpVmin) begin
          v_sum;
        end else if (op == wse_regs_pkg::OpVgate || op == wse_regs_pkg::OpVcgt) begin
          v_masked(op == wse_regs_pkg::OpVgate);
        end else if (op == wse_regs_pkg::OpVf2i) begin
          v_f2i;
        end else if (op == wse_regs_pkg::OpVi2f) begin
          v_i2f;
        end else begin
          v_int;
        end
        if (state != StAdd) begin
          // store, and on to the next group
          in_left = in_left - 13'd1;
          last = in_left == '0;
          if (last) begin
            in_left = ins.a1[15:3];
            rows_left = rows_left - 16'd1;
          end
          if (!flow || a_acc) a_pos = next_pos(a_pos, a_line, last, ins.a2[31:16], a_acc, a_half);
          if (!flow || b_acc) b_pos = next_pos(b_pos, b_line, last, ins.b2[31:16], b_acc, b_half);
          if (last && (!flow || a_acc)) a_line = a_pos;
          if (last && (!flow || b_acc)) b_line = b_pos;
          if (!flow) need = needs(a_acc, a_half, b_mem, b_half, !d_acc && mac, d_half);
          if (reduce) begin
            level = '0;
            state = rows_left == '0 ? StTree : flow ? StFlow : need != '0 ? StLoad : StExec;
          end else begin
            if (d_acc) begin
              to_acc(d_pos[6:3]);
            end else begin
              a_en_o <= 1'b1;
              a_we_o <= '1;
              a_row_o <= d_pos[15:4];
              a_wd0_o <= d_half ? pair(rv[0], rv[1]) : rv[0];
              a_wd1_o <= d_half ? pair(rv[2], rv[3]) : rv[1];
              a_wd2_o <= d_half ? pair(rv[4], rv[5]) : rv[2];
              a_wd3_o <= d_half ? pair(rv[6], rv[7]) : rv[3];
            end
            if (!d_acc && !d_half) begin
              state = StStore;
            end else begin
              d_pos = next_pos(d_pos, d_line, last, ins.d2[31:16], d_acc, d_half);
              if (last) d_line = d_pos;
              if (rows_left == '0) complete;
              else state = flow ? StFlow : need != '0 ? StLoad : StExec;
            end
          end
        end
      end
      // ---- rows of later groups ----
      if (from == StFlow) begin
        full = 1'b0;
        if (n_in != '0) begin
          capture;
          full = z_in;
        end
        n_in = n_out;
        z_in = z_out;
        n_now = l_rows != '0 ? need & -need : '0;
        n_out = n_now;
        if (n_now != '0) begin
          a_en_o <= 1'b1;
          a_we_o <= '0;
          a_row_o <= (n_now[0] || n_now[1] ? a_pos[15:4] : b_pos[15:4]) + 12'(n_now[1] || n_now[3]);
          need = need & ~n_now;
          z_out = need == '0;
          if (z_out) begin
            l_left = l_left - 13'd1;
            l_last = l_left == '0;
            if (l_last) begin
              l_left = ins.a1[15:3];
              l_rows = l_rows - 16'd1;
            end
            if (!a_acc) a_pos = next_pos(a_pos, a_line, l_last, ins.a2[31:16], 1'b0, a_half);
            if (b_mem) b_pos = next_pos(b_pos, b_line, l_last, ins.b2[31:16], 1'b0, b_half);
            if (l_last && !a_acc) a_line = a_pos;
            if (l_last && b_mem) b_line = b_pos;
            need = needs(a_acc, a_half, b_mem, b_half, 1'b0, 1'b0);
          end
        end
      end

      // ---- the next instruction, in the cycle in which a vector operation completes; a DOT's END
      // must have been counted ----
      if (state == StIdle && from != StLast && from != StRefuse && ins_valid_i && !failing &&
          step == 2'd3) begin
        ins = ins_i;
        ins_take_o <= 1'b1;
        step = '0;
        busy_o <= 1'b1;
        op = ins.cw[6:0];
        dot = op == OpDot || op == OpDotx;
        reduce = wse_regs_pkg::vop_reduce(op);
        mac = wse_regs_pkg::vop_mac(op);
        color_o <= ins.a0[4:0];
        // the claim begins here, for any operands
        claim_o <= (op == OpAxpy || dot) && ins.a3[3:0] == FabIn && ins.a0 < wse_regs_pkg::NCOLORS;
        moved_o <= 1'b1;
        if (op == OpAxpy || dot) begin
          feats = ins.scalar[2:0];
          bad = ins.a3[3:0] != FabIn || ins.a0 >= wse_regs_pkg::NCOLORS || ins.d3[3:0] != Acc ||
                ins.b3[7:0] != {Half, Mem} || ins.d0[2:0] != '0 ||
                (feats != 3'd1 && feats != 3'd2 && feats != 3'd4) || chk_b[0];
          chk_a = '0;
          chk_d[1] = ins.d0 >= wse_regs_pkg::NACC ||
              32'(feats) * 32'(ins.b1[15:0]) > wse_regs_pkg::NACC - ins.d0;
          base = 32'(ins.b0[15:0]);
          len1 = ins.b2[15:0] == '0 ? 16'd1 : ins.b2[15:0];
          stride1 = 32'($signed(ins.b2[31:16]));
          groups = ins.b1[7:3];
          group0 = ins.d0[6:3];
          left = '0;
          infl = '0;
          {r_v, d_v, x_v, t1_v, t2_v, t3_v, pushed} = '0;
          failed = 1'b0;
          state = StStream;
        end else begin
          d_acc = ins.d3[3:0] == Acc;
          a_acc = ins.a3[3:0] == Acc;
          b_acc = ins.b3[3:0] == Acc;
          b_scalar = reduce || wse_regs_pkg::vop_unary(op) || ins.cw[wse_regs_pkg::TCW_SCALAR_LO];
          b_acc = b_acc && !b_scalar;
          b_mem = !b_acc && !b_scalar;
          d_half = ins.d3[7:4] == Half;
          a_half = ins.a3[7:4] == Half;
          b_half = ins.b3[7:4] == Half;
          bad = !wse_regs_pkg::is_vop(op) || chk_d[0] || chk_a[0] ||
                (!b_scalar && chk_b[0]) ||
                (!reduce && !wse_tensor_pkg::same_shape(ins.a1, ins.a2, ins.d1, ins.d2)) ||
                (!b_scalar && !wse_tensor_pkg::same_shape(ins.b1, ins.b2, ins.d1, ins.d2));
          if (b_scalar) chk_b = '0;
          d_pos = ins.d0[15:0];
          a_pos = ins.a0[15:0];
          b_pos = ins.b0[15:0];
          d_line = d_pos;
          a_line = a_pos;
          b_line = b_pos;
          in_left = ins.a1[15:3];
          rows_left = ins.a2[15:0] == '0 ? 16'd1 : ins.a2[15:0];
          vmax = op == wse_regs_pkg::OpVrmax;
          if (reduce) init_part(vmax ? 32'hff800000 : 32'd0);
          need = needs(a_acc, a_half, b_mem, b_half, !d_acc && mac, d_half);
          n_out = '0;
          n_in = '0;
          flow = need != '0 && (d_acc || reduce) && !mac;
          full = 1'b0;
          l_left = in_left;
          l_rows = rows_left;
          state = flow ? StFlow : need != '0 ? StLoad : StExec;
          from_scalar(ins.scalar);
        end
        if (bad || chk_d[1] || chk_a[1] || chk_b[1]) state = StRefuse;
        // a refused one does nothing
        else if (op == OpAxpy && ins.cw[wse_regs_pkg::TCW_CLEAR_LO])
          clean = clean | 16'(((32'd1 << (32'(feats) * 32'(groups))) - 1) << group0);
      end
    end
    // ---- the movers' writes ----
    if (m0_we_i && !clr_i) put(m0_wa_i, m0_wd_i);
    if (m1_we_i && !clr_i) put(m1_wa_i, m1_wd_i);
    live = !idle;
  end

`ifndef SYNTHESIS
  always @(posedge clk_i) if (!clr_i && !stop_i && (state == StStream || state == StDrain)) begin
    assert (infl <= 5'd8) else $error("lanes: %0d results on their way", infl);
  end
`endif
endmodule
