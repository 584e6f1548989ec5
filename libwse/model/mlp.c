// SPDX-License-Identifier: MIT
/* Shapes, names and initial values of the MLP language model. */
#include "mlp.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "num/num.h"

int wse_mlp_init(struct wse_mlp *m, uint32_t window, uint32_t embed, uint32_t vocab,
		 const uint32_t *hidden, uint32_t nhidden, enum wse_act act)
{
	if (!window || !embed || !vocab || nhidden >= WSE_MLP_MAX_LINEAR ||
	    (uint64_t)window * embed > 1u << 20 || vocab > 65536)
		return -EINVAL;
	memset(m, 0, sizeof(*m));
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

static void add(struct wse_tensor_table *tab, const char *name, int layer, uint32_t ndim,
		uint32_t d0, uint32_t d1)
{
	struct wse_tensor *t = &tab->t[tab->n++];

	snprintf(t->name, sizeof(t->name), "%s", name);
	t->off = tab->params;
	t->count = (size_t)d0 * d1;
	t->ndim = ndim;
	t->dim[0] = d0;
	t->dim[1] = d1;
	t->layer = layer;
	t->is_bias = ndim == 1;
	tab->params += t->count;
}

void wse_mlp_tensors(const struct wse_mlp *m, struct wse_tensor_table *tab)
{
	char name[64];

	memset(tab, 0, sizeof(*tab));
	add(tab, "transformer.wte.weight", -1, 2, m->vocab, m->embed);
	for (uint32_t l = 0; l < m->nlinear; l++) {
		int last = l + 1 == m->nlinear;

		snprintf(name, sizeof(name),
			 last ? "lm_head.weight" : "transformer.h.%u.mlp.c_fc.weight", l);
		add(tab, name, l, 2, m->width[l + 1], m->width[l]);
		snprintf(name, sizeof(name),
			 last ? "lm_head.bias" : "transformer.h.%u.mlp.c_fc.bias", l);
		add(tab, name, l, 1, m->width[l + 1], 1);
	}
}

void wse_mlp_init_params(const struct wse_mlp *m, uint64_t seed, float *params)
{
	struct wse_tensor_table tab;

	wse_mlp_tensors(m, &tab);
	for (uint32_t i = 0; i < tab.n; i++) {
		const struct wse_tensor *t = &tab.t[i];
		float *p = params + t->off, dev;

		if (t->is_bias) {
			memset(p, 0, t->count * sizeof(*p));
			continue;
		}
		/* He et al. for the layers under an activation; a small output layer starts the
		 * loss at log(vocab) */
		if (t->layer < 0)
			dev = 0.5f;
		else if (t->layer + 1u < m->nlinear)
			dev = (float)wse_sqrt(2.0 / t->dim[1]);
		else
			dev = (float)(0.5 / wse_sqrt(t->dim[1]));
		wse_rng_normals(seed, i, 0, dev, t->count, p);
	}
}

uint64_t wse_mlp_macs(const struct wse_mlp *m)
{
	uint64_t macs = 0;

	for (uint32_t l = 0; l < m->nlinear; l++)
		macs += (uint64_t)m->width[l] * m->width[l + 1];
	return macs;
}

uint32_t wse_mlp_widest(const struct wse_mlp *m)
{
	uint32_t w = 0;

	for (uint32_t l = 0; l <= m->nlinear; l++)
		w = m->width[l] > w ? m->width[l] : w;
	return w;
}

int wse_mlp_find_nonfinite(const struct wse_mlp *m, const float *params, const float *x0,
			   float *scratch)
{
	uint32_t widest = wse_mlp_widest(m);
	struct wse_tensor_table tab;
	const float *x = x0;

	for (uint32_t k = 0; k < m->width[0]; k++)
		if (wse_f32_isbad(x0[k]))
			return -1;
	wse_mlp_tensors(m, &tab);
	for (uint32_t l = 0; l < m->nlinear; l++) {
		const float *w = params + tab.t[wse_mlp_weight(l)].off;
		const float *b = params + tab.t[wse_mlp_bias(l)].off;
		float *y = scratch + (l & 1) * widest;

		for (uint32_t n = 0; n < m->width[l + 1]; n++) {
			float sum = b[n];

			for (uint32_t k = 0; k < m->width[l]; k++)
				sum += w[(size_t)n * m->width[l] + k] * x[k];
			if (wse_f32_isbad(sum))
				return (int)l;
			y[n] = sum > 0.0f ? sum : 0.0f;
		}
		x = y;
	}
	return (int)m->nlinear;
}
