// SPDX-License-Identifier: MIT
/* The MLP language model: parameters, graph, inputs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/mlp.h"
#include "num/nearest.h"
#include "num/num.h"
#include "base/error.h"
#include "ops/ops.h"

/* the program of linear layers and loss, and where data may begin above every version of it */
#define PROGRAM	    "mlp.elf"
#define PROGRAM_END 0x2000u

int wse_mlp_init(struct wse_model *model, uint32_t window, uint32_t embed, uint32_t vocab,
		 const uint32_t *hidden, uint32_t nhidden, enum wse_activation act)
{
	struct wse_mlp *m = (struct wse_mlp *)model->family_data;

	_Static_assert(sizeof(*m) <= sizeof(model->family_data), "the family's struct fits");

	if (!window || !embed || !vocab || nhidden >= WSE_MLP_MAX_LINEAR ||
	    (uint64_t)window * embed > WSE_MLP_MAX_INPUT || vocab > 65536)
		return -EINVAL;
	memset(model, 0, sizeof(*model));
	model->family = &wse_family_mlp;
	model->vocab = vocab;
	model->window = window;
	model->span = 1;
	m->window = window;
	m->embed = embed;
	m->vocab = vocab;
	m->act = act;
	m->nlinear = nhidden + 1;
	m->width[0] = window * embed;
	for (uint32_t i = 0; i < nhidden; i++) {
		if (!hidden[i] || hidden[i] > 1u << 20)
			return -EINVAL;
		m->width[i + 1] = hidden[i];
	}
	m->width[m->nlinear] = vocab;
	return 0;
}

/* order: wte, then weight [N][K] and bias [N] of each layer */
static int mlp_tensors(const struct wse_model *model, struct wse_tensor_table *tab)
{
	const struct wse_mlp *m = wse_mlp(model);
	uint32_t last = wse_tensor_add(tab, WSE_TENSOR_DECAY | WSE_TENSOR_INPUT, 0.0f, 0.5f,
				       m->vocab, m->embed, "transformer.wte.weight");

	for (uint32_t l = 0; l < m->nlinear && last != WSE_NO_TENSOR; l++) {
		uint32_t n = m->width[l + 1], k = m->width[l];
		/*
		 * He et al. for the layers under an activation; a small output layer starts the
		 * loss at log(vocab)
		 */
		float dev = (float)(l + 1 < m->nlinear ? wse_sqrt(2.0 / k) : 0.5 / wse_sqrt(k));
		char name[40] = "lm_head";

		if (l + 1 < m->nlinear)
			snprintf(name, sizeof(name), "transformer.h.%u.mlp.c_fc", l);
		wse_tensor_add(tab, WSE_TENSOR_DECAY, 0.0f, dev, n, k, "%s.weight", name);
		last = wse_tensor_add(tab, 0, 0.0f, 0.0f, n, 0, "%s.bias", name);
	}
	return last == WSE_NO_TENSOR ? -ENOMEM : 0;
}

/* ---- what goes with a tile ---- */

/* as the parameter file has them */
#define WIDEST	       65536u
#define WIDEST_EMBED   4096u
#define LONGEST_WINDOW 4096u

static uint32_t gcd(uint32_t a, uint32_t b)
{
	return b ? gcd(b, a % b) : a;
}

/* widths are multiples of 4 x columns, up to this */
static uint32_t widest_of(uint32_t cols)
{
	uint64_t most = (uint64_t)WSE_COLUMN_MAX * cols;

	return most < WIDEST ? (uint32_t)most : WIDEST;
}

static int goes(uint32_t width, uint32_t cols)
{
	return width % (4 * cols) == 0 && width / cols <= WSE_COLUMN_MAX;
}

/* the rule that a width breaks, behind what it is called */
static void say_rule(uint32_t width, uint32_t cols)
{
	if (width % (4 * cols))
		wse_fail_more("is not a multiple of 4 x %u columns = %u", cols, 4 * cols);
	else
		wse_fail_more("is more than %u x %u columns", WSE_COLUMN_MAX, cols);
}

