// SPDX-License-Identifier: MIT
/*
 * Trains a language model on a text file and prints the loss:
 *
 *	train FILE [DEVICE [STEPS]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <wse/wse.h>

int main(int argc, char **argv)
{
	const char *device = argc > 2 ? argv[2] : "sim:func,rows=4,cols=4";
	const uint32_t hidden[] = {128, 128};
	const struct wse_mlp_shape shape = {.vocab = 256,
					    .window = 8,
					    .embed = 16,
					    .nhidden = 2,
					    .hidden = hidden,
					    .activation = WSE_GELU_NEW};
	const struct wse_train_shape training = {
		.data = argv[1], .batch = 256, .lr = 2e-3, .max_norm = 1.0};
	struct wse_model *model = NULL;
	struct wse_params *params = NULL;
	struct wse_trainer *trainer = NULL;
	struct wse_step_result r;
	int steps = argc > 3 ? atoi(argv[3]) : 100;
	int ret = argc < 2 ? -1 : wse_model_mlp(&shape, &model);

	ret = ret ? ret : wse_params_create(&params);
	ret = ret ? ret : wse_params_make(params, model, &training);
	ret = ret ? ret : wse_trainer_open(params, &device, 1, NULL, NULL, &trainer);
	for (int i = 1; i <= steps && !ret; i++) {
		ret = wse_trainer_step(trainer, &r);
		if (!ret && (i == 1 || i % 10 == 0))
			printf("step %d: loss %.4f\n", i, r.loss);
	}
	if (ret)
		fprintf(stderr, "%s\n",
			argc < 2 ? "usage: train FILE [DEVICE [STEPS]]" : wse_error());
	wse_trainer_close(trainer);
	wse_params_destroy(params);
	wse_model_destroy(model);
	return ret != 0;
}
