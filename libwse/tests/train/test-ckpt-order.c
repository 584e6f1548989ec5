// SPDX-License-Identifier: MIT
/*
 * Checkpoints of state that lies in a file: every byte of it is read once, whatever shapes the
 * tensors have, the file is that of the same state in memory, and what comes back is the same.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "heap.h"
#include "input/config.h"
#include "memx/ckpt.h"
#include "memx/safetensors.h"
#include "memx/st_load.h"
#include "num/num.h"
#include "own_dir.h"
#include "tap.h"

static int chunks; /* models of which a unit is streamed in chunks */

/* ---- models whose matrices take several pieces each ---- */

static const struct {
	const char *what, *keys;
	uint32_t mode; /* of the graph: some have rows and inputs of the FFN in chunks */
} models[] = {
	{"GPT-2, transposed in files", "name: gpt2, filter_size: 4096, nonlinearity: gelu", 0},
	{"the same in chunks", "name: gpt2, filter_size: 4096, nonlinearity: gelu", 7},
	{"NeoX, head by head in files", "name: gpt_neox, filter_size: 4096, rotary_dim: 16", 6},
	{"LLaMA, with rows in another order",
	 "name: llama, filter_size: 4096, extra_attention_params: {num_kv_groups: 8}", 0},
};

static int read_model(const char *keys, struct wse_memx_cfg *cfg)
{
	struct wse_faults faults;
	struct wse_config c;
	char yaml[1024];
	const struct wse_config_source src = {
		.name = "test",
		.text = yaml,
		.size = (size_t)snprintf(
			yaml, sizeof(yaml),
			"trainer:\n"
			"  init:\n"
			"    model: {hidden_size: %d, num_hidden_layers: 1, num_heads: 16,\n"
			"            vocab_size: 256, max_position_embeddings: 16, %s}\n"
			"    optimizer: {AdamW: {betas: [0.9, 0.95]}}\n"
			"    schedulers: [{ConstantLR: {learning_rate: 3.0e-3}}]\n"
			"    loop: {max_steps: 20, eval_frequency: 0}\n"
			"  fit:\n"
			"    train_dataloader: {batch_size: 1, data_dir: TEXT}\n",
			TAP_SANITIZED ? 512 : 1024, keys),
		.data = dir};
	int ret = wse_config_read(&src, &c, &faults);

	*cfg = (struct wse_memx_cfg){.model = c.model, .optim = c.optim, .sched = c.sched};
	return ret;
}

/* numbers of its own in every element of every array, in a few that are as odd as numbers get */
static int fill(struct wse_memx *mx)
{
	float *row = malloc(4096 * sizeof(*row));
	struct wse_memx_state s;
	int ret = row ? 0 : -ENOMEM;

	wse_memx_state(mx, &s);
	for (uint32_t i = 0; i < s.table->n * 3 && !ret; i++)
		for (size_t at = 0, n; at < s.table->t[i / 3].count && !ret; at += n) {
			n = s.table->t[i / 3].count - at;
			n = n < 4096 ? n : 4096;
			for (size_t j = 0; j < n; j++)
				row[j] = (float)(wse_rng_u64(7, i, at + j) % 1000003) - 500001.0f;
			ret = wse_memx_write(mx, (enum wse_memx_array)(i % 3), i / 3, at, n, row);
		}
	free(row);
	return ret ? ret : wse_memx_refresh(mx);
}

static int same_files(const char *a, const char *b)
{
	int fa = open(a, O_RDONLY | O_CLOEXEC), fb = open(b, O_RDONLY | O_CLOEXEC), same;
	static char x[1 << 16], y[1 << 16];
	ssize_t n, m;

	do {
		n = read(fa, x, sizeof(x));
		m = read(fb, y, sizeof(y));
		same = n == m && n >= 0 && !memcmp(x, y, (size_t)n);
	} while (same && n);
	close(fa);
	close(fb);
	return same;
}

/* no file grows beyond 1 MB: as on a disk that is full in the middle */
static void no_room(struct wse_memx *mx, const struct wse_memx_cfg *cfg,
		    const struct wse_train_state *ts)
{
	struct rlimit all, little;
	int ret;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &all);
	little = all;
	little.rlim_cur = 1 << 20;
	setrlimit(RLIMIT_FSIZE, &little);
	ret = wse_ckpt_save(in_dir("far"), mx, cfg, ts, NULL);
	setrlimit(RLIMIT_FSIZE, &all);
	ok(ret == -EFBIG && access(in_dir("far.tmp"), F_OK) &&
		   same_files(in_dir("ram"), in_dir("far")),
	   "a file that does not get its room: %s; the one before is whole", wse_error());
}

