// SPDX-License-Identifier: MIT
// BAR0: the AXI4-Lite target, capability and control registers, counters, doorbells, interrupt
// requests. An access takes a fixed number of cycles whatever the wafer does.

module wse_bar #(
  parameter int unsigned ROWS = 4,
  parameter int unsigned COLS = 4,
  parameter int unsigned NQ = 5,
  parameter bit HOSTFP = 1'b0,
  parameter int unsigned GROUP = 0
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  // AXI4-Lite target
  input  logic        awvalid_i,
  output logic        awready_o,
  input  logic [15:0] awaddr_i,
  input  logic        wvalid_i,
  output logic        wready_o,
  input  logic [31:0] wdata_i,
  output logic        bvalid_o,
  input  logic        bready_i,
  input  logic        arvalid_i,
  output logic        arready_o,
  input  logic [15:0] araddr_i,
  output logic        rvalid_o,
  input  logic        rready_i,
  output logic [31:0] rdata_o,
  // the device's reset: everything but this module and the bus master
  output logic        dev_rst_no,
  output logic        flush_o,             // bus master: finish what is outstanding
  input  logic        quiet_i,
  // registers
  output logic [63:0] cycle_o,
  output logic        en_o,
  output logic [31:0] aq_size_o,
  output logic [63:0] asq_o,
  output logic [63:0] acq_o,
  output logic [63:0] fault_base_o,
  output logic [31:0] fault_size_o,
  output logic [31:0] fault_head_o,
  input  logic [31:0] fault_tail_i,
  input  logic [31:0] fault_lost_i,
  input  logic        rdy_i,
  input  logic        halted_i,
  input  logic        busy_i,
  input  logic        any_fault_i,
  output logic        db_valid_o,
  output logic [7:0]  db_index_o,
  output logic [31:0] db_value_o,
  // counters: counts of the last cycle, of all cores and links together and of one queue; and a
  // counter of one core or link
  input  logic [16*wse_regs_pkg::CNT_CORE_N-1:0] cnt_core_i,
  input  logic [16*wse_regs_pkg::CNT_LINK_N-1:0] cnt_link_i,
  input  wse_regs_pkg::cnt_tile_t cnt_tile_i,
  input  wse_regs_pkg::cnt_queue_t cnt_queue_i,
  input  logic [2:0]  cnt_which_i,
  output logic [31:0] cnt_sel_o,
  input  logic [63:0] cnt_val_i,
  // interrupts: a vector's event, and the MSI-X write
  input  logic        irq_set_i,
  input  logic [4:0]  irq_set_vec_i,
  output logic        irq_o,
  output logic [4:0]  irq_vec_o
);
  /*verilator no_inline_module*/

  localparam logic [14:0] Rest = 15'd16384;
  localparam int unsigned NCNT = wse_regs_pkg::CNT_MAX;   // those that do not exist stay 0
  localparam int unsigned CoreN = wse_regs_pkg::CNT_CORE_N;
  localparam int unsigned LinkN = wse_regs_pkg::CNT_LINK_N;
  localparam int unsigned TileN = wse_regs_pkg::CNT_TILE_N;
  localparam int unsigned QueueN = wse_regs_pkg::CNT_QUEUE_N;
  localparam logic [15:0] CntBase = 16'(wse_regs_pkg::CNT_BASE);
  localparam logic [15:0] CntEnd = CntBase + 16'(8 * NCNT);
  localparam logic [15:0] DbBase = 16'(wse_regs_pkg::DB_BASE);
  localparam logic [15:0] DbEnd = DbBase + 16'(wse_regs_pkg::MAX_QUEUES * wse_regs_pkg::DB_STRIDE);

  logic [63:0] cycle /*verilator public_flat_rw*/;
  logic [31:0] cycle_hi;
  logic [31:0] cnt_hi [NCNT];              // each pair has its own
  logic [63:0] cnt [NCNT];
  logic [63:0] qcnt [8*QueueN];            // of each queue
  logic [63:0] one;                        // the counter that cnt_sel_o names
  logic [31:0] one_hi;
  // answer of a write to CNT_SEL: given so late that the next read sees its counter
  logic        sel_held;
  logic [16*TileN-1:0] tile;
  logic [16*QueueN-1:0] queue;
  logic [31:0] mask, irq_pending;
  logic        en, rst_req;
  logic [4:0]  rst_len;                    // cycles of a device reset still to go
  logic [14:0] rest;                       // ... that it still gives the bus to come to rest
  logic        owed;                       // the bus owes answers from before the reset
  // answer of a write that resets: given when the reset is over
  logic        b_held;
  logic [15:0] a;
  logic [31:0] d, hot;

  function automatic logic [4:0] onehot32(input logic [31:0] x);
    onehot32 = {|(x & 32'hffff0000), |(x & 32'hff00ff00), |(x & 32'hf0f0f0f0), |(x & 32'hcccccccc),
                |(x & 32'haaaaaaaa)};
  endfunction

  // not during a reset, which would undo it
  assign awready_o = awvalid_i && wvalid_i && !bvalid_o && !b_held && !sel_held && rst_len == 5'd0;
  assign wready_o = awready_o;
  assign arready_o = !rvalid_o;
  assign cycle_o = cycle;

  always @(posedge clk_i) begin : p_seq
    integer i, id;
    if (!rst_ni) begin
      bvalid_o <= 1'b0;
      b_held = 1'b0;
      rvalid_o <= 1'b0;
      sel_held <= 1'b0;
      en = 1'b0;
      en_o <= 1'b0;
      rst_req = 1'b0;
      rst_len = 5'd17;
      rest = Rest;
      owed = 1'b0;
      flush_o <= 1'b1;
      dev_rst_no <= 1'b0;
      db_valid_o <= 1'b0;
      irq_o <= 1'b0;
    end else begin
      cycle <= cycle + 64'd1;
      cnt[wse_regs_pkg::CNT_CYCLES] = cycle;
      db_valid_o <= 1'b0;

      // writes
      if (bready_i) bvalid_o <= 1'b0;
      if (sel_held) bvalid_o <= 1'b1;
      sel_held <= 1'b0;
      if (awready_o) begin
        bvalid_o <= 1'b1;
        b_held = 1'b0;
        a = {awaddr_i[15:2], 2'b0};
        d = wdata_i;
        case (32'(a))
          wse_regs_pkg::REG_CTRL: begin
            if (d[wse_regs_pkg::CTRL_RST_LO] || (en && !d[wse_regs_pkg::CTRL_EN_LO])) begin
              rst_req = 1'b1;
              b_held = 1'b1;
              bvalid_o <= 1'b0;
            end else en = d[wse_regs_pkg::CTRL_EN_LO];
          end
          wse_regs_pkg::REG_INTR_MASK: mask = d;
          wse_regs_pkg::REG_AQ_SIZE: aq_size_o <= d;
          wse_regs_pkg::REG_ASQ_LO: asq_o[31:0] <= d;
          wse_regs_pkg::REG_ASQ_HI: asq_o[63:32] <= d;
          wse_regs_pkg::REG_ACQ_LO: acq_o[31:0] <= d;
          wse_regs_pkg::REG_ACQ_HI: acq_o[63:32] <= d;
          wse_regs_pkg::REG_FAULT_LO: fault_base_o[31:0] <= d;
          wse_regs_pkg::REG_FAULT_HI: fault_base_o[63:32] <= d;
          wse_regs_pkg::REG_FAULT_SIZE: fault_size_o <= d;
          wse_regs_pkg::REG_FAULT_HEAD: fault_head_o <= d;
          wse_regs_pkg::REG_CNT_SEL: begin
            cnt_sel_o <= d;
            sel_held <= 1'b1;
            bvalid_o <= 1'b0;
          end
          default: begin
            if (a >= DbBase && a < DbEnd) begin
              db_valid_o <= 1'b1;
              db_index_o <= 8'((a - DbBase) >> 2);
              db_value_o <= d;
            end
          end
        endcase
      end

      // reads
      if (rready_i) rvalid_o <= 1'b0;
      if (arvalid_i && arready_o) begin
        rvalid_o <= 1'b1;
        a = {araddr_i[15:2], 2'b0};
        d = '0;
        case (32'(a))
          wse_regs_pkg::REG_MAGIC: d = wse_regs_pkg::MAGIC;
          wse_regs_pkg::REG_ABI:
            d = wse_regs_pkg::ABI_MAJOR << wse_regs_pkg::ABI_MAJOR_LO | wse_regs_pkg::ABI_MINOR;
          wse_regs_pkg::REG_TILE: d = 32'(COLS) << wse_regs_pkg::TILE_COLS_LO | 32'(ROWS);
          wse_regs_pkg::REG_CORE:
            d = wse_regs_pkg::NCOLORS << wse_regs_pkg::CORE_COLORS_LO |
                wse_regs_pkg::LANES << wse_regs_pkg::CORE_LANES_LO | wse_regs_pkg::SRAM_BYTES >> 10;
          wse_regs_pkg::REG_QUEUES: d = 32'd10 << wse_regs_pkg::QUEUES_DEPTH_LOG2_LO | 32'(NQ);
          wse_regs_pkg::REG_FEATURES:
            d = 32'(GROUP) << wse_regs_pkg::FEATURES_GROUP_LO |
                32'd1 << wse_regs_pkg::FEATURES_BCAST_DIM_LO |
                32'd1 << wse_regs_pkg::FEATURES_LINEAR_LO |
                32'(HOSTFP) << wse_regs_pkg::FEATURES_HOSTFP_LO;
          wse_regs_pkg::REG_CTRL: d = 32'(en);
          wse_regs_pkg::REG_STATUS:
            d = 32'(any_fault_i) << wse_regs_pkg::STATUS_FAULT_LO |
                32'(busy_i) << wse_regs_pkg::STATUS_BUSY_LO |
                32'(halted_i) << wse_regs_pkg::STATUS_HALTED_LO |
                32'(rdy_i) << wse_regs_pkg::STATUS_RDY_LO;
          wse_regs_pkg::REG_CYCLES_LO: {cycle_hi, d} = cycle;
          wse_regs_pkg::REG_CYCLES_HI: d = cycle_hi;
          wse_regs_pkg::REG_INTR_MASK: d = mask;
          wse_regs_pkg::REG_AQ_SIZE: d = aq_size_o;
          wse_regs_pkg::REG_ASQ_LO: d = asq_o[31:0];
          wse_regs_pkg::REG_ASQ_HI: d = asq_o[63:32];
          wse_regs_pkg::REG_ACQ_LO: d = acq_o[31:0];
          wse_regs_pkg::REG_ACQ_HI: d = acq_o[63:32];
          wse_regs_pkg::REG_FAULT_LO: d = fault_base_o[31:0];
          wse_regs_pkg::REG_FAULT_HI: d = fault_base_o[63:32];
          wse_regs_pkg::REG_FAULT_SIZE: d = fault_size_o;
          wse_regs_pkg::REG_FAULT_TAIL: d = fault_tail_i;
          wse_regs_pkg::REG_FAULT_HEAD: d = fault_head_o;
          wse_regs_pkg::REG_FAULT_LOST: d = fault_lost_i;
          wse_regs_pkg::REG_CNT_SEL: d = cnt_sel_o;
          wse_regs_pkg::REG_CNT_VAL_LO: {one_hi, d} = one;
          wse_regs_pkg::REG_CNT_VAL_HI: d = one_hi;
          default: begin
            if (a >= CntBase && a < CntEnd) begin
              if (a[2]) d = cnt_hi[a[7:3]];
              else {cnt_hi[a[7:3]], d} = cnt[a[7:3]];
            end
          end
        endcase
        rdata_o <= d;
      end

      // counters
      tile = wse_regs_pkg::cnt_tile_spread(cnt_tile_i);
      queue = wse_regs_pkg::cnt_queue_spread(cnt_queue_i);
      for (i = 0; i < CoreN; i++) begin
        id = 32'(wse_regs_pkg::CNT_CORE_IDS[8*i +: 8]);
        cnt[id] = cnt[id] + 64'(cnt_core_i[16*i +: 16]);
      end
      for (i = 0; i < LinkN; i++) begin
        id = 32'(wse_regs_pkg::CNT_LINK_IDS[8*i +: 8]);
        cnt[id] = cnt[id] + 64'(cnt_link_i[16*i +: 16]);
      end
      for (i = 0; i < TileN; i++) begin
        id = 32'(wse_regs_pkg::CNT_TILE_IDS[8*i +: 8]);
        cnt[id] = cnt[id] + 64'(tile[16*i +: 16]);
      end
      one = cnt_val_i;
      for (i = 0; i < QueueN; i++) begin
        id = 32'(wse_regs_pkg::CNT_QUEUE_IDS[8*i +: 8]);
        cnt[id] = cnt[id] + 64'(queue[16*i +: 16]);
        if (queue != '0)
          qcnt[32'(cnt_which_i) * QueueN + i] = qcnt[32'(cnt_which_i) * QueueN + i] +
              64'(queue[16*i +: 16]);
        if (32'(cnt_sel_o[31:24]) == id && cnt_sel_o[23:0] < 24'(NQ)) one =
            qcnt[32'(cnt_sel_o[2:0]) * QueueN + i];
      end
      // interrupts: masked events stay pending
      if (irq_set_i) irq_pending = irq_pending | (32'd1 << irq_set_vec_i);
      irq_o <= 1'b0;
      hot = irq_pending & ~mask;
      if (hot != 32'd0) begin
        hot = hot & (~hot + 32'd1);
        irq_pending = irq_pending & ~hot;
        irq_o <= 1'b1;
        irq_vec_o <= onehot32(hot);
      end

      // device reset: the bus master first comes to rest, then the reset lasts 16 cycles. A bus
      // that does not answer does not hold the host: the reset ends, but the device is not ready
      // before the bus rests, and what it still answers goes nowhere.
      if (rst_req) begin
        rst_req = 1'b0;
        rst_len = 5'd17;
        rest = Rest;
        en = 1'b0;
      end
      if (rst_len != 5'd0) begin
        flush_o <= 1'b1;
        dev_rst_no <= 1'b0;
        // while flush_o is not seen yet, a request may still go out
        if (rst_len == 5'd17) owed = !(quiet_i && flush_o);
        if (!owed || rst_len != 5'd17 || rest == '0) rst_len = rst_len - 5'd1;
        else rest = rest - 15'd1;
        cycle <= '0;
        mask = '0;
        irq_pending = '0;
        irq_o <= 1'b0;
        cycle_hi = '0;
        for (i = 0; i < NCNT; i++) begin
          cnt[i] = '0;
          cnt_hi[i] = '0;
        end
        for (i = 0; i < 8 * QueueN; i++) qcnt[i] = '0;
        one = '0;
        one_hi = '0;
        cnt_sel_o <= '0;
        if (rst_len == 5'd16) begin
          aq_size_o <= '0;
          asq_o <= '0;
          acq_o <= '0;
          fault_base_o <= '0;
          fault_size_o <= '0;
          fault_head_o <= '0;
        end
      end else begin
        if (quiet_i) owed = 1'b0;
        flush_o <= owed;
        dev_rst_no <= 1'b1;
        if (b_held) bvalid_o <= 1'b1;
        b_held = 1'b0;
      end
      en_o <= en && !owed;
    end
  end
endmodule
