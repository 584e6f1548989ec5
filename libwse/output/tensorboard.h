/* SPDX-License-Identifier: MIT */
/*
 * Event files of TensorBoard: records of TFRecord's form (length, masked CRC-32C of it, bytes,
 * masked CRC-32C of them), each an Event of tensorflow/core/util/event.proto with scalars.
 */
#ifndef WSE_OUTPUT_TENSORBOARD_H
#define WSE_OUTPUT_TENSORBOARD_H

#include <stddef.h>
#include <stdint.h>

struct wse_scalar {
	const char *tag; /* "train/loss"; at most 100 characters */
	double value;
};

/* A new file in dir, which is made, with those above it, if it is not there; *fd. -errno */
int wse_tensorboard_open(const char *dir, int *fd);
/* an event at the wall clock's time; at most 8 scalars. -errno */
int wse_tensorboard_add(int fd, uint64_t step, const struct wse_scalar *s, uint32_t n);
uint32_t wse_crc32c(const void *bytes, size_t n);

#endif
