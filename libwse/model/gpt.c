// SPDX-License-Identifier: MIT
/* The GPT: its graph but for the blocks. */
#include "model/gpt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "model/gpt_build.h"
#include "model/gpt_io.h"

/*
 * The kernels are in one program, or in one for each phase, which are copied to the cores when the
 * phase begins; data may begin here above every version of the latter.
 */
#define PHASE_END 0x2600u

/*
 * In files and their hashes, where gelu has been the form by tanh from the beginning: that by erf,
 * which parameter files call gelu, is gelu_erf there, so that neither is taken for the other
 */
static const char *const acts[] = {[WSE_GELU] = "gelu_erf",
				   [WSE_GELU_NEW] = "gelu",
				   [WSE_RELU] = "relu",
				   [WSE_SQUARED_RELU] = "squared_relu",
				   [WSE_SILU] = "silu"};

static int gpt_tensors(const struct wse_model *model, struct wse_tensor_table *tab)
{
	return wse_gpt_make_tensors(wse_gpt(model), tab);
}

/* ---- the graph ---- */

/* the number of blocks that keeps the fewest inputs */
#define ROOT UINT32_MAX

/* from the fewest cycles to the fewest bytes */
static const struct mode {
	enum keep keep;
	int phases;	 /* a program a phase */
	uint32_t chunks; /* of the FFN; more than one is another order of sums */
	uint32_t every;	 /* with KEEP_INPUT: of so many blocks one; 0: of all */
} modes[] = {
	{KEEP_ALL, 0, 1, 0},
	{KEEP_ALL, 1, 1, 0},
	{KEEP_ATTENTION, 0, 1, 0},
	{KEEP_ATTENTION, 1, 1, 0},
	{KEEP_INPUT, 0, 1, 0},
	{KEEP_INPUT, 1, 1, 0},
	{KEEP_INPUT, 1, 2, 0},
	{KEEP_INPUT, 1, 4, 0},
	/*
	 * for models that do not fit with any tokens: bytes that grow with the root of the layers,
	 * or not at all. Which of these takes fewer cycles depends on tokens and width
	 */
	{KEEP_INPUT, 0, 1, 2},
	{KEEP_INPUT, 1, 1, 2},
	{KEEP_INPUT, 0, 1, ROOT},
	{KEEP_INPUT, 1, 1, ROOT},
	{SPILL_INPUT, 0, 1, 0},
	{SPILL_INPUT, 1, 1, 0},
	{SPILL_INPUT, 1, 2, 0},
	{SPILL_INPUT, 1, 4, 0},
};

enum { MODES = sizeof(modes) / sizeof(*modes), NTH = 8, SPILL = 12, ALIKE = 6 };

/*
 * Models that do not fit in any of these have the FFN in as many chunks as divide a column's share
 * of it, the fewest first, each with the inputs kept and spilled. A share is at most
 * WSE_COLUMN_MAX / 4 blocks of four features, and no number up to there has more divisors. The last
 * mode is the largest one.
 */
enum { DIVISORS = 48 };

/* of all layers: a graph of more takes long */
#define MOST_CHUNKS 16384u

const uint32_t wse_gpt_mode[5] = {0, 2, 4, NTH, SPILL};

/* the least number whose square is not below n, and at least 2 */
static uint32_t root_of(uint32_t n)
{
	uint32_t r = 2;

	while ((uint64_t)r * r < n)
		r++;
	return r;
}

/* -EINVAL: so many chunks do not divide n, a column's blocks of the filter, or are too many */
static int mode_of(uint32_t n, uint32_t layers, uint32_t mode, struct mode *to)
{
	uint32_t left = DIVISORS - (mode - MODES) / 2, d = n;

	if (mode < MODES) {
		*to = modes[mode];
		if (to->every == ROOT)
			to->every = root_of(layers);
		return n % to->chunks ? -EINVAL : 0;
	}
	/* the left-th divisor from the largest one down */
	while (d && (left -= n % d == 0))
		d--;
	*to = (struct mode){(mode - MODES) % 2 ? SPILL_INPUT : KEEP_INPUT, 1, d, 0};
	return d && (d <= 4 || layers <= MOST_CHUNKS / d) ? 0 : -EINVAL;
}

