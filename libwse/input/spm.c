// SPDX-License-Identifier: MIT
/* SentencePiece's models: a protocol buffer of pieces, and what it says of texts. */
#include "spm.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "json_file.h"
#include "num/sha256.h"
#include "num/token.h"

#define SPACE "\xe2\x96\x81" /* U+2581, a space in the file */

/* wire types of protocol buffers */
enum { VARINT, FIXED64, BYTES, FIXED32 = 5 };
/* fields: of the model, of a piece, of trainer_spec, of normalizer_spec */
enum { PIECES = 1, TRAINER, NORMALIZER };
enum { P_TEXT = 1, P_SCORE, P_TYPE };
enum { T_MODEL_TYPE = 3, T_SUFFIX = 24, T_BOS = 41 };
enum { N_CHARSMAP = 2, N_PREFIX, N_EXTRA_SPACES, N_ESCAPE };
enum { UNIGRAM = 1, BPE };

/* a part of the file */
struct part {
	const unsigned char *p, *end;
};

/* a field: its number, and its value or its part */
struct field {
	uint32_t number, wire;
	uint64_t value;
	struct part part;
};

static int cut_short(void)
{
	return wse_fail(-EINVAL, "it is cut short, or no model of SentencePiece");
}

static int varint(struct part *m, uint64_t *v)
{
	*v = 0;
	for (unsigned int shift = 0; m->p < m->end && shift < 64; shift += 7) {
		*v |= (uint64_t)(*m->p & 127) << shift;
		if (!(*m->p++ & 128))
			return 0;
	}
	return cut_short();
}

/* the next field, 1: there is none */
static int next_field(struct part *m, struct field *f)
{
	uint64_t key, n;
	int ret;

	if (m->p == m->end)
		return 1;
	ret = varint(m, &key);
	if (ret)
		return ret;
	*f = (struct field){.number = (uint32_t)(key >> 3), .wire = key & 7};
	if (f->wire == VARINT)
		return varint(m, &f->value);
	n = f->wire == FIXED64 ? 8 : 4;
	if (f->wire == BYTES)
		ret = varint(m, &n);
	else if (f->wire != FIXED64 && f->wire != FIXED32)
		ret = cut_short();
	if (ret || n > (size_t)(m->end - m->p))
		return ret ? ret : cut_short();
	f->part = (struct part){m->p, m->p + n};
	m->p += n;
	if (f->wire != BYTES)
		memcpy(&f->value, f->part.p, n);
	return 0;
}

struct reading {
	struct wse_bpe *b;
	uint32_t room;
	size_t bytes, bytes_room;
	float *score; /* [room] */
	uint64_t model_type, suffix, bos, prefix, extra_spaces, escape;
	int charsmap;
};

/* room for one more piece of n bytes */
static int grow(struct reading *r, size_t n)
{
	struct wse_bpe *b = r->b;
	uint32_t room = 2 * r->room + 1024;
	size_t more = 2 * (r->bytes_room + n) + 4096;

	if (b->n + 2 > r->room) {
		size_t *at = realloc(b->at, room * sizeof(*at));
		float *score = realloc(r->score, room * sizeof(*score));
		unsigned char *kind = realloc(b->spm->kind, room);

		b->at = at ? at : b->at;
		r->score = score ? score : r->score;
		b->spm->kind = kind ? kind : b->spm->kind;
		if (!at || !score || !kind)
			return wse_fail(-ENOMEM, "no memory for %u pieces", room);
		r->room = room;
	}
	if (r->bytes + n > r->bytes_room) {
		char *p = realloc(b->bytes, more);

		if (!p)
			return wse_fail(-ENOMEM, "no memory for %zu bytes of pieces", more);
		b->bytes = p;
		r->bytes_room = more;
	}
	return 0;
}

