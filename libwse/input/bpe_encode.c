// SPDX-License-Identifier: MIT
/* Text to tokens. */
#include "bpe_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "spm.h"

#define PIECE (1u << 20) /* bytes of a text that are looked at at a time */

/* ---- a word: bytes, then merges ---- */

/*
 * The parts of a word are a linked list over the places of its bytes: next[i] is where the part
 * behind i begins, rank[i] that of the two together (WSE_BPE_NONE: they do not merge). The heap has
 * rank << 32 | place of every pair; an entry whose pair is no more has another rank there.
 */
struct wse_bpe_stream {
	const struct wse_bpe *b;
	pcre2_match_data *match;
	pcre2_match_context *how;
	pcre2_jit_stack *stack;
	unsigned char *buf; /* the text that is not encoded yet */
	size_t n, room;
	size_t piece;
	size_t want;		   /* bytes from which on more of it may be encoded */
	int begun;		   /* something was added */
	const unsigned char *word; /* SentencePiece's: the text of places */

	uint32_t *id, *prev, *next, *rank; /* [word_room] */
	uint64_t *heap;			   /* [3 * word_room] */
	size_t nheap, word_room;
};

static int emit(struct wse_tokens *out, uint32_t id)
{
	if (out->n == out->room) {
		size_t room = out->room * 2 + 4096;
		uint32_t *p = realloc(out->id, room * sizeof(*p));

		if (!p)
			return wse_fail(-ENOMEM, "no memory for %zu tokens", room);
		out->id = p;
		out->room = room;
	}
	out->id[out->n++] = id;
	return 0;
}

static void sift_down(struct wse_bpe_stream *s, size_t i)
{
	uint64_t e = s->heap[i];

	for (size_t c; (c = 2 * i + 1) < s->nheap; i = c) {
		if (c + 1 < s->nheap && s->heap[c + 1] < s->heap[c])
			c++;
		if (s->heap[c] >= e)
			break;
		s->heap[i] = s->heap[c];
	}
	s->heap[i] = e;
}

static void push(struct wse_bpe_stream *s, uint64_t e)
{
	size_t i = s->nheap++;

	for (; i && s->heap[(i - 1) / 2] > e; i = (i - 1) / 2)
		s->heap[i] = s->heap[(i - 1) / 2];
	s->heap[i] = e;
}

static uint64_t pop(struct wse_bpe_stream *s)
{
	uint64_t e = s->heap[0];

	s->heap[0] = s->heap[--s->nheap];
	if (s->nheap)
		sift_down(s, 0);
	return e;
}

static int room_for(struct wse_bpe_stream *s, size_t n)
{
	size_t room = 2 * n < 256 ? 256 : 2 * n;

	if (n <= s->word_room)
		return 0;
	free(s->id);
	free(s->heap);
	s->word_room = 0;
	s->id = malloc(4 * room * sizeof(*s->id));
	s->heap = malloc(3 * room * sizeof(*s->heap));
	if (!s->id || !s->heap)
		return wse_fail(-ENOMEM, "no memory for a word of %zu bytes", n);
	s->prev = s->id + room;
	s->next = s->prev + room;
	s->rank = s->next + room;
	s->word_room = room;
	return 0;
}

enum { FREE, ALONE }; /* id[] of a place of SentencePiece's kind: may it merge? */

/* the piece of text [n], or WSE_BPE_NONE */
static uint32_t piece_of(const struct wse_bpe *b, const unsigned char *p, size_t n)
{
	return n > b->spm->longest ? WSE_BPE_NONE : b->word[wse_bpe_word(b, (const char *)p, n)];
}

static uint32_t spm_rank(const struct wse_bpe_stream *s, uint32_t i, size_t n)
{
	uint32_t right = s->next[i], id;

	if (right >= n || s->id[i] == ALONE || s->id[right] == ALONE)
		return WSE_BPE_NONE;
	id = piece_of(s->b, s->word + i, s->next[right] - i);
	return id == WSE_BPE_NONE ? WSE_BPE_NONE : s->b->spm->rank[id];
}

/* what place i and the one behind it are together; n: the word's bytes */
static uint32_t rank_at(const struct wse_bpe_stream *s, uint32_t i, size_t n)
{
	if (s->b->spm)
		return spm_rank(s, i, n);
	return s->next[i] < n ? wse_bpe_pair(s->b, s->id[i], s->id[s->next[i]])->rank
			      : WSE_BPE_NONE;
}