/* place of the biases of a chunk of the vocabulary */
static uint32_t head_bias(const struct build *b)
{
	return b->head_bias == WSE_NO_BIAS ? WSE_NO_BIAS : b->head_bias + b->chunk * b->head.rows;
}

static uint32_t logits(const struct build *b, uint32_t x)
{
	const float scale = b->m->logits_scale;

	return wse_op_linear(
		b->g,
		&(struct wse_linear_op){.program = b->program,
					.unit = b->head_unit,
					.x = x,
					.vec = b->head_vec,
					.bias = head_bias(b),
					.post = scale != 0.0f ? WSE_POST_SCALE : WSE_POST_NONE,
					.aux = WSE_NO_VALUE,
					.scale = scale,
					.chunk = b->chunk,
					.what = "logits"},
		NULL);
}

/* the loss of x, and the gradient of x: binary32 */
static uint32_t whole_head(const struct build *b, uint32_t x, uint32_t target)
{
	uint32_t y = logits(b, x), dy;

	wse_op_out(b->g, b->g->logits, y);
	dy = wse_op_loss(b->g, b->program, y, target);
	wse_op_wgrad(b->g, b->program, b->head_unit, x, dy, b->head_vec, head_bias(b));
	return wse_gpt_linear_back(b, b->head_unit, dy, WSE_POST_NONE, WSE_NO_VALUE);
}

/*
 * the same where only a chunk of the logits is there at a time: all of them twice, the second time
 * for the gradient
 */
static uint32_t head_in_chunks(struct build *b, uint32_t x, uint32_t target)
{
	uint32_t chunk = b->head.rows * b->cols, state = WSE_NO_VALUE, dx = WSE_NO_VALUE, y, dy;

	for (uint32_t j = 0; j < b->head.chunks; j++) {
		b->chunk = j;
		y = logits(b, x);
		wse_op_out_part(b->g, b->g->logits, y, j, b->head.chunks);
		state = wse_op_loss_part(b->g, b->program, y, target, j * chunk, state);
	}
	wse_op_loss_join(b->g, b->program, target, b->head.rows, state);
	for (uint32_t j = 0; j < b->head.chunks; j++) {
		b->chunk = j;
		y = logits(b, x);
		dy = wse_op_loss_grad(b->g, b->program, y, target, j * chunk, state);
		wse_op_wgrad_chunk(b->g, b->program, b->head_unit, j, x, dy, b->head_vec,
				   head_bias(b));
		dx = wse_gpt_linear_back(b, b->head_unit, dy, j ? WSE_POST_ADD32 : WSE_POST_NONE,
					 dx);
	}
	b->chunk = 0;
	return dx;
}

/* a norm outside of the blocks: its vectors have a unit of their own */
struct alone {
	uint32_t unit, gain, bias;
	struct wse_norm_op op;
};

static struct alone norm_unit(const struct build *b, uint32_t gain, uint32_t bias)
{
	uint32_t unit = wse_graph_unit(b->g, WSE_NO_TENSOR, 0, 0, 1);

	return (struct alone){.unit = unit,
			      .gain = wse_gpt_hidden_vec(b, unit, gain),
			      .bias = wse_gpt_hidden_vec(b, unit, bias)};
}

static uint32_t norm_alone(const struct build *b, struct alone *n, uint32_t x)
{
	uint32_t vec = wse_op_vec_in(b->g, n->unit);

	n->op = wse_gpt_norm_of(b, x, vec, n->gain, n->bias);
	return wse_op_norm(b->g, &n->op, "activations");
}

