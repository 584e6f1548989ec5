/* SPDX-License-Identifier: MIT */
/*
 * Stream AXPY and stream DOT, included once for each vector width W (floats; 8 or 16) and number of
 * vector REGISTERS (16 or 32), with NAME(x) a name of its own.
 *
 * Every sum is formed in stream order, each product rounded, each addition rounded, so all variants
 * give the same bits; wider vectors only work on more sums at once. MXCSR as in fp.h. Once a sum is
 * NaN it stays one, so it is made canonical at the end. Products are fused with their additions
 * only where they need no rounding (kernels.h).
 */
typedef float NAME(vec) __attribute__((vector_size(4 * W), aligned(4), may_alias));
typedef uint32_t NAME(bits) __attribute__((vector_size(4 * W)));

#define V	 NAME(vec)
#define LOAD(p)	 (*(const V *)(const void *)(p))
#define STORE(p) (*(V *)(void *)(p))
/* W bf16 as binary32; gcc 12 makes two halves of __builtin_convertvector() */
#if W == 16
#define WIDEN(p)                                                                               \
	((V)_mm512_slli_epi32(                                                                 \
		_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)(p))), \
		16))
#else
#define WIDEN(p)               \
	((V)_mm256_slli_epi32( \
		_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)(p))), 16))
#endif
#define INLINE static inline __attribute__((always_inline))

/* sixteen at a time, or eight (included before) where they do not fill vectors of sixteen */
#if W == 16
#define HALVES(are, name, ...)                 \
	do {                                   \
		if (are) {                     \
			name##_8(__VA_ARGS__); \
			return;                \
		}                              \
	} while (0)
#else
#define HALVES(are, ...)
#endif

/* vectors of sums that AXPY holds in registers; those of a feature that AXPY of two cores has */
#define CELLS 8
#define TWO   (REGISTERS / 16)

/* s with NaNs as the canonical one */
INLINE V NAME(canon)(V s)
{
	const NAME(bits) nan = TWIN_NAN - (NAME(bits)){0};
#if W == 16
	const __mmask16 is_nan = _mm512_cmp_ps_mask((__m512)s, (__m512)s, _CMP_UNORD_Q);

	return (V)_mm512_mask_mov_ps((__m512)s, is_nan, (__m512)nan);
#else
	return (V)_mm256_blendv_ps((__m256)s, (__m256)nan,
				   _mm256_cmp_ps((__m256)s, (__m256)s, _CMP_UNORD_Q));
#endif
}

/* x in every element; a * b + c, rounded once */
#if W == 16
#define SPLAT(x)       ((V)_mm512_set1_ps(x))
#define FUSED(a, b, c) ((V)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#else
#define SPLAT(x)       ((V)_mm256_set1_ps(x))
#define FUSED(a, b, c) ((V)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#endif

/* ---- AXPY ---- */

#define MAC(x, b, c) (fused ? FUSED(SPLAT(x), b, c) : (V)((c) + SPLAT(x) * (b)))

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

					*to = MAC(v[f], xv[i], *to);
				}
		}
		x += stride;
	}
	for (c = 0; c < cores; c++)
		for (f = 0; f < nb; f++)
			for (i = 0; i < u; i++)
				STORE(acc[c] + f * tokens + at + i * W) =
					NAME(canon)(s[(c * nb + f) * u + i]);
}

/* one core's, all tokens in pieces */
INLINE void NAME(pieces)(uint32_t *acc, const uint8_t *x, int32_t stride, const float *rows,
			 uint32_t tokens, const float *v, uint32_t nk, const bool wide,
			 const unsigned int nb, const bool fused)
{
	const unsigned int u = CELLS / nb;
	float *a = (float *)(void *)acc;
	uint32_t t = 0;

#define PIECE(n)                                \
	for (; t + (n)*W <= tokens; t += (n)*W) \
	NAME(cells)(&a, x, stride, wide ? &rows : NULL, tokens, t, v, nk, 1, nb, n, fused)
	PIECE(u);
	if (u >= 8)
		PIECE(4);
	if (u >= 4)
		PIECE(2);
	if (u >= 2)
		PIECE(1);
#undef PIECE
}

