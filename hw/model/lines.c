// SPDX-License-Identifier: MIT
#include "lines.h"

#include <stdio.h>
#include <string.h>

enum { FORM_DATA2 = 5, FORM_DATA4 = 6, FORM_DATA8 = 7, FORM_STRING = 8, FORM_BLOCK = 9 };
enum { FORM_DATA1 = 11, FORM_STRP = 14, FORM_UDATA = 15, FORM_DATA16 = 30, FORM_LINE_STRP = 31 };
enum { CONTENT_PATH = 1, FORMATS = 8 };
enum { COPY = 1, ADVANCE_PC, ADVANCE_LINE, SET_FILE, CONST_ADD_PC = 8, FIXED_ADVANCE_PC };
enum { END_SEQUENCE = 1, SET_ADDRESS };

/* what is left to read of a part; nothing more after a read beyond its end */
struct in {
	const uint8_t *at, *end;
};

static uint64_t fixed(struct in *in, unsigned int n)
{
	uint64_t v = 0;

	if ((size_t)(in->end - in->at) < n) {
		in->at = in->end;
		return 0;
	}
	for (unsigned int i = 0; i < n; i++)
		v |= (uint64_t)*in->at++ << 8 * i;
	return v;
}

static uint64_t uleb(struct in *in)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; in->at < in->end; shift += 7) {
		uint8_t b = *in->at++;

		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		if (b < 0x80)
			break;
	}
	return v;
}

static int64_t sleb(struct in *in)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; in->at < in->end;) {
		uint8_t b = *in->at++;

		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
		if (b >= 0x80)
			continue;
		if (b & 0x40 && shift < 64)
			v |= ~0ull << shift;
		break;
	}
	return (int64_t)v;
}

static void skip(struct in *in, uint64_t n)
{
	in->at = n < (uint64_t)(in->end - in->at) ? in->at + n : in->end;
}

/* a text that ends within its part; NULL */
static const char *text_at(const struct wse_lines_part *p, uint64_t offset)
{
	if (offset >= p->size || !memchr(p->at + offset, 0, p->size - offset))
		return NULL;
	return (const char *)p->at + offset;
}

static const char *text_in(struct in *in)
{
	const uint8_t *begin = in->at, *zero = memchr(begin, 0, (size_t)(in->end - begin));

	in->at = zero ? zero + 1 : in->end;
	return zero ? (const char *)begin : NULL;
}

/* ---- the file ---- */

void wse_lines_find(struct wse_lines *l, const void *file, size_t size)
{
	memset(l, 0, sizeof(*l));
	for (int i = 0; i < elf32_sections(file, size); i++) {
		struct elf32_section s = elf32_section(file, size, (uint32_t)i);
		struct wse_lines_part part = {s.data, s.data ? s.h.sh_size : 0};

		if (s.h.sh_flags & SHF_COMPRESSED)
			continue;
		if (!strcmp(s.name, ".debug_line"))
			l->line = part;
		else if (!strcmp(s.name, ".debug_str"))
			l->str = part;
		else if (!strcmp(s.name, ".debug_line_str"))
			l->line_str = part;
		if (s.h.sh_type == SHT_SYMTAB)
			l->symbols = elf32_symbols(file, size, &s);
	}
}

/* the function, or label of assembly code, at or before pc, and where it begins; NULL */
static const char *function(const struct wse_lines *l, uint32_t pc, uint32_t *begin)
{
	const char *best = NULL, *name;
	uint32_t from = 0;

	for (uint32_t i = 0; i < l->symbols.n; i++) {
		Elf32_Sym s = elf32_symbol(&l->symbols, i, &name);
		uint32_t type = ELF32_ST_TYPE(s.st_info);

		if (s.st_value > pc || s.st_shndx == SHN_UNDEF || s.st_shndx >= SHN_LORESERVE ||
		    (type != STT_FUNC && type != STT_NOTYPE) ||
		    (s.st_size && pc - s.st_value >= s.st_size))
			continue;
		/* .L and $x are the assembler's own */
		if (!*name || *name == '.' || *name == '$' ||
		    (best && (s.st_value < from || (s.st_value == from && type != STT_FUNC))))
			continue;
		best = name;
		from = s.st_value;
	}
	*begin = from;
	return best;
}

