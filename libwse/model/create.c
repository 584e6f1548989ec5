// SPDX-License-Identifier: MIT
/*
 * The public calls on models: the ready-made ones, and the end of all. A model of one's own:
 * custom.c.
 */
#include "model/create.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/handle.h"
#include "model/custom.h"
#include "model/gpt.h"
#include "model/mlp.h"
#include "base/error.h"

void wse_model_get(const struct wse_model *m)
{
	if (m->family == &wse_family_custom)
		wse_custom_get(m);
}

void wse_model_put(const struct wse_model *m)
{
	if (m->family == &wse_family_custom)
		wse_custom_put(m);
}

/* a copy of m on the heap, as a handle; m's reference goes over to it */
static int give(const struct wse_model *m, struct wse_model **model)
{
	struct wse_model *new = malloc(sizeof(*new));
	int ret = new ? 0 : wse_fail(-ENOMEM, "no memory");

	if (!ret) {
		*new = *m;
		ret = wse_handle_add(WSE_HANDLE_MODEL, new);
	}
	if (ret) {
		free(new);
		wse_model_put(m);
		return ret;
	}
	*model = new;
	return 0;
}

int wse_model_mlp(const struct wse_mlp_shape *s, struct wse_model **model)
{
	struct wse_model m;

	if (s->activation > WSE_GELU || s->activation == WSE_SQUARED_RELU)
		return wse_fail(-EINVAL, "activation %u: WSE_RELU, WSE_GELU or WSE_GELU_NEW",
				s->activation);
	if (s->nhidden && !s->hidden)
		return wse_fail(-EINVAL, "%u hidden layers without their widths", s->nhidden);
	if (wse_mlp_init(&m, s->window, s->embed, s->vocab, s->hidden, s->nhidden,
			 (enum wse_activation)s->activation))
		return wse_fail(
			-EINVAL,
			"window %u, embed %u, vocab %u, %u hidden layers: from 1 on, window x "
			"embed and widths up to 1048576, vocab up to 65536, layers up to %d",
			s->window, s->embed, s->vocab, s->nhidden, WSE_MLP_MAX_LINEAR - 1);
	return give(&m, model);
}

int wse_model_gpt(const struct wse_gpt_shape *s, struct wse_model **model)
{
	struct wse_gpt shape = {
		.vocab = s->vocab,
		.positions = s->positions,
		.seq = s->seq ? s->seq : s->positions,
		.hidden = s->hidden,
		.layers = s->layers,
		.heads = s->heads,
		.filter = s->filter ? s->filter : 4 * s->hidden,
		.tied = !s->untied,
		.eps = s->eps != 0.0f ? s->eps : 1e-5f,
		.dev = s->dev != 0.0f ? s->dev : 0.02f,
		.learned = 1,
	};
	struct wse_model m;

	if (s->activation > WSE_GELU)
		return wse_fail(
			-EINVAL,
			"activation %u: WSE_RELU, WSE_GELU, WSE_GELU_NEW or WSE_SQUARED_RELU",
			s->activation);
	shape.act = (enum wse_activation)s->activation;
	if (!(shape.eps > 0.0f && shape.eps < 1.0f && shape.dev > 0.0f && shape.dev < 100.0f))
		return wse_fail(-EINVAL, "eps %g, dev %g: must be above 0, below 1 and 100",
				(double)shape.eps, (double)shape.dev);
	if (wse_gpt_init(&m, &shape))
		return -EINVAL;
	return give(&m, model);
}

int wse_model_create(const struct wse_model_shape *shape, const struct wse_builder *ops, void *ctx,
		     struct wse_model **model)
{
	struct wse_model m;
	int ret = wse_custom_init(&m, shape, ops, ctx);

	return ret ? ret : give(&m, model);
}

int wse_model_destroy(struct wse_model *model)
{
	int ret = model ? wse_handle_remove(WSE_HANDLE_MODEL, model) : 0;

	if (model && !ret) {
		wse_model_put(model);
		free(model);
	}
	return ret;
}
