// SPDX-License-Identifier: MIT
// Executor of STREAM_IN with the north ports. For every column and feature of the block it keeps a
// ring of Words words of 8 bytes filled from host memory; a port takes element after element out of
// its rings, k by k and feature by feature, and sends it as a wavelet while the router has room. A
// LINEAR run is the elements as they are sent: a column's four rings take four words each of it by
// turns, as if it were blocks of four features of four words.
// The rings of a block's features are fetched in turn, one a cycle; in the first turn a run begins
// where walk says, which goes from ring to ring by additions, later where its memory says.

module wse_stream_in #(
  parameter int unsigned COLS = 4
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        clear_i,          // context reset: all credits are back
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
  // bus; tag 1:0: 0 data, 1 page-list entry, 2 and 3 the mask's
  output logic        rreq_valid_o,
  input  logic        rreq_ready_i,
  output logic [63:0] rreq_addr_o,
  output logic [5:0]  rreq_beats_o,
  output logic [23:0] rreq_tag_o,
  input  logic        rd_valid_i,
  input  logic [63:0] rd_data_i,
  input  logic [4:0]  rd_beat_i,
  input  logic        rd_last_i,
  input  logic        rd_err_i,
  input  logic [23:0] rd_tag_i,
  input  logic [63:0] rd_addr_i,
  // links into the wafer, one per column
  output logic [7*COLS-1:0]  north_head_o,
  output logic [32*COLS-1:0] north_data_o,
  input  logic [6*COLS-1:0]  north_cr_i
);
  /*verilator no_inline_module*/

  localparam int unsigned N = 4 * COLS;
  localparam int unsigned IW = $clog2(N);
  localparam logic [4:0] Words = 5'd16;         // of a ring

  wse_port_pkg::cmd_t cmd;
  wse_port_pkg::rreq_t rreq;
  logic        dropz, index_only;

  logic        run, stop;
  logic [6:0]  rd_out;                          // bursts outstanding
  // fetch, per {column, feature}
  logic [64*N-1:0] ring;                        // the oldest word of each
  logic [4:0]  f_room [N];                      // words free
  logic [3:0]  f_wp [N];
  (* ram_style = "distributed" *) logic [63:0] f_row [N];   // offset of the run
  (* ram_style = "distributed" *) logic [31:0] f_blk [N];   // block
  (* ram_style = "distributed" *) logic [15:0] f_w [N];     // word of the run to be asked for
  logic        first;
  logic [63:0] walk, walk_col;                  // of this ring, of its column's first one
  logic signed [49:0] ahead;
  logic [63:0] row;                             // those of the ring whose turn it is
  logic [31:0] blk;
  logic [15:0] fw;
  logic [4:0]  r_have [N];                      // words arrived
  logic [3:0]  r_rp [N];
  logic [IW-1:0] sel;
  logic        page_wait;
  logic [15:0] run_words;
  logic [31:0] pitch;                           // from a ring's run to the next ring's
  logic [2:0]  rings;                           // of a column
  logic [31:0] at_word;                         // LINEAR: words of the column's run before this one
  // ports
  logic [31:0] p_blk [COLS];
  logic [15:0] p_k [COLS];
  logic [2:0]  p_f [COLS];
  logic [3:0]  p_w [COLS];                      // LINEAR: word of the run, {ring, word of four}
  logic [1:0]  p_e [COLS];                      // and element of it
  logic        p_end [COLS];                    // only the END of this block is left
  logic [COLS-1:0] p_run;
  logic [2:0]  cr [24*COLS];                    // credits {column, color}

  logic [N-1:0] m_valid, m_pop;
  logic [64*N-1:0] m_word0, m_word1;
  logic [N-1:0] m_second;
  logic         m_stop;

  logic        hit, fill, found, take, each;
  logic [63:0] off, addr, entry;
  logic [31:0] f_end;
  logic [15:0] waiting, kk;
  logic [5:0]  n;
  logic [IW-1:0] ix;
  logic        in_valid;                        // this cycle's word, its place
  logic [IW+3:0] in_at, at;
  logic [3:0]  want, ready;
  logic [31:0] v [4];
  logic [2:0]  pick;
  logic        wlast, wpop;
  logic [31:0] val;
  logic [7*COLS-1:0]  nh_d;                     // links
  logic [32*COLS-1:0] nd_d;
  logic        d_valid, d_ready;
  logic [63:0] d_addr;
  logic [5:0]  d_beats;
  logic [23:0] d_tag;

  assign row = first ? walk : f_row[sel];
  assign blk = first ? 32'd0 : f_blk[sel];
  assign fw = first ? 16'd0 : f_w[sel];
  assign off = row + {45'd0, fw, 3'd0};
  assign pitch = cmd.linear ? 32'd32 : cmd.lstride;
  assign rings = cmd.linear ? 3'd4 : cmd.nfeat;
  assign at_word = {blk[27:0], sel[1:0], fw[1:0]};
  // negative where the command begins further right
  assign ahead = $signed({1'b0, c0_i} - {1'b0, cmd.col0}) * $signed({1'b0, cmd.cstride});
  assign fill = rd_valid_i && rd_tag_i[1:0] == 2'd1 && !rd_err_i;

  wse_xlate #(.COLS(COLS)) u_xlate (
    .clk_i, .clear_i(go_i), .direct_i(cmd.direct), .base_i(cmd.buf_addr), .shift_i(cmd.pshift),
    .off_i(off), .ring_i(sel), .own_i(cmd.linear), .pitch_i(cmd.lstride),
    .hit_o(hit), .addr_o(addr), .entry_addr_o(entry), .fill_i(fill), .fill_data_i(rd_data_i)
  );
  wse_stream_cmd #(.COLS(COLS)) u_cmd (
    .clk_i, .rst_ni, .c0_i, .ld_i({ld_i, ld_idx_i}), .ld_word_i, .go_i, .stop_i(m_stop),
    .cmd_o(cmd),
    .m_valid_o(m_valid),
    .m_word0_o(m_word0), .m_word1_o(m_word1), .m_second_o(m_second),
    .m_pop_i(m_pop), .d_req_i({d_valid, d_beats, d_tag}), .d_addr_i(d_addr),
    .d_ready_o(d_ready),
    .rreq_o(rreq), .rreq_addr_o, .rreq_ready_i, .rd_i({rd_valid_i, rd_err_i, rd_tag_i}), .rd_data_i
  );
  assign color_o = cmd.color;
  assign {rreq_valid_o, rreq_beats_o, rreq_tag_o} = rreq;

  assign in_valid = rd_valid_i && rd_tag_i[1:0] == 2'd0;
  assign in_at = {IW'(rd_tag_i[23:6]), rd_tag_i[5:2] + rd_beat_i[3:0]};
  for (genvar g = 0; g < N; g++) begin : g_ring
    (* ram_style = "distributed" *) logic [63:0] mem [16];

    assign ring[64*g +: 64] = mem[r_rp[g]];
    always @(posedge clk_i)
      if (in_valid && in_at[IW+3:4] == IW'(g)) mem[in_at[3:0]] <= rd_data_i;
  end

  // element k of feature row i as it lies in its ring
  function automatic logic [31:0] element(input logic [63:0] w, input logic [15:0] k);
    logic [31:0] e;
    e = k[0] ? w[63:32] : w[31:0];
    element = cmd.etype == 8'(wse_regs_pkg::ETYPE_BF16) ? 32'(16'(w >> {k[1:0], 4'd0})) << 16 :
              cmd.etype == 8'(wse_regs_pkg::ETYPE_FP32) ? wse_fp_pkg::fp_to_bf16(e) << 16 : e;
  endfunction

  always @(posedge clk_i) begin : p_seq
    integer c, f, i;
    moved_o <= 1'b0;
    m_pop <= '0;
    nh_d = '0;
    nd_d = north_data_o;
    if (!rst_ni || clear_i) for (i = 0; i < 24 * COLS; i++) cr[i] = 3'(wse_regs_pkg::CHAN_DEPTH);
    else
      for (c = 0; c < COLS; c++)
        if (north_cr_i[6*c+5]) cr[24*c + 32'(north_cr_i[6*c +: 5])] =
            cr[24*c + 32'(north_cr_i[6*c +: 5])] + 3'd1;
    if (!rst_ni) begin
      run = 1'b0;
      d_valid <= 1'b0;
      done_o <= 1'b0;
      page_wait = 1'b0;
      rd_out = '0;
    end else begin
      if (ld_i && ld_idx_i == 4'd0) begin
        dropz = |(ld_word_i[15:8] & 8'(wse_regs_pkg::SQF_DROP_ZERO));
        index_only = |(ld_word_i[15:8] & 8'(wse_regs_pkg::SQF_INDEX_ONLY));
      end
      if (ack_i) done_o <= 1'b0;
      if (go_i) begin
        run = 1'b1;
        stop = 1'b0;
        status_o <= 4'(wse_regs_pkg::ST_OK);
        iova_o <= '0;
        sel = '0;
        page_wait = 1'b0;
        rd_out = '0;
        run_words = cmd.linear ? 16'd4 :
            cmd.etype == 8'(wse_regs_pkg::ETYPE_BF16) ? 16'((32'(cmd.kcol) + 32'd3) >> 2) :
                                                        16'((32'(cmd.kcol) + 32'd1) >> 1);
        f_end = cmd.linear ? {3'd0, cmd.len[31:3]} : cmd.nline;
        first = 1'b1;
        walk_col = cmd.off + 64'(ahead);
        walk = walk_col;
        for (i = 0; i < N; i++) begin
          f_room[i] = Words;
          f_wp[i] = '0;
          r_have[i] = '0;
          r_rp[i] = '0;
        end
        for (c = 0; c < COLS; c++) begin
          p_blk[c] = '0;
          p_k[c] = '0;
          p_f[c] = '0;
          p_w[c] = '0;
          p_e[c] = '0;
          p_end[c] = 1'b0;
          p_run[c] = 16'(c) + c0_i - cmd.col0 < cmd.cols;
        end
      end
      // in the cycle of go the address and the mask are still those of the previous command
      if (run) begin
        // words from the bus
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
          if (in_valid) begin
            ix = in_at[IW+3:4];
            r_have[ix] = r_have[ix] + 5'd1;
          end
        end
        if (abort_i && !stop) begin
          stop = 1'b1;
          status_o <= abort_status_i;
        end

        // ports: one wavelet a cycle each
        for (c = 0; c < COLS; c++)
          if (p_run[c] && !stop && !go_i && cr[24*c + 32'(color_o)] != 3'd0) begin
            if (p_end[c]) begin
              p_end[c] = 1'b0;
              nh_d[7*c +: 7] = {2'b11, color_o};
              nd_d[32*c +: 32] = 32'd1;
              cr[24*c + 32'(color_o)] = cr[24*c + 32'(color_o)] - 3'd1;
              moved_o <= 1'b1;
              p_run[c] = p_blk[c] != cmd.nline;
            end else begin
              // the features of this k that the port sends, and whether their words are here
              ready = '0;
              want = '0;
              for (f = 0; f < 4; f++) begin
                ix = IW'(4 * c + f);
                kk = cmd.linear ? 16'(p_e[c]) : p_k[c];
                at = {ix, r_rp[ix]};
                v[f] = index_only ? 32'd0 :
                    element(in_valid && in_at == at ? rd_data_i : ring[64*ix +: 64], kk);
                ready[f] = (index_only || cmd.linear || r_have[ix] != 5'd0) &&
                    (!cmd.masked || (m_valid[ix] && !m_pop[ix]));
                want[f] = (cmd.linear || !(dropz && v[f][30:0] == 31'd0)) &&
                          f >= 32'(p_f[c]) && f < 32'(cmd.nfeat);
                if (cmd.masked && !(m_second[ix] ? m_word1[{ix, p_k[c][5:0]}]
                                                 : m_word0[{ix, p_k[c][5:0]}])) want[f] = 1'b0;
              end
              pick = want[0] ? 3'd0 : want[1] ? 3'd1 : want[2] ? 3'd2 : want[3] ? 3'd3 : 3'd4;
              ix = IW'(4 * c + 32'(p_w[c][3:2]));
              take = &(ready | ~((4'd1 << cmd.nfeat) - 4'd1)) &&
                     (!cmd.linear || pick == 3'd4 || r_have[ix] != 5'd0);
              if (take && pick != 3'd4) begin
                val = v[cmd.linear ? p_w[c][3:2] : pick[1:0]];
                if (!(cmd.linear && dropz && val[30:0] == 31'd0)) begin
                  nh_d[7*c +: 7] = {2'b10, color_o};
                  nd_d[32*c +: 32] = cmd.etype == 8'(wse_regs_pkg::ETYPE_RAW32) ? val :
                      val | {16'd0, pick[1:0], p_k[c][13:0]};
                  cr[24*c + 32'(color_o)] = cr[24*c + 32'(color_o)] - 3'd1;
                end
                if (cmd.linear) begin
                  each = p_e[c] == 2'd3 ||
                      (p_e[c][0] && cmd.etype != 8'(wse_regs_pkg::ETYPE_BF16));
                  p_e[c] = each ? 2'd0 : p_e[c] + 2'd1;
                  if (each) begin
                    p_w[c] = p_w[c] + 4'd1;
                    r_rp[ix] = r_rp[ix] + 4'd1;
                    r_have[ix] = r_have[ix] - 5'd1;
                    f_room[ix] = f_room[ix] + 5'd1;
                  end
                end
                moved_o <= 1'b1;
                p_f[c] = pick + 3'd1;
                want[pick[1:0]] = 1'b0;
              end
              if (take && want == 4'd0) begin            // on to the next k
                wlast = p_k[c] == cmd.kcol - 16'd1;
                wpop = wlast || (cmd.etype == 8'(wse_regs_pkg::ETYPE_BF16) ? p_k[c][1:0] == 2'd3 :
                    p_k[c][0]);
                for (f = 0; f < 4; f++) begin
                  ix = IW'(4 * c + f);
                  if (f < 32'(cmd.nfeat)) begin
                    if (wpop && !index_only && !cmd.linear) begin
                      r_rp[ix] = r_rp[ix] + 4'd1;
                      r_have[ix] = r_have[ix] - 5'd1;
                      f_room[ix] = f_room[ix] + 5'd1;
                    end
                    m_pop[ix] <= cmd.masked && (wlast || p_k[c][5:0] == 6'd63);
                  end
                end
                p_f[c] = 3'd0;
                p_k[c] = p_k[c] + 16'd1;
                moved_o <= 1'b1;
                if (wlast) begin
                  p_k[c] = '0;
                  p_blk[c] = p_blk[c] + 32'd1;
                  p_end[c] = cmd.etype != 8'(wse_regs_pkg::ETYPE_RAW32);
                  p_run[c] = p_end[c] || p_blk[c] != cmd.nline;
                end
              end
            end
          end

        // fetch: 4 words at a time, within a page; a request each cycle that the bus takes one
        if (d_ready) d_valid <= 1'b0;
        if ((!d_valid || d_ready) && !page_wait && !fill && !stop && !index_only && !go_i) begin
          // a LINEAR run may be so short that a ring takes no word of it, and may go on behind the
          // last element that is selected
          found = f_room[sel] >= 5'd4 &&
                  (cmd.linear ? at_word < f_end && {28'd0, sel[1:0], 2'd0} < f_end
                              : blk != f_end) &&
                  (16'(sel) >> 2) + c0_i - cmd.col0 < cmd.cols && 1'(p_run >> (sel >> 2));
          if (found) begin
            n = 6'd4;
            if (16'(n) > run_words - fw) n = 6'(run_words - fw);
            if (cmd.linear && f_end - at_word < 32'(n)) n = 6'(f_end - at_word);
            if (10'(n) > 10'd512 - {1'b0, addr[11:3]}) n = 6'(10'd512 - {1'b0, addr[11:3]});
            d_valid <= 1'b1;
            d_addr <= hit ? {addr[63:3], 3'b0} : {entry[63:3], 3'b0};
            d_beats <= hit ? n : 6'd1;
            d_tag <= {18'(sel), f_wp[sel], 1'b0, !hit};
            page_wait = !hit;
            if (hit) begin
              f_room[sel] = f_room[sel] - 5'(n);
              f_wp[sel] = f_wp[sel] + 4'(n);
              each = fw + 16'(n) == run_words;
              f_w[sel] = each ? '0 : fw + 16'(n);
              f_blk[sel] = blk + 32'(each);
              f_row[sel] = row + (each ? 64'(rings) * 64'(pitch) : 64'd0);
            end
          end
          if (!page_wait) begin
            each = 3'(sel[1:0]) + 3'd1 == rings;
            if (each) walk_col = walk_col + 64'(cmd.cstride);
            walk = each ? walk_col : walk + 64'(pitch);
            sel = (each ? sel | IW'(3) : sel) + IW'(1);
            if (sel == IW'(N)) begin
              sel = '0;
              first = 1'b0;
            end
          end
        end
        if (stop && d_valid && !d_ready) d_valid <= 1'b0;

        waiting = '0;
        port_o <= '0;
        for (c = COLS - 1; c >= 0; c--)
          if (p_run[c]) begin
            port_o <= 16'(c) + c0_i;
            waiting = waiting + 16'd1;
          end
        nports_o <= waiting;
        // when stopped, the mask may have made a request in the previous cycle
        if (((stop && m_stop) || p_run == '0) && rd_out == 7'd0 && !rreq_valid_o) begin
          run = 1'b0;
          page_wait = 1'b0;
          done_o <= 1'b1;
        end
      end
    end
    m_stop <= !run || stop;
    north_head_o <= nh_d;
    north_data_o <= nd_d;
  end

`ifndef SYNTHESIS
  always @(posedge clk_i) begin
    if (rst_ni && run)
      for (int i = 0; i < int'(N); i++) Room: assert (r_have[i] <= Words && f_room[i] <= Words)
          else $error("ring");
  end
`endif
endmodule
