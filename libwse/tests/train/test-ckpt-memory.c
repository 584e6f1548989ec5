// SPDX-License-Identifier: MIT
/* What saving, hashing and loading a checkpoint takes of memory does not depend on the model. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "heap.h"
#include "memx/ckpt.h"
#include "memx/safetensors.h"
#include "model/gpt.h"
#include "tap.h"

/* ---- what is allocated: the linker has all calls come here ---- */

static long live, peak;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t align, size_t n);
void __real_free(void *p);

void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_aligned_alloc(size_t align, size_t n);
void __wrap_free(void *p);

static void *count(void *p)
{
	live += (long)malloc_usable_size(p);
	peak = live > peak ? live : peak;
	return p;
}

void *__wrap_malloc(size_t n)
{
	return count(__real_malloc(n));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return count(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t n)
{
	live -= (long)malloc_usable_size(p);
	return count(__real_realloc(p, n));
}

void *__wrap_aligned_alloc(size_t align, size_t n)
{
	return count(__real_aligned_alloc(align, n));
}

void __wrap_free(void *p)
{
	live -= (long)malloc_usable_size(p);
	__real_free(p);
}

/* ---- */

#define BOUND (WSE_ST_STRIPE + (6l << 20))

static long before; /* what was live */

static void begin(void)
{
	before = peak = live;
}

static void bounded(const char *what, int ret, size_t params)
{
	ok(!ret && peak - before < BOUND, "%zu parameters, %s: %.1f MB %s", params, what,
	   (double)(peak - before) * 1e-6, ret ? wse_error() : "");
}

/* parameters that two have in other bits, or cannot be read */
static size_t differ(struct wse_memx *a, struct wse_memx *b, const struct wse_tensor_table *tab)
{
	float x[1024], y[1024];
	size_t n = 0;

	for (uint32_t i = 0; i < tab->n; i++)
		for (size_t at = 0, k; at < tab->t[i].count; at += k) {
			k = tab->t[i].count - at < 1024 ? tab->t[i].count - at : 1024;
			n += wse_memx_read(a, WSE_MEMX_P, i, at, k, x) ||
			     wse_memx_read(b, WSE_MEMX_P, i, at, k, y) || memcmp(x, y, 4 * k);
		}
	return n;
}

static void one(uint32_t filter)
{
	const struct wse_tile tile = {.rows = 2, .cols = 2, .lanes = 8, .sram = 1u << 30};
	struct wse_gpt shape = {.vocab = 16,
				.positions = 16,
				.seq = 16,
				.hidden = 256,
				.layers = 1,
				.heads = 2,
				.filter = filter,
				.act = WSE_GELU_NEW,
				.tied = 1,
				.eps = 1e-5f,
				.dev = 0.02f,
				.learned = 1};
	struct wse_memx_cfg cfg = {.optim = {.kind = WSE_OPTIM_SGD},
				   .sched = {1, {{WSE_SCHED_CONSTANT, 1, 1, 1, 0}}},
				   .seed = 1};
	struct wse_train_state ts = {.batch = 1, .micro_batch = 1};
	char path[] = "/tmp/wse-test-XXXXXX", changed[WSE_CHANGED], hash[65];
	struct wse_memx *mx = NULL, *other = NULL, *forward = NULL;
	struct wse_graph graph;
	struct wse_memx_state s;
	int fd = mkstemp(path), ret = wse_gpt_init(&cfg.model, &shape);
	size_t params;

	ret = ret ? ret : cfg.model.family->graph(&cfg.model, &tile, 8, 0, &graph);
	ret = ret ? ret : wse_memx_open(&cfg, &graph, &heap, &mx);
	cfg.seed = 2;
	ret = ret ? ret : wse_memx_open(&cfg, &graph, &heap, &other);
	if (ret || fd < 0) {
		ok(0, "a model: %s", wse_error());
		return;
	}
	wse_memx_state(mx, &s);
	params = s.table->params;
	cfg.forward = 1;
	begin();
	ret = wse_memx_open(&cfg, &graph, &heap, &forward);
	/* masters, and twice bf16; large blocks begin at a huge page */
	ok(!ret && (double)(live - before) < 8.0 * (double)params + 10e6,
	   "%zu parameters, without training: %.2f bytes each", params,
	   (double)(live - before) / (double)params);
	wse_memx_close(forward);
	cfg.forward = 0;
	begin();
	ret = wse_ckpt_save(path, mx, &cfg, &ts, NULL);
	bounded("written", ret, params);
	begin();
	ret = wse_ckpt_hash(path, hash);
	bounded("hashed", ret, params);
	begin();
	ret = wse_ckpt_load(path, other, &cfg, WSE_CKPT_ALL, &ts, changed);
	bounded("loaded", ret, params);
	ok(!differ(mx, other, s.table), "all of it");
	wse_memx_close(mx);
	wse_memx_close(other);
	wse_graph_fini(&graph);
	close(fd);
	unlink(path);
}

int main(void)
{
	one(1024);
	one(17408); /* a transposed matrix of 18 MB, a file of 73: more than the bound */
	return tap_end();
}
