// SPDX-License-Identifier: MIT
// Router of one core: five ports (0 north, 1 east, 2 south, 3 west, 4 ramp), 24 colors, static
// routes with multicast, credits per color. Contract: hw/doc/fabric.md.
//
// A link is three registered signals: head {valid, control, color[4:0]} and data one way, a
// returned credit {valid, color[4:0]} the other. A wavelet that finds its queue empty and its
// outputs free leaves in the cycle after it arrived: one cycle a hop. To the ramp there are two
// links, one for what comes from north and one for the rest: so a stream down the column and a ring
// along the row do not wait for each other.
//
// Colors are bits of 24-bit masks throughout, so that a cycle costs the same for 1 and for 24
// colors, both in gates and in simulation. Queues are one memory per input port (a write and a read
// port each).

module wse_router (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        clear_i,      // context reset: as rst_ni
  input  logic [4:0]  link_i,       // output ports that lead somewhere; constant

  input  logic [6:0]  rx_n_head_i,
  input  logic [6:0]  rx_e_head_i,
  input  logic [6:0]  rx_s_head_i,
  input  logic [6:0]  rx_w_head_i,
  input  logic        rx_r_valid_i, // of the core's registers, each alone: simulation reads them
  input  logic        rx_r_ctrl_i,
  input  logic [4:0]  rx_r_color_i,
  input  logic [31:0] rx_n_data_i,
  input  logic [31:0] rx_e_data_i,
  input  logic [31:0] rx_s_data_i,
  input  logic [31:0] rx_w_data_i,
  input  logic [31:0] rx_r_data_i,
  output logic [5:0]  rx_n_cr_o,
  output logic [5:0]  rx_e_cr_o,
  output logic [5:0]  rx_s_cr_o,
  output logic [5:0]  rx_w_cr_o,
  output logic [5:0]  rx_r_cr_o,

  output logic [6:0]  tx_n_head_o,
  output logic [6:0]  tx_e_head_o,
  output logic [6:0]  tx_s_head_o,
  output logic [6:0]  tx_w_head_o,
  output logic [6:0]  tx_r_head_o,  // to the ramp, from all inputs but north
  output logic [6:0]  tx_rn_head_o, // to the ramp, from north
  output logic [31:0] tx_n_data_o,
  output logic [31:0] tx_e_data_o,
  output logic [31:0] tx_s_data_o,
  output logic [31:0] tx_w_data_o,
  output logic [31:0] tx_r_data_o,
  output logic [31:0] tx_rn_data_o,
  input  logic [5:0]  tx_n_cr_i,
  input  logic [5:0]  tx_e_cr_i,
  input  logic [5:0]  tx_s_cr_i,
  input  logic [5:0]  tx_w_cr_i,
  input  logic        tx_r_cr_valid_i,
  input  logic [4:0]  tx_r_cr_color_i,
  input  logic        tx_rn_cr_valid_i, // two credits a cycle, of different colors
  input  logic [4:0]  tx_rn_cr_color_i,

  input  logic        rt_we_i,      // route of a color, bits ROUTE
  input  logic [4:0]  rt_color_i,
  input  logic [7:0]  rt_cfg_i,

  output logic [2:0]  popped_o      // wavelets that left an input queue in the last cycle
);

  /*verilator no_inline_module*/
  localparam int unsigned NP = 5;

  // queue memories, {color, slot}; the control bits are masks per slot, {port, slot}
  logic [31:0] q_n [128];
  logic [31:0] q_e [128];
  logic [31:0] q_s [128];
  logic [31:0] q_w [128];
  logic [31:0] q_r [128];
  logic [23:0] qctl [32];
  // slot to be written and read next, bit-sliced: {wp1, wp0} per color
  logic [23:0] wp0 [NP];
  logic [23:0] wp1 [NP];
  logic [23:0] rp0 [NP];
  logic [23:0] rp1 [NP];
  logic [23:0] nonempty [NP];
  logic [23:0] rxmask [NP];         // colors whose route reads this input
  logic [23:0] txmask [NP];         // colors whose route writes this output
  logic [23:0] above [NP];          // colors above the last one taken: they go first
  logic [23:0] c0 [NP];             // credits, bit-sliced: {c2, c1, c0} per color
  logic [23:0] c1 [NP];
  logic [23:0] c2 [NP];
  // Who goes first: the ramp's input, or the others, in turns, after a cycle in which it sent. So
  // what passes a core and what the core adds share a link evenly.
  logic [2:0]  first;               // of five: 4 is north again, so that no rhythm of two meets it
  logic        sent;
  logic        live;                // something moved in the last cycle

  // values of one cycle
  (* scratch *) logic [6:0] hin [NP];
  (* scratch *) logic [31:0] din [NP];
  (* scratch *) logic [5:0] crin [NP];
  (* scratch *) logic [6:0] hout [NP];
  (* scratch *) logic [31:0] dout [NP];
  (* scratch *) logic [5:0] crout [NP];
  (* scratch *) logic [6:0] hout_rn;
  (* scratch *) logic [31:0] dout_rn;
  (* scratch *) logic [1:0] slot [NP];    // where this cycle's arrival is stored
  // the arrival is at the head: its data has not been written yet
  (* scratch *) logic [23:0] fresh [NP];
  (* scratch *) logic [23:0] blk, e, m, h, k;
  (* scratch *) logic [4:0] col;
  (* scratch *) logic [1:0] head;
  (* scratch *) logic [31:0] data;
  (* scratch *) logic ctl;
  (* scratch *) logic [2:0] p, npop;
  (* scratch *) logic [1:0] side;
  (* scratch *) logic late;
  (* scratch *) integer i;
  logic        overrun;             // a wavelet arrived that had no credit (assertion only)

  function automatic logic [4:0] onehot24(input logic [23:0] x);
    onehot24 = {|(x & 24'hff0000), |(x & 24'h00ff00), |(x & 24'hf0f0f0),
                |(x & 24'hcccccc), |(x & 24'haaaaaa)};
  endfunction

  // Steps of a cycle for one port; written out for each below, so that a simulator knows which.
  // Credits of an output that came back.
  task automatic returned(input integer n);
    if (crin[n][5] || (n == 4 && tx_rn_cr_valid_i)) begin
      k = crin[n][5] ? 24'b1 << crin[n][4:0] : '0;
      if (n == 4 && tx_rn_cr_valid_i) k = k | (24'b1 << tx_rn_cr_color_i);
      m = c0[n] & k;
      c0[n] = c0[n] ^ k;
      e = c1[n] & m;
      c1[n] = c1[n] ^ m;
      c2[n] = c2[n] ^ e;
    end
  endtask
  // A wavelet that came to an input.
  task automatic arrival(input integer n);
    fresh[n] = '0;
    slot[n] = '0;
    if (hin[n][6]) begin
      h = 24'b1 << hin[n][4:0];
      fresh[n] = h & ~nonempty[n];
      nonempty[n] = nonempty[n] | h;
      slot[n] = {|(wp1[n] & h), |(wp0[n] & h)};
      overrun = overrun | (fresh[n] == 24'd0 && slot[n] == {|(rp1[n] & h), |(rp0[n] & h)});
      wp1[n] = wp1[n] ^ (wp0[n] & h);
      wp0[n] = wp0[n] ^ h;
      qctl[{3'(n), slot[n]}] = hin[n][5] ? qctl[{3'(n), slot[n]}] | h
                                         : qctl[{3'(n), slot[n]}] & ~h;
    end
  endtask
  // The wavelet of input p, color h, where its route has an output.
  task automatic leaves(input integer n);
    if ((txmask[n] & h) != 24'd0) begin
      if (n == 4 && p == 3'd0) begin
        hout_rn = {1'b1, ctl, col};
        dout_rn = data;
      end else begin
        hout[n] = {1'b1, ctl, col};
        dout[n] = data;
        blk = blk | (n == 4 ? txmask[n] & ~rxmask[0] : txmask[n]);
      end
      k = h & ~c0[n];            // borrow
      c0[n] = c0[n] ^ h;
      m = k & ~c1[n];
      c1[n] = c1[n] ^ k;
      c2[n] = c2[n] ^ m;
    end
  endtask

  always @(posedge clk_i) begin : p_seq
    if (!rst_ni || clear_i) begin
      for (i = 0; i < NP; i++) begin
        nonempty[i] = '0;
        wp0[i] = '0;
        wp1[i] = '0;
        rp0[i] = '0;
        rp1[i] = '0;
        rxmask[i] = '0;
        txmask[i] = '0;
        above[i] = '1;
        c0[i] = '0;
        c1[i] = '0;
        c2[i] = link_i[i] ? '1 : '0;  // CHAN_DEPTH
      end
      first = '0;
      sent = 1'b0;
      overrun = 1'b0;
      live = 1'b0;
      rx_n_cr_o <= '0; rx_e_cr_o <= '0; rx_s_cr_o <= '0; rx_w_cr_o <= '0; rx_r_cr_o <= '0;
      tx_n_head_o <= '0; tx_e_head_o <= '0; tx_s_head_o <= '0; tx_w_head_o <= '0; tx_r_head_o <= '0;
      tx_rn_head_o <= '0;
      popped_o <= '0;
    end else begin
      if (live | rx_n_head_i[6] | rx_e_head_i[6] | rx_s_head_i[6] | rx_w_head_i[6] | rx_r_valid_i |
          tx_n_cr_i[5] | tx_e_cr_i[5] | tx_s_cr_i[5] | tx_w_cr_i[5] | tx_r_cr_valid_i |
          tx_rn_cr_valid_i) begin
        hin[0] = rx_n_head_i; hin[1] = rx_e_head_i; hin[2] = rx_s_head_i; hin[3] = rx_w_head_i;
        hin[4] = {rx_r_valid_i, rx_r_ctrl_i, rx_r_color_i};
        din[0] = rx_n_data_i; din[1] = rx_e_data_i; din[2] = rx_s_data_i; din[3] = rx_w_data_i;
        din[4] = rx_r_data_i;
        crin[0] = tx_n_cr_i; crin[1] = tx_e_cr_i; crin[2] = tx_s_cr_i; crin[3] = tx_w_cr_i;
        crin[4] = {tx_r_cr_valid_i, tx_r_cr_color_i};

        returned(0); returned(1); returned(2); returned(3); returned(4);
        blk = '0;
        for (i = 0; i < NP; i++) blk = blk | (txmask[i] & ~(c0[i] | c1[i] | c2[i]));
        arrival(0); arrival(1); arrival(2); arrival(3); arrival(4);
        for (i = 0; i < NP; i++) begin
          hout[i] = '0;
          dout[i] = '0;
          crout[i] = '0;
        end

        // each input port sends at most one wavelet, each output takes at most one
        npop = '0;
        hout_rn = '0;
        dout_rn = '0;
        side = first[1:0];
        first = (first == 3'd4) ? 3'd0 : first + 3'd1;
        late = sent;
        sent = 1'b0;
        for (i = 0; i < NP; i++) begin
          p = i == (late ? 4 : 0) ? 3'd4 : {1'b0, side};
          if (p != 3'd4) side = side + 2'd1;
          e = nonempty[p] & rxmask[p] & ~blk;
          if (e != 24'd0) begin
            m = e & above[p];
            m = (m != 24'd0) ? m : e;
            h = m & (~m + 24'd1);
            above[p] = ~(h | (h - 24'd1));
            col = onehot24(h);
            head = {|(rp1[p] & h), |(rp0[p] & h)};
            ctl = |(qctl[{p, head}] & h);
            case (p)
              3'd0:    data = q_n[{col, head}];
              3'd1:    data = q_e[{col, head}];
              3'd2:    data = q_s[{col, head}];
              3'd3:    data = q_w[{col, head}];
              default: data = q_r[{col, head}];
            endcase
            if ((fresh[p] & h) != 24'd0) data = din[p];
            rp1[p] = rp1[p] ^ (rp0[p] & h);
            rp0[p] = rp0[p] ^ h;
            nonempty[p] = nonempty[p] & ~(h & ~((rp0[p] ^ wp0[p]) | (rp1[p] ^ wp1[p])));
            crout[p] = {1'b1, col};
            if (p == 3'd4) sent = 1'b1;
            npop = npop + 3'd1;
            leaves(0); leaves(1); leaves(2); leaves(3); leaves(4);
          end
        end

        // stored last, so that the memories are read before they are written
        if (hin[0][6]) q_n[{hin[0][4:0], slot[0]}] = din[0];
        if (hin[1][6]) q_e[{hin[1][4:0], slot[1]}] = din[1];
        if (hin[2][6]) q_s[{hin[2][4:0], slot[2]}] = din[2];
        if (hin[3][6]) q_w[{hin[3][4:0], slot[3]}] = din[3];
        if (hin[4][6]) q_r[{hin[4][4:0], slot[4]}] = din[4];

        live = npop != 3'd0;               // else nothing can move until something arrives
        rx_n_cr_o <= crout[0];
        rx_e_cr_o <= crout[1];
        rx_s_cr_o <= crout[2];
        rx_w_cr_o <= crout[3];
        rx_r_cr_o <= crout[4];
        tx_n_head_o <= hout[0];
        tx_e_head_o <= hout[1];
        tx_s_head_o <= hout[2];
        tx_w_head_o <= hout[3];
        tx_r_head_o <= hout[4];
        tx_rn_head_o <= hout_rn;
        tx_n_data_o <= dout[0];
        tx_e_data_o <= dout[1];
        tx_s_data_o <= dout[2];
        tx_w_data_o <= dout[3];
        tx_r_data_o <= dout[4];
        tx_rn_data_o <= dout_rn;
        popped_o <= npop;
      end
      if (rt_we_i) begin
        h = 24'b1 << rt_color_i;
        for (i = 0; i < NP; i++) begin
          rxmask[i] = (rt_cfg_i[2:0] == 3'(i)) ? rxmask[i] | h : rxmask[i] & ~h;
          txmask[i] = rt_cfg_i[3'(i) + 3'd3] ? txmask[i] | h : txmask[i] & ~h;
        end
        live = 1'b1;                       // waiting wavelets may be able to move now
      end
    end
  end

`ifndef SYNTHESIS
  always @(posedge clk_i) begin
    if (rst_ni && !clear_i) begin
      ChanDepth: assert (!overrun) else $error("a sender overran a channel");
      for (int n = 0; n < int'(NP); n++) begin
        CreditBound: assert ((c2[n] & (c1[n] | c0[n])) == 24'd0)
            else $error("more than CHAN_DEPTH credits");
      end
    end
  end
`endif
endmodule
