// SPDX-License-Identifier: MIT
// Mask words of a stream: for every column and feature of the block the 64 bits of the port's
// present elements, and the next 64 read ahead. Order of the words of one row of bits: block by
// block, k ascending. The block's rows are walked in turn, one a cycle; in the first turn a row
// begins where walk_q says, which goes from row to row by additions, later where its memory says.

module wse_stream_mask #(
  parameter int unsigned COLS = 4
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic [15:0]       c0_i,             // the tile's column that is the first of these
  input  logic              go_i,             // a masked command begins
  input  logic              stop_i,
  input  logic              direct_i,
  input  logic [4:0]        shift_i,
  input  logic [63:0]       base_i,
  input  logic [63:0]       moff_i,
  input  logic [31:0]       rstride_i,
  input  logic [31:0]       mcstride_i,
  input  logic [31:0]       nblk_i,
  input  logic [15:0]       kcol_i,
  input  logic [2:0]        nfeat_i,
  input  logic [15:0]       col0_i,
  input  logic [15:0]       cols_i,
  // a word for {column, feature}
  output logic [4*COLS-1:0] valid_o,
  // The two words of each, 64 bits, and which is the present one. It changes before valid_o says
  // so, or in the cycle after a pop. A user looks up the bit that it wants: registers, so that a
  // simulator does nothing for words that stand.
  output logic [256*COLS-1:0] word0_o,
  output logic [256*COLS-1:0] word1_o,
  output logic [4*COLS-1:0]   second_o,
  input  logic [4*COLS-1:0] pop_i,
  // bus; tag 1:0 is 2 for a word, 3 for a page-list entry, 23:6 {column, feature}
  output logic              rreq_valid_o,
  input  logic              rreq_ready_i,
  output logic [63:0]       rreq_addr_o,
  output logic [23:0]       rreq_tag_o,
  input  logic              rd_valid_i,
  input  logic [63:0]       rd_data_i,
  input  logic              rd_err_i,
  input  logic [23:0]       rd_tag_i
);
  localparam int unsigned N = 4 * COLS;
  localparam int unsigned IW = $clog2(N);

  logic        run, wait_q;
  logic [N-1:0] rp_q;                          // which of a row's two words is the present one
  logic [N-1:0] wp_q;                          // which comes next
  logic [1:0]  have_q [N];                     // words here
  logic [1:0]  asked_q [N];                    // words here or on their way
  (* ram_style = "distributed" *) logic [63:0] row_q [N];   // offset of the row of bits
  (* ram_style = "distributed" *) logic [15:0] w_q [N];     // word in it
  (* ram_style = "distributed" *) logic [31:0] blk_q [N];
  logic        first_q;
  logic [63:0] walk_q, col_q;                  // of this row, of its column's first one
  logic signed [49:0] ahead;
  logic [63:0] row;
  logic [15:0] w;
  logic [31:0] blk;
  logic        word_en;
  logic [IW-1:0] sel, cand;
  logic [15:0] kw;
  logic        found, hit, fill, last, over;
  logic [63:0] off, addr, entry;

  assign row = first_q ? walk_q : row_q[sel];
  assign w = first_q ? 16'd0 : w_q[sel];
  assign blk = first_q ? 32'd0 : blk_q[sel];
  assign off = row + {45'd0, w, 3'd0};
  // negative where the command begins further right
  assign ahead = $signed({1'b0, c0_i} - {1'b0, col0_i}) * $signed({1'b0, mcstride_i});
  assign fill = rd_valid_i && rd_tag_i[1:0] == 2'd3 && !rd_err_i;

  wse_xlate #(.COLS(COLS)) u_xlate (
    .clk_i, .clear_i(go_i), .direct_i, .base_i, .shift_i, .off_i(off), .ring_i(sel), .own_i(1'b0),
    .pitch_i(rstride_i), .hit_o(hit), .addr_o(addr), .entry_addr_o(entry), .fill_i(fill),
    .fill_data_i(rd_data_i)
  );

  assign word_en = rd_valid_i && rd_tag_i[1:0] == 2'd2 && !rd_err_i;
  assign second_o = rp_q;
  always @(posedge clk_i) begin : p_word
    integer i;
    if (go_i) wp_q <= '0;
    else if (word_en)
      for (i = 0; i < N; i++)
        if (IW'(rd_tag_i[23:6]) == IW'(i)) begin
          if (wp_q[i]) word1_o[64*i +: 64] <= rd_data_i;
          else word0_o[64*i +: 64] <= rd_data_i;
          wp_q[i] <= ~wp_q[i];
        end
  end

  always @(posedge clk_i) begin : p_seq
    integer i;
    if (!rst_ni) begin
      run = 1'b0;
      wait_q = 1'b0;
      rreq_valid_o <= 1'b0;
      valid_o <= '0;
    end else begin
      if (go_i) begin
        run = 1'b1;
        wait_q = 1'b0;
        sel = '0;
        first_q = 1'b1;
        col_q = moff_i + 64'(ahead);
        walk_q = col_q;
        rp_q = '0;
        for (i = 0; i < N; i++) begin
          have_q[i] = 2'd0;
          asked_q[i] = 2'd0;
        end
        valid_o <= '0;
      end else if (stop_i) run = 1'b0;
      if (run) begin
        kw = (kcol_i + 16'd63) >> 6;
        for (i = 0; i < N; i++)
          if (pop_i[i]) begin
            rp_q[i] = ~rp_q[i];
            have_q[i] = have_q[i] - 2'd1;
            asked_q[i] = asked_q[i] - 2'd1;
            valid_o[i] <= have_q[i] != 2'd0;
          end
        if (rd_valid_i && rd_tag_i[1:0] == 2'd3) wait_q = 1'b0;
        if (word_en) begin
          cand = IW'(rd_tag_i[23:6]);
          have_q[cand] = have_q[cand] + 2'd1;
          valid_o[cand] <= 1'b1;
        end
        if (rreq_ready_i) rreq_valid_o <= 1'b0;
        if ((!rreq_valid_o || rreq_ready_i) && !wait_q && !fill && !go_i) begin
          // the row chosen in the last cycle, if it wants a word
          found = asked_q[sel] != 2'd2 && blk != nblk_i &&
                  (16'(sel) >> 2) + c0_i - col0_i < cols_i;
          if (found) begin
            rreq_valid_o <= 1'b1;
            rreq_addr_o <= hit ? addr : {entry[63:3], 3'b0};
            rreq_tag_o <= {18'(sel), 4'd0, 1'b1, !hit};
            wait_q = !hit;
            if (hit) begin
              asked_q[sel] = asked_q[sel] + 2'd1;
              last = w + 16'd1 == kw;
              w_q[sel] = last ? 16'd0 : w + 16'd1;
              blk_q[sel] = blk + 32'(last);
              row_q[sel] = row + (last ? 64'(nfeat_i) * 64'(rstride_i) : 64'd0);
            end
          end
          if (!wait_q) begin
            over = 3'(sel[1:0]) + 3'd1 == nfeat_i;
            if (over) col_q = col_q + 64'(mcstride_i);
            walk_q = over ? col_q : walk_q + 64'(rstride_i);
            sel = (over ? sel | IW'(3) : sel) + IW'(1);
            if (sel == IW'(N)) begin
              sel = '0;
              first_q = 1'b0;
            end
          end
        end
      end else begin
        if (rreq_valid_o && rreq_ready_i) rreq_valid_o <= 1'b0;
      end
    end
  end
endmodule
