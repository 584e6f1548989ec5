// SPDX-License-Identifier: MIT
// One core: scalar side, task unit, three engines, SRAM and the core's side of the ramp.
//
// Service plane. An operation is presented for one cycle with svc_sel_i; one is accepted every
// cycle:
//   1 write 8 bytes
//   2 read 8 bytes (svc_rdata_*_o is valid 3 cycles after the cycle of the operation)
//   3 boot: reset the core, run from svc_addr_i (low 16 bits of the pc)
//   4 start: entry svc_addr_i becomes pending
//   5 hold: reset the core
//   6 scrub: hold, and zero SRAM (16 bytes a cycle, svc_busy_o meanwhile)
//   7 clear done
// Boot, hold and scrub empty the receive queues; their credits go back to the router. All three
// clear the core's registers in the 32 cycles that follow.
//
// For the C++ model (names below u_core in the flattened design):
//   SRAM         u_memory.u_sram.m0 ... m3 [SRAM_BYTES / 16]: byte address 16 r + 4 w is m<w>[r].
//                After a poke set u_rv32.ib_ok and f_in to 0
//   accumulators u_lanes.acc[16][8]: accumulator 8 g + l is acc[g][l], or 0 where bit g of
//                u_lanes.clean is set
//   scalar state u_rv32.x[32], pc, mstatus (add 0x1800: MPP reads 3), mtvec, mepc, mcause, mtval,
//                mscratch, minstret, mcycle, wdata, winfo; to be changed between two clock edges
//   run state    run (1: booted), booting, goes (booting: run when that is over), faulted,
//                fault_cause_o, fault_addr_o;
//                halt: a debugger holds the core: everything stands and can go on. After a change
//                of scalar state or of halt set u_rv32.redo: an instruction in progress begins
//                again at pc, or retires if it has had its effect
//   trace        u_rv32.tr_valid (one cycle, the state has just changed): tr_pc, tr_insn, tr_rd (0:
//                none), tr_value, store: tr_addr, tr_data, tr_size (bytes; 0: none); tr_trap:
//                cause in tr_value; tr_pick (TNEXT): tr_task (255: a start), and tr_wdata,
//                tr_winfo (RECV too)