/* the bytes that a piece stands for in a text: to [n]; how many, 0: the file is wrong */
static size_t text_of(const struct part *p, uint64_t kind, char *to)
{
	size_t n = (size_t)(p->end - p->p), made = 0;
	char hex[7], *end;

	if (kind == WSE_SPM_BYTE) {
		if (n != 6 || memcmp(p->p, "<0x", 3) || p->p[5] != '>')
			return 0;
		memcpy(hex, p->p, 6);
		hex[5] = 0;
		*to = (char)strtoul(hex + 3, &end, 16);
		return !*end;
	}
	for (size_t i = 0; i < n; made++) {
		int space = (kind == WSE_SPM_NORMAL || kind == WSE_SPM_USER) && n - i >= 3 &&
			    !memcmp(p->p + i, SPACE, 3);

		to[made] = space ? ' ' : (char)p->p[i];
		i += space ? 3 : 1;
	}
	return made;
}

static int add_piece(struct reading *r, struct part m)
{
	struct wse_bpe *b = r->b;
	struct part text = {NULL, NULL};
	uint64_t kind = WSE_SPM_NORMAL;
	uint32_t bits = 0;
	struct field f;
	size_t n;
	int ret;

	while (!(ret = next_field(&m, &f))) {
		if (f.number == P_TEXT && f.wire == BYTES)
			text = f.part;
		else if (f.number == P_SCORE && f.wire == FIXED32)
			bits = (uint32_t)f.value;
		else if (f.number == P_TYPE && f.wire == VARINT)
			kind = f.value;
	}
	if (ret < 0)
		return ret;
	if (b->n >= WSE_VOCAB_MAX)
		return wse_fail(-EINVAL, "more than %u pieces", WSE_VOCAB_MAX);
	ret = grow(r, (size_t)(text.end - text.p));
	if (ret)
		return ret;
	n = text_of(&text, kind, b->bytes + r->bytes);
	if (kind < WSE_SPM_NORMAL || kind > WSE_SPM_BYTE || !n)
		return wse_fail(-EINVAL, "piece %u, \"%.*s\", is none that is known (type %llu)",
				b->n, (int)(text.end - text.p < 60 ? text.end - text.p : 60),
				text.p ? (const char *)text.p : "", (unsigned long long)kind);
	if (kind == WSE_SPM_UNUSED)
		return wse_fail(-ENOTSUP,
				"piece %u, \"%.*s\", is marked as unused, which is not available",
				b->n, (int)(n < 60 ? n : 60), b->bytes + r->bytes);
	b->at[b->n] = r->bytes;
	memcpy(&r->score[b->n], &bits, sizeof(bits));
	b->spm->kind[b->n++] = (unsigned char)kind;
	/* of texts it sees U+2581 alone: a piece with a space is never found */
	if ((kind == WSE_SPM_NORMAL || kind == WSE_SPM_USER) &&
	    memchr(text.p, ' ', (size_t)(text.end - text.p)))
		b->spm->kind[b->n - 1] = WSE_SPM_UNUSED;
	r->bytes += n;
	b->at[b->n] = r->bytes;
	return 0;
}

/* what the trainer and the normalizer say of texts */
static int read_spec(struct reading *r, struct part m, int trainer)
{
	struct field f;
	int ret;

	while (!(ret = next_field(&m, &f))) {
		if (trainer && f.number == T_MODEL_TYPE)
			r->model_type = f.value;
		else if (trainer && f.number == T_SUFFIX)
			r->suffix = f.value;
		else if (trainer && f.number == T_BOS)
			r->bos = f.value;
		else if (!trainer && f.number == N_CHARSMAP)
			r->charsmap = f.part.p != f.part.end;
		else if (!trainer && f.number == N_PREFIX)
			r->prefix = f.value;
		else if (!trainer && f.number == N_EXTRA_SPACES)
			r->extra_spaces = f.value;
		else if (!trainer && f.number == N_ESCAPE)
			r->escape = f.value;
	}
	return ret < 0 ? ret : 0;
}

