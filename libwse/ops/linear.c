// SPDX-License-Identifier: MIT
/*
 * Linear layers: the streamed product with its pass over the sums, and the gradient of the weights.
 * First as scalar loops (the orders are in linear.h), then as an operation.
 */
#include "ops/linear.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "num/elementwise.h"
#include "num/num.h"
#include "base/error.h"
#include "graph/mask.h"
#include "ops/emit.h"
#include "ops/kinds.h"
#include "ops/linear_cycles.h"
#include "ops/oracle.h"

/* four tokens at once: every count of tokens is a multiple, and the bits do not depend on it */
typedef float four_t __attribute__((vector_size(16)));
typedef uint32_t four_bits_t __attribute__((vector_size(16)));
typedef uint16_t four_half_t __attribute__((vector_size(8)));

static four_t widen4(const uint16_t *p)
{
	four_half_t h;

	memcpy(&h, p, sizeof(h));
	return (four_t)(__builtin_convertvector(h, four_bits_t) << 16);
}

void wse_linear_oracle_some(const struct wse_tile *tile, uint32_t ins, uint32_t outs,
			    uint32_t tokens, const uint16_t *w, const unsigned char *keep,
			    const uint16_t *x, float *y)
{
	uint32_t per = ins / tile->cols, saved = wse_ftz_enter();

	for (uint32_t n = 0; n < outs; n++) {
		const uint16_t *row = w + (size_t)n * ins;
		uint32_t owner = n / (outs / tile->cols);

		for (uint32_t t = 0; t < tokens; t += 4) {
			four_t s = {0};

			for (uint32_t i = 1; i <= tile->cols; i++) {
				uint32_t c = (owner + i) % tile->cols;
				four_t p = {0};

				for (uint32_t k = c * per; k < (c + 1) * per; k++) {
					if (keep && !keep[(size_t)n * ins + k])
						continue;
					p = p + widen4(x + (size_t)k * tokens + t) *
							wse_bf16_to_f32(row[k]);
				}
				s = i == 1 ? p : s + p;
			}
			for (uint32_t j = 0; j < 4; j++)
				y[(size_t)n * tokens + t + j] = wse_canon(s[j]);
		}
	}
	wse_ftz_leave(saved);
}

void wse_linear_oracle(const struct wse_tile *tile, uint32_t ins, uint32_t outs, uint32_t tokens,
		       const uint16_t *w, const uint16_t *x, float *y)
{
	wse_linear_oracle_some(tile, ins, outs, tokens, w, NULL, x, y);
}

static uint16_t bf16_of(float f)
{
	return wse_f32_to_bf16_ftz(f);
}

/* element i, of a feature that is scaled or not */
static void post_element(const struct wse_linear_post *p, int scaled, size_t i, float *y)
{
	const uint16_t *aux16 = p->aux;
	float a, d;

	switch (p->post) {
	case WSE_POST_NONE:
		break;
	case WSE_POST_SCALE:
		*y = ew_mul(*y, p->scale);
		break;
	case WSE_POST_BF16:
		p->out[i] = bf16_of(scaled ? ew_mul(*y, p->scale) : *y);
		break;
	case WSE_POST_RELU:
		p->out[i] = bf16_of(ew_relu(*y));
		break;
	case WSE_POST_GELU_NEW:
	case WSE_POST_GELU:
		a = p->post == WSE_POST_GELU ? ew_gelu(*y, &d) : ew_gelu_new(*y, &d);
		p->out[i] = bf16_of(a);
		p->out2[i] = bf16_of(d);
		break;
	case WSE_POST_RELU2:
		*y = ew_relu(*y);
		p->out2[i] = bf16_of(ew_add(*y, *y));
		p->out[i] = bf16_of(ew_mul(*y, *y));
		break;
	case WSE_POST_GATE:
		p->out[i] = bf16_of(ew_relu_back(wse_bf16_to_f32(aux16[i]), *y));
		break;
	case WSE_POST_MUL:
		p->out[i] = bf16_of(ew_mul(wse_bf16_to_f32(aux16[i]), *y));
		break;
	case WSE_POST_SWIGLU: /* know other elements, too */
	case WSE_POST_MUL2:
		break;
	case WSE_POST_ADD16:
	case WSE_POST_ADD32:
		if (p->post == WSE_POST_ADD16)
			a = wse_bf16_to_f32(aux16[i]);
		else
			a = ((const float *)p->aux)[i];
		*y = ew_add(a, *y);
		if (p->out2)
			p->out2[i] = bf16_of(*y);
		break;
	}
}

