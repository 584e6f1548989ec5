// SPDX-License-Identifier: MIT
/* Which sizes of a GPT there are, which of them a tile takes, and the nearest ones that it does. */
#include "model/gpt_sizes.h"

#include <errno.h>
#include <float.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "num/nearest.h"
#include "ops/rope.h"

/* of hidden_size and filter_size, as a parameter file has them */
#define NARROWEST 8u
#define WIDEST	  ((uint32_t)WSE_GPT_MAX_WIDTH)

static struct wse_near near_width(uint64_t n, uint64_t of, uint64_t max)
{
	struct wse_near near = wse_near_multiple(n < NARROWEST ? NARROWEST - 1 : n, of, max);

	if (near.below < NARROWEST)
		near.below = 0;
	return near;
}

/* -EINVAL: a form of which the graph lacks a part, by its name */
static int refuse_form(const struct wse_gpt *m)
{
	const struct {
		uint32_t is;
		const char *what;
	} forms[] = {{m->gated && m->act != WSE_SILU, "a gate of another activation than SiLU"},
		     {!m->gated && m->act == WSE_SILU, "SiLU without a gate"}};

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (forms[i].is)
			return wse_fail(-EINVAL, "%s: the wafer's GPT does not have it yet",
					forms[i].what);
	return 0;
}

static uint32_t kv_heads(const struct wse_gpt *m)
{
	return m->kv_heads ? m->kv_heads : m->heads;
}

/* -EINVAL unless heads of queries share those of keys and values evenly */
static int check_kv(const struct wse_gpt *m)
{
	struct wse_near near = {kv_heads(m), kv_heads(m)};

	if (m->heads % kv_heads(m) == 0)
		return 0;
	while (near.below > 1 && m->heads % near.below)
		near.below--;
	while (near.above < m->heads && m->heads % near.above)
		near.above++;
	if (near.above > m->heads)
		near.above = 0;
	wse_fail(-EINVAL, "num_kv_groups %u does not divide num_heads %u", m->kv_heads, m->heads);
	wse_near_say("", near);
	return -EINVAL;
}

/* angles are position / scale * base ^ -x: finite, and their turns a number that has a fraction */
#define SCALE_LEAST 1e-3f

static int check_rotary(const struct wse_gpt *m)
{
	uint32_t d = wse_gpt_head_dim(m);

	if (m->rotary && m->alibi)
		return wse_fail(-EINVAL, "positions are rotary or by slopes (alibi), not both");
	if (m->rotary > d)
		return wse_fail(-EINVAL,
				"rotary_dim %u is more than the %u features of a head: choose %u",
				m->rotary, d, d - d % 2);
	if (m->rotary % 2) {
		wse_fail(-EINVAL, "rotary_dim %u is odd: features turn in pairs", m->rotary);
		wse_near_say("", wse_near_multiple(m->rotary, 2, d));
		return -EINVAL;
	}
	if (m->rotary && m->rotary_base != 0.0f &&
	    !(m->rotary_base >= 1.0f && m->rotary_base <= FLT_MAX))
		return wse_fail(-EINVAL,
				"rope_theta %g is not a base of angles: choose 1 or more (10000)",
				m->rotary_base);
	if (m->rotary && m->rotary_scale != 0.0f &&
	    !(m->rotary_scale >= SCALE_LEAST && m->rotary_scale <= FLT_MAX))
		return wse_fail(
			-EINVAL,
			"pos_scaling_factor %g does not scale positions: choose %g or more (1)",
			m->rotary_scale, SCALE_LEAST);
	if (m->rotary && m->rotary_original != 0.0f &&
	    !(m->rotary_original >= 1.0f && m->rotary_original <= FLT_MAX && m->rotary_low > 0.0f &&
	      m->rotary_low < m->rotary_high && m->rotary_high <= FLT_MAX))
		return wse_fail(-EINVAL,
				"low_freq_factor %g and high_freq_factor %g of %g "
				"original_max_position_embeddings are no scaling: choose a low one "
				"above 0 and a greater high one (1, 4 and 8192)",
				m->rotary_low, m->rotary_high, m->rotary_original);
	return 0;
}

