// SPDX-License-Identifier: MIT
/* Engines: the queues in front of them, start and completion of their instructions. */
#include <emmintrin.h>
#include <string.h>

#include "twin/exact/fp.h"
#include "twin/fast/vector/vector.h"
#include "twin/twin.h"

void wse_tensor_fault(struct wse_mesh *m, struct wse_core *c, uint32_t cause, uint32_t color,
		      uint32_t value)
{
	wse_core_fault(m, c, cause, c->pc, 0, color, value);
}

void wse_engine_next(struct wse_engine *e)
{
	uint32_t i;

	for (i = 0; i < e->n; i++)
		e->q[i] = e->q[i + 1];
}

/* the DSRs of an instruction, in pieces as they were written: wider loads would have to wait for the stores */
struct dsrs {
	__m128i d, a, b;
};

static inline __m128i words(const uint32_t *dsr)
{
	return _mm_loadu_si128((const __m128i *)(const void *)dsr);
}

static inline bool same(const struct wse_tins *t, uint32_t tcw, uint32_t scalar,
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

static __attribute__((noinline)) uint32_t check_new(struct wse_known *k, struct wse_engine *e,
						    unsigned int which)
{
	uint32_t cause = wse_engine_check(e, which);

	if (!cause) {
		k->t = e->q[0];
		memcpy(k->checked, (const uint8_t *)e + WSE_CHECKED, sizeof(k->checked));
		k->of = (uint8_t)(1 + which);
	}
	return cause;
}

/* cores issue the same few instructions again and again: what the checks made of them is kept, here if anywhere */
static inline struct wse_known *place_of(struct wse_mesh *m, uint32_t tcw, uint32_t dst,
					 uint32_t src1, uint32_t src2)
{
	uint32_t h = tcw ^ dst ^ src1 << 1 ^ src2 << 2;

	return &m->known[h * 0x9e3779b1u >> 16 & (WSE_NKNOWN - 1)];
}

static inline uint32_t check(struct wse_mesh *m, struct wse_engine *e, unsigned int which)
{
	const struct wse_tins *t = &e->q[0];
	struct wse_known *k = place_of(m, t->tcw, t->dsr[0][0], t->dsr[1][0], t->dsr[2][0]);
	struct dsrs of = {words(t->dsr[0]), words(t->dsr[1]), words(t->dsr[2])};

	if (unlikely(k->of != 1 + which || m->exact || !same(&k->t, t->tcw, t->scalar, &of)))
		return check_new(k, e, which);
	m->ways.known++;
	memcpy((uint8_t *)e + WSE_CHECKED, k->checked, sizeof(k->checked));
	return 0;
}

/* an instruction that is good begins */
static inline void start(struct wse_mesh *m, struct wse_core *c, struct wse_engine *e,
			 unsigned int which)
{
	const struct wse_tins *t = &e->q[0];

	e->started = e->good = true;
	e->busy_to = m->dev->now;
	if (e->claim >= 0) {
		if (unlikely(m->races != NULL))
			wse_races_claim(m, c, e->claim);
		c->claimed |= 1u << e->claim;
	}
	if (t->tcw & WSE_TCW_CLEAR_MASK && e->op == WSE_TOP_AXPY)
		memset(&c->acc[t->dsr[0][0]], 0, (size_t)e->nfeat * e->tokens * 4);
	if (e->lazy) {
		e->hurry = false;
		e->age = 0;
		if (!(c->listed >> which & 1)) {
			c->listed |= 1u << which;
			m->source[m->nsources++] = c->idx << 2 | which;
		}
	}
	c->ecyc[which] += 2;
}

static bool begin(struct wse_mesh *m, struct wse_core *c, struct wse_engine *e, unsigned int which)
{
	uint32_t cause = check(m, e, which);

	if (unlikely(cause)) {
		wse_tensor_fault(m, c, cause, ~0u, 0);
		return false;
	}
	start(m, c, e, which);
	return true;
}

/* can a running instruction do nothing before its wavelets come? Most of those that are asked cannot. */
static inline bool waits(const struct wse_core *c, struct wse_engine *e, bool lanes)
{
	if (!e->started || e->end_left)
		return false;
	if (e->lazy)
		return !e->hurry;
	if (e->claim < 0) {
		if (e->o[OPND_SRC1].kind != WSE_KIND_DOTQ || c->dotq.count)
			return false;
		e->wait = -1;
		return true;
	}
	if (c->recv_any >> e->claim & 1 || (e->o[OPND_SRC2].kind == WSE_KIND_DOTQ && c->dotq.count))
		return false;
	e->wait = lanes ? -1 : e->claim;
	return true;
}

/* true: something was done that others in the core may have waited for */
static bool engine_run(struct wse_mesh *m, struct wse_core *c, unsigned int which)
{
	struct wse_engine *e = &c->eng[which];
	bool any = false, did;

	while (e->n && c->run == WSE_CORE_RUNNING) {
		if (c->ecyc[which] >= m->equantum) {
			wse_wake(m, c);
			break;
		}
		if (!e->started) {
			m->moved = true;
			if (!begin(m, c, e, which))
				return true;
			if (c->ecyc[which] >= m->equantum)
				continue;
		}
		if (waits(c, e, which == WSE_ENGINE_L))
			break;
		if (which != WSE_ENGINE_L)
			did = wse_run_mover(m, c, e, which);
		else if (wse_is_stream(e->op))
			did = wse_run_stream(m, c, e);
		else
			did = m->avx2 ? wse_run_vector_in_place(m, c, e) : wse_run_vector(m, c, e);
		any |= did;
		if (!did)
			break;
	}
	return any;
}

static inline bool engine_once(struct wse_mesh *m, struct wse_core *c, unsigned int which)
{
	struct wse_engine *e = &c->eng[which];

	return e->n && !waits(c, e, which == WSE_ENGINE_L) && engine_run(m, c, which);
}

static inline bool engines_once(struct wse_mesh *m, struct wse_core *c)
{
	unsigned int first, i;
	bool any;

	if (unlikely(m->shuffle)) {
		first = wse_shuffle_below(m, 3);
		for (any = false, i = 0; i < 3; i++)
			any |= engine_once(m, c, (first + i) % 3);
		return any;
	}
	any = engine_once(m, c, WSE_ENGINE_L);
	any |= engine_once(m, c, WSE_ENGINE_M0);
	any |= engine_once(m, c, WSE_ENGINE_M1);
	return any;
}

void wse_engines_run(struct wse_mesh *m, struct wse_core *c)
{
	bool any;

	do {
		any = engines_once(m, c);
		if (m->nwork)
			wse_fabric_drain(m);
		m->moved |= any;
	} while (any && c->run == WSE_CORE_RUNNING);
}

/*
 * An idle engine begins the instruction that it had last. Of what the checks made of it the run has changed little; colors
 * of operands are 0xff where there is none.
 */
static inline void begin_again(struct wse_mesh *m, struct wse_core *c, struct wse_engine *e,
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
	start(m, c, e, which);
}

/* begins an instruction that is known in an engine that has none; false: it is not known, and nothing was done */
static inline bool begin_known(struct wse_mesh *m, struct wse_core *c, struct wse_engine *e,
			       unsigned int which, uint32_t tcw, uint32_t scalar)
{
	const uint32_t *d = c->dsr[(tcw & WSE_TCW_DST_MASK) >> WSE_TCW_DST_SHIFT];
	const uint32_t *a = c->dsr[(tcw & WSE_TCW_SRC1_MASK) >> WSE_TCW_SRC1_SHIFT];
	const uint32_t *b = c->dsr[(tcw & WSE_TCW_SRC2_MASK) >> WSE_TCW_SRC2_SHIFT];
	struct dsrs of = {words(d), words(a), words(b)};
	struct wse_tins *t = &e->q[0];
	const struct wse_known *k;

	if (e->good && same(t, tcw, scalar, &of)) {
		m->ways.again++;
		begin_again(m, c, e, which);
		return true;
	}
	k = place_of(m, tcw, d[0], a[0], b[0]);
	if (k->of != 1 + which || !same(&k->t, tcw, scalar, &of))
		return false;
	m->ways.known++;
	t->tcw = tcw;
	t->scalar = scalar;
	_mm_storeu_si128((__m128i *)(void *)t->dsr[0], of.d);
	_mm_storeu_si128((__m128i *)(void *)t->dsr[1], of.a);
	_mm_storeu_si128((__m128i *)(void *)t->dsr[2], of.b);
	memcpy((uint8_t *)e + WSE_CHECKED, k->checked, sizeof(k->checked));
	e->n = 1;
	m->moved = true;
	start(m, c, e, which);
	return true;
}

static inline bool issue(struct wse_mesh *m, struct wse_core *c, uint32_t tcw, uint32_t scalar)
{
	unsigned int which = (tcw & WSE_TCW_ENGINE_MASK) >> WSE_TCW_ENGINE_SHIFT;
	struct wse_engine *e;
	struct wse_tins *t;

	if (which == WSE_ENGINE_L && !wse_is_stream(tcw & WSE_TCW_OP_MASK) &&
	    wse_issue_quick(m, c, tcw, scalar))
		return true;
	if (which > WSE_ENGINE_M1) {
		wse_tensor_fault(m, c, WSE_CAUSE_BAD_DSR, ~0u, 0);
		return true; /* as any ISSUE whose instruction is refused later */
	}
	e = &c->eng[which];
	if (!e->n && m->quick && c->ecyc[which] < m->equantum &&
	    begin_known(m, c, e, which, tcw, scalar)) {
		if (c->ecyc[which] < m->equantum && waits(c, e, which == WSE_ENGINE_L) && !m->nwork)
			return true;
		if (engine_run(m, c, which) || m->nwork)
			wse_engines_run(m, c);
		return true;
	}
	if (e->n == 1 + WSE_ENGINE_DEPTH) {
		wse_engines_run(m, c);
		if (c->run != WSE_CORE_RUNNING || e->n == 1 + WSE_ENGINE_DEPTH)
			return false;
	}
	t = &e->q[e->n++];
	t->tcw = tcw;
	t->scalar = scalar;
	memcpy(t->dsr[0], c->dsr[(tcw & WSE_TCW_DST_MASK) >> WSE_TCW_DST_SHIFT], sizeof(t->dsr[0]));
	memcpy(t->dsr[1], c->dsr[(tcw & WSE_TCW_SRC1_MASK) >> WSE_TCW_SRC1_SHIFT],
	       sizeof(t->dsr[0]));
	memcpy(t->dsr[2], c->dsr[(tcw & WSE_TCW_SRC2_MASK) >> WSE_TCW_SRC2_SHIFT],
	       sizeof(t->dsr[0]));
	m->moved = true;
	if (unlikely(m->races != NULL))
		wse_races_issue(m, c, which, t);
	if (e->n != 1)
		return true;
	/* the others have nothing new to do unless this one does something */
	if (unlikely(m->shuffle) || engine_run(m, c, which) || m->nwork)
		wse_engines_run(m, c);
	return true;
}

bool wse_issue(struct wse_mesh *m, struct wse_core *c, uint32_t tcw, uint32_t scalar)
{
	return issue(m, c, tcw, scalar);
}

uint32_t wse_issue_from_inside(struct wse_mesh *m, struct wse_core *c, uint32_t tcw,
			       uint32_t scalar)
{
	c->stale = false;
	if (!issue(m, c, tcw, scalar))
		return c->run == WSE_CORE_RUNNING ? WSE_INSIDE_NOT : WSE_INSIDE_LEAVE;
	return c->run == WSE_CORE_RUNNING && !c->stale ? WSE_INSIDE_ON : WSE_INSIDE_LEAVE;
}
