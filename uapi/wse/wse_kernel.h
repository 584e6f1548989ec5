/* SPDX-License-Identifier: MIT */
/*
 * What the host and the kernels of firmware/ share: programs, entries, argument words, colors, what
 * a linear layer does with its sums. Compiled by both compilers; a START carries one of these
 * structs as its 16 words.
 *
 * Geometry: hidden along x, tokens along y. Core (r, c) of a ROWS x COLS tile holds [N / COLS][T]
 * of every value of width N: the features that column c owns, the T tokens of row r, token index
 * fastest. Addresses are absolute (WSE_SRAM_BASE + offset) and multiples of 16; lengths are in
 * elements. binary32 constants travel as their bits. COLS are the columns that a START takes, the
 * first of the device's: all of them in a program as it is, fewer where libwse wrote their number
 * into it (used_cols() of firmware/lib/ring.h).
 * In these comments h = width / COLS, and K, N are a linear layer's inputs and outputs.
 */
#ifndef WSE_KERNEL_H
#define WSE_KERNEL_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdint.h>
#endif

#include "wse_post.h"

/*
 * Colors. Two where the sender alternates: a color whose route changes at run time must not be used
 * again before every router on its way has seen the change (hw/doc/fabric.md).
 */
enum wse_color {
	WSE_COLOR_STREAM = 0,	/* weights and indices, north edge to every core of a column */
	WSE_COLOR_ROW = 1,	/* 1 and 2: core c sends to c + 1 on WSE_COLOR_ROW + (c & 1) */
	WSE_COLOR_WRAP = 3,	/* column COLS - 1 back to column 0 */
	WSE_COLOR_COL = 4,	/* 4 and 5: row r sends to r + 1 on WSE_COLOR_COL + (r & 1) */
	WSE_COLOR_RESULT = 6,	/* results of kernels of one's own */
	WSE_COLOR_KEYS = 7,	/* 7 and 8: keys and values southward, by round */
	WSE_COLOR_INDEX = 9,	/* index of DOTX, ramp to ramp */
	/* 10 and 11: dK, dV northward, row r sends on WSE_COLOR_KGRAD + (r & 1) */
	WSE_COLOR_KGRAD = 10,
	WSE_COLOR_GROUP = 12,	/* 12 and 13: head groups eastward, by column */
	WSE_COLOR_GROUP_BACK = 14, /* head groups' result westward */
	/*
	 * 15 to 18: exchange of mirrored rows, northward and southward, of queries, then of results
	 */
	WSE_COLOR_SWAP = 15,
	WSE_COLOR_UP = 19,	/* keys and values to a sequence's first row */
	WSE_COLOR_DOWN = 20,	/* 20 and 21: and on, row r to r + 1 on WSE_COLOR_DOWN + (r & 1) */
	WSE_COLOR_GROUP_WRAP = 22, /* a head group's last column back to its first */
};

/*
 * Y = X W^T: the streamed product, forward and to the data (with the transposed image). `out` may
 * be y: the pass reads element i at 4 i before it writes it at 2 i. `out` and `out2` may be a bf16
 * aux, too.
 */
struct wse_linear_args {
	uint32_t x;		/* bf16 [K / COLS][T] */
	uint32_t y;		/* binary32 [N / COLS][T]: sums */
	uint32_t t;		/* tokens per core: a multiple of the lanes */
	uint32_t k;		/* K / COLS */
	uint32_t nblk;		/* blocks of the stream: N / b, a multiple of COLS */
	uint32_t b;		/* features per block: 1, 2 or 4; b * t <= 128 */
	uint32_t post;		/* enum wse_post */
	uint32_t bias;		/* binary32 [N / COLS], or 0 */
	uint32_t aux;		/* [N / COLS][T], by post */
	uint32_t out;		/* bf16 [N / COLS][T], by post */
	uint32_t out2;		/* bf16 [N / COLS][T], by post, or 0 */
	uint32_t scale;		/* binary32, WSE_POST_BF16 */
	uint32_t nscale;	/* features of this core that it multiplies: the first ones */
};

/*
 * dW = dY^T X, and the bias gradient: sums over this core's tokens by the lanes and their tree,
 * then north to south
 */
