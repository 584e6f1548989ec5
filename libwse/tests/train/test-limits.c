// SPDX-License-Identifier: MIT
/*
 * Limits of sizes and counts, each at its edge: what is just below goes, what is just above is
 * refused or wide enough.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <wse/wse.h>

#include "exec/clock.h"
#include "input/config.h"
#include "num/num.h"
#include "ops/attn_cycles.h"
#include "ops/emit.h"
#include "tap.h"
#include "train/session.h"
#include "wse_cmd.h"

#ifdef __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

static char text[] = "/tmp/wse-limits-XXXXXX";

static void clocks(void)
{
	static const uint32_t steps[] = {1, 1000, 1u << 29, (1u << 30) - 1, 0};
	uint64_t now = 12345, at = now;
	uint32_t bad = 0;

	for (int i = 0; i < 40; i++) {
		now += steps[i % 5];
		at = wse_clock_at(at, (uint32_t)now);
		bad += at != now;
		bad += wse_clock_at(at, (uint32_t)(now - WSE_CLOCK_BACK)) != now - WSE_CLOCK_BACK;
		bad += wse_clock_at(at, (uint32_t)(now - 1)) != now - 1;
	}
	ok(!bad && now > 3ull << 32, "a clock of 32 bits told beyond 2^32: %llu cycles",
	   (unsigned long long)at);
}

/* twice the sequence is twice the products of a row, beyond 2^32 hundredths of a cycle */
static void predictions(void)
{
	uint64_t half = wse_attn_cycles(64, 1u << 15, 1024, 1, 8),
		 whole = wse_attn_cycles(64, 1u << 16, 1024, 1, 8),
		 half_back = wse_attn_back_cycles(64, 1u << 15, 1024, 1, 8),
		 whole_back = wse_attn_back_cycles(64, 1u << 16, 1024, 1, 8);

	ok(whole > half * 19 / 10 && whole_back > half_back * 19 / 10 && whole_back * 100 > 1ull << 32,
	   "attention's predictions have 64 bits: %llu and %llu cycles", (unsigned long long)whole,
	   (unsigned long long)whole_back);
}

static void budgets(void)
{
	uint64_t least = WSE_EMIT_START_BUDGET, most = WSE_MAX_BUDGET;

	ok(wse_emit_budget(0, least) == least && wse_emit_budget(least / 100, least) == least &&
		   wse_emit_budget(least / 100 + 1, least) == least + 100,
	   "a start has a budget of 100 x its predicted cycles, at least %llu",
	   (unsigned long long)least);
	ok(wse_emit_budget(most / 100, least) == most / 100 * 100 &&
		   wse_emit_budget(most / 100 + 1, least) == most &&
		   wse_emit_budget(UINT64_MAX, least) == most,
	   "at most the device's %llu", (unsigned long long)most);
}

/* ---- blocks of a gradient ---- */

/* finishes a graph of one weight gradient on 4 columns; it needs more SRAM than there is */
static int gradient(uint32_t outs, uint32_t chunks, uint32_t t)
{
	struct wse_tile tile = {.rows = 1, .cols = 4, .lanes = 8, .sram = 48 * 1024};
	uint32_t rows = outs / chunks / 4, program, in, unit, x, dy;
	struct wse_graph g;
	int ret;

	wse_graph_init(&g, &tile, t);
	program = wse_graph_kernels(&g);
	unit = wse_graph_unit(&g, 0, outs, 16, 1);
	wse_graph_chunks(&g, unit, chunks, 1);
	in = wse_graph_in(&g, "x", (size_t)t * 16 * 2);
	x = wse_op_in(&g, "x", in, WSE_TYPE_BF16, WSE_SHAPE_TOKENS, 4);
	in = wse_graph_in(&g, "dy", (size_t)t * rows * 4 * 2);
	dy = wse_op_in(&g, "dy", in, WSE_TYPE_BF16, WSE_SHAPE_TOKENS, rows);
	for (uint32_t i = 0; i < chunks; i++)
		wse_op_wgrad_chunk(&g, program, unit, i, x, dy, WSE_NO_VALUE, WSE_NO_BIAS);
	ret = wse_ops_finish(&g);
	wse_graph_fini(&g);
	return ret;
}

