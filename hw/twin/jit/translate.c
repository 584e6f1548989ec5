// SPDX-License-Identifier: MIT
/*
 * Translation of hot scalar code to x86-64 (emit.c). A block begins where a jump arrived and goes
 * on, past branches that are not taken, to the first jump or instruction that exec.c keeps for
 * itself (SEND, RECV, most CSRs, upper halves of products, signed divisions, traps).
 *
 * Code does not name a core: cores of a part that run the same words share a text, its blocks and
 * the words that these were made of. A core compares these words with its own when it comes to the
 * text, and when the text has grown or the core's words were written since.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "twin/exact/decode.h"
#include "twin/jit/translate.h"
#include "twin/jit/x86/emit.h"

#define BUFFER (4u << 20)
#define BLOCK  TWIN_BLOCK_MAX
#define NSITES 16384u
#define MAPPED (BUFFER + NSITES * sizeof(void *)) /* sites lie behind the code */
#define HOT    8u				  /* arrivals until a block is translated */
#define LOOKS  8u /* texts that a core looks at before it begins one of its own */

struct piece { /* words that a block was made of, or that make none */
	uint16_t index, n;
};

struct twin_text {
	struct twin_text *next;
	uint32_t cores;		 /* that have it */
	uint32_t first, n, room; /* pieces: piece[0] is the first-th of all times; their number */
	struct piece *piece;	 /* in the order in which they came */
	uint32_t block[TWIN_NWORDS]; /* arrivals so far; TWIN_NO_BLOCK; or the place of the code */
	uint8_t word[WSE_SRAM_BYTES];
	bool known[TWIN_NWORDS]; /* of word: a piece has it */
};

struct twin_translator {
	struct twin_code code;
	struct twin_text *texts; /* the last one that a core came to first */
};

/* length of the block at a word */
static uint32_t length(struct twin_core *c, uint32_t index)
{
	uint32_t n;

	for (n = 0; n < BLOCK && index + n < TWIN_NWORDS; n++) {
		const struct twin_dec *d = &c->dec[index + n];

		if (d->op == OP_decode)
			twin_decode_at(c, index + n);
		if (!twin_emits(d, index + n))
			break;
		if (twin_emit_ends(d))
			return n + 1;
	}
	return n;
}

/* forgets all blocks of the part's cores */
static void flush(struct twin_mesh *m, struct twin_translator *t)
{
	struct twin_text *x;

	for (x = t->texts; x; x = x->next) {
		memset(x->block, 0, sizeof(x->block));
		memset(x->known, 0, sizeof(x->known));
		x->first += x->n;
		x->n = 0;
	}
	t->code.at = t->code.first;
	t->code.nsites = 0;
	twin_quick_forget(m);
}

static uint32_t end_of(const struct twin_text *x)
{
	return x->first + x->n;
}

static bool same(const struct twin_text *x, const struct twin_core *c, const struct piece *p)
{
	return !memcmp(x->word + p->index * 4, c->sram + p->index * 4, p->n * 4u);
}

/* writes to these words are to be told */
static void watch(struct twin_core *c, const struct piece *p)
{
	uint32_t page, last = (p->index + p->n - 1) * 4 >> TWIN_CODE_PAGE;

	for (page = p->index * 4 >> TWIN_CODE_PAGE; page <= last; page++)
		c->code[page] |= TWIN_PAGE_TEXT;
}

/* has the core the text's words? it has had those of before `from` */
static bool agrees(const struct twin_text *x, struct twin_core *c, uint32_t from)
{
	const struct piece *p = x->piece + (from > x->first ? from - x->first : 0);

	for (; p < x->piece + x->n; p++) {
		if (!same(x, c, p))
			return false;
		watch(c, p);
	}
	c->text_end = end_of(x);
	return true;
}

/* a text has these words of the core from now on */
static bool learn(struct twin_text *x, struct twin_core *c, uint32_t index, uint32_t n)
{
	struct piece p = {index, n}, *grown;

	if (x->n == x->room) {
		grown = realloc(x->piece, (x->room + 256) * sizeof(*grown));
		if (!grown)
			return false;
		x->piece = grown;
		x->room += 256;
	}
	x->piece[x->n++] = p;
	memcpy(x->word + index * 4, c->sram + index * 4, n * 4u);
	memset(x->known + index, true, n);
	watch(c, &p);
	c->text_end = end_of(x);
	return true;
}

