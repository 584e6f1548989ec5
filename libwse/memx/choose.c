// SPDX-License-Identifier: MIT
/*
 * The n smallest of a part's keys, in four passes: each counts the keys by 16 bits more. A key of
 * 64 bits has the number in its upper half and the element's index in the lower one, so no two are
 * equal. Ranks add up their counts by 8 bits at a time: first those of 256 buckets each, then those
 * of the buckets in the one that has it. So no list is sorted, and none is sent.
 */
#include "memx/choose.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "num/num.h"

#define BITS	16u
#define BUCKETS (1u << BITS)
#define PASSES	(64 / BITS)
#define DIGIT	8u /* bits by which counts of ranks are added up */
#define DIGITS	(1u << DIGIT)
_Static_assert(BITS == 2 * DIGIT, "a bucket has two digits");
_Static_assert(WSE_CHOOSE_BYTES == 2 * PASSES * DIGITS * sizeof(uint64_t), "as counts are spread");

/* the search for the key of the n-th smallest of a part's */
struct search {
	uint64_t found; /* its upper bits, as many as passes were made */
	uint64_t left; /* of the keys that begin so, it is this one, from 1 on; 0: none is wanted */
};

static int begins(uint64_t key, const struct search *s, uint32_t pass)
{
	return !pass || key >> (64 - BITS * pass) == s->found;
}

static uint32_t bucket(uint64_t key, uint32_t pass)
{
	return (uint32_t)(key >> (64 - BITS * (pass + 1))) & (BUCKETS - 1);
}

/* the next bits of the key, by the keys that have each of them: count [1 << bits] */
static void narrow(struct search *s, const uint64_t *count, uint32_t bits)
{
	uint32_t b = 0;

	while (b + 1 < 1u << bits && count[b] < s->left)
		s->left -= count[b++];
	s->found = s->found << bits | b;
}

static uint32_t magnitude(float f)
{
	return wse_f2u(f) & 0x7fffffffu;
}

static uint64_t small_first(float f, size_t index)
{
	return (uint64_t)magnitude(f) << 32 | (uint32_t)index;
}

static uint64_t large_first(float f, size_t index)
{
	return (uint64_t)~magnitude(f) << 32 | (uint32_t)index;
}

static int no_memory(const struct wse_sparse_part *p)
{
	return wse_fail(-ENOMEM, "no memory to choose the weights of %s", p->name);
}

/* ---- by what every rank can compute, in the tensor's order ---- */

/* key of element i of a part */
typedef uint64_t (*key_fn)(const void *ctx, size_t i);

/*
 * the n smallest of the elements with want [count] not 0 (NULL: all) get this byte; of equal keys
 * the first
 */
static int mark(const struct wse_sparse_part *p, size_t n, key_fn key, const void *ctx,
		const unsigned char *want, unsigned char *bytes, unsigned char value)
{
	uint64_t *count = malloc(BUCKETS * sizeof(*count));
	struct search s = {0, n};

	if (!count)
		return no_memory(p);
	for (uint32_t pass = 0; pass < PASSES && n; pass++) {
		memset(count, 0, BUCKETS * sizeof(*count));
		for (size_t i = 0; i < p->count; i++)
			if ((!want || want[i]) && begins(key(ctx, i), &s, pass))
				count[bucket(key(ctx, i), pass)]++;
		narrow(&s, count, BITS);
	}
	for (size_t i = 0; i < p->count && n; i++) {
		uint64_t k = want && !want[i] ? UINT64_MAX : key(ctx, i);

		if ((want && !want[i]) || k > s.found || (k == s.found && !s.left))
			continue;
		bytes[i] = value;
		s.left -= k == s.found;
	}
	free(count);
	return 0;
}

struct random {
	uint64_t seed, stream;
	size_t from;
};

static uint64_t random_key(const void *ctx, size_t i)
{
	const struct random *r = ctx;

	return wse_rng_u64(r->seed, r->stream, r->from + i);
}