/* a column's features of sums: gate and factor; y [2 half][tokens] */
static void post_swiglu(const struct wse_linear_post *p, const float *y, size_t first, size_t half)
{
	for (size_t i = 0; i < half; i++) {
		float dg, du;

		p->out[first / 2 + i] = bf16_of(ew_swiglu(y[i], y[half + i], &dg, &du));
		p->out2[first + i] = bf16_of(dg);
		p->out2[first + half + i] = bf16_of(du);
	}
}

static void post_mul2(const struct wse_linear_post *p, const float *y, size_t first, size_t n)
{
	const uint16_t *aux = p->aux;

	for (size_t i = 0; i < 2 * n; i++)
		p->out[2 * first + i] =
			bf16_of(ew_mul(wse_bf16_to_f32(aux[2 * first + i]), y[i % n]));
}

void wse_linear_post_oracle(const struct wse_tile *tile, uint32_t outs, uint32_t tokens,
			    const struct wse_linear_post *p, float *y)
{
	uint32_t per = outs / tile->cols, saved = wse_ftz_enter();

	for (uint32_t n = 0; n < outs; n++) {
		for (uint32_t t = 0; t < tokens; t++) {
			size_t i = (size_t)n * tokens + t;

			if (p->bias)
				y[i] = ew_add(y[i], p->bias[n]);
			post_element(p, n % per < p->nscale, i, &y[i]);
		}
	}
	for (size_t n = (size_t)per * tokens, i = 0; i < n * tile->cols; i += n) {
		if (p->post == WSE_POST_SWIGLU)
			post_swiglu(p, y + i, i, n / 2);
		if (p->post == WSE_POST_MUL2)
			post_mul2(p, y + i, i, n);
	}
	wse_ftz_leave(saved);
}

/* sum over t of a[t] b[t], b NULL: of a[t], in the order of stream DOT and the column's chain */
static float dot(const struct wse_tile *tile, uint32_t tokens, const uint16_t *a, const uint16_t *b)
{
	uint32_t per = tokens / tile->rows;
	const four_t one = {1, 1, 1, 1};
	float sum = 0.0f;

	for (uint32_t r = 0; r < tile->rows; r++) {
		four_t l[2] = {{0}, {0}};
		float d;

		for (uint32_t t = r * per; t < (r + 1) * per; t += 4) {
			four_t *p = &l[t % tile->lanes / 4];

			*p = *p + widen4(a + t) * (b ? widen4(b + t) : one);
		}
		d = (l[0][0] + l[0][1]) + (l[0][2] + l[0][3]);
		if (tile->lanes == 8)
			d = d + ((l[1][0] + l[1][1]) + (l[1][2] + l[1][3]));
		sum = r ? sum + d : d;
	}
	return wse_canon(sum);
}

void wse_linear_wgrad_oracle(const struct wse_tile *tile, uint32_t ins, uint32_t outs,
			     uint32_t tokens, const uint16_t *x, const uint16_t *dy, float *dw)
{
	uint32_t saved = wse_ftz_enter();

	for (uint32_t n = 0; n < outs; n++)
		for (uint32_t k = 0; k < ins; k++)
			dw[(size_t)n * ins + k] =
				dot(tile, tokens, dy + (size_t)n * tokens, x + (size_t)k * tokens);
	wse_ftz_leave(saved);
}

void wse_linear_bgrad_oracle(const struct wse_tile *tile, uint32_t outs, uint32_t tokens,
			     const uint16_t *dy, float *db)
{
	uint32_t saved = wse_ftz_enter();

	for (uint32_t n = 0; n < outs; n++)
		db[n] = dot(tile, tokens, dy + (size_t)n * tokens, NULL);
	wse_ftz_leave(saved);
}

