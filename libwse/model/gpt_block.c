// SPDX-License-Identifier: MIT
/*
 * A block of a GPT, forward and back: attention and FFN one after the other, or side by side on one
 * norm of the block's input or on two.
 */
#include "model/gpt_build.h"
#include "num/num.h"
#include "ops/rope.h"

static const struct {
	enum wse_post post, back;
} acts[] = {
	[WSE_GELU] = {WSE_POST_GELU, WSE_POST_MUL},
	[WSE_GELU_NEW] = {WSE_POST_GELU_NEW, WSE_POST_MUL},
	[WSE_RELU] = {WSE_POST_RELU, WSE_POST_GATE},
	[WSE_SQUARED_RELU] = {WSE_POST_RELU2, WSE_POST_MUL},
	[WSE_SILU] = {WSE_POST_SWIGLU, WSE_POST_MUL2}, /* gated, always */
};

struct wse_norm_op wse_gpt_norm_of(const struct build *b, uint32_t x, uint32_t vec, uint32_t gain,
				   uint32_t bias)
{
	return (struct wse_norm_op){.program = b->program,
				    .x = x,
				    .vec = vec,
				    .gain = gain,
				    .bias = bias,
				    .eps = b->m->eps,
				    .rms = b->m->norm == WSE_GPT_NORM_RMS,
				    .width = b->m->hidden};
}

uint32_t wse_gpt_hidden_vec(const struct build *b, uint32_t unit, uint32_t tensor)
{
	uint32_t at = place_vec(b->g, unit, tensor, b->hidden, 1);

	if (at != WSE_NO_BIAS)
		wse_graph_vec_chunks(b->g, unit, 1, b->m->hidden);
	return at;
}