static void blocks(void)
{
	int most = gradient(65520, 1, 64), more = gradient(65536, 1, 64);

	ok(most == -E2BIG && more == -EINVAL, "65520 blocks of a gradient go, 65536: %s",
	   wse_error());
	ok(gradient(65536, 2, 64) == -E2BIG && gradient(65536, 1, 32) == -E2BIG,
	   "in two chunks they go, or two outputs a block");
}

/* ---- streams of many commands ---- */

/*
 * n steps of a GPT; a checksum of its parameters and moments, 0 on failure, and the commands of the
 * last one
 */
static uint64_t steps(const char *uri, int n, uint64_t stream_bytes, uint64_t *cmds)
{
	static const char yaml[] =
		"trainer:\n"
		"  init:\n"
		"    model: {name: gpt2, hidden_size: 64, num_hidden_layers: 1, num_heads: 4,\n"
		"            max_position_embeddings: 64}\n"
		"    optimizer: {AdamW: {betas: [0.9, 0.95]}}\n"
		"    schedulers: [{ConstantLR: {learning_rate: 3.0e-3}}]\n"
		"    loop: {max_steps: 4, eval_frequency: 0}\n"
		"    sampling: {bytes: 0}\n"
		"  fit:\n"
		"    train_dataloader: {batch_size: 1, micro_batch_size: 1, data_dir: TEXT}\n"
		"    val_dataloader: {held_out_bytes: 1024}\n";
	struct wse_config_source src = {
		.name = "test", .text = yaml, .size = sizeof(yaml) - 1, .data = text};
	struct wse_exec_cost cost = {0};
	struct wse_faults faults;
	struct wse_step_result step;
	struct wse_memx_state st;
	struct wse_session s;
	struct wse_config cfg;
	uint64_t sum = 0;
	int ret = wse_config_read(&src, &cfg, &faults);

	if (ret)
		return 0;
	wse_emit_stream_bytes = stream_bytes;
	ret = wse_session_open(&s, &cfg, &uri, 1, NULL);
	for (int i = 0; i < n && !ret; i++) {
		ret = wse_session_compute(&s, &step);
		ret = ret ? ret : wse_session_commit(&s, &step);
	}
	if (!ret) {
		ret = wse_swarm_cost(s.swarm, 0, &cost);
		*cmds = cost.count[WSE_CNT_CMDS];
		wse_memx_finish(s.memx);
		wse_memx_state(s.memx, &st);
		sum = wse_checksum64(st.params, st.table->params * 4) ^
		      wse_checksum64(st.v, st.table->params * 4);
	}
	wse_session_close(&s);
	wse_emit_stream_bytes = 1ull << 30;
	return ret ? 0 : sum;
}

/* a part of 2 KiB is some blocks of the narrow images; of 1 byte, a block */
static void cuts(const char *uri, int n)
{
	static const uint64_t bytes[] = {1ull << 30, 2048, 1};
	uint64_t sum[3], cmds[3] = {0};

	for (int i = 0; i < 3; i++)
		sum[i] = steps(uri, n, bytes[i], &cmds[i]);
	ok(sum[0] && sum[1] == sum[0] && sum[2] == sum[0] && cmds[1] > 3 * cmds[0] &&
		   cmds[2] > 2 * cmds[1],
	   "%s: streams of %llu and %llu commands have the bits of those of %llu%s", uri,
	   (unsigned long long)cmds[1], (unsigned long long)cmds[2],
	   (unsigned long long)cmds[0], sum[0] && sum[1] && sum[2] ? "" : wse_error());
}

static void streams(void)
{
	struct wse_device *dev;
	int fd = mkstemp(text), rtl;

	for (int i = 0; i < 400; i++)
		if (write(fd, "a stream that is cut between blocks\n", 36) != 36)
			break;
	close(fd);
	cuts("sim:func,rows=4,cols=4", 2);
	rtl = !SANITIZED && !wse_device_open("sim:rtl,rows=4,cols=4", &dev);
	if (rtl) {
		wse_device_close(dev);
		cuts("sim:rtl,rows=4,cols=4", 1);
	} else {
		tap_skip(SANITIZED ? "too slow with sanitizers"
				   : "the RTL is not linked into this program",
			 "streams of many commands on the RTL");
	}
	unlink(text);
}

int main(void)
{
	clocks();
	predictions();
	budgets();
	blocks();
	streams();
	return tap_end();
}
