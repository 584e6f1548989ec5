// SPDX-License-Identifier: MIT
/*
 * gpt-ref-train: nanoGPT's CPU recipe in plain fp32 on a text's bytes; the first nine tenths are
 * trained on, the rest is held out. The peer of `make train`, and of libwse/bench/nanogpt_torch.py.
 */
#include <cblas.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ref/gpt_run.h"
#include "wse_release.h"
#include "wse_said.h"

#define REPORT 250 /* steps */
#define HELD   512 /* sequences of a report; the last one takes 8 times as many */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint8_t *read_text(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	uint8_t *text = NULL;
	long size;

	if (!f)
		return NULL;
	if (!fseek(f, 0, SEEK_END) && (size = ftell(f)) >= 0 && !fseek(f, 0, SEEK_SET))
		text = malloc((size_t)size + 1);
	*len = text ? fread(text, 1, (size_t)size, f) : 0;
	fclose(f);
	return text;
}

static int train(const struct gpt_recipe *rc, const uint8_t *text, size_t len, uint32_t threads)
{
	const size_t cut = len / 10 * 9;
	double seconds = 0.0;
	struct gpt_run run;
	int ret = gpt_run_open(&run, rc, 1, threads);

	if (ret)
		return ret;
	printf("%zu parameters, %zu bytes of text, %zu held out, %u threads\n", run.n, len,
	       len - cut, threads);
	while (run.step < rc->steps) {
		uint32_t left = rc->steps - run.step;
		double begin = now(), loss;

		loss = gpt_run_steps(&run, text, cut, left < REPORT ? left : REPORT);
		seconds += now() - begin;
		printf("step %u: training loss %.4f, held-out loss %.4f, %.1f s, %.0f tokens/s\n",
		       run.step, loss,
		       gpt_run_held_out(&run, text + cut, len - cut,
					run.step < rc->steps ? HELD : 8 * HELD),
		       seconds, (double)run.step * rc->batch * rc->seq / seconds);
		fflush(stdout);
	}
	gpt_run_close(&run);
	return 0;
}

int main(int argc, char **argv)
{
	struct gpt_recipe rc = gpt_recipe_nanogpt;
	long steps = argc > 2 ? strtol(argv[2], NULL, 10) : rc.steps;
	long threads = argc > 3 ? strtol(argv[3], NULL, 10) : 2;
	uint8_t *text;
	size_t len = 0;
	int ret;

	if (argc == 2 && !strcmp(argv[1], "--version")) {
		printf("gpt-ref-train " WSE_RELEASE "\n");
		return wse_said("gpt-ref-train", 1);
	}
	if (argc == 2 && !strcmp(argv[1], "--help")) {
		printf("usage: gpt-ref-train TEXT [STEPS [THREADS]]   [--version | --help]\n"
		       "nanoGPT's recipe in plain fp32 on the bytes of a text (default: %u steps, 2 "
		       "threads).\n",
		       rc.steps);
		return wse_said("gpt-ref-train", 1);
	}
	if (argc < 2 || argc > 4 || argv[1][0] == '-' || steps < 1 || steps > 1000000 ||
	    threads < 1 || threads > 64) {
		fprintf(stderr, "usage: gpt-ref-train TEXT [STEPS [THREADS]]\n");
		return 2;
	}
	text = read_text(argv[1], &len);
	if (!text || len < 20 * (rc.seq + 1)) {
		fprintf(stderr, "gpt-ref-train: %s: %s\n", argv[1],
			text ? "too short: 1300 bytes at least" : strerror(errno));
		free(text);
		return 1;
	}
	rc.steps = (uint32_t)steps;
	openblas_set_num_threads((int)threads);
	ret = train(&rc, text, len, (uint32_t)threads);
	if (ret)
		fprintf(stderr, "gpt-ref-train: %s\n", strerror(-ret));
	free(text);
	return ret != 0;
}
