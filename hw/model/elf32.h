/* SPDX-License-Identifier: MIT */
/* Reads a bare-metal RV32 ELF program for one core. Nothing in the file is trusted. */
#ifndef WSE_ELF32_H
#define WSE_ELF32_H

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

#endif /* WSE_ELF32_H */
