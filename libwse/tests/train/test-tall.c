// SPDX-License-Identifier: MIT
/*
 * A GPT on a tile of many rows: sources wait for consumers that get ready late, so that whole runs
 * pass.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "device/sim/sim.h"
#include "own_twin.h"
#include "tap.h"
#include "train/session.h"
#include "twin/func.h"

static const char gpt[] =
	"trainer:\n"
	"  init:\n"
	"    model: {name: gpt2, hidden_size: 32, num_hidden_layers: 1, num_heads: 4,\n"
	"            max_position_embeddings: 512}\n"
	"    optimizer: {AdamW: {betas: [0.9, 0.95]}}\n"
	"    schedulers: [{ConstantLR: {learning_rate: 3.0e-3}}]\n"
	"    loop: {max_steps: 1, eval_frequency: 0}\n"
	"    sampling: {bytes: 0}\n"
	"  fit:\n"
	"    train_dataloader: {batch_size: 1, micro_batch_size: 1, data_dir: TEXT}\n"
	"    val_dataloader: {held_out_bytes: 4096}\n";

static int read_ways(struct sim *sim, void *arg)
{
	twin_ways(sim->machine, arg);
	return 0;
}

int main(void)
{
	static const char *const uris[] = {"sim:func,rows=64,cols=4,threads=1"};
	char text[] = "/tmp/wse-tall-XXXXXX";
	struct wse_config_source src = {
		.name = "test", .text = gpt, .size = strlen(gpt), .data = text};
	FILE *f = fdopen(mkstemp(text), "w");
	struct twin_ways ways = {0};
	struct wse_step_result r;
	struct wse_faults faults;
	struct wse_config cfg;
	struct wse_session s;
	int ret;

	if (!f)
		return 1;
	for (uint32_t i = 0, x = 1; i < 40000; i++) {
		x = x * 1664525 + 1013904223;
		fputc((int)(i * 7 % 40 + (x >> 24) % 24), f);
	}
	fclose(f);
	ret = wse_config_read(&src, &cfg, &faults);
	ret = ret ? ret : wse_session_open(&s, &cfg, uris, 1, NULL);
	if (!ok(!ret, "64 x 4 cores%s%s", ret ? ": " : "", ret ? wse_error() : ""))
		return tap_end();
	ret = wse_session_compute(&s, &r);
	if (twin)
		sim_call(to_sim(twin), read_ways, &ways);
	/* 37,056; those that waited 32 rounds, as on a small tile, are 36,352 */
	ok(!ret && ways.values + ways.axpys >= 36700,
	   "a step: %llu sources of runs sent values, of %llu runs",
	   (unsigned long long)(ways.values + ways.axpys),
	   (unsigned long long)(ways.runs + ways.axpys));
	wse_session_close(&s);
	unlink(text);
	return tap_end();
}
