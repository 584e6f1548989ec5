// SPDX-License-Identifier: MIT
/* Places in programs: each address of train.elf against addr2line, DWARF 2 to 5, damaged files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lines.h"
#include "tap.h"

#define ADDR2LINE "riscv64-unknown-elf-addr2line"
#define CC                                                             \
	"riscv64-unknown-elf-gcc -march=rv32im_zicsr -mabi=ilp32 -O2 " \
	"-nostdlib -T firmware/runtime/bare.ld"
#define BYTES (4u << 20)

static uint8_t file[BYTES];

static size_t load(const char *path)
{
	FILE *f = fopen(path, "rb");
	size_t n = f ? fread(file, 1, sizeof(file), f) : 0;

	if (f)
		fclose(f);
	return n;
}

/* "FILE:LINE" of the innermost: what stands in brackets, or behind " at " */
static void innermost(const char *text, char *place)
{
	const char *open = strrchr(text, '('), *at = strstr(text, " at ");

	snprintf(place, WSE_LINES_TEXT, "%s", open ? open + 1 : at ? at + 4 : "?");
	place[strcspn(place, ")")] = 0;
}

static void test_addresses(const char *path, uint32_t begin, uint32_t end)
{
	char command[200], text[WSE_LINES_TEXT], mine[WSE_LINES_TEXT], name[300], theirs[300];
	char list[] = "/tmp/wse-lines-XXXXXX", *slash;
	int fd = mkstemp(list), wrong = 0, known = 0;
	size_t size = load(path);
	struct wse_lines l;
	FILE *f = fdopen(fd, "w");

	for (uint32_t pc = begin; pc < end; pc += 4)
		fprintf(f, "%#x\n", pc);
	fclose(f);
	snprintf(command, sizeof(command), ADDR2LINE " -f -e %s <%s", path, list);
	wse_lines_find(&l, file, size);
	f = popen(command, "r");
	for (uint32_t pc = begin; pc < end; pc += 4) {
		if (!fgets(name, sizeof(name), f) || !fgets(theirs, sizeof(theirs), f))
			break;
		theirs[strcspn(theirs, " \n")] = 0; /* "(discriminator 2)" */
		slash = strrchr(theirs, '/');
		slash = slash ? slash + 1 : theirs;
		if (*theirs == '?' || strchr(slash, '?'))
			continue;
		known++;
		wse_lines_place(&l, pc, text);
		innermost(text, mine);
		if (strcmp(mine, slash) && wrong++ < 3)
			printf("# %#x: %s, addr2line: %s", pc, text, theirs);
	}
	pclose(f);
	unlink(list);
	ok(known > 1000 && !wrong, "%s: %d addresses have the lines of addr2line", path, known);
}

static void test_versions(void)
{
	static const char source[] =
		"static int deep(int x)\n{\n\treturn x * *(volatile int *)8;\n}\n"
		"int _start(void)\n{\n\treturn deep(3);\n}\n";
	char dir[] = "/tmp/wse-lines-XXXXXX", command[400], text[WSE_LINES_TEXT];
	struct wse_lines l;
	FILE *f;

	if (!mkdtemp(dir))
		return;
	snprintf(text, sizeof(text), "%s/s.c", dir);
	f = fopen(text, "w");
	fputs(source, f);
	fclose(f);
	for (int v = 1; v <= 5; v++) {
		int failed;

		snprintf(command, sizeof(command),
			 CC " -Wl,--no-warn-rwx-segments -Wl,-Ttext=0x80000100 -gdwarf-%d -o %s/s "
			    "%s/s.c >/dev/null 2>&1",
			 v > 1 ? v : 5, dir, dir);
		failed = system(command);
		snprintf(command, sizeof(command), "%s/s", dir);
		if (v == 1) {
			char strip[500];

			snprintf(strip, sizeof(strip), "riscv64-unknown-elf-strip -g %s", command);
			failed |= system(strip);
		}
		wse_lines_find(&l, file, load(command));
		wse_lines_place(&l, 0x80000100, text);
		if (v == 1)
			ok(!failed && !strcmp(text, "_start"), "without lines the function: %s",
			   text);
		else
			ok(!failed && !strcmp(text, "_start at s.c:7 (s.c:3)") +
					      !strcmp(text, "_start at s.c:3"),
			   "version %d: %s", v, text);
		wse_lines_place(&l, 0x70000000, text);
		ok(!*text, "nothing of an address before all code");
	}
	snprintf(command, sizeof(command), "rm -r %s", dir);
	ok(!system(command), "the folder is gone");
}

/* what is wrong is not found out, but nothing is read that is not there, and it ends */
static void test_damaged(const char *path)
{
	size_t size = load(path);
	char text[WSE_LINES_TEXT];
	struct wse_lines l;
	uint32_t s = 1, named = 0;

	for (int i = 0; i < 300; i++) {
		size_t n;
		uint8_t *copy;

		s = s * 1664525 + 1013904223;
		n = i % 3 ? size : s % (size + 1);
		copy = malloc(n ? n : 1);
		memcpy(copy, file, n);
		for (int k = 0; k < 40 && n; k++) {
			s = s * 1664525 + 1013904223;
			/* mostly where headers and tables are */
			copy[k & 1 ? s % n : n - 1 - s % (n < 2000 ? n : 2000)] =
				(uint8_t)(s >> 13);
		}
		wse_lines_find(&l, copy, n);
		for (uint32_t pc = 0x80000000; pc < 0x8000c000; pc += 0x1234) {
			wse_lines_place(&l, pc, text);
			named += *text != 0;
			if (strlen(text) >= sizeof(text))
				abort();
		}
		free(copy);
	}
	ok(named > 0, "300 damaged files: nothing is read outside, %u places are named", named);
	wse_lines_find(&l, "", 0);
	wse_lines_place(&l, 0x80000000, text);
	ok(!*text, "an empty file knows no place");
}

int main(void)
{
	const char *path = "build/firmware/train.elf";

	if (access(path, R_OK) || system("command -v " ADDR2LINE " >/dev/null")) {
		tap_skip("no build/firmware/train.elf (make all), or no " ADDR2LINE, "places");
		return tap_end();
	}
	/* its .text: of variables addr2line says where they are declared */
	test_addresses(path, 0x80000100, 0x80004280);
	test_versions();
	test_damaged(path);
	return tap_end();
}
