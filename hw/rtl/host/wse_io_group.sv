// SPDX-License-Identifier: MIT
// The edge ports of a few columns with a bus of their own: both stream executors for these columns,
// and a bus master behind an AXI4 port. All groups of a tile get the same commands; each works on
// those of the command's columns that it has, and is done at once if it has none of them.

module wse_io_group #(
  parameter int unsigned COLS = 4         // of the group
) (
  input  logic        clk_i,
  input  logic        rst_ni,             // of the bus master
  input  logic        dev_rst_ni,         // of the rest
  input  logic        flush_i,
  output logic        quiet_o,
  input  logic        clear_i,
  input  logic [15:0] c0_i,               // the tile's column that is the first of these
  // commands; bit 0 and the first half: stream in, bit 1 and the second: stream out
  input  logic [1:0]  ld_i,
  input  logic [3:0]  ld_idx_i,
  input  logic [63:0] ld_word_i,
  input  logic [1:0]  go_i,
  input  logic [1:0]  abort_i,
  input  logic [3:0]  abort0_status_i,
  input  logic [3:0]  abort1_status_i,
  input  logic [1:0]  ack_i,
  output logic [1:0]  done_o,
  output logic [3:0]  status0_o,
  output logic [3:0]  status1_o,
  output logic [63:0] iova0_o,
  output logic [63:0] iova1_o,
  output logic [15:0] port0_o,
  output logic [15:0] port1_o,
  output logic [15:0] nports0_o,
  output logic [15:0] nports1_o,
  output logic [4:0]  color0_o,
  output logic [4:0]  color1_o,
  output logic        moved_o,
  output logic [3:0]  rd_bytes_o,
  output logic [3:0]  wr_bytes_o,
  // AXI4 master
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
  input  logic [1:0]  bresp_i,
  // links into the wafer and out of it, one per column
  output logic [7*COLS-1:0]  north_head_o,
  output logic [32*COLS-1:0] north_data_o,
  input  logic [6*COLS-1:0]  north_cr_i,
  input  logic [7*COLS-1:0]  south_head_i,
  input  logic [32*COLS-1:0] south_data_i,
  output logic [6*COLS-1:0]  south_cr_o
);
  /*verilator no_inline_module*/

  // clients of the bus master: those of rings and copies do not exist here
  logic [3:0]  rreq_valid, rreq_ready, rd_valid;
  logic [63:0] rreq_addr2, rreq_addr3, rd_data, rd_addr;
  logic [5:0]  rreq_beats2, rreq_beats3;
  logic [23:0] rreq_tag2, rreq_tag3, rd_tag;
  logic [4:0]  rd_beat;
  logic        rd_last, rd_err;
  logic [2:0]  wreq_valid, wreq_ready, wdat_valid, wdat_ready, wrsp_valid;
  logic [63:0] wreq_addr, wdat, wrsp_addr;
  logic [5:0]  wreq_beats;
  logic [7:0]  wstrb;
  logic        wrsp_err, in_moved, out_moved;

  assign rreq_valid[1:0] = '0;
  assign wreq_valid[1:0] = '0;
  assign wdat_valid[1:0] = '0;
  assign moved_o = in_moved | out_moved;

  wse_dma u_dma (
    .clk_i, .rst_ni, .flush_i, .quiet_o,
    .rreq_valid_i(rreq_valid), .rreq_ready_o(rreq_ready),
    .rreq_addr0_i('0), .rreq_addr1_i('0), .rreq_addr2_i(rreq_addr2), .rreq_addr3_i(rreq_addr3),
    .rreq_beats0_i('0), .rreq_beats1_i('0), .rreq_beats2_i(rreq_beats2),
    .rreq_beats3_i(rreq_beats3),
    .rreq_tag1_i('0), .rreq_tag2_i(rreq_tag2), .rreq_tag3_i(rreq_tag3),
    .rd_valid_o(rd_valid), .rd_data_o(rd_data), .rd_beat_o(rd_beat), .rd_last_o(rd_last),
    .rd_err_o(rd_err), .rd_tag_o(rd_tag), .rd_addr_o(rd_addr),
    .wreq_valid_i(wreq_valid), .wreq_ready_o(wreq_ready), .wreq_addr0_i('0), .wreq_addr1_i('0),
    .wreq_addr2_i(wreq_addr), .wreq_beats0_i('0), .wreq_beats1_i('0), .wreq_beats2_i(wreq_beats),
    .wdat_valid_i(wdat_valid), .wdat_ready_o(wdat_ready), .wdat_data0_i('0), .wdat_data1_i('0),
    .wdat_data2_i(wdat), .wdat_strb2_i(wstrb), .wrsp_valid_o(wrsp_valid), .wrsp_err_o(wrsp_err),
    .wrsp_addr_o(wrsp_addr), .rd_bytes_o, .wr_bytes_o,
    .arvalid_o, .arready_i, .araddr_o, .arlen_o, .rvalid_i, .rready_o, .rdata_i, .rresp_i, .rlast_i,
    .awvalid_o, .awready_i, .awaddr_o, .awlen_o, .wvalid_o, .wready_i, .wdata_o, .wstrb_o, .wlast_o,
    .bvalid_i, .bready_o, .bresp_i
  );

  wse_stream_in #(.COLS(COLS)) u_stream_in (
    .clk_i, .rst_ni(dev_rst_ni), .clear_i, .c0_i,
    .ld_i(ld_i[0]), .ld_idx_i, .ld_word_i, .go_i(go_i[0]), .abort_i(abort_i[0]),
    .abort_status_i(abort0_status_i), .done_o(done_o[0]), .status_o(status0_o), .iova_o(iova0_o),
    .port_o(port0_o), .nports_o(nports0_o), .color_o(color0_o), .moved_o(in_moved),
    .ack_i(ack_i[0]),
    .rreq_valid_o(rreq_valid[2]), .rreq_ready_i(rreq_ready[2]), .rreq_addr_o(rreq_addr2),
    .rreq_beats_o(rreq_beats2), .rreq_tag_o(rreq_tag2), .rd_valid_i(rd_valid[2]),
    .rd_data_i(rd_data),
    .rd_beat_i(rd_beat), .rd_last_i(rd_last), .rd_err_i(rd_err), .rd_tag_i(rd_tag),
    .rd_addr_i(rd_addr),
    .north_head_o, .north_data_o, .north_cr_i
  );

  // four columns fill the bus with gradients: bursts of 64 bytes hide the time to an answer
  wse_stream_out #(.COLS(COLS), .WORDS(8)) u_stream_out (
    .clk_i, .rst_ni(dev_rst_ni), .clear_i, .c0_i,
    .ld_i(ld_i[1]), .ld_idx_i, .ld_word_i, .go_i(go_i[1]), .abort_i(abort_i[1]),
    .abort_status_i(abort1_status_i), .done_o(done_o[1]), .status_o(status1_o), .iova_o(iova1_o),
    .port_o(port1_o), .nports_o(nports1_o), .color_o(color1_o), .moved_o(out_moved),
    .ack_i(ack_i[1]),
    .rreq_valid_o(rreq_valid[3]), .rreq_ready_i(rreq_ready[3]), .rreq_addr_o(rreq_addr3),
    .rreq_beats_o(rreq_beats3), .rreq_tag_o(rreq_tag3), .rd_valid_i(rd_valid[3]),
    .rd_data_i(rd_data),
    .rd_last_i(rd_last), .rd_err_i(rd_err), .rd_tag_i(rd_tag), .rd_addr_i(rd_addr),
    .wreq_valid_o(wreq_valid[2]), .wreq_ready_i(wreq_ready[2]), .wreq_addr_o(wreq_addr),
    .wreq_beats_o(wreq_beats), .wdat_valid_o(wdat_valid[2]), .wdat_ready_i(wdat_ready[2]),
    .wdat_data_o(wdat), .wdat_strb_o(wstrb), .wrsp_valid_i(wrsp_valid[2]), .wrsp_err_i(wrsp_err),
    .wrsp_addr_i(wrsp_addr), .south_head_i, .south_data_i, .south_cr_o
  );

  logic unused;
  assign unused = &{1'b0, rreq_ready[1:0], rd_valid[1:0], wreq_ready[1:0], wdat_ready[1:0],
      wrsp_valid[1:0]};
endmodule
