// SPDX-License-Identifier: MIT
/*
 * MLPs whose layers do not fit whole: what comes in chunks has the bits that it has in one piece,
 * and no model that fits without them gets another plan.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <wse/wse.h>

#include "input/config.h"
#include "model/mlp.h"
#include "model/plan.h"
#include "num/num.h"
#include "ops/ops.h"
#include "state.h"
#include "tap.h"
#include "train/session.h"
#include "train/verify.h"

static char text[] = "/tmp/wse-chunks-XXXXXX";

struct shape {
	const char *hidden, *act;
	uint32_t window, embed, vocab, batch, micro; /* micro 0: the planner's */
};

/* mode: the first that the planner tries */
static int open_shape(const struct shape *f, const char *uri, uint32_t mode, struct wse_session *s)
{
	static const char yaml[] =
		"trainer:\n"
		"  init:\n"
		"    model: {name: mlp, window: %u, embedding_size: %u, vocab_size: %u,\n"
		"            hidden_sizes: %s, nonlinearity: %s}\n"
		"    optimizer: {AdamW: {betas: [0.9, 0.95], weight_decay: 0.01}}\n"
		"    schedulers: [{ConstantLR: {learning_rate: 3.0e-3}}]\n"
		"    loop: {max_steps: 20, eval_frequency: 0}\n"
		"    sampling: {bytes: 0}\n"
		"  fit:\n"
		"    train_dataloader: {batch_size: %u, micro_batch_size: %s, data_dir: TEXT}\n"
		"    val_dataloader: {held_out_bytes: 1024}\n";
	char all[2000], micro[20];
	struct wse_config_source src = {.name = "test", .text = all, .data = text};
	struct wse_faults faults;
	struct wse_config cfg;

	snprintf(micro, sizeof(micro), f->micro ? "%u" : "null", f->micro);
	src.size = (size_t)snprintf(all, sizeof(all), yaml, f->window, f->embed, f->vocab,
				    f->hidden, f->act, f->batch, micro);
	if (wse_config_read(&src, &cfg, &faults))
		return -EINVAL;
	cfg.model.mode = mode;
	return wse_session_open(s, &cfg, &uri, 1, NULL);
}

/*
 * steps of training, the last one verified by the oracle; a checksum over parameters and moments, 0
 * on failure
 */
static uint64_t steps(const struct shape *f, const char *uri, uint32_t mode, int n,
		      uint32_t *chosen)
{
	struct wse_step_result step;
	struct state st;
	struct wse_session s;
	char check[64];
	uint64_t sum = 0;
	int ret = open_shape(f, uri, mode, &s);

	snprintf(check, sizeof(check), "oracle:%s", strstr(uri, "rows="));
	for (int i = 0; i < n && !ret; i++) {
		ret = wse_session_compute(&s, &step);
		if (!ret && i + 1 == n && strncmp(uri, "oracle", 6))
			ret = wse_verify_step(&s, check);
		ret = ret ? ret : wse_session_commit(&s, &step);
	}
	if (!ret) {
		wse_memx_finish(s.memx);
		st = state_of(s.memx);
		sum = wse_checksum64(st.params, st.table->params * 4) ^
		      wse_checksum64(st.v, st.table->params * 4);
		state_free(&st);
		*chosen = s.plan.mode;
	}
	wse_session_close(&s);
	return ret ? 0 : sum;
}

/* every mode of a model that needs none of them */
static void same_bits(const struct shape *f, const char *tile, int rtl)
{
	static const char *const how[] = {"oracle", "sim:func", "sim:rtl"};
	char uri[64];
	uint32_t modes = wse_family_mlp.modes, chosen = 99;
	uint64_t want;

	snprintf(uri, sizeof(uri), "oracle:%s", tile);
	want = steps(f, uri, 0, 3, &chosen);
	ok(want && !chosen, "%s %s on %s in one piece %s", f->hidden, f->act, tile,
	   want ? "" : wse_error());
	for (int h = 0; h < 2 + rtl; h++)
		for (uint32_t mode = 1; mode < modes; mode++) {
			uint64_t got;

			/* a step of the RTL takes seconds: the last mode, which has most chunks */
			if (h == 2 && mode + 1 < modes)
				continue;
			snprintf(uri, sizeof(uri), "%s%c%s", how[h], h ? ',' : ':', tile);
			got = steps(f, uri, mode, 3, &chosen);
			ok(got && got == want && chosen == mode, "the same bits on %s in mode %u%s",
			   uri, chosen, got ? "" : wse_error());
		}
}