/* the only core of a text has other words there now: their blocks go */
static void drop_changed(struct twin_text *x, struct twin_core *c)
{
	struct piece *p, *to = x->piece;

	for (p = x->piece; p < x->piece + x->n; p++) {
		if (same(x, c, p))
			*to++ = *p;
		else
			x->block[p->index] = 0;
	}
	x->n = to - x->piece;
	memset(x->known, false, sizeof(x->known));
	for (p = x->piece; p < to; p++)
		memset(x->known + p->index, true, p->n);
	agrees(x, c, 0);
}

/* a text with which the core agrees: its own, another one, or a new one; NULL: no memory */
static struct twin_text *join(struct twin_translator *t, struct twin_core *c)
{
	struct twin_text *x = c->text;
	uint32_t i;

	if (x) {
		if (agrees(x, c, c->text_end))
			return x;
		if (x->cores == 1) {
			drop_changed(x, c);
			return x;
		}
		x->cores--;
	}
	for (x = t->texts, i = 0; x && i < LOOKS; x = x->next, i++)
		if (x != c->text && agrees(x, c, 0))
			break;
	if (!x || i == LOOKS) {
		x = calloc(1, sizeof(*x));
		if (x) {
			x->first = 1;
			x->next = t->texts;
			t->texts = x;
			agrees(x, c, 0);
		}
	}
	c->text = x;
	if (x)
		x->cores++;
	return x;
}

/* execution has arrived at a word for which no code is known: its block, 0: there is none (yet) */
static uint32_t translate(struct twin_mesh *m, struct twin_core *c, uint32_t index)
{
	struct twin_translator *t = m->translator;
	struct twin_text *x = c->text;
	uint32_t n, code = TWIN_NO_BLOCK;

	if (++x->block[index] < HOT)
		return 0;
	if (t->code.at + TWIN_EMIT_ROOM > BUFFER || t->code.nsites + BLOCK > NSITES)
		flush(m, t);
	n = length(c, index);
	/* and the word that is no part of it, which says that it is no longer, or none */
	if (!learn(x, c, index, n + (n < BLOCK && index + n < TWIN_NWORDS)))
		return 0;
	if (n > 1 || (n && twin_emit_ends(&c->dec[index])))
		code = twin_emit_block(m, &t->code, &c->dec[index], index, n);
	x->block[index] = code;
	return code > TWIN_NO_BLOCK ? code : 0;
}

static inline struct twin_left start(struct twin_mesh *m, struct twin_core *c, uint32_t block,
				     uint32_t limit, uint32_t done)
{
	typedef struct twin_left enter(struct twin_core * c, uint8_t * sram, const uint32_t *table,
				       const uint8_t *code, uint32_t limit, uint32_t done);
	struct twin_left left;
	enter *fn;

	memcpy(&fn, &m->code, sizeof(fn));
	left = fn(c, c->sram, c->text->block, m->code + block, limit, done);
	m->ways.translated += left.done - done;
	return left;
}

/* of a core whose text is not known, or of a word that has no code yet */
static __attribute__((noinline)) struct twin_left find_and_start(struct twin_mesh *m,
								 struct twin_core *c, uint32_t word,
								 uint32_t limit, uint32_t done)
{
	struct twin_text *x = c->text;
	uint32_t b = 0;

	if (m->translator && (!x || c->text_end != end_of(x)))
		x = join(m->translator, c);
	if (m->translator && x) {
		b = x->block[word];
		if (b < TWIN_NO_BLOCK)
			b = translate(m, c, word);
	}
	return b > TWIN_NO_BLOCK ? start(m, c, b, limit, done)
				 : (struct twin_left){TWIN_LEFT_NONE, done};
}

struct twin_left twin_enter_block(struct twin_mesh *m, struct twin_core *c, uint32_t word,
				  uint32_t limit, uint32_t done)
{
	const struct twin_text *x = c->text;

	if (word >= TWIN_NWORDS)
		return (struct twin_left){TWIN_LEFT_NONE, done};
	if (likely(x && c->text_end == end_of(x) && x->block[word] >= TWIN_NO_BLOCK)) {
		if (likely(x->block[word] != TWIN_NO_BLOCK))
			return start(m, c, x->block[word], limit, done);
		return (struct twin_left){TWIN_LEFT_NONE, done};
	}
	return find_and_start(m, c, word, limit, done);
}

void twin_translate_written(struct twin_core *c, uint32_t index, uint32_t n)
{
	const struct twin_text *x = c->text;

	if (x && memchr(x->known + index, true, n)) {
		c->text_end = 0;
		c->stale = true;
	}
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
	struct twin_text *x;

	if (!t)
		return;
	while (t->texts) {
		x = t->texts;
		t->texts = x->next;
		free(x->piece);
		free(x);
	}
	munmap(t->code.buf, MAPPED);
	free(t);
	m->translator = NULL;
}
