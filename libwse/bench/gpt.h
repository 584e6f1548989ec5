/* SPDX-License-Identifier: MIT */
/* The GPT of the benchmarks. */
#ifndef WSE_BENCH_GPT_H
#define WSE_BENCH_GPT_H

#include <stdint.h>

struct wse_session;

/*
 * n devices of one uri with a small GPT (bench/gpt.c); sets: configuration on top of that. 0 or a
 * negative errno with its sentence; -ENOTSUP: the uri's tile was not built
 */
int bench_session(struct wse_session *s, const char *uri, uint32_t n, const char *const *sets,
		  uint32_t nsets);

#endif
