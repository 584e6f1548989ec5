// SPDX-License-Identifier: MIT
// The scalar side: RV32IM_Zicsr, machine mode, and custom-0. One instruction a cycle out of eight
// cached rows of 16 bytes (direct mapped, with the next row fetched ahead); loads take three
// cycles, divisions 34, a taken branch that leaves the cached rows three more.
//
// Retirement trace: state changes and tr_* appear with the same edge.

module wse_rv32 (
  input  logic        clk_i,
  input  logic        clr_i,            // held
  input  logic        init_i,           // after BOOT: x[init_idx_i] becomes 0, pc becomes boot_pc_i
  input  logic [4:0]  init_idx_i,
  input  logic [31:0] boot_pc_i,
  input  logic        stop_i,           // faulted, or held by a debugger: nothing begins
  input  logic        flush_i,          // the service plane wrote: cached rows may be stale
  input  logic [15:0] row_i,
  input  logic [15:0] col_i,
  input  logic [15:0] rows_i,
  input  logic [15:0] cols_i,

  output logic        if_req_o,         // until if_gnt_i; the row one cycle later
  output logic [11:0] if_row_o,
  input  logic        if_gnt_i,
  output logic        ls_req_o,         // the same for loads and stores
  output logic [15:0] ls_we_o,
  output logic [11:0] ls_row_o,
  output logic [31:0] ls_wd_o,
  input  logic        ls_gnt_i,
  input  logic [31:0] rd0_i,
  input  logic [31:0] rd1_i,
  input  logic [31:0] rd2_i,
  input  logic [31:0] rd3_i,

  output logic        iq_valid_o,       // to wse_issue
  output logic [1:0]  iq_op_o,
  output logic [3:0]  iq_idx_o,
  output logic        tk_valid_o,       // to wse_tasks
  output logic [2:0]  tk_op_o,
  output logic [31:0] cmd_a_o,
  output logic [31:0] cmd_b_o,
  input  logic [2:0]  iq_full_i,
  input  logic [2:0]  eng_idle_i,
  output logic        tnext_o,
  output logic        recv_o,
  output logic [4:0]  recv_color_o,
  input  logic        ans_i,
  input  logic [7:0]  ans_task_i,
  input  logic [31:0] ans_entry_i,
  input  logic [31:0] ans_wdata_i,
  input  logic [31:0] ans_winfo_i,

  output logic        rt_we_o,
  output logic [4:0]  rt_color_o,
  output logic [7:0]  rt_cfg_o,
  output logic        tx_valid_o,       // SEND, until tx_ready_i
  output logic        tx_ctrl_o,
  output logic [4:0]  tx_color_o,
  output logic [31:0] tx_data_o,
  input  logic        tx_ready_i,

  output logic        done_o,           // one cycle: DONE
  output logic [31:0] done_value_o,
  output logic        fault_o,          // one cycle
  output logic [31:0] fault_cause_o,
  output logic [31:0] fault_addr_o,
  output logic [31:0] pc_o,
  output logic        retire_o,
  output logic [2:0]  wait_o            // 0 no, 1 TNEXT, 2 RECV, 3 SEND, 4 engine
);

  // ---- architectural state: the registers are a memory, one write a cycle behind two reads ----
  (* nomem2reg *) logic [31:0] x [32] /*verilator public_flat_rw*/;
  logic [31:0] pc /*verilator public_flat_rw*/;
  logic [31:0] mstatus /*verilator public_flat_rw*/;
  logic [31:0] mtvec /*verilator public_flat_rw*/;
  logic [31:0] mepc /*verilator public_flat_rw*/;
  logic [31:0] mcause /*verilator public_flat_rw*/;
  logic [31:0] mtval /*verilator public_flat_rw*/;
  logic [31:0] mscratch /*verilator public_flat_rw*/;
  logic [63:0] minstret /*verilator public_flat_rw*/;
  logic [63:0] mcycle /*verilator public_flat_rw*/;
  logic [31:0] wdata /*verilator public_flat_rw*/;
  logic [31:0] winfo /*verilator public_flat_rw*/;

  // ---- retirement trace ----
  logic        tr_valid /*verilator public_flat_rd*/;
  logic [31:0] tr_pc /*verilator public_flat_rd*/;
  logic [31:0] tr_insn /*verilator public_flat_rd*/;
  logic [4:0]  tr_rd /*verilator public_flat_rd*/;
  logic [31:0] tr_value /*verilator public_flat_rd*/;
  logic [31:0] tr_addr /*verilator public_flat_rd*/;
  logic [31:0] tr_data /*verilator public_flat_rd*/;
  logic [2:0]  tr_size /*verilator public_flat_rd*/;     // bytes stored, 0: none
  logic        tr_trap /*verilator public_flat_rd*/;     // trapped: cause in tr_value
  logic        tr_pick /*verilator public_flat_rd*/;     // TNEXT: tr_task, tr_wdata, tr_winfo
  logic [7:0]  tr_task /*verilator public_flat_rd*/;
  logic [31:0] tr_wdata /*verilator public_flat_rd*/;    // TNEXT and RECV
  logic [31:0] tr_winfo /*verilator public_flat_rd*/;

  // ---- cached rows ----
  logic [31:0] ib [32];
  logic [8:0]  ib_tag [8];                // address bits 15:7
  logic [7:0]  ib_ok /*verilator public_flat_rw*/;       // poke into SRAM: set to 0
  logic        f_out;                     // request out
  logic        f_in /*verilator public_flat_rw*/;        // row there; poke into SRAM: set to 0
  logic [11:0] f_row, f_in_row;
  (* scratch *) logic [11:0] f_want;

  typedef enum logic [2:0] {StRun, StLoad, StDiv, StTask, StSend, StHalt} state_e;
  state_e      state;
  // a debugger changed the state: begin again at pc
  logic        redo /*verilator public_flat_rw*/;
  logic        st_req;                    // a load or store is under way
  logic        l_in, l_sent;              // load: data there
  logic [3:0]  l_at;

  // ---- the instruction ----
  logic [31:0] insn, res, npc;
  (* scratch *) logic [31:0] a, b, imm, target, tval, cause, word, old, val;
  logic [4:0]  rd;
  (* scratch *) logic [4:0] rs1, rs2;
  (* scratch *) logic [6:0] opc, f7;
  logic [2:0]  f3;
  logic        withdrawn;
  (* scratch *) logic lands, wr, trap, jump, retire, count_minstret, count_mcycle, taken, ok,
      wait_now, in_sram;
  (* scratch *) logic [63:0] p64;
  logic [31:0] dq, dr, dd;                // division
  logic        dneg_q, dneg_r;
  logic [5:0]  dn;
  (* scratch *) logic [4:0] csr_rs1;

  function automatic logic has(input logic [11:0] r);
    has = ib_ok[r[2:0]] && ib_tag[r[2:0]] == r[11:3];
  endfunction

  task automatic csr_read;
    ok = 1'b1;
    case (insn[31:20])
      12'h300: old = mstatus | 32'h1800;
      12'h301: old = 32'h40001100;
      12'h304, 12'h344, 12'hf11, 12'hf12, 12'hf13: old = '0;
      12'h305: old = mtvec;
      12'h340: old = mscratch;
      12'h341: old = mepc;
      12'h342: old = mcause;
      12'h343: old = mtval;
      12'hf14: old = 32'(row_i) * 32'(cols_i) + 32'(col_i);
      12'hb00, 12'hc00: old = mcycle[31:0];
      12'hb80, 12'hc80: old = mcycle[63:32];
      12'hb02, 12'hc02: old = minstret[31:0];
      12'hb82, 12'hc82: old = minstret[63:32];
      wse_regs_pkg::CSR_WDATA[11:0]: old = wdata;
      wse_regs_pkg::CSR_WINFO[11:0]: old = winfo;
      wse_regs_pkg::CSR_ID[11:0]: old = {row_i, col_i};
      wse_regs_pkg::CSR_DIM[11:0]: old = {rows_i, cols_i};
      wse_regs_pkg::CSR_CFG[11:0]: old =
          {16'(wse_regs_pkg::SRAM_BYTES / 1024), wse_regs_pkg::NCOLORS[7:0],
                                           wse_regs_pkg::LANES[7:0]};
      default: begin
        old = '0;
        ok = 1'b0;
      end
    endcase
  endtask
  task automatic csr_write;
    case (insn[31:20])
      12'h300: mstatus = val & 32'h88;
      12'h305: mtvec = val & ~32'd3;
      12'h340: mscratch = val;
      12'h341: mepc = val & ~32'd3;
      12'h342: mcause = val;
      12'h343: mtval = val;
      12'hb00: begin mcycle[31:0] = val; count_mcycle = 1'b0; end
      12'hb80: begin mcycle[63:32] = val; count_mcycle = 1'b0; end
      12'hb02: begin minstret[31:0] = val; count_minstret = 1'b0; end
      12'hb82: begin minstret[63:32] = val; count_minstret = 1'b0; end
      wse_regs_pkg::CSR_WDATA[11:0]: wdata = val;
      wse_regs_pkg::CSR_WINFO[11:0]: winfo = val;
      default: ;
    endcase
  endtask

  // custom-0: waits (wait_now), traps or retires
  task automatic custom;
    ok = 1'b1;
    if (rd != '0 && f3 != wse_regs_pkg::F3_DSR[2:0] && f3 != wse_regs_pkg::F3_TNEXT[2:0] &&
        f3 != wse_regs_pkg::F3_RECV[2:0]) begin
      ok = 1'b0;
    end else if (st_req) begin
      wait_now = 1'b1;                    // the store before it must be in SRAM
    end else if (f3 == wse_regs_pkg::F3_DSR[2:0]) begin
      ok = f7 <= 7'd1 && !rd[4];
      iq_valid_o <= ok;
      iq_op_o <= f7[1:0];
      iq_idx_o <= rd[3:0];
    end else if (f3 == wse_regs_pkg::F3_ISSUE[2:0]) begin
      ok = f7 == '0;
      if (ok && a[21:20] == 2'd3) begin
        fault_o <= 1'b1;
        fault_cause_o <= wse_regs_pkg::CAUSE_BAD_DSR;
        fault_addr_o <= '0;
        state = StHalt;                   // the ISSUE itself retires
      end else if (ok && iq_full_i[a[21:20]]) begin
        wait_now = 1'b1;
        wait_o <= 3'd4;
      end else begin
        iq_valid_o <= ok;
        iq_op_o <= 2'd2;
      end
    end else if (f3 == wse_regs_pkg::F3_ROUTE[2:0]) begin
      ok = f7 == '0 && a[4:0] < wse_regs_pkg::NCOLORS[4:0] && a[9:8] == '0;
      rt_we_o <= ok;
      rt_color_o <= a[4:0];
      rt_cfg_o <= b[7:0];
    end else if (f3 == wse_regs_pkg::F3_TASK[2:0]) begin
      ok = f7 <= wse_regs_pkg::TASKOP_UNBLOCK[6:0] &&
           (f7 > wse_regs_pkg::TASKOP_CBIND[6:0] || a[4:0] < wse_regs_pkg::NCOLORS[4:0]);
      tk_valid_o <= ok;
      tk_op_o <= f7[2:0];
    end else if (f3 == wse_regs_pkg::F3_TNEXT[2:0]) begin
      ok = f7 == '0 && rs1 == '0 && rs2 == '0;
      if (ok) begin
        tnext_o <= 1'b1;
        wait_now = 1'b1;
        state = StTask;
      end
    end else if (f3 == wse_regs_pkg::F3_SEND[2:0]) begin
      ok = f7 == '0 && b[4:0] < wse_regs_pkg::NCOLORS[4:0];
      if (ok) begin
        tx_valid_o <= 1'b1;
        tx_ctrl_o <= b[8];
        tx_color_o <= b[4:0];
        tx_data_o <= a;
        wait_now = 1'b1;
        state = StSend;
      end
    end else if (f3 == wse_regs_pkg::F3_RECV[2:0]) begin
      ok = f7 == '0 && rs2 == '0 && a[4:0] < wse_regs_pkg::NCOLORS[4:0];
      if (ok) begin
        recv_o <= 1'b1;
        recv_color_o <= a[4:0];
        wait_now = 1'b1;
        state = StTask;
      end
    end else begin
      ok = f7 <= wse_regs_pkg::SYSOP_WAIT[6:0];
      if (f7 == wse_regs_pkg::SYSOP_DONE[6:0]) begin
        done_o <= 1'b1;
        done_value_o <= a;
      end else if (ok && (a[2:0] & ~eng_idle_i) != '0) begin
        wait_now = 1'b1;
        wait_o <= 3'd4;
      end
    end
    cmd_a_o <= a;
    cmd_b_o <= b;
    if (!ok) begin
      trap = 1'b1;
      cause = wse_regs_pkg::CAUSE_ILLEGAL;
      tval = insn;
    end
  endtask

  // one step of a restoring division: remainder and quotient shift left together
  task automatic divide;
    {dr, dq} = {dr[30:0], dq, 1'b0};
    if (dr >= dd || taken) begin
      dr = dr - dd;
      dq[0] = 1'b1;
    end
  endtask

  // TNEXT or RECV waits, and nothing is on its way: all but mcycle stands
  logic        asleep;
  (* scratch *) logic waits;
  always @(posedge clk_i) if (asleep && !(ans_i || stop_i || redo || clr_i || flush_i)) begin
    mcycle = mcycle + 64'd1;
  end else begin
    waits = state == StTask && !clr_i && !f_in && !f_out && !st_req && !l_in;
    tr_valid = 1'b0;
    retire_o <= 1'b0;
    iq_valid_o <= 1'b0;
    tk_valid_o <= 1'b0;
    rt_we_o <= 1'b0;
    done_o <= 1'b0;
    fault_o <= 1'b0;
    // the event that a SEND, TNEXT or RECV waits for happens at this edge: held or not, it retires
    lands = ((state == StSend && tx_ready_i) || (state == StTask && ans_i)) && npc == pc + 4;
    if (clr_i) begin
      if (init_i && init_idx_i == '0) redo = 1'b0;
      if (init_i && !redo) begin
        x[init_idx_i] = '0;
        pc = boot_pc_i;
        pc_o <= boot_pc_i;
        mstatus = '0;
        mtvec = '0;
        mepc = '0;
        mcause = '0;
        mtval = '0;
        mscratch = '0;
        minstret = '0;
        mcycle = '0;
        wdata = '0;
        winfo = '0;
      end
      ib_ok = '0;
      f_out = 1'b0;
      f_in = 1'b0;
      st_req = 1'b0;
      l_in = 1'b0;
      state = StRun;
      if_req_o <= 1'b0;
      ls_req_o <= 1'b0;
      tnext_o <= 1'b0;
      recv_o <= 1'b0;
      tx_valid_o <= 1'b0;
      wait_o <= '0;
    end else if ((stop_i || redo) && !lands) begin
      // an operation in progress is dropped and begins again after a debugger's hold; a store has
      // retired and stays
      if ((st_req && ls_gnt_i) || state == StLoad) st_req = 1'b0;
      ls_req_o <= st_req;
      f_out = 1'b0;
      f_in = 1'b0;
      ib_ok = '0;
      l_in = 1'b0;
      // the answer of the task unit may still come two cycles after a request was withdrawn
      if (state == StTask && (tnext_o || recv_o)) begin
        withdrawn = 1'b0;
      end else if (state == StTask && !withdrawn) begin
        withdrawn = 1'b1;
      end else if (redo) begin
        state = StRun;
        redo = stop_i;
      end
      pc_o <= pc;
      if_req_o <= 1'b0;
      tnext_o <= 1'b0;
      recv_o <= 1'b0;
      tx_valid_o <= 1'b0;
      wait_o <= '0;
    end else begin
      retire = 1'b0;
      trap = 1'b0;
      wr = 1'b0;
      wait_now = 1'b0;
      count_minstret = 1'b1;
      count_mcycle = 1'b1;
      wait_o <= '0;

      // ---- rows and data that arrive ----
      if (f_in) begin
        f_in = 1'b0;
        ib[{f_in_row[2:0], 2'd0}] = rd0_i;
        ib[{f_in_row[2:0], 2'd1}] = rd1_i;
        ib[{f_in_row[2:0], 2'd2}] = rd2_i;
        ib[{f_in_row[2:0], 2'd3}] = rd3_i;
        ib_tag[f_in_row[2:0]] = f_in_row[11:3];
        ib_ok[f_in_row[2:0]] = 1'b1;
      end
      if (f_out && if_gnt_i) begin
        f_out = 1'b0;
        f_in = 1'b1;
        f_in_row = f_row;
        if_req_o <= 1'b0;
      end
      if (flush_i) begin
        ib_ok = '0;
        f_in = 1'b0;
      end
      if (st_req && ls_gnt_i) begin
        st_req = 1'b0;
        ls_req_o <= 1'b0;
        l_in = state == StLoad;
      end else if (l_in) begin
        l_in = 1'b0;
        l_sent = 1'b1;
      end

      if (state == StRun) begin
        in_sram = pc >= wse_regs_pkg::SRAM_BASE &&
            pc < wse_regs_pkg::SRAM_BASE + wse_regs_pkg::SRAM_BYTES;
        if (!in_sram) begin
          if (!st_req) begin
            trap = 1'b1;
            insn = '0;
            cause = wse_regs_pkg::CAUSE_FETCH_ACCESS;
            tval = pc;
          end
        end else if (pc[1:0] != '0) begin
          trap = 1'b1;
          insn = '0;
          cause = wse_regs_pkg::CAUSE_FETCH_MISALIGNED;
          tval = pc;
        end else if (has(pc[15:4])) begin
          // ---- decode ----
          insn = ib[{pc[6:4], pc[3:2]}];
          opc = insn[6:0];
          rd = insn[11:7];
          f3 = insn[14:12];
          rs1 = insn[19:15];
          rs2 = insn[24:20];
          f7 = insn[31:25];
          a = x[rs1];
          b = x[rs2];
          npc = pc + 4;
          jump = 1'b0;
          res = '0;
          cause = wse_regs_pkg::CAUSE_ILLEGAL;
          tval = insn;
          target = '0;
          case (opc)
            7'h37: begin                                       // lui
              res = insn & 32'hfffff000;
              wr = 1'b1;
            end
            7'h17: begin                                       // auipc
              res = pc + (insn & 32'hfffff000);
              wr = 1'b1;
            end
            7'h6f: begin                                       // jal
              target = pc + {{12{insn[31]}}, insn[19:12], insn[20], insn[30:21], 1'b0};
              res = npc;
              wr = 1'b1;
              jump = 1'b1;
            end
            7'h67: begin                                       // jalr
              target = (a + {{20{insn[31]}}, insn[31:20]}) & ~32'd1;
              res = npc;
              wr = 1'b1;
              jump = 1'b1;
              trap = f3 != '0;
            end
            7'h63: begin                                       // branches
              taken = f3[2] ? (f3[1] ? a < b : $signed(a) < $signed(b)) : a == b;
              jump = taken ^ f3[0];
              trap = f3[2:1] == 2'd1;
              target = pc + {{20{insn[31]}}, insn[7], insn[30:25], insn[11:8], 1'b0};
            end
            7'h03, 7'h23: begin                                // loads and stores
              imm = opc[5] ? {{20{insn[31]}}, f7, rd} : {{20{insn[31]}}, insn[31:20]};
              target = a + imm;
              trap = opc[5] ? f3 > 3'd2 : f3 == 3'd3 || f3 > 3'd5;
              if (!trap) begin
                tval = target;
                if ((f3[1:0] == 2'd1 && target[0]) || (f3[1:0] == 2'd2 && target[1:0] != '0)) begin
                  trap = 1'b1;
                  cause = opc[5] ? wse_regs_pkg::CAUSE_STORE_MISALIGNED :
                      wse_regs_pkg::CAUSE_LOAD_MISALIGNED;
                end else if (target - wse_regs_pkg::SRAM_BASE >= wse_regs_pkg::SRAM_BYTES) begin
                  trap = 1'b1;
                  cause = opc[5] ? wse_regs_pkg::CAUSE_STORE_ACCESS :
                      wse_regs_pkg::CAUSE_LOAD_ACCESS;
                end else if (st_req) begin
                  wait_now = 1'b1;
                end else begin
                  st_req = 1'b1;
                  ls_req_o <= 1'b1;
                  ls_row_o <= target[15:4];
                  ls_we_o <= !opc[5] ? '0 : (f3[1] ? 16'hf : f3[0] ? 16'h3 : 16'h1) << target[3:0];
                  ls_wd_o <= f3[1] ? b : f3[0] ? {2{b[15:0]}} : {4{b[7:0]}};
                  if (!opc[5]) begin
                    state = StLoad;
                    l_at = target[3:0];
                    l_sent = 1'b0;
                    wait_now = 1'b1;
                  end
                end
              end
            end
            7'h13, 7'h33: begin                                // register and immediate operations
              if (!opc[5]) b = {{20{insn[31]}}, insn[31:20]};
              wr = 1'b1;
              if (opc[5] && f7 == 7'd1) begin
                if (!f3[2]) begin
                  p64 = 64'($signed({a[31] & (f3 != 3'd3), a})) * 64'($signed({b[31] & ~f3[1], b}));
                  res = f3 == '0 ? p64[31:0] : p64[63:32];
                end else begin
                  wr = 1'b0;
                  wait_now = 1'b1;
                  state = StDiv;
                  dneg_r = !f3[0] & a[31];
                  dneg_q = !f3[0] & (a[31] ^ b[31]) & (b != '0);
                  dq = dneg_r ? 32'd0 - a : a;
                  dd = !f3[0] & b[31] ? 32'd0 - b : b;
                  dr = '0;
                  dn = '0;
                end
              end else begin
                trap = opc[5] ? (f7 & ~7'h20) != '0 || (f7[5] && f3 != 3'd0 && f3 != 3'd5) :
                       (f3 == 3'd1 && f7 != '0) || (f3 == 3'd5 && (f7 & ~7'h20) != '0);
                case (f3)
                  3'd0: res = opc[5] && f7[5] ? a - b : a + b;
                  3'd1: res = a << b[4:0];
                  3'd2: res = 32'($signed(a) < $signed(b));
                  3'd3: res = 32'(a < b);
                  3'd4: res = a ^ b;
                  3'd5: res = f7[5] ? $unsigned($signed(a) >>> b[4:0]) : a >> b[4:0];
                  3'd6: res = a | b;
                  default: res = a & b;
                endcase
              end
            end
            7'h0f: begin                                       // fence, fence.i
              trap = f3 > 3'd1;
              if (!trap && f3[0]) begin
                if (st_req || f_out || f_in) wait_now = 1'b1;
                else ib_ok = '0;
              end
            end
            7'h73: begin
              if (f3 == '0) begin
                if (insn == 32'h00000073) begin
                  trap = 1'b1;
                  cause = wse_regs_pkg::CAUSE_ECALL;
                  tval = '0;
                end else if (insn == 32'h00100073) begin
                  trap = 1'b1;
                  cause = wse_regs_pkg::CAUSE_BREAKPOINT;
                  tval = pc;
                end else if (insn == 32'h30200073) begin       // mret
                  mstatus = {24'd0, 1'b1, 3'd0, mstatus[7], 3'd0};
                  jump = 1'b1;
                  target = mepc;
                end else if (insn != 32'h10500073) begin       // wfi
                  trap = 1'b1;
                end
              end else begin
                csr_rs1 = rs1;
                csr_read;
                trap = !ok || f3 == 3'd4 ||
                    ((f3[1:0] == 2'd1 || csr_rs1 != '0) && insn[31:30] == 2'd3);
                res = old;
                wr = 1'b1;
                if (!trap && (f3[1:0] == 2'd1 || csr_rs1 != '0)) begin
                  val = f3[2] ? 32'(csr_rs1) : a;
                  val = f3[1:0] == 2'd1 ? val : f3[1:0] == 2'd2 ? old | val : old & ~val;
                  csr_write;
                end
              end
            end
            7'h0b: custom;
            default: trap = 1'b1;
          endcase
          if (jump && !trap) begin
            if (target[1:0] != '0) begin
              trap = 1'b1;
              cause = wse_regs_pkg::CAUSE_FETCH_MISALIGNED;
              tval = target;
            end
            npc = target;
          end
          retire = !trap && !wait_now;
          tr_size = opc == 7'h23 ? 3'd1 << f3[1:0] : '0;
          tr_addr = target;
          tr_data = f3[1] ? b : f3[0] ? b & 32'hffff : b & 32'hff;
          tr_pick = 1'b0;
        end
        if (trap) begin
          wr = 1'b0;
          wait_now = 1'b0;
        end
      end else if (state == StLoad) begin
        if (l_sent) begin
          word = l_at[3] ? (l_at[2] ? rd3_i : rd2_i) : (l_at[2] ? rd1_i : rd0_i);
          word = word >> {l_at[1:0], 3'd0};
          res = f3 == 3'd0 ? {{24{word[7]}}, word[7:0]} :
              f3 == 3'd1 ? {{16{word[15]}}, word[15:0]} :
                f3 == 3'd4 ? word & 32'hff : f3 == 3'd5 ? word & 32'hffff : word;
          l_sent = 1'b0;
          wr = 1'b1;
          retire = 1'b1;
          state = StRun;
        end
      end else if (state == StDiv) begin
        if (dn == 6'd32) begin
          res = f3[1] ? (dneg_r ? 32'd0 - dr : dr) : (dneg_q ? 32'd0 - dq : dq);
          wr = 1'b1;
          retire = 1'b1;
          state = StRun;
        end else begin
          taken = dr[31];
          divide;
          dn = dn + 6'd1;
        end
      end else if (state == StTask) begin
        wait_o <= recv_o ? 3'd2 : 3'd1;
        if (ans_i) begin
          res = f3 == wse_regs_pkg::F3_RECV[2:0] ? ans_wdata_i : ans_entry_i;
          wdata = ans_wdata_i;
          winfo = ans_winfo_i;
          tr_pick = f3 == wse_regs_pkg::F3_TNEXT[2:0];
          tr_task = ans_task_i;
          tr_wdata = ans_wdata_i;
          tr_winfo = ans_winfo_i;
          tnext_o <= 1'b0;
          recv_o <= 1'b0;
          wait_o <= '0;
          wr = 1'b1;
          retire = 1'b1;
          state = StRun;
        end
      end else if (state == StSend) begin
        wait_o <= 3'd3;
        if (tx_ready_i) begin
          tx_valid_o <= 1'b0;
          wait_o <= '0;
          retire = 1'b1;
          state = StRun;
        end
      end

      // ---- retire or trap ----
      if (count_mcycle) mcycle = mcycle + 64'd1;
      if (retire) begin
        tr_valid = 1'b1;
        tr_trap = 1'b0;
        tr_pc = pc;
        tr_insn = insn;
        tr_rd = wr ? rd : '0;
        tr_value = res;
        retire_o <= 1'b1;
        if (wr && rd != '0) x[rd] = res;
        if (count_minstret) minstret = minstret + 64'd1;
        pc = npc;
        pc_o <= npc;
      end else if (trap) begin
        tr_valid = 1'b1;
        tr_trap = 1'b1;
        tr_pc = pc;
        tr_insn = insn;
        tr_rd = '0;
        tr_value = cause;
        tr_size = '0;
        tr_pick = 1'b0;
        if (mtvec == '0) begin
          fault_o <= 1'b1;
          fault_cause_o <= cause;
          fault_addr_o <= tval;
          state = StHalt;
        end else begin
          mepc = pc & ~32'd3;
          mcause = cause;
          mtval = tval;
          mstatus = {24'd0, mstatus[3], 7'd0};
          pc = mtvec;
          pc_o <= mtvec;
        end
      end

      // ---- fetch: the row of pc, else the next one ----
      if (!f_out && (state == StRun || state == StLoad || state == StDiv)) begin
        f_want = has(pc[15:4]) || (f_in && f_in_row == pc[15:4]) ? pc[15:4] + 12'd1 : pc[15:4];
        if (!has(f_want) && !(f_in && f_in_row == f_want) &&
            32'(f_want) < wse_regs_pkg::SRAM_BYTES / 16) begin
          f_out = 1'b1;
          f_row = f_want;
          if_req_o <= 1'b1;
          if_row_o <= f_want;
        end
      end
    end
    asleep = waits && state == StTask && !stop_i && !redo;
  end
endmodule
