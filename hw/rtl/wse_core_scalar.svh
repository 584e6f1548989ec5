// SPDX-License-Identifier: MIT
// The scalar side: part of wse_core. One instruction a cycle out of two fetched lines of 16 bytes; loads take
// two cycles, multiply two, divide 34. An instruction that has to wait is simply tried again.

  logic [31:0] insn, s1, s2, imm, res, tgt, ea, cv, tcause, tval;
  logic [4:0]  rd, col;
  logic [2:0]  f3;
  logic [6:0]  f7;
  logic        wr, go, trap, take, cw;
  logic [23:0] rm;
  logic [5:0]  best;
  logic [63:0] prod;
  logic        neg;

  task automatic retire_insn(input logic w, input logic [31:0] v);
    if (w && rd != 0) x_q[rd] = v;
    tr_valid_q = 1'b1;
    tr_trap_q = 1'b0;
    tr_pc_q = pc_q;
    tr_insn_q = insn;
    tr_rd_q = w ? rd : 5'd0;
    tr_rdv_q = w && rd != 0 ? v : 32'd0;
    tr_pick_q = 1'b0;
    tr_msize_q = 3'd0;
    retire = 1'b1;
    moved = 1'b1;
  endtask

  task automatic csr_access(input logic [11:0] a, input logic we, input logic [31:0] v);
    cw = 1'b1;                                          // exists
    case (a)
      12'h300: begin
        cv = mstatus_q;
        if (we) mstatus_q = (v & 32'h88) | 32'h1800;
      end
      12'h301: cv = 32'h40001100;
      12'h304, 12'h344: cv = 32'd0;
      12'h305: begin
        cv = mtvec_q;
        if (we) mtvec_q = v & ~32'd3;
      end
      12'h340: begin
        cv = mscratch_q;
        if (we) mscratch_q = v;
      end
      12'h341: begin
        cv = mepc_q;
        if (we) mepc_q = v & ~32'd3;
      end
      12'h342: begin
        cv = mcause_q;
        if (we) mcause_q = v;
      end
      12'h343: begin
        cv = mtval_q;
        if (we) mtval_q = v;
      end
      12'hb00: begin
        cv = mcycle_q[31:0];
        if (we) mcycle_q[31:0] = v;
      end
      12'hb80: begin
        cv = mcycle_q[63:32];
        if (we) mcycle_q[63:32] = v;
      end
      12'hb02: begin
        cv = minstret_q[31:0];
        if (we) minstret_q[31:0] = v;
      end
      12'hb82: begin
        cv = minstret_q[63:32];
        if (we) minstret_q[63:32] = v;
      end
      12'hc00: cv = mcycle_q[31:0];
      12'hc80: cv = mcycle_q[63:32];
      12'hc02: cv = minstret_q[31:0];
      12'hc82: cv = minstret_q[63:32];
      12'hf11, 12'hf12, 12'hf13, 12'hf15: cv = 32'd0;
      12'hf14: cv = row_i * cols_i + {16'd0, col_i};
      12'(CSR_WDATA): begin
        cv = wdata_q;
        if (we) wdata_q = v;
      end
      12'(CSR_WINFO): begin
        cv = winfo_q;
        if (we) winfo_q = v;
      end
      12'(CSR_ID): cv = {row_i, col_i};
      12'(CSR_DIM): cv = {rows_i, cols_i};
      12'(CSR_CFG): cv = SRAM_BYTES / 1024 << 16 | NCOLORS << 8 | Lanes;
      default: begin
        cv = 32'd0;
        cw = 1'b0;
      end
    endcase
    if (we && a[11:10] == 2'b11) cw = 1'b0;             // read-only
  endtask

  // TNEXT: a start, else the lowest ready task; on a tie its flag before wavelets, then the lowest color
  task automatic tnext();
    best = 6'd63;
    col = 5'd0;
    for (int t = 31; t >= 0; t--)
      if (tflag_q[t] && !tblock_q[t]) best = 6'(t);
    take = 1'b0;                                        // by a wavelet
    rm = rxne_q & ~claim_q & ((rxhc_q & cbound_q) | (~rxhc_q & bound_q));
    if (rm != 0 && !start_q)
      for (int c = 23; c >= 0; c--)
        if (rm[c]) begin
          ea = {27'd0, rxhc_q[c] ? cbind_q[c] : bind_q[c]};
          if (!tblock_q[ea[4:0]] && (ea[5:0] < best || (take && ea[5:0] == best))) begin
            best = ea[5:0];
            take = 1'b1;
            col = 5'(c);
          end
        end
    go = start_q || best != 6'd63;
    if (start_q) begin
      start_q = 1'b0;
      wdata_q = SRAM_BASE + ARGS_OFFSET;
      winfo_q = 32'h8000;
      res = {16'h8000, startpc_q};
    end else if (go) begin
      res = tentry_q[best[4:0]];
      if (take) begin
        wdata_q = rxd_q[{col, rxr_q[col]}];
        winfo_q = {23'd0, rxhc_q[col], 3'd0, col};
        rxpop(col);
      end else begin
        wdata_q = 32'd0;
        winfo_q = 32'h4000;
        tflag_q[best[4:0]] = 1'b0;
      end
    end
    tnext_q = !go;
  endtask

  // custom-0; go: it has been done, wr: it writes res
  task automatic custom();
    go = 1'b1;
    case (f3)
      3'(F3_DSR): begin
        if (f7 > 7'd1 || rd >= 5'(NDSR)) trap = 1'b1;
        else begin
          dsr_q[{rd[3:0], f7[0], 1'b0}] = s1;
          dsr_q[{rd[3:0], f7[0], 1'b1}] = s2;
        end
      end
      3'(F3_ISSUE): begin
        if (f7 != 0 || rd != 0) trap = 1'b1;
        else if (s1[21:20] == 2'd3) fault(CAUSE_BAD_DSR, 32'd0, 32'hffffffff, 32'd0);
        else if (eqn_q[s1[21:20]] == 2'(ENGINE_DEPTH)) begin
          go = 1'b0;
          swait_q = 2'd3;
        end else begin
          ea = {25'd0, s1[21:20], eqr_q[s1[21:20]] ^ eqn_q[s1[21:20]][0], 4'd0};
          eq_q[ea[6:0]] = s1;
          eq_q[ea[6:0] + 7'd1] = s2;
          for (int i = 0; i < 4; i++) begin
            eq_q[ea[6:0] + 7'(i + 2)] = dsr_q[{s1[11:8], 2'(i)}];
            eq_q[ea[6:0] + 7'(i + 6)] = dsr_q[{s1[15:12], 2'(i)}];
            eq_q[ea[6:0] + 7'(i + 10)] = dsr_q[{s1[19:16], 2'(i)}];
          end
          eqn_q[s1[21:20]] = eqn_q[s1[21:20]] + 2'd1;
        end
      end
      3'(F3_ROUTE): begin
        if (f7 != 0 || rd != 0 || s1[4:0] >= 5'(NCOLORS) || s1[9:8] != 0) trap = 1'b1;
        else begin
          rt_we_o <= 1'b1;
          rt_color_o <= s1[4:0];
          rt_cfg_o <= s2[7:0];
        end
      end
      3'(F3_TASK): begin
        case (f7)
          7'(TASKOP_BIND), 7'(TASKOP_CBIND): begin
            if (rd != 0 || s1[4:0] >= 5'(NCOLORS)) trap = 1'b1;
            else if (f7 == 7'(TASKOP_BIND)) begin
              bind_q[s1[4:0]] = s2[4:0];
              bound_q[s1[4:0]] = s2[7:0] != 8'hff;
            end else begin
              cbind_q[s1[4:0]] = s2[4:0];
              cbound_q[s1[4:0]] = s2[7:0] != 8'hff;
            end
          end
          7'(TASKOP_ENTRY): if (rd != 0) trap = 1'b1; else tentry_q[s1[4:0]] = s2;
          7'(TASKOP_ACTIVATE): if (rd != 0) trap = 1'b1; else tflag_q[s1[4:0]] = 1'b1;
          7'(TASKOP_BLOCK): if (rd != 0) trap = 1'b1; else tblock_q[s1[4:0]] = 1'b1;
          7'(TASKOP_UNBLOCK): if (rd != 0) trap = 1'b1; else tblock_q[s1[4:0]] = 1'b0;
          default: trap = 1'b1;
        endcase
      end
      3'(F3_TNEXT): begin
        if (f7 != 0 || insn[24:15] != 0) trap = 1'b1;
        else begin
          tnext();
          wr = 1'b1;
        end
      end
      3'(F3_SEND): begin
        if (f7 != 0 || rd != 0 || s2[4:0] >= 5'(NCOLORS)) trap = 1'b1;
        else if (txbusy || !txok_q[s2[4:0]]) begin
          go = 1'b0;
          swait_q = 2'd2;
          swcol_q = s2[4:0];
        end else txput(s2[4:0], s2[8], s1);
      end
      3'(F3_RECV): begin
        if (f7 != 0 || insn[24:20] != 0 || s1[4:0] >= 5'(NCOLORS)) trap = 1'b1;
        else if (!rxne_q[s1[4:0]]) begin
          go = 1'b0;
          swait_q = 2'd1;
          swcol_q = s1[4:0];
        end else begin
          res = rxd_q[{s1[4:0], rxr_q[s1[4:0]]}];
          wdata_q = res;
          winfo_q = {23'd0, rxhc_q[s1[4:0]], 3'd0, s1[4:0]};
          rxpop(s1[4:0]);
          wr = 1'b1;
        end
      end
      default: begin
        if (rd != 0 || f7 > 7'd1) trap = 1'b1;
        else if (f7 == 7'(SYSOP_DONE)) begin
          done_q = 1'b1;
          dvalue_q = s1;
        end else begin
          go = !(s1[0] && (l_run_q || eqn_q[0] != 0)) && !(s1[1] && (m_run_q[0] || eqn_q[1] != 0)) &&
               !(s1[2] && (m_run_q[1] || eqn_q[2] != 0));
          swait_q = go ? 2'd0 : 2'd3;
        end
      end
    endcase
  endtask

  task automatic muldiv_step();
    mcnt_q = mcnt_q - 6'd1;
    moved = 1'b1;
    if (f3[2] && mcnt_q != 0) begin                     // restoring division, one bit a cycle
      mrem_q = {mrem_q[30:0], mquo_q[31]};
      mquo_q = mquo_q << 1;
      if (mrem_q >= mdvs_q) begin
        mrem_q = mrem_q - mdvs_q;
        mquo_q[0] = 1'b1;
      end
    end
    go = mcnt_q == 0;
    mdiv_q = !go;
    if (go) begin
      wr = 1'b1;
      if (f3[2]) begin
        neg = !f3[0] && (f3[1] ? s1[31] : s1[31] != s2[31]);
        res = f3[1] ? mrem_q : mquo_q;
        res = neg ? -res : res;
        if (s2 == 0) res = f3[1] ? s1 : 32'hffffffff;
      end else begin
        prod = {{32{s1[31] && f3 != 3'd3}}, s1} * {{32{s2[31] && !f3[1]}}, s2};
        res = f3 == 0 ? prod[31:0] : prod[63:32];
      end
    end
  endtask

  task automatic scalar_step();
    swait_q = 2'd0;
    tnext_q = 1'b0;
    // a load's data
    if (load_q) begin
      rd = ldrd_q;
      res = ldw_q >> {ldoff_q[1:0], 3'd0};
      res = ldf3_q == 3'd0 ? {{24{res[7]}}, res[7:0]} : ldf3_q == 3'd1 ? {{16{res[15]}}, res[15:0]} :
            ldf3_q == 3'd4 ? {24'd0, res[7:0]} : ldf3_q == 3'd5 ? {16'd0, res[15:0]} : res;
      insn = fb_q[{pc_q[4], pc_q[3:2]}];
      load_q = 1'b0;
      retire_insn(1'b1, res);
      minstret_q = minstret_q + 64'd1;
      pc_q = pc_q + 32'd4;
    end else if (pc_q[31:16] != 16'h8000 || pc_q[15:0] >= 16'(SRAM_BYTES)) begin
      insn = 32'd0;
      tcause = CAUSE_FETCH_ACCESS;
      tval = pc_q;
      do_trap();
    end else if (fval_q[pc_q[4]] && ftag_q[pc_q[4]] == pc_q[15:4]) begin
      insn = fb_q[{pc_q[4], pc_q[3:2]}];
      execute();
    end
    // fetch: the line of pc, else the next one
    if (!bport && !load_q && run_q && !fault_q) begin
      ea = fval_q[pc_q[4]] && ftag_q[pc_q[4]] == pc_q[15:4] ? pc_q + 32'd16 : pc_q;
      if (ea[31:16] == 16'h8000 && ea[15:0] < 16'(SRAM_BYTES) &&
          !(fval_q[ea[4]] && ftag_q[ea[4]] == ea[15:4])) begin
        bread(ea[15:4], BFetch);
        fline_q = ea[4];
        ftag_q[ea[4]] = ea[15:4];
        fval_q[ea[4]] = 1'b0;
      end
    end
  endtask

  task automatic do_trap();
    tr_valid_q = 1'b1;
    tr_trap_q = 1'b1;
    tr_pc_q = pc_q;
    tr_insn_q = insn;
    tr_rd_q = 5'd0;
    tr_rdv_q = tcause;
    tr_pick_q = 1'b0;
    tr_msize_q = 3'd0;
    moved = 1'b1;
    if (mtvec_q == 0) begin
      fault(tcause, tval, 32'hffffffff, 32'd0);
    end else begin
      mepc_q = pc_q;
      mcause_q = tcause;
      mtval_q = tval;
      mstatus_q = 32'h1800 | (mstatus_q[3] ? 32'h80 : 32'd0);
      pc_q = mtvec_q;
    end
  endtask

  task automatic execute();
    rd = insn[11:7];
    f3 = insn[14:12];
    f7 = insn[31:25];
    s1 = x_q[insn[19:15]];
    s2 = x_q[insn[24:20]];
    wr = 1'b0;
    go = 1'b1;
    trap = 1'b0;
    tcause = CAUSE_ILLEGAL;
    tval = insn;
    res = 32'd0;
    tgt = pc_q + 32'd4;
    tr_task_q = 8'd0;
    case (insn[6:0])
      7'h37: begin
        res = insn & 32'hfffff000;
        wr = 1'b1;
      end
      7'h17: begin
        res = pc_q + (insn & 32'hfffff000);
        wr = 1'b1;
      end
      7'h6f, 7'h67: begin
        if (insn[3]) tgt = pc_q + {{12{insn[31]}}, insn[19:12], insn[20], insn[30:21], 1'b0};
        else tgt = (s1 + {{20{insn[31]}}, insn[31:20]}) & ~32'd1;
        res = pc_q + 32'd4;
        wr = 1'b1;
        trap = !insn[3] && f3 != 0;
        if (!trap && tgt[1]) begin
          trap = 1'b1;
          tcause = CAUSE_FETCH_MISALIGNED;
          tval = tgt;
        end
      end
      7'h63: begin
        trap = f3 == 3'd2 || f3 == 3'd3;
        take = (f3[2:1] == 2'd0 ? s1 == s2 : f3[2:1] == 2'd2 ? $signed(s1) < $signed(s2) : s1 < s2) != f3[0];
        if (take) tgt = pc_q + {{20{insn[31]}}, insn[7], insn[30:25], insn[11:8], 1'b0};
        if (!trap && tgt[1]) begin
          trap = 1'b1;
          tcause = CAUSE_FETCH_MISALIGNED;
          tval = tgt;
        end
      end
      7'h03: begin
        ea = s1 + {{20{insn[31]}}, insn[31:20]};
        trap = f3 == 3'd3 || f3 >= 3'd6;
        if (!trap && ((f3[0] && ea[0]) || (f3[1] && ea[1:0] != 0))) begin
          trap = 1'b1;
          tcause = CAUSE_LOAD_MISALIGNED;
          tval = ea;
        end else if (!trap && (ea[31:16] != 16'h8000 || ea[15:0] >= 16'(SRAM_BYTES))) begin
          trap = 1'b1;
          tcause = CAUSE_LOAD_ACCESS;
          tval = ea;
        end
        go = 1'b0;
        if (!trap && !bport) begin
          bread(ea[15:4], BLoad);
          load_q = 1'b1;
          ldrd_q = rd;
          ldf3_q = f3;
          ldoff_q = ea[3:0];
        end
        if (!trap) moved = 1'b1;
      end
      7'h23: begin
        ea = s1 + {{20{insn[31]}}, insn[31:25], insn[11:7]};
        trap = f3 > 3'd2;
        if (!trap && ((f3[0] && ea[0]) || (f3[1] && ea[1:0] != 0))) begin
          trap = 1'b1;
          tcause = CAUSE_STORE_MISALIGNED;
          tval = ea;
        end else if (!trap && (ea[31:16] != 16'h8000 || ea[15:0] >= 16'(SRAM_BYTES))) begin
          trap = 1'b1;
          tcause = CAUSE_STORE_ACCESS;
          tval = ea;
        end
        go = !bport;
        imm = f3 == 3'd0 ? 32'hff : f3 == 3'd1 ? 32'hffff : 32'hffffffff;
        if (!trap && go) bwrite(ea[15:0], s2 << {ea[1:0], 3'd0}, imm << {ea[1:0], 3'd0});
        if (!trap) moved = 1'b1;
      end
      7'h13, 7'h33: begin
        imm = insn[5] ? s2 : {{20{insn[31]}}, insn[31:20]};
        wr = 1'b1;
        if (insn[5] && f7 == 7'd1) begin
          wr = 1'b0;
          if (!mdiv_q) begin
            mdiv_q = 1'b1;
            go = 1'b0;
            mcnt_q = f3[2] ? 6'd33 : 6'd1;
            mrem_q = 32'd0;
            mquo_q = !f3[0] && s1[31] ? -s1 : s1;
            mdvs_q = !f3[0] && s2[31] ? -s2 : s2;
            moved = 1'b1;
          end else muldiv_step();
        end else begin
          trap = insn[5] ? (f7 != 0 && !(f7 == 7'h20 && (f3 == 3'd0 || f3 == 3'd5))) :
                 (f3 == 3'd1 && f7 != 0) || (f3 == 3'd5 && f7 != 0 && f7 != 7'h20);
          case (f3)
            3'd0: res = insn[5] && f7[5] ? s1 - imm : s1 + imm;
            3'd1: res = s1 << imm[4:0];
            3'd2: res = {31'd0, $signed(s1) < $signed(imm)};
            3'd3: res = {31'd0, s1 < imm};
            3'd4: res = s1 ^ imm;
            3'd5: res = (s1 >> imm[4:0]) | (f7[5] && s1[31] ? ~(32'hffffffff >> imm[4:0]) : 32'd0);
            3'd6: res = s1 | imm;
            default: res = s1 & imm;
          endcase
        end
      end
      7'h0f: begin
        trap = f3 > 3'd1;
        if (f3 == 3'd1) fval_q = 2'd0;
      end
      7'h73: begin
        if (f3 == 0) begin
          if (insn == 32'h00000073) begin
            trap = 1'b1;
            tcause = CAUSE_ECALL;
            tval = 32'd0;
          end else if (insn == 32'h00100073) begin
            trap = 1'b1;
            tcause = CAUSE_BREAKPOINT;
            tval = pc_q;
          end else if (insn == 32'h30200073) begin
            tgt = mepc_q;
            mstatus_q = 32'h1880 | (mstatus_q[7] ? 32'h8 : 32'd0);
          end else if (insn != 32'h10500073) trap = 1'b1;
        end else if (f3 == 3'd4) trap = 1'b1;
        else begin
          imm = f3[2] ? {27'd0, insn[19:15]} : s1;
          take = f3[1:0] == 2'd1 || insn[19:15] != 0;   // writes
          csr_access(insn[31:20], 1'b0, 32'd0);
          res = cv;
          trap = !cw || (take && insn[31:30] == 2'b11);
          wr = 1'b1;
        end
      end
      7'h0b: custom();
      default: trap = 1'b1;
    endcase
    if (trap) begin
      do_trap();
    end else if (go && !fault_q) begin
      retire_insn(wr, res);
      // a write to minstret, either half, takes the place of this instruction's own increment
      if (!(insn[6:0] == 7'h73 && f3 != 0 && take && (insn[31:20] == 12'hb02 || insn[31:20] == 12'hb82)))
        minstret_q = minstret_q + 64'd1;
      if (insn[6:0] == 7'h73 && f3 != 0 && take)
        csr_access(insn[31:20], 1'b1, f3[1:0] == 2'd1 ? imm : f3[1:0] == 2'd2 ? res | imm : res & ~imm);
      if (insn[6:0] == 7'h23) begin
        tr_maddr_q = ea;
        tr_mdata_q = f3 == 3'd0 ? {24'd0, s2[7:0]} : f3 == 3'd1 ? {16'd0, s2[15:0]} : s2;
        tr_msize_q = f3 == 3'd0 ? 3'd1 : f3 == 3'd1 ? 3'd2 : 3'd4;
      end
      if (insn[6:0] == 7'h0b && f3 == 3'(F3_TNEXT)) begin
        tr_pick_q = 1'b1;
        tr_task_q = winfo_q[15] ? 8'hff : {2'b00, best};
      end
      pc_q = tgt;
    end
  endtask
