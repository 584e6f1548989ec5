// SPDX-License-Identifier: MIT
// Engines M0 and M1: DST := SRC1, SRC1 + SRC2, SRC1 to two destinations, or SRC1 as value and
// index, one element a cycle.
//
// The mover reads elements of memory and accumulators ahead into a queue of four per operand; it
// takes wavelets and DOT results in the cycle in which it takes the element. It takes an element
// only when everything for it is ready, room at its destination included: so the capacity of a
// channel is the router's alone, whatever is in this pipeline.
//
// It may read ahead when no destination can be a source of a later element: different stores,
// disjoint ranges, or the very same distinct addresses. Otherwise (`serial`) it reads an element
// after it has written the previous one.

module wse_mover (
  input  logic        clk_i,
  input  logic        clr_i,
  input  logic        stop_i,           // faulted, or held by a debugger

  input  logic        ins_valid_i,
  input  wse_tensor_pkg::ins_t ins_i,
  output logic        ins_take_o,
  output logic        busy_o,
  output logic        act_o,
  output logic        unb_o,
  output logic [4:0]  task_o,
  output logic        fault_o,
  output logic [31:0] fault_cause_o,
  output logic [31:0] fault_color_o,
  output logic [31:0] fault_value_o,
  output logic        moved_o,
  output logic        wait_fab_o,       // waits for a wavelet or for room of wait_color_o
  output logic [4:0]  wait_color_o,

  output logic        claim_o,
  output logic [4:0]  color_o,
  output logic        rx_pop_o,
  input  logic        rx_valid_i,
  input  logic        rx_ctrl_i,
  input  logic [31:0] rx_data_i,

  output logic        dq_pop_o,
  input  logic        dq_valid_i,
  input  logic        dq_end_i,
  input  logic [31:0] dq_data_i,

  output logic        tx_valid_o,
  output logic        tx_ctrl_o,
  output logic [4:0]  tx_color_o,
  output logic [31:0] tx_data_o,
  output logic        tx_ask_o,         // may ask for room
  output logic [2:0]  tx_infl_o,        // elements taken for tx_color_o that have not left
  input  logic        tx_room_i,
  input  logic        tx_ready_i,

  output logic        acc_re_o,
  output logic [6:0]  acc_ra_o,
  output logic [6:0]  acc_rb_o,
  input  logic [31:0] acc_rda_i,
  input  logic [31:0] acc_rdb_i,
  output logic        acc_we_o,
  output logic [6:0]  acc_wa_o,
  output logic [31:0] acc_wd_o,

  output logic        mem_req_o,        // until mem_gnt_i; data of a read one cycle later
  output logic [15:0] mem_we_o,         // byte enables; 0: read
  output logic [11:0] mem_row_o,
  output logic [31:0] mem_wd_o,         // for every word of the row
  input  logic        mem_gnt_i,
  input  logic [31:0] mem_rd0_i,
  input  logic [31:0] mem_rd1_i,
  input  logic [31:0] mem_rd2_i,
  input  logic [31:0] mem_rd3_i
);

  typedef enum logic [2:0] {StIdle, StRefuse, StRun, StEnd, StFinish} state_e;

  state_e      state;
  wse_tensor_pkg::ins_t        ins;
  logic [6:0]  op;
  logic [1:0]  step;                              // operands of ins_i that have been checked
  logic [1:0]  chk [3];
  logic        haz [3];                             // SRC1, SRC2 with DST; SRC1 with the second DST
  (* scratch *) logic [31:0] u0, u1, u2, v0, v1, v2;  // words of two DSRs
  (* scratch *) logic [7:0] u3, v3;
  logic        bad, serial, to_end, send_end;
  logic        set_d, set_a, set_b;               // operands in memory or accumulators
  logic [3:0]  kd, ka, kb;
  logic        fab_out, fab_in, dq_a, dq_b, madd, tee, midx, mem_a, mem_b, acc_a, acc_b;

  // operands 0 DST, 1 SRC1, 2 SRC2 (or second destination): position, row, elements left in the
  // row. The position of MIDX's DST is the index of its next wavelet.
  logic [15:0] pos [3];
  logic [15:0] line [3];
  logic [15:0] left [3];
  logic [15:0] len [3];
  logic [15:0] st [3];
  logic [15:0] st1 [3];
  logic [2:0]  half;
  // elements (or END marks, in outer) still to be taken
  logic [15:0] shape, shape1, inner, outer;
  logic [15:0] rows [3];                          // rows still to be read ahead
  logic        over;                              // all elements are taken

  // read-ahead
  logic [31:0] q1 [4];
  logic [31:0] q2 [4];
  logic [2:0]  n1, n2;                            // filled
  logic [1:0]  h1, h2;                            // head
  logic [2:0]  f1, f2;                            // filled or on the way
  logic        aa_out, aa_in, ab_out, ab_in;      // accumulator reads: address out, data there
  logic        m_in, m_which;                     // memory read: data there, of SRC2
  logic [3:0]  m_at, m_at_out;
  logic        m_b;                               // the request that is out: for SRC2, a write
  logic        m_req;
  logic        m_half;

  // element between take and destination
  logic        c_v, c_d, c_t;                     // still to go to DST, to the second destination
  logic [31:0] c_a, c_b, c_r;
  (* scratch *) logic [31:0] word;
  logic        c_done;                            // the sum has been made
  logic        tx_v;
  (* scratch *) logic ok_a, ok_b, end_mark, took;
  logic [2:0]  infl;
  (* scratch *) logic quiet, acc_used;
  // what outputs say, for the instruction's own use: an output that is written and then read in
  // one cycle is kept twice by a simulator
  logic [4:0]  from, to;
  (* scratch *) logic failing;
  // nothing to do, and nothing said in the last cycle: all registers stand
  logic        live;
  (* scratch *) logic idle;

  task automatic advance(input logic [1:0] i);
    left[i] = left[i] - 16'd1;
    if (left[i] == '0) begin
      line[i] = line[i] + st1[i];
      pos[i] = line[i];
      left[i] = len[i];
      rows[i] = rows[i] - 16'd1;
    end else begin
      pos[i] = pos[i] + st[i];
    end
  endtask

  function automatic logic [15:0] enables(input logic [3:0] at, input logic h);
    enables = h ? 16'h3 << at : 16'hf << at;
  endfunction

  // [first, last] of two operands overlap, in units of their store
  function automatic logic overlap(input logic [31:0] x0, input logic [31:0] x1,
                                   input logic [31:0] x2, input logic [31:0] y0,
                                   input logic [31:0] y1, input logic [31:0] y2,
                                   input logic [3:0] xsize, input logic [3:0] ysize);
    logic signed [35:0] xl, xh, yl, yh;
    xl = $signed({4'd0, x0}) + 36'(wse_tensor_pkg::span(x1, x2, 1'b0));
    xh = $signed({4'd0, x0}) + 36'(wse_tensor_pkg::span(x1, x2, 1'b1)) + $signed({32'd0, xsize});
    yl = $signed({4'd0, y0}) + 36'(wse_tensor_pkg::span(y1, y2, 1'b0));
    yh = $signed({4'd0, y0}) + 36'(wse_tensor_pkg::span(y1, y2, 1'b1)) + $signed({32'd0, ysize});
    overlap = xl < yh && yl < xh;
  endfunction
  // all elements of an operand of one row lie apart
  function automatic logic apart(input logic [31:0] w1, input logic [31:0] w2);
    apart = w2[15:0] <= 16'd1 && w1[31:16] != '0;
  endfunction
  // whether a source may be read ahead of the writes to a destination
  function automatic logic [3:0] size_of(input logic [3:0] kind, input logic [3:0] dtype);
    size_of = kind == wse_regs_pkg::KIND_ACC[3:0] ? 4'd1 :
        dtype == wse_regs_pkg::DT_BF16[3:0] ? 4'd2 : 4'd4;
  endfunction
  function automatic logic hazard(input logic [3:0] ks, input logic [3:0] kt, input logic [31:0] s0,
                                  input logic [31:0] s1, input logic [31:0] s2,
                                  input logic [3:0] sd, input logic [31:0] t0,
                                  input logic [31:0] t1, input logic [31:0] t2,
                                  input logic [3:0] td);
    hazard = ks == kt && wse_tensor_pkg::is_store(ks) &&
             overlap(s0, s1, s2, t0, t1, t2, size_of(ks, sd), size_of(kt, td)) &&
             !(s0 == t0 && s1 == t1 && s2 == t2 &&
             (sd == td || ks == wse_regs_pkg::KIND_ACC[3:0]) && apart(s1, s2));
  endfunction

  task automatic arrivals;
    // data read
    if (m_in) begin
      word = m_at[3] ? (m_at[2] ? mem_rd3_i : mem_rd2_i) : (m_at[2] ? mem_rd1_i : mem_rd0_i);
      if (m_half) word = m_at[1] ? word & 32'hffff0000 : word << 16;
      if (m_which) begin
        q2[h2 + n2[1:0]] = word;
        n2 = n2 + 3'd1;
      end else begin
        q1[h1 + n1[1:0]] = word;
        n1 = n1 + 3'd1;
      end
      m_in = 1'b0;
    end
    if (aa_in) begin
      q1[h1 + n1[1:0]] = acc_rda_i;
      n1 = n1 + 3'd1;
    end
    if (ab_in) begin
      q2[h2 + n2[1:0]] = acc_rdb_i;
      n2 = n2 + 3'd1;
    end
    aa_in = aa_out;
    ab_in = ab_out;
    aa_out = 1'b0;
    ab_out = 1'b0;
    // requests and offers that have been taken
    if (m_req && mem_gnt_i) begin
      m_req = 1'b0;
      mem_req_o <= 1'b0;
      m_in = mem_we_o == '0;
      m_which = m_b;
      m_at = m_at_out;
      m_half = m_b ? half[2] : half[1];
    end
    if (tx_v && tx_ready_i) begin
      tx_v = 1'b0;
      tx_valid_o <= 1'b0;
      infl = infl - 3'd1;
      tx_infl_o <= infl;
    end
  endtask

  task automatic fail(input logic [31:0] c, input logic [31:0] col, input logic [31:0] v);
    fault_o <= 1'b1;
    fault_cause_o <= c;
    fault_color_o <= col;
    fault_value_o <= v;
    state = StIdle;
  endtask

  always @(posedge clk_i) if (live || ins_valid_i || clr_i) begin
    idle = state == StIdle && !ins_valid_i && !tx_v && !m_req;
    failing = fault_o;
    ins_take_o <= 1'b0;
    act_o <= 1'b0;
    unb_o <= 1'b0;
    fault_o <= 1'b0;
    moved_o <= 1'b0;
    wait_fab_o <= 1'b0;
    rx_pop_o <= 1'b0;
    dq_pop_o <= 1'b0;
    acc_re_o <= 1'b0;
    acc_we_o <= 1'b0;
    // ---- check the operands of the waiting instruction, one a cycle, whatever runs ----
    if (!ins_valid_i) begin
      step = '0;
    end else if (step != 2'd3) begin
      // DST, SRC1, SRC2; SRC1 with DST, SRC2 with DST, SRC1 with SRC2 as the second destination
      u0 = step == 2'd1 ? ins_i.b0 : ins_i.a0;
      u1 = step == 2'd1 ? ins_i.b1 : ins_i.a1;
      u2 = step == 2'd1 ? ins_i.b2 : ins_i.a2;
      u3 = step == 2'd1 ? ins_i.b3[7:0] : ins_i.a3[7:0];
      v0 = step == 2'd2 ? ins_i.b0 : ins_i.d0;
      v1 = step == 2'd2 ? ins_i.b1 : ins_i.d1;
      v2 = step == 2'd2 ? ins_i.b2 : ins_i.d2;
      v3 = step == 2'd2 ? ins_i.b3[7:0] : ins_i.d3[7:0];
      haz[step] = hazard(u3[3:0], v3[3:0], u0, u1, u2, u3[7:4], v0, v1, v2, v3[7:4]);
      if (step == 2'd1) begin
        v0 = ins_i.a0;
        v1 = ins_i.a1;
        v2 = ins_i.a2;
        v3 = ins_i.a3[7:0];
      end
      chk[step] = wse_tensor_pkg::check(v0, v1, v2, v3, wse_tensor_pkg::RuleMover);
      step = step + 2'd1;
    end
    if (clr_i) begin
      state = StIdle;
      busy_o <= 1'b0;
      claim_o <= 1'b0;
      tx_ask_o <= 1'b0;
      tx_valid_o <= 1'b0;
      tx_infl_o <= '0;
      mem_req_o <= 1'b0;
      tx_v = 1'b0;
      m_req = 1'b0;
      m_in = 1'b0;
      infl = '0;
      step = '0;
    end else if (stop_i) begin
      // elements past the read-ahead proceed to their end, and no other begins
      if ((state != StIdle && state != StRefuse) || tx_v || m_req) arrivals;
    end else if (state == StIdle) begin
      if (tx_v || m_req) arrivals;        // the last element of an instruction that has failed
      if (ins_valid_i && !failing && step == 2'd3) begin
        ins = ins_i;
        ins_take_o <= 1'b1;
        step = '0;
        busy_o <= 1'b1;
        task_o <= ins.cw[31:27];
        op = ins.cw[6:0];
        ka = ins.a3[3:0];
        kd = ins.d3[3:0];
        kb = ins.b3[3:0];
        madd = op == wse_regs_pkg::TOP_MADD[6:0];
        tee = op == wse_regs_pkg::TOP_MTEE[6:0];
        midx = op == wse_regs_pkg::TOP_MIDX[6:0];
        if (!madd && !tee) kb = wse_regs_pkg::KIND_NONE[3:0];
        fab_out = kd == wse_regs_pkg::KIND_FABOUT[3:0];
        fab_in = ka == wse_regs_pkg::KIND_FABIN[3:0];
        dq_a = ka == wse_regs_pkg::KIND_DOTQ[3:0];
        dq_b = madd && kb == wse_regs_pkg::KIND_DOTQ[3:0];
        to_end = ins.cw[wse_regs_pkg::TCW_UNTIL_END_LO];
        send_end = ins.cw[wse_regs_pkg::TCW_SEND_END_LO];
        mem_a = ka == wse_regs_pkg::KIND_MEM[3:0];
        acc_a = ka == wse_regs_pkg::KIND_ACC[3:0];
        mem_b = madd && kb == wse_regs_pkg::KIND_MEM[3:0];
        acc_b = madd && kb == wse_regs_pkg::KIND_ACC[3:0];
        from = ins.a0[4:0];
        to = ins.d0[4:0];
        color_o <= from;
        tx_color_o <= to;
        tx_ask_o <= fab_out;
        // the claim begins here, for any operands
        claim_o <= fab_in && ins.a0 < wse_regs_pkg::NCOLORS;
        set_d = wse_tensor_pkg::is_store(kd);
        set_a = wse_tensor_pkg::is_store(ka);
        set_b = wse_tensor_pkg::is_store(kb);
        shape = fab_out && set_a ? ins.a1[15:0] : ins.d1[15:0];
        shape1 = fab_out && set_a ? ins.a2[15:0] : ins.d2[15:0];
        shape1 = shape1 == '0 ? 16'd1 : shape1;
        bad = op < wse_regs_pkg::TOP_MOVE[6:0] || op > wse_regs_pkg::TOP_MIDX[6:0] ||
              (midx && (!fab_out || !set_a || shape > 16'd4 ||
              33'(ins.scalar) + 33'(shape1) > 33'h4000)) ||
              (fab_out ? ins.d0 >= wse_regs_pkg::NCOLORS : !set_d) ||
              (fab_in ? ins.a0 >= wse_regs_pkg::NCOLORS : !set_a && !dq_a) ||
              (madd && !set_b && !(dq_b && !dq_a)) || (tee && !set_b) ||
              (send_end && !fab_out) || (to_end && (!fab_out || set_a || set_b)) || shape == '0 ||
              (set_d && chk[0][0]) ||
              (set_a && (chk[1][0] || !wse_tensor_pkg::same_shape(ins.a1, ins.a2, 32'(shape),
              32'(shape1)))) ||
              (set_b && (chk[2][0] || !wse_tensor_pkg::same_shape(ins.b1, ins.b2, 32'(shape),
              32'(shape1))));
        if (!set_d) chk[0] = '0;
        if (!set_a) chk[1] = '0;
        if (!set_b) chk[2] = '0;
        serial = haz[0] || (madd && haz[1]) || (tee && haz[2]);
        pos[0] = ins.d0[15:0];
        pos[1] = ins.a0[15:0];
        pos[2] = ins.b0[15:0];
        st[0] = ins.d1[31:16];
        st[1] = ins.a1[31:16];
        st[2] = ins.b1[31:16];
        st1[0] = ins.d2[31:16];
        st1[1] = ins.a2[31:16];
        st1[2] = ins.b2[31:16];
        if (midx) begin
          pos[0] = ins.scalar[15:0];
          st[0] = 16'h4000;
          st1[0] = 16'd1;
        end
        line[0] = pos[0];
        line[1] = pos[1];
        line[2] = pos[2];
        left[0] = shape;
        left[1] = shape;
        left[2] = shape;
        len[0] = shape;
        len[1] = shape;
        len[2] = shape;
        rows[0] = shape1;
        rows[1] = shape1;
        rows[2] = shape1;
        half[0] = kd == wse_regs_pkg::KIND_MEM[3:0] && ins.d3[7:4] == wse_regs_pkg::DT_BF16[3:0];
        half[1] = mem_a && ins.a3[7:4] == wse_regs_pkg::DT_BF16[3:0];
        half[2] = kb == wse_regs_pkg::KIND_MEM[3:0] && ins.b3[7:4] == wse_regs_pkg::DT_BF16[3:0];
        inner = shape;
        outer = to_end ? shape : shape1;
        over = 1'b0;
        {n1, n2, f1, f2, h1, h2} = '0;
        {aa_out, aa_in, ab_out, ab_in, m_in, c_v} = '0;
        moved_o <= 1'b1;
        state = bad || chk[0][1] || chk[1][1] || chk[2][1] ? StRefuse : StRun;
      end
    end else if (state == StRefuse) begin
      fail(bad ? wse_regs_pkg::CAUSE_BAD_DSR : wse_regs_pkg::CAUSE_OPERAND_ADDR, '1, '0);
    end else begin
      arrivals;
      // ---- the element goes to its destinations ----
      acc_used = 1'b0;
      if (c_v) begin
        if (!c_done) c_r = madd ? wse_fp_pkg::fp_add(c_a, c_b) : c_a;
        c_done = 1'b1;
        if (c_d) begin
          if (fab_out) begin
            if (!tx_v) begin
              tx_v = 1'b1;
              tx_valid_o <= 1'b1;
              tx_ctrl_o <= 1'b0;
              tx_data_o <= midx ? (wse_fp_pkg::fp_to_bf16(c_r) << 16) | 32'(pos[0]) : c_r;
              c_d = 1'b0;
            end
          end else if (kd == wse_regs_pkg::KIND_ACC[3:0]) begin
            acc_we_o <= 1'b1;
            acc_wa_o <= pos[0][6:0];
            acc_wd_o <= c_r;
            acc_used = 1'b1;
            c_d = 1'b0;
          end else if (!m_req) begin
            m_req = 1'b1;
            mem_req_o <= 1'b1;
            mem_we_o <= enables(pos[0][3:0], half[0]);
            mem_row_o <= pos[0][15:4];
            mem_wd_o <= half[0] ? wse_fp_pkg::fp_to_bf16(c_r) |
                (wse_fp_pkg::fp_to_bf16(c_r) << 16) : c_r;
            c_d = 1'b0;
          end
        end
        if (c_t) begin
          if (kb == wse_regs_pkg::KIND_ACC[3:0]) begin
            if (!acc_used) begin
              acc_we_o <= 1'b1;
              acc_wa_o <= pos[2][6:0];
              acc_wd_o <= c_r;
              acc_used = 1'b1;
              c_t = 1'b0;
            end
          end else if (!m_req && !(c_d && kd == wse_regs_pkg::KIND_MEM[3:0])) begin
            m_req = 1'b1;
            mem_req_o <= 1'b1;
            mem_we_o <= enables(pos[2][3:0], half[2]);
            mem_row_o <= pos[2][15:4];
            mem_wd_o <= half[2] ? wse_fp_pkg::fp_to_bf16(c_r) |
                (wse_fp_pkg::fp_to_bf16(c_r) << 16) : c_r;
            c_t = 1'b0;
          end
        end
        if (!c_d && !c_t) begin
          c_v = 1'b0;
          advance(2'd0);
          if (tee) advance(2'd2);
        end
        moved_o <= 1'b1;
      end
      // ---- take the next element or END mark ----
      if (state == StRun && !over && !c_v) begin
        ok_a = fab_in ? rx_valid_i : dq_a ? dq_valid_i : n1 != '0;
        ok_b = !madd || (dq_b ? dq_valid_i : n2 != '0);
        end_mark = 1'b0;
        took = 1'b0;
        if ((dq_a || dq_b) && dq_valid_i && dq_end_i) begin
          if (to_end) begin
            end_mark = 1'b1;
            dq_pop_o <= 1'b1;
          end else begin
            fail(wse_regs_pkg::CAUSE_BAD_CTRL, '1, '0);
          end
        end else if (fab_in && rx_valid_i && rx_ctrl_i) begin
          if (to_end && !dq_b && rx_data_i[wse_regs_pkg::CTRLW_END_LO]) begin
            end_mark = 1'b1;
            rx_pop_o <= 1'b1;
          end else begin
            fail(wse_regs_pkg::CAUSE_BAD_CTRL, 32'(from), rx_data_i);
          end
        end else if (ok_a && ok_b && (!fab_out || tx_room_i)) begin
          took = 1'b1;
        end else if ((fab_in && !ok_a) || (ok_a && ok_b)) begin
          wait_fab_o <= 1'b1;
          wait_color_o <= fab_in && !ok_a ? from : to;
        end
        if (took) begin
          c_v = 1'b1;
          c_done = 1'b0;
          c_d = 1'b1;
          c_t = tee;
          c_a = fab_in ? rx_data_i : dq_a ? dq_data_i : q1[h1];
          c_b = dq_b ? dq_data_i : q2[h2];
          if (fab_in) rx_pop_o <= 1'b1;
          if (dq_a || dq_b) dq_pop_o <= 1'b1;
          if (mem_a || acc_a) begin
            h1 = h1 + 2'd1;
            n1 = n1 - 3'd1;
            f1 = f1 - 3'd1;
          end
          if (mem_b || acc_b) begin
            h2 = h2 + 2'd1;
            n2 = n2 - 3'd1;
            f2 = f2 - 3'd1;
          end
          if (fab_out) infl = infl + 3'd1;
          if (!to_end) begin
            inner = inner - 16'd1;
            if (inner == '0) begin
              inner = shape;
              outer = outer - 16'd1;
              over = outer == '0;
            end
          end
        end
        if (end_mark) begin
          outer = outer - 16'd1;
          over = outer == '0;
          moved_o <= 1'b1;
        end
      end
      // ---- read ahead ----
      quiet = !c_v && !m_req && !m_in && !acc_used;   // a write of this cycle is not there yet
      if (state == StRun && (!serial || (quiet && f1 == '0 && f2 == '0) ||
          (quiet && f1 + f2 == 3'd1))) begin
        if (acc_a && rows[1] != '0 && (serial ? f1 == '0 : f1 < 3'd4)) begin
          acc_re_o <= 1'b1;
          acc_ra_o <= pos[1][6:0];
          aa_out = 1'b1;
          f1 = f1 + 3'd1;
          advance(2'd1);
        end
        if (acc_b && rows[2] != '0 && (serial ? f2 == '0 : f2 < 3'd4)) begin
          acc_re_o <= 1'b1;
          acc_rb_o <= pos[2][6:0];
          ab_out = 1'b1;
          f2 = f2 + 3'd1;
          advance(2'd2);
        end
        if (!m_req) begin
          if (mem_a && rows[1] != '0 && (serial ? f1 == '0 : f1 < 3'd4) &&
              !(mem_b && f2 < f1 && rows[2] != '0)) begin
            m_req = 1'b1;
            m_b = 1'b0;
            m_at_out = pos[1][3:0];
            mem_req_o <= 1'b1;
            mem_we_o <= '0;
            mem_row_o <= pos[1][15:4];
            f1 = f1 + 3'd1;
            advance(2'd1);
          end else if (mem_b && rows[2] != '0 && (serial ? f2 == '0 : f2 < 3'd4)) begin
            m_req = 1'b1;
            m_b = 1'b1;
            m_at_out = pos[2][3:0];
            mem_req_o <= 1'b1;
            mem_we_o <= '0;
            mem_row_o <= pos[2][15:4];
            f2 = f2 + 3'd1;
            advance(2'd2);
          end
        end
      end
      // ---- the end ----
      if (state == StRun && over && !c_v) state = send_end ? StEnd : StFinish;
      else if (state == StEnd && !tx_v) begin
        if (tx_room_i) begin
          tx_v = 1'b1;
          tx_valid_o <= 1'b1;
          tx_ctrl_o <= 1'b1;
          tx_data_o <= 32'd1 << wse_regs_pkg::CTRLW_END_LO;
          infl = infl + 3'd1;
          state = StFinish;
        end else begin
          wait_fab_o <= 1'b1;
          wait_color_o <= to;
        end
      end else if (state == StFinish && !tx_v && !m_req) begin
        busy_o <= 1'b0;
        claim_o <= 1'b0;
        tx_ask_o <= 1'b0;
        act_o <= ins.cw[wse_regs_pkg::TCW_ACTIVATE_LO];
        unb_o <= ins.cw[wse_regs_pkg::TCW_UNBLOCK_LO];
        moved_o <= 1'b1;
        state = StIdle;
      end
      tx_infl_o <= infl;
    end
    live = !idle;
  end

`ifndef SYNTHESIS
  always @(posedge clk_i) if (!clr_i && !stop_i && state == StRun) begin
    assert (f1 <= 3'd4 && f2 <= 3'd4 && n1 <= f1 && n2 <= f2)
        else $error("mover: read-ahead overruns");
    assert (infl <= 3'd3) else $error("mover: %0d wavelets on their way", infl);
  end
`endif
endmodule