struct wse_wgrad_args {
	uint32_t x;		/* bf16 [K / COLS][T] */
	uint32_t dy;		/* bf16 [N / COLS][T] */
	uint32_t t, k, nblk, b;	/* as above */
	uint32_t db;		/* binary32 [N / COLS], valid in the last row; 0: no bias */
};

/* out = bf16(a + b), n elements, a multiple of 8; out may be a or b */
struct wse_add_args {
	uint32_t a, b, out;	/* bf16 [n] */
	uint32_t n;
};

/*
 * Layer norm over the width: out = bf16((x - mean) * rstd * gain + bias); t at most 64, out may be
 * x. mean 0: RMS norm, of x as it is; bias 0: none is added. Both in the programs with all kernels
 * (full.elf and its phases) alone.
 */
struct wse_norm_args {
	uint32_t x;		/* bf16 [h][T] */
	uint32_t out;		/* bf16 [h][T] */
	uint32_t gain, bias;	/* binary32 [h] */
	uint32_t mean, rstd;	/* binary32 [T] each, out: kept for the backward pass */
	uint32_t work;		/* wse_norm_work(t) bytes */
	uint32_t t, h;
	uint32_t inv_width;	/* binary32: 1 / (h * COLS), or 1 / width */
	uint32_t eps;		/* binary32 */
	/*
	 * of h * COLS features the first `width` are there; x, gain and bias of the others are 0,
	 * and so is out; 0: all are. Programs with all kernels alone read it
	 */
	uint32_t width;
};

static inline uint32_t wse_norm_work(uint32_t t)
{
	return 4 * 4 * t;
}

/*
 * its backward pass. dres = add ? dres + dx : dx, also as bf16; t at most 64; mean and dbias 0 as
 * above
 */
struct wse_norm_back_args {
	uint32_t dy;		/* binary32 [h][T]; destroyed */
	uint32_t x;		/* bf16 [h][T] */
	uint32_t gain;		/* binary32 [h] */
	uint32_t mean, rstd;	/* binary32 [T] */
	uint32_t dres;		/* binary32 [h][T] */
	uint32_t dres16;	/* bf16 [h][T] */
	uint32_t dgain, dbias;	/* binary32 [h], out, valid in the last row; dgain may be gain */
	uint32_t work;		/* wse_norm_work(t) bytes */
	uint32_t t, h;
	uint32_t inv_width;	/* binary32 */
	uint32_t add;		/* 0 or 1 */
	uint32_t width;		/* as above; dy of the others is 0, dres of them becomes 0 */
};

/*
 * Causal attention of the heads that this column owns (d features each: h = heads * d). Sequences
 * of s tokens lie over s / t neighbouring rows, tokens ascending southward; s / t divides ROWS. q
 * comes scaled by 1 / sqrt(d). t: a multiple of 8 up to 64; d: a multiple of 4. A head may span
 * `group` columns, a divisor of COLS: then d are the features that each of them owns, and q is
 * scaled for d * group. group 0 is 1. Heads of queries may share those of keys and values, heads /
 * kv of them one: q [heads][d][T], k and v [kv][d][T]. Programs with all kernels alone read kv, in
 * others it is heads. With slopes, the score of the key at position p of its sequence gets p times
 * the head's slope (ALiBi: the softmax does not see what is added to all keys alike, here the slope
 * times the token's own position); slopes.elf and its phases alone read them.
 */
struct wse_attn_args {
	uint32_t qkv;		/* bf16 [3][h][T]: q, k, v */
	uint32_t o;		/* bf16 [h][T], out */
	uint32_t max, recip;	/* binary32 [heads][T] each, out, kept: m and 1 / l */
	uint32_t work;		/* wse_attn_work() bytes */
	uint32_t t, s, d, heads, group;
	uint32_t kv;
	/*
	 * binary32, the same in all columns: wse_attn_keys() rows of t, row j of j everywhere, then
	 * the slopes of all columns' heads, heads * COLS / group; 0: there are none
	 */
	uint32_t slopes;
	uint32_t drop;		/* table of struct wse_drop_args; 0: no score is dropped */
};

/* keys whose scores the lanes make at a time */
static inline uint32_t wse_attn_keys(uint32_t t)
{
	return 64 / t;
}

/* keys whose scores they make at a time where these go to memory: as many as fit */
static inline uint32_t wse_attn_wide_keys(uint32_t t)
{
	return 2 * wse_attn_keys(t) < t ? 2 * wse_attn_keys(t) : t;
}