static uint64_t sum_images(struct wse_memx *mx, const struct wse_graph *g)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < g->nunits; i++)
		sum = sum * 31 + wse_checksum64(wse_memx_images(mx)[i].vec.buf->ptr,
						wse_unit_image_bytes(g, &g->units[i]));
	return sum;
}

/*
 * weights are written and images made of them, without a look at what was written; moments, which
 * are 0, are neither written nor read
 */
static void opened(struct wse_memx *mx, const struct wse_graph *g)
{
	uint64_t in, out, images, in2, out2, least, most;
	struct wse_memx_state s;
	int ret;

	wse_memx_state(mx, &s);
	least = s.table->params * 4 * 9 / 10; /* tensors in no unit are in memory */
	most = s.table->params * 5;
	wse_memx_moved(mx, WSE_MEMX_STATE_FILE, &in, &out);
	images = sum_images(mx, g);
	ret = wse_memx_refresh(mx);
	wse_memx_moved(mx, WSE_MEMX_STATE_FILE, &in2, &out2);
	ok(!ret && !in && out > least && out < most && in2 > least && in2 < most && out2 == out &&
		   sum_images(mx, g) == images,
	   "opened: %.1f MB written, %.1f read; made again the images are the same: %.1f read",
	   1e-6 * (double)out, 1e-6 * (double)in, 1e-6 * (double)in2);
}

static void one(uint32_t which, const struct wse_memx_cfg *c)
{
	const struct wse_tile tile = {.rows = 2, .cols = 8, .lanes = 8, .sram = 1u << 30};
	struct wse_train_state ts = {.batch = 1, .micro_batch = 1};
	struct wse_memx *ram = NULL, *far = NULL;
	uint64_t in0, out0, in, out, store = 0, twice;
	struct wse_memx_cfg cfg = *c;
	char changed[WSE_CHANGED];
	struct wse_memx_state s;
	struct wse_graph g;
	struct stat sb;
	int ret = cfg.model.family->graph(&cfg.model, &tile, 8, models[which].mode, &g);

	chunks += !ret && g.variant > 1;
	ret = ret ? ret : wse_memx_open(&cfg, &g, &heap, &ram);
	cfg.dir = dir;
	ret = ret ? ret : wse_memx_open(&cfg, &g, &heap, &far);
	if (!ret)
		opened(far, &g);
	ret = ret ? ret : fill(ram);
	ret = ret ? ret : fill(far);
	if (!ok(!ret, "%s%s%s", models[which].what, ret ? ": " : "", ret ? wse_error() : ""))
		return;
	wse_memx_state(far, &s);
	store = s.table->params * 3 * sizeof(float);
	ret = wse_ckpt_save(in_dir("ram"), ram, &cfg, &ts, NULL);
	wse_memx_moved(far, WSE_MEMX_STATE_FILE, &in0, &out0);
	ret = ret ? ret : wse_ckpt_save(in_dir("far"), far, &cfg, &ts, NULL);
	wse_memx_moved(far, WSE_MEMX_STATE_FILE, &in, &out);
	ok(!ret && !wse_memx_is_far(ram) && wse_memx_is_far(far) && !stat(in_dir("far"), &sb) &&
		   (uint64_t)sb.st_size > store && in - in0 < store + store / 10 && out == out0,
	   "written: %.1f MB read for a state of %.1f MB in a file%s%s", 1e-6 * (double)(in - in0),
	   1e-6 * (double)store, ret ? ": " : "", ret ? wse_error() : "");
	ok(same_files(in_dir("ram"), in_dir("far")), "the file is that of a state in memory");
	if (!which)
		no_room(far, &cfg, &ts);
	wse_memx_close(far);
	cfg.seed = 9;
	ret = wse_memx_open(&cfg, &g, &heap, &far);
	wse_memx_moved(far, WSE_MEMX_STATE_FILE, &in0, &out0);
	ret = ret ? ret : wse_ckpt_load(in_dir("ram"), far, &cfg, WSE_CKPT_ALL, &ts, changed);
	wse_memx_moved(far, WSE_MEMX_STATE_FILE, &in, &out);
	/* the state once in and once out, and once more in for the images */
	twice = 2 * (store + store / 10);
	ok(!ret && in - in0 < twice && out - out0 < twice / 2,
	   "loaded: %.1f MB read, %.1f MB written%s%s", 1e-6 * (double)(in - in0),
	   1e-6 * (double)(out - out0), ret ? ": " : "", ret ? wse_error() : "");
	wse_memx_moved(far, WSE_MEMX_STATE_FILE, &in0, &out0);
	ret = wse_ckpt_compare(in_dir("ram"), far, &cfg, &ts);
	wse_memx_moved(far, WSE_MEMX_STATE_FILE, &in, &out);
	ok(!ret && in - in0 < twice / 2 && out == out0, "all of it; compared: %.1f MB read%s%s",
	   1e-6 * (double)(in - in0), ret ? ": " : "", ret ? wse_error() : "");
	for (uint32_t i = 0; i < g.nunits; i++)
		ret |= memcmp(wse_memx_images(far)[i].vec.buf->ptr,
			      wse_memx_images(ram)[i].vec.buf->ptr,
			      wse_unit_image_bytes(&g, &g.units[i]));
	ok(!ret, "and the images");
	wse_memx_close(ram);
	wse_memx_close(far);
	wse_graph_fini(&g);
}

