// SPDX-License-Identifier: MIT
// Executor of STREAM_OUT with the south ports. A port gathers the elements of each feature of the
// block into a chunk of up to WORDS words that does not cross a boundary of that many; a finished
// chunk waits in its own bank for the bus, while the next one fills the other. A burst has the
// chunk's words from the first one that something is in to the last. The elements of a LINEAR
// stream lie one behind the other: a column fills the chunks of feature 0 alone.
//
// Every column has memories of its own, each with one port to write and one to read: one memory
// that all columns write in a cycle would be flip-flops.

module wse_stream_out #(
  parameter int unsigned COLS = 4,
  parameter int unsigned WORDS = 4      // of a chunk, 8 bytes each: 4 or 8
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        clear_i,          // context reset: the ports are empty
  input  logic [15:0] c0_i,             // the tile's column that is the first of these
  // command: words of the submission entry, then go; result until ack
  input  logic        ld_i,
  input  logic [3:0]  ld_idx_i,
  input  logic [63:0] ld_word_i,
  input  logic        go_i,
  input  logic        abort_i,
  input  logic [3:0]  abort_status_i,
  output logic        done_o,
  output logic [3:0]  status_o,
  output logic [63:0] iova_o,
  // lowest column that has not finished, how many, on which color
  output logic [15:0] port_o,
  output logic [15:0] nports_o,
  output logic [4:0]  color_o,
  output logic        moved_o,
  input  logic        ack_i,
  // bus: page-list entries (tag 1) and mask words (2, 3) in, chunks out
  output logic        rreq_valid_o,
  input  logic        rreq_ready_i,
  output logic [63:0] rreq_addr_o,
  output logic [5:0]  rreq_beats_o,
  output logic [23:0] rreq_tag_o,
  input  logic        rd_valid_i,
  input  logic [63:0] rd_data_i,
  input  logic        rd_last_i,
  input  logic        rd_err_i,
  input  logic [23:0] rd_tag_i,
  input  logic [63:0] rd_addr_i,
  output logic        wreq_valid_o,
  input  logic        wreq_ready_i,
  output logic [63:0] wreq_addr_o,
  output logic [5:0]  wreq_beats_o,
  output logic        wdat_valid_o,
  input  logic        wdat_ready_i,
  output logic [63:0] wdat_data_o,
  output logic [7:0]  wdat_strb_o,
  input  logic        wrsp_valid_i,
  input  logic        wrsp_err_i,
  input  logic [63:0] wrsp_addr_i,
  // links out of the wafer, one per column
  input  logic [7*COLS-1:0]  south_head_i,
  input  logic [32*COLS-1:0] south_data_i,
  output logic [6*COLS-1:0]  south_cr_o
);
  /*verilator no_inline_module*/

  localparam int unsigned N = 4 * COLS;
  localparam int unsigned IW = $clog2(N);
  localparam int unsigned QW = $clog2(24 * COLS);
  localparam int unsigned WW = $clog2(WORDS);
  localparam int unsigned CB = WW + 3;          // bits of a byte's place in a chunk
  localparam int unsigned SW = CB + 2;

  wse_port_pkg::cmd_t cmd;
  wse_port_pkg::rreq_t rreq;
  logic        half;                            // elements are bf16

  logic        run, stop;
  // south ports: CHAN_DEPTH wavelets per color
  logic [32*COLS-1:0] q_data;                   // the head of the command's color, its control bit
  logic [COLS-1:0] q_ctl;
  logic [1:0]  q_rp [24*COLS];
  logic [2:0]  q_n [24*COLS];
  // walkers
  logic [31:0] p_blk [COLS];
  logic [15:0] p_k [COLS];
  logic [2:0]  p_f [COLS];
  logic [31:0] p_left [COLS];                   // LINEAR: bytes of the run
  logic [COLS-1:0] p_run;
  logic [63:0] p_row [COLS];                    // offset of feature 0's run; LINEAR: next element's
  logic [35:0] l3;                              // LSTRIDE * 3
  // element on its way into its chunk: one cycle later than the rest of what is known of the chunk,
  // which the bus reads two cycles later at the earliest
  logic [COLS-1:0] s_we;
  logic [SW*COLS-1:0] s_at;                     // {feature, bank, place in units of 2 bytes}
  logic [32*COLS-1:0] s_val;
  logic [64*COLS-1:0] b_all;                    // each column's word for the bus
  logic [63:0] b_data;
  logic [7:0]  b_strb;
  logic [IW-1:0] b_ix;
  logic [WW-1:0] b_at;
  // chunk that fills, per {column, feature}
  logic [8*WORDS-1:0] g_strb [2*N];
  logic [N-1:0] g_bank;                         // the other bank holds the chunk on its way out
  logic [63:0] g_off [N];                       // offset of the chunk's first word
  logic [WW-1:0] g_last [N];                    // the last one, of the chunk
  logic [N-1:0] g_any;                          // something is in it
  // chunk on its way out
  logic [63:0] o_off [N];
  logic [63:0] o_at;                            // of the one that asks for the bus
  logic [WW-1:0] o_last [N];
  logic [N-1:0] o_valid;
  logic [IW-1:0] sel, cur;                      // asks for the bus, is on it
  logic        page_wait, w_pend;
  logic [WW:0] w_left, w_n;
  logic [WW-1:0] w_at;
  logic [6:0]  rd_out, wr_out;

  logic [N-1:0] m_valid, m_pop;
  logic [64*N-1:0] m_word0, m_word1;
  logic [N-1:0] m_second;
  logic         m_stop;

  logic        hit, fill, d_valid, d_ready;
  logic [63:0] addr, entry, d_addr, boff;
  logic [IW-1:0] ix;
  logic [IW:0] ox;
  logic [8*WORDS-1:0] strb;
  logic [QW-1:0] qx;
  logic [3:0]  want, ready, out;
  logic [CB-1:0] next;
  logic [2:0]  pick;
  logic [1:0]  slot;
  logic signed [49:0] first;                        // column c0's distance from col0, in bytes
  logic        wlast, close, room;
  logic [6*COLS-1:0] sc_d;                      // credits
  logic [31:0] val;
  logic [15:0] waiting, nk;

  assign o_at = o_off[sel];
  assign fill = rd_valid_i && rd_tag_i[1:0] == 2'd1 && !rd_err_i;

  wse_xlate #(.COLS(COLS)) u_xlate (
    .clk_i, .clear_i(go_i), .direct_i(cmd.direct), .base_i(cmd.direct ? 64'd0 : cmd.buf_addr),
    .shift_i(cmd.pshift),
    .off_i(o_at), .ring_i(sel), .own_i(cmd.linear), .pitch_i(cmd.lstride),
    .hit_o(hit), .addr_o(addr), .entry_addr_o(entry), .fill_i(fill), .fill_data_i(rd_data_i)
  );
  wse_stream_cmd #(.COLS(COLS)) u_cmd (
    .clk_i, .rst_ni, .c0_i, .ld_i({ld_i, ld_idx_i}), .ld_word_i, .go_i, .stop_i(m_stop),
    .cmd_o(cmd),
    .m_valid_o(m_valid),
    .m_word0_o(m_word0), .m_word1_o(m_word1), .m_second_o(m_second),
    .m_pop_i(m_pop), .d_req_i({d_valid, 6'd1, 24'd1}), .d_addr_i(d_addr),
    .d_ready_o(d_ready),
    .rreq_o(rreq), .rreq_addr_o, .rreq_ready_i, .rd_i({rd_valid_i, rd_err_i, rd_tag_i}), .rd_data_i
  );
  assign color_o = cmd.color;
  // negative where the command begins further right
  assign first = $signed({1'b0, c0_i} - {1'b0, cmd.col0}) * $signed({1'b0, cmd.cstride});
  assign l3 = {4'd0, cmd.lstride} + {3'd0, cmd.lstride, 1'b0};
  assign half = cmd.etype == 8'(wse_regs_pkg::ETYPE_BF16);
  assign {rreq_valid_o, rreq_beats_o, rreq_tag_o} = rreq;

  // what the bus gets next: the first word of the chunk that it takes, or the one behind
  assign b_ix = wreq_valid_o && wreq_ready_i ? sel : cur;
  assign b_at = wreq_valid_o && wreq_ready_i ? o_off[sel][CB-1:3] : w_at + WW'(1);
  assign b_data = b_all[{b_ix[IW-1:2], 6'd0} +: 64];
  assign b_strb = 8'(g_strb[{b_ix, ~g_bank[b_ix]}] >> {b_at, 3'd0});

  for (genvar g = 0; g < COLS; g++) begin : g_mem
    (* ram_style = "distributed" *) logic [32:0] q_mem [96];        // {color, slot}
    (* ram_style = "distributed" *) logic [63:0] c_mem [8*WORDS];   // {feature, bank, word}
    logic [32:0] q_out;
    logic [1:0]  q_wp [24];
    logic [4:0]  q_in;                                              // color of the arrival

    assign q_in = south_head_i[7*g +: 5];
    assign q_out = q_mem[{color_o, q_rp[QW'(24 * g) + QW'(color_o)]}];
    assign {q_ctl[g], q_data[32*g +: 32]} = q_out;
    assign b_all[64*g +: 64] = c_mem[{b_ix[1:0], ~g_bank[b_ix], b_at}];

    always @(posedge clk_i) begin : p_mem
      integer i;
      logic [3:0] en;
      logic [SW-1:0] at;
      logic [15:0] lo, hi;
      if (!rst_ni || clear_i) for (i = 0; i < 24; i++) q_wp[i] = '0;
      if (south_head_i[7*g+6]) begin
        q_mem[{q_in, q_wp[q_in]}] <= {south_head_i[7*g+5], south_data_i[32*g +: 32]};
        q_wp[q_in] = q_wp[q_in] + 2'd1;
      end
      if (s_we[g]) begin
        at = s_at[SW*g +: SW];
        en = half ? 4'd1 << at[1:0] : at[1] ? 4'b1100 : 4'b0011;
        lo = s_val[32*g +: 16];
        hi = half ? lo : s_val[32*g+16 +: 16];
        if (en[0]) c_mem[at[SW-1:2]][15:0] <= lo;
        if (en[1]) c_mem[at[SW-1:2]][31:16] <= hi;
        if (en[2]) c_mem[at[SW-1:2]][47:32] <= lo;
        if (en[3]) c_mem[at[SW-1:2]][63:48] <= hi;
      end
    end
  end

  // LSTRIDE * n, for n up to 4
  function automatic logic [35:0] stride(input logic [2:0] n);
    stride = n == 3'd0 ? 36'd0 : n == 3'd1 ? {4'd0, cmd.lstride} :
        n == 3'd2 ? {3'd0, cmd.lstride, 1'b0} : n == 3'd3 ? l3 : {2'd0, cmd.lstride, 2'b00};
  endfunction

  // does a chunk leave whose feature has all elements of this k? behind: where the next one lies
  function automatic logic leaves(input logic last_k, input logic [31:0] blk,
                                  input logic [CB-1:0] behind);
    leaves = cmd.linear ? last_k && blk + 32'd1 == cmd.nline : last_k || behind == '0;
  endfunction

  always @(posedge clk_i) begin : p_seq
    integer c, f, i;
    moved_o <= 1'b0;
    m_pop <= '0;
    s_we <= '0;
    sc_d = '0;
    if (!rst_ni || clear_i) begin
      for (i = 0; i < 24 * COLS; i++) begin
        q_n[i] = '0;
        q_rp[i] = '0;
      end
    end
    if (!rst_ni) begin
      run = 1'b0;
      d_valid <= 1'b0;
      wreq_valid_o <= 1'b0;
      wdat_valid_o <= 1'b0;
      done_o <= 1'b0;
      page_wait = 1'b0;
      w_left = '0;
      rd_out = '0;
      wr_out = '0;
    end else begin
      if (ack_i) done_o <= 1'b0;
      if (go_i) begin
        run = 1'b1;
        stop = 1'b0;
        status_o <= 4'(wse_regs_pkg::ST_OK);
        iova_o <= '0;
        sel = '0;
        page_wait = 1'b0;
        w_pend = 1'b0;
        w_left = '0;
        rd_out = '0;
        wr_out = '0;
        g_any = '0;
        g_bank = '0;
        o_valid = '0;
        boff = cmd.off + (cmd.direct ? cmd.buf_addr : 64'd0) + 64'(first);
        for (c = 0; c < COLS; c++) begin
          p_row[c] = boff;
          boff = boff + 64'(cmd.cstride);
          p_blk[c] = '0;
          p_k[c] = '0;
          p_f[c] = '0;
          p_left[c] = cmd.len;
          p_run[c] = 16'(c) + c0_i - cmd.col0 < cmd.cols;
        end
      end
      if (run) begin
        if (rreq_valid_o && rreq_ready_i) rd_out = rd_out + 7'd1;
        if (rd_valid_i) begin
          moved_o <= 1'b1;
          if (rd_err_i && !stop) begin
            stop = 1'b1;
            status_o <= 4'(wse_regs_pkg::ST_DMA_ERROR);
            iova_o <= rd_addr_i;
          end
          if (rd_last_i) rd_out = rd_out - 7'd1;
          if (rd_tag_i[1:0] == 2'd1) page_wait = 1'b0;
        end
        if (wrsp_valid_i) begin
          moved_o <= 1'b1;
          wr_out = wr_out - 7'd1;
          if (wrsp_err_i && !stop) begin
            stop = 1'b1;
            status_o <= 4'(wse_regs_pkg::ST_DMA_ERROR);
            iova_o <= wrsp_addr_i;
          end
        end
        if (abort_i && !stop) begin
          stop = 1'b1;
          status_o <= abort_status_i;
        end

        // the bus takes a chunk
        if (w_left != '0 && wdat_ready_i) begin
          w_left = w_left - (WW+1)'(1);
          w_at = w_at + WW'(1);
          wdat_data_o <= b_data;
          wdat_strb_o <= b_strb;
          if (w_left == '0) begin
            wdat_valid_o <= 1'b0;
            o_valid[cur] = 1'b0;
          end
        end
        if (wreq_valid_o && wreq_ready_i) begin
          wreq_valid_o <= 1'b0;
          w_pend = 1'b0;
          cur = sel;
          w_left = w_n;
          w_at = o_off[cur][CB-1:3];
          wdat_valid_o <= 1'b1;
          wdat_data_o <= b_data;
          wdat_strb_o <= b_strb;
          wr_out = wr_out + 7'd1;
        end
        if (d_valid && d_ready) d_valid <= 1'b0;
        if (!w_pend && !page_wait && !fill && !d_valid) begin
          if (o_valid[sel] && !(w_left != '0 && sel == cur) && !stop) begin
            if (hit) begin
              wreq_valid_o <= 1'b1;
              wreq_addr_o <= {addr[63:3], 3'b0};
              w_n = (WW+1)'(o_last[sel] - o_off[sel][CB-1:3]) + (WW+1)'(1);
              wreq_beats_o <= 6'(w_n);
              w_pend = 1'b1;
            end else begin
              d_valid <= 1'b1;
              d_addr <= {entry[63:3], 3'b0};
              page_wait = 1'b1;
            end
          end else begin                                 // the next one that has something
            for (i = 0; i < 4; i++)
              if (!o_valid[sel] || (w_left != '0 && sel == cur)) sel = sel == IW'(N - 1) ? '0 :
                  sel + IW'(1);
          end
        end
        if (stop) begin
          if (wreq_valid_o && !wreq_ready_i) wreq_valid_o <= 1'b0;
          if (d_valid && !d_ready) d_valid <= 1'b0;
        end

        // ports: one element a cycle each
        for (c = 0; c < COLS; c++)
          if (p_run[c] && !stop && !go_i) begin  // in the cycle of go the mask is still the old one
            qx = QW'(24 * c + 32'(color_o));
            slot = q_rp[qx];
            ready = '0;
            want = '0;
            for (f = 0; f < 4; f++) begin
              ix = IW'(4 * c + f);
              ready[f] = f >= 32'(cmd.nfeat) || !cmd.masked || (m_valid[ix] && !m_pop[ix]);
              want[f] = f >= 32'(p_f[c]) && f < 32'(cmd.nfeat);
              if (cmd.masked && !(m_second[ix] ? m_word1[{ix, p_k[c][5:0]}]
                                               : m_word0[{ix, p_k[c][5:0]}])) want[f] = 1'b0;
            end
            pick = want[0] ? 3'd0 : want[1] ? 3'd1 : want[2] ? 3'd2 : want[3] ? 3'd3 : 3'd4;
            // a LINEAR element that ends a chunk waits until the one before has left
            ix = IW'(4 * c);
            next = CB'(p_row[c]) + (half ? CB'(2) : CB'(4));
            room = !cmd.linear || (p_left[c] != 32'd0 && !(o_valid[ix] && next == '0));
            if (q_n[qx] != 3'd0 && q_ctl[c]) begin
              q_rp[qx] = slot + 2'd1;                     // control wavelets carry nothing here
              q_n[qx] = q_n[qx] - 3'd1;
              sc_d[6*c +: 6] = {1'b1, color_o};
              moved_o <= 1'b1;
            end else if (&ready && (pick == 3'd4 || (q_n[qx] != 3'd0 && room))) begin
              wlast = p_k[c] == cmd.kcol - 16'd1;
              nk = p_k[c] + 16'd1;
              if (pick != 3'd4) begin
                ix = cmd.linear ? IW'(4 * c) : IW'(4 * c + 32'(pick));
                want[pick[1:0]] = 1'b0;
                val = q_data[32*c +: 32];
                boff = p_row[c];
                if (!cmd.linear) boff = boff + {28'd0, stride(pick)} +
                    (half ? {47'd0, p_k[c], 1'b0} : {46'd0, p_k[c], 2'b00});
                ox = {ix, g_bank[ix]};
                strb = g_any[ix] ? g_strb[ox] : '0;
                if (!g_any[ix]) g_off[ix] = {boff[63:3], 3'd0};
                g_last[ix] = boff[CB-1:3];
                g_any[ix] = 1'b1;
                s_we[c] <= 1'b1;
                s_at[SW*c +: SW] <= {ix[1:0], g_bank[ix], boff[CB-1:1]};
                s_val[32*c +: 32] <= half ? wse_fp_pkg::fp_to_bf16(val) : val;
                if (half) g_strb[ox] = strb | ((8*WORDS)'(3) << {boff[CB-1:1], 1'b0});
                else g_strb[ox] = strb | ((8*WORDS)'(15) << {boff[CB-1:2], 2'b00});
                q_rp[qx] = slot + 2'd1;
                q_n[qx] = q_n[qx] - 3'd1;
                sc_d[6*c +: 6] = {1'b1, color_o};
                p_f[c] = pick + 3'd1;
                moved_o <= 1'b1;
                if (cmd.linear) begin
                  p_row[c] = p_row[c] + (half ? 64'd2 : 64'd4);
                  p_left[c] = p_left[c] - (half ? 32'd2 : 32'd4);
                  if (next == '0) begin
                    g_bank[ix] = ~g_bank[ix];
                    o_off[ix] = g_off[ix];
                    o_last[ix] = g_last[ix];
                    o_valid[ix] = 1'b1;
                    g_any[ix] = 1'b0;
                  end
                end
              end
              if (want == 4'd0) begin
                // all elements of this k are here: chunks that end with it leave when their
                // outgoing slots are free
                close = 1'b1;
                for (f = 0; f < 4; f++) begin
                  ix = IW'(4 * c + f);
                  next = CB'(p_row[c]) + CB'(stride(3'(f))) +
                      (half ? CB'({nk, 1'b0}) : CB'({nk, 2'b00}));
                  out[f] = f < 32'(cmd.nfeat) && g_any[ix] && leaves(wlast, p_blk[c], next);
                  if (out[f] && o_valid[ix]) close = 1'b0;
                end
                if (close) begin
                  for (f = 0; f < 4; f++) begin
                    ix = IW'(4 * c + f);
                    if (out[f]) begin
                      g_bank[ix] = ~g_bank[ix];
                      o_off[ix] = g_off[ix];
                      o_last[ix] = g_last[ix];
                      o_valid[ix] = 1'b1;
                      g_any[ix] = 1'b0;
                    end
                    if (f < 32'(cmd.nfeat)) m_pop[ix] <= cmd.masked &&
                        (wlast || p_k[c][5:0] == 6'd63);
                  end
                  if (wlast) p_row[c] = p_row[c] + {28'd0, stride(cmd.nfeat)};
                  p_f[c] = 3'd0;
                  p_k[c] = wlast ? 16'd0 : nk;
                  moved_o <= 1'b1;
                  if (wlast) begin
                    p_blk[c] = p_blk[c] + 32'd1;
                    p_run[c] = p_blk[c] != cmd.nline;
                  end
                end
              end
            end
          end

        waiting = '0;
        port_o <= '0;
        for (c = COLS - 1; c >= 0; c--)
          if (p_run[c]) begin
            port_o <= 16'(c) + c0_i;
            waiting = waiting + 16'd1;
          end
        nports_o <= waiting;
        // when stopped, the mask may have made a request in the previous cycle
        if (((stop && m_stop) || (p_run == '0 && o_valid == '0)) && rd_out == 7'd0 &&
            wr_out == 7'd0 && w_left == '0 &&
            !wreq_valid_o && !rreq_valid_o) begin
          run = 1'b0;
          page_wait = 1'b0;
          done_o <= 1'b1;
        end
      end

      // arrivals
      for (c = 0; c < COLS; c++)
        if (south_head_i[7*c+6]) begin
          qx = QW'(24 * c + 32'(south_head_i[7*c +: 5]));
          q_n[qx] = q_n[qx] + 3'd1;
        end
    end
    m_stop <= !run || stop;
    south_cr_o <= sc_d;
  end

`ifndef SYNTHESIS
  always @(posedge clk_i) begin
    if (rst_ni)
      for (int i = 0; i < 24 * int'(COLS); i++)
        Depth: assert (q_n[i] <= 3'(wse_regs_pkg::CHAN_DEPTH)) else $error("south port");
  end
`endif
endmodule
