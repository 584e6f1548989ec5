// SPDX-License-Identifier: MIT
// Buffer offset to bus address: a page list (one u64 per page) behind cached entries, or one
// contiguous piece. On a miss the user reads the entry at entry_addr_o and passes it to fill_*,
// with off_i stable meanwhile. The bits of an entry below the page size are ignored.
//
// A user goes through several runs of memory in turn, one for each ring {column, feature}, and
// their pages must not take each other's place. Rows of a feature lie side by side over all
// columns. Where the rows of a block begin less than a page apart they are neighbours, too; else a
// feature has an entry for each of as many neighbouring pages as there are columns. A column's run
// of its own (LINEAR) may lie anywhere: it has an entry of its own.

module wse_xlate #(
  parameter int unsigned COLS = 4,
  parameter int unsigned IW = $clog2(4 * COLS)
) (
  input  logic        clk_i,
  input  logic        clear_i,         // another list
  input  logic        direct_i,
  input  logic [63:0] base_i,          // of the list, or of the piece
  input  logic [4:0]  shift_i,         // log2 of the page size
  input  logic [63:0] off_i,
  input  logic [IW-1:0] ring_i,        // whose offset it is
  input  logic        own_i,           // the column has a run of its own
  input  logic [31:0] pitch_i,         // bytes from row to row
  output logic        hit_o,
  output logic [63:0] addr_o,
  output logic [63:0] entry_addr_o,
  input  logic        fill_i,
  input  logic [63:0] fill_data_i
);
  (* ram_style = "distributed" *) logic [51:0] page [2**IW];  // numbers (pages are 4 KiB at least)
  (* ram_style = "distributed" *) logic [63:0] addr [2**IW];
  logic [2**IW-1:0] valid;
  logic [63:0] index, low;
  logic [IW-1:0] slot;
  logic        near;

  assign index = off_i >> shift_i;
  assign low = (64'd1 << shift_i) - 64'd1;
  assign near = (pitch_i & ~low[31:0]) == '0;
  assign slot = own_i ? ring_i & ~IW'(3) : near ? IW'(index) :
      IW'(index << 2) | (ring_i & IW'(3));
  assign hit_o = direct_i || (valid[slot] && page[slot] == index[51:0]);
  assign addr_o = direct_i ? base_i + off_i : (addr[slot] & ~low) | (off_i & low);
  assign entry_addr_o = base_i + {index[60:0], 3'b0};

  always @(posedge clk_i) begin
    if (clear_i) valid <= '0;
    else if (fill_i) begin
      page[slot] <= index[51:0];
      addr[slot] <= fill_data_i;
      valid[slot] <= 1'b1;
    end
  end
endmodule
