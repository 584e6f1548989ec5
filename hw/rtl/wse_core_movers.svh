// SPDX-License-Identifier: MIT
// The two movers: part of wse_core. One element a cycle between memory, accumulators, fabric and DOT queue,
// with a binary32 adder. Memory sources are read by lines of 16 bytes through port B.

  logic [31:0] mc, mv1, mv2, mva;
  logic [3:0]  mk0, mk1, mk2;
  logic        mok, mtwo, muntil, mmark, mlast, mst, mboth;
  logic [4:0]  mcol;

  function automatic logic [31:0] m_half(input logic [31:0] w, input logic hi);
    m_half = hi ? w & 32'hffff0000 : w << 16;
  endfunction

  // element of a memory or accumulator operand o (1, 2) of mover m; mok falls when it is not there yet
  function automatic logic [31:0] m_line(input logic m, input logic [1:0] o, input logic [31:0] a);
    logic [31:0] w;
    w = m_line_q[{m, o[1], a[3:2]}];
    m_line = m_w_q[{m, o, 2'd3}][7:4] == 4'(DT_BF16) ? m_half(w, a[1]) : w;
  endfunction

  task automatic mover_start(input logic m);
    logic [1:0] e;
    e = m ? 2'd2 : 2'd1;
    m_tcw_q[m] = eq_q[{e, eqr_q[e], 4'd0}];
    for (int i = 0; i < 12; i++) m_w_q[{m, 4'(i)}] = eq_q[{e, eqr_q[e], 4'(i + 2)}];
    eqr_q[e] = !eqr_q[e];
    eqn_q[e] = eqn_q[e] - 2'd1;
    moved = 1'b1;
    mk0 = m_w_q[{m, 4'd3}][3:0];
    mk1 = m_w_q[{m, 4'd7}][3:0];
    mtwo = m_tcw_q[m][6:0] != 7'(TOP_MOVE);
    mk2 = mtwo ? m_w_q[{m, 4'd11}][3:0] : 4'd0;
    muntil = m_tcw_q[m][TCW_UNTIL_END_LO];
    mst = m_tcw_q[m][6:0] == 7'(TOP_MTEE);
    mok = (m_tcw_q[m][6:0] == 7'(TOP_MOVE) || m_tcw_q[m][6:0] == 7'(TOP_MADD) || mst) &&
          (mk0 == 4'(KIND_MEM) || mk0 == 4'(KIND_ACC) || mk0 == 4'(KIND_FABOUT)) &&
          mk1 != 0 && mk1 != 4'(KIND_FABOUT) && mk1 <= 4'(KIND_DOTQ) &&
          (!mtwo || mk2 == 4'(KIND_MEM) || mk2 == 4'(KIND_ACC) || (!mst && mk2 == 4'(KIND_DOTQ))) &&
          !(mk1 == 4'(KIND_DOTQ) && mk2 == 4'(KIND_DOTQ)) &&
          (mk0 != 4'(KIND_FABOUT) || m_w_q[{m, 4'd0}] < NCOLORS) &&
          (mk1 != 4'(KIND_FABIN) || m_w_q[{m, 4'd4}] < NCOLORS) &&
          (!muntil || (mk0 == 4'(KIND_FABOUT) && (mk1 == 4'(KIND_FABIN) || mk1 == 4'(KIND_DOTQ)) &&
                       (!mtwo || mk2 == 4'(KIND_DOTQ)))) &&
          (!m_tcw_q[m][TCW_SEND_END_LO] || mk0 == 4'(KIND_FABOUT));
    // shape: the destination's, or operand 1's if that goes to the fabric and has one
    mst = mk0 == 4'(KIND_FABOUT) && (mk1 == 4'(KIND_MEM) || mk1 == 4'(KIND_ACC));
    m_len_q[m] = mst ? m_w_q[{m, 4'd5}][15:0] : m_w_q[{m, 4'd1}][15:0];
    m_len1_q[m] = mst ? m_w_q[{m, 4'd6}][15:0] : m_w_q[{m, 4'd2}][15:0];
    if (m_len1_q[m] == 0) m_len1_q[m] = 16'd1;
    mok = mok && m_len_q[m] != 0;
    if (muntil) m_len1_q[m] = 16'd1;
    mc = 32'd0;
    for (int o = 0; o < 3; o++) begin
      mva = m_w_q[{m, 2'(o), 2'd3}];
      if ((o < 2 || mtwo) && (mva[3:0] == 4'(KIND_MEM) || mva[3:0] == 4'(KIND_ACC))) begin
        mv1 = m_w_q[{m, 2'(o), 2'd2}];
        mok = mok && m_w_q[{m, 2'(o), 2'd1}][15:0] == m_len_q[m] &&
              (mv1[15:0] == 0 ? 16'd1 : mv1[15:0]) == m_len1_q[m];
        mv2 = opcheck(m_w_q[{m, 2'(o), 2'd0}], m_w_q[{m, 2'(o), 2'd1}], mv1, mva, 1'b0, 1'b0);
        mc = mv2 == CAUSE_BAD_DSR || mc == 0 ? mv2 : mc;
      end
      m_p_q[{m, 2'(o)}] = m_w_q[{m, 2'(o), 2'd0}];
      m_s_q[{m, 2'(o)}] = m_w_q[{m, 2'(o), 2'd0}];
    end
    mc = mok ? mc : CAUSE_BAD_DSR;
    if (mc != 0) begin
      fault(mc, 32'd0, 32'hffffffff, 32'd0);
    end else begin
      m_run_q[m] = 1'b1;
      m_i_q[m] = 16'd0;
      m_j_q[m] = 16'd0;
      m_tval_q[{m, 1'b0}] = 1'b0;
      m_tval_q[{m, 1'b1}] = 1'b0;
      m_send_q[m] = 1'b0;
      m_half_q[m] = 1'b0;
      if (mk1 == 4'(KIND_FABIN)) claim_q[m_w_q[{m, 4'd4}][4:0]] = 1'b1;
    end
  endtask

  task automatic mover_complete(input logic m);
    complete(m_tcw_q[m]);
    m_run_q[m] = 1'b0;
    if (m_w_q[{m, 4'd7}][3:0] == 4'(KIND_FABIN)) claim_q[m_w_q[{m, 4'd4}][4:0]] = 1'b0;
  endtask

  // all elements are through
  task automatic mover_last(input logic m);
    if (m_tcw_q[m][TCW_SEND_END_LO]) m_send_q[m] = 1'b1;
    else mover_complete(m);
  endtask

  // memory element at a of operand o (0 or, for MTEE, 2)
  task automatic mover_store(input logic m, input logic [1:0] o, input logic [31:0] v);
    mva = m_p_q[{m, o}];
    if (m_w_q[{m, o, 2'd3}][3:0] == 4'(KIND_ACC)) accwr(mva[6:0], v);
    else if (m_w_q[{m, o, 2'd3}][7:4] == 4'(DT_BF16))
      bwrite(mva[15:0], fp_to_bf16(v) << (mva[1] ? 16 : 0), mva[1] ? 32'hffff0000 : 32'h0000ffff);
    else bwrite(mva[15:0], v, 32'hffffffff);
  endtask

  task automatic mover_element(input logic m);
    mk0 = m_w_q[{m, 4'd3}][3:0];
    mk1 = m_w_q[{m, 4'd7}][3:0];
    mst = m_tcw_q[m][6:0] == 7'(TOP_MTEE);
    mtwo = m_tcw_q[m][6:0] == 7'(TOP_MADD);
    mk2 = m_tcw_q[m][6:0] != 7'(TOP_MOVE) ? m_w_q[{m, 4'd11}][3:0] : 4'd0;
    muntil = m_tcw_q[m][TCW_UNTIL_END_LO];
    mcol = m_w_q[{m, 4'd4}][4:0];
    mok = 1'b1;
    mmark = 1'b0;
    m_wcolv_q[m] = 1'b0;

    // an END mark of the DOT queue, or of the fabric when no DOT queue takes part
    if ((mk1 == 4'(KIND_DOTQ) || (mtwo && mk2 == 4'(KIND_DOTQ))) && dqn_q != 0 && dqe_q[dqr_q]) begin
      mmark = 1'b1;
      if (!muntil) fault(CAUSE_BAD_CTRL, 32'd0, 32'hffffffff, 32'd0);
      dqr_q = dqr_q + 3'd1;
      dqn_q = dqn_q - 4'd1;
    end else if (mk1 == 4'(KIND_FABIN) && rxne_q[mcol] && rxhc_q[mcol]) begin
      mmark = 1'b1;
      mv1 = rxd_q[{mcol, rxr_q[mcol]}];
      if (!muntil || (mtwo && mk2 == 4'(KIND_DOTQ)) || !mv1[0])
        fault(CAUSE_BAD_CTRL, 32'd0, {27'd0, mcol}, mv1);
      rxpop(mcol);
    end
    if (mmark) begin
      moved = 1'b1;
      m_i_q[m] = m_i_q[m] + 16'd1;
      if (m_i_q[m] == m_len_q[m]) begin
        m_i_q[m] = 16'd0;
        m_j_q[m] = m_j_q[m] + 16'd1;
        if (m_j_q[m] == m_len1_q[m]) mover_last(m);
      end
    end else begin
      // sources
      mv1 = 32'd0;
      mv2 = 32'd0;
      mva = m_p_q[{m, 2'd1}];
      case (mk1)
        4'(KIND_ACC): mv1 = accrd(mva[6:0]);
        4'(KIND_MEM): begin
          mok = m_tval_q[{m, 1'b0}] && m_tag_q[{m, 1'b0}] == mva[15:4];
          mv1 = m_line(m, 2'd1, mva);
          if (!mok && !bport) begin
            bread(mva[15:4], m ? BM1A : BM0A);
            m_tag_q[{m, 1'b0}] = mva[15:4];
            m_tval_q[{m, 1'b0}] = 1'b0;
            moved = 1'b1;
          end
        end
        4'(KIND_FABIN): begin
          mok = rxne_q[mcol];
          mv1 = rxd_q[{mcol, rxr_q[mcol]}];
          m_wcol_q[m] = mcol;
          m_wcolv_q[m] = !mok;
        end
        default: begin
          mok = dqn_q != 0;
          mv1 = dq_q[dqr_q];
        end
      endcase
      if (mtwo) begin
        mva = m_p_q[{m, 2'd2}];
        case (mk2)
          4'(KIND_ACC): mv2 = accrd(mva[6:0]);
          4'(KIND_MEM): begin
            mv2 = m_line(m, 2'd2, mva);
            if (!(m_tval_q[{m, 1'b1}] && m_tag_q[{m, 1'b1}] == mva[15:4])) begin
              mok = 1'b0;
              if (!bport) begin
                bread(mva[15:4], m ? BM1B : BM0B);
                m_tag_q[{m, 1'b1}] = mva[15:4];
                m_tval_q[{m, 1'b1}] = 1'b0;
                moved = 1'b1;
              end
            end
          end
          default: begin
            mok = mok && dqn_q != 0;
            mv2 = dq_q[dqr_q];
          end
        endcase
        mv1 = fp_add(mv1, mv2);
      end
      // destinations
      if (mk0 == 4'(KIND_FABOUT)) begin
        if (!txok_q[m_w_q[{m, 4'd0}][4:0]] && !m_wcolv_q[m]) begin
          m_wcol_q[m] = m_w_q[{m, 4'd0}][4:0];
          m_wcolv_q[m] = 1'b1;
        end
        mok = mok && !txbusy && txok_q[m_w_q[{m, 4'd0}][4:0]];
      end
      if (mk0 == 4'(KIND_MEM) || (mst && mk2 == 4'(KIND_MEM))) mok = mok && !bport;
      mboth = mst && mk2 == 4'(KIND_MEM) && mk0 == 4'(KIND_MEM);   // two writes take two cycles, DST first
      if (m_half_q[m]) mv1 = m_hold_q[m];                     // the first may have hit the source
      if (mok && mboth && !m_half_q[m]) begin
        mover_store(m, 2'd0, mv1);
        m_hold_q[m] = mv1;
        m_half_q[m] = 1'b1;
        mok = 1'b0;
        moved = 1'b1;
      end
      if (mok) begin
        m_half_q[m] = 1'b0;
        moved = 1'b1;
        if (mst) mover_store(m, 2'd2, mv1);
        if (mk1 == 4'(KIND_FABIN)) rxpop(mcol);
        if (mk1 == 4'(KIND_DOTQ) || (mtwo && mk2 == 4'(KIND_DOTQ))) begin
          dqr_q = dqr_q + 3'd1;
          dqn_q = dqn_q - 4'd1;
        end
        if (mk0 == 4'(KIND_FABOUT)) txput(m_w_q[{m, 4'd0}][4:0], 1'b0, mv1);
        else if (!mboth) mover_store(m, 2'd0, mv1);
        if (!muntil) begin
          m_i_q[m] = m_i_q[m] + 16'd1;
          mlast = m_i_q[m] == m_len_q[m];
          if (mlast) begin
            m_i_q[m] = 16'd0;
            m_j_q[m] = m_j_q[m] + 16'd1;
          end
          for (int o = 0; o < 3; o++) begin
            mva = m_w_q[{m, 2'(o), 2'd1}];
            m_p_q[{m, 2'(o)}] = m_p_q[{m, 2'(o)}] + sext16(mva >> 16);
            if (mlast) begin
              mva = m_w_q[{m, 2'(o), 2'd2}];
              m_s_q[{m, 2'(o)}] = m_s_q[{m, 2'(o)}] + sext16(mva >> 16);
              m_p_q[{m, 2'(o)}] = m_s_q[{m, 2'(o)}];
            end
          end
          if (mlast && m_j_q[m] == m_len1_q[m]) mover_last(m);
        end
      end
    end
  endtask

  task automatic mover_step(input logic m);
    if (!m_run_q[m]) begin
      if (eqn_q[m ? 2 : 1] != 0) mover_start(m);
    end else if (m_send_q[m]) begin
      mcol = m_w_q[{m, 4'd0}][4:0];
      m_wcol_q[m] = mcol;
      m_wcolv_q[m] = 1'b1;
      if (!txbusy && txok_q[mcol]) begin
        txput(mcol, 1'b1, 32'd1);
        m_send_q[m] = 1'b0;
        mover_complete(m);
      end
    end else begin
      mover_element(m);
    end
  endtask

  // read data of port B for whoever asked last cycle (the service plane's is taken elsewhere)
  task automatic port_b_data();
    case (bown_q)
      BM0A, BM0B, BM1A, BM1B: begin
        for (int i = 0; i < 4; i++) m_line_q[{bown_q[2], bown_q[0], 2'(i)}] = brd_q[i];
        m_tval_q[{bown_q[2], bown_q[0]}] = 1'b1;
      end
      BLoad: ldw_q = brd_q[ldoff_q[3:2]];
      BFetch: begin
        for (int i = 0; i < 4; i++) fb_q[{fline_q, 2'(i)}] = brd_q[i];
        fval_q[fline_q] = 1'b1;
      end
      default: ;
    endcase
  endtask
