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

  // readers: lanes, movers, scalar side
  input  logic [4:0]  l_color_i,
  input  logic        l_pop_i,
  output logic        l_valid_o,
  output logic        l_ctrl_o,
  output logic [31:0] l_data_o,
  input  logic [4:0]  m0_color_i,
  input  logic        m0_pop_i,
  output logic        m0_valid_o,
  output logic        m0_ctrl_o,
  output logic [31:0] m0_data_o,
  input  logic [4:0]  m1_color_i,
  input  logic        m1_pop_i,
  output logic        m1_valid_o,
  output logic        m1_ctrl_o,
  output logic [31:0] m1_data_o,
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
  input  logic [2:0]  m0t_infl_i,
  output logic        m0t_room_o,
  output logic        m0t_ready_o,
  input  logic        m1t_valid_i,
  input  logic        m1t_ctrl_i,
  input  logic [4:0]  m1t_color_i,
  input  logic [31:0] m1t_data_i,
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

  // of color c's slot
  function automatic logic at_slot(input logic [23:0] x0, input logic [23:0] x1,
                                   input logic [23:0] x2, input logic [23:0] x3,
                                   input logic [4:0] c, input logic [1:0] slot);
    at_slot = slot[1] ? (slot[0] ? at(x3, c) : at(x2, c)) : (slot[0] ? at(x1, c) : at(x0, c));
  endfunction

  // ---- receive ----
  logic [31:0] data [128];              // {color, slot}
  logic [31:0] data_n [128];            // what came from north: each memory has one port to write
  logic [23:0] n0, n1, n2;              // wavelets
  logic [23:0] r0, r1, w0, w1;          // read and write slot
  logic [23:0] k0, k1, k2, k3;          // slot i holds a control wavelet
  logic [23:0] o0, o1, o2, o3;          // what is in slot i came from north
  logic [23:0] north;                   // colors whose last wavelet did
  logic [23:0] p0, p1, p2;              // credits that are still to be handed back
  // colors up to the one that got its credit last, of those of either link
  logic [23:0] last, last_n;
  logic [1:0]  l_slot, m0_slot, m1_slot, s_slot;
  logic        l_north, m0_north, m1_north, s_north;

  assign l_slot = {at(r1, l_color_i), at(r0, l_color_i)} + 2'(l_pop_i);
  assign l_valid_o = at(n1 | n2, l_color_i) | (at(n0, l_color_i) & ~l_pop_i);
  assign l_ctrl_o = at_slot(k0, k1, k2, k3, l_color_i, l_slot);
  assign l_north = at_slot(o0, o1, o2, o3, l_color_i, l_slot);
  assign l_data_o = l_north ? data_n[{l_color_i, l_slot}] : data[{l_color_i, l_slot}];
  assign m0_slot = {at(r1, m0_color_i), at(r0, m0_color_i)} + 2'(m0_pop_i);
  assign m0_valid_o = at(n1 | n2, m0_color_i) | (at(n0, m0_color_i) & ~m0_pop_i);
  assign m0_ctrl_o = at_slot(k0, k1, k2, k3, m0_color_i, m0_slot);
  assign m0_north = at_slot(o0, o1, o2, o3, m0_color_i, m0_slot);
  assign m0_data_o = m0_north ? data_n[{m0_color_i, m0_slot}] : data[{m0_color_i, m0_slot}];
  assign m1_slot = {at(r1, m1_color_i), at(r0, m1_color_i)} + 2'(m1_pop_i);
  assign m1_valid_o = at(n1 | n2, m1_color_i) | (at(n0, m1_color_i) & ~m1_pop_i);
  assign m1_ctrl_o = at_slot(k0, k1, k2, k3, m1_color_i, m1_slot);
  assign m1_north = at_slot(o0, o1, o2, o3, m1_color_i, m1_slot);
  assign m1_data_o = m1_north ? data_n[{m1_color_i, m1_slot}] : data[{m1_color_i, m1_slot}];
  assign s_slot = {at(r1, s_color_i), at(r0, s_color_i)} + 2'(s_pop_i);
  assign s_valid_o = at(n1 | n2, s_color_i) | (at(n0, s_color_i) & ~s_pop_i);
  assign s_ctrl_o = at_slot(k0, k1, k2, k3, s_color_i, s_slot);
  assign s_north = at_slot(o0, o1, o2, o3, s_color_i, s_slot);
  assign s_data_o = s_north ? data_n[{s_color_i, s_slot}] : data[{s_color_i, s_slot}];
  assign some_o = n0 | n1 | n2;
  assign ctrl_o = (~r1 & ((~r0 & k0) | (r0 & k1))) | (r1 & ((~r0 & k2) | (r0 & k3)));

  logic [23:0] pop, push, push_n, some, inc, dec, c0, c1, owed, one, one_n, q0, q1, q2;
  always @(posedge clk_i) begin
    if (rst_i) begin
      n0 <= '0; n1 <= '0; n2 <= '0;
      r0 <= '0; r1 <= '0; w0 <= '0; w1 <= '0;
      k0 <= '0; k1 <= '0; k2 <= '0; k3 <= '0;
      p0 <= '0; p1 <= '0; p2 <= '0;
      o0 <= '0; o1 <= '0; o2 <= '0; o3 <= '0;
      north <= '0;
      last <= '0;
      last_n <= '0;
      rx_cr_valid_o <= 1'b0;
      rx_cr_color_o <= '0;
      rn_cr_valid_o <= 1'b0;
      rn_cr_color_o <= '0;
    end else begin
      if (flush_i) begin
        // drops wavelets in the queues and those that arrive now: the router gets credits for all
        // of them
        push = (rx_valid_i ? 24'd1 << rx_color_i : '0) | (rn_valid_i ? 24'd1 << rn_color_i : '0);
        c0 = n0 & push;
        c1 = n1 & c0;
        q0 = n0 ^ push; q1 = n1 ^ c0; q2 = n2 ^ c1;
        c0 = p0 & q0;
        c1 = (p1 & q1) | (c0 & (p1 ^ q1));
        p2 <= p2 ^ q2 ^ c1;
        p1 <= p1 ^ q1 ^ c0;
        p0 <= p0 ^ q0;
        n0 <= '0; n1 <= '0; n2 <= '0;
        r0 <= '0; r1 <= '0; w0 <= '0; w1 <= '0;
        rx_cr_valid_o <= 1'b0;
        rn_cr_valid_o <= 1'b0;
      end else begin
        some = n0 | n1 | n2;
        pop = '0;
        if (l_pop_i || m0_pop_i || m1_pop_i || s_pop_i)
          pop = some & ((24'(l_pop_i) << l_color_i) | (24'(m0_pop_i) << m0_color_i) |
                        (24'(m1_pop_i) << m1_color_i) | (24'(s_pop_i) << s_color_i));
        push = '0;
        push_n = '0;
        if (rx_valid_i || rn_valid_i) begin
          one = '0;
          if (rx_valid_i) begin
            push = 24'd1 << rx_color_i;
            data[{rx_color_i, at(w1, rx_color_i), at(w0, rx_color_i)}] <= rx_data_i;
            if (rx_ctrl_i) one = push;
          end
          if (rn_valid_i) begin
            push_n = 24'd1 << rn_color_i;
            data_n[{rn_color_i, at(w1, rn_color_i), at(w0, rn_color_i)}] <= rn_data_i;
            if (rn_ctrl_i) one = one | push_n;
          end
          north <= (north & ~push) | push_n;
          push = push | push_n;
          k0 <= (k0 & ~(push & ~w1 & ~w0)) | (one & ~w1 & ~w0);
          k1 <= (k1 & ~(push & ~w1 &  w0)) | (one & ~w1 &  w0);
          k2 <= (k2 & ~(push &  w1 & ~w0)) | (one &  w1 & ~w0);
          k3 <= (k3 & ~(push &  w1 &  w0)) | (one &  w1 &  w0);
          o0 <= (o0 & ~(push & ~w1 & ~w0)) | (push_n & ~w1 & ~w0);
          o1 <= (o1 & ~(push & ~w1 &  w0)) | (push_n & ~w1 &  w0);
          o2 <= (o2 & ~(push &  w1 & ~w0)) | (push_n &  w1 & ~w0);
          o3 <= (o3 & ~(push &  w1 &  w0)) | (push_n &  w1 &  w0);
        end
        if ((pop | push) != '0) begin
          r1 <= r1 ^ (r0 & pop);
          r0 <= r0 ^ pop;
          w1 <= w1 ^ (w0 & push);
          w0 <= w0 ^ push;
          inc = push & ~pop;
          dec = pop & ~push;
          n0 <= n0 ^ inc ^ dec;
          n1 <= n1 ^ (n0 & inc) ^ (~n0 & dec);
          n2 <= n2 ^ (n1 & n0 & inc) ^ (~n1 & ~n0 & dec);
        end
        // one credit a cycle and link, round robin; the router takes it from either
        owed = p0 | p1 | p2 | pop;
        one = '0;
        one_n = '0;
        rx_cr_valid_o <= (owed & ~north) != '0;
        if ((owed & ~north) != '0) begin
          one = (owed & ~north & ~last) != '0 ? owed & ~north & ~last : owed & ~north;
          one = one & -one;
          last <= one | (one - 24'd1);
          rx_cr_color_o <= onehot24(one);
        end
        rn_cr_valid_o <= (owed & north) != '0;
        if ((owed & north) != '0) begin
          one_n = (owed & north & ~last_n) != '0 ? owed & north & ~last_n : owed & north;
          one_n = one_n & -one_n;
          last_n <= one_n | (one_n - 24'd1);
          rn_cr_color_o <= onehot24(one_n);
        end
        if (owed != '0) begin
          one = one | one_n;
          inc = pop & ~one;
          dec = one & ~pop;
          p0 <= p0 ^ inc ^ dec;
          p1 <= p1 ^ (p0 & inc) ^ (~p0 & dec);
          p2 <= p2 ^ (p1 & p0 & inc) ^ (~p1 & ~p0 & dec);
        end
      end
    end
  end

  // ---- send ----
  logic [23:0] t0, t1, t2;              // credits
  logic        turn;                    // mover 1 goes first
  // of two movers on one color, mover 1 may take for the last credit
  logic        last_turn;
  logic        m0_go, m1_go;

  function automatic logic [2:0] pick(input logic [23:0] b0, input logic [23:0] b1,
                                      input logic [23:0] b2, input logic [4:0] c);
    pick = {at(b2, c), at(b1, c), at(b0, c)};
  endfunction

  // infl counts the elements taken for the color that have not left, the wavelet in mXt included. A
  // credit that a SEND uses in this cycle is no room, and the last one is not promised to both
  // movers at once. A credit that comes back in this cycle is room, for an element uses it a cycle
  // later at the earliest: from a mover's take to the credit that it used are four cycles so, and
  // CHAN_DEPTH wavelets on their way keep up one a cycle.
  logic        same;
  logic [2:0]  m0_back, m1_back;
  assign same = m0t_color_i == m1t_color_i;
  assign m0_back = 3'(tx_cr_valid_i && tx_cr_color_i == m0t_color_i);
  assign m1_back = 3'(tx_cr_valid_i && tx_cr_color_i == m1t_color_i);
  assign m0t_room_o = pick(t0, t1, t2, m0t_color_i) + m0_back > m0t_infl_i +
      (same ? m1t_infl_i + 3'(last_turn) : 3'd0) +
                      3'(st_ready_o && st_color_i == m0t_color_i);
  assign m1t_room_o = pick(t0, t1, t2, m1t_color_i) + m1_back > m1t_infl_i +
      (same ? m0t_infl_i + 3'(!last_turn) : 3'd0) +
                      3'(st_ready_o && st_color_i == m1t_color_i);
  assign st_ready_o = st_valid_i && pick(t0, t1, t2, st_color_i) >
                      (m0t_color_i == st_color_i ? m0t_infl_i : 3'd0) +
                      (m1t_color_i == st_color_i ? m1t_infl_i : 3'd0);
  assign m0_go = m0t_valid_i && !st_ready_o;
  assign m1_go = m1t_valid_i && !st_ready_o;
  assign m0t_ready_o = m0_go && !(m1_go && turn);
  assign m1t_ready_o = m1_go && !(m0_go && !turn);

  logic [23:0] give, take;
  logic        go;
  always @(posedge clk_i) begin
    if (rst_i) begin
      t0 <= '0;
      t1 <= '0;
      t2 <= '1;                         // CHAN_DEPTH is 4
      turn <= 1'b0;
      last_turn <= 1'b0;
      tx_valid_o <= 1'b0;
    end else begin
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
      give = tx_cr_valid_i ? 24'd1 << tx_cr_color_i : '0;
      if (go || tx_cr_valid_i) begin
        t0 <= t0 ^ (give & ~take) ^ (take & ~give);
        t1 <= t1 ^ (t0 & give & ~take) ^ (~t0 & take & ~give);
        t2 <= t2 ^ (t1 & t0 & give & ~take) ^ (~t1 & ~t0 & take & ~give);
      end
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
    assert (!(m0t_ready_o && pick(t0, t1, t2, m0t_color_i) == 0))
        else $error("ramp: mover 0 sends without a credit");
    assert (!(m1t_ready_o && pick(t0, t1, t2, m1t_color_i) == 0))
        else $error("ramp: mover 1 sends without a credit");
  end
`endif
endmodule