static uint64_t value_key(const void *ctx, size_t i)
{
	return small_first(((const float *)ctx)[i], i);
}

/* all weights of a part are there */
static void put_ones(struct wse_masks *m, const struct wse_sparse_part *p)
{
	unsigned char ones[256];

	memset(ones, 1, sizeof(ones));
	for (size_t at = 0, n; at < p->count; at += n) {
		n = p->count - at < sizeof(ones) ? p->count - at : sizeof(ones);
		wse_masks_put(m, p, at, n, ones);
	}
}

static int first_of_part(struct wse_masks *m, const struct wse_sparse_part *p, uint64_t seed)
{
	const struct random r = {seed, WSE_CHOOSE_RANDOM | p->tensor, p->from};
	const int topk = m->cfg->g[p->group].init == WSE_SPARSE_TOPK;
	unsigned char *bytes = malloc(p->count);
	float *w = topk ? malloc(p->count * sizeof(*w)) : NULL;
	int ret = bytes && (w || !topk) ? 0 : no_memory(p);

	if (!ret)
		memset(bytes, 1, p->count);
	if (!ret && topk)
		wse_tensor_init_part(m->tab, seed, p->tensor, p->from, p->count, w);
	if (!ret)
		ret = mark(p, p->count - p->keep, topk ? value_key : random_key,
			   topk ? (const void *)w : &r, NULL, bytes, 0);
	if (!ret)
		wse_masks_put(m, p, 0, p->count, bytes);
	free(w);
	free(bytes);
	return ret;
}

int wse_choose_first(struct wse_masks *m, uint64_t seed)
{
	int ret = 0;

	for (uint32_t i = 0; i < m->nparts && !ret; i++) {
		if (m->cfg->file[0])
			put_ones(m, &m->part[i]);
		else
			ret = first_of_part(m, &m->part[i], seed);
	}
	m->there = !ret && m->nparts;
	return ret;
}

/* ---- by what the ranks keep, in the order of the images ---- */

#define PARTS 3 /* of a unit, at most */

/* a choice among the weights of one unit */
struct choice {
	struct wse_masks *m;
	const struct wse_choose_source *from;
	uint32_t unit, n;
	const struct wse_sparse_part *part[PARTS];
	struct search s[PARTS];
	uint64_t *count[PARTS]; /* [BUCKETS] of what this rank keeps */
	uint64_t *digit;	/* [ranks][PARTS][DIGITS] of each rank's */
	int by_grad; /* the largest gradients that are not there; else the smallest weights */
	int there;   /* of those that are there, or (0) of those that are not */
};

/* visits what this rank keeps; pass PASSES: sets the bits of what was found */
static void look(struct choice *c, uint32_t pass, size_t at, size_t from, size_t n, const float *x)
{
	struct wse_unit_mask *k = &c->m->unit[c->unit];
	size_t width = k->fwd.width, row = at / width, j = at % width;
	uint32_t i = 0;

	while (i < c->n && from >= c->part[i]->from + c->part[i]->count)
		i++;
	for (size_t e = 0; e < n; e++, j++) {
		const struct wse_sparse_part *p;
		size_t index;
		uint64_t key;

		if (j == width) {
			j = 0;
			row++;
		}
		while (i < c->n && from + e >= c->part[i]->from + c->part[i]->count)
			i++;
		if (i == c->n)
			return;
		p = c->part[i];
		if (from + e < p->from || !c->s[i].left ||
		    wse_mask_get(&k->fwd, k->next, row, j) != c->there)
			continue;
		index = from + e - p->from;
		key = c->by_grad ? large_first(x[e], index) : small_first(x[e], index);
		if (pass == PASSES) {
			if (key <= c->s[i].found)
				wse_mask_set(&k->fwd, k->next, row, j, !c->there);
		} else if (begins(key, &c->s[i], pass)) {
			c->count[i][bucket(key, pass)]++;
		}
	}
}