/* place i is another token now: its pair to the right, and that of the place before, are others */
static void renew(struct wse_bpe_stream *s, uint32_t i, size_t n)
{
	s->rank[i] = rank_at(s, i, n);
	if (s->rank[i] != WSE_BPE_NONE)
		push(s, (uint64_t)s->rank[i] << 32 | i);
}

static void merge_all(struct wse_bpe_stream *s, size_t n)
{
	const struct wse_bpe *b = s->b;

	while (s->nheap) {
		uint64_t e = pop(s);
		uint32_t i = (uint32_t)e, gone;

		if (s->rank[i] != e >> 32)
			continue;
		gone = s->next[i];
		if (!b->spm)
			s->id[i] = b->made[e >> 32];
		s->rank[gone] = WSE_BPE_NONE;
		s->next[i] = s->next[gone];
		if (s->next[i] < n)
			s->prev[s->next[i]] = i;
		renew(s, i, n);
		if (i)
			renew(s, s->prev[i], n);
	}
}

static int encode_word(struct wse_bpe_stream *s, const unsigned char *p, size_t n,
		       struct wse_tokens *out)
{
	const struct wse_bpe *b = s->b;
	int ret;

	if (n == 1)
		return emit(out, b->byte_id[*p]);
	if (b->whole_words) {
		uint32_t id = b->word[wse_bpe_word(b, (const char *)p, n)];

		if (id != WSE_BPE_NONE)
			return emit(out, id);
	}
	if (n >= WSE_BPE_NONE)
		return wse_fail(-E2BIG, "a word of %zu bytes", n);
	ret = room_for(s, n);
	if (ret)
		return ret;
	s->nheap = 0;
	for (uint32_t i = 0; i < n; i++) {
		s->id[i] = b->byte_id[p[i]];
		s->prev[i] = i - 1;
		s->next[i] = i + 1;
		s->rank[i] = WSE_BPE_NONE;
		if (i)
			s->rank[i - 1] = wse_bpe_pair(b, s->id[i - 1], s->id[i])->rank;
	}
	for (uint32_t i = 0; i + 1 < n; i++)
		if (s->rank[i] != WSE_BPE_NONE)
			s->heap[s->nheap++] = (uint64_t)s->rank[i] << 32 | i;
	for (size_t i = s->nheap / 2; i--;)
		sift_down(s, i);
	merge_all(s, n);
	for (uint32_t i = 0; i < n && !ret; i = s->next[i])
		ret = emit(out, s->id[i]);
	return ret;
}

/* SentencePiece's: UTF-8 that no piece goes beyond; each of its characters is a place at first */
static int encode_pieces(struct wse_bpe_stream *s, const unsigned char *p, size_t n,
			 struct wse_tokens *out)
{
	const struct wse_bpe *b = s->b;
	uint32_t last = 0;
	int ret;

	if (n >= WSE_BPE_NONE)
		return wse_fail(-E2BIG, "%zu bytes without a place to cut them", n);
	ret = room_for(s, n);
	if (ret)
		return ret;
	s->word = p;
	s->nheap = 0;
	for (uint32_t i = 0; i < n; last = i, i = s->next[i]) {
		size_t user = wse_spm_user(b, p + i, n - i);
		int len = wse_utf8_char(p + i, n - i);

		s->id[i] = user ? ALONE : FREE;
		s->prev[i] = last;
		s->next[i] = i + (uint32_t)(user ? user : len > 0 ? (size_t)len : 1);
		s->rank[i] = WSE_BPE_NONE;
	}
	for (uint32_t i = 0; i < n; i = s->next[i])
		renew(s, i, n);
	merge_all(s, n);
	for (uint32_t i = 0; i < n && !ret; i = s->next[i]) {
		uint32_t id = piece_of(b, p + i, s->next[i] - i);

		if (id != WSE_BPE_NONE)
			ret = emit(out, id);
		for (uint32_t k = i; k < s->next[i] && id == WSE_BPE_NONE && !ret; k++)
			ret = emit(out, b->byte_id[p[k]]);
	}
	return ret;
}

/* the most that is merged at a time where a text can be cut */
#define CUT 8192u

