/* SPDX-License-Identifier: MIT */
/*
 * wse_printf() for programs of the cores (hw/doc/printf.md). It formats nothing: it notes the
 * address of the format, which stays in the ELF file, and the arguments; the host makes the text.
 *
 *	wse_printf("row %u: sum %g\n", wse_row(), sum[0]);
 *
 * The format is a string literal, and the compiler refuses arguments that it does not fit. At most
 * 8 arguments: integers and pointers of 32 bits and less (int and long are one type: %d, %u, %x),
 * float and constants of double for %f %e %g %a, and for %s strings of the program, whose text is
 * that of the file. No numbers of 64 bits, no %n.
 *
 * A message that finds no room is counted and dropped; a core never waits. The program has an area
 * of WSE_PRINT_BYTES (a multiple of 8, to be defined before this file is included); with
 * WSE_NO_PRINT defined there is neither area nor code, and formats are still checked.
 */
#ifndef WSE_PRINT_H
#define WSE_PRINT_H

#include "wse_core.h"
#include "wse_print_area.h"

#pragma GCC diagnostic error "-Wformat"

#ifndef WSE_PRINT_BYTES
#define WSE_PRINT_BYTES 512
#endif

/* a bf16 value, as the cores have it in memory, for %g */
static inline float wse_bf16(uint16_t bits)
{
	union { uint32_t u; float f; } v = { .u = (uint32_t)bits << 16 };

	return v.f;
}

struct wse_printf_has_no_numbers_of_64_bits;

static inline __attribute__((format(printf, 1, 2), unused))
void wse_print_check(const char *format, ...)
{
	(void)format;
}

#define WSE_PRINT_TYPE(x) _Generic((x), \
	long: (int)(x), unsigned long: (unsigned int)(x), \
	long long: (struct wse_printf_has_no_numbers_of_64_bits *)0, \
	unsigned long long: (struct wse_printf_has_no_numbers_of_64_bits *)0, \
	long double: (struct wse_printf_has_no_numbers_of_64_bits *)0, \
	default: (x))
#define WSE_PRINT_WORD(x) _Generic((x), \
	float: WSE_F32((float)_Generic((x), float: (x), double: (x), default: 0)), \
	double: WSE_F32((float)_Generic((x), float: (x), double: (x), default: 0)), \
	default: (uint32_t)_Generic((x), float: 0, double: 0, default: (x)))

#define WSE_PRINT_MAP0(m)
#define WSE_PRINT_MAP1(m, a)	  , m(a)
#define WSE_PRINT_MAP2(m, a, ...) , m(a) WSE_PRINT_MAP1(m, __VA_ARGS__)
#define WSE_PRINT_MAP3(m, a, ...) , m(a) WSE_PRINT_MAP2(m, __VA_ARGS__)
#define WSE_PRINT_MAP4(m, a, ...) , m(a) WSE_PRINT_MAP3(m, __VA_ARGS__)
#define WSE_PRINT_MAP5(m, a, ...) , m(a) WSE_PRINT_MAP4(m, __VA_ARGS__)
#define WSE_PRINT_MAP6(m, a, ...) , m(a) WSE_PRINT_MAP5(m, __VA_ARGS__)
#define WSE_PRINT_MAP7(m, a, ...) , m(a) WSE_PRINT_MAP6(m, __VA_ARGS__)
#define WSE_PRINT_MAP8(m, a, ...) , m(a) WSE_PRINT_MAP7(m, __VA_ARGS__)
#define WSE_PRINT_PICK(_0, _1, _2, _3, _4, _5, _6, _7, _8, n, ...) n
#define WSE_PRINT_COUNT(...) \
	WSE_PRINT_PICK(0, ##__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0, wse_printf_takes_8_arguments)
#define WSE_PRINT_JOIN(a, b)	a##b
#define WSE_PRINT_MAPN(n, m, ...) WSE_PRINT_JOIN(WSE_PRINT_MAP, n)(m, ##__VA_ARGS__)
#define WSE_PRINT_MAP(m, ...)	WSE_PRINT_MAPN(WSE_PRINT_COUNT(__VA_ARGS__), m, ##__VA_ARGS__)

#ifdef WSE_NO_PRINT

#define wse_printf(format, ...) do { \
	if (0) \
		wse_print_check(format WSE_PRINT_MAP(WSE_PRINT_TYPE, ##__VA_ARGS__)); \
	} while (0)

#else

#define WSE_PRINT_ROOM ((WSE_PRINT_BYTES - sizeof(struct wse_print_head)) / 4)

_Static_assert(WSE_PRINT_BYTES % 8 == 0 && WSE_PRINT_BYTES >= 64,
	       "WSE_PRINT_BYTES: a multiple of 8, at least 64");

/* one of all files of a program */
__attribute__((weak, aligned(8), used)) struct {
	struct wse_print_head head;
	uint32_t word[WSE_PRINT_ROOM];
} __wse_print;

static __attribute__((noinline, unused)) void wse_print_put(uint32_t head, const uint32_t *arg)
{
	volatile struct wse_print_head *area = &__wse_print.head;
	uint32_t used = area->used, n = head >> WSE_PRINT_ARGS_SHIFT;
	uint32_t *to = &__wse_print.word[used];

	if (used > WSE_PRINT_ROOM || WSE_PRINT_ROOM - used < 1 + n) {
		area->lost++;
		return;
	}
	*to++ = head;
	while (to < &__wse_print.word[used + 1 + n])
		*to++ = *arg++;
	__asm__ volatile("" ::: "memory"); /* `used` says that all of it is there */
	area->used = used + 1 + n;
}

#define wse_printf(format, ...) do { \
	static const char format_[] __attribute__((section(WSE_PRINT_SECTION))) = format; \
	const uint32_t args_[] = {0 WSE_PRINT_MAP(WSE_PRINT_WORD, ##__VA_ARGS__)}; \
	if (0) \
		wse_print_check(format WSE_PRINT_MAP(WSE_PRINT_TYPE, ##__VA_ARGS__)); \
	wse_print_put((uint32_t)format_ | \
		      (uint32_t)WSE_PRINT_COUNT(__VA_ARGS__) << WSE_PRINT_ARGS_SHIFT, \
		      args_ + 1); \
	} while (0)

#endif /* WSE_NO_PRINT */

#endif /* WSE_PRINT_H */
