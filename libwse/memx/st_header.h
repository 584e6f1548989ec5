/* SPDX-License-Identifier: MIT */
/* The JSON header of a safetensors file, and its seal. */
#ifndef WSE_MEMX_ST_HEADER_H
#define WSE_MEMX_ST_HEADER_H

#include "memx/safetensors.h"

/*
 * The seal: metadata entry with the SHA-256 of length and header, its own digits taken as zeros.
 * The header holds a checksum of each tensor, so no bit of the file can change unseen.
 */
#define WSE_ST_SEAL	"header.sha256"
#define WSE_ST_SEAL_LEN 64

/* header [len], at: where the seal's digits are in it; hex [WSE_ST_SEAL_LEN + 1] */
void wse_st_seal(const char *header, uint64_t len, size_t at, char *hex);

/*
 * Fills in views and meta of f (empty so far), whose data are `bytes` bytes from byte `data` of the
 * file on: every tensor lies in them, no two share a byte, and no byte is left over. text [len] is
 * the header; it is overwritten, and names and values point into it. *seal: where the seal's digits
 * are in it, or -1. -EBADMSG for what is no such header, -ENOMEM.
 */
int wse_st_header(char *text, uint64_t len, uint64_t data, uint64_t bytes, struct wse_st_file *f,
		  int64_t *seal);

#endif