/* as encode_words() */
static int encode_cuts(struct wse_bpe_stream *s, const unsigned char *text, size_t n, int open,
		       size_t *done, struct wse_tokens *out)
{
	size_t pos = 0, end, last = open ? wse_spm_cut(s->b->spm, text, n) : n;
	int ret = 0;

	for (; pos < last && !ret; pos = end) {
		end = last - pos > CUT ? pos + wse_spm_cut(s->b->spm, text + pos, CUT) : last;
		if (end == pos)
			end = last;
		ret = encode_pieces(s, text + pos, end - pos, out);
	}
	*done = pos;
	return ret;
}

/* ---- a text: special tokens, UTF-8, words ---- */

int wse_utf8_char(const unsigned char *p, size_t n)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	int len = *p < 0x80 ? 1 : *p < 0xc2 ? 0 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : *p < 0xf5 ? 4 : 0;
	uint32_t c = len < 2 ? *p : *p & (0x7fu >> len);

	for (int i = 1; i < len; i++) {
		if ((size_t)i == n)
			return -1;
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
		/* the second byte says whether it is too long, a surrogate, or beyond Unicode */
		if (i == 1 && len > 2) {
			uint32_t low = c << 6 * (len - 2), high = low | ((1u << 6 * (len - 2)) - 1);

			if (high < least[len] || low > 0x10ffff ||
			    (low >= 0xd800 && high <= 0xdfff))
				return 0;
		}
	}
	return len;
}

/* the special token at p [n], the longest; NULL: none, or not enough of it is there */
static const uint32_t *special_at(const struct wse_bpe *b, const unsigned char *p, size_t n)
{
	if (!b->special_begins[*p])
		return NULL;
	for (uint32_t i = 0; i < b->nspecial; i++) {
		size_t len;
		const char *t = wse_bpe_token(b, b->special[i], &len);

		if (len <= n && !memcmp(t, p, len))
			return &b->special[i];
	}
	return NULL;
}

/*
 * Words of text [n], which is UTF-8. `open`: more text may follow, and a word counts only when it
 * would be one whatever follows. *done: bytes of the words that were encoded.
 */
static int encode_words(struct wse_bpe_stream *s, const unsigned char *text, size_t n, int open,
			size_t *done, struct wse_tokens *out)
{
	const PCRE2_SIZE *at = s->match ? pcre2_get_ovector_pointer(s->match) : NULL;
	uint32_t flags = PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY | (open ? PCRE2_PARTIAL_HARD : 0);
	size_t pos = 0;
	int ret = 0;

	if (s->b->spm)
		return encode_cuts(s, text, n, open, done, out);
	while (pos < n && !ret) {
		int rc = pcre2_match(s->b->code, text, n, pos, flags, s->match, s->how);
		size_t begin = n, end = n;

		if (rc == PCRE2_ERROR_PARTIAL || (rc == PCRE2_ERROR_NOMATCH && open))
			break;
		if (rc < 0 && rc != PCRE2_ERROR_NOMATCH) {
			char why[120];

			pcre2_get_error_message(rc, (PCRE2_UCHAR *)why, sizeof(why));
			ret = wse_fail(-E2BIG,
				       "the tokenizer's regular expression gives up on a text: %s",
				       why);
			break;
		}
		/* \K in a lookahead may turn them round */
		if (rc >= 0 && at[0] >= pos && at[1] > at[0] && at[1] <= n) {
			begin = at[0];
			end = at[1];
		}
		if (begin > pos)
			ret = encode_word(s, text + pos, begin - pos, out);
		if (!ret && end > begin)
			ret = encode_word(s, text + begin, end - begin, out);
		pos = end;
	}
	*done = pos;
	return ret;
}

/* text [n] without special tokens; *done as above */
static int encode_plain(struct wse_bpe_stream *s, const unsigned char *text, size_t n, int open,
			size_t *done, struct wse_tokens *out)
{
	size_t pos = 0, end = 0, got;
	int len = 1, ret = 0;

	while (pos < n && !ret) {
		for (end = pos; end < n; end += (size_t)len) {
			len = text[end] < 0x80 ? 1 : wse_utf8_char(text + end, n - end);
			if (len <= 0)
				break;
		}
		/* a character that is cut in two may become whole */
		if (end < n && (len == 0 || !open)) {
			ret = encode_words(s, text + pos, end - pos, 0, &got, out);
			ret = ret ? ret : emit(out, s->b->byte_id[text[end]]);
			pos = end + 1;
			continue;
		}
		ret = encode_words(s, text + pos, end - pos, open, &got, out);
		pos += got;
		if (pos < end || end < n)
			break;
	}
	*done = pos;
	return ret;
}

