// SPDX-License-Identifier: MIT
/*
 * Gradients in a file: the tree's sums, in any order of leaves and threads; disks that are full or
 * faulty; whole steps.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

#include "bad_disk.h"
#include "base/error.h"
#include "heap.h"
#include "num/num.h"
#include "state.h"
#include "swarmx/reduce.h"
#include "pieces_list.h"
#include "tap.h"
#include "tree.h"
#include "train/memory.h"
#include "train/session.h"
#include "train/verify.h"

/* ---- units: one small, one of two pieces ---- */

enum { UNITS = 2, SMALL = 0, LARGE = 1 };

/* how their gradients lie; NULL: with the places of all weights */
static const struct wse_packed *rows_of[UNITS];
static unsigned char packs[UNITS];

static size_t floats(const struct list *t, uint32_t unit)
{
	const struct wse_unit *u = &t->g.units[unit];

	return rows_of[unit] ? rows_of[unit]->n + (size_t)u->vec_rows * t->g.tile.cols
			     : wse_unit_grad_floats(&t->g, u);
}

/* of each unit's weights so many are there, but none of a few rows */
static void masked(uint32_t percent, struct list *t, struct wse_packed p[UNITS],
		   unsigned char *bits[UNITS])
{
	make_list(t, UNITS, 20, LARGE);
	for (uint32_t i = 0; i < UNITS; i++) {
		const struct wse_unit *u = &t->g.units[i];
		struct wse_mask_shape m = wse_mask_shape(&t->g, u, 0);

		bits[i] = calloc(wse_mask_bytes(&m), 1);
		for (size_t e = 0; e < (size_t)u->outs * u->ins; e++)
			if (e / u->ins % 7 && wse_rng_u64(3, i, e) % 100 < percent)
				wse_mask_set(&m, bits[i], e / u->ins, e % u->ins, 1);
		p[i].buf = NULL;
		if (wse_packed_init(&p[i], &t->g, u, 0, bits[i], 1u << 30))
			abort();
		rows_of[i] = &p[i];
		packs[i] = 1;
	}
}

static void all_there(struct list *t, struct wse_packed p[UNITS], unsigned char *bits[UNITS])
{
	for (uint32_t i = 0; i < UNITS; i++) {
		wse_packed_fini(&p[i]);
		free(bits[i]);
		rows_of[i] = NULL;
		packs[i] = 0;
	}
	free_list(t);
}

/* ---- the tree ---- */

static float leaf(uint32_t m, size_t i)
{
	return (float)((m * 7919u + (uint32_t)i * 31u) % 1009u) * (m % 5 == 0 ? 1e3f : 0.37f) -
	       91.0f;
}

/* elements of the sum that are not the tree's, a few of them looked at */
static size_t wrong(const float *sum, size_t n, uint32_t leaves)
{
	size_t bad = 0, step = n > 10000 ? 977 : 13;

	for (size_t i = 0; i < n; i += step)
		bad += sum[i] != tree(0, leaves, i);
	return bad + (sum[n - 1] != tree(0, leaves, n - 1));
}

struct seen {
	const struct list *t;
	uint32_t leaves, times;
	size_t wrong;
};

static void look(void *ctx, uint32_t unit, const struct wse_packed *rows, const float *grad)
{
	struct seen *s = ctx;

	s->wrong += rows != rows_of[unit];
	s->times++;
	s->wrong += wrong(grad, floats(s->t, unit), s->leaves);
}

/* one step; places 0: as many as are needed */
static void step(const struct list *t, const char *dir, uint32_t unit, uint32_t leaves,
		 uint32_t threads, uint32_t places, struct seen *seen, uint64_t *written,
		 size_t *total)
{
	struct wse_grad_file *f = NULL;
	size_t n = floats(t, unit);
	float *sum = malloc(n * sizeof(*sum));
	struct wse_bank bank;
	struct wse_reduce r;
	uint64_t in, out;
	uint32_t held;
	int ret;

	if (!places)
		places = wse_reduce_waiting(leaves, 0, leaves, threads) + 1;
	ret = wse_grad_file_open(&t->l, UNITS, places, packs, dir, &f);
	if (ret)
		abort();
	*seen = (struct seen){.t = t, .leaves = leaves};
	wse_grad_file_look(f, look, seen);
	wse_bank_init(&bank, &heap);
	wse_bank_limit(&bank, 1);
	wse_reduce_init(&r, &heap, n);
	wse_reduce_in_file(&r, f, unit, 0, &bank);
	r.rows = rows_of[unit];
	seen->wrong += (size_t)feed_all(&r, leaves, threads);
	seen->wrong += !wse_reduce_whole(&r);
	if (wse_reduce_take(&r)) { /* there was no place for it */
		seen->wrong += wse_grad_file_held(f, unit) != WSE_NO_PLACE;
	} else {
		held = wse_grad_file_held(f, unit);
		seen->wrong += held == WSE_NO_PLACE ||
			       wse_grad_file_read(f, unit, held, 0, n, sum) ||
			       wrong(sum, n, leaves);
	}
	*total = bank.total;
	/* the next one begins while it is held; both go */
	seen->leaves = 2;
	seen->wrong += (size_t)feed_all(&r, 2, 1);
	wse_reduce_give_back(&r);
	wse_reduce_take(&r);
	wse_reduce_give_back(&r);
	*written = wse_grad_file_written(f);
	/* what is there, and of each of two pieces at most a header and the rest of a block */
	wse_grad_file_moved(f, &in, &out);
	seen->wrong += out > *written * (n * sizeof(*sum) + 2 * 2 * 4096);
	wse_reduce_fini(&r);
	wse_bank_fini(&bank);
	wse_grad_file_close(f);
	free(sum);
}