/* f with nb and fused as constants */
#define BY_NB(f, nb, fused, ...)                  \
	do {                                      \
		if ((nb) == 4)                    \
			f(__VA_ARGS__, 4, fused); \
		else if ((nb) == 2)               \
			f(__VA_ARGS__, 2, fused); \
		else                              \
			f(__VA_ARGS__, 1, fused); \
	} while (0)
#define EACH(f, nb, fused, ...)                           \
	do {                                              \
		if (fused)                                \
			BY_NB(f, nb, true, __VA_ARGS__);  \
		else                                      \
			BY_NB(f, nb, false, __VA_ARGS__); \
	} while (0)

static void NAME(axpy_dense)(uint32_t *acc, const uint8_t *x, int32_t stride, uint32_t tokens,
			     unsigned int nb, const float *v, uint32_t nk, bool fused)
{
	HALVES(tokens % 16, axpy_dense, acc, x, stride, tokens, nb, v, nk, fused);
	EACH(NAME(pieces), nb, fused, acc, x, stride, NULL, tokens, v, nk, false);
}

static void NAME(axpy_rows)(uint32_t *acc, const float *r, uint32_t tokens, unsigned int nb,
			    const float *v, uint32_t nk, bool fused)
{
	HALVES(tokens % 16, axpy_rows, acc, r, tokens, nb, v, nk, fused);
	EACH(NAME(pieces), nb, fused, acc, NULL, 0, r, tokens, v, nk, true);
}

INLINE void NAME(two)(uint32_t *const *acc, const float *const *r, const float *v, uint32_t nk,
		      const unsigned int u, const unsigned int nb, const bool fused)
{
	float *a[2] = {(float *)(void *)acc[0], (float *)(void *)acc[1]};

	NAME(cells)(a, NULL, 0, r, u * W, 0, v, nk, 2, nb, u, fused);
}

