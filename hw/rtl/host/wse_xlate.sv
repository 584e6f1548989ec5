// SPDX-License-Identifier: MIT
// Buffer offset to bus address: a page list (one u64 per page) behind four cached entries, or one
// contiguous piece. On a miss the user reads the entry at entry_addr_o and passes it to fill_*,
// with off_i stable meanwhile. The bits of an entry below the page size are ignored.

module wse_xlate (
  input  logic        clk_i,
  input  logic        clear_i,         // another list
  input  logic        direct_i,
  input  logic [63:0] base_i,          // of the list, or of the piece
  input  logic [4:0]  shift_i,         // log2 of the page size
  input  logic [63:0] off_i,
  output logic        hit_o,
  output logic [63:0] addr_o,
  output logic [63:0] entry_addr_o,
  input  logic        fill_i,
  input  logic [63:0] fill_data_i
);
  logic [51:0] page [4];               // page numbers remembered (pages are 4 KiB at least)
  logic [63:0] addr [4];
  logic [3:0]  valid;
  logic [63:0] index, low;

  assign index = off_i >> shift_i;
  assign low = (64'd1 << shift_i) - 64'd1;
  assign hit_o = direct_i || (valid[index[1:0]] && page[index[1:0]] == index[51:0]);
  assign addr_o = direct_i ? base_i + off_i : (addr[index[1:0]] & ~low) | (off_i & low);
  assign entry_addr_o = base_i + {index[60:0], 3'b0};

  always @(posedge clk_i) begin
    if (clear_i) valid <= '0;
    else if (fill_i) begin
      page[index[1:0]] <= index[51:0];
      addr[index[1:0]] <= fill_data_i;
      valid[index[1:0]] <= 1'b1;
    end
  end
endmodule