int wse_gpt_init(struct wse_model *model, const struct wse_gpt *shape)
{
	const struct {
		const char *name;
		uint32_t n, max;
	} most[] = {{"vocab_size", shape->vocab, WSE_GPT_MAX_VOCAB},
		    {"hidden_size", shape->hidden, WIDEST},
		    {"filter_size", shape->filter, WIDEST},
		    {"num_hidden_layers", shape->layers, WSE_GPT_MAX_LAYERS}};

	_Static_assert(sizeof(*shape) <= sizeof(model->family_data), "the family's struct fits");

	if (!shape->vocab || !shape->hidden || !shape->layers || !shape->heads || !shape->filter ||
	    !shape->seq)
		return wse_fail(-EINVAL, "a size is 0");
	for (size_t i = 0; i < sizeof(most) / sizeof(*most); i++)
		if (most[i].n > most[i].max)
			return wse_fail(-EINVAL, "%s %u is more than %u: choose %u", most[i].name,
					most[i].n, most[i].max, most[i].max);
	if (shape->head_dim > WIDEST / shape->heads)
		return wse_fail(-EINVAL, "%u heads of %u features are more than %u: choose %u",
				shape->heads, shape->head_dim, WIDEST, WIDEST / shape->heads);
	if (!shape->head_dim && shape->hidden % shape->heads) {
		wse_fail(-EINVAL, "hidden_size %u is not a multiple of 4 x %u heads (num_heads)",
			 shape->hidden, shape->heads);
		wse_near_say("", near_width(shape->hidden, 4ull * shape->heads, WIDEST));
		return -EINVAL;
	}
	if (shape->seq > shape->positions)
		return wse_fail(-EINVAL,
				"max_sequence_length %u is more than max_position_embeddings %u: "
				"choose %u, or max_position_embeddings %u",
				shape->seq, shape->positions, shape->positions, shape->seq);
	if (refuse_form(shape) || check_kv(shape) || check_rotary(shape))
		return -EINVAL;
	memset(model, 0, sizeof(*model));
	model->family = &wse_family_gpt;
	model->vocab = shape->vocab;
	model->window = 1;
	model->span = shape->seq;
	model->logits_scale = shape->logits_scale;
	memcpy(model->family_data, shape, sizeof(*shape));
	return 0;
}

/*
 * Logits and their gradient take 6 bytes a class and token. A column's share of the vocabulary that
 * takes more than this comes in chunks: 64 classes of 16 tokens do not, which are the bytes on four
 * columns.
 */
#define HEAD_BYTES 6656u

/* rows are multiples of 4, as blocks of a stream want them */
struct wse_gpt_head wse_gpt_head_of(uint32_t vocab, uint32_t cols, uint32_t t)
{
	uint32_t per = (vocab + cols - 1) / cols;
	uint32_t most = t && t <= 64 ? HEAD_BYTES / (6 * t) / 4 * 4 : per;
	struct wse_gpt_head h = {.chunks = (per + most - 1) / most};

	/* targets above u16 are known to the kernels of a vocabulary in chunks */
	if (vocab > WSE_VOCAB_NARROW && h.chunks < 2)
		h.chunks = 2;

	h.rows = ((per + h.chunks - 1) / h.chunks + 3) / 4 * 4;
	return h;
}

/*
 * Whole heads of keys on whole columns, with the queries that share them: a column has some, or one
 * has some columns.
 */
static int heads_lie(uint32_t kv, uint32_t cols)
{
	return kv > cols ? kv % cols == 0 : cols % kv == 0;
}

/* hidden_size is a multiple of it: four features, or more, of every head and on every column */
static uint32_t hidden_unit(uint32_t heads, uint32_t kv, uint32_t cols)
{
	return 4 * heads * (kv < cols ? cols / kv : 1);
}

/* features of a head are a multiple of it: whole fours on each of its columns */
static uint32_t head_unit(uint32_t kv, uint32_t cols)
{
	return 4 * (kv < cols ? cols / kv : 1);
}

/* hidden_size is a multiple of it beside heads of a width of their own, or not */
static uint32_t unit_of(const struct wse_gpt *m, uint32_t cols)
{
	return m->head_dim ? 4 * cols : hidden_unit(m->heads, kv_heads(m), cols);
}

/* heads of which no number of columns has whole fours of features */
static int in_no_fours(const struct wse_gpt *m)
{
	return wse_gpt_head_dim(m) % 4 != 0;
}