static int look_at_pieces(struct choice *c, uint32_t pass)
{
	const struct wse_map *map = c->m->map;
	const struct wse_unit *u = &c->m->g->units[c->unit];
	const struct wse_tensor *t = &c->m->tab->t[u->weight];
	size_t per = wse_unit_row_pieces(c->m->g, u);
	int ret = 0;

	for (uint32_t k = map->pieces.first[c->unit]; k < map->pieces.first[c->unit + 1]; k++) {
		const struct wse_memx_piece *p = &map->pieces.p[k];
		size_t end = p->at + p->count - p->vec, i = per ? p->row * per : 0;
		const float *w, *grad, *x;
		struct wse_piece q;

		if (!wse_map_has(map, k) || !p->rows)
			continue;
		ret = c->from->get(c->from->ctx, k, &w, c->by_grad ? &grad : NULL);
		if (ret)
			return ret;
		x = c->by_grad ? grad : w;
		for (; wse_unit_piece(c->m->g, u, 0, t, i, &q) && q.at < end; i++) {
			size_t a = q.at > p->at ? q.at : p->at;
			size_t b = q.at + q.count < end ? q.at + q.count : end;

			if (a < b)
				look(c, pass, a, q.from + (a - q.at), b - a, x + (a - p->at));
		}
		ret = c->from->put(c->from->ctx, k);
		if (ret)
			return ret;
	}
	return 0;
}

static uint64_t *digits_of(const struct choice *c, uint32_t rank, uint32_t i)
{
	return c->digit + ((size_t)rank * PARTS + i) * DIGITS;
}

/* the counts of this rank: by upper digits, or by lower ones of buckets that begin as was found */
static void count_digits(const struct choice *c, int lower)
{
	for (uint32_t i = 0; i < c->n; i++) {
		uint64_t *digit = digits_of(c, c->m->map->rank, i);
		const uint64_t *count = c->count[i];

		if (lower) {
			memcpy(digit, count + c->s[i].found % DIGITS * DIGITS,
			       DIGITS * sizeof(*digit));
			continue;
		}
		memset(digit, 0, DIGITS * sizeof(*digit));
		for (size_t b = 0; b < BUCKETS; b++)
			digit[b / DIGITS] += count[b];
	}
}

/* one more digit of what is searched for, by the counts of all ranks */
static int find_digit(struct choice *c, int lower)
{
	const uint32_t ranks = c->m->map->ranks;
	struct wse_memx_part *part = malloc((size_t)ranks * PARTS * sizeof(*part));
	int ret = 0;

	if (!part)
		return no_memory(c->part[0]);
	count_digits(c, lower);
	for (uint32_t k = 0; k < ranks * c->n; k++)
		part[k] = (struct wse_memx_part){k / c->n, digits_of(c, k / c->n, k % c->n),
						 DIGITS * sizeof(uint64_t)};
	if (ranks > 1)
		ret = c->from->peers->spread(c->from->peers->ctx, part, ranks * c->n);
	free(part);
	for (uint32_t i = 0; i < c->n && !ret; i++) {
		uint64_t *sum = digits_of(c, 0, i);

		for (uint32_t r = 1; r < ranks; r++)
			for (uint32_t d = 0; d < DIGITS; d++)
				sum[d] += digits_of(c, r, i)[d];
		if (c->s[i].left)
			narrow(&c->s[i], sum, DIGIT);
	}
	return ret;
}

/* the bits of each rank's rows, to the others */
static int spread_bits(const struct choice *c)
{
	const struct wse_map *map = c->m->map;
	const struct wse_unit_mask *u = &c->m->unit[c->unit];
	int ret = 0;

	for (uint32_t k = map->pieces.first[c->unit];
	     k < map->pieces.first[c->unit + 1] && map->ranks > 1 && !ret; k++) {
		const struct wse_memx_piece *p = &map->pieces.p[k];
		const struct wse_memx_part part = {wse_memx_piece_owner(k, map->ranks),
						   u->next + (size_t)p->row * u->fwd.rstride,
						   (size_t)p->rows * u->fwd.rstride};

		if (p->rows)
			ret = c->from->peers->spread(c->from->peers->ctx, &part, 1);
	}
	return ret;
}

