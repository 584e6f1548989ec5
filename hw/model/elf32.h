/* SPDX-License-Identifier: MIT */
/*
 * Reads a bare-metal RV32 ELF program for one core: what is to be loaded, its sections and symbols.
 * Nothing in the file is trusted.
 */
#ifndef WSE_ELF32_H
#define WSE_ELF32_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF32_SEGMENTS 16u

struct elf32 {
	uint32_t entry;
	uint32_t tohost; /* address of the symbol, 0: there is none */
	bool rvc;	 /* some of it was compiled with compressed instructions */
	unsigned int nsegments;
	struct {
		uint32_t addr, filesz, memsz; /* bytes; memsz - filesz are to be zeroed */
		const uint8_t *data;	      /* into the file */
	} segment[ELF32_SEGMENTS];
};

/* A file of at most 64 MiB, to be freed; NULL with errno. */
void *elf32_read(const char *path, size_t *size);

/*
 * Parses size bytes at file and checks that every segment lies in [base, base + bytes). 0, or
 * -ENOEXEC with one sentence in why (no newline).
 */
int elf32_parse(const void *file, size_t size, uint32_t base, uint32_t bytes, struct elf32 *elf,
		char *why, size_t why_len);

/* a section; what its header says, with the file's bytes of it */
struct elf32_section {
	const char *name;    /* "": the file has none */
	const uint8_t *data; /* into the file; NULL: not there, or not all of it */
	Elf32_Shdr h;
};

/* how many sections the file has, 0: it is no ELF32 file; -1: their table leads out of the file */
int elf32_sections(const void *file, size_t size);
/* section i of them; one that there is not has no name, no data and type SHT_NULL */
struct elf32_section elf32_section(const void *file, size_t size, uint32_t i);

/* a table of symbols, a section of type SHT_SYMTAB, with the names that belong to it */
struct elf32_symbols {
	const uint8_t *at;
	const char *names; /* NULL, as at: not there, or not all of it */
	uint32_t n, bytes; /* symbols; bytes of names */
};

struct elf32_symbols elf32_symbols(const void *file, size_t size, const struct elf32_section *s);
/* symbol i, and its name; "": it has none, or one without an end */
Elf32_Sym elf32_symbol(const struct elf32_symbols *t, uint32_t i, const char **name);

#endif /* WSE_ELF32_H */
