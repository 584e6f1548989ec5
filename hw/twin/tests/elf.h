/* SPDX-License-Identifier: MIT */
/* Just enough of ELF32 for tests: loads a program that we built ourselves into a core's image,
 * finds symbols. */
#ifndef WSE_TEST_ELF_H
#define WSE_TEST_ELF_H

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wse_regs.h"

struct elf {
	uint8_t *file;
	size_t size;
};

static inline int elf_open(struct elf *e, const char *name)
{
	FILE *f = fopen(name, "rb");

	memset(e, 0, sizeof(*e));
	if (!f)
		return -1;
	e->file = malloc(1 << 20);
	e->size = fread(e->file, 1, 1 << 20, f);
	fclose(f);
	return e->size > sizeof(Elf32_Ehdr) && !memcmp(e->file, ELFMAG, SELFMAG) ? 0 : -1;
}

/* copies what is loaded into image[WSE_SRAM_BYTES]; the highest offset used, 0: it does not fit */
static inline uint32_t elf_load(const struct elf *e, uint8_t *image)
{
	const Elf32_Ehdr *h = (const void *)e->file;
	const Elf32_Phdr *p = (const void *)(e->file + h->e_phoff);
	uint32_t end = 0, off, i;

	for (i = 0; i < h->e_phnum; i++) {
		off = p[i].p_paddr - WSE_SRAM_BASE;
		if (p[i].p_type != PT_LOAD || off >= WSE_SRAM_BYTES ||
		    p[i].p_memsz > WSE_SRAM_BYTES - off)
			continue;
		memcpy(image + off, e->file + p[i].p_offset, p[i].p_filesz);
		memset(image + off + p[i].p_filesz, 0, p[i].p_memsz - p[i].p_filesz);
		end = off + p[i].p_memsz > end ? off + p[i].p_memsz : end;
	}
	return end;
}

/* address of a symbol, 0: none */
static inline uint32_t elf_symbol(const struct elf *e, const char *name)
{
	const Elf32_Ehdr *h = (const void *)e->file;
	const Elf32_Shdr *s = (const void *)(e->file + h->e_shoff);
	uint32_t i, j;

	for (i = 0; i < h->e_shnum; i++) {
		const Elf32_Sym *y = (const void *)(e->file + s[i].sh_offset);
		const char *str = (const char *)e->file + s[s[i].sh_link].sh_offset;

		if (s[i].sh_type != SHT_SYMTAB)
			continue;
		for (j = 0; j < s[i].sh_size / sizeof(*y); j++)
			if (!strcmp(str + y[j].st_name, name))
				return y[j].st_value;
	}
	return 0;
}

#endif /* WSE_TEST_ELF_H */
