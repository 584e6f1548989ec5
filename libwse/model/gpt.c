// SPDX-License-Identifier: MIT
/* The GPT: parameters, graph, inputs. */
#include "model/gpt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/gpt_sizes.h"
#include "model/gpt_tensors.h"
#include "num/num.h"
#include "ops/ops.h"

/*
 * The kernels are in one program, or in one for each phase, which are copied to the cores when the
 * phase begins; data may begin here above every version of the latter.
 */
#define PHASE_END 0x2600u

static const struct {
	const char *name;
	enum wse_post post, back;
} acts[] = {
	[WSE_GELU] = {"gelu", WSE_POST_GELU, WSE_POST_MUL},
	[WSE_RELU] = {"relu", WSE_POST_RELU, WSE_POST_GATE},
	[WSE_SQUARED_RELU] = {"squared_relu", WSE_POST_RELU2, WSE_POST_MUL},
};

static int gpt_tensors(const struct wse_model *model, struct wse_tensor_table *tab)
{
	return wse_gpt_make_tensors(wse_gpt(model), tab);
}

/* ---- the graph ---- */

/* places of a block's vectors in a column, in floats */
struct vectors {
	uint32_t ln1_g, ln1_b, qkv, proj, ln2_g, ln2_b, fc, fc2;
};

struct block {
	uint32_t vec_unit, qkv_unit, proj_unit, fc_unit, fc2_unit;
	struct vectors at;
	/*
	 * values of the forward pass that the backward pass reads; made again if they are not kept
	 */
	uint32_t x; /* bf16: the residual at the block's beginning */
	uint32_t spill;
	struct wse_norm_op ln1, ln2;
	struct wse_attn_op attn;
	uint32_t a, o, mid, c, g, deriv;
};

/* how much of a block is kept for the backward pass */
enum keep {
	KEEP_ALL,
	KEEP_ATTENTION, /* norms and FFN are made again */
	KEEP_INPUT,	/* all but the second FFN layer is */
	SPILL_INPUT	/* as well, and the block's input leaves the cores until then */
};

/* from the fewest cycles to the fewest bytes */
static const struct mode {
	enum keep keep;
	int phases;	 /* a program a phase */
	uint32_t chunks; /* of the FFN; more than one is another order of sums */
} modes[] = {
	{KEEP_ALL, 0, 1},
	{KEEP_ALL, 1, 1},
	{KEEP_ATTENTION, 0, 1},
	{KEEP_ATTENTION, 1, 1},
	{KEEP_INPUT, 0, 1},
	{KEEP_INPUT, 1, 1},
	{KEEP_INPUT, 1, 2},
	{KEEP_INPUT, 1, 4},
	/* bytes that do not depend on the layers: for models that do not fit with any tokens */
	{SPILL_INPUT, 0, 1},
	{SPILL_INPUT, 1, 1},
	{SPILL_INPUT, 1, 2},
	{SPILL_INPUT, 1, 4},
};

enum { MODES = sizeof(modes) / sizeof(*modes), SPILL = 8 };

/*
 * Models that do not fit in any of these have the FFN in as many chunks as divide a column's share
 * of it, the fewest first, each with the inputs kept and spilled. A share is at most
 * WSE_COLUMN_MAX / 4 blocks of four features, and no number up to there has more divisors. The last
 * mode is the largest one.
 */
enum { DIVISORS = 48 };

/* of all layers: a graph of more takes long */
#define MOST_CHUNKS 16384u

const uint32_t wse_gpt_mode[4] = {0, 2, 4, SPILL};

/* -EINVAL: so many chunks do not divide n, a column's blocks of the filter, or are too many */
static int mode_of(uint32_t n, uint32_t layers, uint32_t mode, struct mode *to)
{
	uint32_t left = DIVISORS - (mode - MODES) / 2, d = n;

	if (mode < MODES) {
		*to = modes[mode];
		return n % to->chunks ? -EINVAL : 0;
	}
	/* the left-th divisor from the largest one down */
	while (d && (left -= n % d == 0))
		d--;
	*to = (struct mode){(mode - MODES) % 2 ? SPILL_INPUT : KEEP_INPUT, 1, d};
	return d && (d <= 4 || layers <= MOST_CHUNKS / d) ? 0 : -EINVAL;
}

