// SPDX-License-Identifier: MIT
// Queues: rings, fetching and checking of entries, dispatch to the executors, budgets and
// deadlocks, fault records, completions. One sequencer does one of these steps at a time and
// examines one queue a cycle between them; executors do the long work (0 copy, 1 stream in, 2
// stream out, 3 start and scrub).

module wse_queue #(
  parameter int unsigned ROWS = 4,
  parameter int unsigned COLS = 4,
  parameter int unsigned NQ = 5            // queue pairs, the admin pair included
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [63:0] cycle_i,
  // registers
  input  logic        en_i,                // CTRL.EN
  input  logic [31:0] aq_size_i,
  input  logic [63:0] asq_i,
  input  logic [63:0] acq_i,
  input  logic [63:0] fault_base_i,
  input  logic [31:0] fault_size_i,
  input  logic [31:0] fault_head_i,
  output logic [31:0] fault_tail_o,
  output logic [31:0] fault_lost_o,
  output logic        rdy_o,
  output logic        halted_o,
  output logic        busy_o,
  output logic        idle_o,              // nothing to do before the next doorbell
  input  logic        db_valid_i,          // doorbell: queue pair and half, as written
  input  logic [7:0]  db_index_i,
  input  logic [31:0] db_value_i,
  output logic        irq_o,
  output logic [4:0]  irq_vec_o,
  // bus
  output logic        rreq_valid_o,
  input  logic        rreq_ready_i,
  output logic [63:0] rreq_addr_o,
  input  logic        rd_valid_i,
  input  logic [63:0] rd_data_i,
  input  logic [3:0]  rd_beat_i,
  input  logic        rd_last_i,
  input  logic        rd_err_i,
  output logic        wreq_valid_o,
  input  logic        wreq_ready_i,
  output logic [63:0] wreq_addr_o,
  output logic [5:0]  wreq_beats_o,
  output logic        wdat_valid_o,
  input  logic        wdat_ready_i,
  output logic [63:0] wdat_data_o,
  input  logic        wrsp_valid_i,
  input  logic        wrsp_err_i,
  // executors
  output logic [3:0]  ld_o,                // words of an entry go to this executor
  output logic [3:0]  ld_idx_o,
  output logic [63:0] ld_word_o,
  output logic [3:0]  go_o,
  output logic [3:0]  abort_o,
  output logic [3:0]  abort_status_o,      // OK: without a trace
  output logic [3:0]  ack_o,
  input  logic [3:0]  done_i,
  input  logic [3:0]  status0_i,
  input  logic [3:0]  status1_i,
  input  logic [3:0]  status2_i,
  input  logic [3:0]  status3_i,
  input  logic [63:0] iova0_i,
  input  logic [63:0] iova1_i,
  input  logic [63:0] iova2_i,
  input  logic [15:0] port0_i,             // copies and streams: the lowest column that waits,
  input  logic [15:0] nports0_i,           // how many
  input  logic [15:0] port1_i,
  input  logic [15:0] nports1_i,
  input  logic [15:0] port2_i,
  input  logic [15:0] nports2_i,
  // copy, stream in, stream out: takes no command yet; what waits is not a port but its bus
  input  logic [2:0]  held_i,
  input  logic        bus0_i,
  input  logic        bus1_i,
  input  logic        bus2_i,
  input  logic [4:0]  color1_i,
  input  logic [4:0]  color2_i,
  input  logic [15:0] f_row_i,             // start
  input  logic [15:0] f_col_i,
  input  logic [15:0] f_ncores_i,
  input  logic [31:0] f_cause_i,
  input  logic [31:0] f_pc_i,
  input  logic [31:0] f_addr_i,
  input  logic [31:0] f_color_i,
  input  logic [31:0] f_value_i,
  input  logic        closed_i,
  // tile
  input  logic        moved_i,
  output logic        tile_clear_o,        // context reset
  output wse_regs_pkg::cnt_queue_t cnt_o,  // what queue cnt_which_o has counted in the last cycle
  output logic [2:0]  cnt_which_o
);
  /*verilator no_inline_module*/

  localparam logic [2:0] LastQ = 3'(NQ - 1);
  // cycles without a move that make a CLOSED start a deadlock
  localparam logic [10:0] Still = 11'd1024;
  localparam logic [8:0] Look = 9'd256;            // cycles looked at after a budget is used up

  localparam logic [3:0] SScan = 4'd0, SFetch = 4'd1, SFetched = 4'd2, SCheck = 4'd3, SJudge = 4'd4,
      SLoad = 4'd5,
                         SAbort = 4'd6, SClear = 4'd7, SFault = 4'd8, SCqe = 4'd9, SReq = 4'd10,
                         SData = 4'd11,
                         SRsp = 4'd12, SHalt = 4'd13, SFetchReq = 4'd14;
  localparam logic [2:0] QEmpty = 3'd0, QWait = 3'd1, QRun = 3'd2, QFence = 3'd3, QDone = 3'd4;

  // queues
  logic [63:0] sq_base [8];
  logic [63:0] cq_base [8];
  logic [15:0] sq_max [8];                // entries - 1
  logic [15:0] cq_max [8];
  logic [15:0] sq_head [8];
  logic [15:0] sq_tail [8];
  logic [15:0] cq_head [8];
  logic [15:0] cq_tail [8];
  logic [4:0]  vec [8];
  logic [31:0] completed [8];
  logic [2:0]  qs [8];
  logic [7:0]  exists, phase, pending;    // pending: entries not fetched yet
  // came with MORE: counts with the last doorbell of its batch
  logic [15:0] kept_tail [8];
  logic [7:0]  kept;
  // the command of a queue
  (* nomem2reg *)                         // one state writes it, another reads it: a memory
  logic [63:0] sqe [128];                 // {queue, word}
  logic [15:0] cid [8];
  logic [1:0]  exec [8];
  logic [63:0] budget [8];
  logic [7:0]  fence_q [8];
  logic [31:0] fence_seq [8];
  logic [3:0]  res [8];
  logic [15:0] res_fault [8];
  logic [31:0] t_start [8];
  logic [31:0] t_end [8];
  // executors
  logic [3:0]  act /*verilator public_flat_rd*/;
  logic [3:0]  expired /*verilator public_flat_rd*/;
  logic [3:0]  silent, held;
  logic [2:0]  owner [4];
  logic [63:0] deadline [4] /*verilator public_flat_rd*/;
  logic [8:0]  looked [4];
  logic [10:0] still;
  // doorbells out of range
  logic [2:0]  bad_q [8];
  logic [31:0] bad_v [8];
  logic [3:0]  bad_wp, bad_rp;

  logic [3:0]  st, ret;
  logic [2:0]  q, fq, scan_q;
  logic [1:0]  x;
  logic [4:0]  cnt;
  logic [63:0] wb [8];
  logic [5:0]  wn;
  logic [63:0] sum;
  logic [31:0] ahead;                     // negative: the fence waits
  logic [3:0]  dn;
  logic        one, fired;
  logic        rests /*verilator public_flat_rd*/;  // until an executor or a doorbell wakes it
  logic [15:0] nx, lim;
  logic [3:0]  fstat, quiet_scans;
  logic [7:0]  foff;
  logic        bell, from_exec, did, fetch_err;
  logic [7:0]  tq;
  logic [15:0] findex;
  logic        ck_ld, ck_eval, ck_admin;
  logic [3:0]  ck_idx;
  logic [63:0] ck_word;
  logic [3:0]  c_status;
  logic [7:0]  c_off, c_op, c_queue;
  logic [15:0] c_cid;
  logic [63:0] c_budget, c_buf, c_mask;
  logic [31:0] c_seq;
  logic [31:0] room;
  logic        fault_ok;
  logic [1:0]  lost;                      // fault records that could not be kept in this cycle
  logic [2:0]  dbq;
  logic        db_batch;                  // submission doorbell of an I/O queue
  logic [31:0] db_at;

  wse_check #(.ROWS(ROWS), .COLS(COLS)) u_check (
    .clk_i, .ld_i(ck_ld), .ld_idx_i(ck_idx), .ld_word_i(ck_word), .eval_i(ck_eval),
    .admin_i(ck_admin),
    .status_o(c_status), .off_o(c_off), .opcode_o(c_op), .cid_o(c_cid),
    .budget_o(c_budget), .buf_o(c_buf), .mask_o(c_mask), .queue_o(c_queue), .seq_o(c_seq)
  );

  assign fault_ok = fault_base_i != 64'd0 && fault_size_i != 32'd0 &&
      fault_size_i <= wse_regs_pkg::MAX_DEPTH &&
                    (fault_size_i & (fault_size_i - 32'd1)) == 32'd0;

  assign held = {1'b0, held_i};

  always @(posedge clk_i) begin : p_seq
    integer i;
    if (!rst_ni) begin
      exists = '0; phase = '0; pending = '0; kept = '0;
      for (i = 0; i < 8; i++) qs[i] = QEmpty;
      act = '0; silent = '0; expired = '0;
      bad_wp = '0; bad_rp = '0;
      st = SScan;
      scan_q = '0;
      still = '0;
      quiet_scans = '0;
      rests = 1'b0;
      rdy_o <= 1'b0; halted_o <= 1'b0; busy_o <= 1'b0; idle_o <= 1'b0;
      irq_o <= 1'b0;
      rreq_valid_o <= 1'b0; wreq_valid_o <= 1'b0; wdat_valid_o <= 1'b0;
      ck_ld <= 1'b0; ck_eval <= 1'b0;
      ld_o <= '0; go_o <= '0; abort_o <= '0; ack_o <= '0;
      tile_clear_o <= 1'b0;
      cnt_o <= '0;
      fault_tail_o <= '0; fault_lost_o <= '0;
    end else begin
      irq_o <= 1'b0;
      ld_o <= '0;
      go_o <= '0;
      abort_o <= '0;
      ack_o <= '0;
      tile_clear_o <= 1'b0;
      cnt_o <= '0;
      cnt_which_o <= q;
      ck_ld <= 1'b0;
      ck_eval <= 1'b0;
      did = 1'b0;
      lost = '0;
      one = 1'b0;                         // one abort a cycle: they share the status

      // ---- start-up: the admin pair ----
      if (en_i && !exists[0]) begin
        nx = aq_size_i[15:0];
        lim = aq_size_i[31:16];
        if (nx == 16'd0 || nx >= 16'(wse_regs_pkg::MAX_DEPTH) || (nx & (nx + 16'd1)) != 16'd0 ||
            lim == 16'd0 ||
            lim >= 16'(wse_regs_pkg::MAX_DEPTH) || (lim & (lim + 16'd1)) != 16'd0 ||
            asq_i[11:0] != 12'd0 ||
            acq_i[11:0] != 12'd0) begin
          halted_o <= 1'b1;               // rings that cannot be
          st = SHalt;
        end else begin
          exists[0] = 1'b1;
          phase[0] = 1'b1;
          sq_base[0] = asq_i; cq_base[0] = acq_i;
          sq_max[0] = nx; cq_max[0] = lim;
          sq_head[0] = '0; sq_tail[0] = '0; cq_head[0] = '0; cq_tail[0] = '0;
          vec[0] = '0;
          completed[0] = '0;
          rdy_o <= 1'b1;
        end
      end

      // ---- doorbells ----
      if (db_valid_i && exists[0] && db_index_i[7:1] < 7'(NQ)) begin
        dbq = db_index_i[3:1];
        quiet_scans = '0;
        lim = db_index_i[0] ? cq_max[dbq] : sq_max[dbq];
        db_batch = !db_index_i[0] && dbq != 3'd0;
        db_at = db_value_i;
        if (db_batch) db_at[wse_regs_pkg::DB_MORE_LO] = 1'b0;
        if (!exists[dbq] || db_at > 32'(lim)) begin
          if (bad_wp - bad_rp != 4'd8) begin
            bad_q[bad_wp[2:0]] = dbq;
            bad_v[bad_wp[2:0]] = db_value_i;
            bad_wp = bad_wp + 4'd1;
          end else lost = 2'd1;
        end else if (db_index_i[0]) cq_head[dbq] = db_at[15:0];
        else begin
          kept_tail[dbq] = db_at[15:0];
          kept[dbq] = 1'b1;
          // the last of a batch: all its tails take effect in this cycle; the admin queue's is a
          // batch of its own
          for (i = 0; i < NQ; i++) begin
            if (kept[i] && (db_batch ? !db_value_i[wse_regs_pkg::DB_MORE_LO] : i == 0)) begin
              sq_tail[i] = kept_tail[i];
              pending[i] = sq_tail[i] != sq_head[i];
              kept[i] = 1'b0;
            end
          end
        end
      end

      // ---- budgets and deadlocks ----
      still = moved_i ? 11'd0 : (still == Still) ? Still : still + 11'd1;
      if (act != 4'd0) begin
        for (i = 0; i < 4; i++) begin
          if (act[i] && !silent[i] && !expired[i] && !one) begin
            if (cycle_i >= deadline[i]) begin
              // a command of which something moves is slow, else it is stuck; copy and scrub are
              // never stuck
              if (looked[i] != 9'd0 && (moved_i || i == 0)) begin
                expired[i] = 1'b1;
                one = 1'b1;
                abort_o[i] <= 1'b1;
                abort_status_o <= 4'(wse_regs_pkg::ST_TIMEOUT);
              end else if (looked[i] == Look) begin
                expired[i] = 1'b1;
                one = 1'b1;
                abort_o[i] <= 1'b1;
                abort_status_o <= 4'(wse_regs_pkg::ST_DEADLOCK);
              end
              looked[i] = looked[i] + 9'd1;
            end
          end
        end
        if (act[3] && !silent[3] && !expired[3] && closed_i && still == Still && pending == 8'd0 &&
            !act[0] &&
            !one) begin
          one = 1'b1;
          expired[3] = 1'b1;
          abort_o[3] <= 1'b1;
          abort_status_o <= 4'(wse_regs_pkg::ST_DEADLOCK);
        end
      end

      // ---- the sequencer ----
      case (st)
        SScan: if (exists[0]) begin
          fq = scan_q;
          dn = done_i & ~ack_o;
          x = '0;
          if (dn[1]) x = 2'd1;
          if (dn[2]) x = 2'd2;
          if (dn[3]) x = 2'd3;
          if (bad_wp != bad_rp) begin
            did = 1'b1;
            bell = 1'b1;
            from_exec = 1'b0;
            fstat = 4'(wse_regs_pkg::ST_BAD_DOORBELL);
            q = bad_q[bad_rp[2:0]];
            st = SFault;
          end else if (dn != 4'd0) begin
            did = 1'b1;
            bell = 1'b0;
            from_exec = 1'b1;
            ack_o[x] <= 1'b1;
            act[x] = 1'b0;
            q = owner[x];
            case (x)
              2'd0:    fstat = status0_i;
              2'd1:    fstat = status1_i;
              2'd2:    fstat = status2_i;
              default: fstat = status3_i;
            endcase
            if (!silent[x]) begin
              t_end[q] = cycle_i[31:0];
              res[q] = fstat;
              res_fault[q] = '1;
              qs[q] = QDone;
              foff = '0;
              if (fstat != 4'(wse_regs_pkg::ST_OK)) st = SFault;
            end
          end else begin
            // No queue's turn is passed over: so a fence sees that its queue was deleted before
            // that id is given again. One that does not exist is empty.
            scan_q = (scan_q == LastQ) ? 3'd0 : scan_q + 3'd1;
            q = fq;
            tq = fence_q[q];
            nx = (cq_tail[q] + 16'd1) & cq_max[q];
            case (qs[q])
              QDone: if (nx != cq_head[q]) begin
                did = 1'b1;
                st = SCqe;
              end
              QEmpty: if (pending[q]) begin
                did = 1'b1;
                st = SFetch;
              end
              QWait: if (!act[exec[q]] && !done_i[exec[q]] && !held[exec[q]]) begin
                did = 1'b1;
                cnt = '0;
                st = SLoad;
              end
              QFence: begin
                ahead = completed[tq[2:0]] - fence_seq[q];
                if (!exists[tq[2:0]] || !ahead[31]) begin
                  did = 1'b1;
                  t_end[q] = cycle_i[31:0];
                  res[q] = exists[tq[2:0]] ? 4'(wse_regs_pkg::ST_OK) :
                      4'(wse_regs_pkg::ST_BAD_FENCE);
                  res_fault[q] = '1;
                  qs[q] = QDone;
                  if (!exists[tq[2:0]]) begin
                    bell = 1'b0;
                    from_exec = 1'b0;
                    fstat = 4'(wse_regs_pkg::ST_BAD_FENCE);
                    foff = 8'(wse_regs_pkg::SQE_queue_OFF);
                    st = SFault;
                  end
                end
              end
              default: ;
            endcase
          end
        end

        // ---- fetch and check ----
        SFetch: begin
          rreq_valid_o <= 1'b1;
          rreq_addr_o <= sq_base[q] + {41'd0, sq_head[q], 7'd0};
          fetch_err = 1'b0;
          st = SFetchReq;
        end
        SFetchReq: if (rreq_ready_i) begin
          rreq_valid_o <= 1'b0;
          st = SFetched;
        end
        SFetched: if (rd_valid_i) begin
          sqe[{q, rd_beat_i}] = rd_data_i;
          ck_ld <= 1'b1;
          ck_idx <= rd_beat_i;
          ck_word <= rd_data_i;
          ck_admin <= q == 3'd0;
          cnt = '0;
          fetch_err = fetch_err | rd_err_i;
          if (rd_last_i) begin
            sq_head[q] = (sq_head[q] + 16'd1) & sq_max[q];
            pending[q] = sq_head[q] != sq_tail[q];
            st = fetch_err ? SHalt : SCheck;
          end
        end
        SCheck: begin                         // word latched, evaluated, there
          ck_eval <= cnt == 5'd1;
          cnt = cnt + 5'd1;
          if (cnt == 5'd4) st = SJudge;
        end
        SJudge: begin
          cid[q] = c_cid;
          t_start[q] = cycle_i[31:0];
          t_end[q] = cycle_i[31:0];
          fstat = c_status;
          foff = c_off;
          tq = c_queue;
          st = SScan;
          qs[q] = QDone;
          if (fstat == 4'(wse_regs_pkg::ST_OK)) begin
            case (32'(c_op))
              wse_regs_pkg::OP_COPY_IN, wse_regs_pkg::OP_COPY_OUT, wse_regs_pkg::OP_STREAM_IN,
              wse_regs_pkg::OP_STREAM_OUT, wse_regs_pkg::OP_START, wse_regs_pkg::OP_SCRUB: begin
                exec[q] = (c_op == 8'(wse_regs_pkg::OP_STREAM_IN)) ? 2'd1 :
                          (c_op == 8'(wse_regs_pkg::OP_STREAM_OUT)) ? 2'd2 :
                          (c_op == 8'(wse_regs_pkg::OP_START) ||
                              c_op == 8'(wse_regs_pkg::OP_SCRUB)) ? 2'd3 : 2'd0;
                budget[q] = (c_op == 8'(wse_regs_pkg::OP_SCRUB)) ? '1 : c_budget;
                qs[q] = QWait;
              end
              wse_regs_pkg::OP_FENCE: begin
                ahead = completed[tq[2:0]] - c_seq;
                if (tq >= 8'(NQ) || !exists[tq[2:0]] || (tq[2:0] == q && ahead[31])) begin
                  fstat = 4'(wse_regs_pkg::ST_BAD_FENCE);
                  foff = 8'(wse_regs_pkg::SQE_queue_OFF);
                end else begin
                  fence_q[q] = tq;
                  fence_seq[q] = c_seq;
                  qs[q] = QFence;
                end
              end
              wse_regs_pkg::OP_CREATE_QUEUE: begin
                if (tq == 8'd0 || tq >= 8'(NQ) || exists[tq[2:0]]) begin
                  fstat = 4'(wse_regs_pkg::ST_BAD_QUEUE);
                  foff = 8'(wse_regs_pkg::SQE_queue_OFF);
                end else begin
                  exists[tq[2:0]] = 1'b1;
                  sq_base[tq[2:0]] = c_buf;
                  cq_base[tq[2:0]] = c_mask;
                  sq_max[tq[2:0]] = c_seq[15:0];
                  cq_max[tq[2:0]] = c_seq[15:0];
                  vec[tq[2:0]] = c_seq[20:16];
                  sq_head[tq[2:0]] = '0; sq_tail[tq[2:0]] = '0;
                  cq_head[tq[2:0]] = '0; cq_tail[tq[2:0]] = '0;
                  phase[tq[2:0]] = 1'b1;
                  pending[tq[2:0]] = 1'b0; kept[tq[2:0]] = 1'b0;
                  completed[tq[2:0]] = '0;
                  qs[tq[2:0]] = QEmpty;
                end
              end
              wse_regs_pkg::OP_DELETE_QUEUE: begin
                if (tq == 8'd0 || tq >= 8'(NQ) || !exists[tq[2:0]]) begin
                  fstat = 4'(wse_regs_pkg::ST_BAD_QUEUE);
                  foff = 8'(wse_regs_pkg::SQE_queue_OFF);
                end else begin
                  if (qs[tq[2:0]] == QRun) begin
                    silent[exec[tq[2:0]]] = 1'b1;
                  end
                  exists[tq[2:0]] = 1'b0;
                  pending[tq[2:0]] = 1'b0; kept[tq[2:0]] = 1'b0;
                  qs[tq[2:0]] = QEmpty;
                  st = SAbort;
                end
              end
              wse_regs_pkg::OP_CTX_RESET: begin
                silent = silent | act;
                for (i = 1; i < NQ; i++) begin
                  sq_head[i] = '0; sq_tail[i] = '0; cq_head[i] = '0; cq_tail[i] = '0;
                  completed[i] = '0;
                  qs[i] = QEmpty;
                end
                phase = '1 & ~8'd1 | (phase & 8'd1);
                pending = pending & 8'd1;
                kept = '0;
                st = SAbort;
              end
              default: ;
            endcase
          end
          res[q] = fstat;
          res_fault[q] = '1;
          fired = 1'b0;
          bell = 1'b0;
          from_exec = 1'b0;
          if (fstat != 4'(wse_regs_pkg::ST_OK)) st = SFault;
        end

        // executors that have been stopped come to rest
        SAbort: begin
          cnt = '0;
          if (!fired) begin
            if (!one) begin
              abort_o <= act & silent;
              abort_status_o <= 4'(wse_regs_pkg::ST_OK);
              fired = 1'b1;
            end
          end else if ((act & silent) == 4'd0 && ack_o == 4'd0) begin
            if (held == 4'd0) st = (c_op == 8'(wse_regs_pkg::OP_CTX_RESET)) ? SClear : SScan;
          end else begin
            for (i = 0; i < 4; i++) begin
              if (act[i] && silent[i] && done_i[i]) begin
                ack_o[i] <= 1'b1;
                act[i] = 1'b0;
              end
            end
          end
          t_end[q] = cycle_i[31:0];
        end
        SClear: begin
          tile_clear_o <= cnt < 5'd4;
          cnt = cnt + 5'd1;
          if (cnt == 5'd12) st = SScan;
        end

        // ---- dispatch ----
        SLoad: begin
          x = exec[q];
          ld_o <= cnt[4] ? 4'b0 : 4'b1 << x;
          ld_idx_o <= cnt[3:0];
          ld_word_o <= sqe[{q, cnt[3:0]}];
          cnt = cnt + 5'd1;
          if (cnt == 5'd18) begin
            go_o <= 4'b1 << x;
            act[x] = 1'b1;
            silent[x] = 1'b0;
            expired[x] = 1'b0;
            looked[x] = '0;
            owner[x] = q;
            still = '0;
            sum = cycle_i + budget[q];
            deadline[x] = (sum < cycle_i) ? '1 : sum;
            t_start[q] = cycle_i[31:0];
            qs[q] = QRun;
            st = SScan;
          end
        end

        // ---- fault record ----
        SFault: begin
          findex = 16'(fault_tail_o & (fault_size_i - 32'd1));
          for (i = 0; i < 8; i++) wb[i] = '0;
          wb[3] = 64'h0000_0000_ffff_ffff;
          if (bell) wb[3][63:32] = bad_v[bad_rp[2:0]];
          else if (!from_exec) wb[2][63:32] = 32'(foff);
          else begin
            case (x)
              2'd0: begin
                wb[4] = iova0_i;
                if (bus0_i && fstat != 4'(wse_regs_pkg::ST_DMA_ERROR)) begin
                  wb[0][63:48] = nports0_i;
                  wb[1] = {wse_regs_pkg::CAUSE_WAIT_PORT, port0_i, 16'd0};
                end
              end
              2'd1: begin
                wb[4] = iova1_i;
                if (fstat != 4'(wse_regs_pkg::ST_DMA_ERROR)) begin
                  wb[0][63:48] = nports1_i;
                  wb[1] = {wse_regs_pkg::CAUSE_WAIT_PORT, port1_i, 16'd0};
                  wb[3][31:0] = bus1_i ? '1 : 32'(color1_i);
                end
              end
              2'd2: begin
                wb[4] = iova2_i;
                if (fstat != 4'(wse_regs_pkg::ST_DMA_ERROR)) begin
                  wb[0][63:48] = nports2_i;
                  wb[1] = {wse_regs_pkg::CAUSE_WAIT_PORT, port2_i, 16'(ROWS - 1)};
                  wb[3][31:0] = bus2_i ? '1 : 32'(color2_i);
                end
              end
              default: begin
                wb[0][63:48] = f_ncores_i;
                wb[1] = {f_cause_i, f_col_i, f_row_i};
                wb[2] = {f_addr_i, f_pc_i};
                wb[3] = {f_value_i, f_color_i};
              end
            endcase
          end
          wb[0][47:0] = {bell ? 16'd0 : cid[q], 13'd0, q, 12'd0, fstat};
          wb[5] = cycle_i;
          wb[6] = 64'(fault_tail_o);
          if (bell) bad_rp = bad_rp + 4'd1;
          room = fault_tail_o - fault_head_i;
          if (!fault_ok || room >= fault_size_i) begin
            lost = lost + 2'd1;
            irq_o <= bell;
            irq_vec_o <= '0;
            st = SScan;
          end else begin
            wreq_valid_o <= 1'b1;
            wreq_addr_o <= {fault_base_i[63:6], 6'd0} + {42'd0, findex, 6'd0};
            wn = 6'd8;
            ret = SFault;
            st = SReq;
          end
        end

        // ---- completion ----
        SCqe: begin
          wb[0] = {res_fault[q], sq_head[q], 11'd0, res[q], phase[q], cid[q]};
          wb[1] = {t_end[q], t_start[q]};
          wreq_valid_o <= 1'b1;
          wreq_addr_o <= cq_base[q] + {44'd0, cq_tail[q], 4'd0};
          wn = 6'd2;
          ret = SCqe;
          st = SReq;
        end
        SReq: begin
          cnt = 5'd1;
          if (wreq_ready_i) begin
            wreq_valid_o <= 1'b0;
            wdat_valid_o <= 1'b1;
            wdat_data_o <= wb[0];
            st = SData;
          end
        end
        SData: if (wdat_ready_i) begin
          wdat_data_o <= wb[cnt[2:0]];
          if (6'(cnt) == wn) begin
            wdat_valid_o <= 1'b0;
            st = SRsp;
          end
          cnt = cnt + 5'd1;
        end
        SRsp: if (wrsp_valid_i) begin
          st = SScan;
          if (wrsp_err_i) st = SHalt;
          else if (ret == SFault) begin
            if (!bell) res_fault[q] = findex;
            fault_tail_o <= fault_tail_o + 32'd1;
            irq_o <= bell;
            irq_vec_o <= '0;
          end else begin
            completed[q] = completed[q] + 32'd1;
            cnt_o.cmds <= 1'b1;
            cq_tail[q] = (cq_tail[q] + 16'd1) & cq_max[q];
            if (cq_tail[q] == 16'd0) phase[q] = !phase[q];
            qs[q] = QEmpty;
            irq_o <= 1'b1;
            irq_vec_o <= vec[q];
          end
        end
        SHalt: begin
          if (!halted_o) begin
            abort_o <= act;
            silent = silent | act;
            abort_status_o <= 4'(wse_regs_pkg::ST_OK);
          end
          halted_o <= 1'b1;
        end
        default: ;
      endcase

      wreq_beats_o <= wn;
      fault_lost_o <= fault_lost_o + 32'(lost);
      busy_o <= act != 4'd0 || (st != SScan && st != SHalt);
      // a whole round without work
      if (did || st != SScan || held != 4'd0) quiet_scans = '0;
      else if (quiet_scans != 4'd10) quiet_scans = quiet_scans + 4'd1;
      rests = quiet_scans == 4'd10;
      idle_o <= rests && act == 4'd0;
    end
  end
endmodule
