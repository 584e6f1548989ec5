// SPDX-License-Identifier: MIT
/*
 * train.c with another model, a GPT of two blocks, and a text from it at the end:
 *
 *	gpt FILE [DEVICE [STEPS]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <wse/wse.h>

int main(int argc, char **argv)
{
	const char *device = argc > 2 ? argv[2] : "sim:func,rows=4,cols=4";
	const struct wse_gpt_shape shape = {.vocab = 256,
					    .positions = 32,
					    .hidden = 64,
					    .layers = 2,
					    .heads = 4,
					    .activation = WSE_GELU};
	const struct wse_train_shape training = {
		.data = argv[1], .batch = 16, .lr = 2e-3, .max_norm = 1.0};
	const struct wse_sampling how = {
		.prompt = "The ", .prompt_len = 4, .n = 60, .temperature = 0.8, .streams = 1};
	struct wse_model *model = NULL;
	struct wse_params *params = NULL;
	struct wse_trainer *trainer = NULL;
	struct wse_step_result r;
	char text[60 + 1];
	int steps = argc > 3 ? atoi(argv[3]) : 100;
	int ret = argc < 2 ? -1 : wse_model_gpt(&shape, &model);

	ret = ret ? ret : wse_params_create(&params);
	ret = ret ? ret : wse_params_make(params, model, &training);
	ret = ret ? ret : wse_trainer_open(params, &device, 1, NULL, NULL, &trainer);
	for (int i = 1; i <= steps && !ret; i++) {
		ret = wse_trainer_step(trainer, &r);
		if (!ret && (i == 1 || i % 10 == 0))
			printf("step %d: loss %.4f\n", i, r.loss);
	}
	ret = ret ? ret : wse_trainer_generate(trainer, &how, text);
	if (ret)
		fprintf(stderr, "%s\n",
			argc < 2 ? "usage: gpt FILE [DEVICE [STEPS]]" : wse_error());
	else
		printf("%s%s\n", how.prompt, text);
	wse_trainer_close(trainer);
	wse_params_destroy(params);
	wse_model_destroy(model);
	return ret != 0;
}