enum phase { FORWARD, LOSS, BACKWARD };

struct build {
	struct wse_graph *g;
	const struct wse_gpt *m;
	uint32_t cols;
	uint32_t programs[3], program; /* by phase; the one of the operations that are added */
	enum keep keep;
	uint32_t chunks, chunk;
	struct wse_gpt_head head;
	uint32_t head_unit;
};

static void enter(struct build *b, enum phase phase)
{
	b->program = b->programs[phase];
}

static uint32_t linear(const struct build *b, uint32_t unit, uint32_t x, uint32_t vec,
		       uint32_t bias, enum wse_post post, uint32_t aux, const char *what,
		       uint32_t *out2)
{
	return wse_op_linear(b->g,
			     &(struct wse_linear_op){.program = b->program,
						     .unit = unit,
						     .x = x,
						     .vec = vec,
						     .bias = bias,
						     .post = post,
						     .aux = aux,
						     .chunk = b->chunk,
						     .what = what},
			     out2);
}

/* to the data, through a unit's transposed image */
static uint32_t linear_back(const struct build *b, uint32_t unit, uint32_t dy, enum wse_post post,
			    uint32_t aux)
{
	return wse_op_linear(
		b->g,
		&(struct wse_linear_op){.program = b->program,
					.unit = unit,
					.back = 1,
					.x = dy,
					.bias = WSE_NO_BIAS,
					.post = post,
					.aux = aux,
					.over = aux != WSE_NO_VALUE && post != WSE_POST_ADD32,
					.chunk = b->chunk,
					.what = "gradients"},
		NULL);
}

static void add_units(const struct build *b, struct block *k, uint32_t layer)
{
	struct wse_graph *g = b->g;
	uint32_t h = b->m->hidden, f = b->m->filter, v = wse_graph_unit(g, WSE_NO_TENSOR, 0, 0, 1);
	struct wse_gpt_block_tensors t;

	wse_gpt_block_tensors_of(b->m, layer, &t);
	k->vec_unit = v;
	k->at.ln1_g = wse_graph_vec(g, v, t.ln1_g, h, 1);
	k->at.ln1_b = wse_graph_vec(g, v, t.ln1_b, h, 1);
	k->at.qkv = wse_graph_vec(g, v, t.qkv_b, 3 * h, 3);
	k->at.proj = wse_graph_vec(g, v, t.proj_b, h, 1);
	k->at.ln2_g = wse_graph_vec(g, v, t.ln2_g, h, 1);
	k->at.ln2_b = wse_graph_vec(g, v, t.ln2_b, h, 1);
	k->at.fc = wse_graph_vec(g, v, t.fc_b, f, 1);
	k->at.fc2 = wse_graph_vec(g, v, t.fc2_b, h, 1);
	k->qkv_unit = wse_graph_unit(g, t.qkv_w, 3 * h, h, 3);
	k->proj_unit = wse_graph_unit(g, t.proj_w, h, h, 1);
	k->fc_unit = wse_graph_unit(g, t.fc_w, f, h, 1);
	k->fc2_unit = wse_graph_unit(g, t.fc2_w, h, f, 1);
	wse_graph_chunks(g, k->fc_unit, b->chunks, 1);
	wse_graph_chunks(g, k->fc2_unit, 1, b->chunks);
}

static void norm_again(const struct build *b, struct wse_norm_op *n, uint32_t vec)
{
	n->program = b->program;
	n->vec = vec;
}

