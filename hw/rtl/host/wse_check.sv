// SPDX-License-Identifier: MIT
// Checks of a submission entry, in the order of hw/doc/host.md. The module latches words as they
// arrive; status_o and off_o (the offset of the offending member) hold in the cycle after eval_i.

module wse_check #(
  parameter int unsigned ROWS = 4,
  parameter int unsigned COLS = 4
) (
  input  logic        clk_i,
  input  logic        ld_i,
  input  logic [3:0]  ld_idx_i,
  input  logic [63:0] ld_word_i,
  input  logic        eval_i,           // after the last word
  input  logic        admin_i,          // the entry lies in the admin ring
  output logic [3:0]  status_o,
  output logic [7:0]  off_o,
  // members that the sequencer itself needs
  output logic [7:0]  opcode_o,
  output logic [15:0] cid_o,
  output logic [63:0] budget_o,
  output logic [63:0] buf_o,
  output logic [63:0] mask_o,
  output logic [7:0]  queue_o,
  output logic [31:0] seq_o
);

  localparam logic [7:0] ShiftMin = 8'(wse_regs_pkg::PAGE_SHIFT_MIN);
  localparam logic [7:0] ShiftMax = 8'(wse_regs_pkg::PAGE_SHIFT_MAX);
  localparam logic [15:0] KMax = 16'd16384;

  logic [7:0]  op, flags, pshift, mshift, color, etype, nfeat;
  logic [15:0] row0, col0, rows, cols, kcol;
  logic [63:0] budget, bufa, off, mask, moff;
  logic [31:0] sram, len, nline, lstride, sstride, cstride, rstride, seq, mcstride;
  logic [7:0]  queue;
  logic        resv;

  // Members as bits, by ascending offset: the lowest bit that is wrong names the member.
  localparam int unsigned NM = 27;
  localparam logic [NM-1:0] M_FLAGS = NM'(1) << 0;
  localparam logic [NM-1:0] M_PSHIFT = NM'(1) << 1;
  localparam logic [NM-1:0] M_MSHIFT = NM'(1) << 2;
  localparam logic [NM-1:0] M_ROW0 = NM'(1) << 3;
  localparam logic [NM-1:0] M_COL0 = NM'(1) << 4;
  localparam logic [NM-1:0] M_ROWS = NM'(1) << 5;
  localparam logic [NM-1:0] M_COLS = NM'(1) << 6;
  localparam logic [NM-1:0] M_COLOR = NM'(1) << 7;
  localparam logic [NM-1:0] M_ETYPE = NM'(1) << 8;
  localparam logic [NM-1:0] M_BUDGET = NM'(1) << 9;
  localparam logic [NM-1:0] M_BUFA = NM'(1) << 10;
  localparam logic [NM-1:0] M_OFF = NM'(1) << 11;
  localparam logic [NM-1:0] M_MASK = NM'(1) << 12;
  localparam logic [NM-1:0] M_MOFF = NM'(1) << 13;
  localparam logic [NM-1:0] M_SRAM = NM'(1) << 14;
  localparam logic [NM-1:0] M_LEN = NM'(1) << 15;
  localparam logic [NM-1:0] M_NLINE = NM'(1) << 16;
  localparam logic [NM-1:0] M_LSTRIDE = NM'(1) << 17;
  localparam logic [NM-1:0] M_SSTRIDE = NM'(1) << 18;
  localparam logic [NM-1:0] M_CSTRIDE = NM'(1) << 19;
  localparam logic [NM-1:0] M_RSTRIDE = NM'(1) << 20;
  localparam logic [NM-1:0] M_KCOL = NM'(1) << 21;
  localparam logic [NM-1:0] M_NFEAT = NM'(1) << 22;
  localparam logic [NM-1:0] M_QUEUE = NM'(1) << 23;
  localparam logic [NM-1:0] M_SEQ = NM'(1) << 24;
  localparam logic [NM-1:0] M_MCSTRIDE = NM'(1) << 25;
  localparam logic [NM-1:0] M_RESV = NM'(1) << 26;
  localparam logic [NM-1:0] Rect = M_ROW0 | M_COL0 | M_ROWS | M_COLS;
  localparam logic [NM-1:0] Strides = M_NLINE | M_LSTRIDE | M_CSTRIDE | M_RSTRIDE;
  localparam logic [NM-1:0] Args = M_NLINE | M_LSTRIDE | M_SSTRIDE | M_CSTRIDE | M_RSTRIDE |
      M_KCOL | M_NFEAT |
                                   // overlaid by START's words
                                   M_QUEUE | M_SEQ | M_MCSTRIDE | M_RESV;

  logic [NM-1:0] present, named, wrong, pick;
  logic [7:0]    okflags;
  logic          copy, stream, start, scrub, known;
  logic          direct, mdirect, masked, index_only, bcast, raw32, linear;
  logic [63:0]   sram_end;
  logic [16:0]   entries;
  logic          bad_rect, bad_addr;
  logic [3:0]    st;
  logic [7:0]    bad_off;

  // one evaluation per entry, not one per cycle
  always @(posedge clk_i) begin
    if (eval_i) begin
      copy = op == 8'(wse_regs_pkg::OP_COPY_IN) || op == 8'(wse_regs_pkg::OP_COPY_OUT);
      stream = op == 8'(wse_regs_pkg::OP_STREAM_IN) || op == 8'(wse_regs_pkg::OP_STREAM_OUT);
      start = op == 8'(wse_regs_pkg::OP_START);
      scrub = op == 8'(wse_regs_pkg::OP_SCRUB);
      known = op <= 8'(wse_regs_pkg::OP_FENCE) ||
              (admin_i && op >= 8'(wse_regs_pkg::OP_CREATE_QUEUE) &&
              op <= 8'(wse_regs_pkg::OP_SCRUB));
      direct = |(flags & 8'(wse_regs_pkg::SQF_BUF_DIRECT));
      mdirect = |(flags & 8'(wse_regs_pkg::SQF_MASK_DIRECT));
      masked = |(flags & 8'(wse_regs_pkg::SQF_MASKED));
      index_only = |(flags & 8'(wse_regs_pkg::SQF_INDEX_ONLY));
      bcast = |(flags & 8'(wse_regs_pkg::SQF_BROADCAST));
      linear = stream && |(flags & 8'(wse_regs_pkg::SQF_LINEAR));
      raw32 = etype == 8'(wse_regs_pkg::ETYPE_RAW32);

      // the members and flags that an opcode names
      named = '0;
      okflags = '0;
      case (32'(op))
        wse_regs_pkg::OP_NOP: named = M_BUDGET;
        wse_regs_pkg::OP_COPY_IN, wse_regs_pkg::OP_COPY_OUT: begin
          named = M_PSHIFT | Rect | M_BUDGET | M_BUFA | M_OFF | M_SRAM | M_LEN | Strides |
          M_SSTRIDE;
          okflags = 8'(wse_regs_pkg::SQF_BUF_DIRECT) |
                    (op == 8'(wse_regs_pkg::OP_COPY_IN) ? 8'(wse_regs_pkg::SQF_BROADCAST) : 8'd0);
        end
        wse_regs_pkg::OP_STREAM_IN, wse_regs_pkg::OP_STREAM_OUT: begin
          named = M_PSHIFT | M_MSHIFT | M_COL0 | M_COLS | M_COLOR | M_ETYPE | M_BUDGET | M_BUFA |
          M_OFF | M_MASK |
                  M_MOFF | Strides | M_KCOL | M_NFEAT | M_MCSTRIDE | (linear ? M_LEN : '0);
          okflags = 8'(wse_regs_pkg::SQF_BUF_DIRECT | wse_regs_pkg::SQF_MASK_DIRECT |
              wse_regs_pkg::SQF_MASKED | wse_regs_pkg::SQF_LINEAR) |
                    (op == 8'(wse_regs_pkg::OP_STREAM_IN) ?
                     8'(wse_regs_pkg::SQF_DROP_ZERO | wse_regs_pkg::SQF_INDEX_ONLY) : 8'd0);
        end
        wse_regs_pkg::OP_START: begin
          named = Rect | M_BUDGET | M_SRAM | Args;
          okflags = 8'(wse_regs_pkg::SQF_BOOT | wse_regs_pkg::SQF_CLOSED);
        end
        wse_regs_pkg::OP_FENCE: named = M_QUEUE | M_SEQ;
        wse_regs_pkg::OP_CREATE_QUEUE: named = M_BUDGET | M_BUFA | M_MASK | M_QUEUE | M_SEQ;
        wse_regs_pkg::OP_DELETE_QUEUE: named = M_BUDGET | M_QUEUE;
        wse_regs_pkg::OP_SCRUB: named = Rect | M_BUDGET;
        default: named = M_BUDGET;
      endcase

      present = {resv, |mcstride, |seq, |queue, |nfeat, |kcol, |rstride, |cstride, |sstride,
          |lstride, |nline,
                      |len, |sram, |moff, |mask, |off, |bufa, |budget, |etype, |color, |cols, |rows,
                      |col0, |row0,
                      |mshift, |pshift, |(flags & ~okflags)};

      bad_rect = (copy || start || scrub || stream) &&
                      (cols == 16'd0 || 17'(col0) + 17'(cols) > 17'(COLS) ||
                       (!stream && (rows == 16'd0 || 17'(row0) + 17'(rows) > 17'(ROWS))));
      sram_end = 64'(sram) + 64'(len) +
          (nline == 32'd0 ? 64'd0 : (64'(nline) - 64'd1) * 64'(sstride));
      bad_addr = (copy && sram_end > 64'(wse_regs_pkg::SRAM_BYTES)) ||
                      (start && (sram < wse_regs_pkg::SRAM_BASE ||
                                 sram - wse_regs_pkg::SRAM_BASE >= wse_regs_pkg::SRAM_BYTES));
      entries = 17'(seq[15:0]) + 17'd1;

      // values; the check above has found members that the opcode does not name to be zero
      wrong = '0;
      if (copy || stream || start) begin
        if (budget == 64'd0) wrong = wrong | M_BUDGET;
      end
      if (copy || stream) begin
        if (!direct && !index_only && (pshift < ShiftMin || pshift > ShiftMax)) wrong = wrong |
            M_PSHIFT;
        if (!index_only && bufa[2:0] != 3'd0) wrong = wrong | M_BUFA;
        if (!index_only && off[2:0] != 3'd0) wrong = wrong | M_OFF;
        if (nline == 32'd0) wrong = wrong | M_NLINE;
        if (!index_only && lstride[2:0] != 3'd0) wrong = wrong | M_LSTRIDE;
        if (!index_only && cstride[2:0] != 3'd0) wrong = wrong | M_CSTRIDE;
        if (rstride[2:0] != 3'd0 || (bcast && cstride != 32'd0 && rstride != 32'd0)) wrong = wrong |
            M_RSTRIDE;
      end
      if (copy) begin
        if (sram[2:0] != 3'd0) wrong = wrong | M_SRAM;
        if (len == 32'd0 || len[2:0] != 3'd0) wrong = wrong | M_LEN;
        if (sstride[2:0] != 3'd0) wrong = wrong | M_SSTRIDE;
      end
      if (stream) begin
        if (index_only && (linear || |(flags & 8'(wse_regs_pkg::SQF_DROP_ZERO)))) wrong = wrong |
            M_FLAGS;
        if (linear && (len == 32'd0 || len[2:0] != 3'd0)) wrong = wrong | M_LEN;
        if (linear && lstride != 32'd0) wrong = wrong | M_LSTRIDE;
        if (masked && !mdirect && (mshift < ShiftMin || mshift > ShiftMax)) wrong = wrong |
            M_MSHIFT;
        if (color >= 8'(wse_regs_pkg::NCOLORS)) wrong = wrong | M_COLOR;
        if (etype > 8'(wse_regs_pkg::ETYPE_RAW32)) wrong = wrong | M_ETYPE;
        if (masked && mask[2:0] != 3'd0) wrong = wrong | M_MASK;
        if (moff[2:0] != 3'd0) wrong = wrong | M_MOFF;
        if (kcol == 16'd0 || kcol > KMax) wrong = wrong | M_KCOL;
        if (!(nfeat == 8'd1 || (!raw32 && (nfeat == 8'd2 || nfeat == 8'd4)))) wrong = wrong |
            M_NFEAT;
        if (mcstride[2:0] != 3'd0) wrong = wrong | M_MCSTRIDE;
      end
      if (start && sram[1:0] != 2'd0) wrong = wrong | M_SRAM;
      if (op == 8'(wse_regs_pkg::OP_CREATE_QUEUE)) begin
        if (bufa[11:0] != 12'd0) wrong = wrong | M_BUFA;
        if (mask[11:0] != 12'd0) wrong = wrong | M_MASK;
        if (entries < 17'd2 || entries > 17'(wse_regs_pkg::MAX_DEPTH) ||
            (entries & (entries - 17'd1)) != 17'd0 ||
            seq[31:16] >= 16'd32)
          wrong = wrong | M_SEQ;
      end

      pick = '0;
      bad_off = 8'd0;
      st = 4'(wse_regs_pkg::ST_OK);
      if (!known) st = 4'(wse_regs_pkg::ST_BAD_OPCODE);
      else if ((present & ~named) != '0) begin
        st = 4'(wse_regs_pkg::ST_BAD_FIELD);
        pick = present & ~named;
      end else if (bad_rect) begin
        st = 4'(wse_regs_pkg::ST_BAD_RECT);
        bad_off = 8'(wse_regs_pkg::SQE_row0_OFF);
      end else if (bad_addr) begin
        st = 4'(wse_regs_pkg::ST_BAD_ADDR);
        bad_off = 8'(wse_regs_pkg::SQE_sram_OFF);
      end else if (wrong != '0) begin
        st = 4'(wse_regs_pkg::ST_BAD_FIELD);
        pick = wrong;
      end
      case (pick & (~pick + NM'(1)))
        M_FLAGS: bad_off = 8'd1;
        M_PSHIFT: bad_off = 8'd4;
        M_MSHIFT: bad_off = 8'd5;
        M_ROW0: bad_off = 8'd6;
        M_COL0: bad_off = 8'd8;
        M_ROWS: bad_off = 8'd10;
        M_COLS: bad_off = 8'd12;
        M_COLOR: bad_off = 8'd14;
        M_ETYPE: bad_off = 8'd15;
        M_BUDGET: bad_off = 8'd16;
        M_BUFA: bad_off = 8'd24;
        M_OFF: bad_off = 8'd32;
        M_MASK: bad_off = 8'd40;
        M_MOFF: bad_off = 8'd48;
        M_SRAM: bad_off = 8'd56;
        M_LEN: bad_off = 8'd60;
        M_NLINE: bad_off = 8'd64;
        M_LSTRIDE: bad_off = 8'd68;
        M_SSTRIDE: bad_off = 8'd72;
        M_CSTRIDE: bad_off = 8'd76;
        M_RSTRIDE: bad_off = 8'd80;
        M_KCOL: bad_off = 8'd84;
        M_NFEAT: bad_off = 8'd86;
        M_QUEUE: bad_off = 8'd87;
        M_SEQ: bad_off = 8'd88;
        M_MCSTRIDE: bad_off = 8'd92;
        M_RESV: bad_off = 8'd96;
        default: ;
      endcase
      status_o <= st;
      off_o <= bad_off;
    end
  end

  assign opcode_o = op;
  assign budget_o = budget;
  assign buf_o = bufa;
  assign mask_o = mask;
  assign queue_o = queue;
  assign seq_o = seq;

  always_ff @(posedge clk_i) begin
    if (ld_i) begin
      case (ld_idx_i)
        4'd0: begin
          {row0, mshift, pshift, cid_o, flags, op} <= ld_word_i;
          resv <= 1'b0;
        end
        4'd1: {etype, color, cols, rows, col0} <= ld_word_i;
        4'd2: budget <= ld_word_i;
        4'd3: bufa <= ld_word_i;
        4'd4: off <= ld_word_i;
        4'd5: mask <= ld_word_i;
        4'd6: moff <= ld_word_i;
        4'd7: {len, sram} <= ld_word_i;
        4'd8: {lstride, nline} <= ld_word_i;
        4'd9: {cstride, sstride} <= ld_word_i;
        4'd10: {queue, nfeat, kcol, rstride} <= ld_word_i;
        4'd11: {mcstride, seq} <= ld_word_i;
        default: resv <= resv || ld_word_i != 64'd0;
      endcase
    end
  end
endmodule
