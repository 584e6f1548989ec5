// SPDX-License-Identifier: MIT
/*
 * A model of one's own, as a list of operations: the last 8 bytes are looked up in an embedding,
 * one layer with GELU, one to the logits.
 *
 *	own FILE [DEVICE [STEPS]]
 */
#include <math.h>
#include <string.h>

#include "loop.h"

enum { VOCAB = 256, WINDOW = 8, EMBED = 16, INPUTS = WINDOW * EMBED, HIDDEN = 128 };
enum { WTE, W0, B0, W1, B1, PARAMS };

/* x -> act, deriv -> logits -> dy; then back, with the gradient of every unit */
static int graph(void *ctx, struct wse_graph *g)
{
	uint32_t kernels = wse_graph_kernels(g), tokens = wse_graph_tokens(g);
	uint32_t u0, u1, targets, logits, in, dx, x, t, act, deriv, y, dy;
	struct wse_tile tile;

	(void)ctx;
	wse_graph_tile(g, &tile);
	u0 = wse_graph_unit(g, W0, HIDDEN, INPUTS, 1);
	u1 = wse_graph_unit(g, W1, VOCAB, HIDDEN, 1);
	wse_graph_vec(g, u0, B0, HIDDEN, 1); /* a unit's only vector is at place 0 */
	wse_graph_vec(g, u1, B1, VOCAB, 1);
	wse_graph_classes(g, VOCAB, &targets, &logits);
	in = wse_graph_in(g, "inputs", (size_t)INPUTS * tokens * 2);
	dx = wse_graph_out(g, "gradient of the inputs", (size_t)INPUTS * tokens * 4);

	x = wse_op_in(g, "activations", in, WSE_TYPE_BF16, WSE_SHAPE_TOKENS, INPUTS / tile.cols);
	t = wse_op_in(g, "targets", targets, WSE_TYPE_U16, WSE_SHAPE_SHARED, 1);
	act = wse_op_linear(g,
			    &(struct wse_linear_op){.program = kernels,
						    .unit = u0,
						    .x = x,
						    .vec = wse_op_vec_in(g, u0),
						    .post = WSE_POST_GELU_NEW,
						    .aux = WSE_NO_VALUE,
						    .what = "activations"},
			    &deriv);
	y = wse_op_linear(g,
			  &(struct wse_linear_op){.program = kernels,
						  .unit = u1,
						  .x = act,
						  .vec = wse_op_vec_in(g, u1),
						  .aux = WSE_NO_VALUE,
						  .what = "logits"},
			  NULL);
	wse_op_out(g, logits, y);
	dy = wse_op_loss(g, kernels, y, t);

	wse_op_vec_out(g, u1, wse_op_wgrad(g, kernels, u1, act, dy, WSE_NO_VALUE, 0));
	dy = wse_op_linear(g,
			   &(struct wse_linear_op){.program = kernels,
						   .unit = u1,
						   .back = 1,
						   .x = dy,
						   .bias = WSE_NO_BIAS,
						   .post = WSE_POST_MUL,
						   .aux = deriv,
						   .what = "gradients"},
			   NULL);
	wse_op_vec_out(g, u0, wse_op_wgrad(g, kernels, u0, x, dy, WSE_NO_VALUE, 0));
	dy = wse_op_linear(g,
			   &(struct wse_linear_op){.program = kernels,
						   .unit = u0,
						   .back = 1,
						   .x = dy,
						   .bias = WSE_NO_BIAS,
						   .aux = WSE_NO_VALUE,
						   .what = "gradients"},
			   NULL);
	wse_op_out(g, dx, dy);
	return 0;
}

/* to the nearest, ties to even */
static uint16_t bf16(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

enum { IN_TARGETS, IN_X };
enum { OUT_LOSSES, OUT_LOGITS, OUT_DX };

/* x [INPUTS][T]: the embeddings of the tokens before each target */
static void gather(void *ctx, const struct wse_batch *b)
{
	uint16_t *x = b->in[IN_X];

	(void)ctx;
	for (uint32_t t = 0; t < b->tokens; t++)
		for (int i = 0; i < INPUTS; i++)
			x[(size_t)i * b->tokens + t] =
				bf16(b->param[WTE][b->samples[t][i / EMBED - WINDOW] * EMBED +
						   i % EMBED]);
}

/* and their gradients, onto the same rows */
static void scatter(void *ctx, const struct wse_batch *b)
{
	const float *dx = b->out[OUT_DX];

	(void)ctx;
	for (uint32_t t = 0; t < b->tokens; t++)
		for (int i = 0; i < INPUTS; i++)
			b->grad[WTE][b->samples[t][i / EMBED - WINDOW] * EMBED + i % EMBED] +=
				dx[(size_t)i * b->tokens + t];
}

static int own_model(struct wse_model **model)
{
	static const struct wse_builder builder = {graph, gather, scatter};
	const struct wse_param params[PARAMS] = {
		[WTE] = {.name = "wte",
			 .rows = VOCAB,
			 .cols = EMBED,
			 .dev = 0.5f,
			 .flags = WSE_TENSOR_DECAY | WSE_TENSOR_INPUT},
		[W0] = {.name = "w0",
			.rows = HIDDEN,
			.cols = INPUTS,
			.dev = (float)sqrt(2.0 / INPUTS),
			.flags = WSE_TENSOR_DECAY},
		[B0] = {.name = "b0", .rows = HIDDEN},
		[W1] = {.name = "w1",
			.rows = VOCAB,
			.cols = HIDDEN,
			.dev = (float)(0.5 / sqrt(HIDDEN)),
			.flags = WSE_TENSOR_DECAY},
		[B1] = {.name = "b1", .rows = VOCAB},
	};
	const struct wse_model_shape shape = {.name = "own",
					      .vocab = VOCAB,
					      .window = WINDOW,
					      .span = 1,
					      .nparams = PARAMS,
					      .params = params,
					      .macs = INPUTS * HIDDEN + HIDDEN * VOCAB};

	return wse_model_create(&shape, &builder, NULL, model);
}

int main(int argc, char **argv)
{
	struct wse_model *model;
	int ret;

	if (argc < 2 || own_model(&model)) {
		fprintf(stderr, "%s\n",
			argc < 2 ? "usage: own FILE [DEVICE [STEPS]]" : wse_error());
		return 1;
	}
	ret = loop(argc, argv, model, 256, NULL);
	wse_model_destroy(model);
	return ret;
}