/*
 * Up to a multiple; 0: that is too much padding. Heads of whole fours go without any on fewer
 * columns, so an eighth has to do for them.
 */
static uint32_t padded(const struct wse_gpt *m, uint32_t n, uint32_t of)
{
	uint64_t wide = ((uint64_t)n + of - 1) / of * of;

	return wide <= (in_no_fours(m) ? 2ull * n - 1 : n + n / 8) ? (uint32_t)wide : 0;
}

/* without padding */
static int divides(const struct wse_gpt *m, uint32_t cols)
{
	return m->hidden % (4 * cols) == 0 &&
	       wse_gpt_head_dim(m) % head_unit(kv_heads(m), cols) == 0;
}

uint32_t wse_gpt_wide_head(const struct wse_gpt *m, uint32_t cols)
{
	uint32_t d = wse_gpt_head_dim(m);

	return divides(m, cols) ? d : padded(m, d, head_unit(kv_heads(m), cols));
}

uint32_t wse_gpt_wide_hidden(const struct wse_gpt *m, uint32_t cols)
{
	return divides(m, cols) ? m->hidden : padded(m, m->hidden, 4 * cols);
}

struct wse_gpt_turns wse_gpt_turns_of(const struct wse_gpt *m, uint32_t cols)
{
	uint32_t group = kv_heads(m) < cols ? cols / kv_heads(m) : 1;

	return (struct wse_gpt_turns){
		wse_rope_pairs(m->rotary / 2, wse_gpt_wide_head(m, cols) / group), group};
}

/* the widest of its three, of queries, keys and values together where none are shared */
static uint32_t widest_hidden(uint32_t cols)
{
	uint64_t most = (uint64_t)WSE_COLUMN_MAX / 3 * cols;

	return most < WIDEST ? (uint32_t)most : WIDEST;
}

int wse_gpt_sequence_lies(uint32_t seq, uint32_t rows, uint32_t t)
{
	return seq % t == 0 && rows % (seq / t) == 0;
}

static int sequence_goes(uint32_t seq, const struct wse_tile *tile)
{
	uint32_t t = tile->lanes;

	while (t <= WSE_TOKENS_MAX && !wse_gpt_sequence_lies(seq, tile->rows, t))
		t += tile->lanes;
	return t <= WSE_TOKENS_MAX;
}

uint32_t wse_gpt_head_width(uint32_t vocab, uint32_t cols, uint32_t t)
{
	struct wse_gpt_head h = wse_gpt_head_of(vocab, cols, t);

	return h.chunks * h.rows;
}

uint32_t wse_gpt_widest_vocab(const struct wse_tile *tile, uint32_t t)
{
	uint32_t per = WSE_COLUMN_MAX;

	/* a column's share in whole chunks, whose rows are rounded up, is as wide as it or wider */
	for (; t <= WSE_TOKENS_MAX; t += tile->lanes)
		while (wse_gpt_head_width(per * tile->cols, tile->cols, t) > WSE_COLUMN_MAX)
			per -= 4;
	return per * tile->cols;
}

/*
 * the nearest number of heads that lies on the columns: of those that hidden_size takes, if there
 * are any
 */
static uint32_t nearest_heads(const struct wse_gpt *m, uint32_t cols)
{
	uint32_t best = 0, least = UINT32_MAX, near;
	int kept = 0;

	for (uint32_t h = 1; h <= m->heads + cols; h++) {
		int keeps = heads_lie(h, cols) && m->hidden % hidden_unit(h, h, cols) == 0;

		near = h < m->heads ? m->heads - h : h - m->heads;
		if (!heads_lie(h, cols) || hidden_unit(h, h, cols) > widest_hidden(cols) ||
		    keeps < kept || (keeps == kept && near >= least))
			continue;
		best = h;
		kept = keeps;
		least = near;
	}
	return best;
}

/* n, or the nearest multiple of `of` up to max */
static uint32_t nearest_width(uint64_t n, uint32_t of, uint32_t max)
{
	if (n >= NARROWEST && n % of == 0 && n <= max)
		return (uint32_t)n;
	return (uint32_t)wse_nearest(near_width(n, of, max), n);
}