/* the embeddings' sum */
static uint32_t embeddings(const struct build *b)
{
	uint32_t rows = b->hidden / b->cols, x, d;

	x = wse_op_in(b->g, "inputs", IN_TOKENS, WSE_TYPE_BF16, WSE_SHAPE_TOKENS, rows);
	if (b->m->learned) {
		d = wse_op_in(b->g, "inputs", IN_POSITIONS, WSE_TYPE_BF16, WSE_SHAPE_TOKENS, rows);
		x = wse_op_add(b->g, b->program, x, d, "activations");
	}
	return x;
}

/* the tables of angles or slopes */
static void tables(struct build *b)
{
	struct wse_gpt_turns turns = wse_gpt_turns_of(b->m, b->cols);
	uint32_t in = wse_gpt_in_angles(b->m), rows = 2 * turns.pairs;

	if (b->m->rotary && turns.group > 1)
		b->angles = wse_op_in_group(b->g, "angles", in, WSE_TYPE_F32, rows, turns.group);
	else if (b->m->rotary)
		b->angles = wse_op_in(b->g, "angles", in, WSE_TYPE_F32, WSE_SHAPE_SHARED, rows);
	if (b->m->alibi)
		b->slopes = wse_op_slopes(b->g, in, b->m->heads);
}

/*
 * of the embeddings' norm: dres becomes the gradient of what it reads, which comes from the host
 * again unless all is kept
 */
static void embed_norm_back(struct build *b, struct alone *n, uint32_t *dres)
{
	uint32_t dy = *dres;

	if (b->keep != KEEP_ALL) {
		enter(b, FORWARD);
		n->op.x = embeddings(b);
		enter(b, BACKWARD);
	}
	n->op.program = b->program;
	n->op.vec = wse_op_vec_in(b->g, n->unit);
	*dres = WSE_NO_VALUE;
	wse_op_norm_back(b->g, &n->op, dy, dres);
	wse_op_vec_out(b->g, n->unit, n->op.vec);
}

/* of the embeddings, or of their gradient: in place */
static void drop_embed(const struct build *b, uint32_t x)
{
	if (wse_gpt_drops(b, b->m->drop_embed))
		wse_op_drop(b->g,
			    &(struct wse_drop_op){.program = b->program,
						  .x = x,
						  .add = WSE_NO_VALUE,
						  .place = DROP_EMBED,
						  .rate = b->m->drop_embed,
						  .over = 1},
			    NULL);
}