/* embedding sizes that go with a window */
static struct wse_near near_embed(const struct wse_mlp *m, uint32_t window, uint32_t cols)
{
	uint64_t most = (uint64_t)WSE_COLUMN_MAX * cols;

	most = (most < WSE_MLP_MAX_INPUT ? most : WSE_MLP_MAX_INPUT) / window;
	return wse_near_multiple(m->embed, 4 * cols / gcd(4 * cols, window),
				 most < WIDEST_EMBED ? most : WIDEST_EMBED);
}

static int refuse_input(const struct wse_mlp *m, uint32_t cols)
{
	struct wse_near near = near_embed(m, m->window, cols);
	uint32_t window = m->window;

	wse_fail(-EINVAL, "embedding_size %u: an input of window %u x %u = %u ", m->embed,
		 m->window, m->embed, m->width[0]);
	say_rule(m->width[0], cols);
	if (near.below | near.above) {
		wse_near_say("", near);
		return -EINVAL;
	}
	while (++window <= LONGEST_WINDOW && !(near.below | near.above))
		near = near_embed(m, window, cols);
	if (near.below | near.above)
		wse_fail_more(": choose %llu and window %u",
			      (unsigned long long)wse_nearest(near, m->embed), window - 1);
	return -EINVAL;
}

static uint32_t nearest_width(uint32_t width, uint32_t cols)
{
	return goes(width, cols)
		       ? width
		       : (uint32_t)wse_nearest(wse_near_multiple(width, 4 * cols, widest_of(cols)),
					       width);
}

static int one_width(const struct wse_mlp *m)
{
	for (uint32_t l = 2; l < m->nlinear; l++)
		if (m->width[l] != m->width[1])
			return 0;
	return 1;
}

/* "hidden_size 64", or "hidden_sizes [64, 32]" */
static void say_hidden(const struct wse_mlp *m, char *text, size_t size)
{
	size_t n = 0;

	if (one_width(m)) {
		snprintf(text, size, "hidden_size %u", m->width[1]);
		return;
	}
	for (uint32_t l = 1; l < m->nlinear && n < size; l++)
		n += (size_t)snprintf(text + n, size - n, "%s%u", l == 1 ? "hidden_sizes [" : ", ",
				      m->width[l]);
	if (n < size)
		snprintf(text + n, size - n, "]");
}

/* all that do not go at once: one would come after the other */
static int refuse_hidden(const struct wse_mlp *m, uint32_t bad, uint32_t cols)
{
	struct wse_mlp good = *m;
	char text[300];

	if (one_width(m)) {
		wse_fail(-EINVAL, "hidden_size %u ", m->width[1]);
		say_rule(bad, cols);
		wse_near_say("", wse_near_multiple(bad, 4 * cols, widest_of(cols)));
		return -EINVAL;
	}
	for (uint32_t l = 1; l < m->nlinear; l++)
		good.width[l] = nearest_width(m->width[l], cols);
	say_hidden(&good, text, sizeof(text));
	wse_fail(-EINVAL, "hidden_sizes: a width of %u ", bad);
	say_rule(bad, cols);
	if (good.width[1])
		wse_fail_more(": choose %s", text);
	return -EINVAL;
}

/* the text has all tokens of the vocabulary: a smaller one only where no larger one goes */
static int refuse_vocab(const struct wse_mlp *m, uint32_t cols)
{
	struct wse_near near = wse_near_multiple(m->vocab, 4 * cols, widest_of(cols));

	if (near.above)
		near.below = 0;
	wse_fail(-EINVAL, "vocab_size %u ", m->vocab);
	say_rule(m->vocab, cols);
	wse_near_say("", near);
	return -EINVAL;
}

static int mlp_sizes(const struct wse_model *model, const struct wse_tile *tile, int say)
{
	const struct wse_mlp *m = wse_mlp(model);
	uint32_t cols = tile->cols;

	if (!goes(m->width[0], cols))
		return say ? refuse_input(m, cols) : -EINVAL;
	for (uint32_t l = 1; l < m->nlinear; l++)
		if (!goes(m->width[l], cols))
			return say ? refuse_hidden(m, m->width[l], cols) : -EINVAL;
	if (!goes(m->vocab, cols))
		return say ? refuse_vocab(m, cols) : -EINVAL;
	return 0;
}

