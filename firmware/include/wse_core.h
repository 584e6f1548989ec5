/* SPDX-License-Identifier: MIT */
/*
 * The programming interface of a core: intrinsics for the instructions of hw/doc/core.md, and small
 * helpers for descriptors, routes and arguments. Everything is inline; there is no library to link.
 *
 * The linker script firmware/runtime/program.ld places a kernel program above the resident
 * firmware, which runs the task loop. The host starts one of its functions on a rectangle of cores:
 * void f(uint32_t args, uint32_t info).
 */
#ifndef WSE_FW_H
#define WSE_FW_H

#include <stdint.h>
#include "wse_regs.h"

#define WSE_ENTRY	__attribute__((used, noinline, section(".text.entry")))

/* R-type custom-0 instructions; the operand numbers must be constants */
#define WSE_INSN0(f3, f7, rs1, rs2) \
	__asm__ volatile(".insn r 0x0b, %0, %1, x0, %2, %3" \
			 :: "i"(f3), "i"(f7), "r"(rs1), "r"(rs2) : "memory")
#define wse_csr_read(n) ({ \
	uint32_t v_; \
	__asm__ volatile("csrr %0, %1" : "=r"(v_) : "i"(n)); \
	v_; })

static inline uint32_t wse_row(void)  { return wse_csr_read(WSE_CSR_ID) >> 16; }
static inline uint32_t wse_col(void)  { return wse_csr_read(WSE_CSR_ID) & 0xffff; }
static inline uint32_t wse_rows(void) { return wse_csr_read(WSE_CSR_DIM) >> 16; }
static inline uint32_t wse_cols(void) { return wse_csr_read(WSE_CSR_DIM) & 0xffff; }
static inline uint32_t wse_lanes(void) { return wse_csr_read(WSE_CSR_CFG) & 0xff; }

/* ---- descriptors: d is a constant 0 ... 15 ---- */

#define WSE_DSR_HALF(d, half, a, b) \
	__asm__ volatile(".insn r 0x0b, %0, %1, x%2, %3, %4" \
			 :: "i"(WSE_F3_DSR), "i"(half), "i"(d), "r"(a), "r"(b))

#define WSE_SHAPE(len, stride)	((uint32_t)(stride) << 16 | (uint32_t)(len))
#define WSE_KIND_TYPE(k, t)	((k) | (t) << WSE_DSR3_DTYPE_SHIFT)

/* base address and inner shape alone; kind and outer shape stay */
#define wse_dsr_base(d, base, len, stride) \
	WSE_DSR_HALF(d, 0, (uint32_t)(base), WSE_SHAPE(len, stride))

/* memory: len elements stride bytes apart, len1 rows stride1 bytes apart; type WSE_DT_* */
#define wse_dsr_mem2(d, addr, type, len, stride, len1, stride1) do { \
	wse_dsr_base(d, addr, len, stride); \
	WSE_DSR_HALF(d, 1, WSE_SHAPE(len1, stride1), WSE_KIND_TYPE(WSE_KIND_MEM, type)); \
	} while (0)
#define wse_dsr_mem(d, addr, type, len, stride)	wse_dsr_mem2(d, addr, type, len, stride, 1, 0)

/* accumulators base ... base + len - 1 (outer dimension: rows stride1 accumulators apart) */
#define wse_dsr_acc2(d, base, len, len1, stride1) do { \
	wse_dsr_base(d, base, len, 1); \
	WSE_DSR_HALF(d, 1, WSE_SHAPE(len1, stride1), WSE_KIND_TYPE(WSE_KIND_ACC, WSE_DT_FP32)); \
	} while (0)
#define wse_dsr_acc(d, base, len)	wse_dsr_acc2(d, base, len, 1, 0)

/* wavelets of a color; len (elements, or END marks) applies where no other operand has a shape */
#define wse_dsr_fab(d, kind, color, len) do { \
	wse_dsr_base(d, color, len, 1); \
	WSE_DSR_HALF(d, 1, WSE_SHAPE(1, 0), WSE_KIND_TYPE(kind, WSE_DT_FP32)); \
	} while (0)
#define wse_dsr_fabin(d, color)		wse_dsr_fab(d, WSE_KIND_FABIN, color, 1)
#define wse_dsr_fabout(d, color, len)	wse_dsr_fab(d, WSE_KIND_FABOUT, color, len)
#define wse_dsr_dotq(d)			wse_dsr_fab(d, WSE_KIND_DOTQ, 0, 1)

/* ---- tensor instructions ---- */

/* control word; s2 may be 0 where the operation has one source */
#define WSE_TCW(engine, op, d, s1, s2)                                                 \
	((uint32_t)(op) | (uint32_t)(d) << WSE_TCW_DST_SHIFT |                         \
	 (uint32_t)(s1) << WSE_TCW_SRC1_SHIFT | (uint32_t)(s2) << WSE_TCW_SRC2_SHIFT | \
	 (uint32_t)(engine) << WSE_TCW_ENGINE_SHIFT)