/* x -> o: norm, q, k and v, attention */
static void attention(const struct build *b, struct block *k, uint32_t vec)
{
	uint32_t d = b->m->hidden / b->m->heads;

	k->ln1 = (struct wse_norm_op){.program = b->program,
				      .x = k->x,
				      .vec = vec,
				      .gain = k->at.ln1_g,
				      .bias = k->at.ln1_b,
				      .eps = b->m->eps};
	k->a = wse_op_norm(b->g, &k->ln1, "activations");
	k->attn = (struct wse_attn_op){.program = b->program,
				       .d = b->m->heads < b->cols ? b->m->hidden / b->cols : d,
				       .heads = b->m->heads < b->cols ? 1 : b->m->heads / b->cols,
				       .group = b->m->heads < b->cols ? b->cols / b->m->heads : 1};
	k->attn.qkv = wse_op_linear(b->g,
				    &(struct wse_linear_op){.program = b->program,
							    .unit = k->qkv_unit,
							    .x = k->a,
							    .vec = vec,
							    .bias = k->at.qkv,
							    .post = WSE_POST_BF16,
							    .aux = WSE_NO_VALUE,
							    .scale = 1.0f / wse_sqrtf((float)d),
							    .nscale = b->m->hidden / b->cols,
							    .what = "activations"},
				    NULL);
	k->o = wse_op_attn(b->g, &k->attn);
}

static void ffn_norm(const struct build *b, struct block *k, uint32_t vec)
{
	k->ln2 = (struct wse_norm_op){.program = b->program,
				      .x = k->mid,
				      .vec = vec,
				      .gain = k->at.ln2_g,
				      .bias = k->at.ln2_b,
				      .eps = b->m->eps};
	k->c = wse_op_norm(b->g, &k->ln2, "activations");
}

/* c -> g and its derivative: a chunk of the first FFN layer */
static void ffn(struct build *b, struct block *k, uint32_t vec, uint32_t chunk)
{
	b->chunk = chunk;
	k->g = linear(b, k->fc_unit, k->c, vec,
		      k->at.fc + chunk * (b->m->filter / b->cols / b->chunks), acts[b->m->act].post,
		      WSE_NO_VALUE, "activations", &k->deriv);
	b->chunk = 0;
}

/*
 * The residual is bf16 where a block begins, so that a block can be made again from its input with
 * the same bits, and binary32 within it. Returns the next block's input. Chunks of the FFN are
 * added to the residual one after the other, the bias with the first.
 */
static uint32_t forward_block(struct build *b, struct block *k)
{
	uint32_t vec = wse_op_vec_in(b->g, k->vec_unit), mid32, out = WSE_NO_VALUE;

	if (b->keep == SPILL_INPUT)
		k->spill = wse_op_spill(b->g, k->x, "inputs of blocks");
	attention(b, k, vec);
	mid32 = linear(b, k->proj_unit, k->o, vec, k->at.proj, WSE_POST_ADD16, k->x, "residual",
		       &k->mid);
	ffn_norm(b, k, vec);
	for (uint32_t j = 0; j < b->chunks; j++) {
		ffn(b, k, vec, j);
		b->chunk = j;
		mid32 = linear(b, k->fc2_unit, k->g, vec, j ? WSE_NO_BIAS : k->at.fc2,
			       WSE_POST_ADD32, mid32, "residual", j + 1 == b->chunks ? &out : NULL);
		b->chunk = 0;
	}
	return out;
}

