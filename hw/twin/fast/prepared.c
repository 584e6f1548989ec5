// SPDX-License-Identifier: MIT
/*
 * Instructions of engines that passed their checks before. Cores issue the same few again and
 * again. The result of the checks depends on the instruction's words and DSRs alone, so it is kept.
 * An idle engine begins such an instruction without its queue.
 */
#include <emmintrin.h>
#include <stdlib.h>
#include <string.h>

#include "twin/exact/engine.h"
#include "twin/fast/quick.h"

#define TWIN_NCHECKED 512u /* instructions that are remembered */

struct twin_checked {
	uint8_t checked[TWIN_CHECKED_BYTES] __attribute__((aligned(16)));
	struct twin_tins t;
	uint8_t of; /* 1 + engine; 0: nothing */
};

int twin_prepared_create(struct twin_mesh *m)
{
	m->checked_cache = aligned_alloc(_Alignof(struct twin_checked),
					 TWIN_NCHECKED * sizeof(*m->checked_cache));
	if (!m->checked_cache)
		return -1;
	memset(m->checked_cache, 0, TWIN_NCHECKED * sizeof(*m->checked_cache));
	return 0;
}

/* an instruction's DSRs, in the pieces in which they were written: a wider load waits for stores */
struct dsrs {
	__m128i d, a, b;
};

static inline __m128i words(const uint32_t *dsr)
{
	return _mm_loadu_si128((const __m128i *)(const void *)dsr);
}

static inline bool same(const struct twin_tins *t, uint32_t tcw, uint32_t scalar,
			const struct dsrs *of)
{
	__m128i diff;

	if ((t->tcw ^ tcw) | (t->scalar ^ scalar))
		return false;
	diff = _mm_or_si128(_mm_xor_si128(of->d, words(t->dsr[0])),
			    _mm_or_si128(_mm_xor_si128(of->a, words(t->dsr[1])),
					 _mm_xor_si128(of->b, words(t->dsr[2]))));
	return _mm_movemask_epi8(_mm_cmpeq_epi8(diff, _mm_setzero_si128())) == 0xffff;
}

static __attribute__((noinline)) uint32_t check_new(struct twin_checked *k, struct twin_engine *e,
						    unsigned int which)
{
	uint32_t cause = twin_engine_check(e, which);

	if (!cause) {
		k->t = e->q[0];
		memcpy(k->checked, (const uint8_t *)e + TWIN_CHECKED_FROM, sizeof(k->checked));
		k->of = (uint8_t)(1 + which);
	}
	return cause;
}

/* the only entry that may hold an instruction with these words */
static inline struct twin_checked *place_of(struct twin_mesh *m, uint32_t tcw, uint32_t dst,
					    uint32_t src1, uint32_t src2)
{
	uint32_t h = tcw ^ dst ^ src1 << 1 ^ src2 << 2;

	return &m->checked_cache[h * 0x9e3779b1u >> 16 & (TWIN_NCHECKED - 1)];
}

uint32_t twin_prepared_check(struct twin_mesh *m, struct twin_engine *e, unsigned int which)
{
	const struct twin_tins *t = &e->q[0];
	struct twin_checked *k = place_of(m, t->tcw, t->dsr[0][0], t->dsr[1][0], t->dsr[2][0]);
	struct dsrs of = {words(t->dsr[0]), words(t->dsr[1]), words(t->dsr[2])};

	if (unlikely(k->of != 1 + which || !same(&k->t, t->tcw, t->scalar, &of)))
		return check_new(k, e, which);
	m->ways.known++;
	memcpy((uint8_t *)e + TWIN_CHECKED_FROM, k->checked, sizeof(k->checked));
	return 0;
}

/*
 * An idle engine begins the instruction that it had last. The members that its run
 * has changed are set again; colors of operands are 0xff where there is none.
 */
static inline void begin_again(struct twin_mesh *m, struct twin_core *c, struct twin_engine *e,
			       unsigned int which)
{
	unsigned int i;

	for (i = 0; i < 3; i++)
		e->o[i].row = e->o[i].pos = e->o[i].base;
	e->inner = e->width;
	e->outer = e->rows;
	e->end_left = false;
	e->claim = (int8_t)e->o[OPND_SRC1].color;
	e->out = (int8_t)e->o[OPND_DST].color;
	e->wait = -1;
	e->n = 1;
	m->moved = true;
	twin_engine_start(m, c, e, which);
}

/* an idle engine begins a checked instruction; false: it is not in the cache, nothing was done */
static inline bool begin_known(struct twin_mesh *m, struct twin_core *c, struct twin_engine *e,
			       unsigned int which, uint32_t tcw, uint32_t scalar)
{
	const uint32_t *const dsr[3] = TWIN_DSRS(c, tcw);
	struct dsrs of = {words(dsr[0]), words(dsr[1]), words(dsr[2])};
	struct twin_tins *t = &e->q[0];
	const struct twin_checked *k;

	if (e->checked && same(t, tcw, scalar, &of)) {
		m->ways.again++;
		begin_again(m, c, e, which);
		return true;
	}
	k = place_of(m, tcw, dsr[0][0], dsr[1][0], dsr[2][0]);
	if (k->of != 1 + which || !same(&k->t, tcw, scalar, &of))
		return false;
	m->ways.known++;
	t->tcw = tcw;
	t->scalar = scalar;
	_mm_storeu_si128((__m128i *)(void *)t->dsr[0], of.d);
	_mm_storeu_si128((__m128i *)(void *)t->dsr[1], of.a);
	_mm_storeu_si128((__m128i *)(void *)t->dsr[2], of.b);
	memcpy((uint8_t *)e + TWIN_CHECKED_FROM, k->checked, sizeof(k->checked));
	e->n = 1;
	m->moved = true;
	twin_engine_start(m, c, e, which);
	return true;
}

static inline bool issue(struct twin_mesh *m, struct twin_core *c, uint32_t tcw, uint32_t scalar)
{
	unsigned int which = TWIN_TCW_FIELD(tcw, ENGINE);

	if (twin_issue_quick(m, c, tcw, scalar))
		return true;
	if (which > WSE_ENGINE_M1 || c->eng[which].n || !m->quick ||
	    c->ecyc[which] >= m->equantum || !begin_known(m, c, &c->eng[which], which, tcw, scalar))
		return twin_issue(m, c, tcw, scalar);
	if (c->ecyc[which] < m->equantum &&
	    twin_engine_waits(c, &c->eng[which], which == WSE_ENGINE_L) && !m->nwork)
		return true;
	if (twin_engine_run(m, c, which) || m->nwork)
		twin_engines_run(m, c);
	return true;
}

bool twin_prepared_issue(struct twin_mesh *m, struct twin_core *c, uint32_t tcw, uint32_t scalar)
{
	return issue(m, c, tcw, scalar);
}

uint32_t twin_issue_from_inside(struct twin_mesh *m, struct twin_core *c, uint32_t tcw,
				uint32_t scalar)
{
	c->stale = false;
	if (!issue(m, c, tcw, scalar))
		return c->run == WSE_CORE_RUNNING ? TWIN_INSIDE_NOT : TWIN_INSIDE_LEAVE;
	return c->run == WSE_CORE_RUNNING && !c->stale ? TWIN_INSIDE_ON : TWIN_INSIDE_LEAVE;
}