/* ---- lines: a unit is a header with the names of its files, and a program that makes rows ---- */

struct unit {
	unsigned int version, offset_size, min_insn, line_range, opcode_base;
	int line_base;
	struct in opcodes, files, program;
};

struct row {
	uint64_t file, line;
	uint32_t addr;
};

static const char *form_text(const struct wse_lines *l, const struct unit *u, struct in *in,
			     uint64_t form)
{
	switch (form) {
	case FORM_STRING:
		return text_in(in);
	case FORM_STRP:
		return text_at(&l->str, fixed(in, u->offset_size));
	case FORM_LINE_STRP:
		return text_at(&l->line_str, fixed(in, u->offset_size));
	case FORM_DATA1:
	case FORM_DATA2:
	case FORM_DATA4:
	case FORM_DATA8:
		fixed(in, form == FORM_DATA1 ? 1 : 1u << (form - FORM_DATA2 + 1));
		return NULL;
	case FORM_DATA16:
		skip(in, 16);
		return NULL;
	case FORM_UDATA:
		uleb(in);
		return NULL;
	case FORM_BLOCK:
		skip(in, uleb(in));
		return NULL;
	default: /* its length is not known */
		in->at = in->end;
		return NULL;
	}
}

/* a table of version 5, folders or files: the name of entry want, NULL: none; in is behind it */
static const char *entry(const struct wse_lines *l, const struct unit *u, struct in *in,
			 uint64_t want)
{
	uint64_t content[FORMATS] = {0}, form[FORMATS] = {0}, count, n = fixed(in, 1);
	const char *found = NULL;

	if (n > FORMATS)
		in->at = in->end;
	for (uint64_t i = 0; i < n && i < FORMATS; i++) {
		content[i] = uleb(in);
		form[i] = uleb(in);
	}
	count = uleb(in);
	for (uint64_t k = 0; k < count && in->at < in->end; k++) {
		for (uint64_t i = 0; i < n && i < FORMATS; i++) {
			const char *text = form_text(l, u, in, form[i]);

			if (k == want && content[i] == CONTENT_PATH)
				found = text;
		}
	}
	return found;
}

/* without its folders; NULL */
static const char *file_name(const struct wse_lines *l, const struct unit *u, uint64_t file)
{
	struct in in = u->files;
	const char *name = NULL, *slash;

	if (u->version >= 5) {
		entry(l, u, &in, UINT64_MAX);
		name = entry(l, u, &in, file);
	} else {
		while (in.at < in.end && *in.at)
			text_in(&in);
		fixed(&in, 1);
		for (uint64_t k = 1; in.at < in.end && *in.at && k <= file; k++) {
			name = text_in(&in);
			uleb(&in);
			uleb(&in);
			uleb(&in);
			name = k == file ? name : NULL;
		}
	}
	slash = name ? strrchr(name, '/') : NULL;
	return slash ? slash + 1 : name;
}

/* false: not one that can be read; *in is behind it */
static bool header(struct in *in, struct unit *u)
{
	uint64_t size = fixed(in, 4), length;
	struct in unit;

	u->offset_size = size == 0xffffffff ? 8 : 4;
	if (u->offset_size == 8)
		size = fixed(in, 8);
	unit = *in;
	skip(in, size);
	unit.end = in->at;
	u->version = (unsigned int)fixed(&unit, 2);
	if (u->version < 2 || u->version > 5 || (u->version >= 5 && fixed(&unit, 2) != 4))
		return false; /* or addresses of another size */
	length = fixed(&unit, u->offset_size);
	u->program = unit;
	skip(&u->program, length);
	unit.end = u->program.at;
	u->min_insn = (unsigned int)fixed(&unit, 1);
	if (u->version >= 4)
		fixed(&unit, 1);
	fixed(&unit, 1);
	u->line_base = (int8_t)fixed(&unit, 1);
	u->line_range = (unsigned int)fixed(&unit, 1);
	u->opcode_base = (unsigned int)fixed(&unit, 1);
	u->opcodes = unit;
	skip(&unit, u->opcode_base ? u->opcode_base - 1 : 0);
	u->files = unit;
	return u->line_range && u->opcode_base;
}