/* beside: copies of what is spilled run beside kernels, with room for a second input */
static int make_graph(const struct wse_model *model, const struct wse_tile *tile, uint32_t t,
		      uint32_t mode, int beside, struct wse_graph *g)
{
	const struct wse_gpt *m = wse_gpt(model);
	struct build b = {.g = g,
			  .m = m,
			  .cols = tile->cols,
			  .hidden = wse_gpt_wide_hidden(m, tile->cols),
			  .head_vec = WSE_NO_VALUE,
			  .head = wse_gpt_head_of(m->vocab, tile->cols, t)};
	const struct wse_gpt_turns turns = wse_gpt_turns_of(m, tile->cols);
	size_t tokens = (size_t)t * tile->rows;
	uint32_t h = b.hidden, vocab, x, target, dy, d, dres = WSE_NO_VALUE;
	struct alone embed = {0}, final;
	struct wse_gpt_tensors all;
	struct block *blocks;
	struct mode how;
	int ret;

	wse_graph_init(g, tile, t);
	g->forward = model->forward;
	ret = wse_gpt_sizes(model, tile, 1);
	if (ret)
		return ret;
	if (!t || !wse_gpt_sequence_lies(m->seq, tile->rows, t))
		return wse_fail(-EINVAL,
				"sequences of %u tokens do not lie on %u rows of %u tokens", m->seq,
				tile->rows, t);
	if (wse_gpt_head_width(m->vocab, tile->cols, t) > WSE_COLUMN_MAX)
		return wse_fail(
			-EINVAL,
			"vocab_size %u in chunks of %u tokens is more than %u x %u columns: "
			"choose %u",
			m->vocab, t, WSE_COLUMN_MAX, tile->cols, wse_gpt_widest_vocab(tile, t));
	ret = mode_of(wse_gpt_filter(m, tile->cols) / (4 * tile->cols), m->layers, mode, &how);
	if (ret)
		return wse_fail(ret, "filter_size %u does not come in the chunks of mode %u",
				m->filter, mode);
	b.keep = model->forward ? KEEP_ALL : how.keep;
	b.every = g->every = model->forward ? 0 : how.every;
	b.beside = beside && b.keep == SPILL_INPUT;
	b.chunks = g->variant = how.chunks;
	blocks = calloc(m->layers, sizeof(*blocks));
	if (!blocks)
		return wse_fail(-ENOMEM, "no memory for %u layers", m->layers);
	g->seq = m->seq;
	for (int i = 0; i < 3; i++) {
		static const char *const files[] = {"forward.elf", "loss.elf", "backward.elf"};

		/* the kernels of a vocabulary in chunks are in loss.elf alone */
		b.programs[i] = how.phases || (i == LOSS && b.head.chunks > 1)
					? wse_graph_program(g, files[i], PHASE_END)
					: wse_graph_kernels(g);
	}
	enter(&b, FORWARD);
	wse_gpt_tensors_of(m, &all);
	vocab = b.head.chunks * b.head.rows * tile->cols;
	if (m->embed_norm)
		embed = norm_unit(&b, all.ln_e_g, all.ln_e_b);
	for (uint32_t l = 0; l < m->layers; l++)
		wse_gpt_add_units(&b, &blocks[l], l);
	final = norm_unit(&b, all.ln_f_g, all.ln_f_b);
	b.head_unit = wse_graph_unit(g, all.head_w, vocab, h, 1);
	if (b.head.chunks > 1)
		wse_graph_chunks_in_order(g, b.head_unit, b.head.chunks);
	wse_graph_pad(g, b.head_unit, vocab, m->hidden);
	b.head_bias = place_vec(g, b.head_unit, all.head_b, vocab, b.head.chunks);
	g->target = wse_graph_in(g, "targets", tokens * 2 * wse_token_places(m->vocab));
	wse_graph_in(g, "rows of the embedding", h * tokens * 2);
	if (m->learned)
		wse_graph_in(g, "rows of the positions", h * tokens * 2);
	if (m->rotary)
		wse_graph_in(g, "angles of the positions",
			     2ul * turns.pairs * turns.group * tokens * 4);
	if (m->alibi)
		wse_graph_in(g, "slopes of the heads",
			     wse_attn_slope_rows(t, m->heads) * tokens * 4);
	g->loss = wse_graph_out(g, "losses", tokens * 4);
	wse_graph_out(g, "gradient of the inputs", h * tokens * 4);
	g->logits = wse_graph_out(g, "logits", vocab * tokens * 4);
	g->classes = m->vocab;
	g->vocab_rows = b.head.rows;

	target = wse_op_in(g, "targets", IN_TARGETS,
			   m->vocab > WSE_VOCAB_NARROW ? WSE_TYPE_U32 : WSE_TYPE_U16,
			   WSE_SHAPE_SHARED, 1);
	x = embeddings(&b);
	tables(&b);
	if (m->embed_norm)
		x = norm_alone(&b, &embed, x);
	drop_embed(&b, x);
	for (uint32_t l = 0; l < m->layers; l++) {
		blocks[l].x = x;
		x = wse_gpt_forward_block(&b, &blocks[l]);
	}
	x = norm_alone(&b, &final, x);
	enter(&b, LOSS);
	if (b.head_bias != WSE_NO_BIAS)
		b.head_vec = wse_op_vec_in(g, b.head_unit);
	if (model->masked)
		wse_op_loss_scales(g);
	d = b.head.chunks > 1 ? head_in_chunks(&b, x, target) : whole_head(&b, x, target);
	if (b.head_bias != WSE_NO_BIAS)
		wse_op_vec_out(g, b.head_unit, b.head_vec);
	enter(&b, BACKWARD);
	final.op.program = b.program;
	dy = wse_op_norm_back(g, &final.op, d, &dres);
	wse_op_vec_out(g, final.unit, final.op.vec);
	for (uint32_t l = m->layers; l-- > 0;) {
		if (b.every && l + 1 < m->layers && (l + 1) % b.every == 0)
			wse_gpt_inputs_again(&b, blocks, l + 1 - b.every, l);
		b.below = b.beside && l ? &blocks[l - 1] : NULL;
		dy = wse_gpt_backward_block(&b, &blocks[l], &dres, dy);
	}
	drop_embed(&b, dres);
	if (m->embed_norm)
		embed_norm_back(&b, &embed, &dres);
	wse_op_out(g, OUT_DX, dres);
	free(blocks);
	return wse_ops_finish(g);
}