/* ---- the operation ---- */

/* arguments of an operation */
enum { A_POST, A_BIAS, A_BACK, A_SCALE, A_NSCALE, A_CHUNK };
enum { IN_X, IN_VEC, IN_AUX };
enum { OUT_Y, OUT_SECOND, OUT_SUMS };

static struct wse_slice slice(const struct wse_graph *g, const struct wse_op *op)
{
	const struct wse_unit *u = &g->units[op->unit];
	uint32_t chunk = op->arg[A_CHUNK];

	return op->arg[A_BACK] ? wse_unit_slice_back(u, chunk) : wse_unit_slice(u, chunk);
}

static uint32_t rows_in(const struct wse_graph *g, const struct wse_op *op)
{
	struct wse_slice s = slice(g, op);

	return (op->arg[A_BACK] ? s.outs : s.ins) / g->tile.cols;
}

static uint32_t rows_out(const struct wse_graph *g, const struct wse_op *op)
{
	struct wse_slice s = slice(g, op);

	return (op->arg[A_BACK] ? s.ins : s.outs) / g->tile.cols;
}

int wse_linear_is_back(const struct wse_op *op)
{
	return op->kind == WSE_OP_LINEAR && op->arg[A_BACK];
}

enum wse_image_part wse_op_image(const struct wse_op *op)
{
	if (op->kind != WSE_OP_LINEAR)
		return WSE_IMAGE_NONE;
	return op->arg[A_BACK] ? WSE_IMAGE_TR : WSE_IMAGE_FWD;
}

/* a chunk of the way back that takes its place in a whole value: how many there are, else 1 */
static uint32_t parts_of(const struct wse_graph *g, const struct wse_op *op)
{
	return op->arg[A_BACK] && op->out[OUT_SUMS] != WSE_NO_VALUE ? g->units[op->unit].chunks_back
								    : 1;
}

/* the result is binary32, in the place of the sums; else bf16, there too, but of half the size */
static int keeps_sums(uint32_t post)
{
	return post == WSE_POST_NONE || post == WSE_POST_ADD16 || post == WSE_POST_ADD32 ||
	       post == WSE_POST_SCALE;
}

static int makes_derivative(uint32_t post)
{
	return post == WSE_POST_GELU_NEW || post == WSE_POST_GELU || post == WSE_POST_RELU2 ||
	       post == WSE_POST_SWIGLU;
}

uint32_t wse_op_linear(struct wse_graph *g, const struct wse_linear_op *l, uint32_t *out2)
{
	struct wse_op *op = wse_graph_op(g, WSE_OP_LINEAR, l->unit, l->program);
	uint32_t rows, v, second = WSE_NO_VALUE;

	op->arg[A_POST] = l->post;
	op->arg[A_BIAS] = l->bias;
	op->arg[A_BACK] = !!l->back;
	op->arg[A_SCALE] = wse_f2u(l->scale);
	op->arg[A_NSCALE] = l->nscale;
	op->arg[A_CHUNK] = l->chunk;
	op->in[IN_X] = l->x;
	op->in[IN_VEC] = (l->bias == WSE_NO_BIAS ? WSE_NO_VALUE : l->vec);
	op->in[IN_AUX] = l->aux;
	rows = l->unit < g->nunits ? rows_out(g, op) : 0;
	if (l->over) {
		v = l->aux;
		op->out[OUT_SUMS] =
			wse_graph_value(g, "sums", WSE_TYPE_BYTE, WSE_SHAPE_WORK, rows * g->t * 4);
	} else {
		v = wse_graph_value(g, l->what, keeps_sums(l->post) ? WSE_TYPE_F32 : WSE_TYPE_BF16,
				    WSE_SHAPE_TOKENS, rows * wse_post_out(l->post) / WSE_POST_SAME);
		if (v != WSE_NO_VALUE)
			g->values[v].bytes_at_start = rows * g->t * 4;
	}
	op->out[OUT_Y] = v;
	if (makes_derivative(l->post) || (keeps_sums(l->post) && out2))
		second = wse_graph_value(g,
					 makes_derivative(l->post) ? "derivatives" : "activations",
					 WSE_TYPE_BF16, WSE_SHAPE_TOKENS, rows);
	op->out[OUT_SECOND] = second;
	if (out2)
		*out2 = second;
	return v;
}

