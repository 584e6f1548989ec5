// SPDX-License-Identifier: MIT
/*
 * SHA-256 by OpenSSL, which uses the processor's instructions for it. The functions of its 1.1 API
 * need no memory and cannot fail, unlike those that replace them.
 */
#define OPENSSL_API_COMPAT 10100
#include "sha256.h"

#include <openssl/sha.h>
#include <stdio.h>

_Static_assert(sizeof(SHA256_CTX) <= sizeof(struct wse_sha256), "OpenSSL's state does not fit");

static SHA256_CTX *ctx(struct wse_sha256 *s)
{
	return (SHA256_CTX *)(void *)s->state;
}

void wse_sha256_init(struct wse_sha256 *s)
{
	SHA256_Init(ctx(s));
}

void wse_sha256_add(struct wse_sha256 *s, const void *data, size_t n)
{
	SHA256_Update(ctx(s), data, n);
}

void wse_sha256_hex(struct wse_sha256 *s, char *hex)
{
	unsigned char digest[SHA256_DIGEST_LENGTH];

	SHA256_Final(digest, ctx(s));
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}
