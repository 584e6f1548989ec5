/* SPDX-License-Identifier: MIT */
/*
 * The hash of a checkpoint while it is written: its bytes are in the order of the file then, and
 * need not be read again. A thread of its own adds them up behind the writer, which waits for it
 * only when it is WSE_CKPT_BEHIND bytes ahead.
 */
#ifndef WSE_MEMX_CKPT_HASH_H
#define WSE_MEMX_CKPT_HASH_H

#include "safetensors.h"

#define WSE_CKPT_BEHIND (2u << 20) /* a power of two */

struct wse_ckpt_hash;

/* of what st describes, which stays until the end; NULL: no memory, or no thread */
struct wse_ckpt_hash *wse_ckpt_hash_begin(const struct wse_st *st);
/* wse_st.seen; ctx: the hash */
void wse_ckpt_hash_seen(void *ctx, uint32_t i, const void *data, size_t bytes);
/* hex [65]: as wse_ckpt_hash() has it of the file; or NULL. h NULL: "" */
void wse_ckpt_hash_end(struct wse_ckpt_hash *h, char *hex);

#endif