module wse_core (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [15:0] row_i,
  input  logic [15:0] col_i,
  input  logic [15:0] rows_i,
  input  logic [15:0] cols_i,
  input  logic        tile_rst_i,
  output logic        tx_valid_o,
  output logic        tx_ctrl_o,
  output logic [4:0]  tx_color_o,
  output logic [31:0] tx_data_o,
  input  logic        tx_cr_valid_i,
  input  logic [4:0]  tx_cr_color_i,
  input  logic        rx_valid_i,
  input  logic        rx_ctrl_i,
  input  logic [4:0]  rx_color_i,
  input  logic [31:0] rx_data_i,
  output logic        rx_cr_valid_o,
  output logic [4:0]  rx_cr_color_o,
  input  logic        rn_valid_i,
  input  logic        rn_ctrl_i,
  input  logic [4:0]  rn_color_i,
  input  logic [31:0] rn_data_i,
  output logic        rn_cr_valid_o,
  output logic [4:0]  rn_cr_color_o,
  output logic        rt_we_o,
  output logic [4:0]  rt_color_o,
  output logic [7:0]  rt_cfg_o,
  input  logic        svc_sel_i,
  input  logic [3:0]  svc_op_i,
  input  logic [15:0] svc_addr_i,
  input  logic [31:0] svc_wdata_lo_i,
  input  logic [31:0] svc_wdata_hi_i,
  output logic [31:0] svc_rdata_lo_o,
  output logic [31:0] svc_rdata_hi_o,
  output logic        svc_busy_o,
  output logic        held_o,
  output logic        done_o,
  output logic [31:0] done_value_o,
  output logic        faulted_o,
  output logic [31:0] fault_cause_o,
  output logic [31:0] fault_pc_o,
  output logic [31:0] fault_addr_o,
  output logic [31:0] fault_color_o,
  output logic [31:0] fault_value_o,
  output logic [2:0]  any_o,            // held; not done; faulted, or done with a value but 0
  output logic        moved_o,
  output logic [31:0] wait_cause_o,
  output logic [31:0] wait_color_o,
  // what it counts in this cycle; the router adds its wavelets
  output wse_regs_pkg::cnt_core_t cnt_o
);

  // ---- control: held, booting, running, faulted ----
  // A debugger's poke writes them, and settles then what follows from them (hw/verilator/peek.hpp);
  // public_flat_rw would have a simulator do so in every cycle.
  logic        run /*verilator public_flat_rd*/;
  logic        booting /*verilator public_flat_rd*/;  // registers become zero ...
  logic        goes /*verilator public_flat_rd*/;     // ... and then the core runs
  logic        faulted /*verilator public_flat_rd*/;
  logic        halt /*verilator public_flat_rd*/;     // a debugger's hold
  logic        scrubbing, flush, stop;
  logic [4:0]  boot_idx;
  logic [31:0] boot_pc;
  logic [11:0] scrub_row;
  logic [3:0]  q_op;
  logic [15:0] q_addr;
  logic [31:0] q_lo, q_hi;
  logic        rd_out, rd_hi, start, clr, rst;
  logic        bad_value;               // of done_value_o: not 0
  logic [31:0] start_pc;

  // ---- between the units ----
  logic [3:0]  mac;
  logic        retire, lwait;
  logic        rv_done, rv_fault, rv_retire, rv_tnext, rv_recv;
  logic [31:0] rv_done_value, rv_fault_cause, rv_fault_addr, rv_pc;
  logic [2:0]  rv_wait;
  logic [4:0]  rv_recv_color;
  logic        if_req, if_gnt, ls_req, ls_gnt;
  logic [11:0] if_row, ls_row;
  logic [15:0] ls_we;
  logic [31:0] ls_wd;
  logic        iq_valid, tk_valid, ans;
  logic [1:0]  iq_op;
  logic [3:0]  iq_idx;
  logic [2:0]  tk_op, iq_full, iq_head, iq_take, iq_pending, busy, act, unb, eng_moved;
  logic [31:0] cmd_a, cmd_b;
  wse_tensor_pkg::ins_t l_ins, m0_ins, m1_ins;
  logic [7:0]  ans_task;
  logic [31:0] ans_entry, ans_wdata, ans_winfo;
  logic [4:0]  l_task, m0_task, m1_task;
  logic [4:0]  l_color, m0_color, m1_color, s_color;
  logic        l_claim, m0_claim, m1_claim, s_ask, l_pop, m0_pop, m1_pop, s_pop;
  logic        l_valid, m0_valid, m1_valid, s_valid, l_ctrl, m0_ctrl, m1_ctrl, s_ctrl;
  logic [31:0] l_data, m0_data, m1_data, s_data;
  logic [23:0] some, ctrl, claim;
  logic        l_fault, m0_fault, m1_fault, m0_wait, m1_wait;
  logic [31:0] l_fault_cause, m0_fault_cause, m1_fault_cause;
  logic [31:0] l_fault_color, m0_fault_color, m1_fault_color, l_fault_value, m0_fault_value,
      m1_fault_value;
  logic [4:0]  m0_wait_color, m1_wait_color;
  logic        dq_push, dq_end, dq_valid, dq_head_end, m0_dq_pop, m1_dq_pop, a_en;
  logic [31:0] dq_data, dq_head;
  logic [4:0]  dq_count;
  logic [15:0] a_we;
  logic [11:0] a_row;
  logic [31:0] a_wd0, a_wd1, a_wd2, a_wd3, a_rd0, a_rd1, a_rd2, a_rd3;
  logic [31:0] b_rd0, b_rd1, b_rd2, b_rd3;
  logic        m0_re, m1_re, m0_we, m1_we;
  logic [6:0]  m0_ra, m0_rb, m0_wa, m1_ra, m1_rb, m1_wa;
  logic [31:0] m0_rda, m0_rdb, m0_wd, m1_rda, m1_rdb, m1_wd;
  logic        m0_mreq, m1_mreq, m0_mgnt, m1_mgnt;
  logic [15:0] m0_mwe, m1_mwe;
  logic [11:0] m0_mrow, m1_mrow;
  logic [31:0] m0_mwd, m1_mwd;
  logic        st_valid, st_ctrl, st_ready, m0t_valid, m0t_ctrl, m0t_room, m0t_ready, m1t_valid,
      m1t_ctrl, m1t_room, m1t_ready, m0t_ask, m1t_ask;
  logic [4:0]  st_color, m0t_color, m1t_color;
  logic [31:0] st_data, m0t_data, m1t_data;
  logic [2:0]  m0t_infl, m1t_infl;

  assign rst = !rst_ni || tile_rst_i;
  assign clr = !run;
  assign stop = faulted || halt;
  assign faulted_o = faulted;
  assign held_o = (!run && !goes) || halt;
  assign svc_busy_o = scrubbing;
  assign any_o = {held_o, !done_o, faulted | (done_o & bad_value)};

  always @(posedge clk_i) begin
    flush <= 1'b0;
    start <= start && booting;          // kept until the task unit has been cleared
    rd_out <= q_op == 4'd2;
    if (q_op == 4'd2) rd_hi <= q_addr[3];
    if (rd_out) begin
      svc_rdata_lo_o <= rd_hi ? b_rd2 : b_rd0;
      svc_rdata_hi_o <= rd_hi ? b_rd3 : b_rd1;
    end
    q_op <= svc_sel_i ? svc_op_i : '0;
    if (svc_sel_i) begin
      q_addr <= svc_addr_i;
      q_lo <= svc_wdata_lo_i;
      q_hi <= svc_wdata_hi_i;
    end
    if (scrubbing && q_op != 4'd1 && q_op != 4'd2) begin
      scrub_row <= scrub_row + 12'd1;
      scrubbing <= scrub_row != 12'(wse_regs_pkg::SRAM_BYTES / 16 - 1);
    end
    if (booting) begin
      boot_idx <= boot_idx + 5'd1;
      booting <= boot_idx != 5'd31;
      if (boot_idx == 5'd31) begin
        run <= goes;
        goes <= 1'b0;
      end
    end
    if (rv_done && !faulted) begin
      done_o <= 1'b1;
      done_value_o <= rv_done_value;
      bad_value <= rv_done_value != '0;
    end
    if (run && !faulted && (rv_fault || l_fault || m0_fault || m1_fault)) begin
      faulted <= 1'b1;
      fault_pc_o <= rv_pc;
      fault_cause_o <= rv_fault ? rv_fault_cause : l_fault ? l_fault_cause :
          m0_fault ? m0_fault_cause : m1_fault_cause;
      fault_addr_o <= rv_fault ? rv_fault_addr : '0;
      fault_color_o <= rv_fault ? '1 : l_fault ? l_fault_color : m0_fault ? m0_fault_color :
          m1_fault_color;
      fault_value_o <= rv_fault ? '0 : l_fault ? l_fault_value : m0_fault ? m0_fault_value :
          m1_fault_value;
    end
    if (q_op != 4'd0) case (q_op)
      4'd3, 4'd5, 4'd6: begin
        run <= 1'b0;
        booting <= 1'b1;
        goes <= q_op == 4'd3;
        halt <= 1'b0;
        boot_idx <= '0;
        boot_pc <= q_op == 4'd3 ? wse_regs_pkg::SRAM_BASE | 32'(q_addr) : '0;
        scrubbing <= q_op == 4'd6;
        scrub_row <= '0;
        flush <= 1'b1;
        start <= 1'b0;
        done_o <= 1'b0;
        done_value_o <= '0;
        faulted <= 1'b0;
      end
      4'd4: begin
        start <= 1'b1;
        start_pc <= wse_regs_pkg::SRAM_BASE | 32'(q_addr);
        done_o <= 1'b0;
      end
      4'd7: done_o <= 1'b0;
      default: ;
    endcase
    if (rst) begin
      run <= 1'b0;
      booting <= 1'b1;
      goes <= 1'b0;
      halt <= 1'b0;
      boot_idx <= '0;
      boot_pc <= '0;
      scrubbing <= 1'b0;
      start <= 1'b0;
      faulted <= 1'b0;
      done_o <= 1'b0;
      done_value_o <= '0;
      q_op <= '0;
    end
  end

  // ---- counters ----
  always_comb begin
    cnt_o = '0;
    cnt_o.mac = mac;
    cnt_o.instret = retire;
    cnt_o.lwait = lwait;
  end

  // ---- status ----
  always @(posedge clk_i) begin
    moved_o <= rv_retire || eng_moved != '0 || q_op != '0 || start || goes || scrubbing || ans ||
        tx_valid_o;
    retire <= rv_retire;
    wait_cause_o <= '0;
    wait_color_o <= '1;
    if (run && !stop) begin
      if (rv_wait == 3'd2) begin
        wait_cause_o <= wse_regs_pkg::CAUSE_WAIT_RECV;
        wait_color_o <= 32'(rv_recv_color);
      end else if (rv_wait == 3'd3) begin
        wait_cause_o <= wse_regs_pkg::CAUSE_WAIT_SEND;
        wait_color_o <= 32'(st_color);
      end else if (rv_wait == 3'd4) begin
        wait_cause_o <= wse_regs_pkg::CAUSE_WAIT_ENGINE;
      end else if (busy[0]) begin
        wait_cause_o <= wse_regs_pkg::CAUSE_WAIT_L;
        if (l_claim) wait_color_o <= 32'(l_color);
      end else if (busy[1]) begin
        wait_cause_o <= wse_regs_pkg::CAUSE_WAIT_M0;
        if (m0_wait) wait_color_o <= 32'(m0_wait_color);
      end else if (busy[2]) begin
        wait_cause_o <= wse_regs_pkg::CAUSE_WAIT_M1;
        if (m1_wait) wait_color_o <= 32'(m1_wait_color);
      end else if (rv_wait == 3'd1) begin
        wait_cause_o <= wse_regs_pkg::CAUSE_WAIT_TASK;
      end
    end
  end

  assign claim = (24'(l_claim) << l_color) | (24'(m0_claim) << m0_color) |
      (24'(m1_claim) << m1_color);

  wse_rv32 u_rv32 (
    .clk_i,
    .clr_i          (clr),
    .init_i         (booting),
    .init_idx_i     (boot_idx),
    .boot_pc_i      (boot_pc),
    .stop_i         (stop),
    .flush_i        (q_op == 4'd1),
    .row_i,
    .col_i,
    .rows_i,
    .cols_i,
    .if_req_o       (if_req),
    .if_row_o       (if_row),
    .if_gnt_i       (if_gnt),
    .ls_req_o       (ls_req),
    .ls_we_o        (ls_we),
    .ls_row_o       (ls_row),
    .ls_wd_o        (ls_wd),
    .ls_gnt_i       (ls_gnt),
    .rd0_i          (b_rd0),
    .rd1_i          (b_rd1),
    .rd2_i          (b_rd2),
    .rd3_i          (b_rd3),
    .iq_valid_o     (iq_valid),
    .iq_op_o        (iq_op),
    .iq_idx_o       (iq_idx),
    .tk_valid_o     (tk_valid),
    .tk_op_o        (tk_op),
    .cmd_a_o        (cmd_a),
    .cmd_b_o        (cmd_b),
    .iq_full_i      (iq_full),
    .eng_idle_i     (~busy & ~iq_pending),
    .tnext_o        (rv_tnext),
    .recv_o         (rv_recv),
    .recv_color_o   (rv_recv_color),
    .ans_i          (ans),
    .ans_task_i     (ans_task),
    .ans_entry_i    (ans_entry),
    .ans_wdata_i    (ans_wdata),
    .ans_winfo_i    (ans_winfo),
    .rt_we_o,
    .rt_color_o,
    .rt_cfg_o,
    .tx_valid_o     (st_valid),
    .tx_ctrl_o      (st_ctrl),
    .tx_color_o     (st_color),
    .tx_data_o      (st_data),
    .tx_ready_i     (st_ready),
    .done_o         (rv_done),
    .done_value_o   (rv_done_value),
    .fault_o        (rv_fault),
    .fault_cause_o  (rv_fault_cause),
    .fault_addr_o   (rv_fault_addr),
    .pc_o           (rv_pc),
    .retire_o       (rv_retire),
    .wait_o         (rv_wait)
  );

  wse_issue u_issue (
    .clk_i,
    .clr_i          (clr),
    .init_i         (booting),
    .init_idx_i     (boot_idx[3:0]),
    .cmd_valid_i    (iq_valid),
    .cmd_op_i       (iq_op),
    .cmd_idx_i      (iq_idx),
    .cmd_a_i        (cmd_a),
    .cmd_b_i        (cmd_b),
    .full_o         (iq_full),
    .valid_o        (iq_head),
    .l_o            (l_ins),
    .m0_o           (m0_ins),
    .m1_o           (m1_ins),
    .take_i         (iq_take),
    .pending_o      (iq_pending)
  );

  wse_tasks u_tasks (
    .clk_i,
    .clr_i          (clr),
    .init_i         (booting),
    .init_idx_i     (boot_idx),
    .start_i        (start),
    .start_pc_i     (start_pc),
    .cmd_valid_i    (tk_valid),
    .cmd_op_i       (tk_op),
    .cmd_a_i        (cmd_a),
    .cmd_b_i        (cmd_b),
    .act_i          (act),
    .unb_i          (unb),
    .task0_i        (l_task),
    .task1_i        (m0_task),
    .task2_i        (m1_task),
    .tnext_i        (rv_tnext),
    .recv_i         (rv_recv),
    .recv_color_i   (rv_recv_color),
    .settled_i      ((iq_pending & ~busy) == '0),
    .claim_i        (claim),
    .some_i         (some),
    .ctrl_i         (ctrl),
    .s_ask_o        (s_ask),
    .s_color_o      (s_color),
    .s_pop_o        (s_pop),
    .s_valid_i      (s_valid),
    .s_ctrl_i       (s_ctrl),
    .s_data_i       (s_data),
    .ans_o          (ans),
    .ans_task_o     (ans_task),
    .ans_entry_o    (ans_entry),
    .ans_wdata_o    (ans_wdata),
    .ans_winfo_o    (ans_winfo)
  );

  wse_lanes u_lanes (
    .clk_i,
    .clr_i          (clr),
    .stop_i         (stop),
    .ins_valid_i    (iq_head[0]),
    .ins_i          (l_ins),
    .ins_take_o     (iq_take[0]),
    .busy_o         (busy[0]),
    .act_o          (act[0]),
    .unb_o          (unb[0]),
    .task_o         (l_task),
    .fault_o        (l_fault),
    .fault_cause_o  (l_fault_cause),
    .fault_color_o  (l_fault_color),
    .fault_value_o  (l_fault_value),
    .moved_o        (eng_moved[0]),
    .lwait_o        (lwait),
    .mac_o          (mac),
    .claim_o        (l_claim),
    .color_o        (l_color),
    .rx_pop_o       (l_pop),
    .rx_valid_i     (l_valid),
    .rx_ctrl_i      (l_ctrl),
    .rx_data_i      (l_data),
    .dq_push_o      (dq_push),
    .dq_end_o       (dq_end),
    .dq_data_o      (dq_data),
    .dq_count_i     (dq_count),
    .a_en_o         (a_en),
    .a_we_o         (a_we),
    .a_row_o        (a_row),
    .a_wd0_o        (a_wd0),
    .a_wd1_o        (a_wd1),
    .a_wd2_o        (a_wd2),
    .a_wd3_o        (a_wd3),
    .a_rd0_i        (a_rd0),
    .a_rd1_i        (a_rd1),
    .a_rd2_i        (a_rd2),
    .a_rd3_i        (a_rd3),
    .m0_re_i        (m0_re),
    .m0_ra_i        (m0_ra),
    .m0_rb_i        (m0_rb),
    .m0_rda_o       (m0_rda),
    .m0_rdb_o       (m0_rdb),
    .m0_we_i        (m0_we),
    .m0_wa_i        (m0_wa),
    .m0_wd_i        (m0_wd),
    .m1_re_i        (m1_re),
    .m1_ra_i        (m1_ra),
    .m1_rb_i        (m1_rb),
    .m1_rda_o       (m1_rda),
    .m1_rdb_o       (m1_rdb),
    .m1_we_i        (m1_we),
    .m1_wa_i        (m1_wa),
    .m1_wd_i        (m1_wd)
  );

  wse_mover u_m0 (
    .clk_i,
    .clr_i          (clr),
    .stop_i         (stop),
    .ins_valid_i    (iq_head[1]),
    .ins_i          (m0_ins),
    .ins_take_o     (iq_take[1]),
    .busy_o         (busy[1]),
    .act_o          (act[1]),
    .unb_o          (unb[1]),
    .task_o         (m0_task),
    .fault_o        (m0_fault),
    .fault_cause_o  (m0_fault_cause),
    .fault_color_o  (m0_fault_color),
    .fault_value_o  (m0_fault_value),
    .moved_o        (eng_moved[1]),
    .wait_fab_o     (m0_wait),
    .wait_color_o   (m0_wait_color),
    .claim_o        (m0_claim),
    .color_o        (m0_color),
    .rx_pop_o       (m0_pop),
    .rx_valid_i     (m0_valid),
    .rx_ctrl_i      (m0_ctrl),
    .rx_data_i      (m0_data),
    .dq_pop_o       (m0_dq_pop),
    .dq_valid_i     (dq_valid),
    .dq_end_i       (dq_head_end),
    .dq_data_i      (dq_head),
    .tx_valid_o     (m0t_valid),
    .tx_ctrl_o      (m0t_ctrl),
    .tx_color_o     (m0t_color),
    .tx_data_o      (m0t_data),
    .tx_ask_o       (m0t_ask),
    .tx_infl_o      (m0t_infl),
    .tx_room_i      (m0t_room),
    .tx_ready_i     (m0t_ready),
    .acc_re_o       (m0_re),
    .acc_ra_o       (m0_ra),
    .acc_rb_o       (m0_rb),
    .acc_rda_i      (m0_rda),
    .acc_rdb_i      (m0_rdb),
    .acc_we_o       (m0_we),
    .acc_wa_o       (m0_wa),
    .acc_wd_o       (m0_wd),
    .mem_req_o      (m0_mreq),
    .mem_we_o       (m0_mwe),
    .mem_row_o      (m0_mrow),
    .mem_wd_o       (m0_mwd),
    .mem_gnt_i      (m0_mgnt),
    .mem_rd0_i      (b_rd0),
    .mem_rd1_i      (b_rd1),
    .mem_rd2_i      (b_rd2),
    .mem_rd3_i      (b_rd3)
  );

  wse_mover u_m1 (
    .clk_i,
    .clr_i          (clr),
    .stop_i         (stop),
    .ins_valid_i    (iq_head[2]),
    .ins_i          (m1_ins),
    .ins_take_o     (iq_take[2]),
    .busy_o         (busy[2]),
    .act_o          (act[2]),
    .unb_o          (unb[2]),
    .task_o         (m1_task),
    .fault_o        (m1_fault),
    .fault_cause_o  (m1_fault_cause),
    .fault_color_o  (m1_fault_color),
    .fault_value_o  (m1_fault_value),
    .moved_o        (eng_moved[2]),
    .wait_fab_o     (m1_wait),
    .wait_color_o   (m1_wait_color),
    .claim_o        (m1_claim),
    .color_o        (m1_color),
    .rx_pop_o       (m1_pop),
    .rx_valid_i     (m1_valid),
    .rx_ctrl_i      (m1_ctrl),
    .rx_data_i      (m1_data),
    .dq_pop_o       (m1_dq_pop),
    .dq_valid_i     (dq_valid),
    .dq_end_i       (dq_head_end),
    .dq_data_i      (dq_head),
    .tx_valid_o     (m1t_valid),
    .tx_ctrl_o      (m1t_ctrl),
    .tx_color_o     (m1t_color),
    .tx_data_o      (m1t_data),
    .tx_ask_o       (m1t_ask),
    .tx_infl_o      (m1t_infl),
    .tx_room_i      (m1t_room),
    .tx_ready_i     (m1t_ready),
    .acc_re_o       (m1_re),
    .acc_ra_o       (m1_ra),
    .acc_rb_o       (m1_rb),
    .acc_rda_i      (m1_rda),
    .acc_rdb_i      (m1_rdb),
    .acc_we_o       (m1_we),
    .acc_wa_o       (m1_wa),
    .acc_wd_o       (m1_wd),
    .mem_req_o      (m1_mreq),
    .mem_we_o       (m1_mwe),
    .mem_row_o      (m1_mrow),
    .mem_wd_o       (m1_mwd),
    .mem_gnt_i      (m1_mgnt),
    .mem_rd0_i      (b_rd0),
    .mem_rd1_i      (b_rd1),
    .mem_rd2_i      (b_rd2),
    .mem_rd3_i      (b_rd3)
  );

  wse_dotq u_dotq (
    .clk_i,
    .clr_i          (clr),
    .push_i         (dq_push),
    .end_i          (dq_end),
    .data_i         (dq_data),
    .count_o        (dq_count),
    .m0_pop_i       (m0_dq_pop),
    .m1_pop_i       (m1_dq_pop),
    .valid_o        (dq_valid),
    .end_o          (dq_head_end),
    .data_o         (dq_head)
  );

  wse_ramp u_ramp (
    .clk_i,
    .rst_i          (rst),
    .flush_i        (flush),
    .rx_valid_i,
    .rx_ctrl_i,
    .rx_color_i,
    .rx_data_i,
    .rx_cr_valid_o,
    .rx_cr_color_o,
    .rn_valid_i,
    .rn_ctrl_i,
    .rn_color_i,
    .rn_data_i,
    .rn_cr_valid_o,
    .rn_cr_color_o,
    .tx_valid_o,
    .tx_ctrl_o,
    .tx_color_o,
    .tx_data_o,
    .tx_cr_valid_i,
    .tx_cr_color_i,
    .l_ask_i        (l_claim),
    .l_color_i      (l_color),
    .l_pop_i        (l_pop),
    .l_valid_o      (l_valid),
    .l_ctrl_o       (l_ctrl),
    .l_data_o       (l_data),
    .m0_ask_i       (m0_claim),
    .m0_color_i     (m0_color),
    .m0_pop_i       (m0_pop),
    .m0_valid_o     (m0_valid),
    .m0_ctrl_o      (m0_ctrl),
    .m0_data_o      (m0_data),
    .m1_ask_i       (m1_claim),
    .m1_color_i     (m1_color),
    .m1_pop_i       (m1_pop),
    .m1_valid_o     (m1_valid),
    .m1_ctrl_o      (m1_ctrl),
    .m1_data_o      (m1_data),
    .s_ask_i        (s_ask),
    .s_color_i      (s_color),
    .s_pop_i        (s_pop),
    .s_valid_o      (s_valid),
    .s_ctrl_o       (s_ctrl),
    .s_data_o       (s_data),
    .some_o         (some),
    .ctrl_o         (ctrl),
    .st_valid_i     (st_valid),
    .st_ctrl_i      (st_ctrl),
    .st_color_i     (st_color),
    .st_data_i      (st_data),
    .st_ready_o     (st_ready),
    .m0t_valid_i    (m0t_valid),
    .m0t_ctrl_i     (m0t_ctrl),
    .m0t_color_i    (m0t_color),
    .m0t_data_i     (m0t_data),
    .m0t_ask_i      (m0t_ask),
    .m0t_infl_i     (m0t_infl),
    .m0t_room_o     (m0t_room),
    .m0t_ready_o    (m0t_ready),
    .m1t_valid_i    (m1t_valid),
    .m1t_ctrl_i     (m1t_ctrl),
    .m1t_color_i    (m1t_color),
    .m1t_data_i     (m1t_data),
    .m1t_ask_i      (m1t_ask),
    .m1t_infl_i     (m1t_infl),
    .m1t_room_o     (m1t_room),
    .m1t_ready_o    (m1t_ready)
  );

  wse_memory u_memory (
    .clk_i,
    .clr_i          (clr),
    .a_en_i         (a_en && run && !stop),
    .a_we_i         (a_we),
    .a_row_i        (a_row),
    .a_wd0_i        (a_wd0),
    .a_wd1_i        (a_wd1),
    .a_wd2_i        (a_wd2),
    .a_wd3_i        (a_wd3),
    .a_rd0_o        (a_rd0),
    .a_rd1_o        (a_rd1),
    .a_rd2_o        (a_rd2),
    .a_rd3_o        (a_rd3),
    .svc_rd_i       (q_op == 4'd2),
    .svc_wr_i       (q_op == 4'd1),
    .svc_addr_i     (q_addr),
    .svc_lo_i       (q_lo),
    .svc_hi_i       (q_hi),
    .scrub_i        (scrubbing),
    .scrub_row_i    (scrub_row),
    .m0_req_i       (m0_mreq),
    .m0_we_i        (m0_mwe),
    .m0_row_i       (m0_mrow),
    .m0_wd_i        (m0_mwd),
    .m0_gnt_o       (m0_mgnt),
    .m1_req_i       (m1_mreq),
    .m1_we_i        (m1_mwe),
    .m1_row_i       (m1_mrow),
    .m1_wd_i        (m1_mwd),
    .m1_gnt_o       (m1_mgnt),
    .ls_req_i       (ls_req),
    .ls_we_i        (ls_we),
    .ls_row_i       (ls_row),
    .ls_wd_i        (ls_wd),
    .ls_gnt_o       (ls_gnt),
    .if_req_i       (if_req),
    .if_row_i       (if_row),
    .if_gnt_o       (if_gnt),
    .rd0_o          (b_rd0),
    .rd1_o          (b_rd1),
    .rd2_o          (b_rd2),
    .rd3_o          (b_rd3)
  );
endmodule
