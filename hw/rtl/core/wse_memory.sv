// SPDX-License-Identifier: MIT
// A core's SRAM. The lanes have port A. All others share port B, one a cycle: the service plane
// goes first, then mover 0, mover 1, loads and stores, fetch. A mover may ask in every cycle, so
// the scalar side goes before the movers when it waited in the last cycle: it can prepare what
// follows their instructions. A grant comes in the cycle of its request, the row that it reads in
// the next.

module wse_memory (
  input  logic        clk_i,
  input  logic        clr_i,            // held: the scalar side does not wait

  input  logic        a_en_i,
  input  logic [15:0] a_we_i,
  input  logic [11:0] a_row_i,
  input  logic [31:0] a_wd0_i,
  input  logic [31:0] a_wd1_i,
  input  logic [31:0] a_wd2_i,
  input  logic [31:0] a_wd3_i,
  output logic [31:0] a_rd0_o,
  output logic [31:0] a_rd1_o,
  output logic [31:0] a_rd2_o,
  output logic [31:0] a_rd3_o,

  // service plane: 8 bytes, or a row of zeros
  input  logic        svc_rd_i,
  input  logic        svc_wr_i,
  input  logic [15:0] svc_addr_i,
  input  logic [31:0] svc_lo_i,
  input  logic [31:0] svc_hi_i,
  input  logic        scrub_i,
  input  logic [11:0] scrub_row_i,

  // requests: byte enables, 0: read; data for every word of the row
  input  logic        m0_req_i,
  input  logic [15:0] m0_we_i,
  input  logic [11:0] m0_row_i,
  input  logic [31:0] m0_wd_i,
  output logic        m0_gnt_o,
  input  logic        m1_req_i,
  input  logic [15:0] m1_we_i,
  input  logic [11:0] m1_row_i,
  input  logic [31:0] m1_wd_i,
  output logic        m1_gnt_o,
  input  logic        ls_req_i,
  input  logic [15:0] ls_we_i,
  input  logic [11:0] ls_row_i,
  input  logic [31:0] ls_wd_i,
  output logic        ls_gnt_o,
  input  logic        if_req_i,
  input  logic [11:0] if_row_i,
  output logic        if_gnt_o,

  // the row that port B has read
  output logic [31:0] rd0_o,
  output logic [31:0] rd1_o,
  output logic [31:0] rd2_o,
  output logic [31:0] rd3_o
);
  logic        svc, b_en;
  logic        late;                    // the scalar side waited in the last cycle
  logic [15:0] b_we;
  logic [11:0] b_row;
  logic [31:0] b_wd0, b_wd1, b_wd2, b_wd3;

  assign svc = svc_rd_i || svc_wr_i;
  assign b_en = svc || scrub_i || m0_req_i || m1_req_i || ls_req_i || if_req_i;
  always @(posedge clk_i) begin
    late <= !clr_i && ((ls_req_i && !ls_gnt_o) || (if_req_i && !if_gnt_o));
  end

  always_comb begin
    m0_gnt_o = 1'b0;
    m1_gnt_o = 1'b0;
    ls_gnt_o = 1'b0;
    if_gnt_o = 1'b0;
    b_we = '0;
    b_row = '0;
    b_wd0 = '0;
    b_wd1 = '0;
    b_wd2 = '0;
    b_wd3 = '0;
    if (b_en) begin
      if (svc) begin
        b_row = svc_addr_i[15:4];
        b_we = svc_rd_i ? '0 : svc_addr_i[3] ? 16'hff00 : 16'h00ff;
        b_wd0 = svc_lo_i;
        b_wd1 = svc_hi_i;
        b_wd2 = svc_lo_i;
        b_wd3 = svc_hi_i;
      end else if (scrub_i) begin
        b_row = scrub_row_i;
        b_we = '1;
      end else begin
        ls_gnt_o = ls_req_i && (late || !(m0_req_i || m1_req_i));
        if_gnt_o = if_req_i && !ls_req_i && (late || !(m0_req_i || m1_req_i));
        m0_gnt_o = m0_req_i && !ls_gnt_o && !if_gnt_o;
        m1_gnt_o = m1_req_i && !ls_gnt_o && !if_gnt_o && !m0_req_i;
        b_row = if_gnt_o ? if_row_i : m0_gnt_o ? m0_row_i : m1_gnt_o ? m1_row_i : ls_row_i;
        b_we = m0_gnt_o ? m0_we_i : m1_gnt_o ? m1_we_i : ls_gnt_o ? ls_we_i : '0;
        b_wd0 = m0_gnt_o ? m0_wd_i : m1_gnt_o ? m1_wd_i : ls_wd_i;
        b_wd1 = b_wd0;
        b_wd2 = b_wd0;
        b_wd3 = b_wd0;
      end
    end
  end

  wse_sram u_sram (
    .clk_i,
    .a_en_i,
    .a_we_i,
    .a_row_i,
    .a_wd0_i,
    .a_wd1_i,
    .a_wd2_i,
    .a_wd3_i,
    .a_rd0_o,
    .a_rd1_o,
    .a_rd2_o,
    .a_rd3_o,
    .b_en_i   (b_en),
    .b_we_i   (b_we),
    .b_row_i  (b_row),
    .b_wd0_i  (b_wd0),
    .b_wd1_i  (b_wd1),
    .b_wd2_i  (b_wd2),
    .b_wd3_i  (b_wd3),
    .b_rd0_o  (rd0_o),
    .b_rd1_o  (rd1_o),
    .b_rd2_o  (rd2_o),
    .b_rd3_o  (rd3_o)
  );

`ifndef SYNTHESIS
  always @(posedge clk_i) begin
    assert ($onehot0({svc || scrub_i, m0_gnt_o, m1_gnt_o, ls_gnt_o, if_gnt_o}))
      else $error("SRAM port B: more than one");
  end
`endif
endmodule