static uint32_t widest_filter(uint32_t cols)
{
	uint64_t most = (uint64_t)WSE_COLUMN_MAX * cols;

	return most < WIDEST ? (uint32_t)most : WIDEST;
}

/*
 * heads of keys that divide those of queries and lie on the columns: the nearest, of those that the
 * widths take as they are, if there are any
 */
static uint32_t nearest_kv(const struct wse_gpt *m, uint32_t cols)
{
	uint32_t best = 0, least = UINT32_MAX;
	int kept = 0;

	for (uint32_t k = 1; k <= m->heads; k++) {
		uint32_t near = k < kv_heads(m) ? kv_heads(m) - k : k - kv_heads(m);
		struct wse_gpt with = *m;
		int keeps;

		if (m->heads % k || !heads_lie(k, cols))
			continue;
		with.kv_heads = k;
		keeps = m->head_dim ? m->head_dim % head_unit(k, cols) == 0
				    : m->hidden % hidden_unit(m->heads, k, cols) == 0;
		/* else the features are padded, where that is allowed */
		if (!keeps &&
		    (!wse_gpt_wide_head(&with, cols) || !wse_gpt_wide_hidden(&with, cols)))
			continue;
		if (keeps < kept || (keeps == kept && near >= least))
			continue;
		best = k;
		kept = keeps;
		least = near;
	}
	return best;
}

static int refuse_kv(const struct wse_gpt *m, uint32_t cols)
{
	uint32_t kv = nearest_kv(m, cols);

	wse_fail(-EINVAL, "num_kv_groups %u is neither a multiple nor a divisor of the %u columns",
		 m->kv_heads, cols);
	if (kv)
		wse_fail_more(": choose %u", kv);
	return -EINVAL;
}

static int refuse_heads(const struct wse_gpt *m, uint32_t cols)
{
	uint32_t heads = nearest_heads(m, cols);
	uint32_t hidden =
		nearest_width(m->hidden, hidden_unit(heads, heads, cols), widest_hidden(cols));

	if (kv_heads(m) != m->heads)
		return refuse_kv(m, cols);
	wse_fail(-EINVAL,
		 "num_heads %u is neither a multiple nor a divisor of the %u columns: choose %u",
		 m->heads, cols, heads);
	if (hidden != m->hidden)
		wse_fail_more(" and hidden_size %u", hidden);
	return -EINVAL;
}

/* queries, keys and values, and as many features of hidden_size, are not too many for a column */
static int is_narrow(const struct wse_gpt *m, uint32_t cols)
{
	uint64_t hidden = wse_gpt_wide_hidden(m, cols), head = wse_gpt_wide_head(m, cols);

	return hidden && head && hidden <= widest_hidden(cols) &&
	       head * m->heads <= widest_hidden(cols);
}

/* do fewer columns with no more features each take it? */
static int goes_on_fewer(const struct wse_gpt *m, uint32_t cols)
{
	uint64_t hidden = wse_gpt_wide_hidden(m, cols), head = wse_gpt_wide_head(m, cols);

	for (uint32_t c = cols - 1; c; c--)
		if (heads_lie(kv_heads(m), c) && is_narrow(m, c) &&
		    wse_gpt_wide_hidden(m, c) * (uint64_t)cols <= hidden * c &&
		    wse_gpt_wide_head(m, c) * (uint64_t)cols <= head * c)
			return 1;
	return 0;
}

/* heads that lie on the columns, as wide as the file has them or padded */
static int width_lies(const struct wse_gpt *m, uint32_t cols)
{
	return is_narrow(m, cols) && (divides(m, cols) || !goes_on_fewer(m, cols));
}

/* attention_inner_dim: do its heads lie on the columns */
static int inner_lies(const struct wse_gpt *m, uint32_t cols)
{
	if (in_no_fours(m))
		return width_lies(m, cols);
	return !m->head_dim || (m->head_dim % head_unit(kv_heads(m), cols) == 0 &&
				wse_gpt_inner(m) <= widest_hidden(cols));
}

