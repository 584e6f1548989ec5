/* SPDX-License-Identifier: MIT */
/*
 * Stream AXPY and stream DOT, included once for each vector width W (floats; 8 or 16) with
 * NAME(x) a name of its own, and
 *
 *   CELLS	vectors of sums that AXPY holds in registers
 *   TWO	those of a feature that AXPY of two cores holds of each: 1 or 2
 *   PAIR	1: DOT works on two features and two vectors of rows at a time, two lanes after the
 *		other (sixteen registers); 0: on two features and one vector, eight lanes at once
 *	WIDEN(p)	W bf16 at p as binary32
 *	ORDER4(to, a, b, c, d)	vectors at a ... d to memory: a[0] b[0] c[0] d[0] a[1] ...
 *	SPLAT(x)	x in every element
 *	CANON(s)	s, its NaNs canonical
 *	FUSED(a, b, c)	a * b + c, rounded once; asked for only where the products need no
 *		rounding (kernels.h)
 *
 * Every sum is formed in stream order, each product rounded, each addition rounded, so all variants
 * give the same bits; wider vectors only work on more sums at once. MXCSR as in fp.h. Once a sum is
 * NaN it stays one, so it is made canonical at the end.
 */
typedef float NAME(vec) __attribute__((vector_size(4 * W), aligned(4), may_alias));

#define V	 NAME(vec)
#define LOAD(p)	 (*(const V *)(const void *)(p))
#define STORE(p) (*(V *)(void *)(p))
#define INLINE static inline __attribute__((always_inline))

/* ---- AXPY ---- */

#define MAC(a, b, c) (fused ? (V)FUSED(a, b, c) : (V)((c) + (a) * (b)))

/*
 * Values v[nk][nb] into nb x u vectors of sums of each of some cores. x: bf16 rows of one core,
 * stride bytes apart (rows NULL), or binary32 rows of each, tokens apart.
 */
INLINE void NAME(cells)(float *const *acc, const uint8_t *x, int32_t stride,
			const float *const *rows, uint32_t tokens, uint32_t at, const float *v,
			uint32_t nk, const unsigned int cores, const unsigned int nb,
			const unsigned int u, const bool fused)
{
	unsigned int c, f, i;
	V s[2 * CELLS];
	uint32_t k;

	for (c = 0; c < cores; c++)
		for (f = 0; f < nb; f++)
			for (i = 0; i < u; i++)
				s[(c * nb + f) * u + i] = LOAD(acc[c] + f * tokens + at + i * W);
	for (k = 0; k < nk; k++, v += nb) {
		for (c = 0; c < cores; c++) {
			V xv[CELLS];

			for (i = 0; i < u; i++)
				xv[i] = cores > 1 || rows ? LOAD(rows[c] + k * tokens + at + i * W)
					     : WIDEN(x + (at + i * W) * 2);
			for (f = 0; f < nb; f++)
				for (i = 0; i < u; i++) {
					V *to = &s[(c * nb + f) * u + i];

					*to = MAC(SPLAT(v[f]), xv[i], *to);
				}
		}
		x += stride;
	}
	for (c = 0; c < cores; c++)
		for (f = 0; f < nb; f++)
			for (i = 0; i < u; i++)
				STORE(acc[c] + f * tokens + at + i * W) =
					CANON(s[(c * nb + f) * u + i]);
}

/* one core's, all tokens in pieces */
INLINE void NAME(pieces)(float *acc, const uint8_t *x, int32_t stride, const float *rows,
			 uint32_t tokens, const float *v, uint32_t nk, const unsigned int nb,
			 const bool wide, const bool fused)
{
	const unsigned int u = CELLS / nb;
	uint32_t t = 0;

#define PIECE(n)                                                                                 \
	for (; t + (n) * W <= tokens; t += (n) * W)                                              \
	NAME(cells)(&acc, x, stride, wide ? &rows : NULL, tokens, t, v, nk, 1, nb, n, fused)
	PIECE(u);
	if (u >= 8)
		PIECE(4);
	if (u >= 4)
		PIECE(2);
	if (u >= 2)
		PIECE(1);
#undef PIECE
}

INLINE void NAME(by_nb)(uint32_t *acc, const uint8_t *x, int32_t stride, const float *rows,
			uint32_t tokens, unsigned int nb, const float *v, uint32_t nk,
			const bool wide, const bool fused)
{
	float *a = (float *)(void *)acc;

	if (nb == 4)
		NAME(pieces)(a, x, stride, rows, tokens, v, nk, 4, wide, fused);
	else if (nb == 2)
		NAME(pieces)(a, x, stride, rows, tokens, v, nk, 2, wide, fused);
	else
		NAME(pieces)(a, x, stride, rows, tokens, v, nk, 1, wide, fused);
}

