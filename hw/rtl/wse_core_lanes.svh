// SPDX-License-Identifier: MIT
// The lane engine: part of wse_core. Streams (AXPY, DOT) go wavelet -> w (decoded) -> c (its groups are
// issued) -> p1 (x read) -> p2 (product; the sum is made there, so an accumulator is read and written in one
// stage and nothing waits for its own sum) -> for DOT p3 ... p5, the lane tree. Vector operations run one
// group of 8 at a time, in order.

  // lane l of the 16 bytes in ard_q as binary32
  function automatic logic [31:0] ax(input int l);
    ax = (l & 1) != 0 ? ard_q[l >> 1] & 32'hffff0000 : ard_q[l >> 1] << 16;
  endfunction

  // these loops run over local arrays: a simulator's compiler sees that nothing overlaps and makes vector code
  task automatic products_axpy();
    logic [31:0] x [0:7];
    logic [31:0] y [0:7];
    logic [31:0] w [0:3];
    for (int l = 0; l < 4; l++) w[l] = ard_q[l];
    for (int i = 0; i < 4; i++) begin
      x[2*i] = w[i] << 16;
      x[2*i+1] = w[i] & 32'hffff0000;
    end
    for (int l = 0; l < 8; l++) y[l] = fp_mul_bf16(p1_value_q, x[l]);
    for (int l = 0; l < 8; l++) p2_p_q[l] = y[l];
  endtask

  task automatic products_dot();
    logic [31:0] a [0:7];
    logic [31:0] x [0:7];
    logic [31:0] y [0:7];
    logic [31:0] w [0:3];
    logic [31:0] keep;
    keep = accz_q[p1_row_q] ? 32'd0 : 32'hffffffff;
    for (int l = 0; l < 8; l++) a[l] = acc_q[p1_row_q][l];
    for (int l = 0; l < 4; l++) w[l] = ard_q[l];
    for (int i = 0; i < 4; i++) begin
      x[2*i] = w[i] << 16;
      x[2*i+1] = w[i] & 32'hffff0000;
    end
    for (int l = 0; l < 8; l++) y[l] = fp_mul_half(a[l] & keep, x[l]);
    for (int l = 0; l < 8; l++) p2_p_q[l] = y[l];
  endtask

  task automatic sums_axpy();
    logic [31:0] a [0:7];
    logic [31:0] y [0:7];
    logic [31:0] keep;
    keep = accz_q[p2_row_q] ? 32'd0 : 32'hffffffff;
    for (int l = 0; l < 8; l++) a[l] = acc_q[p2_row_q][l];
    for (int l = 0; l < 8; l++) y[l] = fp_add(a[l] & keep, p2_p_q[l]);
    for (int l = 0; l < 8; l++) acc_q[p2_row_q][l] = y[l];
    accz_q[p2_row_q] = 1'b0;
  endtask

  task automatic tree_pairs();
    logic [31:0] a [0:3];
    logic [31:0] b [0:3];
    logic [31:0] y [0:3];
    for (int i = 0; i < 4; i++) a[i] = p3_q[2*i];
    for (int i = 0; i < 4; i++) b[i] = p3_q[2*i+1];
    for (int i = 0; i < 4; i++) y[i] = fp_add(a[i], b[i]);
    for (int i = 0; i < 4; i++) p4_q[i] = y[i];
  endtask

  task automatic sums_dot();
    for (int l = 0; l < 8; l++) dpart_q[l] = fp_add(p2_first_q ? 32'd0 : dpart_q[l], p2_p_q[l]);
  endtask

  task automatic dotq_push(input logic [31:0] v, input logic e);
    dq_q[dqr_q + dqn_q[2:0]] = v;
    dqe_q[dqr_q + dqn_q[2:0]] = e;
    dqn_q = dqn_q + 4'd1;
    dqf_q = dqf_q - 4'd1;
  endtask

  task automatic lanes_complete();
    complete(l_tcw_q);
    l_run_q = 1'b0;
    claim_q = l_stream_q ? claim_q & ~(24'd1 << l_color_q) : claim_q;
  endtask

  task automatic lanes_pipe();
    moved = 1'b1;
    if (p5_v_q) begin
      dotq_push(fp_add(p5_q[0], p5_q[1]), p5_end_q);
      if (p5_end_q) lanes_complete();
    end
    p5_v_q = p4_v_q;
    p5_end_q = p4_end_q;
    if (p4_v_q) begin
      p5_q[0] = fp_add(p4_q[0], p4_q[1]);
      p5_q[1] = fp_add(p4_q[2], p4_q[3]);
    end
    p4_v_q = p3_v_q;
    p4_end_q = p3_end_q;
    if (p3_v_q) tree_pairs();
    p3_v_q = p2_dot_q && ((p2_v_q && p2_last_q) || p2_end_q);
    p3_end_q = p2_end_q;
    if (p2_v_q) begin
      if (p2_dot_q) begin
        sums_dot();
        if (p2_last_q) for (int l = 0; l < 8; l++) p3_q[l] = dpart_q[l];
      end else begin
        sums_axpy();
      end
    end
    if (p2_end_q && !p2_dot_q) lanes_complete();
    p2_v_q = p1_v_q;
    p2_dot_q = p1_dot_q;
    p2_first_q = p1_first_q;
    p2_last_q = p1_last_q;
    p2_end_q = p1_end_q;
    p2_row_q = p1_row_q;
    if (p1_v_q) begin
      if (p1_dot_q) products_dot();
      else products_axpy();
    end
    p1_v_q = 1'b0;
    p1_end_q = 1'b0;
  endtask

  task automatic aread(input logic [11:0] r);
    ard_q[0] = mem0[r];
    ard_q[1] = mem1[r];
    ard_q[2] = mem2[r];
    ard_q[3] = mem3[r];
  endtask

  task automatic awrite(input logic [11:0] r, input logic [31:0] v0, input logic [31:0] v1,
                        input logic [31:0] v2, input logic [31:0] v3);
    mem0[r] = v0;
    mem1[r] = v1;
    mem2[r] = v2;
    mem3[r] = v3;
  endtask

  logic [31:0] lc, lb, lt, lk;
  logic [6:0]  lop;
  logic        lred, lone, lbad;

  task automatic lanes_start();
    for (int i = 0; i < 12; i++) l_w_q[i] = eq_q[{2'd0, eqr_q[0], 4'(i + 2)}];
    l_tcw_q = eq_q[{2'd0, eqr_q[0], 4'd0}];
    l_scalar_q = eq_q[{2'd0, eqr_q[0], 4'd1}];
    eqr_q[0] = !eqr_q[0];
    eqn_q[0] = eqn_q[0] - 2'd1;
    l_run_q = 1'b1;
    l_end_q = 1'b0;
    lop = l_tcw_q[6:0];
    l_dot_q = lop == 7'(TOP_DOT);
    l_stream_q = l_dot_q || lop == 7'(TOP_AXPY);
    lc = 32'd0;
    if (l_stream_q) begin
      lb = {29'd0, l_scalar_q[2:0]};
      lt = {16'd0, l_w_q[9][15:0]};
      lbad = l_w_q[7][3:0] != 4'(KIND_FABIN) || l_w_q[4] >= NCOLORS || l_w_q[3][3:0] != 4'(KIND_ACC) ||
             l_w_q[0][2:0] != 0 || (lb != 1 && lb != 2 && lb != 4) ||
             l_w_q[11][3:0] != 4'(KIND_MEM) || l_w_q[11][7:4] != 4'(DT_BF16);
      lc = lbad ? CAUSE_BAD_DSR : opcheck(l_w_q[8], l_w_q[9], l_w_q[10], l_w_q[11], 1'b1, 1'b0);
      lc = lc == 0 && (l_w_q[0] > NACC || l_w_q[0] + lb * lt > NACC) ? CAUSE_OPERAND_ADDR : lc;
      l_color_q = l_w_q[4][4:0];
      l_t8_q = lt[7:3];
      if (lc == 0) begin
        claim_q = claim_q | (24'd1 << l_color_q);
        if (!l_dot_q && l_tcw_q[TCW_CLEAR_LO])
          for (int r = 0; r < 16; r++)
            if (r >= int'(l_w_q[0][6:3]) && r < int'((l_w_q[0] + lb * lt) >> 3)) accz_q[r] = 1'b1;
      end
    end else begin
      l_color_q = 5'd31;
      lred = lop == 7'(TOP_VRSUM) || lop == 7'(TOP_VRMAX);
      lone = lred || lop == 7'(TOP_VMOV) || lop == 7'(TOP_VF2I) || lop == 7'(TOP_VI2F) ||
             l_tcw_q[TCW_SCALAR_LO];
      lk = {16'd0, l_w_q[2][15:0] == 0 ? 16'd1 : l_w_q[2][15:0]};
      lbad = lop < 7'(TOP_VADD) || lop > 7'(TOP_VRMAX) || lop == 7'h19 ||
             (!lred && (l_w_q[5][15:0] != l_w_q[1][15:0] ||
              (l_w_q[6][15:0] == 0 ? 16'd1 : l_w_q[6][15:0]) != lk[15:0])) ||
             (!lone && (l_w_q[9][15:0] != l_w_q[1][15:0] ||
              (l_w_q[10][15:0] == 0 ? 16'd1 : l_w_q[10][15:0]) != lk[15:0]));
      lc = opcheck(l_w_q[0], l_w_q[1], l_w_q[2], l_w_q[3], 1'b1, lred);
      lc = lc == CAUSE_BAD_DSR ? lc : opcheck(l_w_q[4], l_w_q[5], l_w_q[6], l_w_q[7], 1'b1, 1'b0) != 0 ?
           opcheck(l_w_q[4], l_w_q[5], l_w_q[6], l_w_q[7], 1'b1, 1'b0) : lc;
      if (!lone && lc != CAUSE_BAD_DSR)
        lc = opcheck(l_w_q[8], l_w_q[9], l_w_q[10], l_w_q[11], 1'b1, 1'b0) != 0 ?
             opcheck(l_w_q[8], l_w_q[9], l_w_q[10], l_w_q[11], 1'b1, 1'b0) : lc;
      lc = lbad ? CAUSE_BAD_DSR : lc;
      v_st_q = 4'd0;
      v_i_q = 16'd0;
      v_j_q = 16'd0;
      v_pd_q = l_w_q[0];
      v_pa_q = l_w_q[4];
      v_pb_q = l_w_q[8];
      for (int l = 0; l < 8; l++) v_r_q[l] = lop == 7'(TOP_VRMAX) ? 32'hff800000 : 32'd0;
    end
    if (lc != 0) begin
      l_run_q = 1'b0;
      fault(lc, 32'd0, 32'hffffffff, 32'd0);
    end
    moved = 1'b1;
  endtask

  logic [31:0] wv;

  task automatic lanes_stream();
    lwait = !c_valid_q && !w_end_q;
    if (c_valid_q) begin
      aread(c_addr_q[15:4]);
      p1_v_q = 1'b1;
      p1_dot_q = l_dot_q;
      p1_value_q = c_value_q;
      p1_row_q = c_row_q;
      p1_first_q = c_first_q;
      p1_last_q = c_left_q == 5'd1;
      c_first_q = 1'b0;
      c_addr_q = c_addr_q + 16'd16;
      c_row_q = c_row_q + 4'd1;
      c_left_q = c_left_q - 5'd1;
      c_valid_q = c_left_q != 0;
      macs = 4'd8;
      moved = 1'b1;
    end
    if (!c_valid_q && w_valid_q) begin
      if (!w_end_q) begin
        c_valid_q = 1'b1;
        c_value_q = w_value_q;
        c_addr_q = w_addr_q;
        c_row_q = w_row_q;
        c_left_q = l_t8_q;
        c_first_q = 1'b1;
        w_valid_q = 1'b0;
      end else if (!p1_v_q) begin
        p1_end_q = 1'b1;
        p1_dot_q = l_dot_q;
        w_valid_q = 1'b0;
        w_end_q = 1'b0;
      end
    end
    // take the next wavelet; stream DOT only when there is room for its result
    if (!w_valid_q && !l_end_q && rxne_q[l_color_q] && (!l_dot_q || dqn_q + dqf_q < 4'(DOTQ_DEPTH))) begin
      wv = rxd_q[{l_color_q, rxr_q[l_color_q]}];
      if (rxhc_q[l_color_q]) begin
        if (!wv[0]) fault(CAUSE_BAD_CTRL, 32'd0, {27'd0, l_color_q}, wv);
        w_end_q = 1'b1;
        l_end_q = 1'b1;
      end else begin
        if ({29'd0, 1'b0, wv[15:14]} >= {29'd0, l_scalar_q[2:0]} ||
            wv[13:0] >= (l_w_q[10][15:0] == 0 ? 14'd1 : l_w_q[10][15:14] != 0 ? 14'h3fff : l_w_q[10][13:0]))
          fault(CAUSE_STREAM_INDEX, 32'd0, {27'd0, l_color_q}, wv);
        w_end_q = 1'b0;
        w_value_q = wv & 32'hffff0000;
        w_addr_q = l_w_q[8][15:0] + 16'({18'd0, wv[13:0]} * sext16(l_w_q[10] >> 16));
        w_row_q = l_w_q[0][6:3] + 4'({30'd0, wv[15:14]} * {27'd0, l_t8_q});
      end
      w_valid_q = 1'b1;
      if (l_dot_q) dqf_q = dqf_q + 4'd1;
      rxpop(l_color_q);
    end
  endtask

  // -- vector operations --

  logic [31:0] va, vb, vr;

  task automatic vop();
    for (int l = 0; l < 8; l++) begin
      va = v_a_q[l];
      vb = v_b_q[l];
      case (l_tcw_q[6:0])
        7'(TOP_VADD): vr = fp_add(va, vb);
        7'(TOP_VSUB): vr = fp_add(va, vb ^ 32'h80000000);
        7'(TOP_VMUL): vr = fp_mul(va, vb);
        7'(TOP_VMAC): vr = fp_add(v_r_q[l], fp_mul(va, vb));
        7'(TOP_VMAX): vr = fp_canon(fp_gt(va, vb) ? va : vb);
        7'(TOP_VMIN): vr = fp_canon(fp_gt(vb, va) ? va : vb);
        7'(TOP_VGATE): vr = fp_gt(va, 32'd0) ? vb : 32'd0;
        7'(TOP_VCGT): vr = fp_gt(va, vb) ? 32'hffffffff : 32'd0;
        7'(TOP_VIADD): vr = va + vb;
        7'(TOP_VISUB): vr = va - vb;
        7'(TOP_VAND): vr = va & vb;
        7'(TOP_VOR): vr = va | vb;
        7'(TOP_VXOR): vr = va ^ vb;
        7'(TOP_VSHL): vr = va << vb[4:0];
        7'(TOP_VSHR): vr = va >> vb[4:0];
        7'(TOP_VSRA): vr = $signed(va) >>> vb[4:0];
        7'(TOP_VF2I): vr = fp_to_int(va);
        7'(TOP_VI2F): vr = fp_from_int(va);
        7'(TOP_VRSUM): vr = fp_add(v_r_q[l], va);
        7'(TOP_VRMAX): vr = fp_canon(fp_gt(v_r_q[l], va) ? v_r_q[l] : va);
        default: vr = va;                               // VMOV
      endcase
      v_r_q[l] = vr;
    end
  endtask

  // combines lanes i and j of a reduction
  task automatic vtree(input int i, input int j);
    v_r_q[i] = l_tcw_q[6:0] == 7'(TOP_VRSUM) ? fp_add(v_r_q[i], v_r_q[j]) :
               fp_canon(fp_gt(v_r_q[i], v_r_q[j]) ? v_r_q[i] : v_r_q[j]);
  endtask

  function automatic logic [31:0] pack2(input int l);
    pack2 = fp_to_bf16(v_r_q[l]) | fp_to_bf16(v_r_q[l + 1]) << 16;
  endfunction

  logic [31:0] vad;
  logic        vlast;

  // v_st_q: 0 operand 1, 1-2 its data; 3 operand 2, 4-5 its data; 6 (VMAC) destination, 7-8 its data;
  // 9 compute and write, 10 second half of a 32-bit write; 12-14 the tree of a reduction
  task automatic lanes_vector();
    lop = l_tcw_q[6:0];
    lred = lop == 7'(TOP_VRSUM) || lop == 7'(TOP_VRMAX);
    lone = lred || lop == 7'(TOP_VMOV) || lop == 7'(TOP_VF2I) || lop == 7'(TOP_VI2F);
    moved = 1'b1;
    if (v_st_q == 4'd2) begin
      for (int l = 0; l < 4; l++) v_a_q[l + 4] = ard_q[l];
      v_st_q = 4'd3;
    end
    if (v_st_q == 4'd1) begin
      if (l_w_q[7][7:4] == 4'(DT_BF16)) begin
        for (int l = 0; l < 8; l++) v_a_q[l] = ax(l);
        v_st_q = 4'd3;
      end else begin
        for (int l = 0; l < 4; l++) v_a_q[l] = ard_q[l];
        vad = v_pa_q + {14'd0, v_i_q, 2'b00} + 32'd16;
        aread(vad[15:4]);
        v_st_q = 4'd2;
      end
    end else if (v_st_q == 4'd0) begin
      if (l_w_q[7][3:0] == 4'(KIND_ACC)) begin
        vad = v_pa_q + {16'd0, v_i_q};
        for (int l = 0; l < 8; l++) v_a_q[l] = accrd({vad[6:3], 3'(l)});
        v_st_q = 4'd3;
      end else begin
        vad = v_pa_q + (l_w_q[7][7:4] == 4'(DT_BF16) ? {15'd0, v_i_q, 1'b0} : {14'd0, v_i_q, 2'b00});
        aread(vad[15:4]);
        v_st_q = 4'd1;
      end
    end
    if (v_st_q == 4'd5) begin
      for (int l = 0; l < 4; l++) v_b_q[l + 4] = ard_q[l];
      v_st_q = 4'd6;
    end
    if (v_st_q == 4'd4) begin
      if (l_w_q[11][7:4] == 4'(DT_BF16)) begin
        for (int l = 0; l < 8; l++) v_b_q[l] = ax(l);
        v_st_q = 4'd6;
      end else begin
        for (int l = 0; l < 4; l++) v_b_q[l] = ard_q[l];
        vad = v_pb_q + {14'd0, v_i_q, 2'b00} + 32'd16;
        aread(vad[15:4]);
        v_st_q = 4'd5;
      end
    end else if (v_st_q == 4'd3) begin
      if (lone) begin
        v_st_q = 4'd6;
      end else if (l_tcw_q[TCW_SCALAR_LO]) begin
        for (int l = 0; l < 8; l++) v_b_q[l] = l_scalar_q;
        v_st_q = 4'd6;
      end else if (l_w_q[11][3:0] == 4'(KIND_ACC)) begin
        vad = v_pb_q + {16'd0, v_i_q};
        for (int l = 0; l < 8; l++) v_b_q[l] = accrd({vad[6:3], 3'(l)});
        v_st_q = 4'd6;
      end else begin
        vad = v_pb_q + (l_w_q[11][7:4] == 4'(DT_BF16) ? {15'd0, v_i_q, 1'b0} : {14'd0, v_i_q, 2'b00});
        aread(vad[15:4]);
        v_st_q = 4'd4;
      end
    end
    if (v_st_q == 4'd8) begin
      for (int l = 0; l < 4; l++) v_r_q[l + 4] = ard_q[l];
      v_st_q = 4'd9;
    end
    if (v_st_q == 4'd7) begin
      if (l_w_q[3][7:4] == 4'(DT_BF16)) begin
        for (int l = 0; l < 8; l++) v_r_q[l] = ax(l);
        v_st_q = 4'd9;
      end else begin
        for (int l = 0; l < 4; l++) v_r_q[l] = ard_q[l];
        vad = v_pd_q + {14'd0, v_i_q, 2'b00} + 32'd16;
        aread(vad[15:4]);
        v_st_q = 4'd8;
      end
    end else if (v_st_q == 4'd6) begin
      if (lop != 7'(TOP_VMAC)) begin
        v_st_q = 4'd9;
      end else if (l_w_q[3][3:0] == 4'(KIND_ACC)) begin
        vad = v_pd_q + {16'd0, v_i_q};
        for (int l = 0; l < 8; l++) v_r_q[l] = accrd({vad[6:3], 3'(l)});
        v_st_q = 4'd9;
      end else begin
        vad = v_pd_q + (l_w_q[3][7:4] == 4'(DT_BF16) ? {15'd0, v_i_q, 1'b0} : {14'd0, v_i_q, 2'b00});
        aread(vad[15:4]);
        v_st_q = 4'd7;
      end
    end
    if (v_st_q >= 4'd12) begin
      if (v_st_q == 4'd12) for (int i = 0; i < 8; i += 2) vtree(i, i + 1);
      else if (v_st_q == 4'd13) for (int i = 0; i < 8; i += 4) vtree(i, i + 2);
      else begin
        vtree(0, 4);
        if (l_w_q[3][3:0] == 4'(KIND_ACC)) accwr(l_w_q[0][6:0], v_r_q[0]);
        else begin
          vad = l_w_q[0];
          vr = l_w_q[3][7:4] != 4'(DT_BF16) ? v_r_q[0] : fp_to_bf16(v_r_q[0]) << (vad[1] ? 16 : 0);
          vb = l_w_q[3][7:4] != 4'(DT_BF16) ? 32'hffffffff : vad[1] ? 32'hffff0000 : 32'h0000ffff;
          aread(vad[15:4]);
          awrite(vad[15:4], vad[3:2] == 0 ? (ard_q[0] & ~vb) | (vr & vb) : ard_q[0],
                 vad[3:2] == 1 ? (ard_q[1] & ~vb) | (vr & vb) : ard_q[1],
                 vad[3:2] == 2 ? (ard_q[2] & ~vb) | (vr & vb) : ard_q[2],
                 vad[3:2] == 3 ? (ard_q[3] & ~vb) | (vr & vb) : ard_q[3]);
        end
        lanes_complete();
      end
      v_st_q = v_st_q + 4'd1;
    end else if (v_st_q == 4'd9 || v_st_q == 4'd10) begin
      vlast = 1'b1;
      if (v_st_q == 4'd10) begin
        vad = v_pd_q + {14'd0, v_i_q, 2'b00} + 32'd16;
        awrite(vad[15:4], v_r_q[4], v_r_q[5], v_r_q[6], v_r_q[7]);
      end else begin
        vop();
        if (lred) begin
        end else if (l_w_q[3][3:0] == 4'(KIND_ACC)) begin
          vad = v_pd_q + {16'd0, v_i_q};
          for (int l = 0; l < 8; l++) acc_q[vad[6:3]][l] = v_r_q[l];
          accz_q[vad[6:3]] = 1'b0;
        end else if (l_w_q[3][7:4] == 4'(DT_BF16)) begin
          vad = v_pd_q + {15'd0, v_i_q, 1'b0};
          awrite(vad[15:4], pack2(0), pack2(2), pack2(4), pack2(6));
        end else begin
          vad = v_pd_q + {14'd0, v_i_q, 2'b00};
          awrite(vad[15:4], v_r_q[0], v_r_q[1], v_r_q[2], v_r_q[3]);
          v_st_q = 4'd10;
          vlast = 1'b0;
        end
      end
      if (vlast) begin                                  // the group is finished
        v_st_q = 4'd0;
        v_i_q = v_i_q + 16'd8;
        lk = lred ? l_w_q[5] : l_w_q[1];
        if (v_i_q == lk[15:0]) begin
          v_i_q = 16'd0;
          v_j_q = v_j_q + 16'd1;
          v_pa_q = v_pa_q + sext16(l_w_q[6] >> 16);
          v_pb_q = v_pb_q + sext16(l_w_q[10] >> 16);
          v_pd_q = v_pd_q + sext16(l_w_q[2] >> 16);
          lk = lred ? l_w_q[6] : l_w_q[2];
          if (v_j_q >= lk[15:0]) begin                  // LEN1 of 0 counts as 1
            if (lred) v_st_q = 4'd12;
            else lanes_complete();
          end
        end
      end
    end
  endtask

  task automatic lanes_step();
    if (!l_run_q && eqn_q[0] != 0) lanes_start();
    else if (l_run_q && l_stream_q) lanes_stream();
    else if (l_run_q) lanes_vector();
  endtask