static int refuse_inner(const struct wse_gpt *m, uint32_t cols)
{
	uint32_t of = m->heads * head_unit(kv_heads(m), cols), most = widest_hidden(cols);
	uint32_t inner = wse_gpt_inner(m);

	if (inner > most)
		wse_fail(-EINVAL,
			 "attention_inner_dim %u: queries, keys and values are more than %u a "
			 "column, of %u columns",
			 inner, WSE_COLUMN_MAX, cols);
	else
		wse_fail(-EINVAL,
			 "attention_inner_dim %u is not a multiple of %u: %u heads (num_heads), "
			 "each over %u columns, have 4 features or more on each",
			 inner, of, m->heads, of / 4 / m->heads);
	wse_near_say("", near_width(inner, of, most));
	return -EINVAL;
}

static int refuse_hidden(const struct wse_gpt *m, uint32_t cols)
{
	uint32_t unit = unit_of(m, cols), most = widest_hidden(cols);
	struct wse_near near = near_width(m->hidden, unit, most);

	if (m->head_dim && m->hidden <= most)
		wse_fail(-EINVAL, "hidden_size %u is not a multiple of 4 x %u columns = %u",
			 m->hidden, cols, unit);
	else if (m->hidden > most)
		wse_fail(-EINVAL,
			 "hidden_size %u: queries, keys and values are more than %u a column, of "
			 "%u columns",
			 m->hidden, WSE_COLUMN_MAX, cols);
	else if (kv_heads(m) != m->heads)
		wse_fail(-EINVAL,
			 "hidden_size %u is not a multiple of %u: %u heads (num_heads), each over "
			 "%u columns, have 4 features or more on each",
			 m->hidden, unit, m->heads, unit / 4 / m->heads);
	else
		wse_fail(-EINVAL, "hidden_size %u is not a multiple of 4 x %u %s = %u", m->hidden,
			 unit / 4, m->heads > cols ? "heads (num_heads)" : "columns", unit);
	if (near.below | near.above)
		wse_near_say("", near);
	else /* so many heads do not go */
		wse_fail_more(": choose %u and num_heads %u", most / (4 * cols) * 4 * cols, cols);
	return -EINVAL;
}

/* is it hidden_size that does not lie, not attention_inner_dim alone? */
static int is_of_hidden(const struct wse_gpt *m, uint32_t cols)
{
	return !m->head_dim || (!in_no_fours(m) &&
				(m->hidden % unit_of(m, cols) || m->hidden > widest_hidden(cols)));
}

static int refuse_filter(const struct wse_gpt *m, uint32_t cols)
{
	wse_fail(-EINVAL, "filter_size %u is more than %u x %u columns", m->filter, WSE_COLUMN_MAX,
		 cols);
	wse_near_say("", near_width(m->filter, 4 * cols, widest_filter(cols)));
	return -EINVAL;
}

/* the lengths of sequences that go, next to this one */
static struct wse_near near_sequence(uint32_t seq, const struct wse_tile *tile)
{
	uint32_t most = WSE_TOKENS_MAX * tile->rows, below = seq < most ? seq : most, above = seq;

	while (below && !sequence_goes(below, tile))
		below--;
	while (above <= most && !sequence_goes(above, tile))
		above++;
	return (struct wse_near){below, above <= most ? above : 0};
}

static int refuse_sequence(const struct wse_gpt *m, const struct wse_tile *tile)
{
	struct wse_near near = near_sequence(m->seq, tile);
	uint64_t longer = near.above > m->positions ? near.above : 0;

	if (m->seq > WSE_TOKENS_MAX * tile->rows)
		wse_fail(
			-EINVAL,
			"max_sequence_length %u: sequences of %u tokens are longer than %u rows of "
			"%u tokens",
			m->seq, m->seq, tile->rows, WSE_TOKENS_MAX);
	else
		wse_fail(-EINVAL,
			 "max_sequence_length %u: sequences of %u tokens do not lie on %u rows of "
			 "%u to %u tokens each, multiples of the %u lanes",
			 m->seq, m->seq, tile->rows, tile->lanes, WSE_TOKENS_MAX, tile->lanes);
	if (longer)
		near.above = 0;
	wse_near_say("", near);
	if (longer)
		wse_fail_more("%smax_sequence_length %llu and max_position_embeddings %llu",
			      near.below ? ", or " : ": choose ", (unsigned long long)longer,
			      (unsigned long long)longer);
	return -EINVAL;
}