/* as much of the buffer as is certain, all of it in the end */
static int encode_some(struct wse_bpe_stream *s, int last, struct wse_tokens *out)
{
	const struct wse_bpe *b = s->b;
	size_t pos = 0, got, end;
	/* a special token may be cut in two at the end */
	size_t limit = last || !b->nspecial	       ? s->n
		       : s->n < b->longest_special - 1 ? 0
						       : s->n - (b->longest_special - 1);
	int ret = 0;

	while (pos < s->n && !ret) {
		const uint32_t *special = NULL;

		for (end = pos; end < limit; end++) {
			special = special_at(b, s->buf + end, s->n - end);
			if (special)
				break;
		}
		if (end > pos)
			ret = encode_plain(s, s->buf + pos, end - pos, !special && !last, &got,
					   out);
		else
			got = 0;
		pos += got;
		if (ret || !special)
			break;
		ret = emit(out, *special);
		pos = end + (b->at[*special + 1] - b->at[*special]);
	}
	memmove(s->buf, s->buf + pos, s->n - pos);
	s->n -= pos;
	/* what is left is a word's beginning: looked at again when there is twice as much */
	s->want = 2 * s->n + s->piece;
	return ret;
}

int wse_bpe_stream_open(const struct wse_bpe *b, size_t piece, struct wse_bpe_stream **out)
{
	struct wse_bpe_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return wse_fail(-ENOMEM, "no memory");
	s->b = b;
	s->want = s->piece = piece ? piece : PIECE;
	*out = s;
	if (b->spm)
		return 0;
	s->match = pcre2_match_data_create_from_pattern(b->code, NULL);
	s->how = pcre2_match_context_create(NULL);
	s->stack = pcre2_jit_stack_create(64 << 10, 64 << 20, NULL);
	if (!s->match || !s->how || !s->stack) {
		wse_bpe_stream_close(s);
		return wse_fail(-ENOMEM, "no memory");
	}
	pcre2_jit_stack_assign(s->how, NULL, s->stack);
	return 0;
}

int wse_bpe_stream_add(struct wse_bpe_stream *s, const void *text, size_t n, struct wse_tokens *out)
{
	const unsigned char *p = text;
	int ret = 0;

	if (n && !s->begun) {
		s->begun = 1;
		ret = wse_bpe_prefix(s->b) ? wse_bpe_stream_add(s, " ", 1, out) : 0;
	}
	while (n && !ret) {
		size_t part = s->n < s->want ? s->want - s->n : 1;

		if (part > n)
			part = n;
		if (s->room - s->n < part) {
			size_t room = 2 * s->room > s->n + part ? 2 * s->room : s->n + part;
			unsigned char *buf = realloc(s->buf, room);

			if (!buf)
				return wse_fail(-ENOMEM, "no memory for %zu bytes of text", room);
			s->buf = buf;
			s->room = room;
		}
		memcpy(s->buf + s->n, p, part);
		s->n += part;
		p += part;
		n -= part;
		if (s->n >= s->want)
			ret = encode_some(s, 0, out);
	}
	return ret;
}

int wse_bpe_stream_end(struct wse_bpe_stream *s, struct wse_tokens *out)
{
	int ret = s->n ? encode_some(s, 1, out) : 0;

	s->n = 0;
	s->begun = 0;
	s->want = s->piece;
	return ret;
}

void wse_bpe_stream_close(struct wse_bpe_stream *s)
{
	if (!s)
		return;
	pcre2_match_data_free(s->match);
	pcre2_match_context_free(s->how);
	pcre2_jit_stack_free(s->stack);
	free(s->buf);
	free(s->id);
	free(s->heap);
	free(s);
}

int wse_bpe_encode(const struct wse_bpe *b, const void *text, size_t n, struct wse_tokens *out)
{
	struct wse_bpe_stream *s;
	int ret = wse_bpe_stream_open(b, 0, &s);

	if (ret)
		return ret;
	ret = wse_bpe_stream_add(s, text, n, out);
	ret = ret ? ret : wse_bpe_stream_end(s, out);
	wse_bpe_stream_close(s);
	return ret;
}
