// SPDX-License-Identifier: MIT
/* wse-train --tokenize: a text to a file of tokens. */
#include "wse-train-tokens.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <wse/wse.h>

#include "wse-train-args.h"

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

struct screen {
	int terminal;
	double begin, said;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int progress(void *ctx, uint64_t done, uint64_t total, uint64_t tokens)
{
	struct screen *sc = ctx;
	double t = now(), rate = (double)done / (t - sc->begin + 1e-9);
	char text[160], of[40], left[40];
	long eta = done < total ? (long)((double)(total - done) / (rate + 1e-9) + 0.5) : 0;

	if (!sc->terminal || t - sc->said < 0.2)
		return interrupted;
	sc->said = t;
	snprintf(of, sizeof(of), "/%.1f", (double)total * 1e-6);
	snprintf(left, sizeof(left), "  ETA %ld:%02ld", eta / 60, eta % 60);
	snprintf(text, sizeof(text), "%.1f%s MB  %.1f M tokens  %.1f MB/s%s", (double)done * 1e-6,
		 total ? of : "", (double)tokens * 1e-6, rate * 1e-6, total ? left : "");
	fprintf(stderr, "\r\033[K%.*s", terminal_columns() - 1, text);
	return interrupted;
}

int tokenize_file(const char *text, const char *tokenizer, const char *out, int terminal)
{
	struct screen sc = {terminal, now(), now()};
	struct wse_tokenize how = {.progress = progress, .ctx = &sc};
	/* the second one kills */
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND};
	struct wse_tokenize_result res;
	struct wse_tokenizer_info info;
	struct wse_tokenizer *t;
	int ret = wse_tokenizer_open(tokenizer, &t);

	if (!ret) {
		sigaction(SIGINT, &sa, NULL);
		sigaction(SIGTERM, &sa, NULL);
		wse_tokenizer_info(t, &info);
		ret = wse_tokenize_file(t, text, out, &how, &res);
		wse_tokenizer_close(t);
	}
	if (terminal && sc.said > sc.begin)
		fputs("\r\033[K", stderr);
	if (ret) {
		fprintf(stderr, "wse-train: %s\n", wse_error());
		return ret == -EINTR ? 130 : ret == -EINVAL || ret == -ENOTSUP ? 2 : 1;
	}
	printf("| %s: %llu tokens (uint%u) of %llu bytes, %.2f bytes a token, vocabulary of %u, "
	       "%.1f MB/s\n",
	       out, (unsigned long long)res.tokens, 8 * res.width, (unsigned long long)res.bytes,
	       (double)res.bytes / (double)res.tokens, info.tokens,
	       (double)res.bytes * 1e-6 / (now() - sc.begin + 1e-9));
	return 0;
}
