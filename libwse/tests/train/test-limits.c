// SPDX-License-Identifier: MIT
/*
 * Limits of sizes and counts, each at its edge: what is just below goes, what is just above is
 * refused or wide enough.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <wse/wse.h>

#include "device/device.h"
#include "exec/clock.h"
#include "input/config.h"
#include "model/gpt.h"
#include "model/plan.h"
#include "num/num.h"
#include "ops/attn_cycles.h"
#include "ops/emit.h"
#include "state.h"
#include "tap.h"
#include "train/session.h"
#include "train/verify.h"
#include "wse_cmd.h"

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

	ok(whole > half * 19 / 10 && whole_back > half_back * 19 / 10 &&
		   whole_back * 100 > 1ull << 32,
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
	ok(wse_emit_short_budget(7) == 200070 && wse_emit_short_budget(most / 10) == most &&
		   wse_emit_short_budget(UINT64_MAX) == most,
	   "of a replay that is to fail 10 x the cycles, and 200,000");
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

static const char gpt[] = "name: gpt2, hidden_size: 64, num_hidden_layers: 1, num_heads: 4,\n"
			  "            max_position_embeddings: 64";

/* of a run of steps */
struct seen {
	uint64_t cmds;	      /* of the last step */
	uint32_t cols, tiles; /* that the plan has, and the device */
};

/* n steps of a model; a checksum of its parameters and moments, 0 on failure */
static uint64_t steps(const char *model, const char *uri, int n, struct seen *seen)
{
	static const char yaml[] = "trainer:\n"
				   "  init:\n"
				   "    model: {%s}\n"
				   "    optimizer: {AdamW: {betas: [0.9, 0.95]}}\n"
				   "    schedulers: [{ConstantLR: {learning_rate: 3.0e-3}}]\n"
				   "    loop: {max_steps: 4, eval_frequency: 0}\n"
				   "    sampling: {bytes: 0}\n"
				   "  fit:\n"
				   "    train_dataloader: {batch_size: %d, data_dir: TEXT}\n"
				   "    val_dataloader: {held_out_bytes: 1024}\n";
	char all[sizeof(yaml) + 400];
	struct wse_config_source src = {.name = "test", .text = all, .data = text};
	struct wse_exec_cost cost = {0};
	struct wse_faults faults;
	struct wse_step_result step;
	struct state st;
	struct wse_session s;
	struct wse_config cfg;
	uint64_t sum = 0;
	int ret;

	src.size = (size_t)snprintf(all, sizeof(all), yaml, model, strstr(model, "gpt") ? 1 : 64);
	ret = wse_config_read(&src, &cfg, &faults);
	if (ret)
		return 0;
	ret = wse_session_open(&s, &cfg, &uri, 1, NULL);
	for (int i = 0; i < n && !ret; i++) {
		uint32_t used = s.plan.graph.tile.cols;
		char narrow[40];

		ret = wse_session_compute(&s, &step);
		/* a replay on a device of other columns */
		snprintf(narrow, sizeof(narrow), "oracle:rows=4,cols=%u", used + (uint32_t)i);
		if (!ret && used < s.plan.columns)
			ret = wse_verify_step(&s, narrow);
		if (!ret && used > 1) {
			snprintf(narrow, sizeof(narrow), "oracle:rows=4,cols=%u", used - 1);
			ret = wse_verify_step(&s, narrow) == -EINVAL ? 0 : -ERANGE;
		}
		ret = ret ? ret : wse_session_commit(&s, &step);
	}
	if (!ret) {
		wse_swarm_cost(s.swarm, 0, &cost); /* the oracle has none */
		*seen = (struct seen){cost.count[WSE_CNT_CMDS], s.plan.graph.tile.cols,
				      s.plan.columns};
		wse_memx_finish(s.memx);
		st = state_of(s.memx);
		sum = wse_checksum64(st.params, st.table->params * 4) ^
		      wse_checksum64(st.v, st.table->params * 4);
		state_free(&st);
	}
	wse_session_close(&s);
	return ret ? 0 : sum;
}

/* a part of 2 KiB is some blocks of the narrow images; of 1 byte, a block */
static void cuts(const char *uri, int n)
{
	static const uint64_t bytes[] = {1ull << 30, 2048, 1};
	struct seen s[3] = {{0}};
	uint64_t sum[3];

	for (int i = 0; i < 3; i++) {
		wse_emit_stream_bytes = bytes[i];
		sum[i] = steps(gpt, uri, n, &s[i]);
	}
	wse_emit_stream_bytes = bytes[0];
	ok(sum[0] && sum[1] == sum[0] && sum[2] == sum[0] && s[1].cmds > 3 * s[0].cmds &&
		   s[2].cmds > 2 * s[1].cmds,
	   "%s: streams of %llu and %llu commands have the bits of those of %llu%s", uri,
	   (unsigned long long)s[1].cmds, (unsigned long long)s[2].cmds,
	   (unsigned long long)s[0].cmds, sum[0] && sum[1] && sum[2] ? "" : wse_error());
}