/* n: units of the hidden layers, each */
static int mlp_resize(const struct wse_model *model, const struct wse_tile *tile, uint32_t n,
		      struct wse_model *to, char *what, size_t size)
{
	const struct wse_mlp *old = wse_mlp(model);
	uint64_t cols = tile->cols, most = (uint64_t)n * 4 * cols;
	int narrower = 0, other = 0;
	struct wse_mlp m = *old;

	if (!goes(m.width[0], tile->cols))
		m.embed = (uint32_t)wse_nearest(near_embed(&m, m.window, tile->cols), m.embed);
	m.width[0] = m.window * m.embed;
	for (uint32_t l = 1; l <= m.nlinear; l++) {
		m.width[l] = nearest_width(m.width[l], tile->cols);
		if (l < m.nlinear && m.width[l] > most) {
			m.width[l] = (uint32_t)most;
			narrower = 1;
		}
		other |= l < m.nlinear && m.width[l] != old->width[l];
	}
	if (m.width[m.nlinear] < m.vocab)
		m.width[m.nlinear] += 4 * tile->cols;
	m.vocab = m.width[m.nlinear];
	for (uint32_t l = 0; l <= m.nlinear; l++)
		if (!m.width[l] || (l && m.width[l] > WIDEST))
			return -EINVAL;
	*to = *model;
	to->vocab = m.vocab;
	memcpy(to->family_data, &m, sizeof(m));
	what[0] = 0;
	if (other)
		say_hidden(&m, what, size);
	wse_say_size(what, size, "embedding_size", m.embed, old->embed);
	wse_say_size(what, size, "vocab_size", m.vocab, old->vocab);
	return narrower ? 0 : -ERANGE;
}

/*
 * The way back holds the binary32 sums of a layer's whole input, twice its bf16 size, before the
 * gate makes them bf16 in the place of its activations. Where no number of tokens leaves room for
 * them they come in chunks, with the same bits: chunks of a layer of this width, the next divisor
 * of its blocks of features.
 */
static const uint32_t back_chunks[] = {1, 2, 4, 8};

static uint32_t chunks_of(uint32_t width, uint32_t cols, uint32_t mode)
{
	uint32_t blocks = width / (4 * cols), n = back_chunks[mode];

	while (n < blocks && blocks % n)
		n++;
	return n < blocks ? n : blocks;
}

/* the gradient of what a layer gets, over what its activation needs for it */
static uint32_t back(struct wse_graph *g, struct wse_linear_op op)
{
	uint32_t dy = WSE_NO_VALUE, n = 1;

	if (op.over && op.unit < g->nunits) /* without memory there is no such unit */
		n = g->units[op.unit].chunks_back;
	for (op.chunk = 0; op.chunk < n; op.chunk++)
		dy = wse_op_linear(g, &op, NULL);
	return dy;
}

/* name: in files, as in gpt.c */
static const struct {
	const char *name;
	enum wse_post post, back;
} acts[] = {
	[WSE_GELU] = {"gelu_erf", WSE_POST_GELU, WSE_POST_MUL},
	[WSE_GELU_NEW] = {"gelu", WSE_POST_GELU_NEW, WSE_POST_MUL},
	[WSE_RELU] = {"relu", WSE_POST_RELU, WSE_POST_GATE},
};