/* so many of each part, s.left, change their bits */
static int choose(struct choice *c)
{
	int ret = 0;

	c->digit = malloc((size_t)c->m->map->ranks * PARTS * DIGITS * sizeof(*c->digit));
	for (uint32_t i = 0; i < c->n; i++) {
		c->count[i] = malloc(BUCKETS * sizeof(*c->count[i]));
		ret = c->digit && c->count[i] ? ret : no_memory(c->part[i]);
	}
	for (uint32_t pass = 0; pass < PASSES && !ret; pass++) {
		for (uint32_t i = 0; i < c->n; i++)
			memset(c->count[i], 0, BUCKETS * sizeof(*c->count[i]));
		ret = look_at_pieces(c, pass);
		for (int lower = 0; lower < 2 && !ret; lower++)
			ret = find_digit(c, lower);
	}
	ret = ret ? ret : look_at_pieces(c, PASSES);
	ret = ret ? ret : spread_bits(c);
	for (uint32_t i = 0; i < c->n; i++) {
		free(c->count[i]);
		c->count[i] = NULL;
	}
	free(c->digit);
	c->digit = NULL;
	return ret;
}

static int begin(struct wse_masks *m, const struct wse_choose_source *from, uint32_t unit,
		 struct choice *c)
{
	struct wse_unit_mask *k = &m->unit[unit];
	size_t bytes = wse_mask_bytes(&k->fwd);

	*c = (struct choice){.m = m, .from = from, .unit = unit, .there = 1};
	if (m->map->ranks > 1 && !from->peers->spread)
		return wse_fail(-ENOTSUP, "the other ranks have not come yet");
	if (!k->next)
		k->next = malloc(2 * bytes);
	if (!k->next)
		return wse_fail(-ENOMEM, "no memory for the next mask of unit %u", unit);
	memcpy(k->next, k->buf->ptr, bytes);
	return 0;
}

/* the parts of a unit for which how() says how many change */
static void add_part(struct choice *c, const struct wse_sparse_part *p, size_t n)
{
	c->part[c->n] = p;
	c->s[c->n++] = (struct search){0, n};
}

static uint32_t unit_of(const struct wse_masks *m, uint32_t part)
{
	return part < m->nparts ? m->map->home[m->part[part].tensor].unit : WSE_NO_UNIT;
}

/* parts of a unit lie together in the list */
static uint32_t end_of_unit(const struct wse_masks *m, uint32_t first)
{
	uint32_t end = first;

	while (unit_of(m, end) == unit_of(m, first) && end < m->nparts)
		end++;
	return end;
}

static int is_topk(const struct wse_masks *m, uint32_t part)
{
	return !m->cfg->file[0] && m->cfg->g[m->part[part].group].init == WSE_SPARSE_TOPK;
}

void wse_choose_all(struct wse_masks *m)
{
	for (uint32_t i = 0; i < m->nparts; i++)
		if (is_topk(m, i))
			put_ones(m, &m->part[i]);
}

int wse_choose_largest(struct wse_masks *m, const struct wse_choose_source *from)
{
	int ret = 0;

	for (uint32_t i = 0, end; i < m->nparts && !ret; i = end) {
		struct choice c;
		int any = 0;

		end = end_of_unit(m, i);
		for (uint32_t k = i; k < end; k++)
			any |= is_topk(m, k);
		if (!any)
			continue;
		ret = begin(m, from, unit_of(m, i), &c);
		for (uint32_t k = i; k < end && !ret; k++) {
			if (!is_topk(m, k))
				continue;
			put_ones(m, &m->part[k]);
			add_part(&c, &m->part[k], m->part[k].count - m->part[k].keep);
		}
		ret = ret ? ret : choose(&c);
	}
	return ret;
}

