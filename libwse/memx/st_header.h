/* SPDX-License-Identifier: MIT */
/* The JSON header of a safetensors file. */
#ifndef WSE_MEMX_ST_HEADER_H
#define WSE_MEMX_ST_HEADER_H

#include "memx/safetensors.h"

/* metadata entry with the checksum of the header itself: 64 hexadecimal digits */
#define WSE_ST_SEAL	"header.sha256"
#define WSE_ST_SEAL_LEN 64

/*
 * Fills in views and meta of f (empty so far), whose data are `bytes` bytes at `data`: every tensor
 * lies in them, no two share a byte, and no byte is left over. text [len] is the header; it is
 * overwritten, and names and values point into it. *seal: where the seal's digits are in it, or -1.
 * -EBADMSG for what is no such header, -ENOMEM.
 */
int wse_st_header(char *text, uint64_t len, const char *data, uint64_t bytes, struct wse_st_file *f,
		  int64_t *seal);

#endif
