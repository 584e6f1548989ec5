// SPDX-License-Identifier: MIT
// One core: RV32IM_Zicsr, task unit, lane engine, two movers, 48 KiB of SRAM. Contract: hw/doc/core.md.
//
// One clocked process in reverse pipeline order, internal values by blocking assignment: what a unit hands to
// the next one crosses a register, and simulation evaluates each unit once a cycle and only when it is busy.
// The units share nothing but the SRAM's two ports:
//   port A  16 bytes a cycle, read or write: the lane engine
//   port B  16 bytes a cycle: service plane, then movers, then scalar loads and stores, then fetch
//
// For the model wrapper (public): mem0..3 (word i of SRAM is mem<i%4>[i/4]), x_q, pc_q, the CSRs, acc_q[group][lane] with
// accz_q (a set bit: that row of 8 reads as zero), and tr_* (the instruction that retired or trapped in the
// last cycle: tr_valid_q with tr_trap_q telling which).

module wse_core (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [15:0] row_i,
  input  logic [15:0] col_i,
  input  logic [15:0] rows_i,
  input  logic [15:0] cols_i,
  input  logic        tile_rst_i,       // context reset: everything but the SRAM
  // ramp into the router
  output logic        tx_valid_o,
  output logic        tx_ctrl_o,
  output logic [4:0]  tx_color_o,
  output logic [31:0] tx_data_o,
  input  logic        tx_cr_valid_i,
  input  logic [4:0]  tx_cr_color_i,
  // ramp from the router
  input  logic        rx_valid_i,
  input  logic        rx_ctrl_i,
  input  logic [4:0]  rx_color_i,
  input  logic [31:0] rx_data_i,
  output logic        rx_cr_valid_o,
  output logic [4:0]  rx_cr_color_o,
  // route configuration
  output logic        rt_we_o,
  output logic [4:0]  rt_color_o,
  output logic [7:0]  rt_cfg_o,
  // service plane: 1 write 8 bytes, 2 read 8 bytes (data 3 cycles later), 3 boot, 4 start, 5 hold, 6 scrub,
  // 7 clear done
  input  logic        svc_sel_i,
  input  logic [3:0]  svc_op_i,
  input  logic [15:0] svc_addr_i,
  input  logic [31:0] svc_wdata_lo_i,
  input  logic [31:0] svc_wdata_hi_i,
  output logic [31:0] svc_rdata_lo_o,
  output logic [31:0] svc_rdata_hi_o,
  output logic        svc_busy_o,
  // state
  output logic        held_o,
  output logic        done_o,
  output logic [31:0] done_value_o,
  output logic        faulted_o,
  output logic [31:0] fault_cause_o,
  output logic [31:0] fault_pc_o,
  output logic [31:0] fault_addr_o,
  output logic [31:0] fault_color_o,
  output logic [31:0] fault_value_o,
  output logic        moved_o,
  output logic [31:0] wait_cause_o,
  output logic [31:0] wait_color_o,
  output logic [3:0]  mac_o,
  output logic        retire_o,
  output logic        lwait_o
);
  import wse_fp_pkg::*;
  import wse_regs_pkg::*;

  localparam int unsigned Lanes = 8;
  localparam int unsigned Rows16 = 3072;              // 16-byte rows of SRAM

  // ---- SRAM ----
  logic [31:0] mem0 [0:Rows16-1] /*verilator public_flat_rw*/;
  logic [31:0] mem1 [0:Rows16-1] /*verilator public_flat_rw*/;
  logic [31:0] mem2 [0:Rows16-1] /*verilator public_flat_rw*/;
  logic [31:0] mem3 [0:Rows16-1] /*verilator public_flat_rw*/;
  logic [31:0] ard_q [0:3];                           // port A read data
  logic [31:0] brd_q [0:3];                           // port B read data
  logic [2:0]  bown_q;                                // who asked for it
  localparam logic [2:0] BNone = 0, BSvc = 1, BM0A = 2, BM0B = 3, BM1A = 4, BM1B = 5, BLoad = 6, BFetch = 7;
  logic        bport;                                 // port B taken in this cycle

  // ---- scalar ----
  logic [31:0] x_q [0:31] /*verilator public_flat_rw*/;
  logic [31:0] pc_q /*verilator public_flat_rw*/;
  logic [31:0] mstatus_q /*verilator public_flat_rw*/, mtvec_q /*verilator public_flat_rw*/;
  logic [31:0] mepc_q /*verilator public_flat_rw*/, mcause_q /*verilator public_flat_rw*/;
  logic [31:0] mtval_q /*verilator public_flat_rw*/, mscratch_q /*verilator public_flat_rw*/;
  logic [63:0] mcycle_q /*verilator public_flat_rw*/, minstret_q /*verilator public_flat_rw*/;
  logic [31:0] wdata_q /*verilator public_flat_rw*/, winfo_q /*verilator public_flat_rw*/;
  logic        run_q /*verilator public_flat_rw*/, fault_q /*verilator public_flat_rw*/;
  logic [31:0] fcause_q /*verilator public_flat_rw*/, faddr_q /*verilator public_flat_rw*/;
  // fetched lines of 16 bytes, two: even and odd
  logic [31:0] fb_q [0:7];
  logic [11:0] ftag_q [0:1];
  logic [1:0]  fval_q /*verilator public_flat_rw*/;
  logic        fline_q;                               // line on its way
  logic        load_q;                                // a load waits for its data
  logic [31:0] ldw_q;                                 // the word it asked for
  logic [4:0]  ldrd_q;
  logic [2:0]  ldf3_q;
  logic [3:0]  ldoff_q;
  logic        mdiv_q;                                // multiply or divide in progress
  logic [5:0]  mcnt_q;
  logic [31:0] mrem_q, mquo_q, mdvs_q;
  logic        done_q;
  logic [31:0] dvalue_q;
  logic [1:0]  swait_q;                               // scalar side waits: 1 receive, 2 send, 3 engine
  logic        tnext_q;                               // waits in TNEXT
  logic [4:0]  swcol_q;

  // ---- retired instruction, for the wrapper ----
  logic        tr_valid_q /*verilator public_flat_rd*/, tr_trap_q /*verilator public_flat_rd*/;
  logic [31:0] tr_pc_q /*verilator public_flat_rd*/, tr_insn_q /*verilator public_flat_rd*/;
  logic [31:0] tr_rdv_q /*verilator public_flat_rd*/, tr_maddr_q /*verilator public_flat_rd*/;
  logic [31:0] tr_mdata_q /*verilator public_flat_rd*/;
  logic [4:0]  tr_rd_q /*verilator public_flat_rd*/;
  logic [2:0]  tr_msize_q /*verilator public_flat_rd*/;  // bytes of a store, 0: none
  logic        tr_pick_q /*verilator public_flat_rd*/;   // TNEXT took tr_task_q (255: a start)
  logic [7:0]  tr_task_q /*verilator public_flat_rd*/;

  // ---- tasks ----
  logic [31:0] tflag_q, tblock_q;
  logic [31:0] tentry_q [0:31];
  logic [4:0]  bind_q [0:23];
  logic [4:0]  cbind_q [0:23];
  logic [23:0] bound_q, cbound_q;                     // colors with a data, a control task
  logic        start_q;
  logic [15:0] startpc_q;

  // ---- ramp ----
  logic [31:0] rxd_q [0:95];                          // receive queues, {color, slot}
  logic [23:0] rxc0_q, rxc1_q, rxc2_q, rxc3_q;        // control bit per slot
  logic [1:0]  rxr_q [0:23];
  logic [2:0]  rxn_q [0:23];
  logic [23:0] rxne_q;                                // not empty
  logic [23:0] rxhc_q;                                // control wavelet at the head
  logic [2:0]  crp_q [0:23];                          // credits still to be given back
  logic [23:0] crm_q;
  logic [2:0]  txc_q [0:23];                          // credits held
  logic [23:0] txok_q;
  logic        txbusy;                                // ramp taken in this cycle
  logic        mturn_q;                               // the mover that goes first

  // ---- engines ----
  logic [31:0] dsr_q [0:63];                          // {number, word}
  // waiting instructions, {engine, slot, word}: tcw, scalar, dst 0-3, src1 0-3, src2 0-3
  logic [31:0] eq_q [0:127];
  logic [1:0]  eqn_q [0:2];
  logic        eqr_q [0:2];
  logic [31:0] acc_q [0:15][0:7] /*verilator public_flat_rw*/;
  logic [15:0] accz_q /*verilator public_flat_rw*/;
  logic [31:0] dq_q [0:7];                            // DOT queue
  logic [7:0]  dqe_q;                                 // END marks in it
  logic [2:0]  dqr_q;
  logic [3:0]  dqn_q;
  logic [3:0]  dqf_q;                                 // results on their way to it
  logic [23:0] claim_q;                               // colors that engines read

  // the running lane instruction
  logic        l_run_q, l_stream_q, l_dot_q, l_end_q;
  logic [31:0] l_tcw_q, l_scalar_q;
  logic [31:0] l_w_q [0:11];                          // its DSRs: dst, src1, src2
  logic [4:0]  l_color_q;
  logic [4:0]  l_t8_q;                                // groups per row of x
  logic        w_valid_q;                             // next wavelet, decoded
  logic        w_end_q;
  logic [31:0] w_value_q;
  logic [15:0] w_addr_q;
  logic [3:0]  w_row_q;
  logic        c_valid_q;                             // wavelet whose groups are being issued
  logic [31:0] c_value_q;
  logic [15:0] c_addr_q;
  logic [3:0]  c_row_q;
  logic [4:0]  c_left_q;
  logic        c_first_q;
  // pipeline: p1 x read, p2 products, then (DOT) p3 partial sums complete, tree p4, p5
  logic        p1_v_q, p1_dot_q, p1_first_q, p1_last_q, p1_end_q;
  logic [31:0] p1_value_q;
  logic [3:0]  p1_row_q;
  logic        p2_v_q, p2_dot_q, p2_first_q, p2_last_q, p2_end_q;
  logic [3:0]  p2_row_q;
  logic [31:0] p2_p_q [0:7];
  logic        p3_v_q, p3_end_q, p4_v_q, p4_end_q, p5_v_q, p5_end_q;
  logic [31:0] p3_q [0:7];
  logic [31:0] p4_q [0:3];
  logic [31:0] p5_q [0:1];
  logic [31:0] dpart_q [0:7];
  // vector operations
  logic [3:0]  v_st_q;
  logic [31:0] v_a_q [0:7];
  logic [31:0] v_b_q [0:7];
  logic [31:0] v_r_q [0:7];
  logic [15:0] v_i_q, v_j_q;                          // group in the row, row
  logic [31:0] v_pa_q, v_pb_q, v_pd_q;                // row starts

  // movers, {mover}
  logic        m_run_q [0:1];
  logic [31:0] m_tcw_q [0:1];
  logic [31:0] m_w_q [0:31];                          // {mover, 0 dst / 1 src1 / 2 src2, word}
  logic [15:0] m_i_q [0:1];
  logic [15:0] m_j_q [0:1];
  logic [15:0] m_len_q [0:1];
  logic [15:0] m_len1_q [0:1];
  logic [31:0] m_p_q [0:7];                           // {mover, operand}: address of the element
  logic [31:0] m_s_q [0:7];                           // address of the row
  logic [31:0] m_line_q [0:15];                       // {mover, src1/src2, word}: last line read
  logic [11:0] m_tag_q [0:3];
  logic [3:0]  m_tval_q;
  logic [1:0]  m_send_q;                              // only the END wavelet is left
  logic [4:0]  m_wcol_q [0:1];
  logic [1:0]  m_wcolv_q, m_half_q;         // half: one of two memory writes is done ...
  logic [31:0] m_hold_q [0:1];                        // ... of this value

  logic        scrub_q;
  logic [11:0] scrubrow_q;
  logic        svchi_q;
  logic [31:0] svclo2_q, svchi2_q;
  logic        moved, lwait, retire;
  logic [3:0]  macs;

  // ---- helpers: values of the process below ----
  logic        clr;

  function automatic logic [31:0] sext16(input logic [31:0] a);
    sext16 = {{16{a[15]}}, a[15:0]};
  endfunction

  function automatic logic [31:0] accrd(input logic [6:0] i);
    accrd = accz_q[i[6:3]] ? 32'd0 : acc_q[i[6:3]][i[2:0]];
  endfunction

  task automatic accwr(input logic [6:0] i, input logic [31:0] v);
    if (accz_q[i[6:3]]) begin
      for (int l = 0; l < 8; l++) acc_q[i[6:3]][l] = 32'd0;
      accz_q[i[6:3]] = 1'b0;
    end
    acc_q[i[6:3]][i[2:0]] = v;
  endtask

  // takes the wavelet at the head of a color's queue; its credit goes back later
  task automatic rxpop(input logic [4:0] c);
    rxr_q[c] = rxr_q[c] + 2'd1;
    rxn_q[c] = rxn_q[c] - 3'd1;
    rxne_q[c] = rxn_q[c] != 0;
    rxhc_q[c] = rxr_q[c] == 0 ? rxc0_q[c] : rxr_q[c] == 1 ? rxc1_q[c] : rxr_q[c] == 2 ? rxc2_q[c] : rxc3_q[c];
    crp_q[c] = crp_q[c] + 3'd1;
    crm_q[c] = 1'b1;
    moved = 1'b1;
  endtask

  task automatic txput(input logic [4:0] c, input logic ctrl, input logic [31:0] v);
    txbusy = 1'b1;
    txc_q[c] = txc_q[c] - 3'd1;
    txok_q[c] = txc_q[c] != 0;
    tx_valid_o <= 1'b1;
    tx_ctrl_o <= ctrl;
    tx_color_o <= c;
    tx_data_o <= v;
    moved = 1'b1;
  endtask

  task automatic complete(input logic [31:0] tcw);
    if (tcw[TCW_ACTIVATE_LO]) tflag_q[tcw[31:27]] = 1'b1;
    if (tcw[TCW_UNBLOCK_LO]) tblock_q[tcw[31:27]] = 1'b0;
    moved = 1'b1;
  endtask

  task automatic fault(input logic [31:0] cause, input logic [31:0] addr, input logic [31:0] color,
                       input logic [31:0] value);
    if (!fault_q) begin
      fault_q = 1'b1;
      fcause_q = cause;
      faddr_q = addr;
      fault_pc_o <= pc_q;
      fault_color_o <= color;
      fault_value_o <= value;
    end
  endtask

  task automatic bread(input logic [11:0] r, input logic [2:0] owner);
    brd_q[0] = mem0[r];
    brd_q[1] = mem1[r];
    brd_q[2] = mem2[r];
    brd_q[3] = mem3[r];
    bown_q = owner;
    bport = 1'b1;
  endtask

  // bytes of one 32-bit word; a store into fetched code takes effect at once
  task automatic bwrite(input logic [15:0] a, input logic [31:0] v, input logic [31:0] mask);
    case (a[3:2])
      2'd0: mem0[a[15:4]] = (mem0[a[15:4]] & ~mask) | (v & mask);
      2'd1: mem1[a[15:4]] = (mem1[a[15:4]] & ~mask) | (v & mask);
      2'd2: mem2[a[15:4]] = (mem2[a[15:4]] & ~mask) | (v & mask);
      default: mem3[a[15:4]] = (mem3[a[15:4]] & ~mask) | (v & mask);
    endcase
    if (ftag_q[a[4]] == a[15:4]) fval_q[a[4]] = 1'b0;
    for (int k = 0; k < 4; k++) if (m_tag_q[k] == a[15:4]) m_tval_q[k] = 1'b0;
    bport = 1'b1;
  endtask

  // -- operand checks: 0 good, else the cause --

  // extent of base ... in 2-D, inside [lo, hi)
  function automatic logic fits(input logic [31:0] base, input logic [31:0] len, input logic [31:0] st,
                                  input logic [31:0] len1, input logic [31:0] st1, input logic [31:0] size,
                                  input logic [31:0] hi);
    logic [31:0] a, b, lo, up;
    a = (len - 1) * st;
    b = (len1 - 1) * st1;
    lo = base + ($signed(a) < 0 ? a : 32'd0) + ($signed(b) < 0 ? b : 32'd0);
    up = base + ($signed(a) > 0 ? a : 32'd0) + ($signed(b) > 0 ? b : 32'd0) + size;
    fits = base <= 32'hffff && $signed(lo) >= 0 && $signed(up) >= 0 && up <= hi;
  endfunction

  // lane: the rules of lane operations; red: the single element that a reduction writes
  function automatic logic [31:0] opcheck(input logic [31:0] w0, input logic [31:0] w1, input logic [31:0] w2,
                                          input logic [31:0] w3, input logic lane, input logic red);
    logic [31:0] len, st, len1, st1, size, cause;
    logic        isacc, bad;
    len = {16'd0, w1[15:0]};
    st = sext16(w1 >> 16);
    len1 = w2[15:0] == 0 ? 32'd1 : {16'd0, w2[15:0]};
    st1 = sext16(w2 >> 16);
    isacc = w3[3:0] == 4'(KIND_ACC);
    size = w3[7:4] == 4'(DT_BF16) ? 32'd2 : 32'd4;
    bad = len == 0 || (!isacc && (w3[3:0] != 4'(KIND_MEM) || w3[7:4] > 4'(DT_I32)));
    if (red)
      bad = bad || len != 1 || len1 != 1 || (!isacc && (w0 & (size - 1)) != 0);
    else if (isacc)
      bad = bad || (lane && (st != 1 || w0[2:0] != 0 || st1[2:0] != 0 || len[2:0] != 0));
    else if (lane)
      bad = bad || st != size || w0[3:0] != 0 || st1[3:0] != 0 || len[2:0] != 0;
    else
      bad = bad || ((w0 | st | st1) & (size - 1)) != 0;
    cause = isacc ? (fits(w0, len, st, len1, st1, 32'd1, 32'd128) ? 32'd0 : CAUSE_OPERAND_ADDR) :
                    (w0 - SRAM_BASE <= 32'hffff &&
                     fits(w0 - SRAM_BASE, len, st, len1, st1, size, SRAM_BYTES) ? 32'd0 : CAUSE_OPERAND_ADDR);
    opcheck = bad ? CAUSE_BAD_DSR : cause;
  endfunction


`include "wse_core_lanes.svh"
`include "wse_core_movers.svh"
`include "wse_core_scalar.svh"

  // everything but the SRAM and the credits that others hold of us
  task automatic core_reset();
    for (int i = 0; i < 32; i++) begin
      x_q[i] = 32'd0;
      tentry_q[i] = 32'd0;
    end
    for (int i = 0; i < 64; i++) dsr_q[i] = 32'd0;
    for (int i = 0; i < 3; i++) begin
      eqn_q[i] = 2'd0;
      eqr_q[i] = 1'b0;
    end
    accz_q = 16'hffff;
    mstatus_q = 32'h1800;
    mtvec_q = 32'd0;
    mepc_q = 32'd0;
    mcause_q = 32'd0;
    mtval_q = 32'd0;
    mscratch_q = 32'd0;
    mcycle_q = 64'd0;
    minstret_q = 64'd0;
    wdata_q = 32'd0;
    winfo_q = 32'd0;
    fval_q = 2'd0;
    load_q = 1'b0;
    mdiv_q = 1'b0;
    tflag_q = 32'd0;
    tblock_q = 32'd0;
    bound_q = 24'd0;
    cbound_q = 24'd0;
    start_q = 1'b0;
    done_q = 1'b0;
    dvalue_q = 32'd0;
    fault_q = 1'b0;
    run_q = 1'b0;
    dqn_q = 4'd0;
    dqf_q = 4'd0;
    dqr_q = 3'd0;
    claim_q = 24'd0;
    l_run_q = 1'b0;
    w_end_q = 1'b0;
    w_valid_q = 1'b0;
    c_valid_q = 1'b0;
    p1_v_q = 1'b0;
    p1_end_q = 1'b0;
    p2_v_q = 1'b0;
    p2_end_q = 1'b0;
    p3_v_q = 1'b0;
    p4_v_q = 1'b0;
    p5_v_q = 1'b0;
    m_run_q[0] = 1'b0;
    m_run_q[1] = 1'b0;
    m_tval_q = 4'd0;
    m_send_q = 2'd0;
    swait_q = 2'd0;
    tnext_q = 1'b0;
    bown_q = BNone;
    scrub_q = 1'b0;
  endtask

  // what is in the receive queues is dropped, its credits go back
  task automatic rx_drop();
    for (int i = 0; i < 24; i++) begin
      crp_q[i] = crp_q[i] + rxn_q[i];
      crm_q[i] = crp_q[i] != 0;
      rxn_q[i] = 3'd0;
    end
    rxne_q = 24'd0;
    rxhc_q = 24'd0;
  endtask

  task automatic ramp_reset();
    for (int i = 0; i < 24; i++) begin
      rxr_q[i] = 2'd0;
      rxn_q[i] = 3'd0;
      crp_q[i] = 3'd0;
      txc_q[i] = 3'(CHAN_DEPTH);
    end
    rxne_q = 24'd0;
    rxhc_q = 24'd0;
    crm_q = 24'd0;
    txok_q = 24'hffffff;
  endtask

  logic [23:0] h;
  logic [4:0]  hc;
  logic [1:0]  slot;

  always @(posedge clk_i) begin
    tx_valid_o <= 1'b0;
    rx_cr_valid_o <= 1'b0;
    rt_we_o <= 1'b0;
    tr_valid_q = 1'b0;
    clr = !rst_ni || tile_rst_i;
    moved = 1'b0;
    lwait = 1'b0;
    retire = 1'b0;
    macs = 4'd0;
    txbusy = 1'b0;
    bport = 1'b0;

    if (clr) begin
      core_reset();
      ramp_reset();
      mturn_q = 1'b0;
    end else begin
      // service plane: has port B first, and its read data leaves through two more registers
      svc_rdata_lo_o <= svclo2_q;
      svc_rdata_hi_o <= svchi2_q;
      if (bown_q == BSvc) begin
        svclo2_q = svchi_q ? brd_q[2] : brd_q[0];
        svchi2_q = svchi_q ? brd_q[3] : brd_q[1];
      end
      if (bown_q != BNone && bown_q != BSvc) port_b_data();
      bown_q = BNone;
      if (scrub_q) begin
        mem0[scrubrow_q] = 32'd0;
        mem1[scrubrow_q] = 32'd0;
        mem2[scrubrow_q] = 32'd0;
        mem3[scrubrow_q] = 32'd0;
        scrub_q = scrubrow_q != 12'(Rows16 - 1);
        scrubrow_q = scrubrow_q + 12'd1;
        moved = 1'b1;
      end
      if (svc_sel_i && svc_op_i != 0) begin
        case (svc_op_i)
          4'd1: begin
            bwrite({svc_addr_i[15:3], 3'b000}, svc_wdata_lo_i, 32'hffffffff);
            bwrite({svc_addr_i[15:3], 3'b100}, svc_wdata_hi_i, 32'hffffffff);
          end
          4'd2: begin
            bread(svc_addr_i[15:4], BSvc);
            svchi_q = svc_addr_i[3];
          end
          4'd3: begin
            core_reset();
            rx_drop();
            pc_q = {16'h8000, svc_addr_i};
            run_q = 1'b1;
          end
          4'd4: begin
            start_q = 1'b1;
            startpc_q = svc_addr_i;
            done_q = 1'b0;
          end
          4'd5: begin
            core_reset();
            rx_drop();
          end
          4'd6: begin
            core_reset();
            rx_drop();
            scrub_q = 1'b1;
            scrubrow_q = 12'd0;
          end
          4'd7: done_q = 1'b0;
          default: ;
        endcase
        moved = 1'b1;
      end

      // credits and arrivals of the ramp
      if (tx_cr_valid_i) begin
        txc_q[tx_cr_color_i] = txc_q[tx_cr_color_i] + 3'd1;
        txok_q[tx_cr_color_i] = 1'b1;
      end

      if (run_q && !fault_q) begin
        mcycle_q = mcycle_q + 64'd1;
        if (p5_v_q || p4_v_q || p3_v_q || p2_v_q || p2_end_q || p1_v_q || p1_end_q)
          lanes_pipe();
        if (l_run_q || eqn_q[0] != 0) lanes_step();
        if (m_run_q[0] || m_run_q[1] || eqn_q[1] != 0 || eqn_q[2] != 0) begin
          mover_step(mturn_q);
          mover_step(!mturn_q);
          mturn_q = !mturn_q;
        end
        scalar_step();
      end

      // an arrival is seen by the units in the next cycle
      if (rx_valid_i) begin
        slot = rxr_q[rx_color_i] + rxn_q[rx_color_i][1:0];
        rxd_q[{rx_color_i, slot}] = rx_data_i;
        case (slot)
          2'd0: rxc0_q[rx_color_i] = rx_ctrl_i;
          2'd1: rxc1_q[rx_color_i] = rx_ctrl_i;
          2'd2: rxc2_q[rx_color_i] = rx_ctrl_i;
          default: rxc3_q[rx_color_i] = rx_ctrl_i;
        endcase
        if (rxn_q[rx_color_i] == 0) rxhc_q[rx_color_i] = rx_ctrl_i;
        rxn_q[rx_color_i] = rxn_q[rx_color_i] + 3'd1;
        rxne_q[rx_color_i] = 1'b1;
      end
      if (crm_q != 0) begin
        h = crm_q & -crm_q;
        hc = {h[23:16] != 0, (h & 24'h00ff00) != 0, (h & 24'hf0f0f0) != 0, (h & 24'hcccccc) != 0,
              (h & 24'haaaaaa) != 0};
        crp_q[hc] = crp_q[hc] - 3'd1;
        crm_q[hc] = crp_q[hc] != 0;
        rx_cr_valid_o <= 1'b1;
        rx_cr_color_o <= hc;
      end
    end

    // inside the process: outside it, its variables would be seen before or after this cycle as the simulator likes
    assert (!rst_ni || !rx_valid_i || rxn_q[rx_color_i] <= 3'(CHAN_DEPTH))
      else $error("receive queue of color %0d overflows", rx_color_i);
    assert (!rst_ni || !tx_cr_valid_i || txc_q[tx_cr_color_i] <= 3'(CHAN_DEPTH))
      else $error("a credit of color %0d too many", tx_cr_color_i);
    assert (!run_q || {1'b0, dqn_q} + {1'b0, dqf_q} <= 5'(DOTQ_DEPTH)) else $error("DOT queue overflows");
    assert (!run_q || (eqn_q[0] <= 2'(ENGINE_DEPTH) && eqn_q[1] <= 2'(ENGINE_DEPTH) && eqn_q[2] <= 2'(ENGINE_DEPTH)))
      else $error("more waiting instructions than slots");

    svc_busy_o <= scrub_q;
    held_o <= !run_q;
    done_o <= done_q;
    done_value_o <= dvalue_q;
    faulted_o <= fault_q;
    fault_cause_o <= fcause_q;
    fault_addr_o <= faddr_q;
    moved_o <= moved;
    mac_o <= macs;
    retire_o <= retire;
    lwait_o <= lwait;
    // who waits for what, in the order of hw/doc/host.md
    wait_cause_o <= swait_q == 2'd1 ? CAUSE_WAIT_RECV : swait_q == 2'd2 ? CAUSE_WAIT_SEND :
                    swait_q == 2'd3 ? CAUSE_WAIT_ENGINE : l_run_q ? CAUSE_WAIT_L :
                    m_run_q[0] ? CAUSE_WAIT_M0 : m_run_q[1] ? CAUSE_WAIT_M1 : tnext_q ? CAUSE_WAIT_TASK : 32'd0;
    wait_color_o <= swait_q == 2'd1 || swait_q == 2'd2 ? {27'd0, swcol_q} : swait_q == 2'd3 ? 32'hffffffff :
                    l_run_q ? {27'd0, l_color_q} :
                    m_run_q[0] ? (m_wcolv_q[0] ? {27'd0, m_wcol_q[0]} : 32'hffffffff) :
                    m_run_q[1] ? (m_wcolv_q[1] ? {27'd0, m_wcol_q[1]} : 32'hffffffff) : 32'hffffffff;
  end
endmodule