/* rows of t of the table of slopes for so many heads */
static inline uint32_t wse_attn_slope_rows(uint32_t t, uint32_t heads)
{
	return wse_attn_keys(t) + (heads + t - 1) / t;
}

/*
 * Does a core keep all scores of a head: where they are few, or no more than a row's. Otherwise the
 * rows of keys come in one pass.
 */
#define WSE_ATTN_SCORES	2048

static inline int wse_attn_keeps(uint32_t t, uint32_t s)
{
	return s * t <= WSE_ATTN_SCORES || s == t;
}

/*
 * Forward, in halves.elf and its like: do rows mirrored in a sequence exchange half of their
 * tokens' queries, so that all rows have as much to do. The bits are the same. Half a row's tokens
 * must keep the lanes busy, and keys and values of two rows need room. Not with slopes or dropout,
 * which belong to a row's own tokens.
 */
static inline int wse_attn_halves(uint32_t t, uint32_t s, uint32_t d)
{
	return t >= 32 && t % 16 == 0 && s >= 4 * t && s / t % 2 == 0 && 2 * d <= t;
}

/* scores, then P; or those of a row's keys, factors of a token's older sums, and sums of o */
static inline uint32_t wse_attn_work(uint32_t t, uint32_t s, uint32_t d, uint32_t heads)
{
	(void)heads;
	return wse_attn_keeps(t, s) ? 4 * s * t : 4 * t * t + 4 * t + 4 * t * d;
}

/*
 * with halves of rows: these of half the tokens; of a mirrored row queries, o, maxima and sums;
 * keys and values of two rows
 */
static inline uint32_t wse_attn_halves_work(uint32_t t, uint32_t d)
{
	return 2 * t * t + 14 * t + 12 * t * d + 16;
}

/* its backward pass; the gradients of q (times scale), k and v take the places of q, k and v */
struct wse_attn_back_args {
	uint32_t qkv;		/* bf16 [3][h][T]; out: bf16 gradients */
	uint32_t o;		/* bf16 [h][T] */
	uint32_t dout;		/* bf16 [h][T]; destroyed */
	uint32_t max, recip;	/* binary32 [heads][T] */
	uint32_t work;		/* wse_attn_back_work() bytes */
	uint32_t t, s, d, heads, group;
	uint32_t scale;		/* binary32: 1 / sqrt(d) */
	uint32_t kv;		/* as above */
	uint32_t sums;		/* wse_attn_sums() bytes; 0 where heads do not share keys */
	uint32_t slopes;	/* as above */
	union {
		uint32_t drop;	/* as above */
		/* halves_both.elf and its like drop nothing: 1 where rows share their work */
		uint32_t halves;
	};
};

/* gradients of a shared head's keys and values: of a head of queries in bf16, and their sums */
static inline uint32_t wse_attn_sums(uint32_t t, uint32_t d)
{
	return 12 * t * d;
}

/*
 * does a core keep dS of all keys: where it is small, or smaller than that of a row's keys and sums
 * of dq
 */
static inline int wse_attn_keeps_ds(uint32_t t, uint32_t s, uint32_t d)
{
	return s * t <= WSE_ATTN_SCORES / 2 || s <= t + 2 * d;
}

/*
 * Backward, in halves_both.elf and its like: may mirrored rows share their work. dq of the lower
 * half of the rows then is the sum of two parts, and sums over the columns of a head have another
 * order. Not where a core keeps dS of all keys.
 */
static inline int wse_attn_back_halves(uint32_t t, uint32_t s, uint32_t d)
{
	return t >= 16 && !wse_attn_keeps_ds(t, s, d) && s >= 4 * t && s / t % 2 == 0;
}

/* of the row in the middle of a sequence the keys that mirrored rows do for each other */
static inline uint32_t wse_attn_late_keys(uint32_t t)
{
	return t / 16 * 8;
}

/* a sum a token; P of a row's keys; dS, or that of a row's keys and sums of dq */
static inline uint32_t wse_attn_back_work(uint32_t t, uint32_t s, uint32_t d, uint32_t heads)
{
	(void)heads;
	return 4 * t + 2 * t * t + (wse_attn_keeps_ds(t, s, d) ? 2 * s * t : 2 * t * t + 4 * t * d);
}