/* the FFN's backward pass, a chunk at a time: the gradient of c, binary32 */
static uint32_t ffn_back(struct build *b, struct block *k, uint32_t vec, uint32_t dy)
{
	uint32_t d, dc = WSE_NO_VALUE, per = b->m->filter / b->cols / b->chunks;

	for (uint32_t j = 0; j < b->chunks; j++) {
		if (b->keep != KEEP_ALL) {
			enter(b, FORWARD);
			ffn(b, k, vec, j);
		}
		enter(b, BACKWARD);
		wse_op_wgrad_chunk(b->g, b->program, k->fc2_unit, j, k->g, dy,
				   j ? WSE_NO_VALUE : vec, j ? WSE_NO_BIAS : k->at.fc2);
		b->chunk = j;
		d = linear_back(b, k->fc2_unit, dy, acts[b->m->act].back,
				b->m->act == WSE_RELU ? k->g : k->deriv);
		wse_op_wgrad_chunk(b->g, b->program, k->fc_unit, j, k->c, d, vec,
				   k->at.fc + j * per);
		dc = linear_back(b, k->fc_unit, d, j ? WSE_POST_ADD32 : WSE_POST_NONE, dc);
		b->chunk = 0;
	}
	return dc;
}

/* dres: the gradient of the residual, dy its bf16 copy; both become those of the block's input */
static uint32_t backward_block(struct build *b, struct block *k, uint32_t *dres, uint32_t dy)
{
	struct wse_graph *g = b->g;
	uint32_t vec = wse_op_vec_in(g, k->vec_unit), d;

	enter(b, FORWARD);
	if (b->keep == SPILL_INPUT)
		k->x = wse_op_fill(g, k->spill, "activations");
	if (b->keep >= KEEP_INPUT) {
		attention(b, k, vec);
		linear(b, k->proj_unit, k->o, vec, k->at.proj, WSE_POST_ADD16, k->x, "residual",
		       &k->mid);
	}
	if (b->keep != KEEP_ALL)
		ffn_norm(b, k, vec);
	d = ffn_back(b, k, vec, dy);
	norm_again(b, &k->ln2, vec);
	dy = wse_op_norm_back(g, &k->ln2, d, dres);
	wse_op_wgrad(g, b->program, k->proj_unit, k->o, dy, vec, k->at.proj);
	d = linear_back(b, k->proj_unit, dy, WSE_POST_BF16, WSE_NO_VALUE);
	k->attn.program = b->program;
	wse_op_attn_back(g, &k->attn, k->o, d);
	/* once more even where attention was: 2 h T bytes for the time between are worth a norm */
	if (b->keep != KEEP_ALL) {
		enter(b, FORWARD);
		norm_again(b, &k->ln1, vec);
		k->a = wse_op_norm(g, &k->ln1, "activations");
		enter(b, BACKWARD);
	}
	wse_op_wgrad(g, b->program, k->qkv_unit, k->a, k->attn.qkv, vec, k->at.qkv);
	d = linear_back(b, k->qkv_unit, k->attn.qkv, WSE_POST_NONE, WSE_NO_VALUE);
	norm_again(b, &k->ln1, vec);
	dy = wse_op_norm_back(g, &k->ln1, d, dres);
	wse_op_vec_out(g, k->vec_unit, vec);
	return dy;
}

static uint32_t logits(const struct build *b, uint32_t x)
{
	return linear(b, b->head_unit, x, WSE_NO_VALUE, WSE_NO_BIAS, WSE_POST_NONE, WSE_NO_VALUE,
		      "logits", NULL);
}

/* the loss of x, and the gradient of x: binary32 */
static uint32_t whole_head(const struct build *b, uint32_t x, uint32_t target)
{
	uint32_t y = logits(b, x), dy;

	wse_op_out(b->g, b->g->logits, y);
	dy = wse_op_loss(b->g, b->program, y, target);
	wse_op_wgrad(b->g, b->program, b->head_unit, x, dy, WSE_NO_VALUE, WSE_NO_BIAS);
	return linear_back(b, b->head_unit, dy, WSE_POST_NONE, WSE_NO_VALUE);
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
		wse_op_wgrad_chunk(b->g, b->program, b->head_unit, j, x, dy, WSE_NO_VALUE,
				   WSE_NO_BIAS);
		dx = linear_back(b, b->head_unit, dy, j ? WSE_POST_ADD32 : WSE_POST_NONE, dx);
	}
	b->chunk = 0;
	return dx;
}

/* of the table's rows: what a micro-batch's inputs are gathered from */
enum { T_WTE, T_WPE };