static void trees(const char *dir, const char *how)
{
	struct seen seen;
	struct list t;
	size_t bad = 0, total, kept = 0;
	uint64_t written, all = 0;

	make_list(&t, UNITS, 20, LARGE);
	for (uint32_t leaves = 1; leaves <= 40; leaves += leaves < 12 ? 1 : 9) {
		for (uint32_t threads = 1; threads <= 4; threads++) {
			step(&t, dir, SMALL, leaves, threads, 0, &seen, &written, &total);
			bad += seen.wrong + (seen.times != 2);
			all += written;
			kept += total;
		}
	}
	ok(!bad && all > 500 && !kept,
	   "%s: 1 to 40 gradients from 1 to 4 threads: the documented tree, %llu written, nothing is "
	   "left in memory",
	   how, (unsigned long long)all);
	step(&t, dir, LARGE, 7, 2, 0, &seen, &written, &total);
	ok(!seen.wrong && written > 3, "a unit of two pieces, %zu of its numbers differ",
	   seen.wrong);
	step(&t, dir, SMALL, 23, 1, 0, &seen, &all, &total);
	step(&t, dir, SMALL, 23, 1, 2, &seen, &written, &total);
	ok(!seen.wrong && written < all,
	   "two places, where five are needed: the rest is in memory");
	free_list(&t);
}

/* what a rank gives to others is in memory */
static void left(const char *dir)
{
	struct wse_node *node[WSE_REDUCE_PARTS];
	struct wse_grad_file *f = NULL;
	struct wse_bank bank;
	struct wse_reduce r;
	struct list t;
	uint32_t n;
	int bad = 0;

	make_list(&t, UNITS, 20, LARGE);
	if (wse_grad_file_open(&t.l, UNITS, 8, packs, dir, &f))
		abort();
	wse_bank_init(&bank, &heap);
	wse_reduce_init(&r, &heap, floats(&t, SMALL));
	wse_reduce_in_file(&r, f, SMALL, 0, &bank);
	r.rows = rows_of[SMALL];
	wse_reduce_begin(&r, 16);
	feed(&(struct feeder){&r, 0, 7});
	n = wse_reduce_left(&r, node);
	for (uint32_t i = 0, first = 0; i < n; i++) {
		uint32_t end = first + (1u << node[i]->level);

		bad += !node[i]->buf || *(float *)node[i]->buf->ptr != tree(first, end, 0);
		first = end;
	}
	ok(n == 3 && !bad && wse_grad_file_written(f) == 7, "subtrees of 4, 2 and 1 come back");
	wse_reduce_fini(&r);
	wse_bank_fini(&bank);
	wse_grad_file_close(f);
	free_list(&t);
}

/* ---- faults ---- */

/*
 * a cut file may be made longer again by a write that was on its way: the record is seen to be
 * wrong all the same
 */
static int says(int how)
{
	static const char *const what[] = {"no room is left", "not what was written",
					   "the file ends too early"};

	return strstr(wse_error(), what[how]) ||
	       (how == 2 && (strstr(wse_error(), "the record is another one") || says(1)));
}

