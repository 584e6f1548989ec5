// SPDX-License-Identifier: MIT
// One stream executor towards the queues, many groups of columns that do its work. It is done when
// all of them are; when one has failed it stops the others. The status is a DMA_ERROR if there is
// one, of the lowest group that has it, else any that is not OK; the port that waits is the lowest
// one of all.
//
// A group that has been stopped rests when its bus has answered all that it was asked. A bus gets
// GRACE cycles for that; then the command ends without the group, whose first column is named. The
// executor is held until the group rests: what comes late is never another command's.

module wse_io_join #(
  parameter int unsigned N = 2,           // groups, lower columns first
  parameter int unsigned COLS = 4,        // of a group
  parameter int unsigned GRACE = 16384
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             go_i,
  input  logic             abort_i,
  input  logic [3:0]       abort_status_i,
  input  logic             ack_i,
  output logic             done_o,
  output logic             held_o,        // after ack: takes no command yet
  output logic [3:0]       status_o,
  output logic [63:0]      iova_o,
  output logic             bus_o,         // port_o, nports_o: buses that have not answered
  output logic [15:0]      port_o,
  output logic [15:0]      nports_o,
  // to all groups
  output logic             abort_o,
  output logic [3:0]       abort_status_o,
  output logic             ack_o,
  // of each
  input  logic [N-1:0]     done_i,
  input  logic [4*N-1:0]   status_i,
  input  logic [64*N-1:0]  iova_i,
  input  logic [16*N-1:0]  port_i,
  input  logic [16*N-1:0]  nports_i
);
  /*verilator no_inline_module*/

  localparam int unsigned GW = $clog2(GRACE + 1);
  localparam logic [3:0] StOk = 4'(wse_regs_pkg::ST_OK), StDma = 4'(wse_regs_pkg::ST_DMA_ERROR);

  logic          busy;                    // from the cycle after go on: statuses are this command's
  logic          stopped;
  logic [GW-1:0] left;                    // cycles that stopped groups still get
  logic [3:0]    st;
  logic [15:0]   n, all, silent;

  // the queue's abort, or the end of the others without a trace
  assign abort_o = abort_i || (busy && status_i != '0);
  assign abort_status_o = abort_i ? abort_status_i : StOk;
  // groups that are done stay so until all are
  assign ack_o = (ack_i || held_o) && &done_i;

  always @(posedge clk_i) begin : p_seq
    integer g;
    if (!rst_ni) begin
      busy <= 1'b0;
      stopped <= 1'b0;
      held_o <= 1'b0;
      done_o <= 1'b0;
    end else begin
      if (go_i) begin
        busy <= 1'b1;
        stopped <= 1'b0;
        left <= GW'(GRACE);
      end else if (busy) begin
        stopped <= stopped || abort_o;
        if (stopped && left != '0) left <= left - GW'(1);
      end
      if (ack_i) begin
        done_o <= 1'b0;
        held_o <= !(&done_i);
      end else if (&done_i) held_o <= 1'b0;
      if (busy && (&done_i || left == '0)) begin
        busy <= 1'b0;
        done_o <= 1'b1;
        status_o <= StOk;
        iova_o <= '0;
        port_o <= '0;
        st = StOk;
        all = '0;
        silent = '0;
        for (g = N - 1; g >= 0; g--) begin
          n = nports_i[16*g +: 16];
          all = all + n;
          if (n != '0 && silent == '0) port_o <= port_i[16*g +: 16];
          if (!done_i[g]) begin
            silent = silent + 16'd1;
            port_o <= 16'(COLS * g);
          end
          if (status_i[4*g +: 4] == StDma || (st != StDma && status_i[4*g +: 4] != StOk)) begin
            st = status_i[4*g +: 4];
            status_o <= st;
            iova_o <= iova_i[64*g +: 64];
          end
        end
        bus_o <= silent != '0;
        nports_o <= silent != '0 ? silent : all;
      end
    end
  end
endmodule