/* where one core's sums are few, each addition waits for the last one: another core's go between */
static void NAME(axpy_two)(uint32_t *const acc[2], const float *const r[2], uint32_t tokens,
			   unsigned int nb, const float *v, uint32_t nk, bool fused)
{
	HALVES(tokens % 16, axpy_two, acc, r, tokens, nb, v, nk, fused);
	if (tokens == W) {
		EACH(NAME(two), nb, fused, acc, r, v, nk, 1);
	} else if (TWO == 2 && tokens == 2 * W && fused) {
		EACH(NAME(two), nb, true, acc, r, v, nk, TWO);
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

	HALVES(tokens % 16, axpy, acc, x, stride, tokens, w, n);
	for (i = 0; i < n; i++) {
		const uint8_t *xk = x + (int32_t)(w[i] & 0x3fff) * stride;
		float *a = (float *)(void *)acc + (w[i] >> 14 & 3) * tokens;
		float v = twin_f(w[i] & 0xffff0000u);

		for (t = 0; t < tokens; t += W) {
			V s = LOAD(a + t) + v * WIDEN(xk + t * 2);

			STORE(a + t) = NAME(canon)(s);
		}
	}
}

/* v = a + b; v may be one of them */
static void NAME(add)(uint32_t *v, const uint32_t *a, const uint32_t *b, uint32_t n)
{
	uint32_t i;

	HALVES(n % 16, add, v, a, b, n);
	for (i = 0; i + W <= n; i += W) {
		V s = LOAD(a + i) + LOAD(b + i);

		STORE(v + i) = NAME(canon)(s);
	}
	for (; i < n; i++)
		v[i] = twin_fadd(a[i], b[i]);
}

static void NAME(to_rows)(float *r, const uint8_t *x, int32_t stride, uint32_t tokens,
			  uint32_t rows)
{
	uint32_t k, t;

	HALVES(tokens % 16, to_rows, r, x, stride, tokens, rows);
	for (k = 0; k < rows; k++, x += stride, r += tokens)
		for (t = 0; t < tokens; t += W)
			STORE(r + t) = WIDEN(x + t * 2);
}

/* ---- DOT by columns: a vector holds the sums of neighbouring rows, lane partials are added as
 * whole vectors ---- */

#if REGISTERS == 16
/* q[feature][vector] = p[l] + p[l + 1] of up to two features and of two vectors of rows */
INLINE void NAME(two_lanes)(const float *a, const uint16_t *c, uint32_t tokens,
			    const unsigned int nf, unsigned int l, V q[2][2], const bool fused)
{
	V p[2][2][2] = {0};
	unsigned int f, i, j;
	uint32_t t;

	for (t = l; t < tokens; t += 8)
		for (j = 0; j < 2; j++) {
			V x0 = WIDEN(c + (t + j) * TWIN_PANEL);
			V x1 = WIDEN(c + (t + j) * TWIN_PANEL + W);

			for (f = 0; f < nf; f++) {
				float y = a[f * tokens + t + j];

				p[j][f][0] = MAC(y, x0, p[j][f][0]);
				p[j][f][1] = MAC(y, x1, p[j][f][1]);
			}
		}
	for (f = 0; f < nf; f++)
		for (i = 0; i < 2; i++)
			q[f][i] = p[0][f][i] + p[1][f][i];
}

/* sums of nf features of 2 W rows into s[feature][row] */
INLINE void NAME(rows_sum)(const float *a, const uint16_t *c, uint32_t tokens,
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

			STORE(&s[f][i * W]) = NAME(canon)(v);
		}
}
#define STEP (2 * W)
#else
/* half[feature][l / 4]: sums of four lanes, of l to l + nl - 1, of nf features of W rows */
INLINE void NAME(half_sums)(const float *a, const uint16_t *c, uint32_t tokens,
			    const unsigned int nf, const unsigned int l, const unsigned int nl,
			    V half[4][2], const bool fused)
{
	const float *y[4];
	unsigned int i, f;
	V p[4][8] = {0};
	size_t t;

	for (f = 0; f < nf; f++)
		y[f] = a + (size_t)f * tokens + l;
	c += (size_t)l * TWIN_PANEL;
	for (t = 0; t < tokens; t += 8)
		for (i = 0; i < nl; i++) {
			V x = WIDEN(c + (t + i) * TWIN_PANEL);

			for (f = 0; f < nf; f++)
				p[f][i] = MAC(y[f][t + i], x, p[f][i]);
		}
	for (f = 0; f < nf; f++)
		for (i = 0; i < nl; i += 4)
			half[f][(l + i) / 4] =
				(p[f][i] + p[f][i + 1]) + (p[f][i + 2] + p[f][i + 3]);
}

/* sums of nf features of W rows; of four half of the lanes at a time: as many sums as registers
 * hold, and each value is widened once */
INLINE void NAME(rows_sum)(const float *a, const uint16_t *c, uint32_t tokens,
			   const unsigned int nf, float (*s)[W], const bool fused)
{
	V half[4][2];
	unsigned int f;

	NAME(half_sums)(a, c, tokens, nf, 0, nf == 4 ? 4 : 8, half, fused);
	if (nf == 4)
		NAME(half_sums)(a, c, tokens, nf, 4, 4, half, fused);
	for (f = 0; f < nf; f++) {
		V v = half[f][0] + half[f][1];

		STORE(s[f]) = NAME(canon)(v);
	}
}
#define STEP W
#endif