static void special(const struct unit *u, struct row *r, unsigned int op, bool line)
{
	op -= u->opcode_base;
	r->addr += op / u->line_range * u->min_insn;
	if (line)
		r->line += (uint64_t)(int64_t)(u->line_base + (int)(op % u->line_range));
}

/* one opcode: true where it makes a row; *end: that ends its sequence */
static bool opcode(const struct unit *u, struct in *in, struct row *r, bool *end)
{
	unsigned int op = (unsigned int)fixed(in, 1);
	struct in ext;
	uint64_t size;

	*end = false;
	if (op >= u->opcode_base) {
		special(u, r, op, true);
		return true;
	}
	switch (op) {
	case 0:
		size = uleb(in);
		ext = *in;
		skip(in, size);
		ext.end = in->at;
		op = (unsigned int)fixed(&ext, 1);
		*end = op == END_SEQUENCE;
		if (op == SET_ADDRESS)
			r->addr = (uint32_t)fixed(&ext, 4);
		return *end;
	case COPY:
		return true;
	case ADVANCE_PC:
		r->addr += (uint32_t)uleb(in) * u->min_insn;
		return false;
	case ADVANCE_LINE:
		r->line += (uint64_t)sleb(in);
		return false;
	case SET_FILE:
		r->file = uleb(in);
		return false;
	case CONST_ADD_PC:
		special(u, r, 255, false);
		return false;
	case FIXED_ADVANCE_PC:
		r->addr += (uint32_t)fixed(in, 2);
		return false;
	default:
		for (unsigned int i = op <= (size_t)(u->opcodes.end - u->opcodes.at)
					      ? u->opcodes.at[op - 1]
					      : 0;
		     i; i--)
			uleb(in);
		return false;
	}
}

/*
 * The row of pc: *at, and *own: the last one before it of the file of its function's first row.
 * That is of the function's own line; what it inlines comes behind.
 */
static bool find_row(const struct unit *u, uint32_t pc, uint32_t function, struct row *at,
		     struct row *own)
{
	struct in in = u->program;

	while (in.at < in.end) {
		struct row r = {1, 1, 0}, before = {0}, mine = {0};
		bool end = false;

		while (in.at < in.end && !end) {
			if (!opcode(u, &in, &r, &end))
				continue;
			if (before.line && before.addr <= pc && pc < r.addr) {
				*at = before;
				*own = mine.line ? mine : before;
				return true;
			}
			before = r;
			if (mine.line ? r.file == mine.file : r.addr == function)
				mine = r;
		}
	}
	return false;
}

void wse_lines_place(const struct wse_lines *l, uint32_t pc, char *text)
{
	struct in in = {l->line.at, l->line.at + l->line.size};
	uint32_t begin;
	const char *name = function(l, pc, &begin), *file, *from;
	struct row at, own;
	struct unit u;
	int n;

	n = snprintf(text, WSE_LINES_TEXT, "%.60s", name ? name : "");
	while (l->line.at && in.at < in.end) {
		if (!header(&in, &u) || !find_row(&u, pc, begin, &at, &own))
			continue;
		file = file_name(l, &u, at.file);
		from = file_name(l, &u, own.file);
		if (!file || !from)
			return;
		n += snprintf(text + n, WSE_LINES_TEXT - (size_t)n, "%s%.40s:%u", n ? " at " : "",
			      from, (unsigned int)own.line);
		if (at.file != own.file)
			snprintf(text + n, WSE_LINES_TEXT - (size_t)n, " (%.40s:%u)", file,
				 (unsigned int)at.line);
		return;
	}
}