static int mlp_graph(const struct wse_model *model, const struct wse_tile *tile, uint32_t t,
		     uint32_t mode, struct wse_graph *g)
{
	const struct wse_mlp *m = wse_mlp(model);
	uint32_t act[WSE_MLP_MAX_LINEAR], deriv[WSE_MLP_MAX_LINEAR], last = m->nlinear - 1;
	uint32_t program, x, vec, dy, target, dx;
	size_t tokens = (size_t)t * tile->rows;
	int ret = mlp_sizes(model, tile, 1);

	wse_graph_init(g, tile, t);
	g->forward = model->forward;
	if (ret)
		return ret;
	program = wse_graph_program(g, PROGRAM, PROGRAM_END);
	for (uint32_t l = 0; l < m->nlinear; l++) {
		wse_graph_unit(g, wse_mlp_weight(l), m->width[l + 1], m->width[l], 1);
		wse_graph_vec(g, l, wse_mlp_bias(l), m->width[l + 1], 1);
		if (l)
			wse_graph_chunks_back(g, l, chunks_of(m->width[l], tile->cols, mode));
	}
	g->target = wse_graph_in(g, "targets", tokens * 2);
	x = wse_graph_in(g, "inputs", m->width[0] * tokens * 2);
	g->loss = wse_graph_out(g, "losses", tokens * 4);
	dx = wse_graph_out(g, "gradient of the inputs", m->width[0] * tokens * 4);
	g->logits = wse_graph_out(g, "logits", m->vocab * tokens * 4);
	g->classes = m->vocab;
	g->vocab_rows = m->vocab / tile->cols;

	act[0] = wse_op_in(g, "activations", x, WSE_TYPE_BF16, WSE_SHAPE_TOKENS,
			   m->width[0] / tile->cols);
	target = wse_op_in(g, "targets", g->target, WSE_TYPE_U16, WSE_SHAPE_SHARED, 1);
	deriv[0] = WSE_NO_VALUE;
	for (uint32_t l = 0; l < last; l++) {
		vec = wse_op_vec_in(g, l);
		act[l + 1] = wse_op_linear(g,
					   &(struct wse_linear_op){.program = program,
								   .unit = l,
								   .x = act[l],
								   .vec = vec,
								   .aux = WSE_NO_VALUE,
								   .post = acts[m->act].post,
								   .what = "activations"},
					   &deriv[l + 1]);
	}
	vec = wse_op_vec_in(g, last);
	x = wse_op_linear(g,
			  &(struct wse_linear_op){.program = program,
						  .unit = last,
						  .x = act[last],
						  .vec = vec,
						  .aux = WSE_NO_VALUE,
						  .post = WSE_POST_NONE,
						  .what = "logits"},
			  NULL);
	wse_op_out(g, g->logits, x);
	if (model->masked)
		wse_op_loss_scales(g);
	dy = wse_op_loss(g, program, x, target);

	for (uint32_t l = last + 1; l-- > 0;) {
		int gated = m->act == WSE_RELU;

		vec = wse_op_wgrad(g, program, l, act[l], dy, WSE_NO_VALUE, 0);
		wse_op_vec_out(g, l, vec);
		dy = back(g, (struct wse_linear_op){.program = program,
						    .unit = l,
						    .back = 1,
						    .x = dy,
						    .bias = WSE_NO_BIAS,
						    .aux = !l	   ? WSE_NO_VALUE
							   : gated ? act[l]
								   : deriv[l],
						    .over = !!l,
						    .post = l ? acts[m->act].back : WSE_POST_NONE,
						    .what = "gradients"});
	}
	wse_op_out(g, dx, dy);
	return wse_ops_finish(g);
}

static void mlp_describe(const struct wse_model *model, char *text, size_t size)
{
	const struct wse_mlp *m = wse_mlp(model);

	snprintf(text, size, "mlp window=%u embed=%u vocab=%u act=%s layers=%u", m->window,
		 m->embed, m->vocab, acts[m->act].name, m->nlinear);
}

enum { IN_X = 1, OUT_DX = 1 };

/* x [window * embed][T] */
static void mlp_gather(const struct wse_model *model, const struct wse_graph *g,
		       const struct wse_input *in, const uint16_t *const *samples,
		       struct wse_micro_batch *job)
{
	uint32_t t_all = wse_graph_tokens(g), win = wse_mlp(model)->window,
		 e = wse_mlp(model)->embed;
	uint16_t *x = wse_span_ptr(job->in[IN_X]);

	for (uint32_t t = 0; t < t_all; t++) {
		for (uint32_t i = 0; i < win; i++) {
			size_t at = (size_t)samples[t][(int)i - (int)win] * e;

			for (uint32_t j = 0; j < e; j++)
				x[((size_t)i * e + j) * t_all + t] =
					in[0].f32 ? wse_f32_to_bf16(in[0].f32[at + j])
						  : in[0].bf16[at + j];
		}
	}
}