/* ---- a vocabulary whose tokens do not fit 16 bits ---- */

static uint64_t wide_step(const char *uri, int on_samples)
{
	enum { VOCAB = 70000, SEQ = 8, N = 4000 };
	static uint32_t tokens[N];
	struct wse_gpt_shape shape = {
		.vocab = VOCAB, .positions = SEQ, .hidden = 20, .layers = 1, .heads = 5};
	struct wse_train_shape train = {.batch = 2, .lr = 1e-3, .held_out = 200, .in_order = 1};
	char path[] = "/tmp/wse-limits-XXXXXX.bin";
	struct wse_trainer *t = NULL;
	struct wse_params *p = NULL;
	struct wse_model *m = NULL;
	struct wse_step_result r[2];
	int ret = wse_model_gpt(&shape, &m), fd = mkstemps(path, 4);

	for (uint32_t i = 0; i < N; i++)
		tokens[i] = i % 3 ? VOCAB - 1 - i % 7 : i % 11;
	if (fd < 0 || write(fd, tokens, sizeof(tokens)) != sizeof(tokens))
		ret = -EIO;
	close(fd);
	train.data = on_samples ? NULL : path;
	ret = ret ? ret : wse_params_create(&p);
	ret = ret ? ret : wse_params_make(p, m, &train);
	ret = ret ? ret : wse_trainer_open(p, &uri, 1, NULL, NULL, &t);
	for (int i = 0; i < 2 && !ret; i++)
		ret = on_samples ? wse_trainer_step_on(t, tokens + i * 2 * (SEQ + 1), 2 * (SEQ + 1),
						       &r[i])
				 : wse_trainer_step(t, &r[i]);
	wse_trainer_close(t);
	wse_params_destroy(p);
	wse_model_destroy(m);
	unlink(path);
	return ret ? 0 : wse_checksum64(r, sizeof(r));
}

static void vocabulary(void)
{
	uint64_t want = wide_step("oracle:rows=1,cols=5", 0),
		 got = wide_step("sim:func,rows=1,cols=5", 0);

	ok(want && got == want, "70000 classes: two steps of the twin have the oracle's bits%s",
	   want && got ? "" : wse_error());
	want = wide_step("oracle:rows=1,cols=5", 1);
	got = wide_step("sim:func,rows=1,cols=6", 1);
	ok(want && got == want, "and on samples of uint32_t, on 5 of 6 columns%s",
	   want && got ? "" : wse_error());
}

/* ---- some of a tile's columns ---- */

/* the model takes `cols` columns: on a tile that has no others, and on those of the URIs */
static void columns(const char *model, uint32_t cols, const char *const *uris, int n)
{
	char uri[60];
	struct seen whole = {0}, s;
	uint64_t want, got;

	snprintf(uri, sizeof(uri), "oracle:rows=4,cols=%u", cols);
	want = steps(model, uri, 2, &whole);
	ok(want && whole.cols == cols && whole.tiles == cols, "%.40s... on %s%s", model, uri,
	   want ? "" : wse_error());
	for (int i = 0; i < n; i++) {
		memset(&s, 0, sizeof(s));
		got = steps(model, uris[i], 2, &s);
		ok(got && got == want && s.cols == cols && s.tiles > cols,
		   "the same bits on %u of %u columns, %s%s", s.cols, s.tiles, uris[i],
		   got ? "" : wse_error());
	}
}

static void some_columns(int rtl)
{
	static const char *const three[] = {"sim:func,rows=4,cols=4", "oracle:rows=4,cols=5",
					    "sim:rtl,rows=4,cols=4"},
				 *const four[] = {"sim:func,rows=4,cols=5"},
				 *const two[] = {"sim:func,rows=4,cols=3,shuffle=1,seed=5"},
				 *const one[] = {"sim:func,rows=4,cols=2", "sim:rtl,rows=4,cols=4"};

	/* a head a column; two columns a head, and chunks of the vocabulary; a width; one column */
	columns("name: gpt2, hidden_size: 48, num_hidden_layers: 1, num_heads: 3,\n"
		"            max_position_embeddings: 32",
		3, three, 2 + rtl);
	columns("name: gpt2, hidden_size: 64, num_hidden_layers: 1, num_heads: 2,\n"
		"            vocab_size: 900, max_position_embeddings: 64",
		4, four, 1);
	columns("name: mlp, window: 4, embedding_size: 8, hidden_sizes: [64, 40]", 2, two, 1);
	columns("name: mlp, window: 4, embedding_size: 9, hidden_sizes: [20]", 1, one, 1 + rtl);
}