static int linear_check(const struct wse_graph *g, const struct wse_op *op)
{
	uint32_t post = op->arg[A_POST], rows, whole, chunks;
	const struct wse_unit *u;
	int ret;

	if (op->unit == WSE_NO_UNIT || g->units[op->unit].weight == WSE_NO_TENSOR)
		return wse_fail(-EINVAL, "it has no unit with a matrix");
	u = &g->units[op->unit];
	rows = rows_out(g, op);
	whole = rows * parts_of(g, op);
	chunks = u->chunks_out * u->chunks_in * (op->arg[A_BACK] ? u->chunks_back : 1);
	if (op->arg[A_CHUNK] && op->arg[A_CHUNK] >= chunks)
		return wse_fail(-EINVAL, "unit %u has no chunk %u", op->unit, op->arg[A_CHUNK]);
	if (post > WSE_POST_SCALE)
		return wse_fail(-EINVAL, "there is no pass %u", post);
	if (whole != rows && post != WSE_POST_GATE && post != WSE_POST_MUL)
		return wse_fail(-EINVAL, "pass %u does not work on a part of a value", post);
	ret = wse_check_value(g, op->in[IN_X], WSE_TYPE_BF16, WSE_SHAPE_TOKENS, rows_in(g, op),
			      "the input");
	if (!ret && post == WSE_POST_SWIGLU && (rows % 2 || op->out[OUT_SECOND] == WSE_NO_VALUE))
		ret = wse_fail(-EINVAL, "%u features are no halves, or have no derivatives", rows);
	if (!ret && ((post >= WSE_POST_GATE && post <= WSE_POST_ADD32) || post == WSE_POST_MUL2))
		ret = wse_check_value(g, op->in[IN_AUX],
				      post == WSE_POST_ADD32 ? WSE_TYPE_F32 : WSE_TYPE_BF16,
				      WSE_SHAPE_TOKENS, whole * wse_post_aux(post) / WSE_POST_SAME,
				      "the pass's second operand");
	if (!ret && op->arg[A_BIAS] != WSE_NO_BIAS) {
		uint32_t vec = op->in[IN_VEC];

		if (vec == WSE_NO_VALUE || g->values[vec].shape != WSE_SHAPE_VECTOR ||
		    g->values[vec].rows < op->arg[A_BIAS] + rows)
			ret = wse_fail(-EINVAL, "there are no %u biases at %u of value %u", rows,
				       op->arg[A_BIAS], vec);
	}
	if (!ret)
		ret = wse_check_value(
			g, op->out[OUT_Y], keeps_sums(post) ? WSE_TYPE_F32 : WSE_TYPE_BF16,
			WSE_SHAPE_TOKENS, whole * wse_post_out(post) / WSE_POST_SAME, "the result");
	if (!ret && post == WSE_POST_MUL2 && op->out[OUT_SUMS] == WSE_NO_VALUE)
		ret = wse_fail(-EINVAL, "its result does not lie at its sums");
	if (!ret && op->out[OUT_SUMS] != WSE_NO_VALUE)
		ret = keeps_sums(post)
			      ? wse_fail(-EINVAL, "the result is the sums: it has no others")
			      : wse_check_value(g, op->out[OUT_SUMS], WSE_TYPE_BYTE, WSE_SHAPE_WORK,
						rows * g->t * 4, "the sums");
	else if (!ret && g->values[op->out[OUT_Y]].bytes_at_start < rows * g->t * 4)
		ret = wse_fail(-EINVAL, "the result has no room for its sums");
	if (!ret && op->out[OUT_SECOND] != WSE_NO_VALUE)
		ret = wse_check_value(g, op->out[OUT_SECOND], WSE_TYPE_BF16, WSE_SHAPE_TOKENS, rows,
				      "the second result");
	return ret;
}

