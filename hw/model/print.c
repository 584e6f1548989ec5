// SPDX-License-Identifier: MIT
#include "print.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "elf32.h"
#include "wse_print_area.h"
#include "wse_regs.h"

#define WIDTH_MAX   100 /* of a field, and digits behind the point */

#define refuse(...) (snprintf(why, why_len, __VA_ARGS__), -EBADMSG)

/* ---- the file ---- */

static const void *at(const struct wse_print *p, uint64_t offset, uint64_t len)
{
	return offset <= p->size && len <= p->size - offset ? (const char *)p->file + offset : NULL;
}

static void find_area(struct wse_print *p, const struct elf32_symbols *t)
{
	for (uint32_t i = 0; i < t->n; i++) {
		const char *name;
		Elf32_Sym s = elf32_symbol(t, i, &name);

		if (s.st_shndx == SHN_UNDEF || strcmp(name, WSE_PRINT_SYMBOL))
			continue;
		if (s.st_size >= sizeof(struct wse_print_head) && !(s.st_size & 7) &&
		    !(s.st_value & 7) && s.st_value >= WSE_SRAM_BASE &&
		    s.st_size <= WSE_SRAM_BYTES &&
		    s.st_value - WSE_SRAM_BASE <= WSE_SRAM_BYTES - s.st_size) {
			p->area = s.st_value;
			p->bytes = s.st_size;
		}
	}
}

void wse_print_find(struct wse_print *p, const void *file, size_t size)
{
	*p = (struct wse_print){.file = file, .size = size};
	for (int i = 0; i < elf32_sections(file, size); i++) {
		struct elf32_section s = elf32_section(file, size, (uint32_t)i);
		struct elf32_symbols symbols = elf32_symbols(file, size, &s);

		find_area(p, &symbols);
		if (s.h.sh_type != SHT_PROGBITS || strcmp(s.name, WSE_PRINT_SECTION))
			continue;
		p->formats = (const char *)s.data;
		p->formats_at = s.h.sh_addr;
		p->nformats = s.data ? s.h.sh_size : 0;
	}
	if (p->nformats && p->formats[p->nformats - 1]) /* each ends in the section */
		p->nformats = 0;
}

/* The string of the program that a core has at addr; NULL: there is none. */
static const char *program_string(const struct wse_print *p, uint32_t addr)
{
	Elf32_Ehdr h;
	Elf32_Phdr ph;

	memcpy(&h, p->file, sizeof(h));
	if (h.e_phentsize != sizeof(ph) || !at(p, h.e_phoff, (uint64_t)h.e_phnum * sizeof(ph)))
		return NULL;
	for (uint32_t i = 0; i < h.e_phnum; i++) {
		const char *s;

		memcpy(&ph, (const char *)p->file + h.e_phoff + i * sizeof(ph), sizeof(ph));
		if (ph.p_type != PT_LOAD || addr < ph.p_vaddr || addr - ph.p_vaddr >= ph.p_filesz)
			continue;
		s = at(p, ph.p_offset, ph.p_filesz);
		if (s && memchr(s + (addr - ph.p_vaddr), 0, ph.p_filesz - (addr - ph.p_vaddr)))
			return s + (addr - ph.p_vaddr);
	}
	return NULL;
}

/* ---- a message ---- */

struct message {
	const struct wse_print *p;
	const char *format;
	const uint32_t *arg;
	uint32_t nargs;
	char text[WSE_PRINT_TEXT];
	size_t len;
};

struct spec {
	char flags[6];	      /* each once */
	int width, precision; /* -1: none */
	char length[3], conversion;
};

static bool take(struct message *m, uint32_t *value)
{
	if (!m->nargs)
		return false;
	*value = *m->arg++;
	m->nargs--;
	return true;
}

/* digits, or * with an argument; -1: it has none; false: not to be had */
static bool number(struct message *m, const char **f, int *n)
{
	uint32_t value = 0;

	*n = -1;
	if (**f == '*') {
		(*f)++;
		if (!take(m, &value))
			return false;
		*n = (int)value;
	} else if (**f >= '0' && **f <= '9') {
		for (*n = 0; **f >= '0' && **f <= '9' && *n <= WIDTH_MAX; (*f)++)
			*n = 10 * *n + (**f - '0');
	}
	return *n <= WIDTH_MAX && *n >= -WIDTH_MAX;
}

static bool read_spec(struct message *m, const char **f, struct spec *s)
{
	size_t n = 0;

	*s = (struct spec){.precision = -1};
	for (; **f && strchr("-+ #0", **f); (*f)++)
		if (!strchr(s->flags, **f) && n < sizeof(s->flags) - 1)
			s->flags[n++] = **f;
	if (!number(m, f, &s->width))
		return false;
	if (s->width < -1) { /* of an argument: flag - */
		s->width = -s->width;
		if (!strchr(s->flags, '-'))
			s->flags[n++] = '-';
	}
	if (**f == '.') {
		(*f)++;
		if (!number(m, f, &s->precision))
			return false;
		if (s->precision == -1 && (*f)[-1] == '.')
			s->precision = 0;
	}
	for (n = 0; (**f == 'h' || **f == 'l' || **f == 'z' || **f == 't') && n < 2; (*f)++)
		s->length[n++] = **f;
	s->conversion = **f;
	if (!s->conversion || !strchr("diuoxXcspfFeEgGaA", s->conversion))
		return false;
	(*f)++;
	return strcmp(s->length, "ll") != 0 && (!s->length[1] || !strcmp(s->length, "hh"));
}

