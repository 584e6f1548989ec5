// SPDX-License-Identifier: MIT
/*
 * Texts of wse_printf()'s messages: every conversion against the host's printf, formats that the
 * compiler would refuse, areas and files that are damaged.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf32.h"
#include "print.h"
#include "tap.h"
#include "wse_print_area.h"
#include "wse_regs.h"

static const char formats[] =
	"plain\0%d\0%5.2f|\0%n\0%lld\0%Lf\0%999d\0%s\0%d %d\0%c\0%*.*f\0%-08x|"
	"\0%+i\0%#o\0%e\0%hhd\0%ld\0%\0%q";
static char text[4096];
static size_t length;

static void collect(void *arg, const char *what, size_t len)
{
	(void)arg;
	if (length + len < sizeof(text)) {
		memcpy(text + length, what, len + 1);
		length += len;
	}
}

/* One message of the format that begins with `begin`, in an area of 16 words. */
static int message(const char *begin, uint32_t n, const uint32_t *args, char *why)
{
	uint32_t area[18] = {1 + n, 0};
	struct wse_print p = {.area = WSE_SRAM_BASE,
			      .bytes = sizeof(area),
			      .formats_at = 16,
			      .formats = formats,
			      .nformats = sizeof(formats),
			      .file = "",
			      .size = 0};
	uint32_t at = 0;

	while (strcmp(formats + at, begin))
		at += (uint32_t)strlen(formats + at) + 1;
	area[2] = (at + 16) | n << WSE_PRINT_ARGS_SHIFT;
	memcpy(area + 3, args, 4ul * n);
	length = 0;
	text[0] = 0;
	return wse_print_each(&p, area, collect, NULL, why, 400);
}

static uint32_t bits(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

static void test_conversions(void)
{
	static const struct {
		const char *format, *text;
		uint32_t n, arg[3];
	} all[] = {
		{"plain", "plain", 0, {0}},
		{"%d", "-5", 1, {-5u}},
		{"%5.2f|", " 2.50|", 1, {0x40200000}},
		{"%5.2f|", "  inf|", 1, {0x7f800000}},
		{"%5.2f|", "  nan|", 1, {0x7fc00000}},
		{"%d %d", "1 -1", 2, {1, -1u}},
		{"%-08x|", "abc     |", 1, {0xabc}},
		{"%+i", "+7", 1, {7}},
		{"%#o", "010", 1, {8}},
		{"%e", "1.000000e+00", 1, {0x3f800000}},
		{"%hhd", "-1", 1, {0x1ff}},
		{"%ld", "-2", 1, {-2u}},
		{"%c", "x", 1, {'x'}},
		{"%*.*f", " 1.5", 3, {4, 1, 0x3fc00000}},
		{"%*.*f", "1.5 ", 3, {-4u, 1, 0x3fc00000}},
	};
	char why[400];

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		ok(!message(all[i].format, all[i].n, all[i].arg, why) && !strcmp(text, all[i].text),
		   "\"%s\": \"%s\"", all[i].format, text);
	ok(!message("%e", 1, (uint32_t[]){bits(1e-42f)}, why) && !strcmp(text, "1.000527e-42"),
	   "a subnormal is not flushed: %s", text);
}

static void test_refusals(void)
{
	static const struct {
		const char *format;
		uint32_t n, arg[3];
	} bad[] = {
		{"%n", 1, {0}},
		{"%lld", 2, {1, 0}},
		{"%Lf", 1, {0}},
		{"%999d", 1, {1}},
		{"%d %d", 1, {1}},
		{"plain", 1, {1}},
		{"%d", 2, {1, 2}},
		{"%*.*f", 3, {0x7fffffff, 1, 0}},
		{"%*.*f", 3, {0x80000000, 1, 0}},
		{"%*.*f", 2, {4, 1}},
		{"%", 1, {1}},
		{"%q", 1, {1}},
	};
	char why[400];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		*why = 0;
		ok(message(bad[i].format, bad[i].n, bad[i].arg, why) && *why && !*text,
		   "\"%s\" of %u arguments: %s", bad[i].format, bad[i].n, why);
	}
}

static uint32_t rnd(void)
{
	static uint64_t seed = 1;

	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33);
}

static void ignore(void *arg, const char *what, size_t len)
{
	*(size_t *)arg += strlen(what) <= len;
}

/* whatever file and area say, nothing outside of them is read */
static void test_damage(const char *path)
{
	size_t size = 0, told = 0, found = 0, refused = 0;
	uint8_t *file = elf32_read(path, &size), *copy = malloc(size ? size : 1);
	uint32_t area[128];
	struct wse_print p;
	char why[400];

	if (!ok(file && size, "%s is there", path))
		return;
	wse_print_find(&p, file, size);
	ok(p.bytes == 512 && p.area > WSE_SRAM_BASE && p.nformats && p.formats_at == 16,
	   "area and formats are found");
	for (int i = 0; i < 20000; i++) {
		size_t cut = i % 3 ? size : rnd() % size;
		uint8_t *exact = malloc(cut + 1); /* a byte beyond is an error of ASan's */

		memcpy(copy, file, size);
		for (uint32_t n = rnd() % 8; n--;) /* headers are in front and at the end */
			copy[rnd() & 1 ? rnd() % 200 : size - 1 - rnd() % 2000] ^= (uint8_t)rnd();
		memcpy(exact, copy, cut);
		exact = realloc(exact, cut ? cut : 1);
		wse_print_find(&p, exact, cut);
		found += p.bytes == 512;
		for (size_t w = 0; w < 128; w++)
			area[w] = rnd() % 3 ? rnd() & 0x070000ff : rnd();
		area[0] = rnd() % 140;
		if (p.bytes && p.bytes <= sizeof(area))
			refused += wse_print_each(&p, area, ignore, &told, why, sizeof(why)) != 0;
		free(exact);
	}
	ok(found > 1000 && refused > 1000 && told > 100,
	   "20000 damaged files and areas: %zu with an area, %zu refused, %zu texts", found,
	   refused, told);
	free(file);
	free(copy);
}

int main(void)
{
	test_conversions();
	test_refusals();
	test_damage("build/libwse/tests/device/print_kernel.elf");
	return tap_end();
}