/* trained before a model was a list of operations, and did not fit when it had become one */
static void lost(const struct shape *f, const char *tile)
{
	char uri[64];
	uint32_t chosen = 0;
	uint64_t a, b;

	snprintf(uri, sizeof(uri), "sim:func,%s", tile);
	a = steps(f, uri, 0, 2, &chosen);
	ok(a && chosen, "%s on %s, %u tokens: mode %u%s", f->hidden, tile, f->micro, chosen,
	   a ? "" : wse_error());
	snprintf(uri, sizeof(uri), "oracle:%s", tile);
	b = steps(f, uri, 0, 2, &chosen);
	ok(a && a == b, "and the oracle has its bits%s", b ? "" : wse_error());
}

/* 16 tokens a core fit in one piece, 32 only in chunks: the plan is the one of before */
static void plain_first(void)
{
	static const uint32_t hidden[] = {640, 640};
	struct wse_tile tile = {.rows = 4, .cols = 4, .lanes = 8, .sram = 48 * 1024};
	struct wse_plan p = {0};
	struct wse_model m;
	int ret = wse_mlp_init(&m, 8, 16, 256, hidden, 2, WSE_RELU);

	ret = ret ? ret : wse_plan_make(&m, &tile, 512, 128, &p);
	ok(!ret && p.mode, "asked for 32 tokens a core: %d, mode %u", ret, p.mode);
	wse_plan_fini(&p);
	ret = wse_plan_make(&m, &tile, 512, 0, &p);
	ok(!ret && !p.mode && p.tokens == 64, "chosen: %d, %u tokens, mode %u", ret, p.tokens,
	   p.mode);
	wse_plan_fini(&p);
}

static void refused(void)
{
	static const struct wse_tile tile = {.rows = 2, .cols = 4, .lanes = 8, .sram = 48 * 1024};
	static const uint32_t hidden[] = {64};
	struct wse_graph g = {0};
	struct wse_model m;
	int ret = wse_mlp_init(&m, 4, 8, 64, hidden, 1, WSE_RELU);

	ret = ret ? ret : m.family->graph(&m, &tile, 8, 3, &g);
	ok(!ret && g.units[1].chunks_back == 4,
	   "16 features a column, as many chunks as can be: %s", ret ? wse_error() : "");
	for (uint32_t i = 0; i < g.nvalues; i++)
		g.values[i].first = UINT32_MAX;
	g.units[1].chunks_out = 2;
	ret = wse_ops_finish(&g);
	ok(ret == -EINVAL && strstr(wse_error(), "of parts and chunks only one"), "%s",
	   wse_error());
	wse_graph_fini(&g);
}

int main(void)
{
	static const struct shape gelu = {"[64, 96]", "gelu_new", 8, 8, 64, 96, 32},
				  relu = {"[80, 64]", "relu", 4, 8, 64, 64, 32},
				  deep = {"[104, 160, 160, 248]", "relu", 8, 16, 64, 128, 64},
				  last = {"[992]", "relu", 8, 8, 256, 512, 256};
	int fd = mkstemp(text), rtl = 0;
	struct wse_device *dev;
	FILE *f = fdopen(fd, "w");

	if (!f)
		return 1;
	for (uint32_t i = 0, x = 1; i < 20000; i++) {
		x = x * 1664525 + 1013904223;
		fputc((int)(i * 7 % 40 + (x >> 24) % 24), f);
	}
	fclose(f);
	if (!wse_device_open("sim:rtl,rows=2,cols=2", &dev)) {
		rtl = 1;
		wse_device_close(dev);
	}
	same_bits(&gelu, "rows=4,cols=4", 0);
	same_bits(&relu, "rows=2,cols=2", rtl);
	lost(&deep, "rows=2,cols=2");
	lost(&last, "rows=4,cols=8");
	plain_first();
	refused();
	unlink(text);
	return tap_end();
}