static void faults(const char *dir)
{
	struct wse_grad_file *f = NULL;
	struct wse_bank bank;
	struct wse_reduce r;
	struct list t;
	char byte = 0x55;
	void *bad;
	int fd, ret;

	make_list(&t, UNITS, 20, LARGE);
	full = 1;
	ret = wse_grad_file_open(&t.l, UNITS, 3, packs, dir, &f);
	ok(ret == -ENOSPC && !f && strstr(wse_error(), "the gradients take"), "no room: %s",
	   wse_error());
	full = 0;
	no_ring = 1;
	for (int how = 0; how < 3; how++) {
		if (wse_grad_file_open(&t.l, UNITS, 4, packs, dir, &f))
			abort();
		fd = scratch();
		wse_bank_init(&bank, &heap);
		wse_reduce_init(&r, &heap, floats(&t, LARGE));
		wse_reduce_in_file(&r, f, LARGE, 0, &bank);
		r.rows = rows_of[LARGE];
		wse_reduce_begin(&r, 16);
		full_now = how == 0;
		/* more waits than there are slots for, so that the disk is asked */
		bad = feed(&(struct feeder){&r, 0, 15});
		full_now = 0;
		if (how == 1) /* behind the first record, which is of the other unit */
			for (off_t at = 5000; at < 20 << 20; at += 4096)
				__real_pwrite(fd, &byte, 1, at);
		if (how == 2)
			bad = ftruncate(fd, 4096) ? &r : bad;
		if (how)
			bad = bad ? NULL : feed(&(struct feeder){&r, 15, 16});
		ok(bad && strstr(wse_error(), "the gradients in a file in") &&
			   strstr(wse_error(), "unit 1, piece ") && says(how),
		   "%s", wse_error());
		close(fd);
		wse_reduce_fini(&r);
		wse_bank_fini(&bank);
		wse_grad_file_close(f);
	}
	no_ring = 0;
	free_list(&t);
}

/* ---- whole steps ---- */

/* a filter of 500 on 4 columns is padded: zeros lie among the gradients */
#define GPT(more)                                                                         \
	"trainer:\n"                                                                      \
	"  init:\n"                                                                       \
	"    model: {name: gpt2, hidden_size: 128, num_hidden_layers: 4, num_heads: 4,\n" \
	"            max_position_embeddings: 32" more "}\n"                              \
	"    optimizer: {AdamW: {betas: [0.9, 0.95]}}\n"                                  \
	"    precision: {max_gradient_norm: 1.0}\n"                                       \
	"    schedulers: [{ConstantLR: {learning_rate: 3.0e-3}}]\n"                       \
	"    loop: {max_steps: 1, eval_frequency: 0}\n"                                   \
	"    sampling: {bytes: 0}\n"                                                      \
	"  fit:\n"                                                                        \
	"    train_dataloader: {batch_size: 7, micro_batch_size: 1, data_dir: TEXT}\n"    \
	"    val_dataloader: {held_out_bytes: 1024}\n"
static const char gpt[] = GPT(""), padded[] = GPT(", filter_size: 500");

/* it scatters gradients of its embedding after the step */
static const char mlp[] =
	"trainer:\n"
	"  init:\n"
	"    model: {name: mlp, window: 8, embedding_size: 32, hidden_sizes: [256, 256, 256, 256,\n"
	"            256, 256, 256, 256, 256, 256, 256, 256]}\n"
	"    optimizer: {SGD: {momentum: 0.9}}\n"
	"    precision: {max_gradient_norm: 1.0}\n"
	"    schedulers: [{ConstantLR: {learning_rate: 3.0e-3}}]\n"
	"    loop: {max_steps: 1, eval_frequency: 0}\n"
	"    sampling: {bytes: 0}\n"
	"  fit:\n"
	"    train_dataloader: {batch_size: 320, micro_batch_size: 64, data_dir: TEXT}\n"
	"    val_dataloader: {held_out_bytes: 1024}\n";

static char text[] = "/tmp/wse-grads-XXXXXX";
static const char uri[] = "sim:func,rows=4,cols=4";

struct outcome {
	uint64_t sum;	   /* of the state */
	double loss, norm; /* of the last step */
	uint64_t written, reads;
	int fault;
};

/* three steps, of which the second is replayed */
static int run(const char *yaml, const char *dir, enum wse_memory_files files, uint32_t devices,
	       struct outcome *o)
{
	struct wse_config_source src = {
		.name = "test", .text = yaml, .size = strlen(yaml), .data = text};
	const char *uris[] = {uri, uri, uri};
	struct wse_step_result r = {0};
	struct wse_faults faults;
	struct wse_memory m;
	struct wse_config cfg;
	struct wse_session s;
	struct state st;
	int ret = wse_config_read(&src, &cfg, &faults);

