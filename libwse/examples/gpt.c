// SPDX-License-Identifier: MIT
/*
 * train.c with another model, a GPT of two blocks, and a text from it at the end:
 *
 *	gpt FILE [DEVICE [STEPS]]
 */
#include "loop.h"

static int sample(struct wse_trainer *trainer)
{
	const struct wse_sampling how = {
		.prompt = "The ", .prompt_len = 4, .n = 60, .temperature = 0.8, .streams = 1};
	char text[60 + 1];
	int ret = wse_trainer_generate(trainer, &how, text);

	if (!ret)
		printf("%s%s\n", how.prompt, text);
	return ret;
}

int main(int argc, char **argv)
{
	const struct wse_gpt_shape shape = {.vocab = 256,
					    .positions = 32,
					    .hidden = 64,
					    .layers = 2,
					    .heads = 4,
					    .activation = WSE_GELU_NEW};
	struct wse_model *model;
	int ret;

	if (argc < 2 || wse_model_gpt(&shape, &model)) {
		fprintf(stderr, "%s\n",
			argc < 2 ? "usage: gpt FILE [DEVICE [STEPS]]" : wse_error());
		return 1;
	}
	ret = loop(argc, argv, model, 16, sample);
	wse_model_destroy(model);
	return ret;
}