/*
 * with halves of rows: these, and of a mirrored row queries, g, sums and maxima, keys and values;
 * room behind dS for sums, as long as a chunk of it
 */
static inline uint32_t wse_attn_back_halves_work(uint32_t t, uint32_t d)
{
	return 12 * t + 4 * t * t + 12 * t * d + 128 + 16;
}

/*
 * The same of one row of cores a sequence, whose earlier tokens were done before: the row has
 * tokens [n t, (n + 1) t) of a sequence of at most s, keys and values of the n t before them come
 * from the host, those of its own are in qkv. The same bits as of row n of s / t rows.
 */
struct wse_attn_past_args {
	uint32_t qkv;		/* bf16 [3][h][T]: q, k, v */
	/* bf16 [2][kv * d][s]: k, v; those of the first n t tokens are read */
	uint32_t past;
	uint32_t count;		/* u16: n */
	uint32_t o;		/* bf16 [h][T], out */
	uint32_t work;		/* wse_attn_past_work() bytes */
	uint32_t t, s, d, heads, group;
	uint32_t kv, slopes;	/* as of struct wse_attn_args; full_cached.elf, slopes_cached.elf */
};

/* a maximum and a sum a token, and as above */
static inline uint32_t wse_attn_past_work(uint32_t t, uint32_t s, uint32_t d)
{
	return 8 * t + wse_attn_work(t, s, d, 1);
}

/*
 * Rotary positions, in place: features 2 i and 2 i + 1 of a head turn by the token's angle of pair
 * i, i < pairs; backward by minus the angle. A head may span `group` columns, a divisor of COLS,
 * each with d of its features and their pairs.
 */
struct wse_rope_args {
	uint32_t x;		/* bf16 [heads][d][T]: of queries, then of keys */
	/* binary32 [2][n][T]: cosines, then sines, of this column's; n = min(pairs, d / 2) */
	uint32_t table;
	uint32_t t;		/* at most 64 */
	uint32_t d;		/* even */
	/* pairs of a whole head, which spans `group` columns: the last of them may have none */
	uint32_t heads, pairs, group;
	uint32_t back;		/* 0 or 1 */
};

#define WSE_ROPE_SUMS	64	/* elements of a chunk: half of the accumulators */

/*
 * Dropout: an element is kept where 31 bits, made from the seed, the feature's number and the
 * token's in the micro-batch, are not below its rate; what is kept is multiplied by scale = 1 / (1
 * - rate). Then `add` is added. So no bit depends on a device or on what else a core does. Token i
 * has wse_drop_hash(seed + i * WSE_DROP_STEP), feature j the same of ~seed; wse_drop_stir() of
 * their sum are the bits. Attention drops with a head's keys for features, number head * s + key.
 */
struct wse_drop_args {
	/* out: u32 [T] of tokens, then ~seed, keep, and the bits of scale and 1 / scale */
	uint32_t table;
	uint32_t seed;
	uint32_t keep;		/* 2^31 - rate * 2^31; 0: nothing is dropped */
	uint32_t scale, unscale; /* binary32: 1 / (1 - rate), 1 - rate */
	uint32_t t, h;		/* h 0: the table alone */
	uint32_t x, x32;	/* [h][T], binary32 where x32 is 1, else bf16 */
	uint32_t add, add32;	/* likewise, or 0 */
	uint32_t out, out32;	/* likewise, or 0; out may be x */
	uint32_t out16;		/* bf16 [h][T], or 0 */
};

#define WSE_DROP_STEP	0x9e3779b9u

static inline uint32_t wse_drop_table(uint32_t t)
{
	return 4 * t + 16;
}

static inline uint32_t wse_drop_hash(uint32_t x)
{
	x = (x ^ x >> 16) * 0x7feb352du;
	x = (x ^ x >> 15) * 0x846ca68bu;
	return x ^ x >> 16;
}

/* additions, shifts and exclusive ors, for the lanes have no products of integers */
static inline uint32_t wse_drop_stir(uint32_t x)
{
	x ^= x >> 15;
	x += x << 10;
	x ^= x >> 6;
	x += x << 3;
	x ^= x >> 11;
	x += x << 15;
	return x ^ x >> 13;
}

/*
 * softmax cross-entropy over the columns; dy = bf16((softmax - onehot) * scale), of padding 0; t at
 * most 64
 */
