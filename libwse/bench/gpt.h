/* SPDX-License-Identifier: MIT */
/* The GPT of the benchmarks. */
#ifndef WSE_BENCH_GPT_H
#define WSE_BENCH_GPT_H

#include <stdint.h>

struct wse_session;

/*
 * n devices (at most 2) of one uri with a small GPT (bench/gpt.c); sets: configuration on top of
 * that; rank, ranks: as in wse_session_open_part(). 0 or a
 * negative errno with its sentence; -ENOTSUP: the uri's tile was not built
 */
int bench_session(struct wse_session *s, const char *uri, uint32_t n, const char *const *sets,
		  uint32_t nsets, uint32_t rank, uint32_t ranks);

#endif
