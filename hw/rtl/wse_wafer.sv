// SPDX-License-Identifier: MIT
// The wafer: ROWS x COLS cores, each with its router, the mesh between them, the edge links of the north and
// south ports, and what the host interface sees of all cores: the service plane, one core's status at a time,
// and sums for the counters.

module wse_wafer #(
  parameter int unsigned ROWS = 4,
  parameter int unsigned COLS = 4
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic            clear_i,            // context reset of cores and routers

  // north edge, one link per column: into input N of row 0
  input  logic [6:0]      north_head_i [COLS],
  input  logic [31:0]     north_data_i [COLS],
  output logic [5:0]      north_cr_o [COLS],
  // south edge: out of output S of the last row
  output logic [6:0]      south_head_o [COLS],
  output logic [31:0]     south_data_o [COLS],
  input  logic [5:0]      south_cr_i [COLS],

  // service plane: one operation a cycle to all cores in svc_rows x svc_cols
  input  logic [3:0]      svc_op_i,
  input  logic [15:0]     svc_addr_i,
  input  logic [31:0]     svc_wdata_lo_i,
  input  logic [31:0]     svc_wdata_hi_i,
  input  logic [ROWS-1:0] svc_rows_i,
  input  logic [COLS-1:0] svc_cols_i,
  input  logic [15:0]     svc_rd_core_i,      // whose read data comes back (row * COLS + col)
  output logic [31:0]     svc_rdata_lo_o,     // 4 cycles after the read was on svc_op_i
  output logic [31:0]     svc_rdata_hi_o,
  output logic            svc_busy_o,         // some core scrubs

  // status of core st_core_i, one cycle later
  input  logic            st_en_i,
  input  logic [15:0]     st_core_i,
  output logic            st_held_o,
  output logic            st_done_o,
  output logic [31:0]     st_done_value_o,
  output logic            st_faulted_o,
  output logic [31:0]     st_fault_cause_o,
  output logic [31:0]     st_fault_pc_o,
  output logic [31:0]     st_fault_addr_o,
  output logic [31:0]     st_fault_color_o,
  output logic [31:0]     st_fault_value_o,
  output logic [31:0]     st_wait_cause_o,
  output logic [31:0]     st_wait_color_o,

  // all cores together, one cycle late
  output logic            moved_o,            // an instruction retired, an engine or a router transferred
  output logic            any_fault_o,
  output logic [31:0]     sum_mac_o,          // of this cycle
  output logic [31:0]     sum_retire_o,
  output logic [31:0]     sum_wavelet_o,
  output logic [31:0]     sum_lwait_o
);

  localparam int unsigned NC = ROWS * COLS;

  // links, named after the output they leave: east_head[r][c] leaves core (r, c) to the east
  logic [6:0]  east_head [ROWS][COLS+1];
  logic [6:0]  west_head [ROWS][COLS+1];
  logic [6:0]  down_head [ROWS+1][COLS];
  logic [6:0]  up_head [ROWS+1][COLS];
  logic [31:0] east_data [ROWS][COLS+1];
  logic [31:0] west_data [ROWS][COLS+1];
  logic [31:0] down_data [ROWS+1][COLS];
  logic [31:0] up_data [ROWS+1][COLS];
  logic [5:0]  east_cr [ROWS][COLS+1];   // credits for the link of that name
  logic [5:0]  west_cr [ROWS][COLS+1];
  logic [5:0]  down_cr [ROWS+1][COLS];
  logic [5:0]  up_cr [ROWS+1][COLS];

  // status of the cores
  logic        held [NC];
  logic        done [NC];
  logic [31:0] done_value [NC];
  logic        faulted [NC];
  logic [31:0] fault_cause [NC];
  logic [31:0] fault_pc [NC];
  logic [31:0] fault_addr [NC];
  logic [31:0] fault_color [NC];
  logic [31:0] fault_value [NC];
  logic [31:0] wait_cause [NC];
  logic [31:0] wait_color [NC];
  logic        moved [NC];
  logic [3:0]  mac [NC];
  logic        retire [NC];
  logic        lwait [NC];
  logic        busy [NC];
  logic [2:0]  popped [NC];
  logic [31:0] rdata_lo [NC];
  logic [31:0] rdata_hi [NC];

  for (genvar c = 0; c < COLS; c++) begin : g_edge
    assign down_head[0][c] = north_head_i[c];
    assign down_data[0][c] = north_data_i[c];
    assign north_cr_o[c] = down_cr[0][c];
    assign south_head_o[c] = down_head[ROWS][c];
    assign south_data_o[c] = down_data[ROWS][c];
    assign down_cr[ROWS][c] = south_cr_i[c];
    assign up_head[ROWS][c] = '0;          // nothing enters from the south
    assign up_data[ROWS][c] = '0;
    assign up_cr[0][c] = '0;               // nothing leaves to the north
  end
  for (genvar r = 0; r < ROWS; r++) begin : g_side
    assign east_head[r][0] = '0;           // into column 0 from the west
    assign east_data[r][0] = '0;
    assign east_cr[r][COLS] = '0;
    assign west_head[r][COLS] = '0;
    assign west_data[r][COLS] = '0;
    assign west_cr[r][0] = '0;
  end

  for (genvar r = 0; r < ROWS; r++) begin : g_row
    for (genvar c = 0; c < COLS; c++) begin : g_col
      localparam int unsigned N = r * COLS + c;
      logic        c_tx_valid, c_tx_ctrl, c_rx_cr_valid, rt_we;
      logic [4:0]  c_tx_color, c_rx_cr_color, rt_color;
      logic [31:0] c_tx_data, c_rx_data;
      logic [7:0]  rt_cfg;
      logic [5:0]  c_tx_cr;
      logic [6:0]  c_rx_head;

      wse_core u_core (
        .clk_i,
        .rst_ni,
        .row_i           (16'(r)),
        .col_i           (16'(c)),
        .rows_i          (16'(ROWS)),
        .cols_i          (16'(COLS)),
        .tile_rst_i      (clear_i),
        .tx_valid_o      (c_tx_valid),
        .tx_ctrl_o       (c_tx_ctrl),
        .tx_color_o      (c_tx_color),
        .tx_data_o       (c_tx_data),
        .tx_cr_valid_i   (c_tx_cr[5]),
        .tx_cr_color_i   (c_tx_cr[4:0]),
        .rx_valid_i      (c_rx_head[6]),
        .rx_ctrl_i       (c_rx_head[5]),
        .rx_color_i      (c_rx_head[4:0]),
        .rx_data_i       (c_rx_data),
        .rx_cr_valid_o   (c_rx_cr_valid),
        .rx_cr_color_o   (c_rx_cr_color),
        .rt_we_o         (rt_we),
        .rt_color_o      (rt_color),
        .rt_cfg_o        (rt_cfg),
        .svc_sel_i       (svc_rows_i[r] & svc_cols_i[c]),
        .svc_op_i,
        .svc_addr_i,
        .svc_wdata_lo_i,
        .svc_wdata_hi_i,
        .svc_rdata_lo_o  (rdata_lo[N]),
        .svc_rdata_hi_o  (rdata_hi[N]),
        .svc_busy_o      (busy[N]),
        .held_o          (held[N]),
        .done_o          (done[N]),
        .done_value_o    (done_value[N]),
        .faulted_o       (faulted[N]),
        .fault_cause_o   (fault_cause[N]),
        .fault_pc_o      (fault_pc[N]),
        .fault_addr_o    (fault_addr[N]),
        .fault_color_o   (fault_color[N]),
        .fault_value_o   (fault_value[N]),
        .moved_o         (moved[N]),
        .wait_cause_o    (wait_cause[N]),
        .wait_color_o    (wait_color[N]),
        .mac_o           (mac[N]),
        .retire_o        (retire[N]),
        .lwait_o         (lwait[N])
      );

      wse_router u_router (
        .clk_i,
        .rst_ni,
        .clear_i,
        // up never leaves row 0; down leaves the last row to the south port
        .link_i      ({1'b1, c > 0, 1'b1, c < COLS - 1, r > 0}),
        .rx_n_head_i (down_head[r][c]),
        .rx_n_data_i (down_data[r][c]),
        .rx_n_cr_o   (down_cr[r][c]),
        .rx_e_head_i (west_head[r][c+1]),
        .rx_e_data_i (west_data[r][c+1]),
        .rx_e_cr_o   (west_cr[r][c+1]),
        .rx_s_head_i (up_head[r+1][c]),
        .rx_s_data_i (up_data[r+1][c]),
        .rx_s_cr_o   (up_cr[r+1][c]),
        .rx_w_head_i (east_head[r][c]),
        .rx_w_data_i (east_data[r][c]),
        .rx_w_cr_o   (east_cr[r][c]),
        .rx_r_head_i ({c_tx_valid, c_tx_ctrl, c_tx_color}),
        .rx_r_data_i (c_tx_data),
        .rx_r_cr_o   (c_tx_cr),
        .tx_n_head_o (up_head[r][c]),
        .tx_n_data_o (up_data[r][c]),
        .tx_n_cr_i   (up_cr[r][c]),
        .tx_e_head_o (east_head[r][c+1]),
        .tx_e_data_o (east_data[r][c+1]),
        .tx_e_cr_i   (east_cr[r][c+1]),
        .tx_s_head_o (down_head[r+1][c]),
        .tx_s_data_o (down_data[r+1][c]),
        .tx_s_cr_i   (down_cr[r+1][c]),
        .tx_w_head_o (west_head[r][c]),
        .tx_w_data_o (west_data[r][c]),
        .tx_w_cr_i   (west_cr[r][c]),
        .tx_r_head_o (c_rx_head),
        .tx_r_data_o (c_rx_data),
        .tx_r_cr_i   ({c_rx_cr_valid, c_rx_cr_color}),
        .rt_we_i     (rt_we),
        .rt_color_i  (rt_color),
        .rt_cfg_i    (rt_cfg),
        .popped_o    (popped[N])
      );
    end
  end

  // sums and selection; internal values blocking
  logic        mv, flt, bsy;
  logic [31:0] s_mac, s_ret, s_wav, s_lw;
  logic [15:0] rd_q0, rd_q1, rd_q2;

  always @(posedge clk_i) begin
    mv = 1'b0;
    flt = 1'b0;
    bsy = 1'b0;
    s_mac = '0;
    s_ret = '0;
    s_wav = '0;
    s_lw = '0;
    for (int i = 0; i < int'(NC); i++) begin
      s_wav = s_wav + 32'(popped[i]);
      mv = mv | moved[i];
      flt = flt | faulted[i];
      bsy = bsy | busy[i];
      s_mac = s_mac + 32'(mac[i]);
      s_ret = s_ret + 32'(retire[i]);
      s_lw = s_lw + 32'(lwait[i]);
    end
    moved_o <= mv | (s_wav != 32'd0);
    any_fault_o <= flt;
    svc_busy_o <= bsy;
    sum_mac_o <= s_mac;
    sum_retire_o <= s_ret;
    sum_wavelet_o <= s_wav;
    sum_lwait_o <= s_lw;

    // SRAM reads take 3 cycles in the core; which core is remembered beside them
    svc_rdata_lo_o <= rdata_lo[rd_q2];
    svc_rdata_hi_o <= rdata_hi[rd_q2];
    rd_q2 = rd_q1;
    rd_q1 = rd_q0;
    rd_q0 = svc_rd_core_i;

    if (st_en_i) begin
      st_held_o <= held[st_core_i];
      st_done_o <= done[st_core_i];
      st_done_value_o <= done_value[st_core_i];
      st_faulted_o <= faulted[st_core_i];
      st_fault_cause_o <= fault_cause[st_core_i];
      st_fault_pc_o <= fault_pc[st_core_i];
      st_fault_addr_o <= fault_addr[st_core_i];
      st_fault_color_o <= fault_color[st_core_i];
      st_fault_value_o <= fault_value[st_core_i];
      st_wait_cause_o <= wait_cause[st_core_i];
      st_wait_color_o <= wait_color[st_core_i];
    end
  end
endmodule