static int read_model(struct reading *r, struct part m)
{
	struct field f;
	int ret;

	while (!(ret = next_field(&m, &f))) {
		if (f.wire == BYTES && f.number == PIECES)
			ret = add_piece(r, f.part);
		else if (f.wire == BYTES && (f.number == TRAINER || f.number == NORMALIZER))
			ret = read_spec(r, f.part, f.number == TRAINER);
		if (ret)
			return ret;
	}
	if (ret < 0)
		return ret;
	if (r->model_type != BPE)
		return wse_fail(
			-ENOTSUP,
			"it is SentencePiece's %s model; its BPE models are read (spm_train "
			"--model_type=bpe), as LLaMA 2 has one",
			r->model_type == UNIGRAM ? "unigram" : "word or character");
	if (r->charsmap || r->extra_spaces || !r->escape || r->suffix)
		return wse_fail(
			-ENOTSUP,
			"it changes a text before it makes pieces (%s), so that no text "
			"comes back from them; models without that are read, as LLaMA 2 has "
			"one (spm_train --normalization_rule_name=identity "
			"--remove_extra_whitespaces=false)",
			r->charsmap	  ? "a normalization rule"
			: r->extra_spaces ? "remove_extra_whitespaces"
					  : "spaces behind words, or not escaped");
	return 0;
}

/* ---- what follows from the pieces ---- */

static int index_pieces(struct wse_bpe *b)
{
	struct wse_spm *s = b->spm;

	for (b->nwords = 512; b->nwords < 2 * b->n; b->nwords *= 2)
		;
	b->word = malloc(b->nwords * sizeof(*b->word));
	if (!b->word)
		return wse_fail(-ENOMEM, "no memory for %u pieces", b->n);
	memset(b->word, 0xff, b->nwords * sizeof(*b->word));
	memset(b->byte_id, 0xff, sizeof(b->byte_id));
	s->cut_line = s->cut_space = 1;
	for (uint32_t id = 0; id < b->n; id++) {
		size_t n;
		const char *p = wse_bpe_token(b, id, &n);
		uint32_t *place;

		b->longest = n > b->longest ? (uint32_t)n : b->longest;
		if (s->kind[id] == WSE_SPM_BYTE)
			b->byte_id[(unsigned char)*p] = id;
		if (s->kind[id] != WSE_SPM_NORMAL && s->kind[id] != WSE_SPM_USER)
			continue;
		place = &b->word[wse_bpe_word(b, p, n)];
		if (*place != WSE_BPE_NONE)
			return wse_fail(-EINVAL, "pieces %u and %u are the same", *place, id);
		*place = id;
		s->longest = n > s->longest ? n : s->longest;
		if (s->kind[id] == WSE_SPM_USER) {
			s->user_begins[(unsigned char)*p] = 1;
			s->longest_user = n > s->longest_user ? (uint32_t)n : s->longest_user;
		}
		for (size_t i = 1; i < n; i++) {
			s->cut_line &= p[i - 1] != '\n';
			s->cut_space &= p[i] != ' ' || p[i - 1] == ' ';
		}
	}
	for (int c = 0; c < 256; c++)
		if (b->byte_id[c] == WSE_BPE_NONE)
			return wse_fail(
				-ENOTSUP,
				"it has no piece for byte 0x%02x, so that not every text has "
				"tokens: models with byte_fallback are read, as LLaMA 2 has "
				"one",
				(unsigned int)c);
	return 0;
}

struct scored {
	float score;
	uint32_t id;
};

static int by_score(const void *x, const void *y)
{
	float a = ((const struct scored *)x)->score, b = ((const struct scored *)y)->score;

	return (a < b) - (a > b);
}

/* equal scores are equal ranks: the leftmost pair is meant then */
static int rank_pieces(struct wse_bpe *b, const float *score)
{
	struct scored *list = malloc(b->n * sizeof(*list));
	uint32_t *rank = malloc(b->n * sizeof(*rank));

	b->spm->rank = rank;
	if (!list || !rank) {
		free(list);
		return wse_fail(-ENOMEM, "no memory for %u pieces", b->n);
	}
	for (uint32_t i = 0; i < b->n; i++)
		list[i] = (struct scored){score[i], i};
	qsort(list, b->n, sizeof(*list), by_score);
	for (uint32_t i = 0, at = 0; i < b->n; i++) {
		at = i && list[i].score < list[i - 1].score ? i : at;
		rank[list[i].id] = at;
	}
	free(list);
	return 0;
}

