// SPDX-License-Identifier: MIT
// The wafer: ROWS x COLS cores, each with its router, the mesh between them, the edge links of the
// north and south ports, and the host interface's view of all cores: the service plane, one core's
// status at a time, and the counters of cores and links.

module wse_wafer #(
  parameter int unsigned ROWS = 4,
  parameter int unsigned COLS = 4,
  parameter int unsigned NS = 1               // parts of the service plane, of COLS / NS columns
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic            clear_i,            // context reset of cores and routers

  // north edge, one link per column: into input N of row 0
  input  logic [7*COLS-1:0]  north_head_i,
  input  logic [32*COLS-1:0] north_data_i,
  output logic [6*COLS-1:0]  north_cr_o,
  // south edge: out of output S of the last row
  output logic [7*COLS-1:0]  south_head_o,
  output logic [32*COLS-1:0] south_data_o,
  input  logic [6*COLS-1:0]  south_cr_i,

  // service plane: in each part one operation a cycle to all its cores in svc_rows x svc_cols
  input  logic [4*NS-1:0]  svc_op_i,
  input  logic [16*NS-1:0] svc_addr_i,
  // whose read data comes back: row * columns of the part + column of it
  input  logic [24*NS-1:0] svc_rd_core_i,
  input  logic [32*NS-1:0] svc_wdata_lo_i,
  input  logic [32*NS-1:0] svc_wdata_hi_i,
  input  logic [ROWS*NS-1:0] svc_rows_i,
  input  logic [COLS-1:0] svc_cols_i,
  output logic [32*NS-1:0] svc_rdata_lo_o,    // 4 cycles after the read was on svc_op_i
  output logic [32*NS-1:0] svc_rdata_hi_o,
  output logic            svc_busy_o,         // some core scrubs

  // status of core st_core_i, one cycle later
  input  logic            st_en_i,
  input  logic [23:0]     st_core_i,
  output wse_port_pkg::status_t st_o,
  // the cores of st_rows x st_cols together, 2 cycles late: a register for each row, one for all
  input  logic [ROWS-1:0] st_rows_i,
  input  logic [COLS-1:0] st_cols_i,
  output wse_port_pkg::any_t st_any_o,

  // all cores together, one cycle late
  // an instruction retired, an engine or a router transferred
  output logic            moved_o,
  output logic            any_fault_o,
  // counters: the sum of all counts of a cycle, in lanes of 16 bits; and one counter of one core or
  // link
  output logic [16*wse_regs_pkg::CNT_CORE_N-1:0] cnt_core_o,
  output logic [16*wse_regs_pkg::CNT_LINK_N-1:0] cnt_link_o,
  input  logic [31:0]     cnt_sel_i,
  output logic [63:0]     cnt_val_o           // 2 cycles after cnt_sel_i
);

  localparam int unsigned NC = ROWS * COLS;
  localparam int unsigned IW = (NC > 1) ? $clog2(NC) : 1;
  localparam int unsigned SC = COLS / NS, SI = ROWS * SC;  // columns and cores of a part

  // status of the cores
  logic [2:0]  any_of [NC];                   // as any_t
  // the rest of it is looked at while the executor of START names cores, data while a read returns
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
  logic [wse_regs_pkg::CNT_CORE_BITS-1:0] counts [NC];
  logic        busy [NC];
  logic [2:0]  popped [NC];
  logic [3:0]  sent [NC];                     // by the ports to the neighbours
  logic [31:0] rdata_lo [NC];                 // part after part
  logic [31:0] rdata_hi [NC];
  logic [3*NS-1:0] rd_on;                     // a read is on its way: in the core, back

  for (genvar r = 0; r < ROWS; r++) begin : g_row
    for (genvar c = 0; c < COLS; c++) begin : g_col
      localparam int unsigned N = r * COLS + c;
      localparam int unsigned S = c / SC;                // part of the service plane
      localparam int unsigned SN = S * SI + r * SC + c % SC;
      logic        c_tx_valid, c_tx_ctrl, c_rx_cr_valid, c_rn_cr_valid, rt_we;
      logic [4:0]  c_tx_color, c_rx_cr_color, c_rn_cr_color, rt_color;
      logic [31:0] c_tx_data, c_rx_data, c_rn_data;
      logic [7:0]  rt_cfg;
      logic        c_held, c_done;
      logic [31:0] c_rdata_lo, c_rdata_hi, c_value, c_fault_cause, c_fault_pc, c_fault_addr,
          c_fault_color, c_fault_value, c_wait_cause, c_wait_color;
      logic [5:0]  c_tx_cr;
      logic [6:0]  c_rx_head, c_rn_head;
      // Links: outputs of this router (o_), their arrival at this router from the neighbours (i_),
      // the credits that it returns for its inputs (b_) and gets for its outputs (a_). Named wires
      // rather than arrays: simulation reads the neighbour itself.
      logic [6:0]  o_n_head, o_e_head, o_s_head, o_w_head, i_n_head, i_e_head, i_s_head, i_w_head;
      logic [31:0] o_n_data, o_e_data, o_s_data, o_w_data, i_n_data, i_e_data, i_s_data, i_w_data;
      logic [5:0]  b_n_cr, b_e_cr, b_s_cr, b_w_cr, a_n_cr, a_e_cr, a_s_cr, a_w_cr;
      // Registers, not constants: so the cores stay one function in simulation, and one netlist.
      logic [15:0] row_q, col_q;

      always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
          row_q <= 16'(r);
          col_q <= 16'(c);
        end
      end

      if (r == 0) begin : g_n
        assign i_n_head = north_head_i[7*c +: 7];
        assign i_n_data = north_data_i[32*c +: 32];
        assign north_cr_o[6*c +: 6] = b_n_cr;
        assign a_n_cr = '0;
      end else begin : g_n
        assign i_n_head = g_row[r-1].g_col[c].o_s_head;
        assign i_n_data = g_row[r-1].g_col[c].o_s_data;
        assign a_n_cr = g_row[r-1].g_col[c].b_s_cr;
      end
      if (r == ROWS - 1) begin : g_s
        assign south_head_o[7*c +: 7] = o_s_head;
        assign south_data_o[32*c +: 32] = o_s_data;
        assign a_s_cr = south_cr_i[6*c +: 6];
        assign i_s_head = '0;              // nothing enters from the south
        assign i_s_data = '0;
      end else begin : g_s
        assign i_s_head = g_row[r+1].g_col[c].o_n_head;
        assign i_s_data = g_row[r+1].g_col[c].o_n_data;
        assign a_s_cr = g_row[r+1].g_col[c].b_n_cr;
      end
      if (c == COLS - 1) begin : g_e
        assign i_e_head = '0;
        assign i_e_data = '0;
        assign a_e_cr = '0;
      end else begin : g_e
        assign i_e_head = g_row[r].g_col[c+1].o_w_head;
        assign i_e_data = g_row[r].g_col[c+1].o_w_data;
        assign a_e_cr = g_row[r].g_col[c+1].b_w_cr;
      end
      if (c == 0) begin : g_w
        assign i_w_head = '0;
        assign i_w_data = '0;
        assign a_w_cr = '0;
      end else begin : g_w
        assign i_w_head = g_row[r].g_col[c-1].o_e_head;
        assign i_w_data = g_row[r].g_col[c-1].o_e_data;
        assign a_w_cr = g_row[r].g_col[c-1].b_e_cr;
      end

      wse_core u_core (
        .clk_i,
        .rst_ni,
        .row_i           (row_q),
        .col_i           (col_q),
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
        .rn_valid_i      (c_rn_head[6]),
        .rn_ctrl_i       (c_rn_head[5]),
        .rn_color_i      (c_rn_head[4:0]),
        .rn_data_i       (c_rn_data),
        .rn_cr_valid_o   (c_rn_cr_valid),
        .rn_cr_color_o   (c_rn_cr_color),
        .rt_we_o         (rt_we),
        .rt_color_o      (rt_color),
        .rt_cfg_o        (rt_cfg),
        .svc_sel_i       (svc_op_i[4*S +: 4] != '0 && 1'(svc_rows_i[ROWS*S +: ROWS] >> row_q) &&
                          1'(svc_cols_i >> col_q)),
        .svc_op_i        (svc_op_i[4*S +: 4]),
        .svc_addr_i      (svc_addr_i[16*S +: 16]),
        .svc_wdata_lo_i  (svc_wdata_lo_i[32*S +: 32]),
        .svc_wdata_hi_i  (svc_wdata_hi_i[32*S +: 32]),
        .svc_rdata_lo_o  (c_rdata_lo),
        .svc_rdata_hi_o  (c_rdata_hi),
        .svc_busy_o      (busy[N]),
        .held_o          (c_held),
        .done_o          (c_done),
        .done_value_o    (c_value),
        .faulted_o       (faulted[N]),
        .fault_cause_o   (c_fault_cause),
        .fault_pc_o      (c_fault_pc),
        .fault_addr_o    (c_fault_addr),
        .fault_color_o   (c_fault_color),
        .fault_value_o   (c_fault_value),
        .any_o           (any_of[N]),
        .moved_o         (moved[N]),
        .wait_cause_o    (c_wait_cause),
        .wait_color_o    (c_wait_color),
        .cnt_o           (counts[N])
      );
      assign held[N] = st_en_i ? c_held : 1'b0;
      assign done[N] = st_en_i ? c_done : 1'b0;
      assign done_value[N] = st_en_i ? c_value : '0;
      assign fault_cause[N] = st_en_i ? c_fault_cause : '0;
      assign fault_pc[N] = st_en_i ? c_fault_pc : '0;
      assign fault_addr[N] = st_en_i ? c_fault_addr : '0;
      assign fault_color[N] = st_en_i ? c_fault_color : '0;
      assign fault_value[N] = st_en_i ? c_fault_value : '0;
      assign wait_cause[N] = st_en_i ? c_wait_cause : '0;
      assign wait_color[N] = st_en_i ? c_wait_color : '0;
      assign rdata_lo[SN] = rd_on[3*S+2] ? c_rdata_lo : '0;
      assign rdata_hi[SN] = rd_on[3*S+2] ? c_rdata_hi : '0;
      assign sent[N] = {o_w_head[6], o_s_head[6], o_e_head[6], o_n_head[6]};

      wse_router u_router (
        .clk_i,
        .rst_ni,
        .clear_i,
        // up never leaves row 0; down leaves the last row to the south port
        .link_i      ({1'b1, col_q != 16'd0, 1'b1, col_q != 16'(COLS - 1), row_q != 16'd0}),
        .rx_n_head_i (i_n_head),
        .rx_n_data_i (i_n_data),
        .rx_n_cr_o   (b_n_cr),
        .rx_e_head_i (i_e_head),
        .rx_e_data_i (i_e_data),
        .rx_e_cr_o   (b_e_cr),
        .rx_s_head_i (i_s_head),
        .rx_s_data_i (i_s_data),
        .rx_s_cr_o   (b_s_cr),
        .rx_w_head_i (i_w_head),
        .rx_w_data_i (i_w_data),
        .rx_w_cr_o   (b_w_cr),
        .rx_r_valid_i (c_tx_valid),
        .rx_r_ctrl_i (c_tx_ctrl),
        .rx_r_color_i (c_tx_color),
        .rx_r_data_i (c_tx_data),
        .rx_r_cr_o   (c_tx_cr),
        .tx_n_head_o (o_n_head),
        .tx_n_data_o (o_n_data),
        .tx_n_cr_i   (a_n_cr),
        .tx_e_head_o (o_e_head),
        .tx_e_data_o (o_e_data),
        .tx_e_cr_i   (a_e_cr),
        .tx_s_head_o (o_s_head),
        .tx_s_data_o (o_s_data),
        .tx_s_cr_i   (a_s_cr),
        .tx_w_head_o (o_w_head),
        .tx_w_data_o (o_w_data),
        .tx_w_cr_i   (a_w_cr),
        .tx_r_head_o (c_rx_head),
        .tx_r_data_o (c_rx_data),
        .tx_r_cr_valid_i (c_rx_cr_valid),
        .tx_r_cr_color_i (c_rx_cr_color),
        .tx_rn_head_o (c_rn_head),
        .tx_rn_data_o (c_rn_data),
        .tx_rn_cr_valid_i (c_rn_cr_valid),
        .tx_rn_cr_color_i (c_rn_cr_color),
        .rt_we_i     (rt_we),
        .rt_color_i  (rt_color),
        .rt_cfg_i    (rt_cfg),
        .popped_o    (popped[N])
      );
    end
  end

  // sums and selection; internal values blocking
  logic        mv, flt, bsy;
  logic        r_held [ROWS];                 // of START's cores in each row
  logic        r_open [ROWS];
  logic        r_bad [ROWS];
  wse_port_pkg::any_t any;
  logic [23:0] rd_q0 [NS], rd_q1 [NS], rd_q2 [NS];

  always @(posedge clk_i) begin : p_seq
    integer i, k;
    mv = 1'b0;
    flt = 1'b0;
    bsy = 1'b0;
    for (i = 0; i < NC; i++) begin
      mv = mv | moved[i] | (popped[i] != 3'd0);
      flt = flt | faulted[i];
      bsy = bsy | busy[i];
    end
    moved_o <= mv;
    any_fault_o <= flt;
    svc_busy_o <= bsy;

    any = '0;
    for (i = 0; i < ROWS; i++) any = any | {r_held[i], r_open[i], r_bad[i]};
    st_any_o <= any;
    for (i = 0; i < ROWS; i++) begin
      any = '0;
      if (st_rows_i[i])
        for (k = 0; k < COLS; k++) any = any | (any_of[i * COLS + k] & {3{st_cols_i[k]}});
      {r_held[i], r_open[i], r_bad[i]} = any;
    end

    // SRAM reads take 3 cycles in the core; the number of the core travels beside them
    for (i = 0; i < NS; i++) begin
      svc_rdata_lo_o[32*i +: 32] <= rdata_lo[IW'(SI * i) + IW'(rd_q2[i])];
      svc_rdata_hi_o[32*i +: 32] <= rdata_hi[IW'(SI * i) + IW'(rd_q2[i])];
      rd_q2[i] = rd_q1[i];
      rd_q1[i] = rd_q0[i];
      rd_q0[i] = svc_rd_core_i[24*i +: 24];
      rd_on[3*i +: 3] <= {rd_on[3*i +: 2], svc_op_i[4*i +: 4] == 4'd2};
    end

    if (st_en_i) begin
      st_o.held <= held[IW'(st_core_i)];
      st_o.done <= done[IW'(st_core_i)];
      st_o.done_value <= done_value[IW'(st_core_i)];
      st_o.faulted <= faulted[IW'(st_core_i)];
      st_o.fault_cause <= fault_cause[IW'(st_core_i)];
      st_o.fault_pc <= fault_pc[IW'(st_core_i)];
      st_o.fault_addr <= fault_addr[IW'(st_core_i)];
      st_o.fault_color <= fault_color[IW'(st_core_i)];
      st_o.fault_value <= fault_value[IW'(st_core_i)];
      st_o.wait_cause <= wait_cause[IW'(st_core_i)];
      st_o.wait_color <= wait_color[IW'(st_core_i)];
    end
  end

  // Counters. Each core and its links add into lanes of 16 bits, which are added to 64-bit counters
  // every NC cycles: so a cycle costs an addition of a few words a core, and the wide counters
  // could be one memory. A core or link counts up to 8 in a cycle, so neither a lane nor a sum of
  // all cores overflows below 8192 cores, which is the most that wse_top takes.
  localparam int unsigned CoreN = wse_regs_pkg::CNT_CORE_N;
  localparam int unsigned LinkN = wse_regs_pkg::CNT_LINK_N;
  localparam logic [IW-1:0] Last = IW'(NC - 1);
  logic [16*CoreN-1:0]   part_core [NC];
  logic [64*LinkN-1:0]   part_link [NC];
  logic [63:0]           wide_core [NC*CoreN];
  logic [63:0]           wide_link [NC*4*LinkN];
  logic [16*CoreN-1:0]   s_core, a_core;
  logic [64*LinkN-1:0]   s_link, a_link;
  logic [IW-1:0]         fold;
  logic [31:0]           obj;
  logic [15:0]           lane;
  wse_regs_pkg::cnt_core_t x;

  always @(posedge clk_i) begin : p_count
    integer i, k;
    if (!rst_ni) begin
      for (i = 0; i < NC; i++) begin
        part_core[i] = '0;
        part_link[i] = '0;
      end
      for (i = 0; i < NC * CoreN; i++) wide_core[i] = '0;
      for (i = 0; i < NC * 4 * LinkN; i++) wide_link[i] = '0;
      fold = '0;
      cnt_core_o <= '0;
      cnt_link_o <= '0;
      cnt_val_o <= '0;
    end else begin
      s_core = '0;
      s_link = '0;
      for (i = 0; i < NC; i++) begin
        x = counts[i];
        x.wavelet = popped[i];
        a_core = wse_regs_pkg::cnt_core_spread(x);
        a_link = wse_regs_pkg::cnt_link_spread(sent[i]);
        part_core[i] = part_core[i] + a_core;
        part_link[i] = part_link[i] + a_link;
        s_core = s_core + a_core;
        s_link = s_link + a_link;
      end
      for (i = 0; i < CoreN; i++)
        wide_core[32'(fold) * CoreN + i] = wide_core[32'(fold) * CoreN + i] +
            64'(part_core[fold][16*i +: 16]);
      for (i = 0; i < 4 * LinkN; i++)
        wide_link[32'(fold) * 4 * LinkN + i] = wide_link[32'(fold) * 4 * LinkN + i] +
            64'(part_link[fold][16*i +: 16]);
      part_core[fold] = '0;
      part_link[fold] = '0;
      fold = (fold == Last) ? '0 : fold + 1'b1;
      cnt_core_o <= s_core;
      for (i = 0; i < LinkN; i++) begin
        lane = '0;
        for (k = 0; k < 4; k++) lane = lane + s_link[64*i + 16*k +: 16];
        cnt_link_o[16*i +: 16] <= lane;
      end

      // one of them
      cnt_val_o <= '0;
      obj = 32'(cnt_sel_i[23:0]);
      for (i = 0; i < CoreN; i++)
        if (cnt_sel_i[31:24] == wse_regs_pkg::CNT_CORE_IDS[8*i +: 8] && obj < NC)
          cnt_val_o <= wide_core[obj * CoreN + i] + 64'(part_core[IW'(obj)][16*i +: 16]);
      for (i = 0; i < LinkN; i++)
        if (cnt_sel_i[31:24] == wse_regs_pkg::CNT_LINK_IDS[8*i +: 8] && obj < 4 * NC)
          cnt_val_o <= wide_link[(obj >> 2) * 4 * LinkN + 4 * i + 32'(obj[1:0])] +
                       64'(part_link[IW'(obj >> 2)][64*i + 16*32'(obj[1:0]) +: 16]);
    end
  end
endmodule
