/* SPDX-License-Identifier: MIT */
/* Trainers of the MLP of examples/own.c, ready-made and of one's own, on a short text. */
#ifndef WSE_TEST_OWN_MODEL_H
#define WSE_TEST_OWN_MODEL_H

#include <string.h>

#include <wse/wse.h>

#define main example_main
#include "../../examples/own.c"
#undef main

#include "own_dir.h"

static char text_file[64];
static const char *const uri = "oracle:rows=2,cols=2";

static const uint32_t one_hidden[] = {HIDDEN};
static const struct wse_mlp_shape mlp = {.vocab = VOCAB,
					 .window = WINDOW,
					 .embed = EMBED,
					 .nhidden = 1,
					 .hidden = one_hidden,
					 .activation = WSE_GELU_NEW};

static struct wse_train_shape training(void)
{
	return (struct wse_train_shape){.data = text_file,
					.batch = 64,
					.micro_batch = 16,
					.lr = 2e-3,
					.max_norm = 1.0,
					.held_out = 256};
}

static void write_text(void)
{
	FILE *f;

	snprintf(text_file, sizeof(text_file), "%s/text", dir);
	f = fopen(text_file, "w");
	for (uint32_t i = 0, s = 1; f && i < 4000; i++) {
		s = s * 69069 + 1;
		fputc("the quick brown fox jumps\n"[s >> 16 & 15], f);
	}
	if (f)
		fclose(f);
}

/* the call failed with this errno, and its sentence has these words */
static int is(int ret, int want, const char *words)
{
	if (ret == want && strstr(wse_error(), words))
		return 1;
	printf("# %d \"%s\"; expected %d \"%s\"\n", ret, wse_error(), want, words);
	return 0;
}

/* a trainer of model, which is destroyed; devices: oracles, or n twins */
static struct wse_trainer *open_model(struct wse_model *model, const char *device, uint32_t n)
{
	struct wse_train_shape shape = training();
	const char *uris[4] = {device, device, device, device};
	struct wse_params *p = NULL;
	struct wse_trainer *t = NULL;
	int ret = wse_params_create(&p);

	ret = ret ? ret : wse_params_make(p, model, &shape);
	wse_model_destroy(model);
	ret = ret ? ret : wse_trainer_open(p, uris, n, NULL, NULL, &t);
	if (ret)
		printf("# %s\n", wse_error());
	wse_params_destroy(p);
	return t;
}

static struct wse_trainer *open_mlp(uint32_t n)
{
	struct wse_model *m = NULL;

	return wse_model_mlp(&mlp, &m) ? NULL : open_model(m, uri, n);
}

#endif /* WSE_TEST_OWN_MODEL_H */
