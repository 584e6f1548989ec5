// SPDX-License-Identifier: MIT
/*
 * Translation of hot scalar code to x86-64 (emit.c). A block begins where a jump arrived and goes
 * on, past branches that are not taken, to the first jump or instruction that exec.c keeps for
 * itself (ROUTE, SEND, RECV, most CSRs, upper halves of products, signed divisions, traps).
 *
 * Code does not name a core: cores that run the same words at the same place share it.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "twin/exact/decode.h"
#include "twin/jit/translate.h"
#include "twin/jit/x86/emit.h"

#define BUFFER (4u << 20)
#define BLOCK  TWIN_BLOCK_MAX
#define NHASH  8192u
#define NSITES 16384u
#define MAPPED (BUFFER + NSITES * sizeof(void *)) /* sites lie behind the code */
#define ASK    2u /* arrivals at a place before other cores' code is looked for */
#define HOT    8u /* arrivals until a block is translated */

struct shared { /* a translated block, for other cores */
	uint64_t hash;
	struct twin_dec *dec;
	uint32_t index, n, code;
};

struct twin_translator {
	struct twin_code code;
	struct shared hash[NHASH];
	uint16_t used[NHASH / 2 + 1]; /* entries of hash[]: its other pages are never touched */
	uint32_t nshared;
};

/* the instruction at word `index` decoded; NULL behind the end of the SRAM */
static struct twin_dec *decoded(struct twin_core *c, uint32_t index)
{
	struct twin_dec *d = &c->dec[index];
	uint32_t insn;

	if (index >= TWIN_NWORDS)
		return NULL;
	if (d->op == OP_decode) {
		memcpy(&insn, c->sram + index * 4, 4);
		twin_decode(d, insn);
		c->code[index * 4 >> TWIN_CODE_PAGE] |= TWIN_PAGE_DECODED;
	}
	return d;
}

/* length of the block at a word */
static uint32_t length(struct twin_core *c, uint32_t index)
{
	struct twin_dec *d;
	uint32_t n;

	for (n = 0; n < BLOCK; n++) {
		d = decoded(c, index + n);
		if (!d || !twin_emits(d, index + n))
			break;
		if (twin_emit_ends(d))
			return n + 1;
	}
	return n;
}

/* forgets the translated blocks */
static void drop_shared(struct twin_translator *t)
{
	while (t->nshared) {
		struct shared *s = &t->hash[t->used[--t->nshared]];

		free(s->dec);
		memset(s, 0, sizeof(*s));
	}
}

/* forgets all blocks of the part's cores */
static void flush(struct twin_mesh *m, struct twin_translator *t)
{
	uint32_t i;

	drop_shared(t);
	t->code.at = t->code.first;
	t->code.nsites = 0;
	twin_quick_forget(m);
	for (i = 0; i < m->ncores; i++)
		memset(m->core[m->first + i].block, 0, TWIN_NWORDS * sizeof(*m->core->block));
}

static uint64_t hash_of(const struct twin_dec *dec, uint32_t index, uint32_t n)
{
	uint64_t h = index * 0x9e3779b97f4a7c15ull + n, w;
	uint32_t i;

	for (i = 0; i < n; i++) {
		memcpy(&w, &dec[i], 8);
		h = (h ^ w) * 0xbf58476d1ce4e5b9ull;
		h ^= h >> 29;
	}
	return h;
}

_Static_assert(sizeof(struct twin_dec) == 8, "hashed as one word");

/* the place of a block's words, or where they would be put */
static uint32_t place_of(const struct twin_translator *t, uint64_t h, const struct twin_dec *dec,
			 uint32_t index, uint32_t n)
{
	uint32_t i;

	for (i = h % NHASH; t->hash[i].dec; i = (i + 1) % NHASH) {
		const struct shared *s = &t->hash[i];

		if (s->hash == h && s->index == index && s->n == n &&
		    !memcmp(s->dec, dec, n * sizeof(*dec)))
			break;
	}
	return i;
}