static void NAME(axpy_dense)(uint32_t *acc, const uint8_t *x, int32_t stride, uint32_t tokens,
			     unsigned int nb, const float *v, uint32_t nk, bool fused)
{
	if (fused)
		NAME(by_nb)(acc, x, stride, NULL, tokens, nb, v, nk, false, true);
	else
		NAME(by_nb)(acc, x, stride, NULL, tokens, nb, v, nk, false, false);
}

static void NAME(axpy_rows)(uint32_t *acc, const float *r, uint32_t tokens, unsigned int nb,
			    const float *v, uint32_t nk, bool fused)
{
	if (fused)
		NAME(by_nb)(acc, NULL, 0, r, tokens, nb, v, nk, true, true);
	else
		NAME(by_nb)(acc, NULL, 0, r, tokens, nb, v, nk, true, false);
}

INLINE void NAME(two)(float *const *acc, const float *const *r, unsigned int nb, const float *v,
		      uint32_t nk, const unsigned int u, const bool fused)
{
	if (nb == 4)
		NAME(cells)(acc, NULL, 0, r, u * W, 0, v, nk, 2, 4, u, fused);
	else if (nb == 2)
		NAME(cells)(acc, NULL, 0, r, u * W, 0, v, nk, 2, 2, u, fused);
	else
		NAME(cells)(acc, NULL, 0, r, u * W, 0, v, nk, 2, 1, u, fused);
}

/* where one core's sums are few, each addition waits for the last one: another core's go between */
static void NAME(axpy_two)(uint32_t *const acc[2], const float *const r[2], uint32_t tokens,
			   unsigned int nb, const float *v, uint32_t nk, bool fused)
{
	float *a[2] = {(float *)(void *)acc[0], (float *)(void *)acc[1]};

	if (tokens == W && fused) {
		NAME(two)(a, r, nb, v, nk, 1, true);
	} else if (tokens == W) {
		NAME(two)(a, r, nb, v, nk, 1, false);
#if TWO == 2
	} else if (tokens == 2 * W && fused) {
		NAME(two)(a, r, nb, v, nk, 2, true);
#endif
	} else {
		NAME(axpy_rows)(acc[0], r[0], tokens, nb, v, nk, fused);
		NAME(axpy_rows)(acc[1], r[1], tokens, nb, v, nk, fused);
	}
}

/* any order: one wavelet after the other */
static void NAME(axpy)(uint32_t *acc, const uint8_t *x, int32_t stride, uint32_t tokens,
		       const uint32_t *w, uint32_t n)
{
	uint32_t i, t;

	for (i = 0; i < n; i++) {
		const uint8_t *xk = x + (int32_t)(w[i] & 0x3fff) * stride;
		float *a = (float *)(void *)acc + (w[i] >> 14 & 3) * tokens;
		float v = twin_f(w[i] & 0xffff0000u);

		for (t = 0; t < tokens; t += W) {
			V s = LOAD(a + t) + v * WIDEN(xk + t * 2);

			STORE(a + t) = CANON(s);
		}
	}
}

/* v = a + b; v may be one of them */
static void NAME(add)(uint32_t *v, const uint32_t *a, const uint32_t *b, uint32_t n)
{
	uint32_t i;

	for (i = 0; i + W <= n; i += W) {
		V s = LOAD(a + i) + LOAD(b + i);

		STORE(v + i) = CANON(s);
	}
	for (; i < n; i++)
		v[i] = twin_fadd(a[i], b[i]);
}

static void NAME(to_rows)(float *r, const uint8_t *x, int32_t stride, uint32_t tokens,
			  uint32_t rows)
{
	uint32_t k, t;

	for (k = 0; k < rows; k++, x += stride, r += tokens)
		for (t = 0; t < tokens; t += W)
			STORE(r + t) = WIDEN(x + t * 2);
}

/* ---- DOT by columns: a vector holds the sums of neighbouring rows, lane partials are added as
 * whole vectors ---- */

#define TREE(p) (((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7])))

#if PAIR
/* q[feature][vector] = p[l] + p[l + 1] of up to two features and of two vectors of rows */
INLINE void NAME(two_lanes)(const float *a, const float *c, uint32_t tokens,
			    const unsigned int nf, unsigned int l, V q[2][2], const bool fused)
{
	V p[2][2][2] = {0};
	unsigned int f, i, j;
	uint32_t t;

	for (t = l; t < tokens; t += 8)
		for (j = 0; j < 2; j++) {
			V x0 = LOAD(c + (t + j) * TWIN_PANEL);
			V x1 = LOAD(c + (t + j) * TWIN_PANEL + W);

			for (f = 0; f < nf; f++) {
				float y = a[f * tokens + t + j];

				p[j][f][0] = MAC(SPLAT(y), x0, p[j][f][0]);
				p[j][f][1] = MAC(SPLAT(y), x1, p[j][f][1]);
			}
		}
	for (f = 0; f < nf; f++)
		for (i = 0; i < 2; i++)
			q[f][i] = p[0][f][i] + p[1][f][i];
}

