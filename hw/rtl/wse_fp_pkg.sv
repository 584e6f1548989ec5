// SPDX-License-Identifier: MIT
// binary32 arithmetic of the tensor unit (hw/doc/core.md, "Arithmetic"): rounds to nearest even,
// flushes subnormal inputs and results, detects tininess after rounding, has one NaN.
//
// Coding: 32-bit values and ternaries only, leading zeros by binary search, so that simulation
// vectorises over the lanes and synthesis gets plain multiplexers.

package wse_fp_pkg;

  localparam logic [31:0] FpNan = 32'h7fc00000;

  function automatic logic [31:0] fp_flush(input logic [31:0] a);
    fp_flush = (a & 32'h7f800000) == 0 ? a & 32'h80000000 : a;
  endfunction

  // packs sign, unbounded exponent and a rounded 24-bit significand (or 2^24 after a carry)
  function automatic logic [31:0] fp_pack(input logic [31:0] sign, input logic [31:0] e,
                                          input logic [31:0] m);
    logic [31:0] ec;
    // two's complement, far from its ends; below 1: too small, above 254: too large. By the sign of
    // a difference: what simulates a signed comparison is not 32 bits wide.
    ec = e + (m >> 24);
    fp_pack = sign | (((ec - 32'd1) >> 31) != 0 ? 32'd0 :
                      ((32'd254 - ec) >> 31) != 0 ? 32'h7f800000 : ((e - 1) << 23) + m);
  endfunction

  function automatic logic [31:0] fp_add(input logic [31:0] a, input logic [31:0] b);
    logic [31:0] x, y, hi, lo, mh, ml, d, sh, s, n, m, r;
    logic        sub, gt;
    x = fp_flush(a);
    y = fp_flush(b);
    // From here to d, and in the test for infinities, nothing that equals a function of x and y
    // alone comes from hi or lo: synthesis would find the one in the other, and take the comparison
    // from what it selects, a loop.
    gt = (y & 32'h7fffffff) > (x & 32'h7fffffff);
    hi = gt ? y : x;
    lo = gt ? x : y;
    sub = ((x ^ y) >> 31) != 0;
    // significands with three more bits: guard, round, sticky
    mh = (hi & 32'h7f800000) == 0 ? 32'd0 : ((hi & 32'h007fffff) | 32'h00800000) << 3;
    ml = (lo & 32'h7f800000) == 0 ? 32'd0 : ((lo & 32'h007fffff) | 32'h00800000) << 3;
    d = gt ? ((y >> 23) & 32'hff) - ((x >> 23) & 32'hff) :
             ((x >> 23) & 32'hff) - ((y >> 23) & 32'hff);
    d = d > 27 ? 32'd27 : d;
    sh = ml >> d;
    sh = sh | ((sh << d) != ml ? 32'd1 : 32'd0);
    s = sub ? mh - sh : mh + sh;                               // at most 28 bits
    // leading one to bit 27
    n = 32'd0;
    m = s;
    n = (m >> 12) == 0 ? n | 32'd16 : n;
    m = (m >> 12) == 0 ? m << 16 : m;
    n = (m >> 20) == 0 ? n | 32'd8 : n;
    m = (m >> 20) == 0 ? m << 8 : m;
    n = (m >> 24) == 0 ? n | 32'd4 : n;
    m = (m >> 24) == 0 ? m << 4 : m;
    n = (m >> 26) == 0 ? n | 32'd2 : n;
    m = (m >> 26) == 0 ? m << 2 : m;
    n = (m >> 27) == 0 ? n | 32'd1 : n;
    m = (m >> 27) == 0 ? m << 1 : m;
    m = (m + 32'd7 + ((m >> 4) & 32'd1)) >> 4;                 // nearest even
    r = fp_pack(hi & 32'h80000000, ((hi >> 23) & 32'hff) + 32'd1 - n, m);
    r = s == 0 ? (sub ? 32'd0 : hi & 32'h80000000) : r;
    r = (hi & 32'h7f800000) == 32'h7f800000 ?
        ((hi & 32'h007fffff) != 0 || (sub && ((x ^ y) & 32'h7fffffff) == 0) ? FpNan : hi) : r;
    fp_add = r;
  endfunction

  // the specials of a product whose finite case is r
  function automatic logic [31:0] fp_mul_special(input logic [31:0] x, input logic [31:0] y,
                                                 input logic [31:0] r);
    logic [31:0] ax, ay, sign, q;
    ax = x & 32'h7fffffff;
    ay = y & 32'h7fffffff;
    sign = (x ^ y) & 32'h80000000;
    q = ax == 0 || ay == 0 ? sign : r;
    q = ax >= 32'h7f800000 || ay >= 32'h7f800000 ?
        (ax > 32'h7f800000 || ay > 32'h7f800000 || ax == 0 ||
        ay == 0 ? FpNan : sign | 32'h7f800000) : q;
    fp_mul_special = q;
  endfunction

  function automatic logic [31:0] fp_mul(input logic [31:0] a, input logic [31:0] b);
    logic [31:0] x, y, e, m;
    logic [63:0] p;
    x = fp_flush(a);
    y = fp_flush(b);
    p = {32'd0, (x & 32'h007fffff) | 32'h00800000} * {32'd0, (y & 32'h007fffff) | 32'h00800000};
    e = ((x >> 23) & 32'hff) + ((y >> 23) & 32'hff) - 32'd127 + 32'(p >> 47);
    p = (p >> 47) != 0 ? p : p << 1;                           // leading one at bit 47
    m = 32'((p + 64'h7fffff + ((p >> 24) & 64'd1)) >> 24);
    fp_mul = fp_mul_special(x, y, fp_pack((x ^ y) & 32'h80000000, e, m));
  endfunction

  // product of two bf16 values in the upper halves: 8 x 8 bits, exact but for over- and underflow
  function automatic logic [31:0] fp_mul_bf16(input logic [31:0] a, input logic [31:0] b);
    logic [31:0] x, y, e, p;
    x = fp_flush(a);
    y = fp_flush(b);
    p = (((x >> 16) & 32'h7f) | 32'h80) * (((y >> 16) & 32'h7f) | 32'h80);
    e = ((x >> 23) & 32'hff) + ((y >> 23) & 32'hff) - 32'd127 + (p >> 15);
    p = (p >> 15) != 0 ? p << 8 : p << 9;
    fp_mul_bf16 = fp_mul_special(x, y, fp_pack((x ^ y) & 32'h80000000, e, p));
  endfunction

  // binary32 times bf16 (b, in the upper half): 24 x 8 bits
  function automatic logic [31:0] fp_mul_half(input logic [31:0] a, input logic [31:0] b);
    logic [31:0] x, y, e, p, m;
    x = fp_flush(a);
    y = fp_flush(b);
    p = ((x & 32'h007fffff) | 32'h00800000) * (((y >> 16) & 32'h7f) | 32'h80);
    e = ((x >> 23) & 32'hff) + ((y >> 23) & 32'hff) - 32'd127 + (p >> 31);
    p = (p >> 31) != 0 ? p : p << 1;                           // leading one at bit 31
    m = (p >> 8) + ((p >> 7) & 32'd1 & (((p & 32'h7f) | ((p >> 8) & 32'd1)) != 0 ? 32'd1 : 32'd0));
    fp_mul_half = fp_mul_special(x, y, fp_pack((x ^ y) & 32'h80000000, e, m));
  endfunction

  // a > b after flushing; false with NaN
  function automatic logic fp_gt(input logic [31:0] a, input logic [31:0] b);
    logic [31:0] x, y, kx, ky;
    x = fp_flush(a);
    y = fp_flush(b);
    kx = (x >> 31) != 0 ? -(x & 32'h7fffffff) : x;             // order of signed integers, -0 = +0
    ky = (y >> 31) != 0 ? -(y & 32'h7fffffff) : y;
    fp_gt = (x & 32'h7fffffff) <= 32'h7f800000 && (y & 32'h7fffffff) <= 32'h7f800000 &&
            (kx ^ 32'h80000000) > (ky ^ 32'h80000000);
  endfunction

  function automatic logic [31:0] fp_canon(input logic [31:0] a);
    fp_canon = (a & 32'h7fffffff) > 32'h7f800000 ? FpNan : fp_flush(a);
  endfunction

  // binary32 to bf16, in the lower half
  function automatic logic [31:0] fp_to_bf16(input logic [31:0] a);
    fp_to_bf16 = (a & 32'h7fffffff) > 32'h7f800000 ? 32'h7fc0 :
                 (a & 32'h7f800000) == 0 ? (a >> 16) & 32'h8000 :
                 (a + 32'h7fff + ((a >> 16) & 32'd1)) >> 16;
  endfunction

  // to i32, nearest even, saturating; NaN gives 0x80000000
  function automatic logic [31:0] fp_to_int(input logic [31:0] a);
    logic [31:0] x, e, m, lo, v;
    x = fp_flush(a);
    e = (x >> 23) & 32'hff;
    m = (x & 32'h007fffff) | 32'h00800000;
    // below 0.5: 0; up to 2^23 a right shift with rounding; beyond a left shift
    lo = e < 32'd126 ? 32'd25 : 32'd150 - e;                   // right shift distance
    v = ((m << 1) >> lo) ;                                     // one fraction bit kept
    v = e > 32'd149 ? m << (e - 32'd150) :
        e < 32'd126 ? 32'd0 :
        (v >> 1) + (((v & 32'd1) != 0 && ((v & 32'd2) != 0 || ((v << lo) != (m << 1)))) ? 32'd1 :
            32'd0);
    v = (x >> 31) != 0 ? -v : v;
    v = e > 32'd157 ? ((x >> 31) != 0 ||
        (a & 32'h7fffffff) > 32'h7f800000 ? 32'h80000000 : 32'h7fffffff) : v;
    fp_to_int = v;
  endfunction

  function automatic logic [31:0] fp_from_int(input logic [31:0] a);
    logic [31:0] v, n, m;
    logic        sticky;
    v = (a >> 31) != 0 ? -a : a;
    n = 32'd0;
    m = v;
    n = (m >> 16) == 0 ? n | 32'd16 : n;
    m = (m >> 16) == 0 ? m << 16 : m;
    n = (m >> 24) == 0 ? n | 32'd8 : n;
    m = (m >> 24) == 0 ? m << 8 : m;
    n = (m >> 28) == 0 ? n | 32'd4 : n;
    m = (m >> 28) == 0 ? m << 4 : m;
    n = (m >> 30) == 0 ? n | 32'd2 : n;
    m = (m >> 30) == 0 ? m << 2 : m;
    n = (m >> 31) == 0 ? n | 32'd1 : n;
    m = (m >> 31) == 0 ? m << 1 : m;
    sticky = (m & 32'h7f) != 0;
    m = (m >> 8) + ((m & 32'h80) != 0 && (sticky || (m & 32'h100) != 0) ? 32'd1 : 32'd0);
    fp_from_int = a == 0 ? 32'd0 : fp_pack(a & 32'h80000000, 32'd158 - n, m);
  endfunction

endpackage