/*
 * dx [window * embed][T] of every token, in token order, window position by position, onto its row
 */
static int mlp_leaf(const struct wse_model *model, const struct wse_graph *g,
		    const struct wse_micro_batch *job, const uint16_t *const *samples,
		    const struct wse_leaf *leaf)
{
	uint32_t t_all = wse_graph_tokens(g), win = wse_mlp(model)->window;
	uint32_t *of = malloc((size_t)t_all * win * sizeof(*of));
	int ret = of ? 0 : -ENOMEM;

	for (uint32_t t = 0; t < t_all && !ret; t++)
		for (uint32_t i = 0; i < win; i++)
			of[(size_t)t * win + i] = samples[t][(int)i - (int)win];
	if (!ret)
		ret = wse_rows_make(leaf[0].rows, of, wse_span_ptr(job->out[OUT_DX]), t_all, win,
				    wse_mlp(model)->embed);
	free(of);
	return ret;
}

static uint32_t widest(const struct wse_mlp *m)
{
	uint32_t w = 0;

	for (uint32_t l = 0; l <= m->nlinear; l++)
		w = m->width[l] > w ? m->width[l] : w;
	return w;
}

/*
 * plain fp32 forward of one token: x0 [width[0]], scratch [2 * widest]; the first layer that is not
 * finite
 */
static uint32_t forward(const struct wse_mlp *m, const struct wse_tensor_table *tab,
			const float *params, const float *x, float *scratch)
{
	uint32_t wide = widest(m);

	for (uint32_t l = 0; l < m->nlinear; l++) {
		const float *w = params + tab->t[wse_mlp_weight(l)].off;
		const float *b = params + tab->t[wse_mlp_bias(l)].off;
		float *y = scratch + (l & 1) * wide;

		for (uint32_t n = 0; n < m->width[l + 1]; n++) {
			float sum = b[n];

			for (uint32_t k = 0; k < m->width[l]; k++)
				sum += w[(size_t)n * m->width[l] + k] * x[k];
			if (wse_f32_isbad(sum))
				return l;
			y[n] = sum > 0.0f ? sum : 0.0f;
		}
		x = y;
	}
	return m->nlinear;
}

static const char *mlp_find_nonfinite(const struct wse_model *model,
				      const struct wse_tensor_table *tab, const float *params,
				      const struct wse_graph *g, const struct wse_micro_batch *job,
				      uint32_t t)
{
	const struct wse_mlp *m = wse_mlp(model);
	const uint16_t *x = wse_span_ptr(job->in[IN_X]);
	uint32_t k = m->width[0], t_all = wse_graph_tokens(g), layer;
	float *x0 = malloc((k + 2 * (size_t)widest(m)) * sizeof(float));
	const char *where = NULL;

	for (uint32_t i = 0; x0 && i < k && !where; i++) {
		x0[i] = wse_bf16_to_f32(x[(size_t)i * t_all + t]);
		if (wse_f32_isbad(x0[i]))
			where = tab->t[0].name;
	}
	if (x0 && !where) {
		layer = forward(m, tab, params, x0, x0 + k);
		if (layer < m->nlinear)
			where = tab->t[wse_mlp_weight(layer)].name;
	}
	free(x0);
	return where;
}

static uint64_t mlp_macs(const struct wse_model *model)
{
	const struct wse_mlp *m = wse_mlp(model);
	uint64_t macs = 0;

	for (uint32_t l = 0; l < m->nlinear; l++)
		macs += (uint64_t)m->width[l] * m->width[l + 1];
	return macs;
}

const struct wse_model_family wse_family_mlp = {
	.name = "mlp",
	.tensors = mlp_tensors,
	.graph = mlp_graph,
	.sizes = mlp_sizes,
	.resize = mlp_resize,
	.describe = mlp_describe,
	.gather = mlp_gather,
	.leaf = mlp_leaf,
	.find_nonfinite = mlp_find_nonfinite,
	.macs = mlp_macs,
	.modes = sizeof(back_chunks) / sizeof(*back_chunks),
	.last = 1,
};