	*o = (struct outcome){.fault = o->fault};
	ret = ret ? ret : wse_session_open(&s, &cfg, uris, devices, NULL);
	if (!ret && files) {
		ret = wse_memory_of(&cfg, &s.plan, uri, devices, 1, &m);
		wse_session_close(&s);
		cfg.memory_limit = wse_memory_sum(&m, files);
		snprintf(cfg.model_dir, sizeof(cfg.model_dir), "%s", dir);
		if (!ret && wse_memory_file(&m, cfg.memory_limit) != (int)files)
			ret = wse_fail(-EINVAL, "the limit does not ask for that");
		ret = ret ? ret : wse_session_open(&s, &cfg, uris, devices, NULL);
	}
	if (ret)
		return ret;
	for (int i = 0; i < 3 && !ret; i++) {
		full_now = o->fault && i == 2;
		ret = wse_session_compute(&s, &r);
		if (!ret && i == 1)
			ret = wse_verify_step(&s, uri);
		ret = ret ? ret : wse_session_check_grads(&s);
		ret = ret ? ret : wse_session_commit(&s, &r);
	}
	ret = ret ? ret : wse_memx_finish(s.memx);
	full_now = 0;
	if (!ret) {
		st = state_of(s.memx);
		o->sum = wse_checksum64(st.params, st.table->params * 4) +
			 3 * wse_checksum64(st.m, st.table->params * 4);
		o->loss = r.loss;
		o->norm = r.norm;
		state_free(&st);
	}
	if (wse_memx_grad_file(s.memx))
		o->written = wse_grad_file_written(wse_memx_grad_file(s.memx));
	o->reads = wse_memx_image_reads(s.memx);
	wse_session_close(&s);
	return ret;
}

/* each kind of files on 1 to 3 devices, or on one of these numbers */
static void whole(const char *dir, const char *what, const char *yaml, uint64_t expect, int all)
{
	struct outcome ram = {0}, o = {0};
	uint64_t written = 0;
	int ret = run(yaml, dir, WSE_FILES_NONE, 1, &ram), bad = 0;

	for (int files = WSE_FILES_STATE; files <= WSE_FILES_IMAGES && !ret; files++) {
		for (uint32_t devices = 1; devices <= 3 && !ret; devices++) {
			if ((TAP_SANITIZED || !all) &&
			    devices != (uint32_t)files - WSE_FILES_STATE + 1)
				continue;
			ret = run(yaml, dir, (enum wse_memory_files)files, devices, &o);
			bad += o.sum != ram.sum || o.loss != ram.loss || o.norm != ram.norm;
			bad += (files >= WSE_FILES_IMAGES) != (o.reads * devices > 200);
			bad += (files >= WSE_FILES_GRADS) != (o.written > 0);
			written = o.written > written ? o.written : written;
		}
	}
	ok(!ret && !bad && written >= expect,
	   "%s: weights, gradients, images in files, 1 to 3 devices, a step replayed: the bits of memory "
	   "(%llu gradients written)%s%s",
	   what, (unsigned long long)written, ret ? ": " : "", ret ? wse_error() : "");
}

static void full_run(const char *dir)
{
	struct outcome o = {.fault = 1};
	int ret;

	no_ring = 1;
	ret = run(gpt, dir, WSE_FILES_GRADS, 1, &o);
	no_ring = 0;
	ok(ret == -ENOSPC && strstr(wse_error(), "unit ") && strstr(wse_error(), "no room is left"),
	   "the third step on a full disk: %s", wse_error());
}

int main(void)
{
	char dir[] = "/tmp/wse-grad-file-XXXXXX";
	int fd = mkstemp(text);
	FILE *f = fdopen(fd, "w");

	if (!mkdtemp(dir) || !f)
		return 1;
	for (uint32_t i = 0, x = 1; i < 20000; i++) {
		x = x * 1664525 + 1013904223;
		fputc((int)(i * 7 % 40 + (x >> 24) % 24), f);
	}
	fclose(f);
	trees(dir, "io_uring, where there is one");
	no_ring = 1;
	trees(dir, "a thread");
	no_ring = 0;
	left(dir);
	faults(dir);
	for (uint32_t percent = 25; percent <= 75; percent += 50) {
		struct wse_packed p[UNITS];
		unsigned char *bits[UNITS];
		char how[40];
		struct list t;

		snprintf(how, sizeof(how), "%u %% are there", percent);
		masked(percent, &t, p, bits);
		trees(dir, how);
		left(dir);
		if (percent > 50)
			faults(dir);
		all_there(&t, p, bits);
	}
	whole(dir, "a GPT", gpt, 3 * 7 * 19, 1);
	whole(dir, "a GPT whose filter is padded", padded, 3 * 7 * 19, 0);
	whole(dir, "an MLP", mlp, 3 * 5 * 13, 1);
	full_run(dir);
	unlink(text);
	ok(!rmdir(dir), "nothing is left in the folder");
	return tap_end();
}