static void append(struct message *m, const char *text, size_t len)
{
	size_t room = sizeof(m->text) - 1 - m->len;

	if (len > room)
		len = room;
	memcpy(m->text + m->len, text, len);
	m->len += len;
}

/* The argument of a conversion as text. */
static bool convert(struct message *m, const struct spec *s)
{
	char f[40], text[WSE_PRINT_TEXT];
	char width[16] = "", precision[16] = "";
	union {
		uint32_t u;
		float f;
	} v;
	const char *string;
	int n;

	if (!take(m, &v.u))
		return false;
	if (s->width >= 0)
		snprintf(width, sizeof(width), "%d", s->width);
	if (s->precision >= 0)
		snprintf(precision, sizeof(precision), ".%d", s->precision);
	snprintf(f, sizeof(f), "%%%s%s%s%s%c", s->flags, width, precision,
		 s->length[0] == 'h' ? s->length : "", s->conversion);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	switch (s->conversion) {
	case 's':
		string = program_string(m->p, v.u);
		if (string) {
			n = snprintf(text, sizeof(text), f, string);
		} else {
			n = snprintf(text, sizeof(text), "(no string of the program: 0x%08x)", v.u);
		}
		break;
	case 'p':
		n = snprintf(text, sizeof(text), "0x%08x", v.u);
		break;
	case 'c':
	case 'd':
	case 'i':
		n = snprintf(text, sizeof(text), f, (int)v.u);
		break;
	case 'u':
	case 'o':
	case 'x':
	case 'X':
		n = snprintf(text, sizeof(text), f, v.u);
		break;
	default:
		n = snprintf(text, sizeof(text), f, (double)v.f);
		break;
	}
#pragma GCC diagnostic pop
	if (n < 0)
		return false;
	append(m, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
	return true;
}

static int make_text(struct message *m, char *why, size_t why_len)
{
	const char *f = m->format;
	struct spec s;

	m->len = 0;
	while (*f) {
		size_t plain = strcspn(f, "%");
		const char *begin = f + plain;

		append(m, f, plain);
		f = begin;
		if (!*f)
			break;
		f++;
		if (*f == '%') {
			append(m, f++, 1);
			continue;
		}
		if (!read_spec(m, &f, &s) || !convert(m, &s))
			return refuse(
				"a message of wse_printf() has what its format does not "
				"allow at \"%.20s\": there are no numbers of 64 bits, no %%n, "
				"no widths above %d, and an argument for each conversion",
				begin, WIDTH_MAX);
	}
	if (m->nargs)
		return refuse("a message of wse_printf() has %u arguments more than its format "
			      "\"%.40s\" takes",
			      m->nargs, m->format);
	m->text[m->len] = 0;
	return 0;
}

int wse_print_each(const struct wse_print *p, const void *area, wse_print_fn fn, void *arg,
		   char *why, size_t why_len)
{
	uint32_t words[WSE_SRAM_BYTES / 4], i, room = p->bytes / 4;
	struct wse_print_head *head = (struct wse_print_head *)words;
	const uint32_t first = sizeof(*head) / 4;
	struct message m = {.p = p};
	int err;

	if (!p->bytes)
		return 0;
	memcpy(words, area, p->bytes);
	if (head->used > room - first)
		return refuse("the area of wse_printf() at 0x%08x says that it has %u words of %u: "
			      "the program has written over it",
			      p->area, head->used, room - first);
	for (i = first; i < first + head->used; i += 1 + m.nargs) {
		uint32_t format = (words[i] & ((1u << WSE_PRINT_ARGS_SHIFT) - 1)) - p->formats_at;

		m.nargs = words[i] >> WSE_PRINT_ARGS_SHIFT;
		m.arg = words + i + 1;
		if (format >= p->nformats || m.nargs > WSE_PRINT_ARGS_MAX ||
		    m.nargs >= first + head->used - i)
			return refuse("a message of wse_printf() names no format of the program "
				      "(word 0x%08x at 0x%08x): the program has written over it, "
				      "or this is another program's file",
				      words[i], p->area + 4 * i);
		m.format = p->formats + format;
		err = make_text(&m, why, why_len);
		if (err)
			return err;
		m.nargs = words[i] >> WSE_PRINT_ARGS_SHIFT;
		fn(arg, m.text, m.len);
	}
	if (head->lost) {
		int n = snprintf(m.text, sizeof(m.text),
				 "[%u messages more found no room in %u bytes: #define "
				 "WSE_PRINT_BYTES before wse_print.h, or take them more often]\n",
				 head->lost, p->bytes);

		fn(arg, m.text, (size_t)n);
	}
	return 0;
}