/* ---- a file that changes between the passes ---- */

enum { ROWS = 48, LINE = 80 }; /* in the file [LINE][ROWS], in memory [ROWS][LINE] */

struct victim {
	float got[ROWS * LINE];
	const char *path;
	int change;
};

static int take_all(void *ctx, wse_st_fetch_fn fetch, void *from)
{
	struct victim *v = ctx;
	int fd = v->change ? open(v->path, O_RDWR | O_CLOEXEC) : -1, ret = 0;
	char last = 0;

	if (fd >= 0) { /* the lowest bit of the last element */
		off_t at = lseek(fd, 0, SEEK_END) - 4;

		ret = pread(fd, &last, 1, at) != 1;
		last ^= 1;
		ret |= pwrite(fd, &last, 1, at) != 1;
		close(fd);
	}
	for (uint32_t k = ROWS; k-- > 0 && !ret;) /* from behind */
		ret = fetch(from, 0, (size_t)k * LINE, LINE, v->got + (size_t)k * LINE);
	return ret;
}

static void changed_file(void)
{
	static float data[ROWS * LINE];
	struct wse_st_tensor t = {.name = "t",
				  .ndim = 2,
				  .dim = {LINE, ROWS},
				  .count = ROWS * LINE,
				  .data = data,
				  .transposed = 1};
	struct wse_st st = {.ntensors = 1, .tensors = &t};
	static struct victim v;
	struct wse_st_take take;
	struct wse_st_file f;
	int ret;

	for (int i = 0; i < ROWS * LINE; i++)
		data[i] = (float)i;
	v.path = in_dir("changes");
	ret = wse_st_write(v.path, &st);
	ret = ret ? ret : wse_st_open(v.path, &f);
	if (!ok(!ret, "a transposed tensor"))
		return;
	take = (struct wse_st_take){wse_st_view(&f, "t"), ROWS, LINE, 1, 0, 0};
	ret = wse_st_load_all(&f, &take, 1, take_all, &v);
	ok(!ret && !memcmp(v.got, data, sizeof(data)), "fetched line by line, from behind");
	v.change = 1;
	ret = wse_st_load_all(&f, &take, 1, take_all, &v);
	ok(ret == -ESTALE && strstr(wse_error(), "changed while it was read"), "%s", wse_error());
	wse_st_close(&f);
}

int main(void)
{
	struct wse_memx_cfg cfg;

	if (!mkdtemp(dir))
		return 1;
	for (uint32_t i = 0; i < sizeof(models) / sizeof(*models); i++) {
		if (read_model(models[i].keys, &cfg)) {
			ok(0, "%s: %s", models[i].what, wse_error());
			continue;
		}
		one(i, &cfg);
	}
	ok(chunks == 2, "two of them in chunks");
	changed_file();
	unlink(in_dir("ram"));
	unlink(in_dir("far"));
	unlink(in_dir("changes"));
	ok(!rmdir(dir), "nothing is left in the folder");
	return tap_end();
}
