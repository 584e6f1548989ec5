// SPDX-License-Identifier: MIT
#include "elf32.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef EF_RISCV_RVC
#define EF_RISCV_RVC 1
#endif

#define refuse(...) (snprintf(why, why_len, __VA_ARGS__), -ENOEXEC)

void *elf32_read(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	char *buf = NULL;
	size_t room = 0, n = 0;

	if (!f)
		return NULL;
	do {
		char *p;

		if (room > 1u << 26) { /* no program for 48 KiB is that large */
			errno = EFBIG;
			goto fail;
		}
		room = room ? 2 * room : 1u << 16;
		p = realloc(buf, room);
		if (!p)
			goto fail;
		buf = p;
		n += fread(buf + n, 1, room - n, f);
	} while (n == room);
	if (ferror(f))
		goto fail;
	fclose(f);
	*size = n;
	return buf;
fail:
	fclose(f);
	free(buf);
	return NULL;
}

static bool inside(size_t size, uint64_t offset, uint64_t len)
{
	return offset <= size && len <= size - offset;
}

static int check_header(const uint8_t *f, size_t size, Elf32_Ehdr *h, char *why, size_t why_len)
{
	if (size < EI_NIDENT || memcmp(f, ELFMAG, SELFMAG))
		return refuse("not an ELF file");
	/* the machine stands at the same place in 32- and 64-bit headers */
	if (size < sizeof(*h))
		return refuse("ELF header cut short");
	memcpy(h, f, sizeof(*h));
	if (h->e_machine != EM_RISCV)
		return refuse("ELF file for another machine (%u), not RISC-V (%u)", h->e_machine,
			      EM_RISCV);
	if (h->e_ident[EI_CLASS] != ELFCLASS32)
		return refuse("RV64 program: the cores are RV32, build with -march=rv32im_zicsr "
			      "-mabi=ilp32");
	if (h->e_ident[EI_DATA] != ELFDATA2LSB)
		return refuse("big-endian program");
	if (h->e_type != ET_EXEC)
		return refuse(
			"not a linked executable (ELF type %u): link it statically, without -pie",
			h->e_type);
	if (h->e_phentsize != sizeof(Elf32_Phdr) || !h->e_phnum ||
	    !inside(size, h->e_phoff, (uint64_t)h->e_phnum * sizeof(Elf32_Phdr)))
		return refuse("bad program headers");
	return 0;
}

static uint32_t find_symbol(const uint8_t *f, size_t size, const Elf32_Ehdr *h, const char *name)
{
	Elf32_Shdr sym, str;

	if (h->e_shentsize != sizeof(sym) ||
	    !inside(size, h->e_shoff, (uint64_t)h->e_shnum * sizeof(sym)))
		return 0;
	for (unsigned int i = 0; i < h->e_shnum; i++) {
		memcpy(&sym, f + h->e_shoff + i * sizeof(sym), sizeof(sym));
		if (sym.sh_type != SHT_SYMTAB || sym.sh_link >= h->e_shnum)
			continue;
		memcpy(&str, f + h->e_shoff + sym.sh_link * sizeof(str), sizeof(str));
		if (!inside(size, sym.sh_offset, sym.sh_size) ||
		    !inside(size, str.sh_offset, str.sh_size))
			continue;
		for (uint32_t at = 0; at + sizeof(Elf32_Sym) <= sym.sh_size;
		     at += sizeof(Elf32_Sym)) {
			Elf32_Sym s;
			const char *p;

			memcpy(&s, f + sym.sh_offset + at, sizeof(s));
			p = (const char *)f + str.sh_offset + s.st_name;
			if (s.st_shndx != SHN_UNDEF && s.st_name < str.sh_size &&
			    strlen(name) < str.sh_size - s.st_name && !strcmp(p, name))
				return s.st_value;
		}
	}
	return 0;
}

int elf32_parse(const void *file, size_t size, uint32_t base, uint32_t bytes, struct elf32 *elf,
		char *why, size_t why_len)
{
	const uint8_t *f = file;
	Elf32_Ehdr h;
	int err = check_header(f, size, &h, why, why_len);

	if (err)
		return err;
	memset(elf, 0, sizeof(*elf));
	elf->entry = h.e_entry;
	elf->rvc = h.e_flags & EF_RISCV_RVC;
	for (unsigned int i = 0; i < h.e_phnum; i++) {
		Elf32_Phdr p;

		memcpy(&p, f + h.e_phoff + i * sizeof(p), sizeof(p));
		if (p.p_type != PT_LOAD || !p.p_memsz)
			continue;
		if (p.p_filesz > p.p_memsz || !inside(size, p.p_offset, p.p_filesz))
			return refuse("segment %u is cut short", i);
		if (p.p_paddr < base || p.p_memsz > bytes || p.p_paddr - base > bytes - p.p_memsz)
			return refuse("segment at 0x%08x of %u bytes lies outside the core's SRAM "
				      "(%u bytes at 0x%08x)",
				      p.p_paddr, p.p_memsz, bytes, base);
		if (elf->nsegments == ELF32_SEGMENTS)
			return refuse("more than %u segments", ELF32_SEGMENTS);
		elf->segment[elf->nsegments].addr = p.p_paddr;
		elf->segment[elf->nsegments].filesz = p.p_filesz;
		elf->segment[elf->nsegments].memsz = p.p_memsz;
		elf->segment[elf->nsegments++].data = f + p.p_offset;
	}
	if (!elf->nsegments)
		return refuse("nothing to load in it");
	if (elf->entry < base || elf->entry - base >= bytes || elf->entry & 3)
		return refuse("entry 0x%08x is no instruction address in the core's SRAM",
			      elf->entry);
	elf->tohost = find_symbol(f, size, &h, "tohost");
	return 0;
}