static enum wse_op_full linear_full(const struct wse_op *op)
{
	return op->arg[A_POST] == WSE_POST_SWIGLU || op->arg[A_POST] == WSE_POST_MUL2 ||
	       op->arg[A_POST] == WSE_POST_SCALE;
}

static void linear_emit(struct wse_emit *e, const struct wse_op *op)
{
	uint32_t y = wse_emit_addr(e, op->out[OUT_Y]), bias = op->arg[A_BIAS];
	uint32_t sums = op->out[OUT_SUMS] == WSE_NO_VALUE ? y : wse_emit_addr(e, op->out[OUT_SUMS]);
	/* both of the pass's operands are bf16 where the result is a part of a value */
	uint32_t at =
		parts_of(e->g, op) > 1 ? op->arg[A_CHUNK] * rows_out(e->g, op) * e->g->t * 2 : 0;
	struct wse_linear_args a = {
		.x = wse_emit_addr(e, op->in[IN_X]),
		.y = sums,
		.t = e->g->t,
		.k = rows_in(e->g, op),
		.nblk = rows_out(e->g, op) * e->g->tile.cols / e->g->nfeat,
		.b = e->g->nfeat,
		.post = op->arg[A_POST],
		.bias = bias == WSE_NO_BIAS ? 0 : wse_emit_addr(e, op->in[IN_VEC]) + 4 * bias,
		.aux = wse_emit_addr(e, op->in[IN_AUX]) + at,
		.out = keeps_sums(op->arg[A_POST]) ? 0 : y + at,
		.out2 = wse_emit_addr(e, op->out[OUT_SECOND]),
		.scale = op->arg[A_SCALE],
		.nscale = op->arg[A_NSCALE],
	};

	wse_emit_image(e, op->unit, op->arg[A_CHUNK], (int)op->arg[A_BACK]);
	wse_emit_kernel(e, op, a);
}

uint64_t wse_linear_image_bytes(const struct wse_graph *g, const struct wse_op *op)
{
	struct wse_slice s = slice(g, op);
	uint64_t all = 2ull * s.outs * s.ins;
	double density = wse_unit_density(&g->units[op->unit]);

	return density < 1.0 && !g->tile.no_linear ? wse_part(density, all) : all;
}

static enum wse_bound linear_bound(const struct wse_graph *g, const struct wse_op *op)
{
	struct wse_block_cost c =
		wse_linear_block(g, rows_in(g, op), wse_unit_density(&g->units[op->unit]));

	return wse_block_bound(&c);
}

static uint64_t linear_cycles(const struct wse_graph *g, const struct wse_op *op)
{
	uint64_t post = wse_post_cost(op->arg[A_POST], op->out[OUT_SECOND] != WSE_NO_VALUE);

	if (op->arg[A_BIAS] != WSE_NO_BIAS)
		post += WSE_BIAS_COST;
	return WSE_START_CYCLES + wse_linear_cycles(g, rows_in(g, op), rows_out(g, op),
						    wse_unit_density(&g->units[op->unit]), post);
}

/* ---- gradient of the weights ---- */

uint32_t wse_op_wgrad(struct wse_graph *g, uint32_t program, uint32_t unit, uint32_t x, uint32_t dy,
		      uint32_t vec, uint32_t bias)
{
	return wse_op_wgrad_chunk(g, program, unit, 0, x, dy, vec, bias);
}

uint32_t wse_op_wgrad_chunk(struct wse_graph *g, uint32_t program, uint32_t unit, uint32_t chunk,
			    uint32_t x, uint32_t dy, uint32_t vec, uint32_t bias)
{
	struct wse_op *op = wse_graph_op(g, WSE_OP_WGRAD, unit, program);

	op->in[0] = x;
	op->in[1] = dy;
	op->arg[A_BIAS] = bias;
	op->arg[A_CHUNK] = chunk;
	if (bias == WSE_NO_BIAS)
		return WSE_NO_VALUE;
	op->in[2] = vec;
	if (vec == WSE_NO_VALUE)
		vec = wse_graph_value(g, "vectors", WSE_TYPE_F32, WSE_SHAPE_VECTOR,
				      unit < g->nunits ? g->units[unit].vec_rows : 0);
	op->out[0] = vec;
	return vec;
}

