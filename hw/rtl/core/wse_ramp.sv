// SPDX-License-Identifier: MIT
// The core's side of the ramp: receive queues of CHAN_DEPTH wavelets per color, credits both ways,
// and the one wavelet a cycle that the core sends.
//
// Per-color state is bit-sliced (plane b holds bit b of all colors' counters): one update serves
// all colors. A reader names a color and sees the head of its queue in the same cycle; it reports
// one cycle later that it took it, so the head skips a wavelet just taken. A sender's credit is
// used when its wavelet leaves; a mover reports the number of its elements in flight (infl), so
// that it never takes an element for which there is no room.

module wse_ramp (
  input  logic        clk_i,
  input  logic        rst_i,        // reset of the tile: queues empty, all credits there
  input  logic        flush_i,      // BOOT: queues empty, credits go back to the router

  input  logic        rx_valid_i,
  input  logic        rx_ctrl_i,
  input  logic [4:0]  rx_color_i,
  input  logic [31:0] rx_data_i,
  output logic        rx_cr_valid_o,
  output logic [4:0]  rx_cr_color_o,
  // the same beside it, of wavelets that the router takes from north
  input  logic        rn_valid_i,
  input  logic        rn_ctrl_i,
  input  logic [4:0]  rn_color_i,
  input  logic [31:0] rn_data_i,
  output logic        rn_cr_valid_o,
  output logic [4:0]  rn_cr_color_o,
  output logic        tx_valid_o,
  output logic        tx_ctrl_o,
  output logic [4:0]  tx_color_o,
  output logic [31:0] tx_data_o,
  input  logic        tx_cr_valid_i,
  input  logic [4:0]  tx_cr_color_i,

  // readers: lanes, movers, scalar side; what a reader does not ask for is 0
  input  logic        l_ask_i,
  input  logic [4:0]  l_color_i,
  input  logic        l_pop_i,
  output logic        l_valid_o,
  output logic        l_ctrl_o,
  output logic [31:0] l_data_o,
  input  logic        m0_ask_i,
  input  logic [4:0]  m0_color_i,
  input  logic        m0_pop_i,
  output logic        m0_valid_o,
  output logic        m0_ctrl_o,
  output logic [31:0] m0_data_o,
  input  logic        m1_ask_i,
  input  logic [4:0]  m1_color_i,
  input  logic        m1_pop_i,
  output logic        m1_valid_o,
  output logic        m1_ctrl_o,
  output logic [31:0] m1_data_o,
  input  logic        s_ask_i,
  input  logic [4:0]  s_color_i,
  input  logic        s_pop_i,
  output logic        s_valid_o,
  output logic        s_ctrl_o,
  output logic [31:0] s_data_o,
  output logic [23:0] some_o,       // colors with a wavelet
  output logic [23:0] ctrl_o,       // of these, a control wavelet is at the head

  // senders: scalar side, movers
  input  logic        st_valid_i,
  input  logic        st_ctrl_i,
  input  logic [4:0]  st_color_i,
  input  logic [31:0] st_data_i,
  output logic        st_ready_o,
  input  logic        m0t_valid_i,
  input  logic        m0t_ctrl_i,
  input  logic [4:0]  m0t_color_i,
  input  logic [31:0] m0t_data_i,
  input  logic        m0t_ask_i,
  input  logic [2:0]  m0t_infl_i,
  output logic        m0t_room_o,
  output logic        m0t_ready_o,
  input  logic        m1t_valid_i,
  input  logic        m1t_ctrl_i,
  input  logic [4:0]  m1t_color_i,
  input  logic [31:0] m1t_data_i,
  input  logic        m1t_ask_i,
  input  logic [2:0]  m1t_infl_i,
  output logic        m1t_room_o,
  output logic        m1t_ready_o
);
  function automatic logic [4:0] onehot24(input logic [23:0] x);
    onehot24 = {|(x & 24'hff0000), |(x & 24'h00ff00), |(x & 24'hf0f0f0),
                |(x & 24'hcccccc), |(x & 24'haaaaaa)};
  endfunction

  // bit c of x, 0 beyond its end; a simulator need not compare what a shift by 5 bits says
  function automatic logic at(input logic [23:0] x, input logic [4:0] c);
    at = 1'({8'd0, x} >> c);
  endfunction

  // ---- receive ----
  logic [31:0] data [128];              // {color, slot}
  logic [31:0] data_n [128];            // what came from north: each memory has one port to write
  logic [23:0] n0, n1, n2;              // wavelets
  logic [23:0] r0, r1, w0, w1;          // read and write slot
  // bit {i, color}: slot i holds a control wavelet; what is in slot i came from north
  logic [127:0] k, o;
  logic [23:0] north;                   // colors whose last wavelet did
  logic [23:0] p0, p1, p2;              // credits that are still to be handed back
  // colors up to the one that got its credit last, of those of either link
  logic [23:0] last, last_n;
  logic [1:0]  l_slot, m0_slot, m1_slot, s_slot;
  logic [23:0] many;                    // colors with two or more
  // a color has 5 bits; with as many colors a simulator need not look for its end
  logic [31:0] r0_x, r1_x, some_x, many_x;
  assign many = n1 | n2;
  assign some_o = n0 | many;
  assign r0_x = 32'(r0);
  assign r1_x = 32'(r1);
  assign many_x = 32'(many);
  assign some_x = 32'(some_o);
  assign ctrl_o = 24'((~r1 & ((~r0 & k[23:0]) | (r0 & k[55:32]))) |
                      (r1 & ((~r0 & k[87:64]) | (r0 & k[119:96]))));

  always_comb begin
    l_slot = '0;
    l_valid_o = 1'b0;
    l_ctrl_o = 1'b0;
    l_data_o = '0;
    if (l_ask_i) begin
      l_slot = {r1_x[l_color_i], r0_x[l_color_i]} + 2'(l_pop_i);
      l_valid_o = l_pop_i ? many_x[l_color_i] : some_x[l_color_i];
      l_ctrl_o = k[{l_slot, l_color_i}];
      l_data_o = o[{l_slot, l_color_i}] ? data_n[{l_color_i, l_slot}] :
          data[{l_color_i, l_slot}];
    end
  end
  always_comb begin
    m0_slot = '0;
    m0_valid_o = 1'b0;
    m0_ctrl_o = 1'b0;
    m0_data_o = '0;
    if (m0_ask_i) begin
      m0_slot = {r1_x[m0_color_i], r0_x[m0_color_i]} + 2'(m0_pop_i);
      m0_valid_o = m0_pop_i ? many_x[m0_color_i] : some_x[m0_color_i];
      m0_ctrl_o = k[{m0_slot, m0_color_i}];
      m0_data_o = o[{m0_slot, m0_color_i}] ? data_n[{m0_color_i, m0_slot}] :
          data[{m0_color_i, m0_slot}];
    end
  end
  always_comb begin
    m1_slot = '0;
    m1_valid_o = 1'b0;
    m1_ctrl_o = 1'b0;
    m1_data_o = '0;
    if (m1_ask_i) begin
      m1_slot = {r1_x[m1_color_i], r0_x[m1_color_i]} + 2'(m1_pop_i);
      m1_valid_o = m1_pop_i ? many_x[m1_color_i] : some_x[m1_color_i];
      m1_ctrl_o = k[{m1_slot, m1_color_i}];
      m1_data_o = o[{m1_slot, m1_color_i}] ? data_n[{m1_color_i, m1_slot}] :
          data[{m1_color_i, m1_slot}];
    end
  end
  always_comb begin
    s_slot = '0;
    s_valid_o = 1'b0;
    s_ctrl_o = 1'b0;
    s_data_o = '0;
    if (s_ask_i) begin
      s_slot = {r1_x[s_color_i], r0_x[s_color_i]} + 2'(s_pop_i);
      s_valid_o = s_pop_i ? many_x[s_color_i] : some_x[s_color_i];
      s_ctrl_o = k[{s_slot, s_color_i}];
      s_data_o = o[{s_slot, s_color_i}] ? data_n[{s_color_i, s_slot}] :
          data[{s_color_i, s_slot}];
    end
  end

  // What is read of a register is read before it is written, in the order of these lines, and reset
  // comes last: so a simulator keeps no second copy of it.
  (* scratch *) logic [31:0] s0, s1, s2, s3, set, set_n;
  (* scratch *) logic [23:0] pop, push, push_n, inc, dec, c0, c1, owed, one, one_n, q0, q1, q2;
  always @(posedge clk_i) begin
    rx_cr_valid_o <= 1'b0;
    rn_cr_valid_o <= 1'b0;
    if (flush_i) begin
      // drops wavelets in the queues and those that arrive now: the router gets credits for all
      // of them
      push = (rx_valid_i ? 24'd1 << rx_color_i : '0) | (rn_valid_i ? 24'd1 << rn_color_i : '0);
      c0 = n0 & push;
      c1 = n1 & c0;
      q0 = n0 ^ push; q1 = n1 ^ c0; q2 = n2 ^ c1;
      c0 = p0 & q0;
      c1 = (p1 & q1) | (c0 & (p1 ^ q1));
      q2 = p2 ^ q2 ^ c1;
      q1 = p1 ^ q1 ^ c0;
      q0 = p0 ^ q0;
    end else begin
      pop = '0;
      if (l_pop_i || m0_pop_i || m1_pop_i || s_pop_i)
        pop = some_o & ((24'(l_pop_i) << l_color_i) | (24'(m0_pop_i) << m0_color_i) |
                        (24'(m1_pop_i) << m1_color_i) | (24'(s_pop_i) << s_color_i));
      // one credit a cycle and link, round robin; the router takes it from either
      owed = p0 | p1 | p2 | pop;
      if (owed != '0) begin
        one = '0;
        one_n = '0;
        if ((owed & ~north) != '0) begin
          one = (owed & ~north & ~last) != '0 ? owed & ~north & ~last : owed & ~north;
          one = one & -one;
          last <= one | (one - 24'd1);
          rx_cr_valid_o <= 1'b1;
          rx_cr_color_o <= onehot24(one);
        end
        if ((owed & north) != '0) begin
          one_n = (owed & north & ~last_n) != '0 ? owed & north & ~last_n : owed & north;
          one_n = one_n & -one_n;
          last_n <= one_n | (one_n - 24'd1);
          rn_cr_valid_o <= 1'b1;
          rn_cr_color_o <= onehot24(one_n);
        end
        one = one | one_n;
        inc = pop & ~one;
        dec = one & ~pop;
        p2 <= p2 ^ (p1 & p0 & inc) ^ (~p1 & ~p0 & dec);
        p1 <= p1 ^ (p0 & inc) ^ (~p0 & dec);
        p0 <= p0 ^ inc ^ dec;
      end
      push = '0;
      if (rx_valid_i || rn_valid_i) begin
        push_n = '0;
        set = '0;
        if (rx_valid_i) begin
          push = 24'd1 << rx_color_i;
          data[{rx_color_i, at(w1, rx_color_i), at(w0, rx_color_i)}] <= rx_data_i;
          if (rx_ctrl_i) set = {8'd0, push};
        end
        if (rn_valid_i) begin
          push_n = 24'd1 << rn_color_i;
          data_n[{rn_color_i, at(w1, rn_color_i), at(w0, rn_color_i)}] <= rn_data_i;
          if (rn_ctrl_i) set = set | {8'd0, push_n};
        end
        north <= (north & ~push) | push_n;
        push = push | push_n;
        set_n = {8'd0, push_n};
        s0 = {8'd0, push & ~w1 & ~w0};
        s1 = {8'd0, push & ~w1 & w0};
        s2 = {8'd0, push & w1 & ~w0};
        s3 = {8'd0, push & w1 & w0};
        k <= (k & ~{s3, s2, s1, s0}) | ({set, set, set, set} & {s3, s2, s1, s0});
        o <= (o & ~{s3, s2, s1, s0}) | ({set_n, set_n, set_n, set_n} & {s3, s2, s1, s0});
      end
      if ((pop | push) != '0) begin
        inc = push & ~pop;
        dec = pop & ~push;
        n2 <= n2 ^ (n1 & n0 & inc) ^ (~n1 & ~n0 & dec);
        n1 <= n1 ^ (n0 & inc) ^ (~n0 & dec);
        n0 <= n0 ^ inc ^ dec;
        r1 <= r1 ^ (r0 & pop);
        r0 <= r0 ^ pop;
        w1 <= w1 ^ (w0 & push);
        w0 <= w0 ^ push;
      end
    end
    if (flush_i) begin
      p2 <= q2;
      p1 <= q1;
      p0 <= q0;
      n0 <= '0; n1 <= '0; n2 <= '0;
      r0 <= '0; r1 <= '0; w0 <= '0; w1 <= '0;
    end
    if (rst_i) begin
      n0 <= '0; n1 <= '0; n2 <= '0;
      r0 <= '0; r1 <= '0; w0 <= '0; w1 <= '0;
      k <= '0;
      o <= '0;
      p0 <= '0; p1 <= '0; p2 <= '0;
      north <= '0;
      last <= '0;
      last_n <= '0;
      rx_cr_valid_o <= 1'b0;
      rx_cr_color_o <= '0;
      rn_cr_valid_o <= 1'b0;
      rn_cr_color_o <= '0;
    end
  end

  // ---- send ----
  logic [23:0] t0, t1, t2;              // credits
  logic        turn;                    // mover 1 goes first
  // of two movers on one color, mover 1 may take for the last credit
  logic        last_turn;
  logic        m0_go, m1_go;

  logic [31:0] t0_x, t1_x, t2_x;
  assign t0_x = 32'(t0);
  assign t1_x = 32'(t1);
  assign t2_x = 32'(t2);

  // infl counts the elements taken for the color that have not left, the wavelet in mXt included. A
  // credit that a SEND uses in this cycle is no room, and the last one is not promised to both
  // movers at once. A credit that comes back in this cycle is room, for an element uses it a cycle
  // later at the earliest: from a mover's take to the credit that it used are four cycles so, and
  // CHAN_DEPTH wavelets on their way keep up one a cycle.
  logic        same;
  logic [2:0]  m0_back, m1_back;
  assign same = m0t_color_i == m1t_color_i;
  always_comb begin
    m0_back = '0;
    m0t_room_o = 1'b0;
    if (m0t_ask_i) begin
      m0_back = 3'(tx_cr_valid_i && tx_cr_color_i == m0t_color_i);
      m0t_room_o = {t2_x[m0t_color_i], t1_x[m0t_color_i], t0_x[m0t_color_i]} + m0_back >
                   m0t_infl_i + (same ? m1t_infl_i + 3'(last_turn) : 3'd0) +
                   3'(st_ready_o && st_color_i == m0t_color_i);
    end
  end
  always_comb begin
    m1_back = '0;
    m1t_room_o = 1'b0;
    if (m1t_ask_i) begin
      m1_back = 3'(tx_cr_valid_i && tx_cr_color_i == m1t_color_i);
      m1t_room_o = {t2_x[m1t_color_i], t1_x[m1t_color_i], t0_x[m1t_color_i]} + m1_back >
                   m1t_infl_i + (same ? m0t_infl_i + 3'(!last_turn) : 3'd0) +
                   3'(st_ready_o && st_color_i == m1t_color_i);
    end
  end
  always_comb begin
    st_ready_o = 1'b0;
    if (st_valid_i)
      st_ready_o = {t2_x[st_color_i], t1_x[st_color_i], t0_x[st_color_i]} >
                   (m0t_color_i == st_color_i ? m0t_infl_i : 3'd0) +
                   (m1t_color_i == st_color_i ? m1t_infl_i : 3'd0);
  end
  assign m0_go = m0t_valid_i && !st_ready_o;
  assign m1_go = m1t_valid_i && !st_ready_o;
  assign m0t_ready_o = m0_go && !(m1_go && turn);
  assign m1t_ready_o = m1_go && !(m0_go && !turn);

  (* scratch *) logic [23:0] give, take, inc_t, dec_t;
  (* scratch *) logic go;
  always @(posedge clk_i) begin
    go = st_ready_o || m0t_valid_i || m1t_valid_i;
    tx_valid_o <= go;
    if (same) last_turn <= !last_turn;
    take = '0;
    if (go) begin
      tx_ctrl_o <= st_ready_o ? st_ctrl_i : m0t_ready_o ? m0t_ctrl_i : m1t_ctrl_i;
      tx_color_o <= st_ready_o ? st_color_i : m0t_ready_o ? m0t_color_i : m1t_color_i;
      tx_data_o <= st_ready_o ? st_data_i : m0t_ready_o ? m0t_data_i : m1t_data_i;
      take = 24'd1 << (st_ready_o ? st_color_i : m0t_ready_o ? m0t_color_i : m1t_color_i);
      turn <= m0t_ready_o;
    end
    if (go || tx_cr_valid_i) begin
      give = tx_cr_valid_i ? 24'd1 << tx_cr_color_i : '0;
      inc_t = give & ~take;
      dec_t = take & ~give;
      t2 <= t2 ^ (t1 & t0 & inc_t) ^ (~t1 & ~t0 & dec_t);
      t1 <= t1 ^ (t0 & inc_t) ^ (~t0 & dec_t);
      t0 <= t0 ^ inc_t ^ dec_t;
    end
    if (rst_i) begin
      t0 <= '0;
      t1 <= '0;
      t2 <= '1;                         // CHAN_DEPTH is 4
      turn <= 1'b0;
      last_turn <= 1'b0;
      tx_valid_o <= 1'b0;
    end
  end

`ifndef SYNTHESIS
  always @(posedge clk_i) if (!rst_i) begin
    assert (!(rx_valid_i && !flush_i && n2[rx_color_i]))
        else $error("ramp: receive queue of color %0d overflows", rx_color_i);
    assert (!(rn_valid_i && !flush_i && n2[rn_color_i]))
        else $error("ramp: receive queue of color %0d overflows", rn_color_i);
    assert (!(rx_valid_i && rn_valid_i && rx_color_i == rn_color_i))
        else $error("ramp: color %0d from two inputs at once", rx_color_i);
    assert ((n2 & (n0 | n1)) == '0) else $error("ramp: more than 4 wavelets");
    assert (!(tx_cr_valid_i && t2[tx_cr_color_i]))
        else $error("ramp: credit of color %0d too many", tx_cr_color_i);
    assert (!(m0t_ready_o && !(t2_x[m0t_color_i] | t1_x[m0t_color_i] | t0_x[m0t_color_i])))
        else $error("ramp: mover 0 sends without a credit");
    assert (!(m1t_ready_o && !(t2_x[m1t_color_i] | t1_x[m1t_color_i] | t0_x[m1t_color_i])))
        else $error("ramp: mover 1 sends without a credit");
  end
`endif
endmodule
