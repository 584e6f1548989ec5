/* SPDX-License-Identifier: MIT */
/* The loop of train.c, for examples that are about something else: NAME FILE [DEVICE [STEPS]]. */
#ifndef LOOP_H
#define LOOP_H

#include <stdio.h>
#include <stdlib.h>
#include <wse/wse.h>

/*
 * Trains a model, prints the loss of some steps; then, if then is not NULL, that. 0 or 1, for
 * main().
 */
static int loop(int argc, char **argv, struct wse_model *model, uint64_t batch,
		int (*then)(struct wse_trainer *t))
{
	const char *device = argc > 2 ? argv[2] : "sim:func,rows=4,cols=4";
	const struct wse_train_shape training = {
		.data = argv[1], .batch = batch, .lr = 2e-3, .max_norm = 1.0};
	struct wse_params *params = NULL;
	struct wse_trainer *trainer = NULL;
	int ret = wse_params_create(&params), steps = argc > 3 ? atoi(argv[3]) : 100;

	if (!ret)
		ret = wse_params_make(params, model, &training);
	if (!ret)
		ret = wse_trainer_open(params, &device, 1, NULL, NULL, &trainer);
	for (int i = 1; i <= steps && !ret; i++) {
		struct wse_step_result r;

		ret = wse_trainer_step(trainer, &r);
		if (!ret && (i == 1 || i % 10 == 0))
			printf("step %d: loss %.4f\n", i, r.loss);
	}
	if (!ret && then)
		ret = then(trainer);
	if (ret)
		fprintf(stderr, "%s\n", wse_error());
	wse_trainer_close(trainer);
	wse_params_destroy(params);
	return ret != 0;
}

#endif