/* a mover counts the blocks of a gradient in the 16 bits of a descriptor's length */
#define BLOCKS_MAX 65535u

static int wgrad_check(const struct wse_graph *g, const struct wse_op *op)
{
	uint32_t vec = op->out[0];
	int ret;

	if (op->unit == WSE_NO_UNIT || g->units[op->unit].weight == WSE_NO_TENSOR)
		return wse_fail(-EINVAL, "it has no unit with a matrix");
	if (slice(g, op).outs / g->nfeat > BLOCKS_MAX)
		return wse_fail(-EINVAL,
				"the gradient of %u outputs, %u a block at %u tokens a core, has "
				"more than %u blocks: take fewer outputs, chunks of them, or fewer "
				"tokens a core",
				slice(g, op).outs, g->nfeat, g->t, BLOCKS_MAX);
	ret = wse_check_value(g, op->in[0], WSE_TYPE_BF16, WSE_SHAPE_TOKENS, rows_in(g, op),
			      "the layer's input");
	if (!ret)
		ret = wse_check_value(g, op->in[1], WSE_TYPE_BF16, WSE_SHAPE_TOKENS,
				      rows_out(g, op), "the gradient of its output");
	if (!ret && op->arg[A_BIAS] != WSE_NO_BIAS &&
	    (vec == WSE_NO_VALUE || g->values[vec].shape != WSE_SHAPE_VECTOR ||
	     g->values[vec].rows < op->arg[A_BIAS] + rows_out(g, op)))
		ret = wse_fail(-EINVAL, "there is no room for %u biases at %u of value %u",
			       rows_out(g, op), op->arg[A_BIAS], vec);
	return ret;
}

static void wgrad_emit(struct wse_emit *e, const struct wse_op *op)
{
	uint32_t bias = op->arg[A_BIAS];
	struct wse_wgrad_args a = {
		.x = wse_emit_addr(e, op->in[0]),
		.dy = wse_emit_addr(e, op->in[1]),
		.t = e->g->t,
		.k = rows_in(e->g, op),
		.nblk = rows_out(e->g, op) * e->g->tile.cols / e->g->nfeat,
		.b = e->g->nfeat,
		.db = bias == WSE_NO_BIAS ? 0 : wse_emit_addr(e, op->out[0]) + 4 * bias,
	};

	wse_emit_index(e, op->unit, op->arg[A_CHUNK]);
	wse_emit_grads(e, op->unit, op->arg[A_CHUNK]);
	wse_emit_kernel(e, op, a);
}

static enum wse_bound wgrad_bound(const struct wse_graph *g, const struct wse_op *op)
{
	struct wse_block_cost c =
		wse_wgrad_block(g, rows_in(g, op), wse_unit_density(&g->units[op->unit]));

	return wse_block_bound(&c);
}

static uint64_t wgrad_cycles(const struct wse_graph *g, const struct wse_op *op)
{
	return WSE_START_CYCLES + wse_wgrad_cycles(g, rows_in(g, op), rows_out(g, op),
						   wse_unit_density(&g->units[op->unit]),
						   op->arg[A_BIAS] != WSE_NO_BIAS);
}

/* ---- on the values of a graph ---- */

static struct wse_tile shape(const struct wse_oracle_run *o)
{
	return o->g->tile;
}