/* SET: every rank has the same generator and the same masks */
static int grow_random(struct wse_masks *m, const struct wse_sparse_part *p, size_t n,
		       uint64_t seed)
{
	const struct wse_unit_mask *u = &m->unit[m->map->home[p->tensor].unit];
	const struct random r = {seed, WSE_CHOOSE_GROW | p->tensor, p->from};
	const struct wse_unit *unit = &m->g->units[m->map->home[p->tensor].unit];
	unsigned char *bytes = malloc(p->count), *want = malloc(p->count);
	int ret = bytes && want ? 0 : no_memory(p);

	for (size_t from = 0, k; from < p->count && !ret; from += k) {
		struct wse_piece q = {0};
		size_t at, e = p->from + from;

		wse_unit_piece(m->g, unit, 0, &m->tab->t[p->tensor],
			       wse_unit_piece_of(m->g, unit, 0, e), &q);
		at = q.at + (e - q.from);
		k = q.from + q.count - e;
		k = k < p->count - from ? k : p->count - from;
		for (size_t i = 0; i < k; i++)
			bytes[from + i] = (unsigned char)wse_mask_get(
				&u->fwd, u->next, (at + i) / u->fwd.width, (at + i) % u->fwd.width);
	}
	for (size_t i = 0; i < p->count && !ret; i++)
		want[i] = !bytes[i];
	ret = ret ? ret : mark(p, n, random_key, &r, want, bytes, 1);
	if (!ret)
		wse_masks_put(m, p, 0, p->count, bytes);
	free(bytes);
	free(want);
	return ret;
}

static int step_of_unit(struct wse_masks *m, const struct wse_choose_source *from, uint64_t seed,
			uint64_t step, uint32_t first, uint32_t end)
{
	struct choice c, grow;
	int ret = begin(m, from, unit_of(m, first), &c);

	grow = c;
	grow.by_grad = 1;
	grow.there = 0;
	for (uint32_t k = first; k < end && !ret; k++) {
		const struct wse_sparse_part *p = &m->part[k];
		const struct wse_sparse_group *g = &m->cfg->g[p->group];
		size_t n = wse_sparse_is_due(g, step) ? wse_sparse_drops(g, step, p->keep) : 0;

		add_part(&c, p, n);
		add_part(&grow, p, g->algorithm == WSE_SPARSE_RIGL ? n : 0);
	}
	ret = ret ? ret : choose(&c);
	for (uint32_t k = first; k < end && !ret; k++) {
		const struct wse_sparse_group *g = &m->cfg->g[m->part[k].group];

		if (g->algorithm == WSE_SPARSE_SET && wse_sparse_is_due(g, step))
			ret = grow_random(m, &m->part[k],
					  wse_sparse_drops(g, step, m->part[k].keep), seed + step);
	}
	for (uint32_t i = 0; i < grow.n && !ret; i++)
		if (grow.s[i].left)
			return choose(&grow);
	return ret;
}

int wse_choose_step(struct wse_masks *m, const struct wse_choose_source *from, uint64_t seed,
		    uint64_t step, int *any)
{
	int ret = 0;

	*any = 0;
	for (uint32_t i = 0, end; i < m->nparts && !ret; i = end) {
		int due = 0;

		end = end_of_unit(m, i);
		for (uint32_t k = i; k < end; k++)
			due |= wse_sparse_is_due(&m->cfg->g[m->part[k].group], step);
		if (due)
			ret = step_of_unit(m, from, seed, step, i, end);
		*any |= due;
	}
	if (ret)
		wse_masks_forget(m);
	return ret;
}

void wse_choose_dense_grads(const struct wse_masks *m, uint64_t step, struct wse_image *images)
{
	for (uint32_t i = 0; i < m->g->nunits; i++)
		images[i].dense_grad = 0;
	for (uint32_t i = 0; i < m->nparts; i++) {
		const struct wse_sparse_group *g = &m->cfg->g[m->part[i].group];

		if (g->algorithm == WSE_SPARSE_RIGL && wse_sparse_is_due(g, step))
			images[m->map->home[m->part[i].tensor].unit].dense_grad = 1;
	}
}
