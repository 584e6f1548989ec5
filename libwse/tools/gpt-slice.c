// SPDX-License-Identifier: MIT
/*
 * gpt-slice: slices of three gradients of a GPT's first step against the plain fp32 reference. The
 * step was made at a rate of 0 without clipping, on the first sample of a text of bytes: its
 * checkpoint has the weights that it began with, and in AdamW's first moment (1 - beta1) times the
 * gradient.
 */
#include <cblas.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "memx/hf.h"
#include "memx/safetensors.h"
#include "ref/gpt_ref.h"
#include "wse_release.h"
#include "wse_said.h"

#define BETA1 0.9
#define CLOSE 0.05 /* of a slice's length: storage is bf16 on the wafer */

/* sizes, as the checkpoint says them */
static int read_sizes(const struct wse_st_file *f, struct gpt_ref_cfg *c, uint32_t *seq)
{
	const char *model = wse_st_get(f->meta, f->nmeta, "wse.model");

	*c = (struct gpt_ref_cfg){.act = GPT_REF_GELU, .eps = 1e-5f, .tied = 1};
	if (!model ||
	    sscanf(model, "gpt layers=%u hidden=%u heads=%u filter=%u vocab=%u positions=%u seq=%u",
		   &c->layers, &c->hidden, &c->heads, &c->filter, &c->vocab, &c->positions,
		   seq) != 7 ||
	    c->vocab != 256 || !strstr(model, "act=gelu"))
		return wse_fail(-EINVAL, "no checkpoint of a tied GPT of bytes with GELU: %s",
				model ? model : "no model");
	return gpt_ref_check(c);
}

static int read_params(const char *path, const struct gpt_ref_cfg *c, float *params)
{
	uint32_t n = gpt_ref_ntensors(c);
	struct gpt_ref_tensor *t = calloc(n, sizeof(*t));
	struct wse_hf_tensor *table = calloc(n, sizeof(*table));
	int ret = t && table ? 0 : wse_fail(-ENOMEM, "no memory");

	for (uint32_t i = 0; i < n && !ret; i++) {
		t[i] = gpt_ref_tensor(c, i);
		table[i] = (struct wse_hf_tensor){
			.name = t[i].name,
			.ndim = t[i].ndim,
			.dim = {t[i].dim[0], t[i].ndim > 1 ? t[i].dim[1] : 1},
			.transposed = t[i].transposed,
			.data = params + t[i].off,
		};
	}
	ret = ret ? ret : wse_hf_read(path, table, n);
	free(t);
	free(table);
	return ret;
}

static int read_tokens(const char *path, uint16_t *tokens, uint32_t n)
{
	FILE *f = fopen(path, "rb");
	int c = 0;

	for (uint32_t i = 0; f && i < n && c >= 0; i++) {
		c = fgetc(f);
		tokens[i] = (uint16_t)c;
	}
	if (f)
		fclose(f);
	return f && c >= 0 ? 0 : wse_fail(-EINVAL, "%.200s: no text of %u bytes", path, n);
}

/* gradients of what one input of a layer meets: a row of the file */
static int compare(const struct wse_st_file *f, const struct gpt_ref_cfg *c, uint32_t k,
		   const float *grads)
{
	struct gpt_ref_tensor t = gpt_ref_tensor(c, gpt_ref_in_block(0, k));
	uint32_t outs = t.dim[0], ins = t.dim[1], at = ins / 3;
	const struct wse_st_view *v;
	double far = 0, len = 0;
	char name[128];
	float *row = malloc(outs * sizeof(*row));
	int ret;

	snprintf(name, sizeof(name), "optimizer.exp_avg.%s", t.name);
	v = wse_st_view(f, name);
	ret = !row ? wse_fail(-ENOMEM, "no memory")
	      : !v ? wse_fail(-EINVAL, "there is no %s", name)
		   : wse_st_pread(v, (uint64_t)at * outs * sizeof(float), outs * sizeof(float),
				  row);
	for (uint32_t i = 0; i < outs && !ret; i++) {
		double is = row[i] / (1 - BETA1), ref = grads[t.off + (size_t)i * ins + at];

		far += (is - ref) * (is - ref);
		len += ref * ref;
	}
	free(row);
	if (ret)
		return ret;
	printf("%s [%u][:]: %.4f of its length off\n", t.name, at, sqrt(far / len));
	return sqrt(far / len) < CLOSE && len > 0
		       ? 0
		       : wse_fail(-EILSEQ, "%s is not the reference's gradient", t.name);
}

static int slice(const char *path, const char *text)
{
	static const uint32_t which[] = {GPT_QKV_W, GPT_FC1_W, GPT_FC2_W};
	float *params = NULL, *grads = NULL;
	uint16_t *tokens = NULL;
	struct gpt_ref *ref = NULL;
	struct wse_st_file f = {0};
	struct gpt_ref_cfg c;
	double loss = 0;
	uint32_t seq;
	size_t n;
	int ret = wse_st_open(path, &f);

	ret = ret ? ret : read_sizes(&f, &c, &seq);
	if (ret)
		goto out;
	n = gpt_ref_nparams(&c);
	params = malloc(n * sizeof(*params));
	grads = malloc(n * sizeof(*grads));
	tokens = malloc((seq + 1ul) * sizeof(*tokens));
	ret = params && grads && tokens ? 0 : wse_fail(-ENOMEM, "no memory");
	ret = ret ? ret : read_params(path, &c, params);
	ret = ret ? ret : read_tokens(text, tokens, seq + 1);
	ret = ret ? ret : gpt_ref_open(&ref, &c, 1, seq, 2);
	if (!ret)
		loss = gpt_ref_loss(ref, params, tokens, 1, grads, NULL);
	for (int i = 0; i < 3 && !ret; i++)
		ret = compare(&f, &c, which[i], grads);
	if (!ret)
		printf("loss %.6f\n", loss);
	gpt_ref_close(ref);
out:
	free(params);
	free(grads);
	free(tokens);
	wse_st_close(&f);
	return ret;
}

int main(int argc, char **argv)
{
	if (argc != 3 || argv[1][0] == '-') {
		printf("usage: gpt-slice CHECKPOINT TEXT\n"
		       "Slices of three gradients of a GPT's first step, made at a rate of 0 on the "
		       "text's first bytes,\nagainst the fp32 reference (release %s)\n",
		       WSE_RELEASE);
		return argc == 2 && !strcmp(argv[1], "--help") ? wse_said("gpt-slice", 1) : 2;
	}
	openblas_set_num_threads(2);
	if (!slice(argv[1], argv[2]))
		return 0;
	fprintf(stderr, "gpt-slice: %s\n", wse_error());
	return 1;
}
