// SPDX-License-Identifier: MIT
/*
 * Initial values, where the state has them. A value depends on its own place in its tensor alone
 * (wse_rng_normals()), so the rows of a piece are shared among as many threads as the process may
 * use: 30 ns a value are most of what a large model's begin takes.
 */
#define _GNU_SOURCE
#include "memx/map.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define MAX_THREADS 8u
#define WORTH	    8192u /* values that are worth a thread: a quarter of a millisecond */

/* what of a tensor lies in a piece of the state, p [count]; row: scratch of a row of the matrix */
static void init_tensor(const struct wse_map *m, uint64_t seed, uint32_t tensor,
			const struct wse_memx_piece *piece, float *p, float *row)
{
	const struct wse_home *h = &m->home[tensor];
	const struct wse_unit *u = &m->g->units[h->unit];
	const struct wse_tensor *t = &m->tab->t[tensor];
	size_t per = wse_unit_row_pieces(m->g, u), end = piece->at + piece->count;
	/* inputs in another order: as many pieces of a tensor as a row has lie in each row */
	const size_t ins = wse_unit_tensor_ins(u);
	int rows = !h->which && per;
	size_t i = rows ? piece->row * per : 0;
	struct wse_piece q;

	for (; wse_unit_piece(m->g, u, h->which, t, i, &q) && (!rows || q.at < end); i++) {
		size_t a = q.at > piece->at ? q.at : piece->at;
		size_t b = q.at + q.count < end ? q.at + q.count : end;

		if (a >= b)
			continue;
		if (rows && i % per == 0)
			wse_tensor_init_part(m->tab, seed, tensor, q.from, ins, row);
		if (rows)
			memcpy(p + (a - piece->at), row + q.from % ins, (b - a) * sizeof(*p));
		else
			wse_tensor_init_part(m->tab, seed, tensor, q.from + (a - q.at), b - a,
					     p + (a - piece->at));
	}
}

/* some rows of a piece's matrix */
struct share {
	const struct wse_map *m;
	uint64_t seed;
	struct wse_memx_piece piece;
	float *p, *row; /* p: of piece.at */
};

static void *init_rows(void *arg)
{
	struct share *s = arg;
	const struct wse_memx_piece *p = &s->piece;

	if (p->unit == WSE_NO_UNIT)
		wse_tensor_init_part(s->m->tab, s->seed, p->tensor, p->at, p->count, s->p);
	else if (p->rows)
		init_tensor(s->m, s->seed, s->m->g->units[p->unit].weight, p, s->p, s->row);
	return NULL;
}

static uint32_t threads_of(const struct wse_memx_piece *p)
{
	size_t n = p->count / WORTH;
	cpu_set_t set;
	uint32_t cpus = 1;

	if (n > 1 && !sched_getaffinity(0, sizeof(set), &set))
		cpus = (uint32_t)CPU_COUNT(&set);
	n = n < cpus ? n : cpus;
	n = n < p->rows ? n : p->rows;
	n = n < MAX_THREADS ? n : MAX_THREADS;
	return n ? (uint32_t)n : 1;
}

/* rows [p->rows * i / n, p->rows * (i + 1) / n) of a piece */
static struct wse_memx_piece rows_of(const struct wse_memx_piece *p, uint32_t i, uint32_t n)
{
	size_t width = p->rows ? (p->count - p->vec) / p->rows : 0;
	struct wse_memx_piece some = *p;
	uint32_t first = (uint32_t)((uint64_t)p->rows * i / n);

	some.row += first;
	some.rows = (uint32_t)((uint64_t)p->rows * (i + 1) / n) - first;
	some.at += first * width;
	some.count = some.rows * width;
	some.vec = 0;
	return some;
}

int wse_map_init_piece(const struct wse_map *m, uint64_t seed, uint32_t piece, float *w)
{
	const struct wse_memx_piece *p = &m->pieces.p[piece];
	const struct wse_unit *u = p->unit == WSE_NO_UNIT ? NULL : &m->g->units[p->unit];
	size_t width = u ? u->ins : 0;
	uint32_t n = threads_of(p);
	struct share s[MAX_THREADS];
	pthread_t id[MAX_THREADS];
	int there[MAX_THREADS] = {0};
	float *row = malloc((n * width + 1) * sizeof(*row)); /* scratch of each thread */

	if (!row)
		return -ENOMEM;
	memset(w, 0, p->count * sizeof(*w)); /* padding */
	for (uint32_t i = 0; i < n; i++) {
		s[i] = (struct share){m, seed, rows_of(p, i, n), w, row + i * width};
		s[i].p += s[i].piece.at - p->at;
		there[i] = i && !pthread_create(&id[i], NULL, init_rows, &s[i]);
	}
	for (uint32_t i = 0; i < n; i++)
		if (!there[i])
			init_rows(&s[i]);
	for (uint32_t i = 0; i < n; i++)
		if (there[i])
			pthread_join(id[i], NULL);
	for (uint32_t i = 0; u && i < u->nvec && p->vec; i++)
		init_tensor(m, seed, u->vec[i].tensor, p, w, row);
	free(row);
	return 0;
}

int wse_map_init(struct wse_map *m, uint64_t seed, uint32_t end)
{
	size_t longest = m->kept.n < m->pieces.n ? m->pieces.longest : 1;
	float *other = malloc(longest * sizeof(*other)); /* a piece that another rank keeps */
	int ret = other ? 0 : -ENOMEM;

	if (!ret)
		wse_map_ahead(m, 0, end);
	for (uint32_t k = 0; k < end && !ret; k++) {
		int here = wse_map_has(m, k);
		float *array[WSE_MEMX_ARRAYS];

		ret = here ? wse_map_get(m, k, array) : 0;
		if (ret)
			break;
		ret = wse_map_init_piece(m, seed, k, here ? array[WSE_MEMX_P] : other);
		if (here) {
			int put = wse_map_put(m, k, 1);

			ret = ret ? ret : put;
		} else if (!ret) {
			ret = m->elsewhere(m->ctx, WSE_MEMX_P, k, 0, m->pieces.p[k].count, NULL,
					   other);
		}
	}
	free(other);
	return ret;
}