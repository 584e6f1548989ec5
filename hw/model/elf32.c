// SPDX-License-Identifier: MIT
#include "elf32.h"

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

/* ---- sections and symbols ---- */

/* where the table of sections is; NULL: nowhere, or it leads out of the file */
static const uint8_t *section_table(const uint8_t *f, size_t size, Elf32_Ehdr *h)
{
	memset(h, 0, sizeof(*h));
	if (size >= sizeof(*h))
		memcpy(h, f, sizeof(*h));
	if (memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_ident[EI_CLASS] != ELFCLASS32 ||
	    h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_shentsize != sizeof(Elf32_Shdr))
		h->e_shnum = 0;
	return inside(size, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf32_Shdr)) ? f + h->e_shoff
										   : NULL;
}

int elf32_sections(const void *file, size_t size)
{
	Elf32_Ehdr h;

	return section_table(file, size, &h) || !h.e_shnum ? h.e_shnum : -1;
}

/* a text at an offset of n bytes that ends within them; "" */
static const char *text_at(const void *at, size_t n, uint32_t offset)
{
	const char *s = at;

	return s && offset < n && memchr(s + offset, 0, n - offset) ? s + offset : "";
}

struct elf32_section elf32_section(const void *file, size_t size, uint32_t i)
{
	struct elf32_section s = {.name = ""};
	const uint8_t *f = file, *table;
	Elf32_Shdr names;
	Elf32_Ehdr h;

	table = section_table(f, size, &h);
	if (!table || i >= h.e_shnum)
		return s;
	memcpy(&s.h, table + i * sizeof(s.h), sizeof(s.h));
	if (s.h.sh_type != SHT_NOBITS && inside(size, s.h.sh_offset, s.h.sh_size))
		s.data = f + s.h.sh_offset;
	if (h.e_shstrndx >= h.e_shnum)
		return s;
	memcpy(&names, table + h.e_shstrndx * sizeof(names), sizeof(names));
	if (names.sh_type != SHT_NOBITS && inside(size, names.sh_offset, names.sh_size))
		s.name = text_at(f + names.sh_offset, names.sh_size, s.h.sh_name);
	return s;
}

struct elf32_symbols elf32_symbols(const void *file, size_t size, const struct elf32_section *s)
{
	struct elf32_section names = elf32_section(file, size, s->h.sh_link);

	if (s->h.sh_type != SHT_SYMTAB || !s->data || !names.data)
		return (struct elf32_symbols){0};
	return (struct elf32_symbols){
		.at = s->data,
		.names = (const char *)names.data,
		.n = s->h.sh_size / sizeof(Elf32_Sym),
		.bytes = names.h.sh_size,
	};
}

Elf32_Sym elf32_symbol(const struct elf32_symbols *t, uint32_t i, const char **name)
{
	Elf32_Sym s;

	memcpy(&s, t->at + i * sizeof(s), sizeof(s));
	*name = text_at(t->names, t->bytes, s.st_name);
	return s;
}

static uint32_t find_symbol(const uint8_t *f, size_t size, const char *want)
{
	for (int k = 0; k < elf32_sections(f, size); k++) {
		struct elf32_section s = elf32_section(f, size, (uint32_t)k);
		struct elf32_symbols t = elf32_symbols(f, size, &s);

		for (uint32_t i = 0; i < t.n; i++) {
			const char *name;
			Elf32_Sym y = elf32_symbol(&t, i, &name);

			if (y.st_shndx != SHN_UNDEF && !strcmp(name, want))
				return y.st_value;
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
	elf->tohost = find_symbol(f, size, "tohost");
	return 0;
}
