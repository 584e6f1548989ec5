// SPDX-License-Identifier: MIT
// The queue between stream DOT and the movers. A mover sees the head in the same cycle and reports
// one cycle later that it took it, so the head skips an element just taken.

module wse_dotq (
  input  logic        clk_i,
  input  logic        clr_i,

  input  logic        push_i,       // the lanes have made sure that there is room
  input  logic        end_i,
  input  logic [31:0] data_i,
  output logic [4:0]  count_o,

  input  logic        m0_pop_i,
  input  logic        m1_pop_i,
  output logic        valid_o,
  output logic        end_o,
  output logic [31:0] data_o
);
  localparam int unsigned Depth = wse_regs_pkg::DOTQ_DEPTH;
  localparam int unsigned PW = $clog2(Depth);

  logic [31:0] data [Depth];
  logic [Depth-1:0] ends;
  logic [PW-1:0] rp, wp, head;
  logic [4:0]  count, taken;

  assign count_o = count;
  always_comb begin
    taken = '0;
    head = '0;
    valid_o = 1'b0;
    end_o = 1'b0;
    data_o = '0;
    if (count != '0) begin
      taken = 5'(m0_pop_i) + 5'(m1_pop_i);
      head = rp + PW'(taken);
      valid_o = count > taken;
      end_o = ends[head];
      data_o = data[head];
    end
  end

  always @(posedge clk_i) begin
    if (clr_i) begin
      rp <= '0;
      wp <= '0;
      count <= '0;
      ends <= '0;
    end else if (push_i || m0_pop_i || m1_pop_i) begin
      if (push_i) begin
        data[wp] <= data_i;
        ends[wp] <= end_i;
        wp <= wp + 1'b1;
      end
      rp <= rp + PW'(taken);
      count <= count + 5'(push_i) - taken;
    end
  end

`ifndef SYNTHESIS
  always @(posedge clk_i) if (!clr_i) begin
    assert (!(push_i && 32'(count) == Depth)) else $error("DOT queue overflow");
    assert (count >= taken) else $error("DOT queue underflow");
  end
`endif
endmodule