/* the rows and columns of the image that an operation streams, as a matrix of its own */
static uint16_t *chunk_of_image(const struct wse_oracle_run *o, const struct wse_op *op)
{
	const struct wse_unit *u = &o->g->units[op->unit];
	const struct wse_image *img = &o->job->images[op->unit];
	struct wse_slice s = slice(o->g, op);
	int back = (int)op->arg[A_BACK];
	size_t width = back ? u->outs : u->ins, rows = back ? s.ins : s.outs;
	size_t row0 = back ? s.in0 : s.out0, k0 = back ? s.out0 : s.in0, k = back ? s.outs : s.ins;
	const uint16_t *from = wse_span_ptr(back ? img->tr : img->fwd);
	uint16_t *w = malloc(rows * k * sizeof(*w));

	for (size_t r = 0; w && r < rows; r++)
		memcpy(w + r * k, from + (row0 + r) * width + k0, k * sizeof(*w));
	return w;
}

/* which of its weights are there, likewise; *keep NULL: all are */
static int chunk_of_mask(const struct wse_oracle_run *o, const struct wse_op *op,
			 unsigned char **keep)
{
	const struct wse_unit *u = &o->g->units[op->unit];
	const struct wse_image *img = &o->job->images[op->unit];
	int back = (int)op->arg[A_BACK];
	struct wse_mask_shape m = wse_mask_shape(o->g, u, back);
	struct wse_span bits = back ? img->mask_tr : img->mask;
	struct wse_slice s = slice(o->g, op);

	*keep = NULL;
	if (!bits.buf)
		return 0;
	if (back)
		s = (struct wse_slice){s.in0, s.ins, s.out0, s.outs};
	*keep = malloc((size_t)s.outs * s.ins);
	for (size_t i = 0; *keep && i < (size_t)s.outs * s.ins; i++)
		(*keep)[i] = (unsigned char)wse_mask_get(&m, wse_span_ptr(bits), s.out0 + i / s.ins,
							 s.in0 + i % s.ins);
	return *keep ? 0 : -ENOMEM;
}

/* rows of a chunk [cols][rows][tokens] out of those of its value, or into them */
static void chunk_rows(const struct wse_oracle_run *o, const struct wse_op *op, uint16_t *chunk,
		       uint16_t *value, int into)
{
	size_t rows = rows_out(o->g, op), n = rows * wse_graph_tokens(o->g);
	size_t parts = parts_of(o->g, op);

	for (size_t c = 0; c < o->g->tile.cols; c++) {
		uint16_t *in_value = value + (c * parts + op->arg[A_CHUNK]) * n;
		uint16_t *in_chunk = chunk + c * n;

		memcpy(into ? in_value : in_chunk, into ? in_chunk : in_value, n * sizeof(*chunk));
	}
}

/* the pass over a chunk whose operand and result are parts of one value each */
static int post_part(const struct wse_oracle_run *o, const struct wse_op *op,
		     struct wse_linear_post post, float *y)
{
	size_t outs = (size_t)rows_out(o->g, op) * o->g->tile.cols;
	size_t tokens = wse_graph_tokens(o->g);
	uint16_t *aux = malloc(2 * outs * tokens * sizeof(*aux)), *value = post.out;

	if (!aux)
		return -ENOMEM;
	chunk_rows(o, op, aux, (uint16_t *)(uintptr_t)post.aux, 0);
	post.aux = aux;
	post.out = aux + outs * tokens;
	wse_linear_post_oracle(&o->g->tile, (uint32_t)outs, (uint32_t)tokens, &post, y);
	chunk_rows(o, op, post.out, value, 1);
	free(aux);
	return 0;
}