struct wse_loss_args {
	uint32_t y;		/* binary32 [V / COLS][T] logits; destroyed */
	uint32_t dy;		/* bf16 [V / COLS][T] */
	uint32_t target;	/* u16 [T] classes 0 ... V - 1, the same in every column of a row */
	uint32_t loss;		/* binary32 [T]: valid in the column that owns the token's target */
	uint32_t work;		/* binary32 [3][T] */
	uint32_t t;
	uint32_t v;		/* V / COLS */
	uint32_t scale;		/* binary32 */
	uint32_t backward;	/* 0: loss alone */
	/* classes of the whole vocabulary that exist, at most 65536: the rest is padding */
	uint32_t classes;
	/* binary32 [T] in place of scale, 0 for tokens that do not count; 0: scale */
	uint32_t scales;
};

/*
 * The same of a vocabulary that comes in chunks of v * COLS classes: column c has [first + c v,
 * first + (c + 1) v) of the chunk that begins with class `first`. Once through all chunks with
 * loss_part, then loss_join, then once more with loss_grad. The state of a column lies in [4][T]
 * between them: its maximum, its sum of exp, the target's logit and scratch; after loss_join the
 * maximum of all classes and 1 / their sum come first. t at most 64.
 */
struct wse_loss_chunk_args {
	uint32_t y;		/* binary32 [v][T] logits; destroyed */
	uint32_t dy;		/* bf16 [v][T], loss_grad */
	uint32_t target;	/* u16 [T], as above; u32 [T] where classes is above 65536 */
	uint32_t state;		/* binary32 [4][T] */
	/* binary32 [T], loss_join: valid in the column that owns the token's target */
	uint32_t loss;
	uint32_t t;
	uint32_t v;		/* classes of a column and chunk */
	uint32_t first;		/* class of the chunk; loss_part of 0 begins */
	uint32_t classes;	/* that exist */
	uint32_t scale;		/* binary32, loss_grad */
	uint32_t scales;	/* as above */
};

/*
 * Kernels: X(KIND, entry, its struct). The entry is the start function in the programs; libwse
 * makes the operation WSE_OP_KIND of it, whose row is wse_type_entry in the operation's file. Those
 * of WSE_KERNELS are in train.elf; those of WSE_KERNELS_FULL in full.elf and its phases, beside
 * them (slopes.elf and its phases have attention with slopes in place of rotary positions); that of
 * WSE_KERNELS_DROP in drop.elf and its phases, beside all of these; those of a vocabulary in chunks
 * in loss.elf alone; that of text with a past in cached.elf and full_cached.elf.
 */
#define WSE_KERNELS(X) \
	X(LINEAR, linear_forward, wse_linear_args) \
	X(WGRAD, linear_wgrad, wse_wgrad_args) \
	X(ADD, add, wse_add_args) \
	X(NORM, norm, wse_norm_args) \
	X(NORM_BACK, norm_back, wse_norm_back_args) \
	X(ATTN, attn, wse_attn_args) \
	X(ATTN_BACK, attn_back, wse_attn_back_args) \
	X(LOSS, loss, wse_loss_args)
#define WSE_KERNELS_FULL(X) \
	X(ROPE, rope, wse_rope_args)
#define WSE_KERNELS_DROP(X) \
	X(DROP, drop, wse_drop_args)
#define WSE_KERNELS_CHUNKS(X) \
	X(LOSS_PART, loss_part, wse_loss_chunk_args) \
	X(LOSS_JOIN, loss_join, wse_loss_chunk_args) \
	X(LOSS_GRAD, loss_grad, wse_loss_chunk_args)
#define WSE_KERNELS_PAST(X) \
	X(ATTN_PAST, attn_past, wse_attn_past_args)

#define WSE_KERNEL_FITS(kind, entry, args) \
	_Static_assert(sizeof(struct args) <= 64, #args ": a START has 16 argument words");
WSE_KERNELS(WSE_KERNEL_FITS)
WSE_KERNELS_FULL(WSE_KERNEL_FITS)
WSE_KERNELS_DROP(WSE_KERNEL_FITS)
WSE_KERNELS_CHUNKS(WSE_KERNEL_FITS)
WSE_KERNELS_PAST(WSE_KERNEL_FITS)

#endif /* WSE_KERNEL_H */
