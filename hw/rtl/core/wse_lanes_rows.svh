// SPDX-License-Identifier: MIT
// Included in the body of wse_lanes: what the lanes do to rows of eight words. A task is a step of
// all lanes; wse_lanes.sv decides which steps a cycle takes. A lane has one adder, one comparator,
// one multiplier, which all tasks of operands share.
//
// All loops run over arrays, each by itself: a simulator's compiler makes vector instructions of
// them.

  function automatic logic [31:0] keep(input logic [3:0] g);
    keep = clean[g] ? '0 : '1;
  endfunction
  task automatic widen;
    xw[0] = a_rd0_i << 16;
    xw[1] = a_rd0_i & 32'hffff0000;
    xw[2] = a_rd1_i << 16;
    xw[3] = a_rd1_i & 32'hffff0000;
    xw[4] = a_rd2_i << 16;
    xw[5] = a_rd2_i & 32'hffff0000;
    xw[6] = a_rd3_i << 16;
    xw[7] = a_rd3_i & 32'hffff0000;
  endtask

  task automatic add_lanes;
    integer l;
    for (l = 0; l < 8; l++) sum[l] = wse_fp_pkg::fp_add(p[l], q[l]);
  endtask
  task automatic compare_lanes;
    integer l;
    for (l = 0; l < 8; l++) more[l] = 32'd0 - 32'(wse_fp_pkg::fp_gt(p[l], q[l]));
  endtask
  task automatic multiply_lanes;
    integer l;
    if (mul == MulBf16) begin
      for (l = 0; l < 8; l++) prod[l] = wse_fp_pkg::fp_mul_bf16(mp[l], mq[l]);
    end else if (mul == MulHalf) begin
      for (l = 0; l < 8; l++) prod[l] = wse_fp_pkg::fp_mul_half(mp[l], mq[l]);
    end else begin
      for (l = 0; l < 8; l++) prod[l] = wse_fp_pkg::fp_mul(mp[l], mq[l]);
    end
  endtask
  // streams: product added to accumulator or partial; weight or dy times x
  task automatic axpy_operands(input logic [3:0] g);
    integer l;
    for (l = 0; l < 8; l++) p[l] = acc[g][l] & keep(g);
    for (l = 0; l < 8; l++) q[l] = prod[l];
  endtask
  task automatic dot_operands(input logic [31:0] mask);
    integer l;
    for (l = 0; l < 8; l++) p[l] = part[l] & mask;
    for (l = 0; l < 8; l++) q[l] = prod[l];
  endtask
  task automatic sum_to_acc(input logic [3:0] g);
    integer l;
    for (l = 0; l < 8; l++) acc[g][l] = sum[l];
    clean[g] = 1'b0;
  endtask
  task automatic sum_to_part;
    integer l;
    for (l = 0; l < 8; l++) part[l] = sum[l];
  endtask
  task automatic axpy_factors(input logic [31:0] w);
    integer l;
    for (l = 0; l < 8; l++) mp[l] = xw[l];
    for (l = 0; l < 8; l++) mq[l] = w;
  endtask
  task automatic dot_factors(input logic [3:0] g);
    integer l;
    for (l = 0; l < 8; l++) mp[l] = acc[g][l] & keep(g);
    for (l = 0; l < 8; l++) mq[l] = xw[l];
  endtask
  task automatic tree1;
    integer l;
    for (l = 0; l < 4; l++) t2[l] = wse_fp_pkg::fp_add(t1[2*l], t1[2*l+1]);
  endtask
  task automatic tree2;
    integer l;
    for (l = 0; l < 2; l++) t3[l] = wse_fp_pkg::fp_add(t2[2*l], t2[2*l+1]);
  endtask
  task automatic copy_part;
    integer l;
    for (l = 0; l < 8; l++) t1[l] = part[l];
  endtask

  task automatic put_half(input logic [1:0] which);
    integer l;
    for (l = 0; l < 8; l++) begin
      if (which == 2'd0) av[l] = xw[l];
      if (which == 2'd1) bv[l] = xw[l];
      if (which == 2'd2) dv[l] = xw[l];
    end
  endtask
  // rows that have been read
  task automatic capture;
    if (n_in[0] && a_half) begin
      widen;
      put_half(2'd0);
    end else if (n_in[2] && b_half) begin
      widen;
      put_half(2'd1);
    end else if (n_in[4] && d_half) begin
      widen;
      put_half(2'd2);
    end else begin
      if (n_in[0]) begin av[0] = a_rd0_i; av[1] = a_rd1_i; av[2] = a_rd2_i; av[3] = a_rd3_i; end
      if (n_in[1]) begin av[4] = a_rd0_i; av[5] = a_rd1_i; av[6] = a_rd2_i; av[7] = a_rd3_i; end
      if (n_in[2]) begin bv[0] = a_rd0_i; bv[1] = a_rd1_i; bv[2] = a_rd2_i; bv[3] = a_rd3_i; end
      if (n_in[3]) begin bv[4] = a_rd0_i; bv[5] = a_rd1_i; bv[6] = a_rd2_i; bv[7] = a_rd3_i; end
      if (n_in[4]) begin dv[0] = a_rd0_i; dv[1] = a_rd1_i; dv[2] = a_rd2_i; dv[3] = a_rd3_i; end
      if (n_in[5]) begin dv[4] = a_rd0_i; dv[5] = a_rd1_i; dv[6] = a_rd2_i; dv[7] = a_rd3_i; end
    end
  endtask
  task automatic a_from_acc(input logic [3:0] g);
    integer l;
    for (l = 0; l < 8; l++) av[l] = acc[g][l] & keep(g);
  endtask
  task automatic b_from_acc(input logic [3:0] g);
    integer l;
    for (l = 0; l < 8; l++) bv[l] = acc[g][l] & keep(g);
  endtask
  task automatic d_from_acc(input logic [3:0] g);
    integer l;
    for (l = 0; l < 8; l++) dv[l] = acc[g][l] & keep(g);
  endtask
  task automatic from_scalar(input logic [31:0] s);
    integer l;
    for (l = 0; l < 8; l++) bv[l] = s;
  endtask
  task automatic to_acc(input logic [3:0] g);
    integer l;
    for (l = 0; l < 8; l++) acc[g][l] = rv[l];
    clean[g] = 1'b0;
  endtask
  // one accumulator
  task automatic put(input logic [6:0] a, input logic [31:0] v);
    integer l;
    if (clean[a[6:3]]) begin
      for (l = 0; l < 8; l++) acc[a[6:3]][l] = '0;
    end
    acc[a[6:3]][a[2:0]] = v;
    clean[a[6:3]] = 1'b0;
  endtask
  // operands: SRC1, SRC2 with signs flipped; DST, product; partials, SRC1; pairs of partials
  task automatic v_operands(input logic [31:0] flip);
    integer l;
    for (l = 0; l < 8; l++) p[l] = av[l];
    for (l = 0; l < 8; l++) q[l] = bv[l] ^ flip;
  endtask
  task automatic v_swapped;
    integer l;
    for (l = 0; l < 8; l++) p[l] = bv[l];
    for (l = 0; l < 8; l++) q[l] = av[l];
  endtask
  task automatic v_against_zero;
    integer l;
    for (l = 0; l < 8; l++) p[l] = av[l];
    for (l = 0; l < 8; l++) q[l] = '0;
  endtask
  task automatic v_mac_operands;
    integer l;
    for (l = 0; l < 8; l++) p[l] = dv[l];
    for (l = 0; l < 8; l++) q[l] = prod[l];
  endtask
  task automatic v_reduce_operands;
    integer l;
    for (l = 0; l < 8; l++) p[l] = part[l];
    for (l = 0; l < 8; l++) q[l] = av[l];
  endtask
  task automatic v_pairs;               // the upper half has no meaning
    integer l;
    for (l = 0; l < 4; l++) p[l] = part[2*l];
    for (l = 0; l < 4; l++) q[l] = part[2*l+1];
  endtask
  task automatic v_factors;
    integer l;
    for (l = 0; l < 8; l++) mp[l] = av[l];
    for (l = 0; l < 8; l++) mq[l] = bv[l];
  endtask
  // results
  task automatic v_sum;
    integer l;
    for (l = 0; l < 8; l++) rv[l] = sum[l];
  endtask
  task automatic v_product;
    integer l;
    for (l = 0; l < 8; l++) rv[l] = prod[l];
  endtask
  // the greater one; VMIN: p and q are swapped, so the lesser one
  task automatic choose;
    integer l;
    for (l = 0; l < 8; l++)
      sum[l] = wse_fp_pkg::fp_canon(op == wse_regs_pkg::OpVmin ?
          (q[l] & more[l]) | (p[l] & ~more[l]) :
                                    (p[l] & more[l]) | (q[l] & ~more[l]));
  endtask
  task automatic v_masked(input logic gate);
    integer l;
    for (l = 0; l < 8; l++) rv[l] = gate ? bv[l] & more[l] : more[l];
  endtask
  task automatic v_f2i;
    integer l;
    for (l = 0; l < 8; l++) rv[l] = wse_fp_pkg::fp_to_int(av[l]);
  endtask
  task automatic v_i2f;
    integer l;
    for (l = 0; l < 8; l++) rv[l] = wse_fp_pkg::fp_from_int(av[l]);
  endtask
  task automatic v_int;
    integer l;
    for (l = 0; l < 8; l++)
      rv[l] = op == wse_regs_pkg::OpViadd ? av[l] + bv[l] :
              op == wse_regs_pkg::OpVisub ? av[l] - bv[l] :
              op == wse_regs_pkg::OpVand ? av[l] & bv[l] :
              op == wse_regs_pkg::OpVor ? av[l] | bv[l] :
              op == wse_regs_pkg::OpVxor ? av[l] ^ bv[l] :
              op == wse_regs_pkg::OpVshl ? av[l] << bv[l][4:0] :
              op == wse_regs_pkg::OpVshr ? av[l] >> bv[l][4:0] :
              op == wse_regs_pkg::OpVsra ? $unsigned($signed(av[l]) >>> bv[l][4:0]) : av[l];
  endtask
  task automatic init_part(input logic [31:0] v);
    integer l;
    for (l = 0; l < 8; l++) part[l] = v;
  endtask

  function automatic logic [31:0] pair(input logic [31:0] lo, input logic [31:0] hi);
    pair = wse_fp_pkg::fp_to_bf16(lo) | (wse_fp_pkg::fp_to_bf16(hi) << 16);
  endfunction
