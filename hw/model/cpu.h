/* SPDX-License-Identifier: MIT */
/*
 * Which vector extensions of the processor may be used, as glibc sees it: a user, or a test, can
 * take some away with GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F,-AVX2. All code behind these gives
 * the same bits. Processors that are not x86-64 have none of them. AVX2 is meant with FMA, as all
 * processors of Intel and AMD have it.
 */
#ifndef WSE_MODEL_CPU_H
#define WSE_MODEL_CPU_H

#include <stdbool.h>

#ifdef __x86_64__
#include <sys/platform/x86.h>

/* as CPU_FEATURE_ACTIVE, whose shift into the sign bit the sanitizer objects to */
static inline bool wse_cpu_active(unsigned int index)
{
	const struct cpuid_feature *leaf = __x86_get_cpuid_feature_leaf(index / 128);

	return leaf->active_array[index % 128 / 32] >> index % 32 & 1;
}
#define WSE_CPU_ACTIVE(name) wse_cpu_active(x86_cpu_##name)
#else
#define WSE_CPU_ACTIVE(name) false
#endif

static inline bool wse_cpu_avx2(void)
{
	return WSE_CPU_ACTIVE(AVX2) && WSE_CPU_ACTIVE(FMA);
}

static inline bool wse_cpu_avx512(void)
{
	return wse_cpu_avx2() && WSE_CPU_ACTIVE(AVX512F) && WSE_CPU_ACTIVE(AVX512BW) &&
	       WSE_CPU_ACTIVE(AVX512DQ) && WSE_CPU_ACTIVE(AVX512VL);
}

#endif /* WSE_MODEL_CPU_H */
