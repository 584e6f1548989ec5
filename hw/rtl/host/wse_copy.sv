// SPDX-License-Identifier: MIT
// Executor of COPY_IN and COPY_OUT, for some columns of a tile. One walker goes through the host
// side in bursts (core, line, piece of a line), a second one through the SRAM side in words of 8
// bytes; a memory of FIFO words lies between. The first one issues a burst only when there is room
// for its words.

module wse_copy #(
  parameter int unsigned ROWS = 4,
  parameter int unsigned COLS = 4
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic [15:0]     c0_i,              // the tile's column that is the first of these
  // command: words of the submission entry, then go; result until ack
  input  logic            ld_i,
  input  logic [3:0]      ld_idx_i,
  input  logic [63:0]     ld_word_i,
  input  logic            go_i,
  input  logic            abort_i,
  input  logic [3:0]      abort_status_i,
  output logic            done_o,
  output logic [3:0]      status_o,
  output logic [63:0]     iova_o,
  input  logic            ack_i,
  // service plane
  output logic            svc_valid_o,
  input  logic            svc_ready_i,
  output logic [3:0]      svc_op_o,
  output logic [15:0]     svc_addr_o,
  output logic [63:0]     svc_wdata_o,
  output logic [ROWS-1:0] svc_rows_o,
  output logic [COLS-1:0] svc_cols_o,
  output logic [23:0]     svc_core_o,        // row * COLS + column of these
  input  logic            svc_rd_valid_i,
  input  logic [63:0]     svc_rdata_i,
  // bus
  output logic            rreq_valid_o,
  input  logic            rreq_ready_i,
  output logic [63:0]     rreq_addr_o,
  output logic [5:0]      rreq_beats_o,
  output logic [23:0]     rreq_tag_o,      // bit 0: page-list entry
  input  logic            rd_valid_i,
  input  logic [63:0]     rd_data_i,
  input  logic            rd_last_i,
  input  logic            rd_err_i,
  input  logic [23:0]     rd_tag_i,
  input  logic [63:0]     rd_addr_i,
  output logic            wreq_valid_o,
  input  logic            wreq_ready_i,
  output logic [63:0]     wreq_addr_o,
  output logic [5:0]      wreq_beats_o,
  output logic            wdat_valid_o,
  input  logic            wdat_ready_i,
  output logic [63:0]     wdat_data_o,
  input  logic            wrsp_valid_i,
  input  logic            wrsp_err_i,
  input  logic [63:0]     wrsp_addr_i
);
  /*verilator no_inline_module*/

  // words of the memory between: covers 64 cycles of latency and more
  localparam logic [7:0] Depth = 8'd128;
  localparam logic [3:0] OpWrite = 4'd1, OpRead = 4'd2;

  // command
  wse_port_pkg::cmd_t cmd;
  logic        out, bcast;
  logic        all_rows, all_cols;           // a line goes to all of them
  logic [15:0] skip, last, col, ncols;       // of the command's columns: those that are here
  logic [63:0] off;
  logic [15:0] row0, rows;
  logic [31:0] sram0, len, sstride;

  // host side
  logic        run, stop, page_wait, h_end;
  logic [63:0] h_row, h_col, h_line, h_off;  // offsets of: row of cores, core, line, next piece
  logic [31:0] h_l, h_left;
  logic [15:0] h_r, h_c;
  logic [6:0]  rd_out, wr_out;               // bursts outstanding
  logic [7:0]  held;                         // words promised or stored
  // SRAM side
  logic        s_end;
  logic [15:0] s_r, s_c, s_line, s_addr;
  logic [31:0] s_l, s_left;
  logic [7:0]  s_go;                         // out: words of accepted pieces still to be read
  logic [2:0]  s_flight;                     // out: reads on the service plane
  // memory between
  logic [63:0] mem [128];
  logic        in_valid;                     // this cycle's word, and
  logic [63:0] in_data;
  logic [6:0]  wp, rp;
  logic [7:0]  count;
  // out: bursts whose words are being read
  logic [63:0] d_addr [4];
  logic [5:0]  d_beats [4];
  logic [2:0]  d_wp, d_rp;
  logic [5:0]  w_left;
  logic [2:0]  settle;

  logic        hit, clear, fill;
  logic [63:0] addr, entry;
  logic [8:0]  n, room;
  logic        advance;

  wse_cmd u_cmd (.clk_i, .ld_i({ld_i, ld_idx_i}), .ld_word_i, .cmd_o(cmd));
  wse_xlate u_xlate (
    .clk_i, .clear_i(clear), .direct_i(cmd.direct), .base_i(cmd.buf_addr), .shift_i(cmd.pshift),
    .off_i(h_off), .ring_i(4'd0), .own_i(1'b0), .pitch_i(32'd0),
    .hit_o(hit), .addr_o(addr), .entry_addr_o(entry), .fill_i(fill), .fill_data_i(rd_data_i)
  );
  assign clear = go_i;
  assign fill = rd_valid_i && rd_tag_i[0] && !rd_err_i;

  always @(posedge clk_i) begin
    if (!rst_ni) begin
      run = 1'b0;
      rreq_valid_o <= 1'b0;
      wreq_valid_o <= 1'b0;
      wdat_valid_o <= 1'b0;
      svc_valid_o <= 1'b0;
      done_o <= 1'b0;
      w_left = '0;
      page_wait = 1'b0;
      rd_out = '0; wr_out = '0;
    end else begin
      if (ld_i) begin
        case (ld_idx_i)
          4'd0: begin
            out = ld_word_i[7:0] == 8'(wse_regs_pkg::OP_COPY_OUT);
            bcast = |(ld_word_i[15:8] & 8'(wse_regs_pkg::SQF_BROADCAST));
            row0 = ld_word_i[63:48];
          end
          4'd1: rows = ld_word_i[31:16];
          4'd7: {len, sram0} = ld_word_i;
          4'd9: sstride = ld_word_i[31:0];
          default: ;
        endcase
      end
      if (ack_i) done_o <= 1'b0;
      if (go_i) begin
        run = 1'b1;
        stop = 1'b0;
        all_rows = bcast && cmd.rstride == 32'd0;
        all_cols = bcast && cmd.cstride == 32'd0;
        status_o <= 4'(wse_regs_pkg::ST_OK);
        iova_o <= '0;
        skip = c0_i > cmd.col0 ? c0_i - cmd.col0 : 16'd0;
        col = cmd.col0 > c0_i ? cmd.col0 - c0_i : 16'd0;
        last = cmd.col0 + cmd.cols < c0_i + 16'(COLS) ? cmd.col0 + cmd.cols
                                                      : c0_i + 16'(COLS);
        h_end = last <= c0_i + col;
        s_end = h_end;
        ncols = last - (c0_i + col);
        off = cmd.off + 64'(48'(skip) * 48'(cmd.cstride));
        h_row = off; h_col = off; h_line = off; h_off = off;
        h_l = '0; h_left = len; h_r = '0; h_c = '0;
        s_r = '0; s_c = '0; s_l = '0; s_left = len; s_line = sram0[15:0]; s_addr = sram0[15:0];
        wp = '0; rp = '0; count = '0; held = '0;
        d_wp = '0; d_rp = '0;
        s_go = '0; s_flight = '0;
        settle = '0;
      end else if (run) begin
        // answers
        in_valid = 1'b0;
        if (rd_valid_i) begin
          if (rd_err_i && !stop) begin
            stop = 1'b1;
            status_o <= 4'(wse_regs_pkg::ST_DMA_ERROR);
            iova_o <= rd_addr_i;
          end
          if (rd_last_i) rd_out = rd_out - 7'd1;
          if (rd_tag_i[0]) page_wait = 1'b0;
          else begin
            in_valid = 1'b1;
            in_data = rd_data_i;
          end
        end
        if (wrsp_valid_i) begin
          wr_out = wr_out - 7'd1;
          if (wrsp_err_i && !stop) begin
            stop = 1'b1;
            status_o <= 4'(wse_regs_pkg::ST_DMA_ERROR);
            iova_o <= wrsp_addr_i;
          end
        end
        if (svc_rd_valid_i) begin
          in_valid = 1'b1;
          in_data = svc_rdata_i;
          s_flight = s_flight - 3'd1;
        end
        if (in_valid) count = count + 8'd1;
        if (abort_i && !stop) begin
          stop = 1'b1;
          status_o <= abort_status_i;
        end

        // out: words to the bus
        if (wdat_valid_o && wdat_ready_i) begin
          rp = rp + 7'd1;
          count = count - 8'd1;
          held = held - 8'd1;
          w_left = w_left - 6'd1;
          wdat_valid_o <= w_left != 6'd0;
          wdat_data_o <= in_valid && rp == wp ? in_data : mem[rp];
        end
        if (wreq_valid_o && wreq_ready_i) begin
          wreq_valid_o <= 1'b0;
          w_left = wreq_beats_o;
          wdat_valid_o <= 1'b1;
          wdat_data_o <= in_valid && rp == wp ? in_data : mem[rp];
          wr_out = wr_out + 7'd1;
          d_rp = d_rp + 3'd1;
        end else if (!wreq_valid_o && w_left == 6'd0 && d_wp != d_rp && !stop &&
                     count >= 8'(d_beats[d_rp[1:0]])) begin
          wreq_valid_o <= 1'b1;
          wreq_addr_o <= d_addr[d_rp[1:0]];
          wreq_beats_o <= d_beats[d_rp[1:0]];
        end

        // SRAM side: one word a cycle
        if (svc_valid_o && svc_ready_i) begin
          if (out) s_flight = s_flight + 3'd1;
          settle = 3'd7;
        end
        if (!svc_valid_o || svc_ready_i) begin
          svc_valid_o <= 1'b0;
          if (!stop && !s_end && (out ? (s_go != 8'd0) : (count != 8'd0))) begin
            svc_valid_o <= 1'b1;
            // the end must see this word: svc_valid_o still reads 0 in this cycle
            settle = 3'd7;
            svc_op_o <= out ? OpRead : OpWrite;
            svc_addr_o <= s_addr;
            svc_wdata_o <= in_valid && rp == wp ? in_data : mem[rp];
            svc_core_o <= 24'((32'(row0) + 32'(s_r)) * COLS + 32'(col) + 32'(s_c));
            svc_rows_o <= all_rows ? ROWS'((((ROWS+1)'(1) << rows) - (ROWS+1)'(1)) << row0)
                                   : ROWS'(1) << (row0 + s_r);
            svc_cols_o <= all_cols ? COLS'((((COLS+1)'(1) << ncols) - (COLS+1)'(1)) << col)
                                   : COLS'(1) << (col + s_c);
            if (out) s_go = s_go - 8'd1;
            else begin
              rp = rp + 7'd1;
              count = count - 8'd1;
              held = held - 8'd1;
            end
            s_addr = s_addr + 16'd8;
            s_left = s_left - 32'd8;
            if (s_left == 32'd0) begin
              s_left = len;
              s_line = s_line + sstride[15:0];
              s_l = s_l + 32'd1;
              if (s_l == cmd.nline) begin
                s_l = '0;
                s_line = sram0[15:0];
                s_c = s_c + 16'd1;
                if (all_cols || s_c == ncols) begin
                  s_c = '0;
                  s_r = s_r + 16'd1;
                  s_end = all_rows || s_r == rows;
                end
              end
              s_addr = s_line;
            end
          end
        end

        // stored last, so that the memory is read before it is written
        if (in_valid) begin
          mem[wp] = in_data;
          wp = wp + 7'd1;
        end

        // host side: one burst at a time
        advance = 1'b0;
        n = '0;
        if (rreq_valid_o && rreq_ready_i) begin
          rreq_valid_o <= 1'b0;
          rd_out = rd_out + 7'd1;
        end else if (!rreq_valid_o && !page_wait && !fill && !h_end && !stop) begin
          n = 9'd256 - 9'(addr[7:0]);
          if (32'(n) > h_left) n = h_left[8:0];
          room = 9'(Depth) - 9'(held);
          if (!hit) begin
            page_wait = 1'b1;
            rreq_valid_o <= 1'b1;
            rreq_tag_o <= 24'd1;
            rreq_addr_o <= {entry[63:3], 3'b0};
            rreq_beats_o <= 6'd1;
          end else if (!out && room >= 9'(n[8:3])) begin
            rreq_valid_o <= 1'b1;
            rreq_tag_o <= 24'd0;
            rreq_addr_o <= {addr[63:3], 3'b0};
            rreq_beats_o <= n[8:3];
            advance = 1'b1;
          end else if (out && room >= 9'(n[8:3]) && 3'(d_wp - d_rp) != 3'd4) begin
            d_addr[d_wp[1:0]] = {addr[63:3], 3'b0};
            d_beats[d_wp[1:0]] = n[8:3];
            d_wp = d_wp + 3'd1;
            s_go = s_go + 8'(n[8:3]);
            advance = 1'b1;
          end
        end
        if (advance) begin
          held = held + 8'(n[8:3]);
          h_off = h_off + 64'(n);
          h_left = h_left - 32'(n);
          if (h_left == 32'd0) begin
            h_left = len;
            h_line = h_line + 64'(cmd.lstride);
            h_l = h_l + 32'd1;
            if (h_l == cmd.nline) begin
              h_l = '0;
              h_col = h_col + 64'(cmd.cstride);
              h_c = h_c + 16'd1;
              if (all_cols || h_c == ncols) begin
                h_c = '0;
                h_row = h_row + 64'(cmd.rstride);
                h_col = h_row;
                h_r = h_r + 16'd1;
                h_end = all_rows || h_r == rows;
              end
              h_line = h_col;
            end
            h_off = h_line;
          end
        end
        if (stop && rreq_valid_o && !rreq_ready_i) rreq_valid_o <= 1'b0;
        if (stop && wreq_valid_o && !wreq_ready_i) wreq_valid_o <= 1'b0;

        // the end: the last word is in SRAM, or host memory has answered for it
        if (settle != 3'd0) settle = settle - 3'd1;
        if ((stop || (h_end && s_end && held == 8'd0)) && rd_out == 7'd0 && wr_out == 7'd0 &&
            !rreq_valid_o && !wreq_valid_o && w_left == 6'd0 && !svc_valid_o && s_flight == 3'd0 &&
            settle == 3'd0) begin
          run = 1'b0;
          page_wait = 1'b0;
          done_o <= 1'b1;
        end
      end
    end
  end

`ifndef SYNTHESIS
  always @(posedge clk_i) begin
    if (rst_ni && run) begin
      Room: assert (held <= Depth && count <= held) else $error("copy memory overrun");
    end
  end
`endif
endmodule