/* sums of nf features of 2 W rows into s[feature][row] */
INLINE void NAME(rows_sum)(const float *a, const float *c, uint32_t tokens,
			   const unsigned int nf, float (*s)[2 * W], const bool fused)
{
	V left[2][2], q[2][2], r[2][2];
	unsigned int f, i;

	NAME(two_lanes)(a, c, tokens, nf, 0, q, fused);
	NAME(two_lanes)(a, c, tokens, nf, 2, r, fused);
	for (f = 0; f < nf; f++)
		for (i = 0; i < 2; i++)
			left[f][i] = q[f][i] + r[f][i];
	NAME(two_lanes)(a, c, tokens, nf, 4, q, fused);
	NAME(two_lanes)(a, c, tokens, nf, 6, r, fused);
	for (f = 0; f < nf; f++)
		for (i = 0; i < 2; i++) {
			V v = left[f][i] + (q[f][i] + r[f][i]);

			STORE(&s[f][i * W]) = CANON(v);
		}
}
#define STEP (2 * W)
#else
INLINE void NAME(rows_sum)(const float *a, const float *c, uint32_t tokens,
			   const unsigned int nf, float (*s)[W], const bool fused)
{
	V p[2][8] = {0};
	unsigned int l, f;
	uint32_t t;

	for (t = 0; t < tokens; t += 8)
		for (l = 0; l < 8; l++) {
			V x = LOAD(c + (t + l) * TWIN_PANEL);

			for (f = 0; f < nf; f++)
				p[f][l] = MAC(SPLAT(a[f * tokens + t + l]), x, p[f][l]);
		}
	for (f = 0; f < nf; f++) {
		V q = TREE(p[f]);

		STORE(s[f]) = CANON(q);
	}
}
#define STEP W
#endif

/* s[feature][row] to the order of the stream */
INLINE void NAME(in_order)(uint32_t *out, float (*s)[STEP], const unsigned int nb,
			   uint32_t first, uint32_t n)
{
	unsigned int f;
	uint32_t k = 0;

	if (nb == 4 && n == STEP) {
		for (; k < STEP; k += W)
			ORDER4(out + 4 * k, &s[0][k], &s[1][k], &s[2][k], &s[3][k]);
		return;
	}
	for (; k < n; k++)
		for (f = 0; f < nb; f++)
			out[k * nb + f] = twin_u(s[f][first + k]);
}

INLINE void NAME(dot_nb)(const float *a, const float *c, uint32_t k, uint32_t tokens,
			 const unsigned int nb, uint32_t nk, uint32_t *out, const bool fused)
{
	uint32_t end = k + nk, n, skip;

	for (; k < end; k += n, out += n * nb) {
		const float *from;
		float s[4][STEP];

		skip = k % STEP;
		n = end - k < STEP - skip ? end - k : STEP - skip;
		from = c + (size_t)(k / TWIN_PANEL) * tokens * TWIN_PANEL + (k - skip) % TWIN_PANEL;
		NAME(rows_sum)(a, from, tokens, nb == 1 ? 1 : 2, s, fused);
		if (nb == 4)
			NAME(rows_sum)(a + 2 * tokens, from, tokens, 2, s + 2, fused);
		NAME(in_order)(out, s, nb, skip, n);
	}
}

INLINE void NAME(dot_by_nb)(const float *a, const float *c, uint32_t k, uint32_t tokens,
			    unsigned int nb, uint32_t nk, uint32_t *out, const bool fused)
{
	if (nb == 4)
		NAME(dot_nb)(a, c, k, tokens, 4, nk, out, fused);
	else if (nb == 2)
		NAME(dot_nb)(a, c, k, tokens, 2, nk, out, fused);
	else
		NAME(dot_nb)(a, c, k, tokens, 1, nk, out, fused);
}

static void NAME(dot_cols)(const uint32_t *acc, const float *c, uint32_t k, uint32_t tokens,
			   unsigned int nb, uint32_t nk, uint32_t *out, bool fused)
{
	const float *a = (const float *)(const void *)acc;

	if (fused)
		NAME(dot_by_nb)(a, c, k, tokens, nb, nk, out, true);
	else
		NAME(dot_by_nb)(a, c, k, tokens, nb, nk, out, false);
}

#undef V
#undef LOAD
#undef STORE
#undef CANON
#undef INLINE
#undef MAC
#undef TREE
#undef STEP