/* add to a control word: the completion makes task ready */
#define WSE_THEN(task)		(WSE_TCW_ACTIVATE_MASK | (uint32_t)(task) << WSE_TCW_TASK_SHIFT)
#define WSE_CLEAR		WSE_TCW_CLEAR_MASK
#define WSE_SCALAR		WSE_TCW_SCALAR_MASK
#define WSE_UNTIL_END		WSE_TCW_UNTIL_END_MASK
#define WSE_SEND_END		WSE_TCW_SEND_END_MASK

static inline void wse_issue(uint32_t tcw, uint32_t scalar)
{
	WSE_INSN0(WSE_F3_ISSUE, 0, tcw, scalar);
}

/*
 * MIDX (ABI 1.1) sends the elements of DSR s1, len <= 4 features by len1 rows, to the fabric of DSR
 * d as a weight stream whose first row is k0. more: WSE_SEND_END at the end of a block, WSE_THEN.
 */
#define wse_issue_index(engine, d, s1, k0, more) \
	wse_issue(WSE_TCW(engine, WSE_TOP_MIDX, d, s1, 0) | (more), k0)
/*
 * DOTX (ABI 1.1): DOT whose reader counts the results; acc in DSR d, color in s1, x in s2, b
 * features
 */
#define wse_issue_dotx(d, s1, s2, b, more) \
	wse_issue(WSE_TCW(WSE_ENGINE_L, WSE_TOP_DOTX, d, s1, s2) | (more), b)

/* waits until the engines of mask (1 L, 2 M0, 4 M1) are idle with empty queues */
static inline void wse_wait(uint32_t mask)
{
	WSE_INSN0(WSE_F3_SYS, WSE_SYSOP_WAIT, mask, 0);
}

/*
 * the core has finished its share of the start; not 0: the host sees KERNEL_ERROR and the value
 */
static inline void wse_done(uint32_t value)
{
	WSE_INSN0(WSE_F3_SYS, WSE_SYSOP_DONE, value, 0);
}

/* ---- fabric ---- */

#define WSE_TX(port)	(1u << (WSE_ROUTE_TX_SHIFT + WSE_PORT_##port))
#define WSE_RX(port)	((uint32_t)WSE_PORT_##port)

static inline void wse_route(uint32_t color, uint32_t cfg)
{
	WSE_INSN0(WSE_F3_ROUTE, 0, color, cfg);
}

static inline void wse_send(uint32_t color, uint32_t data)
{
	WSE_INSN0(WSE_F3_SEND, 0, data, color);
}

static inline void wse_send_ctrl(uint32_t color, uint32_t data)
{
	WSE_INSN0(WSE_F3_SEND, 0, data, color | 0x100);
}

static inline uint32_t wse_recv(uint32_t color)
{
	uint32_t v;

	__asm__ volatile(".insn r 0x0b, %1, 0, %0, %2, x0"
			 : "=r"(v) : "i"(WSE_F3_RECV), "r"(color) : "memory");
	return v;
}

/* ---- tasks ---- */

typedef void (*wse_task_fn)(uint32_t data, uint32_t info);

static inline void wse_task_entry(uint32_t task, wse_task_fn fn)
{
	WSE_INSN0(WSE_F3_TASK, WSE_TASKOP_ENTRY, task, fn);
}

static inline void wse_task_bind(uint32_t color, uint32_t task)
{
	WSE_INSN0(WSE_F3_TASK, WSE_TASKOP_BIND, color, task);
}

static inline void wse_task_bind_ctrl(uint32_t color, uint32_t task)
{
	WSE_INSN0(WSE_F3_TASK, WSE_TASKOP_CBIND, color, task);
}

static inline void wse_task_activate(uint32_t task)
{
	WSE_INSN0(WSE_F3_TASK, WSE_TASKOP_ACTIVATE, task, 0);
}

static inline void wse_task_block(uint32_t task)
{
	WSE_INSN0(WSE_F3_TASK, WSE_TASKOP_BLOCK, task, 0);
}

static inline void wse_task_unblock(uint32_t task)
{
	WSE_INSN0(WSE_F3_TASK, WSE_TASKOP_UNBLOCK, task, 0);
}

/*
 * Waits for the next ready task and takes it without running it: a kernel waits in this way for a
 * completion that it requested with WSE_THEN. The caller must block all other tasks that may become
 * ready.
 */
static inline void wse_task_take(void)
{
	__asm__ volatile(".insn r 0x0b, %0, 0, x0, x0, x0" :: "i"(WSE_F3_TNEXT) : "memory");
}

/* Waits for the next ready task and runs it: what a program without the firmware's loop does. */
static inline void wse_task_run(void)
{
	wse_task_fn task;

	__asm__ volatile(".insn r 0x0b, %1, 0, %0, x0, x0"
			 : "=r"(task) : "i"(WSE_F3_TNEXT) : "memory");
	task(wse_csr_read(WSE_CSR_WDATA), wse_csr_read(WSE_CSR_WINFO));
}

/*
 * an fp32 constant as the bits that a scalar operand takes; the cores have no scalar floating point
 */
#define WSE_F32(x)	({ union { float f; uint32_t u; } c_ = { .f = (x) }; c_.u; })

#endif /* WSE_FW_H */