/* W values of each of four features to the order of the stream: a[0] b[0] c[0] d[0] a[1] ... */
INLINE void NAME(order4)(uint32_t *to, const float *a, const float *b, const float *c,
			 const float *d)
{
#if W == 16
	const NAME(bits) i = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#else
	const NAME(bits) i = {0, 1, 2, 3, 4, 5, 6, 7};
#endif
	/* of two vectors one value of each in turn, two of each */
	const NAME(bits) one = (i >> 1) + (i & 1) * W;
	const NAME(bits) two = (i >> 2) * 2 + (i & 1) + (i >> 1 & 1) * W;
	V ab = __builtin_shuffle(LOAD(a), LOAD(b), one);
	V cd = __builtin_shuffle(LOAD(c), LOAD(d), one);

	STORE(to) = __builtin_shuffle(ab, cd, two);
	STORE(to + W) = __builtin_shuffle(ab, cd, two + W / 2);
	ab = __builtin_shuffle(LOAD(a), LOAD(b), one + W / 2);
	cd = __builtin_shuffle(LOAD(c), LOAD(d), one + W / 2);
	STORE(to + 2 * W) = __builtin_shuffle(ab, cd, two);
	STORE(to + 3 * W) = __builtin_shuffle(ab, cd, two + W / 2);
}

/* s[feature][row] to the order of the stream */
INLINE void NAME(in_order)(uint32_t *out, float (*s)[STEP], const unsigned int nb, uint32_t first,
			   uint32_t n)
{
	unsigned int f;
	uint32_t k = 0;

	if (nb == 4 && n == STEP) {
		for (; k < STEP; k += W)
			NAME(order4)(out + 4 * k, &s[0][k], &s[1][k], &s[2][k], &s[3][k]);
		return;
	}
	for (; k < n; k++)
		for (f = 0; f < nb; f++)
			out[k * nb + f] = twin_u(s[f][first + k]);
}

INLINE void NAME(dot_nb)(const float *a, const uint16_t *c, uint32_t k, uint32_t tokens,
			 uint32_t nk, uint32_t *out, const unsigned int nb, const bool fused)
{
	uint32_t end = k + nk, n, skip;

	for (; k < end; k += n, out += n * nb) {
		const uint16_t *from;
		float s[4][STEP];

		skip = k % STEP;
		n = end - k < STEP - skip ? end - k : STEP - skip;
		from = c + (size_t)(k / TWIN_PANEL) * tokens * TWIN_PANEL + (k - skip) % TWIN_PANEL;
#if REGISTERS == 16
		NAME(rows_sum)(a, from, tokens, nb == 1 ? 1 : 2, s, fused);
		if (nb == 4)
			NAME(rows_sum)(a + 2 * tokens, from, tokens, 2, s + 2, fused);
#else
		NAME(rows_sum)(a, from, tokens, nb, s, fused);
#endif
		NAME(in_order)(out, s, nb, skip, n);
	}
}

static void NAME(dot_cols)(const uint32_t *acc, const uint16_t *c, uint32_t k, uint32_t tokens,
			   unsigned int nb, uint32_t nk, uint32_t *out, bool fused)
{
	const float *a = (const float *)(const void *)acc;

	HALVES(nk <= 8, dot_cols, acc, c, k, tokens, nb, nk, out, fused); /* half a vector */
	EACH(NAME(dot_nb), nb, fused, a, c, k, tokens, nk, out);
}

/* ---- ranges ---- */

static inline struct twin_range NAME(range_of_sums)(const uint32_t *v, uint32_t n)
{
	int32_t last = 0, least = 0;
	uint32_t low = 0, i;

	for (i = 0; i < n; i++) {
		int32_t e = (int32_t)(v[i] >> 16 & TWIN_EXP_BF16), left = e ? TWIN_EXP_BF16 - e : 0;

		low |= v[i];
		last = e > last ? e : last;
		least = left > least ? left : least;
	}
	if (low & 0xffff)
		return TWIN_RANGE_ANY;
	return twin_range_between((struct twin_ends){(int16_t)last, (int16_t)least});
}

#undef V
#undef LOAD
#undef STORE
#undef WIDEN
#undef SPLAT
#undef FUSED
#undef INLINE
#undef CELLS
#undef TWO
#undef BY_NB
#undef EACH
#undef MAC
#undef STEP
#undef HALVES
