// SPDX-License-Identifier: MIT
// The device of adder.c, its registers in the same places, as RTL: it reads the guest's memory word
// by word while the guest runs on. STATUS is 0 while it adds, and a GO then is without effect.

module adder (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        we_i,                // BAR0: a write, or the word that a read gets
  input  logic [9:0]  reg_i,               // the register's offset / 4
  input  logic [31:0] wdata_i,
  output logic [31:0] rdata_o,

  input  logic        master_i,            // the guest lets the device use its memory
  output logic        req_o,               // a word of memory, until ack_i
  output logic        req_we_o,
  output logic [63:0] req_iova_o,
  output logic [31:0] req_wdata_o,
  input  logic        ack_i,
  input  logic        ack_err_i,           // the guest has not mapped it
  input  logic [31:0] ack_rdata_i,

  output logic        busy_o,              // it needs its clock
  output logic        irq_o                // for one cycle
);
  localparam int unsigned MaxWords = 65536;
  localparam logic [9:0] Id = 10'd0, AddressLo = 10'd1, AddressHi = 10'd2, Count = 10'd3,
                         Go = 10'd4, Sum = 10'd5, Status = 10'd6;

  logic [31:0] address_lo, address_hi, count, sum, left;
  logic [63:0] iova;
  logic [1:0]  status;
  logic        busy, last;                 // last: the sum goes behind the words

  assign last = left == '0;
  assign busy_o = busy;
  assign req_o = busy && master_i;
  assign req_we_o = last;
  assign req_iova_o = iova;
  assign req_wdata_o = sum;

  always_comb begin
    unique case (reg_i)
      Id:        rdata_o = 32'h31444441;
      AddressLo: rdata_o = address_lo;
      AddressHi: rdata_o = address_hi;
      Count:     rdata_o = count;
      Sum:       rdata_o = status == 2'd1 ? sum : '0;
      Status:    rdata_o = {30'd0, status};
      default:   rdata_o = '0;
    endcase
  end

  always_ff @(posedge clk_i) begin
    irq_o <= 1'b0;
    if (we_i && reg_i == AddressLo) address_lo <= wdata_i;
    if (we_i && reg_i == AddressHi) address_hi <= wdata_i;
    if (we_i && reg_i == Count) count <= wdata_i;
    if (busy && (!master_i || (ack_i && (ack_err_i || last)))) begin
      busy <= 1'b0;
      irq_o <= 1'b1;
      status <= master_i && !ack_err_i ? 2'd1 : 2'd2;
    end else if (busy && ack_i) begin
      sum <= sum + ack_rdata_i;
      iova <= iova + 64'd4;
      left <= left - 32'd1;
    end else if (!busy && we_i && reg_i == Go) begin
      busy <= count <= MaxWords;
      irq_o <= count > MaxWords;
      status <= count > MaxWords ? 2'd2 : 2'd0;
      sum <= '0;
      iova <= {address_hi, address_lo};
      left <= count;
    end
    if (!rst_ni) begin
      {address_lo, address_hi, count, sum, left, iova, status} <= '0;
      busy <= 1'b0;
      irq_o <= 1'b0;
    end
  end
endmodule
