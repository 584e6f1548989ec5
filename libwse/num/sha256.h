/* SPDX-License-Identifier: MIT */
/* SHA-256 (FIPS 180-4, by OpenSSL): the hash that says whether two checkpoints are the same. */
#ifndef WSE_TRAIN_SHA256_H
#define WSE_TRAIN_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct wse_sha256 {
	uint64_t state[16]; /* OpenSSL's */
};

void wse_sha256_init(struct wse_sha256 *s);
void wse_sha256_add(struct wse_sha256 *s, const void *data, size_t n);
/* hex [65], with the terminating 0 */
void wse_sha256_hex(struct wse_sha256 *s, char *hex);

#endif
