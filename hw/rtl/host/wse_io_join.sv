// SPDX-License-Identifier: MIT
// One stream executor towards the queues, many groups of columns that do its work. It is done when
// all of them are; when one has failed it stops the others. The status is a DMA_ERROR if there is
// one, of the lowest group that has it, else any that is not OK; the port that waits is the lowest
// one of all.

module wse_io_join #(
  parameter int unsigned N = 2            // groups, lower columns first
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             go_i,
  input  logic             abort_i,
  input  logic [3:0]       abort_status_i,
  input  logic             ack_i,
  output logic             done_o,
  output logic [3:0]       status_o,
  output logic [63:0]      iova_o,
  output logic [15:0]      port_o,
  output logic [15:0]      nports_o,
  // to all groups
  output logic             abort_o,
  output logic [3:0]       abort_status_o,
  // of each
  input  logic [N-1:0]     done_i,
  input  logic [4*N-1:0]   status_i,
  input  logic [64*N-1:0]  iova_i,
  input  logic [16*N-1:0]  port_i,
  input  logic [16*N-1:0]  nports_i
);
  /*verilator no_inline_module*/

  localparam logic [3:0] StOk = 4'(wse_regs_pkg::ST_OK), StDma = 4'(wse_regs_pkg::ST_DMA_ERROR);

  logic        busy;                      // from the cycle after go on: statuses are this command's
  logic [3:0]  st;
  logic [15:0] n, all;

  // the queue's abort, or the end of the others without a trace
  assign abort_o = abort_i || (busy && status_i != '0);
  assign abort_status_o = abort_i ? abort_status_i : StOk;

  always @(posedge clk_i) begin : p_seq
    integer g;
    if (!rst_ni) begin
      busy <= 1'b0;
      done_o <= 1'b0;
    end else begin
      if (go_i) busy <= 1'b1;
      done_o <= &done_i && !ack_i;
      if (busy && &done_i) begin
        busy <= 1'b0;
        status_o <= StOk;
        iova_o <= '0;
        port_o <= '0;
        st = StOk;
        all = '0;
        for (g = N - 1; g >= 0; g--) begin
          n = nports_i[16*g +: 16];
          all = all + n;
          if (n != '0) port_o <= port_i[16*g +: 16];
          if (status_i[4*g +: 4] == StDma || (st != StDma && status_i[4*g +: 4] != StOk)) begin
            st = status_i[4*g +: 4];
            status_o <= st;
            iova_o <= iova_i[64*g +: 64];
          end
        end
        nports_o <= all;
      end
    end
  end
endmodule
