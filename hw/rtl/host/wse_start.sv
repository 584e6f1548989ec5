// SPDX-License-Identifier: MIT
// Executor of START and SCRUB: operations for a rectangle of cores over the service plane. The
// wafer says whether any core of the rectangle is held, not done or has ended badly; only to name
// and count cores in a fault record does the executor examine them, one a cycle, row-major. The
// record names the lowest core of a state.

module wse_start #(
  parameter int unsigned ROWS = 4,
  parameter int unsigned COLS = 4
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic            ld_i,
  input  logic [3:0]      ld_idx_i,
  input  logic [63:0]     ld_word_i,
  input  logic            go_i,
  input  logic            abort_i,           // with TIMEOUT or DEADLOCK: names a waiting core first
  input  logic [3:0]      abort_status_i,
  output logic            closed_o,          // START with CLOSED
  output logic            done_o,
  output logic [3:0]      status_o,
  output logic [15:0]     f_row_o,
  output logic [15:0]     f_col_o,
  output logic [15:0]     f_ncores_o,
  output logic [31:0]     f_cause_o,
  output logic [31:0]     f_pc_o,
  output logic [31:0]     f_addr_o,
  output logic [31:0]     f_color_o,
  output logic [31:0]     f_value_o,
  input  logic            ack_i,
  // service plane
  output logic            svc_valid_o,
  output logic [3:0]      svc_op_o,
  output logic [15:0]     svc_addr_o,
  output logic [63:0]     svc_wdata_o,
  output logic [ROWS-1:0] svc_rows_o,
  output logic [COLS-1:0] svc_cols_o,
  input  logic            svc_busy_i,
  // of the cores in svc_rows x svc_cols, 2 cycles late
  input  logic            any_held_i,
  input  logic            any_open_i,        // not done
  input  logic            any_bad_i,         // faulted, or done with a value other than 0
  // status of one core, one cycle after st_core_o
  output logic            st_en_o,
  output logic [23:0]     st_core_o,
  input  logic            st_held_i,
  input  logic            st_done_i,
  input  logic [31:0]     st_done_value_i,
  input  logic            st_faulted_i,
  input  logic [31:0]     st_fault_cause_i,
  input  logic [31:0]     st_fault_pc_i,
  input  logic [31:0]     st_fault_addr_i,
  input  logic [31:0]     st_fault_color_i,
  input  logic [31:0]     st_fault_value_i,
  input  logic [31:0]     st_wait_cause_i,
  input  logic [31:0]     st_wait_color_i
);
  /*verilator no_inline_module*/

  localparam logic [3:0] OpWrite = 4'd1, OpBoot = 4'd3, OpStart = 4'd4, OpHold = 4'd5,
  OpScrub = 4'd6,
                         OpClear = 4'd7;
  localparam logic [15:0] Args = 16'(wse_regs_pkg::ARGS_OFFSET);

  localparam logic [3:0] SIdle = 4'd0, SHeld = 4'd1, SClear = 4'd2, SArgs = 4'd3, SGo = 4'd4,
      SSettle = 4'd5,
                         SWatch = 4'd6, SBlame = 4'd7, SScrub = 4'd8, SScrubWait = 4'd9,
                         SHold = 4'd10, SNotBooted = 4'd11, SName = 4'd12;

  logic        scrub, boot;
  logic [15:0] row0, col0, rows, cols;
  logic [31:0] entry;
  logic [63:0] args [8];
  logic [3:0]  state;
  logic [3:0]  cnt;
  logic [3:0]  verdict;                      // of an abort
  logic        started;                      // the cores' DONE speaks of this start
  // scan
  logic        scanning, s_issue;
  logic [15:0] s_r, s_c, s_row, s_col;
  logic        p0, p1, last0, last1;         // a core is on its way, it is the last one
  logic [15:0] pr0, pc0, pr1, pc1;
  logic [23:0] n_held, n_fault, n_bad, n_open;
  logic        take, scanned;

  // of a fault record
  function automatic logic [15:0] count(input logic [23:0] n);
    count = n[23:16] != 8'd0 ? '1 : n[15:0];
  endfunction

  always @(posedge clk_i) begin
    if (!rst_ni) begin
      state = SIdle;
      done_o <= 1'b0;
      svc_valid_o <= 1'b0;
      st_en_o <= 1'b0;
      scanning = 1'b0;
      closed_o <= 1'b0;
    end else begin
      svc_valid_o <= 1'b0;
      if (ld_i) begin
        case (ld_idx_i)
          4'd0: begin
            scrub = ld_word_i[7:0] == 8'(wse_regs_pkg::OP_SCRUB);
            boot = |(ld_word_i[15:8] & 8'(wse_regs_pkg::SQF_BOOT));
            closed_o <= |(ld_word_i[15:8] & 8'(wse_regs_pkg::SQF_CLOSED));
            row0 = ld_word_i[63:48];
          end
          4'd1: {cols, rows, col0} = ld_word_i[47:0];
          4'd7: entry = ld_word_i[31:0];
          default: if (ld_idx_i[3]) args[ld_idx_i[2:0]] = ld_word_i;
        endcase
      end
      if (ack_i) done_o <= 1'b0;
      if (go_i) begin
        status_o <= 4'(wse_regs_pkg::ST_OK);
        f_row_o <= '0; f_col_o <= '0; f_ncores_o <= '0; f_cause_o <= '0; f_pc_o <= '0;
            f_addr_o <= '0;
        f_color_o <= '1; f_value_o <= '0;
        svc_rows_o <= ROWS'((((ROWS+1)'(1) << rows) - (ROWS+1)'(1)) << row0);
        svc_cols_o <= COLS'((((COLS+1)'(1) << cols) - (COLS+1)'(1)) << col0);
        state = scrub ? SHold : boot ? SClear : SHeld;
        scanning = 1'b0;
        cnt = '0;
        verdict = '0;
        started = 1'b0;
      end

      // one pass over the rectangle
      scanned = 1'b0;
      if (state == SNotBooted || state == SName || state == SBlame) begin
        if (!scanning) begin
          scanning = 1'b1;
          s_issue = 1'b1;
          s_r = '0; s_c = '0;
          p0 = 1'b0; p1 = 1'b0;
          n_held = '0; n_fault = '0; n_bad = '0; n_open = '0;
        end else begin
          // judge the present st_*
          if (p1) begin
            take = 1'b0;
            if (state == SNotBooted) begin
              take = st_held_i && n_held == 24'd0;
              if (st_held_i) n_held = n_held + 24'd1;
            end else if (state == SBlame) begin
              take = !(st_done_i && started) && n_open == 24'd0;
              if (!(st_done_i && started)) n_open = n_open + 24'd1;
            end else begin
              // a fault takes precedence over a bad value, which takes precedence over a core that
              // is not done
              if (st_faulted_i) begin
                take = n_fault == 24'd0;
                n_fault = n_fault + 24'd1;
              end else if (st_done_i && st_done_value_i != 32'd0) begin
                take = n_fault == 24'd0 && n_bad == 24'd0;
                n_bad = n_bad + 24'd1;
              end else if (!st_done_i) n_open = n_open + 24'd1;
            end
            if (take) begin
              f_row_o <= pr1;
              f_col_o <= pc1;
              f_pc_o <= (state == SName && st_faulted_i) ? st_fault_pc_i : 32'd0;
              f_cause_o <= '0;
              f_addr_o <= '0;
              f_color_o <= '1;
              f_value_o <= '0;
              if (state == SBlame) begin
                f_cause_o <= st_wait_cause_i;
                f_color_o <= st_wait_color_i;
              end else if (state == SName) begin
                if (st_faulted_i) begin
                  f_cause_o <= st_fault_cause_i;
                  f_addr_o <= st_fault_addr_i;
                  f_color_o <= st_fault_color_i;
                  f_value_o <= st_fault_value_i;
                end else f_value_o <= st_done_value_i;
              end
            end
            scanned = last1;
          end
          p1 = p0; pr1 = pr0; pc1 = pc0; last1 = last0;
          p0 = 1'b0;
        end
        st_en_o <= s_issue || p1;
        if (s_issue) begin
          s_row = row0 + s_r;
          s_col = col0 + s_c;
          st_core_o <= 24'(32'(s_row) * COLS + 32'(s_col));
          p0 = 1'b1; pr0 = s_row; pc0 = s_col;
          s_c = s_c + 16'd1;
          if (s_c == cols) begin
            s_c = '0;
            s_r = s_r + 16'd1;
          end
          s_issue = s_r != rows;
          last0 = !s_issue;
        end
        if (scanned) scanning = 1'b0;
      end else st_en_o <= 1'b0;

      case (state)
        SHeld: begin                          // until the wafer speaks of this rectangle
          cnt = cnt + 4'd1;
          if (cnt == 4'd4) state = any_held_i ? SNotBooted : SClear;
        end
        SNotBooted: if (scanned) begin
          if (n_held != 24'd0) begin
            status_o <= 4'(wse_regs_pkg::ST_NOT_BOOTED);
            f_ncores_o <= count(n_held);
            done_o <= 1'b1;
            state = SIdle;
          end else state = SClear;            // a debugger has booted them since
        end
        SClear: begin
          svc_valid_o <= 1'b1;
          svc_op_o <= OpClear;
          cnt = '0;
          state = SArgs;
        end
        SArgs: begin
          svc_valid_o <= 1'b1;
          svc_op_o <= OpWrite;
          svc_addr_o <= Args + {9'd0, cnt, 3'b0};
          svc_wdata_o <= args[cnt[2:0]];
          cnt = cnt + 4'd1;
          if (cnt == 4'd8) state = SGo;
        end
        SGo: begin
          svc_valid_o <= 1'b1;
          svc_op_o <= boot ? OpBoot : OpStart;
          svc_addr_o <= entry[15:0];
          cnt = '0;
          started = 1'b1;
          state = SSettle;
        end
        SSettle: begin                        // until the cores' status speaks of this start
          cnt = cnt + 4'd1;
          if (cnt == 4'd8) state = SWatch;
        end
        SWatch: begin
          if (any_bad_i) state = SName;
          else if (!any_open_i) begin
            done_o <= 1'b1;
            state = SIdle;
          end
        end
        SName: if (scanned) begin
          if (n_fault != 24'd0) begin
            status_o <= 4'(wse_regs_pkg::ST_CORE_FAULT);
            f_ncores_o <= count(n_fault);
            done_o <= 1'b1;
            state = SIdle;
          end else if (n_bad != 24'd0) begin
            status_o <= 4'(wse_regs_pkg::ST_KERNEL_ERROR);
            f_ncores_o <= count(n_bad);
            done_o <= 1'b1;
            state = SIdle;
          end else state = SWatch;            // it has executed DONE again since, with 0
        end
        SBlame: if (scanned) begin
          if (n_open == 24'd0) state = SWatch;       // the last DONE came meanwhile: it is complete
          else begin
            status_o <= verdict;
            f_ncores_o <= count(n_open);
            done_o <= 1'b1;
            state = SIdle;
          end
        end
        SHold: begin
          svc_valid_o <= 1'b1;
          svc_op_o <= OpHold;
          state = SScrub;
        end
        SScrub: begin
          svc_valid_o <= 1'b1;
          svc_op_o <= OpScrub;
          cnt = '0;
          state = SScrubWait;
        end
        SScrubWait: begin
          if (cnt != 4'd8) cnt = cnt + 4'd1;
          else if (!svc_busy_i) begin
            done_o <= 1'b1;
            state = SIdle;
          end
        end
        default: ;
      endcase

      if (abort_i && state != SIdle && state != SBlame &&
          (state != SName || abort_status_i == 4'(wse_regs_pkg::ST_OK))) begin
        verdict = abort_status_i;
        scanning = 1'b0;
        if (abort_status_i == 4'(wse_regs_pkg::ST_OK)) begin   // reset: needs no waiting core
          done_o <= 1'b1;
          state = SIdle;
        end else state = SBlame;
      end
    end
  end
endmodule
