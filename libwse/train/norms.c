// SPDX-License-Identifier: MIT
#include "norms.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "num/num.h"

uint32_t wse_norms_layer(const char *name)
{
	char *end;

	for (const char *p = strchr(name, '.'); p; p = strchr(p + 1, '.')) {
		unsigned long n = isdigit((unsigned char)p[1]) ? strtoul(p + 1, &end, 10) : 0;

		if (isdigit((unsigned char)p[1]) && *end == '.' && n < UINT32_MAX)
			return (uint32_t)n;
	}
	return UINT32_MAX;
}

int wse_norms_say(struct wse_session *s, double params, double norm,
		  void (*board)(void *ctx, const struct wse_scalar *scalar), void *ctx)
{
	const struct wse_tensor_table *tab = s->table;
	const double *squares = wse_memx_grad_squares(s->memx);
	double *layer = calloc(tab->n + 1ul, sizeof(*layer));
	uint32_t layers = 0;
	char tag[100], *text = NULL;
	size_t size;
	FILE *f = layer ? open_memstream(&text, &size) : NULL;

	if (!f) {
		free(layer);
		return wse_fail(-ENOMEM, "no memory for norms");
	}
	for (uint32_t i = 0; i < tab->n; i++) {
		uint32_t n = wse_norms_layer(tab->t[i].name);

		if (n >= tab->n) /* of none: a layer has a tensor, so there are fewer */
			continue;
		layer[n] += squares[i];
		layers = n + 1 > layers ? n + 1 : layers;
	}
	fprintf(f, "| Norms: parameters=%.9g, gradient=%.9g; of layers:", params, norm);
	for (uint32_t i = 0; i < layers; i++)
		fprintf(f, " %.6g", wse_sqrt(layer[i]));
	if (!fclose(f))
		wse_logf(&s->log, WSE_LOG_INFO, "%s", text);
	free(text);
	if (board) {
		board(ctx, &(struct wse_scalar){"model_wise_params_norm", params});
		board(ctx, &(struct wse_scalar){"model_wise_grad_norm", norm});
	}
	for (uint32_t i = 0; i < layers && board; i++) {
		snprintf(tag, sizeof(tag), "per_layer_grad_norm/layer_%u", i);
		board(ctx, &(struct wse_scalar){tag, wse_sqrt(layer[i])});
	}
	/* squares, as the Model Zoo has them */
	for (uint32_t i = 0; i < tab->n && board; i++) {
		snprintf(tag, sizeof(tag), "gsqnorm/%s", tab->t[i].name);
		board(ctx, &(struct wse_scalar){tag, squares[i]});
	}
	free(layer);
	return 0;
}