static int gpt_graph(const struct wse_model *model, const struct wse_tile *tile, uint32_t t,
		     uint32_t mode, struct wse_graph *g)
{
	int ret = make_graph(model, tile, t, mode, 0, g);
	struct wse_failure none;
	struct wse_graph beside;

	if (ret || !g->nspills)
		return ret;
	/* where a second input fits, too, copies run beside kernels; bits are the same */
	wse_failure_keep(&none, 0);
	ret = make_graph(model, tile, t, mode, 1, &beside);
	if (ret == -E2BIG) {
		wse_graph_fini(&beside);
		return wse_failure_undo(&none);
	}
	wse_graph_fini(g);
	*g = beside;
	return ret;
}

static void gpt_shallow(const struct wse_model *m, struct wse_model *to)
{
	struct wse_gpt *shape = (struct wse_gpt *)to->family_data;

	*to = *m;
	shape->layers = shape->layers < 2 ? shape->layers : 2;
}

static void gpt_describe(const struct wse_model *model, char *text, size_t size)
{
	const struct wse_gpt *m = wse_gpt(model);
	char eps[32] = "";

	/* the shortest decimal that is this number */
	for (int digits = 1; m->eps != 1e-5f && digits <= 9; digits++) {
		snprintf(eps, sizeof(eps), " eps=%.*g", digits, m->eps);
		if (strtof(eps + 5, NULL) == m->eps)
			break;
	}
	snprintf(
		text, size,
		"gpt layers=%u hidden=%u heads=%u filter=%u vocab=%u positions=%u seq=%u act=%s%s%s",
		m->layers, m->hidden, m->heads, m->filter, m->vocab, m->positions, m->seq,
		acts[m->act], m->tied ? "" : " untied", eps);
	wse_gpt_describe_form(m, text, size);
}

/* scores and sums of attention included, over half a sequence on the average */
static uint64_t gpt_macs(const struct wse_model *model)
{
	const struct wse_gpt *m = wse_gpt(model);
	uint64_t h = m->hidden, inner = wse_gpt_inner(m);
	uint64_t qkvo = h * (2 * inner + 2ull * wse_gpt_kv_width(m));

	return m->layers * (qkvo + (m->gated ? 3 : 2) * h * m->filter + inner * (m->seq + 1)) +
	       h * m->vocab;
}

const struct wse_model_family wse_family_gpt = {
	.name = "gpt",
	.tensors = gpt_tensors,
	.graph = gpt_graph,
	.sizes = wse_gpt_sizes,
	.resize = wse_gpt_resize,
	.describe = gpt_describe,
	.gather = wse_gpt_gather,
	.leaf = wse_gpt_leaf,
	.rates = wse_gpt_describe_rates,
	.dropout = wse_gpt_describe_dropout,
	.macs = gpt_macs,
	.shallow = gpt_shallow,
	.modes = MODES + 2 * DIVISORS,
	.last = NTH,
	.alike = ALIKE,
};