/* the planner alone: published shapes on tiles of other widths */
static void plans(void)
{
	static const struct {
		uint32_t hidden, heads, cols, used;
	} shapes[] = {{1600, 25, 64, 50}, {1280, 20, 64, 60}, {768, 12, 64, 48},
		      {1088, 17, 48, 34}, {4096, 32, 80, 64}, {768, 12, 48, 48}};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		struct wse_tile tile = {
			.rows = 16, .cols = shapes[i].cols, .lanes = 8, .sram = 48 * 1024};
		struct wse_gpt shape = {.vocab = 256,
					.hidden = shapes[i].hidden,
					.layers = 1,
					.heads = shapes[i].heads,
					.filter = 4 * shapes[i].hidden,
					.positions = 128,
					.seq = 128,
					.eps = 1e-5f,
					.learned = 1};
		struct wse_plan p = {0};
		struct wse_model m;
		int ret = wse_gpt_init(&m, &shape);

		ret = ret ? ret : wse_plan_make(&m, &tile, 16, 0, &p);
		ok(!ret && p.graph.tile.cols == shapes[i].used,
		   "hidden %u, %u heads on %u columns: %u%s", shape.hidden, shape.heads, tile.cols,
		   p.graph.tile.cols, ret ? wse_error() : "");
		wse_plan_fini(&p);
	}
}

/* where a program's list of places is in its file */
static size_t list_at(const unsigned char *file, const char *section)
{
	Elf32_Ehdr h;
	Elf32_Shdr names, sec;

	memcpy(&h, file, sizeof(h));
	memcpy(&names, file + h.e_shoff + h.e_shstrndx * sizeof(names), sizeof(names));
	for (uint32_t i = 0; i < h.e_shnum; i++) {
		memcpy(&sec, file + h.e_shoff + i * sizeof(sec), sizeof(sec));
		if (!strcmp((const char *)file + names.sh_offset + sec.sh_name, section))
			return sec.sh_offset;
	}
	return 0;
}

/* a program's list of places: what is no such instruction is not replaced */
static void places(const char *section, const char *uri, const char *what,
		   int (*set)(struct wse_program *prog, uint32_t n))
{
	struct wse_device *dev = NULL;
	struct wse_context *ctx = NULL;
	struct wse_program *prog = NULL;
	unsigned char *file = NULL;
	char path[600];
	size_t size = 0, at;
	int ret = wse_find_file("WSE_KERNELS", "linear.elf", sizeof(path), path), odd = 0, bad = 0;

	ret = ret ? ret : wse_read_file(path, 1u << 24, (void **)&file, &size);
	ret = ret ? ret : wse_device_open(uri, &dev);
	ret = ret ? ret : wse_context_create(dev, 0, &ctx);
	ret = ret ? ret : wse_program_create(ctx, path, &prog);
	ok(!ret && !set(prog, 4) && !set(prog, 1) && set(prog, 5) == -ERANGE &&
		   set(prog, 0) == -ERANGE,
	   "a program runs on 1 to 4 of 4 %s: %s", what, wse_error());
	wse_program_destroy(prog);
	prog = NULL;
	if (!ret)
		ret = (at = list_at(file, section)) ? 0 : -ENOENT;
	if (!ret) {
		file[at] ^= 4;
		odd = wse_program_load_memory(ctx, file, size, &prog);
		file[at] ^= 4;
		file[at + 3] ^= 0x40;
		bad = wse_program_load_memory(ctx, file, size, &prog);
	}
	ok(!ret && odd == -ENOEXEC && bad == -ENOEXEC && strstr(wse_error(), section), "%s",
	   wse_error());
	free(file);
	wse_context_destroy(ctx);
	wse_device_close(dev);
}

int main(void)
{
	struct wse_device *dev;
	int fd = mkstemp(text), rtl;

	for (int i = 0; i < 400; i++)
		if (write(fd, "a stream that is cut between blocks\n", 36) != 36)
			break;
	close(fd);
	rtl = !TAP_SANITIZED && !wse_device_open("sim:rtl,rows=4,cols=4", &dev);
	if (rtl)
		wse_device_close(dev);
	else
		tap_skip(TAP_SANITIZED ? "too slow with sanitizers"
				       : "the RTL is not linked into this program",
			 "streams of many commands, and some of its columns, on the RTL");
	clocks();
	predictions();
	budgets();
	blocks();
	cuts("sim:func,rows=4,cols=4", 2);
	if (rtl)
		cuts("sim:rtl,rows=4,cols=4", 1);
	vocabulary();
	places(".wse.cols", "sim:func,rows=1,cols=4", "columns", wse_program_columns);
	places(".wse.rows", "sim:func,rows=4,cols=1", "rows", wse_program_rows);
	plans();
	some_columns(rtl);
	unlink(text);
	return tap_end();
}