int wse_gpt_sizes(const struct wse_model *model, const struct wse_tile *tile, int say)
{
	const struct wse_gpt *m = wse_gpt(model);
	uint32_t cols = tile->cols, t = tile->lanes;

	if (!heads_lie(kv_heads(m), cols))
		return say ? refuse_heads(m, cols) : -EINVAL;
	if (!width_lies(m, cols))
		return !say		       ? -EINVAL
		       : is_of_hidden(m, cols) ? refuse_hidden(m, cols)
					       : refuse_inner(m, cols);
	if (m->filter > widest_filter(cols))
		return say ? refuse_filter(m, cols) : -EINVAL;
	while (t <= WSE_TOKENS_MAX && wse_gpt_head_width(m->vocab, cols, t) > WSE_COLUMN_MAX)
		t += tile->lanes;
	if (t > WSE_TOKENS_MAX)
		return !say ? -EINVAL
			    : wse_fail(-EINVAL,
				       "vocab_size %u is more than %u x %u columns: choose %u",
				       m->vocab, WSE_COLUMN_MAX, cols,
				       wse_gpt_widest_vocab(tile, tile->lanes));
	if (!sequence_goes(m->seq, tile))
		return say ? refuse_sequence(m, tile) : -EINVAL;
	return 0;
}

int wse_gpt_resize(const struct wse_model *model, const struct wse_tile *tile, uint32_t n,
		   struct wse_model *to, char *what, size_t size)
{
	const struct wse_gpt *old = wse_gpt(model);
	uint32_t cols = tile->cols, unit, widest, d;
	struct wse_gpt m = *old;
	int narrower;

	/* a head of queries of its own for each of keys goes wherever that many heads do */
	if (!heads_lie(kv_heads(&m), cols)) {
		m.kv_heads = kv_heads(&m) == m.heads ? 0 : nearest_kv(&m, cols);
		if (!m.kv_heads)
			m.heads = nearest_heads(&m, cols);
	}
	/* other heads than the file's are as wide as hidden_size has them, unless theirs go */
	if (m.head_dim && (m.heads != old->heads || !inner_lies(&m, cols)))
		m.head_dim = 0;
	unit = unit_of(&m, cols);
	widest = nearest_width(m.hidden, unit, widest_hidden(cols));
	if (!sequence_goes(m.seq, tile))
		m.seq = (uint32_t)near_sequence(m.seq, tile).below;
	if (!m.heads || !widest || !m.seq)
		return -EINVAL;
	narrower = n < widest / unit;
	m.hidden = narrower ? n * unit : widest;
	m.hidden = m.hidden < NARROWEST ? NARROWEST : m.hidden;
	if (m.hidden < old->hidden)
		m.filter = (uint32_t)((uint64_t)m.hidden * m.filter / old->hidden);
	if (m.filter != old->filter || m.filter > widest_filter(cols))
		m.filter = nearest_width(m.filter, 4 * cols, widest_filter(cols));
	/* all of a head still turns; a file that leaves it out has another part of another head */
	d = wse_gpt_head_dim(&m);
	if (m.rotary > d || old->rotary == wse_gpt_head_dim(old))
		m.rotary = m.rotary ? d : 0;
	*to = *model;
	to->span = m.seq;
	memcpy(to->family_data, &m, sizeof(m));
	what[0] = 0;
	wse_say_size(what, size, "num_heads", m.heads, old->heads);
	/* a file that has these keeps them where they were as wide as the others */
	if (kv_heads(old) != old->heads || old->named_kv)
		wse_say_size(what, size, "num_kv_groups", kv_heads(&m), kv_heads(old));
	wse_say_size(what, size, "hidden_size", m.hidden, old->hidden);
	if (old->head_dim || old->named_inner)
		wse_say_size(what, size, "attention_inner_dim", wse_gpt_inner(&m),
			     wse_gpt_inner(old));
	/*
	 * named with another hidden_size even if it stays: a file that leaves it out has 4 x
	 * hidden_size
	 */
	wse_say_size(what, size, "filter_size", m.filter,
		     m.hidden == old->hidden ? old->filter : 0);
	if (m.rotary)
		wse_say_size(what, size, "rotary_dim", m.rotary,
			     d == wse_gpt_head_dim(old) ? old->rotary : 0);
	wse_say_size(what, size, "max_sequence_length", m.seq, old->seq);
	return narrower ? 0 : -ERANGE;
}