static void sum(struct wse_bpe *b)
{
	struct wse_sha256 s;
	char hex[65];

	wse_sha256_init(&s);
	wse_sha256_add(&s, "sentencepiece", 13);
	for (uint32_t id = 0; id < b->n; id++) {
		size_t len;
		const char *p = wse_bpe_token(b, id, &len);
		uint32_t head[3] = {(uint32_t)len, b->spm->kind[id], b->spm->rank[id]};

		wse_sha256_add(&s, head, sizeof(head));
		wse_sha256_add(&s, p, len);
	}
	wse_sha256_add(&s, &b->spm->prefix, sizeof(b->spm->prefix));
	wse_sha256_hex(&s, hex);
	hex[16] = 0;
	b->sum = strtoull(hex, NULL, 16);
}

int wse_spm_read(const char *file, struct wse_bpe *b)
{
	/* as protocol buffers leave out what is the default */
	struct reading r = {.b = b,
			    .model_type = UNIGRAM,
			    .bos = 1,
			    .prefix = 1,
			    .extra_spaces = 1,
			    .escape = 1};
	char *data = NULL;
	size_t n = 0;
	int ret;

	b->spm = calloc(1, sizeof(*b->spm));
	if (!b->spm)
		return wse_fail(-ENOMEM, "no memory");
	ret = wse_file_read(file, "the model", &data, &n);
	if (!ret)
		ret = read_model(&r, (struct part){(const unsigned char *)data,
						   (const unsigned char *)data + n});
	free(data);
	if (!ret && !b->n)
		ret = cut_short();
	ret = ret ? ret : index_pieces(b);
	ret = ret ? ret : rank_pieces(b, r.score);
	free(r.score);
	if (ret)
		return ret;
	b->spm->prefix = r.prefix != 0;
	b->begin_id = r.bos < b->n ? (uint32_t)r.bos : b->byte_id['\n'];
	sum(b);
	return 0;
}

void wse_spm_free(struct wse_spm *s)
{
	if (!s)
		return;
	free(s->rank);
	free(s->kind);
	free(s);
}

/* LLaMA 3's tokenizer.model is another kind of file: lines of base64 */
static int is_model(const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	unsigned char first = 0;
	ssize_t n = fd < 0 ? -1 : read(fd, &first, 1);

	if (fd >= 0)
		close(fd);
	return n == 1 && first == (PIECES << 3 | BYTES);
}

int wse_spm_find(const char *path, char *file, size_t size)
{
	size_t n = strlen(path);
	struct stat sb;

	if (stat(path, &sb) || n + 32 > size)
		return 0;
	snprintf(file, size, "%s%s", path, S_ISDIR(sb.st_mode) ? "/tokenizer.model" : "");
	if (S_ISDIR(sb.st_mode))
		return is_model(file);
	return n > 6 && !strcmp(path + n - 6, ".model");
}

size_t wse_spm_user(const struct wse_bpe *b, const unsigned char *p, size_t n)
{
	const struct wse_spm *s = b->spm;
	size_t len = s->longest_user < n ? s->longest_user : n;

	for (; len && s->user_begins[*p]; len--) {
		uint32_t id = b->word[wse_bpe_word(b, (const char *)p, len)];

		if (id != WSE_BPE_NONE && s->kind[id] == WSE_SPM_USER)
			return len;
	}
	return 0;
}

size_t wse_spm_cut(const struct wse_spm *s, const unsigned char *p, size_t n)
{
	for (size_t i = n; i-- > 1;)
		if ((s->cut_line && p[i - 1] == '\n') ||
		    (s->cut_space && p[i] == ' ' && p[i - 1] != ' '))
			return i;
	return 0;
}