enum { IN_TARGETS, IN_TOKENS, IN_POSITIONS };
enum { OUT_LOSSES, OUT_DX, OUT_LOGITS };

static int gpt_graph(const struct wse_model *model, const struct wse_tile *tile, uint32_t t,
		     uint32_t mode, struct wse_graph *g)
{
	const struct wse_gpt *m = wse_gpt(model);
	struct build b = {.g = g,
			  .m = m,
			  .cols = tile->cols,
			  .head = wse_gpt_head_of(m->vocab, tile->cols, t)};
	size_t tokens = (size_t)t * tile->rows;
	uint32_t h = m->hidden, rows = h / tile->cols, vocab, final, x, target, vec, dy, d;
	uint32_t dres = WSE_NO_VALUE, gain, bias;
	struct wse_norm_op ln;
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
			"a vocabulary of %u in chunks of %u tokens is more than %u a column",
			m->vocab, t, WSE_COLUMN_MAX);
	ret = mode_of(m->filter / (4 * tile->cols), m->layers, mode, &how);
	if (ret)
		return wse_fail(ret, "filter_size %u does not come in the chunks of mode %u",
				m->filter, mode);
	b.keep = model->forward ? KEEP_ALL : how.keep;
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
	for (uint32_t l = 0; l < m->layers; l++)
		add_units(&b, &blocks[l], l);
	final = wse_graph_unit(g, WSE_NO_TENSOR, 0, 0, 1);
	gain = wse_graph_vec(g, final, all.ln_f_g, h, 1);
	bias = wse_graph_vec(g, final, all.ln_f_b, h, 1);
	b.head_unit = wse_graph_unit(g, all.head_w, vocab, h, 1);
	if (b.head.chunks > 1)
		wse_graph_chunks_in_order(g, b.head_unit, b.head.chunks);
	g->target = wse_graph_in(g, "targets", tokens * 2 * wse_token_places(m->vocab));
	wse_graph_in(g, "rows of the embedding", h * tokens * 2);
	wse_graph_in(g, "rows of the positions", h * tokens * 2);
	g->loss = wse_graph_out(g, "losses", tokens * 4);
	wse_graph_out(g, "gradient of the inputs", h * tokens * 4);
	g->logits = wse_graph_out(g, "logits", vocab * tokens * 4);
	g->classes = m->vocab;
	g->vocab_rows = b.head.rows;

	target = wse_op_in(g, "targets", IN_TARGETS,
			   m->vocab > WSE_VOCAB_NARROW ? WSE_TYPE_U32 : WSE_TYPE_U16,
			   WSE_SHAPE_SHARED, 1);
	x = wse_op_in(g, "inputs", IN_TOKENS, WSE_TYPE_BF16, WSE_SHAPE_TOKENS, rows);
	d = wse_op_in(g, "inputs", IN_POSITIONS, WSE_TYPE_BF16, WSE_SHAPE_TOKENS, rows);
	x = wse_op_add(g, b.program, x, d, "activations");
	for (uint32_t l = 0; l < m->layers; l++) {
		blocks[l].x = x;
		x = forward_block(&b, &blocks[l]);
	}
	vec = wse_op_vec_in(g, final);
	ln = (struct wse_norm_op){.program = b.program,
				  .x = x,
				  .vec = vec,
				  .gain = gain,
				  .bias = bias,
				  .eps = m->eps};
	x = wse_op_norm(g, &ln, "activations");
	enter(&b, LOSS);
	d = b.head.chunks > 1 ? head_in_chunks(&b, x, target) : whole_head(&b, x, target);
	enter(&b, BACKWARD);
	ln.program = b.program;
	dy = wse_op_norm_back(g, &ln, d, &dres);
	wse_op_vec_out(g, final, vec);
	for (uint32_t l = m->layers; l-- > 0;)
		dy = backward_block(&b, &blocks[l], &dres, dy);
	wse_op_out(g, OUT_DX, dres);
	free(blocks);
	return wse_ops_finish(g);
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
		acts[m->act].name, m->tied ? "" : " untied", eps);
	wse_gpt_describe_form(m, text, size);
}