static int linear_oracle(struct wse_oracle_run *o, const struct wse_op *op)
{
	const struct wse_graph *g = o->g;
	uint32_t ins = rows_in(g, op) * g->tile.cols, rows = rows_out(g, op);
	uint32_t outs = rows * g->tile.cols, tokens = wse_graph_tokens(g);
	const float *vec = wse_oracle_mem(o, op->in[IN_VEC]);
	float *y = wse_oracle_mem(o, op->out[op->out[OUT_SUMS] == WSE_NO_VALUE ? OUT_Y : OUT_SUMS]);
	float *bias = NULL;
	struct wse_tile tile = shape(o);
	struct wse_linear_post post = {
		.post = op->arg[A_POST],
		.aux = wse_oracle_mem(o, op->in[IN_AUX]),
		.out = wse_oracle_mem(o, op->out[OUT_Y]),
		.out2 = wse_oracle_mem(o, op->out[OUT_SECOND]),
		.scale = wse_u2f(op->arg[A_SCALE]),
		.nscale = op->arg[A_NSCALE],
	};
	uint16_t *w = chunk_of_image(o, op);
	unsigned char *keep;
	int ret = w ? chunk_of_mask(o, op, &keep) : -ENOMEM;

	if (ret) {
		free(w);
		return ret;
	}
	if (op->arg[A_BIAS] != WSE_NO_BIAS) {
		bias = malloc(outs * sizeof(*bias));
		if (!bias) {
			free(w);
			free(keep);
			return -ENOMEM;
		}
		for (uint32_t n = 0; n < outs; n++)
			bias[n] = vec[(size_t)(n / rows) * g->values[op->in[IN_VEC]].rows +
				      op->arg[A_BIAS] + n % rows];
		post.bias = bias;
	}
	wse_linear_oracle_some(&tile, ins, outs, tokens, w, keep, wse_oracle_mem(o, op->in[IN_X]),
			       y);
	if (parts_of(g, op) > 1)
		ret = post_part(o, op, post, y);
	else
		wse_linear_post_oracle(&tile, outs, tokens, &post, y);
	free(w);
	free(keep);
	free(bias);
	return ret;
}

static int wgrad_oracle(struct wse_oracle_run *o, const struct wse_op *op)
{
	const struct wse_graph *g = o->g;
	const struct wse_unit *u = &g->units[op->unit];
	struct wse_slice s = wse_unit_slice(u, op->arg[A_CHUNK]);
	uint32_t tokens = wse_graph_tokens(g), rows = s.outs / g->tile.cols;
	struct wse_tile tile = shape(o);
	const uint16_t *dy = wse_oracle_mem(o, op->in[1]);
	float *dw = malloc((size_t)s.outs * s.ins * sizeof(*dw)),
	      *db = malloc(s.outs * sizeof(*db));
	float *to = o->grads[op->unit]->ptr, *vec = wse_oracle_mem(o, op->out[0]);
	const unsigned char *bits = wse_image_grad_mask(&o->job->images[op->unit]);
	struct wse_mask_shape m = wse_mask_shape(g, u, 0);
	int ret = dw && db ? 0 : -ENOMEM;

	if (!ret) {
		wse_linear_wgrad_oracle(&tile, s.ins, s.outs, tokens, wse_oracle_mem(o, op->in[0]),
					dy, dw);
		for (size_t i = 0; bits && i < (size_t)s.outs * s.ins; i++)
			if (!wse_mask_get(&m, bits, s.out0 + i / s.ins, s.in0 + i % s.ins))
				dw[i] = 0.0f;
		for (uint32_t r = 0; r < s.outs; r++)
			memcpy(to + (size_t)(s.out0 + r) * u->ins + s.in0, dw + (size_t)r * s.ins,
			       s.ins * sizeof(*dw));
		wse_linear_bgrad_oracle(&tile, s.outs, tokens, dy, db);
	}
	for (uint32_t n = 0; n < s.outs && !ret && op->arg[A_BIAS] != WSE_NO_BIAS; n++)
		vec[(size_t)(n / rows) * g->values[op->out[0]].rows + op->arg[A_BIAS] + n % rows] =
			db[n];
	free(dw);
	free(db);
	return ret;
}

const struct wse_op_type wse_type_linear_forward = {.name = "linear",
						    .entry = "linear_forward",
						    .full = linear_full,
						    .check = linear_check,
						    .emit = linear_emit,
						    .oracle = linear_oracle,
						    .cycles = linear_cycles,
						    .bound = linear_bound};
const struct wse_op_type wse_type_linear_wgrad = {.name = "weight gradient",
						  .entry = "linear_wgrad",
						  .writes_grad = WSE_GRAD_MATRIX,
						  .check = wgrad_check,
						  .emit = wgrad_emit,
						  .oracle = wgrad_oracle,
						  .cycles = wgrad_cycles,
						  .bound = wgrad_bound};