/* the block at a word: another core's, or a new one; 0: it is not hot, and no core has it */
static uint32_t block_of(struct twin_mesh *m, struct twin_translator *t, const struct twin_dec *dec,
			 uint32_t index, uint32_t n, bool hot)
{
	uint64_t h = hash_of(dec, index, n);
	uint32_t i = place_of(t, h, dec, index, n);
	struct shared *s = &t->hash[i];

	if (s->dec || !hot)
		return s->code;
	if (t->code.at + TWIN_EMIT_ROOM > BUFFER || t->nshared > NHASH / 2 ||
	    t->code.nsites + BLOCK > NSITES) {
		flush(m, t);
		i = h % NHASH;
	}
	s = &t->hash[i];
	s->dec = malloc(n * sizeof(*dec));
	if (!s->dec)
		return TWIN_NO_BLOCK;
	memcpy(s->dec, dec, n * sizeof(*dec));
	s->hash = h;
	s->index = index;
	s->n = n;
	s->code = twin_emit_block(m, &t->code, dec, index, n);
	t->used[t->nshared++] = i;
	return s->code;
}

/* execution has arrived at a word for which no code is known: its block, 0: there is none (yet) */
static uint32_t translate(struct twin_mesh *m, struct twin_core *c, uint32_t index)
{
	struct twin_translator *t = m->translator;
	uint32_t visits, n, code = TWIN_NO_BLOCK;

	if (!t)
		return 0;
	visits = ++c->block[index];
	/* most cores run the same program: what is hot in one will be in the others */
	if (visits != ASK && visits < HOT)
		return 0;
	n = length(c, index);
	if (n > 1 || (n && twin_emit_ends(&c->dec[index])))
		code = block_of(m, t, &c->dec[index], index, n, visits == HOT);
	if (code)
		c->block[index] = code;
	return code > TWIN_NO_BLOCK ? code : 0;
}

struct twin_left twin_enter_block(struct twin_mesh *m, struct twin_core *c, uint32_t word,
				  uint32_t limit, uint32_t done)
{
	typedef struct twin_left enter(struct twin_core * c, uint8_t * sram, const uint32_t *table,
				       const uint8_t *code, uint32_t limit, uint32_t done);
	uint32_t b = word < TWIN_NWORDS ? c->block[word] : TWIN_NO_BLOCK;
	struct twin_left left;
	enter *fn;

	if (b < TWIN_NO_BLOCK)
		b = translate(m, c, word);
	if (b <= TWIN_NO_BLOCK)
		return (struct twin_left){TWIN_LEFT_NONE, done};
	memcpy(&fn, &m->code, sizeof(fn));
	left = fn(c, c->sram, c->block, m->code + b, limit, done);
	m->ways.translated += left.done - done;
	return left;
}

void twin_translate_forget(struct twin_core *c, uint32_t index, uint32_t n)
{
	uint32_t from = index > BLOCK - 1 ? index - (BLOCK - 1) : 0;

	memset(&c->block[from], 0, (index + n - from) * sizeof(*c->block));
	c->stale = true;
}

uint32_t twin_issue_inside(struct twin_mesh *m, struct twin_core *c, uint32_t tcw, uint32_t scalar,
			   const void **site)
{
	struct twin_code *t = &m->translator->code;
	struct twin_quick *w = twin_issue_quick(m, c, tcw, scalar);
	uint32_t at;

	if (!w)
		return twin_issue_from_inside(m, c, tcw, scalar);
	/* where there is no room the next block will make some; blocks are running now */
	if (!w->code && t->at + TWIN_OP_ROOM <= BUFFER) {
		at = twin_emit_op(m, t, w);
		w->code = at ? t->buf + at : NULL;
	}
	if (w->code)
		*site = w->code;
	return TWIN_INSIDE_ON;
}

/* without writable and executable memory there is no translator, and the interpreter is used */
void twin_translator_create(struct twin_mesh *m)
{
	struct twin_translator *t = calloc(1, sizeof(*t));

	if (!t)
		return;
	t->code.buf = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (t->code.buf == MAP_FAILED) {
		free(t);
		return;
	}
	t->code.site = (const void **)(void *)(t->code.buf + BUFFER);
	twin_emit_entry(m, &t->code);
	m->translator = t;
	m->code = t->code.buf;
}

void twin_translator_destroy(struct twin_mesh *m)
{
	struct twin_translator *t = m->translator;

	if (!t)
		return;
	drop_shared(t);
	munmap(t->code.buf, MAPPED);
	free(t);
	m->translator = NULL;
}
