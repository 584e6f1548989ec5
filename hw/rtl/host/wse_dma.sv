// SPDX-License-Identifier: MIT
// The bus master: read and write bursts of up to four clients over one AXI4 port (64-bit, INCR, one
// id, answers in order). Clients must keep two rules: a burst lies within a 4 KiB page and is
// 8-byte aligned, and they take returned beats at once.
//
//   readers  0 submission entries, 1 copy, 2 stream in, 3 stream out
//   writers  0 completions and fault records, 1 copy, 2 stream out

module wse_dma (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        flush_i,       // device reset: take no requests, finish what the bus has seen
  output logic        quiet_o,       // no transaction outstanding

  input  logic [3:0]  rreq_valid_i,
  output logic [3:0]  rreq_ready_o,
  input  logic [63:0] rreq_addr0_i,
  input  logic [63:0] rreq_addr1_i,
  input  logic [63:0] rreq_addr2_i,
  input  logic [63:0] rreq_addr3_i,
  input  logic [5:0]  rreq_beats0_i, // 1 ... 32
  input  logic [5:0]  rreq_beats1_i,
  input  logic [5:0]  rreq_beats2_i,
  input  logic [5:0]  rreq_beats3_i,
  input  logic [23:0] rreq_tag1_i,   // comes back with every beat
  input  logic [23:0] rreq_tag2_i,
  input  logic [23:0] rreq_tag3_i,
  output logic [3:0]  rd_valid_o,    // a beat for this client
  output logic [63:0] rd_data_o,
  output logic [4:0]  rd_beat_o,
  output logic        rd_last_o,
  output logic        rd_err_o,
  output logic [23:0] rd_tag_o,
  output logic [63:0] rd_addr_o,     // of the burst

  input  logic [2:0]  wreq_valid_i,
  output logic [2:0]  wreq_ready_o,
  input  logic [63:0] wreq_addr0_i,
  input  logic [63:0] wreq_addr1_i,
  input  logic [63:0] wreq_addr2_i,
  input  logic [5:0]  wreq_beats0_i,
  input  logic [5:0]  wreq_beats1_i,
  input  logic [5:0]  wreq_beats2_i,
  input  logic [2:0]  wdat_valid_i,  // beats follow their request
  output logic [2:0]  wdat_ready_o,
  input  logic [63:0] wdat_data0_i,
  input  logic [63:0] wdat_data1_i,
  input  logic [63:0] wdat_data2_i,
  input  logic [7:0]  wdat_strb2_i,  // the others write whole words
  output logic [2:0]  wrsp_valid_o,
  output logic        wrsp_err_o,
  output logic [63:0] wrsp_addr_o,

  output logic [3:0]  rd_bytes_o,    // moved in the last cycle, for the counters
  output logic [3:0]  wr_bytes_o,

  output logic        arvalid_o,
  input  logic        arready_i,
  output logic [63:0] araddr_o,
  output logic [7:0]  arlen_o,
  input  logic        rvalid_i,
  output logic        rready_o,
  input  logic [63:0] rdata_i,
  input  logic [1:0]  rresp_i,
  input  logic        rlast_i,
  output logic        awvalid_o,
  input  logic        awready_i,
  output logic [63:0] awaddr_o,
  output logic [7:0]  awlen_o,
  output logic        wvalid_o,
  input  logic        wready_i,
  output logic [63:0] wdata_o,
  output logic [7:0]  wstrb_o,
  output logic        wlast_o,
  input  logic        bvalid_i,
  output logic        bready_o,
  input  logic [1:0]  bresp_i
);
  /*verilator no_inline_module*/

  localparam int unsigned RN = 64;       // reads outstanding
  localparam int unsigned WN = 32;       // writes outstanding

  // ---- reads: their clients, in order ----
  logic [1:0]  rf_client [RN];
  logic [23:0] rf_tag [RN];
  logic [63:0] rf_addr [RN];
  logic [6:0]  rf_wp, rf_rp;
  logic [4:0]  beat;
  logic [1:0]  rlast_client;             // round robin
  logic [1:0]  rsel;
  logic        rgo;

  always_comb begin
    rsel = '0;
    rgo = 1'b0;
    rreq_ready_o = '0;
    if (rreq_valid_i != '0) begin
      rsel = rlast_client + 2'd1;
      if (!rreq_valid_i[rsel]) rsel = rlast_client + 2'd2;
      if (!rreq_valid_i[rsel]) rsel = rlast_client + 2'd3;
      if (!rreq_valid_i[rsel]) rsel = rlast_client;
      rgo = !flush_i && (!arvalid_o || arready_i) && (rf_wp - rf_rp != 7'(RN));
      rreq_ready_o = rgo ? 4'b1 << rsel : 4'b0;
    end
  end

  // ---- writes ----
  logic [1:0]  wf_client [WN];
  logic [63:0] wf_addr [WN];
  logic [5:0]  wf_wp, wf_rp;
  logic [1:0]  wlast_client, wsel, wcur;
  logic        wgo, wbusy, wtake, wend;
  logic [5:0]  wleft;

  always_comb begin
    wsel = '0;
    wtake = 1'b0;
    wend = 1'b0;
    wgo = 1'b0;
    wreq_ready_o = '0;
    wdat_ready_o = '0;
    if (wbusy) begin
      wtake = !wvalid_o || wready_i;
      // the next burst follows in the next cycle
      wend = wtake && wdat_valid_i[wcur] && wleft == 6'd1;
      wdat_ready_o = (wtake && !flush_i) ? 3'b1 << wcur : 3'b0;
    end
    if (wreq_valid_i != '0) begin
      wsel = (wlast_client == 2'd2) ? 2'd0 : wlast_client + 2'd1;
      if (!wreq_valid_i[wsel]) wsel = (wsel == 2'd2) ? 2'd0 : wsel + 2'd1;
      if (!wreq_valid_i[wsel]) wsel = (wsel == 2'd2) ? 2'd0 : wsel + 2'd1;
      wgo = !flush_i && (!wbusy || wend) && (!awvalid_o || awready_i) && (wf_wp - wf_rp != 6'(WN));
      wreq_ready_o = wgo ? 3'b1 << wsel : 3'b0;
    end
  end

  assign rready_o = 1'b1;
  assign bready_o = 1'b1;
  assign quiet_o = (rf_wp == rf_rp) && (wf_wp == wf_rp) && !wbusy && !wvalid_o && !awvalid_o &&
      !arvalid_o;

  function automatic logic [3:0] ones8(input logic [7:0] x);
    ones8 = 4'(x[0]) + 4'(x[1]) + 4'(x[2]) + 4'(x[3]) + 4'(x[4]) + 4'(x[5]) + 4'(x[6]) + 4'(x[7]);
  endfunction

  logic [63:0] ra, wa, wd;
  logic [5:0]  rb, wb;
  logic [23:0] rt;
  logic [7:0]  ws;

  // Inputs of the grants change by non-blocking assignment only: clients see the same grants as
  // this process.
  always @(posedge clk_i) begin
    if (!rst_ni) begin
      rf_wp <= '0; rf_rp <= '0;
      wf_wp <= '0; wf_rp <= '0;
      beat <= '0;
      rlast_client <= '0; wlast_client <= '0;
      wbusy <= 1'b0; wleft <= '0; wcur <= '0;
      arvalid_o <= 1'b0; awvalid_o <= 1'b0; wvalid_o <= 1'b0;
      rd_valid_o <= '0; wrsp_valid_o <= '0;
      rd_bytes_o <= '0; wr_bytes_o <= '0;
    end else begin
      // answers
      rd_valid_o <= '0;
      rd_bytes_o <= '0;
      if (rvalid_i) begin
        rd_valid_o <= flush_i ? 4'b0 : 4'b1 << rf_client[rf_rp[5:0]];
        rd_data_o <= rdata_i;
        rd_beat_o <= beat;
        rd_last_o <= rlast_i;
        rd_err_o <= rresp_i[1];
        rd_tag_o <= rf_tag[rf_rp[5:0]];
        rd_addr_o <= rf_addr[rf_rp[5:0]];
        rd_bytes_o <= rresp_i[1] ? 4'd0 : 4'd8;
        beat <= rlast_i ? 5'd0 : beat + 5'd1;
        if (rlast_i) rf_rp <= rf_rp + 7'd1;
      end
      wrsp_valid_o <= '0;
      if (bvalid_i) begin
        wrsp_valid_o <= flush_i ? 3'b0 : 3'b1 << wf_client[wf_rp[4:0]];
        wrsp_err_o <= bresp_i[1];
        wrsp_addr_o <= wf_addr[wf_rp[4:0]];
        wf_rp <= wf_rp + 6'd1;
      end
      // requests
      if (arready_i) arvalid_o <= 1'b0;
      if (rgo) begin
        case (rsel)
          2'd0:    begin ra = rreq_addr0_i; rb = rreq_beats0_i; rt = '0; end
          2'd1:    begin ra = rreq_addr1_i; rb = rreq_beats1_i; rt = rreq_tag1_i; end
          2'd2:    begin ra = rreq_addr2_i; rb = rreq_beats2_i; rt = rreq_tag2_i; end
          default: begin ra = rreq_addr3_i; rb = rreq_beats3_i; rt = rreq_tag3_i; end
        endcase
        arvalid_o <= 1'b1;
        araddr_o <= ra;
        arlen_o <= 8'(rb) - 8'd1;
        rf_client[rf_wp[5:0]] <= rsel;
        rf_tag[rf_wp[5:0]] <= rt;
        rf_addr[rf_wp[5:0]] <= ra;
        rf_wp <= rf_wp + 7'd1;
        rlast_client <= rsel;
      end

      if (awready_i) awvalid_o <= 1'b0;
      if (wready_i) wvalid_o <= 1'b0;
      wr_bytes_o <= '0;
      if (wtake && (flush_i || wdat_valid_i[wcur])) begin
        case (wcur)
          2'd0:    begin wd = wdat_data0_i; ws = 8'hff; end
          2'd1:    begin wd = wdat_data1_i; ws = 8'hff; end
          default: begin wd = wdat_data2_i; ws = wdat_strb2_i; end
        endcase
        if (flush_i) ws = 8'h00;          // the burst must end, but the client is gone
        wdata_o <= wd;
        wstrb_o <= ws;
        wlast_o <= wleft == 6'd1;
        wvalid_o <= 1'b1;
        wleft <= wleft - 6'd1;
        wbusy <= wleft != 6'd1;
        wr_bytes_o <= ones8(ws);
      end
      if (wgo) begin
        case (wsel)
          2'd0:    begin wa = wreq_addr0_i; wb = wreq_beats0_i; end
          2'd1:    begin wa = wreq_addr1_i; wb = wreq_beats1_i; end
          default: begin wa = wreq_addr2_i; wb = wreq_beats2_i; end
        endcase
        awvalid_o <= 1'b1;
        awaddr_o <= wa;
        awlen_o <= 8'(wb) - 8'd1;
        wf_client[wf_wp[4:0]] <= wsel;
        wf_addr[wf_wp[4:0]] <= wa;
        wf_wp <= wf_wp + 6'd1;
        wlast_client <= wsel;
        wcur <= wsel;
        wleft <= wb;
        wbusy <= 1'b1;
      end
    end
  end

`ifndef SYNTHESIS
  always @(posedge clk_i) begin
    if (rst_ni) begin
      RdAligned: assert (!arvalid_o || (araddr_o[2:0] == 3'd0 && arlen_o < 8'd32))
          else $error("read burst");
      RdInPage: assert (!arvalid_o || 13'(araddr_o[11:3]) + 13'(arlen_o) < 13'd512)
          else $error("read over a page");
      WrAligned: assert (!awvalid_o || (awaddr_o[2:0] == 3'd0 && awlen_o < 8'd32))
          else $error("write burst");
      WrInPage: assert (!awvalid_o || 13'(awaddr_o[11:3]) + 13'(awlen_o) < 13'd512)
          else $error("write over a page");
    end
  end
`endif
endmodule
