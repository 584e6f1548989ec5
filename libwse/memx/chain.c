// SPDX-License-Identifier: MIT
/* The chain of a run. */
#include "memx/chain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "num/decimal.h"
#include "num/sha256.h"

void wse_chain_add(char *hash, const struct wse_chain_step *s)
{
	char line[160], loss[32], lr[32], norm[32];
	struct wse_sha256 sha;
	int n = snprintf(line, sizeof(line), "%" PRIu64 ",%s,%s,%s\n", s->step,
			 wse_f64_text(s->loss, loss), wse_f64_text(s->lr, lr),
			 wse_f64_text(s->norm, norm));

	wse_sha256_init(&sha);
	wse_sha256_add(&sha, hash, WSE_CHAIN - 1);
	wse_sha256_add(&sha, "\n", 1);
	wse_sha256_add(&sha, line, (size_t)n);
	wse_sha256_add(&sha, s->batch, strlen(s->batch));
	wse_sha256_add(&sha, "\n", 1);
	wse_sha256_hex(&sha, hash);
}

int wse_chain_is_hash(const char *text)
{
	return strlen(text) == WSE_CHAIN - 1 && strspn(text, "0123456789abcdef") == WSE_CHAIN - 1;
}
