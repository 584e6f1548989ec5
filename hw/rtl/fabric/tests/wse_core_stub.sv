// SPDX-License-Identifier: MIT
// Replaces the core in the test of router and mesh: the bench drives the ramp.

module wse_core (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [15:0] row_i,
  input  logic [15:0] col_i,
  input  logic [15:0] rows_i,
  input  logic [15:0] cols_i,
  input  logic        tile_rst_i,
  output logic        tx_valid_o,
  output logic        tx_ctrl_o,
  output logic [4:0]  tx_color_o,
  output logic [31:0] tx_data_o,
  input  logic        tx_cr_valid_i,
  input  logic [4:0]  tx_cr_color_i,
  input  logic        rx_valid_i,
  input  logic        rx_ctrl_i,
  input  logic [4:0]  rx_color_i,
  input  logic [31:0] rx_data_i,
  output logic        rx_cr_valid_o,
  output logic [4:0]  rx_cr_color_o,
  input  logic        rn_valid_i,
  input  logic        rn_ctrl_i,
  input  logic [4:0]  rn_color_i,
  input  logic [31:0] rn_data_i,
  output logic        rn_cr_valid_o,
  output logic [4:0]  rn_cr_color_o,
  output logic        rt_we_o,
  output logic [4:0]  rt_color_o,
  output logic [7:0]  rt_cfg_o,
  input  logic        svc_sel_i,
  input  logic [3:0]  svc_op_i,
  input  logic [15:0] svc_addr_i,
  input  logic [31:0] svc_wdata_lo_i,
  input  logic [31:0] svc_wdata_hi_i,
  output logic [31:0] svc_rdata_lo_o,
  output logic [31:0] svc_rdata_hi_o,
  output logic        svc_busy_o,
  output logic        held_o,
  output logic        done_o,
  output logic [31:0] done_value_o,
  output logic        faulted_o,
  output logic [31:0] fault_cause_o,
  output logic [31:0] fault_pc_o,
  output logic [31:0] fault_addr_o,
  output logic [31:0] fault_color_o,
  output logic [31:0] fault_value_o,
  output logic [2:0]  any_o,
  output logic        moved_o,
  output logic [31:0] wait_cause_o,
  output logic [31:0] wait_color_o,
  output wse_regs_pkg::cnt_core_t cnt_o
);
  // written and read by the test bench between two clock edges, through the arrays of tb_mesh
  logic [6:0]  tx_head;
  logic [31:0] tx_data;
  logic [5:0]  rx_cr, rn_cr;
  logic [13:0] rt;                     // valid, color, config
  logic [3:0]  st;                     // held, done, with a value other than 0, faulted
  int          id;

  always @(posedge clk_i) begin
    id = int'(row_i) * int'(cols_i) + int'(col_i);
    tx_head = tb_mesh.tx_head[id];
    tx_data = tb_mesh.tx_data[id];
    rx_cr = tb_mesh.rx_cr[id];
    rn_cr = tb_mesh.rn_cr[id];
    rt = tb_mesh.rt[id];
    st = tb_mesh.st[id];
    tx_valid_o <= tx_head[6];
    tx_ctrl_o <= tx_head[5];
    tx_color_o <= tx_head[4:0];
    tx_data_o <= tx_data;
    rx_cr_valid_o <= rx_cr[5];
    rx_cr_color_o <= rx_cr[4:0];
    rn_cr_valid_o <= rn_cr[5];
    rn_cr_color_o <= rn_cr[4:0];
    rt_we_o <= rt[13];
    rt_color_o <= rt[12:8];
    rt_cfg_o <= rt[7:0];
    tb_mesh.rx_head[id] = {rx_valid_i, rx_ctrl_i, rx_color_i};
    tb_mesh.rx_data[id] = rx_data_i;
    tb_mesh.rn_head[id] = {rn_valid_i, rn_ctrl_i, rn_color_i};
    tb_mesh.rn_data[id] = rn_data_i;
    tb_mesh.tx_cr[id] = {tx_cr_valid_i, tx_cr_color_i};
  end
  assign svc_rdata_lo_o = '0;
  assign svc_rdata_hi_o = '0;
  assign svc_busy_o = 1'b0;
  assign {held_o, done_o, faulted_o} = {st[3:2], st[0]};
  assign done_value_o = {st[1], 31'd0};
  assign fault_cause_o = '0;
  assign fault_pc_o = '0;
  assign fault_addr_o = '0;
  assign fault_color_o = '0;
  assign fault_value_o = '0;
  assign any_o = {held_o, !done_o, faulted_o | (done_o & st[1])};
  assign moved_o = 1'b0;
  assign wait_cause_o = '0;
  assign wait_color_o = '0;
  // core n says that it made n + 1 multiply-adds in every cycle
  always_comb begin
    cnt_o = '0;
    cnt_o.mac = 4'(id + 1);
  end
endmodule