uint32_t wse_gpt_linear(const struct build *b, uint32_t unit, uint32_t x, uint32_t vec,
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

uint32_t wse_gpt_linear_back(const struct build *b, uint32_t unit, uint32_t dy, enum wse_post post,
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

/* heads of queries and of keys as they lie on the columns */
static struct wse_heads heads_of(const struct wse_gpt *m, uint32_t cols)
{
	uint32_t d = wse_gpt_head_dim(m), wide = wse_gpt_wide_head(m, cols);

	return (struct wse_heads){.heads = m->heads,
				  .kv = m->kv_heads ? m->kv_heads : m->heads,
				  .d = wide,
				  .halves = m->rotary_halves ? m->rotary : 0,
				  .real = d < wide ? d : 0};
}

/* queries, keys and values of as many heads, features in their order: three equal parts */
static int in_parts(const struct wse_heads *h)
{
	return h->heads == h->kv && !h->halves && !h->real;
}

void wse_gpt_add_units(const struct build *b, struct block *k, uint32_t layer)
{
	struct wse_graph *g = b->g;
	uint32_t h = b->hidden, f = wse_gpt_filter(b->m, b->cols),
		 v = wse_graph_unit(g, WSE_NO_TENSOR, 0, 0, 1);
	struct wse_heads heads = heads_of(b->m, b->cols);
	uint32_t halves = b->m->gated ? 2 : 1, inner = heads.heads * heads.d;
	uint32_t qkv = inner + 2 * heads.kv * heads.d;
	struct wse_gpt_block_tensors t;

	wse_gpt_block_tensors_of(b->m, layer, &t);
	k->layer = layer;
	k->vec_unit = v;
	k->at.ln1_g = wse_gpt_hidden_vec(b, v, t.ln1_g);
	k->at.ln1_b = wse_gpt_hidden_vec(b, v, t.ln1_b);
	k->at.qkv = t.qkv_b == WSE_NO_TENSOR || in_parts(&heads)
			    ? place_vec(g, v, t.qkv_b, qkv, 3)
			    : wse_graph_vec_heads(g, v, t.qkv_b, &heads);
	k->at.proj = wse_gpt_hidden_vec(b, v, t.proj_b);
	k->at.ln2_g = wse_gpt_hidden_vec(b, v, t.ln2_g);
	k->at.ln2_b = wse_gpt_hidden_vec(b, v, t.ln2_b);
	k->at.fc = place_vec(g, v, t.fc_b, halves * f, halves);
	if (k->at.fc != WSE_NO_BIAS)
		wse_graph_vec_chunks(g, v, halves > 1 ? b->chunks : 1, b->m->filter);
	k->at.fc2 = wse_gpt_hidden_vec(b, v, t.fc2_b);
	k->qkv_unit = wse_graph_unit(g, t.qkv_w, qkv, h, in_parts(&heads) ? 3 : 1);
	k->proj_unit = wse_graph_unit(g, t.proj_w, h, inner, 1);
	k->fc_unit = wse_graph_unit(g, t.fc_w, halves * f, h, halves);
	k->fc2_unit = wse_graph_unit(g, t.fc2_w, h, f, 1);
	if (!in_parts(&heads))
		wse_graph_heads(g, k->qkv_unit, &heads, 0);
	if ((heads.kv < b->cols && heads.heads > heads.kv) || heads.real)
		wse_graph_heads(g, k->proj_unit, &heads, 1);
	wse_graph_chunks(g, k->fc_unit, b->chunks, 1);
	wse_graph_chunks(g, k->fc2_unit, 1, b->chunks);
	wse_graph_pad(g, k->qkv_unit, qkv, b->m->hidden);
	wse_graph_pad(g, k->proj_unit, b->m->hidden, inner);
	wse_graph_pad(g, k->fc_unit, b->m->filter, b->m->hidden);
	wse_graph_pad(g, k->fc2_unit, b->m->hidden, b->m->filter);
}

static void norm_again(const struct build *b, struct wse_norm_op *n, uint32_t vec)
{
	n->program = b->program;
	n->vec = vec;
}

static void rotate(const struct build *b, const struct block *k, int back)
{
	struct wse_heads h = heads_of(b->m, b->cols);
	uint32_t group = wse_heads_group(&h, b->cols);

	if (!b->m->rotary)
		return;
	wse_op_rope(b->g,
		    &(struct wse_rope_op){.program = b->program,
					  .qkv = k->attn.qkv,
					  .table = b->angles,
					  .d = h.d / group,
					  .heads = wse_heads_of(h.heads + h.kv, group, b->cols),
					  .pairs = b->m->rotary / 2,
					  .group = group,
					  .back = back});
}

/* of queries, by which keys are multiplied then: of a head's own features */
static float score_scale(const struct build *b)
{
	return b->m->score_scale != 0.0f ? b->m->score_scale
					 : 1.0f / wse_sqrtf((float)wse_gpt_head_dim(b->m));
}

/* the table of what attention drops, for this phase */
static uint32_t drop_table(const struct build *b, const struct block *k)
{
	return wse_gpt_drops(b, b->m->drop_attention)
		       ? wse_op_drop_table(b->g, b->program, drop_place(k, DROP_ATTENTION),
					   b->m->drop_attention)
		       : 0;
}

/*
 * A linear layer's outputs and the residual: binary32, and in bf16 where out16 is not NULL. Its
 * sums lie apart from the residual if some are dropped; the bits of what is kept are the same
 */
static uint32_t onto_residual(const struct build *b, const struct block *k, uint32_t what,
			      const struct wse_linear_op *l, uint32_t *out16)
{
	struct wse_linear_op sums = *l;
	uint32_t y;

	if (!wse_gpt_drops(b, b->m->drop_residual))
		return wse_op_linear(b->g, l, out16);
	sums.post = WSE_POST_NONE;
	sums.aux = WSE_NO_VALUE;
	y = wse_op_linear(b->g, &sums, NULL);
	wse_op_drop(b->g,
		    &(struct wse_drop_op){.program = b->program,
					  .x = y,
					  .add = l->aux,
					  .place = drop_place(k, what),
					  .rate = b->m->drop_residual,
					  .over = 1,
					  .what = "activations"},
		    out16);
	return y;
}

/* the gradient of what was dropped before it was added */
static uint32_t drop_back(const struct build *b, const struct block *k, uint32_t what, uint32_t dy)
{
	uint32_t out = dy;

	if (wse_gpt_drops(b, b->m->drop_residual))
		wse_op_drop(b->g,
			    &(struct wse_drop_op){.program = b->program,
						  .x = dy,
						  .add = WSE_NO_VALUE,
						  .place = drop_place(k, what),
						  .rate = b->m->drop_residual,
						  .what = "gradients"},
			    &out);
	return out;
}

/* x -> o: norm, q, k and v, attention */
static void attention(const struct build *b, struct block *k, uint32_t vec)
{
	struct wse_heads h = heads_of(b->m, b->cols);
	uint32_t group = wse_heads_group(&h, b->cols);

	k->ln1 = wse_gpt_norm_of(b, k->x, vec, k->at.ln1_g, k->at.ln1_b);
	k->a = wse_op_norm(b->g, &k->ln1, "activations");
	k->attn = (struct wse_attn_op){.program = b->program,
				       .d = h.d / group,
				       .heads = wse_heads_of(h.heads, group, b->cols),
				       .group = group,
				       .kv = wse_heads_of(h.kv, group, b->cols),
				       .scale = h.real ? score_scale(b) : b->m->score_scale,
				       .slopes = b->m->alibi ? b->slopes + 1 : 0};
	k->attn.qkv = wse_op_linear(b->g,
				    &(struct wse_linear_op){.program = b->program,
							    .unit = k->qkv_unit,
							    .x = k->a,
							    .vec = vec,
							    .bias = k->at.qkv,
							    .post = WSE_POST_BF16,
							    .aux = WSE_NO_VALUE,
							    .scale = score_scale(b),
							    .nscale = h.heads * h.d / b->cols,
							    .what = "activations"},
				    NULL);
	rotate(b, k, 0);
	k->attn.drop = drop_table(b, k);
	k->o = wse_op_attn(b->g, &k->attn);
}

/* attention's output layer onto the residual; what a serial block's FFN reads */
static uint32_t add_attention(const struct build *b, struct block *k, uint32_t vec)
{
	const struct wse_linear_op l = {.program = b->program,
					.unit = k->proj_unit,
					.x = k->o,
					.vec = vec,
					.bias = k->at.proj,
					.post = WSE_POST_ADD16,
					.aux = k->x,
					.chunk = b->chunk,
					.what = "residual"};

	return onto_residual(b, k, DROP_PROJ, &l, b->m->block == WSE_GPT_SERIAL ? &k->mid : NULL);
}

/* a chunk of the FFN onto the residual */
static uint32_t add_ffn(const struct build *b, const struct block *k, uint32_t vec, uint32_t mid32,
			uint32_t *out16)
{
	const struct wse_linear_op l = {.program = b->program,
					.unit = k->fc2_unit,
					.x = k->g,
					.vec = vec,
					.bias = b->chunk ? WSE_NO_BIAS : k->at.fc2,
					.post = WSE_POST_ADD32,
					.aux = mid32,
					.chunk = b->chunk,
					.what = "residual"};

	return onto_residual(b, k, DROP_FFN, &l, out16);
}

/* the FFN's input: a norm of the sum behind attention, or of the block's input */
static void ffn_norm(const struct build *b, struct block *k, uint32_t vec)
{
	uint32_t x = b->m->block == WSE_GPT_SERIAL ? k->mid : k->x;

	if (b->m->block == WSE_GPT_PARALLEL_ONE) {
		k->c = k->a;
		return;
	}
	k->ln2 = wse_gpt_norm_of(b, x, vec, k->at.ln2_g, k->at.ln2_b);
	k->c = wse_op_norm(b->g, &k->ln2, "activations");
}

/* place of a chunk's biases in a column */
static uint32_t chunk_bias(const struct build *b, const struct block *k, uint32_t chunk)
{
	const uint32_t halves = b->m->gated ? 2 : 1;

	return k->at.fc == WSE_NO_BIAS
		       ? WSE_NO_BIAS
		       : k->at.fc + chunk * halves *
					    (wse_gpt_filter(b->m, b->cols) / b->cols / b->chunks);
}

/* c -> g and its derivative: a chunk of the first FFN layer */
static void ffn(struct build *b, struct block *k, uint32_t vec, uint32_t chunk)
{
	b->chunk = chunk;
	k->g = wse_gpt_linear(b, k->fc_unit, k->c, vec, chunk_bias(b, k, chunk),
			      acts[b->m->act].post, WSE_NO_VALUE, "activations", &k->deriv);
	b->chunk = 0;
}

/*
 * The residual is bf16 where a block begins, so that a block can be made again from its input with
 * the same bits, and binary32 within it. Chunks of the FFN are added to the residual one after the
 * other, the bias with the first.
 */
uint32_t wse_gpt_forward_block(struct build *b, struct block *k)
{
	uint32_t vec = wse_op_vec_in(b->g, k->vec_unit), mid32, out = WSE_NO_VALUE;

	if (b->keep == SPILL_INPUT) {
		k->spill = wse_op_spill(b->g, k->x, "inputs of blocks");
		if (!b->beside)
			wse_op_wait(b->g, k->x);
	}
	attention(b, k, vec);
	mid32 = add_attention(b, k, vec);
	ffn_norm(b, k, vec);
	for (uint32_t j = 0; j < b->chunks; j++) {
		ffn(b, k, vec, j);
		b->chunk = j;
		mid32 = add_ffn(b, k, vec, mid32, j + 1 == b->chunks ? &out : NULL);
		b->chunk = 0;
	}
	if (b->keep == SPILL_INPUT && b->beside)
		wse_op_wait(b->g, k->x);
	return out;
}

void wse_gpt_inputs_again(struct build *b, struct block *blocks, uint32_t first, uint32_t last)
{
	enter(b, FORWARD);
	for (uint32_t l = first; l < last; l++)
		blocks[l + 1].x = wse_gpt_forward_block(b, &blocks[l]);
}

static uint64_t weights(const struct build *b, uint32_t unit)
{
	const struct wse_unit *u = &b->g->units[unit];

	return unit < b->g->nunits ? (uint64_t)u->outs * u->ins : 0;
}

/* a copy of fewer cycles is not worth its command */
#define SHORT_COPY 3000u

/*
 * Before a gradient of a block: rows of the next block's input come back while the cores make it.
 * No weights come in then, so the bus is free in that direction. Each of the block's gradients has
 * the rows of its share of the weights.
 */
static void fill_below(struct build *b, const struct block *k, uint32_t unit, uint32_t chunks)
{
	struct block *below = b->below;
	uint64_t all = weights(b, k->qkv_unit) + weights(b, k->proj_unit) + weights(b, k->fc_unit) +
		       weights(b, k->fc2_unit);
	uint32_t rows = b->g->tile.rows, upto, first;

	if (!below || below->rows_back == rows || !all)
		return;
	first = below->rows_back;
	below->weights_done += weights(b, unit) / chunks;
	upto = below->weights_done < all ? (uint32_t)(rows * below->weights_done / all) : rows;
	if (b->g->failed || wse_spill_rows_cycles(b->g, below->spill, rows - first) < SHORT_COPY)
		upto = rows;
	if (upto == first)
		return;
	below->x = wse_op_fill_rows(b->g, below->spill, first ? below->x : WSE_NO_VALUE, first,
				    upto - first, "activations");
	below->rows_back = upto;
}

/* a gradient of a block's weights, and before it what fill_below() begins */
static void fill_and_wgrad(struct build *b, const struct block *k, uint32_t unit, uint32_t chunk,
			   uint32_t x, uint32_t dy, uint32_t vec, uint32_t bias)
{
	uint32_t chunks = unit == k->fc_unit || unit == k->fc2_unit ? b->chunks : 1;

	fill_below(b, k, unit, chunks);
	wse_op_wgrad_chunk(b->g, b->program, unit, chunk, x, dy, vec, bias);
}

/* the FFN's backward pass, a chunk at a time: the gradient of c, binary32 */
static uint32_t ffn_back(struct build *b, struct block *k, uint32_t vec, uint32_t dy)
{
	uint32_t d, dc = WSE_NO_VALUE;

	dy = drop_back(b, k, DROP_FFN, dy);
	for (uint32_t j = 0; j < b->chunks; j++) {
		if (b->keep != KEEP_ALL) {
			enter(b, FORWARD);
			ffn(b, k, vec, j);
		}
		enter(b, BACKWARD);
		fill_and_wgrad(b, k, k->fc2_unit, j, k->g, dy, j ? WSE_NO_VALUE : vec,
			       j ? WSE_NO_BIAS : k->at.fc2);
		b->chunk = j;
		d = wse_gpt_linear_back(b, k->fc2_unit, dy, acts[b->m->act].back,
					b->m->act == WSE_RELU ? k->g : k->deriv);
		fill_and_wgrad(b, k, k->fc_unit, j, k->c, d, vec, chunk_bias(b, k, j));
		dc = wse_gpt_linear_back(b, k->fc_unit, d, j ? WSE_POST_ADD32 : WSE_POST_NONE, dc);
		b->chunk = 0;
	}
	return dc;
}

/* what is not kept of the way to the FFN's input and, with the inputs alone, of attention */
static void make_again(struct build *b, struct block *k, uint32_t vec)
{
	int one = b->m->block == WSE_GPT_PARALLEL_ONE;

	enter(b, FORWARD);
	if (b->keep == SPILL_INPUT) {
		if (!k->rows_back)
			k->x = wse_op_fill(b->g, k->spill, "activations");
		wse_op_wait(b->g, k->x);
	}
	if (b->keep >= KEEP_INPUT) {
		attention(b, k, vec);
		if (b->m->block == WSE_GPT_SERIAL)
			add_attention(b, k, vec);
	} else if (b->keep != KEEP_ALL && one) {
		norm_again(b, &k->ln1, vec);
		k->a = wse_op_norm(b->g, &k->ln1, "activations");
	}
	if (b->keep != KEEP_ALL)
		ffn_norm(b, k, vec);
}

uint32_t wse_gpt_backward_block(struct build *b, struct block *k, uint32_t *dres, uint32_t dy)
{
	struct wse_graph *g = b->g;
	uint32_t vec = wse_op_vec_in(g, k->vec_unit), d, dc, mid, dropped;
	enum wse_gpt_block form = b->m->block;

	make_again(b, k, vec);
	dc = ffn_back(b, k, vec, dy);
	if (form != WSE_GPT_PARALLEL_ONE) {
		norm_again(b, &k->ln2, vec);
		mid = wse_op_norm_back(g, &k->ln2, dc, dres);
		if (form == WSE_GPT_SERIAL)
			dy = mid;
	}
	dropped = drop_back(b, k, DROP_PROJ, dy);
	fill_and_wgrad(b, k, k->proj_unit, 0, k->o, dropped, vec, k->at.proj);
	d = wse_gpt_linear_back(b, k->proj_unit, dropped, WSE_POST_BF16, WSE_NO_VALUE);
	k->attn.program = b->program;
	k->attn.drop = drop_table(b, k);
	wse_op_attn_back(g, &k->attn, k->o, d);
	rotate(b, k, 1);
	/* once more even where attention was: 2 h T bytes for the time between are worth a norm */
	if (b->keep != KEEP_ALL && form != WSE_GPT_PARALLEL_ONE) {
		enter(b, FORWARD);
		norm_again(b, &k->ln1, vec);
		k->a = wse_op_norm(g, &k->ln1, "activations");
		enter(b, BACKWARD);
	}
	fill_and_wgrad(b, k, k->qkv_unit, 0, k->a, k->attn.qkv, vec, k->at.qkv);
	if (form == WSE_GPT_PARALLEL_ONE) /* the norm's output went both ways */
		d = wse_gpt_linear_back(b, k->qkv_unit, k->attn.qkv, WSE_POST_ADD32, dc);
	else
		d = wse_gpt_linear_back(b, k->qkv_unit, k->attn.qkv, WSE_POST_NONE, WSE_NO_VALUE);
	norm_again(b, &k->ln1, vec);
	dy = wse_op_norm_back(g, &k->ln1, d, dres);
	wse_op_vec_out(g, k->vec_unit, vec);
	return dy;
}