/* ---- what goes in and comes back ---- */

/* the row of the embedding, or of the positions, that token t reads */
static uint32_t row_of(const struct wse_gpt *m, const uint16_t *const *samples, int positions,
		       uint32_t t)
{
	uint32_t at = t % m->seq;

	return positions ? at : wse_token(samples[t / m->seq], (int)at - 1, m->vocab);
}

/* rows [H][T] of a tensor, as bf16: row_of() of every token */
static void gather_rows(const struct wse_gpt *m, const struct wse_input *in,
			const uint16_t *const *samples, int positions, uint32_t t_all, uint16_t *to)
{
	size_t h = m->hidden;

	for (uint32_t t = 0; t < t_all; t++) {
		size_t at = row_of(m, samples, positions, t) * h;

		for (size_t j = 0; j < h; j++)
			to[j * t_all + t] =
				in->f32 ? wse_f32_to_bf16(in->f32[at + j]) : in->bf16[at + j];
	}
}

/* the embeddings of the tokens before the targets, and of their positions */
static void gpt_gather(const struct wse_model *model, const struct wse_graph *g,
		       const struct wse_input *in, const uint16_t *const *samples,
		       struct wse_micro_batch *job)
{
	const struct wse_gpt *m = wse_gpt(model);
	uint32_t t_all = wse_graph_tokens(g);

	gather_rows(m, &in[T_WTE], samples, 0, t_all, wse_span_ptr(job->in[IN_TOKENS]));
	gather_rows(m, &in[T_WPE], samples, 1, t_all, wse_span_ptr(job->in[IN_POSITIONS]));
}

/* dx [H][T] of every token, in token order, onto its embedding's row and its position's */
static int gpt_leaf(const struct wse_model *model, const struct wse_graph *g,
		    const struct wse_micro_batch *job, const uint16_t *const *samples,
		    const struct wse_leaf *leaf)
{
	const struct wse_gpt *m = wse_gpt(model);
	uint32_t t_all = wse_graph_tokens(g), h = m->hidden;
	const float *dx = wse_span_ptr(job->out[OUT_DX]);
	uint32_t *of = malloc(t_all * sizeof(*of));
	int ret = of ? 0 : -ENOMEM;

	for (uint32_t i = T_WTE; i <= T_WPE && !ret; i++) {
		for (uint32_t t = 0; t < t_all; t++)
			of[t] = row_of(m, samples, i == T_WPE, t);
		if (!leaf[i].grad) {
			ret = wse_rows_make(leaf[i].rows, of, dx, t_all, h);
			continue;
		}
		for (uint32_t t = 0; t < t_all; t++) {
			float *row = leaf[i].grad + (size_t)of[t] * h;

			for (uint32_t j = 0; j < h; j++)
				row[j] += dx[(size_t)j * t_all + t];
		}
	}
	free(of);
	return ret;
}

/* scores and sums of attention included, over half a sequence on the average */
static uint64_t gpt_macs(const struct wse_model *model)
{
	const struct wse_gpt *m = wse_gpt(model);
	uint64_t h = m->hidden;

	return m->layers * (4 * h * h + 2 * h * m->filter + h * (m->seq + 1)) + h * m->vocab;
}

const struct wse_model_family wse_family_gpt = {
	.name = "gpt",
	.tensors = gpt_tensors,
	.graph = gpt_graph,
	.sizes = wse_gpt_sizes,
	.resize = wse_gpt_resize,
	.describe = gpt_describe,
	.gather = gpt_gather,
	.leaf = gpt_leaf,
	.macs = gpt_macs,
	.shallow = gpt_shallow,
	.modes = MODES + 2 * DIVISORS,
	.last = SPILL,
};
