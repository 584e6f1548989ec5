/* SPDX-License-Identifier: MIT */
/*
 * The chain of a run: a hash after each step, over the hash before it and what the step was. Who
 * has the text and a checkpoint can make the steps again and compare. A hash is the SHA-256 of
 * lines of text, so that any program can make it of a row of metrics.csv (wse-train(1)).
 */
#ifndef WSE_MEMX_CHAIN_H
#define WSE_MEMX_CHAIN_H

#include <stdint.h>

#define WSE_CHAIN	65  /* 64 hexadecimal digits and the terminating 0 */
#define WSE_CHAIN_START 128 /* of the text about a run's begin */
#define WSE_CHAIN_BATCH 256 /* of the text about a batch */

struct wse_chain_step {
	uint64_t step;
	double loss, lr, norm;
	const char *batch; /* which samples, a line */
};

/* the hash after the step in place of the one before */
void wse_chain_add(char *hash, const struct wse_chain_step *s);

/* 64 digits, lower case */
int wse_chain_is_hash(const char *text);

#endif
