// SPDX-License-Identifier: MIT
/*
 * Models whose rows share attention's work (programs *halves*.elf, firmware/lib/attn_half.h,
 * attn_back_half.h): a step is the oracle's, every gradient, whatever lies beside attention's work
 * in SRAM.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "input/config.h"
#include "model/plan.h"
#include "tap.h"
#include "train/session.h"
#include "train/verify.h"

static char text[] = "/tmp/wse-halves-XXXXXX";

struct shape {
	const char *name;
	uint32_t hidden, heads, filter, cols, vocab, rows;
	const char *more; /* of the model */
	const char *program;
};

static int open_shape(const struct shape *f, const char *uri, struct wse_session *s)
{
	static const char yaml[] =
		"trainer:\n"
		"  init:\n"
		"    model: {name: %s, hidden_size: %u, num_hidden_layers: 1, num_heads: %u,\n"
		"            filter_size: %u, max_position_embeddings: %u, vocab_size: %u%s}\n"
		"    optimizer: {AdamW: {betas: [0.9, 0.95], weight_decay: 0.01}}\n"
		"    schedulers: [{ConstantLR: {learning_rate: 3.0e-3}}]\n"
		"    loop: {max_steps: 20, eval_frequency: 0}\n"
		"    sampling: {bytes: 0}\n"
		"  fit:\n"
		"    train_dataloader: {batch_size: 1, micro_batch_size: 1, data_dir: TEXT}\n"
		"    val_dataloader: {held_out_bytes: 4096}\n";
	char all[2000];
	struct wse_config_source src = {.name = "test", .text = all, .data = text};
	struct wse_faults faults;
	struct wse_config cfg;

	src.size = (size_t)snprintf(all, sizeof(all), yaml, f->name, f->hidden, f->heads, f->filter,
				    32 * f->rows, f->vocab, f->more);
	if (wse_config_read(&src, &cfg, &faults))
		return -EINVAL;
	return wse_session_open(s, &cfg, &uri, 1, NULL);
}

static void same_bits(const struct shape *f)
{
	struct wse_step_result step = {0};
	char program[64] = "";
	struct wse_session s;
	char uri[64], oracle[64];
	int ret;

	snprintf(uri, sizeof(uri), "sim:func,rows=%u,cols=%u", f->rows, f->cols);
	snprintf(oracle, sizeof(oracle), "oracle:rows=%u,cols=%u", f->rows, f->cols);
	ret = open_shape(f, uri, &s);
	if (!ok(!ret, "%s, hidden %u, %u heads, filter %u, %u classes%s%s", uri, f->hidden,
		f->heads, f->filter, f->vocab, ret ? ": " : "", ret ? wse_error() : ""))
		return;
	for (uint32_t i = 0; i < s.plan.graph.nprograms; i++)
		if (strstr(s.plan.graph.programs[i].file, "halves"))
			snprintf(program + strlen(program), sizeof(program) - strlen(program),
				 "%s%s", *program ? " " : "", s.plan.graph.programs[i].file);
	ok(!strcmp(program, f->program), "by the programs \"%s\", %u of %u bytes", program,
	   s.plan.graph.total, s.plan.graph.tile.sram);
	ok(s.plan.graph.parts == (strstr(program, "both") || strstr(program, "backward")) &&
		   s.state.variant >> 16 == s.plan.graph.parts,
	   "order of sums %#x", s.state.variant);
	ret = wse_session_compute(&s, &step);
	ret = ret ? ret : wse_verify_step(&s, oracle);
	ok(!ret, "a step is the oracle's, loss %.4f%s%s", step.loss, ret ? ": " : "",
	   ret ? wse_error() : "");
	wse_session_close(&s);
}

int main(void)
{
	static const struct shape shapes[] = {
		/* other values lie right behind the work: its room has to be what it takes */
		{"gpt2", 96, 6, 288, 6, 256, 4, "", "halves.elf"},
		{"gpt2", 96, 6, 192, 6, 256, 4, "", "halves_both.elf"},
		{"gpt2", 64, 1, 256, 4, 300, 4, "", "halves_forward.elf halves_backward.elf"},
		{"gpt2", 32, 2, 64, 4, 128, 8, "", "halves_both.elf"},
		{"llama", 64, 4, 64, 4, 128, 4,
		 ", attention_module: multiquery_attention, "
		 "extra_attention_params: {num_kv_groups: 2}",
		 "full_halves.elf"},
		/* no room: rows take their own tokens */
		{"gpt2", 96, 6, 480, 6, 256, 4, "", ""},
	};
	FILE *f;
	int fd = mkstemp(text);

	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f)
		return 1;
	for (int i = 0; i < 40000; i++)
		putc(' ' + i * 7919 % 89, f);
	fclose(f);
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		same_bits(&shapes[i]);
	unlink(text);
	return tap_end();
}
