// SPDX-License-Identifier: MIT
/* Programs: an RV32 executable, its copy into every core, its symbols. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/handle.h"
#include "device.h"
#include "elf32.h"
#include "wse_regs.h"

#define FILE_MAX_BYTES (64u << 20) /* debug information may be large, but not that large */

struct wse_program {
	struct wse_device *dev; /* held */
	char *name;		/* for sentences */
	struct wse_code *code;
	struct elf32_symbols symbols; /* in the code's file */
	struct places {
		uint32_t *at; /* SRAM offsets of the instructions that read the tile's shape */
		uint32_t n;
	} cols_at, rows_at;	/* for its columns, for its rows */
	struct wse_buffer *buf; /* the image where devices read it, or NULL */
	uint16_t rows, cols;
};

static struct wse_code *code_of(const void *bytes, size_t size)
{
	struct wse_code *code = malloc(sizeof(*code) + size);

	if (code) {
		atomic_init(&code->refs, 1);
		code->image = NULL;
		code->size = size;
		memcpy(code->bytes, bytes, size);
	}
	return code;
}

const struct wse_code *wse_program_code(const struct wse_program *prog, const char **name)
{
	*name = prog->name;
	return prog->code;
}

void wse_code_get(struct wse_code *code)
{
	atomic_fetch_add(&code->refs, 1);
}

void wse_code_put(struct wse_code *code)
{
	if (!code || atomic_fetch_sub(&code->refs, 1) != 1)
		return;
	free(code->image);
	free(code);
}

struct file {
	const unsigned char *bytes;
	size_t size;
	const char *name; /* for sentences */
	struct wse_device *dev;
};

/* n bytes at off, or NULL when they are not all there. */
static const void *at(const struct file *f, uint64_t off, uint64_t n)
{
	return off <= f->size && n <= f->size - off ? f->bytes + off : NULL;
}

static int damaged(const struct file *f, const char *what)
{
	return wse_fail(-ENOEXEC, "%s is damaged: its %s leads out of the file", f->name, what);
}

static int check_header(const struct file *f, Elf32_Ehdr *h)
{
	const char *what = NULL;
	const void *p = at(f, 0, sizeof(*h));

	memset(h, 0, sizeof(*h));
	if (p)
		memcpy(h, p, sizeof(*h));
	if (memcmp(h->e_ident, ELFMAG, SELFMAG))
		what = "no ELF file";
	else if (h->e_ident[EI_CLASS] != ELFCLASS32 || h->e_ident[EI_DATA] != ELFDATA2LSB)
		what = "no 32-bit little-endian ELF file";
	else if (h->e_machine != EM_RISCV)
		what = "not for RISC-V";
	else if (h->e_type != ET_EXEC)
		what = "no executable (is it a .o file, or linked with -pie?)";
	else if (h->e_flags & 1) /* EF_RISCV_RVC */
		what = "compiled with compressed instructions, which the cores do not have";
	if (what)
		return wse_fail(-ENOEXEC,
				"%s is %s: build it with `make kernel SRC=...` "
				"(-march=rv32im_zicsr -mabi=ilp32)",
				f->name, what);
	if (!h->e_phnum || h->e_phentsize != sizeof(Elf32_Phdr))
		return wse_fail(
			-ENOEXEC,
			"%s has no program headers: link it with firmware/runtime/program.ld",
			f->name);
	return 0;
}

static int check_segment(const struct file *f, const Elf32_Phdr *p, const struct drm_wse_info *info)
{
	uint64_t from = p->p_paddr, to = from + p->p_memsz, base = WSE_SRAM_BASE;

	if (p->p_filesz > p->p_memsz || !at(f, p->p_offset, p->p_filesz))
		return damaged(f, "segment");
	if (from < base || to > base + WSE_ARGS_OFFSET)
		return wse_fail(-ERANGE,
				"%s: its segment %#llx ... %#llx leaves the SRAM of a core, %#x "
				"... %#x: it "
				"is too large, or was not linked with firmware/runtime/program.ld",
				f->name, (unsigned long long)from, (unsigned long long)to,
				WSE_SRAM_BASE, WSE_SRAM_BASE + WSE_ARGS_OFFSET);
	if (from - base < info->fw_end)
		return wse_fail(
			-EADDRINUSE,
			"%s: its segment at %#llx overlaps the resident firmware, which ends at "
			"%#x: link it with firmware/runtime/program.ld",
			f->name, (unsigned long long)from, WSE_SRAM_BASE + info->fw_end);
	return 0;
}

static int read_segments(const struct file *f, const Elf32_Ehdr *h, const struct drm_wse_info *info,
			 struct wse_code *code)
{
	uint32_t lo = UINT32_MAX, hi = 0, i;
	Elf32_Phdr p;
	int ret;

	if (!at(f, h->e_phoff, (uint64_t)h->e_phnum * sizeof(p)))
		return damaged(f, "program header table");
	for (i = 0; i < h->e_phnum; i++) {
		memcpy(&p, f->bytes + h->e_phoff + i * sizeof(p), sizeof(p));
		if (p.p_type != PT_LOAD || !p.p_memsz)
			continue;
		ret = check_segment(f, &p, info);
		if (ret)
			return ret;
		lo = p.p_paddr < lo ? p.p_paddr : lo;
		hi = p.p_paddr + p.p_memsz > hi ? p.p_paddr + p.p_memsz : hi;
	}
	if (!hi)
		return wse_fail(-ENOEXEC, "%s has nothing to load", f->name);
	code->start = (lo - WSE_SRAM_BASE) & ~7u;
	code->end = (hi - WSE_SRAM_BASE + 7) & ~7u;
	/* the firmware's end is a multiple of 8 as well, so rounding start down overwrites nothing
	 * of it */
	code->image = calloc(1, code->end - code->start);
	if (!code->image)
		return -ENOMEM;
	for (i = 0; i < h->e_phnum; i++) {
		memcpy(&p, f->bytes + h->e_phoff + i * sizeof(p), sizeof(p));
		if (p.p_type == PT_LOAD && p.p_memsz)
			memcpy(code->image + (p.p_paddr - WSE_SRAM_BASE - code->start),
			       f->bytes + p.p_offset, p.p_filesz);
	}
	return 0;
}

/* A stripped program has no symbols, which is no error until one is asked for. */
static int read_symbols(const struct file *f, struct wse_program *prog)
{
	const struct wse_code *code = prog->code;
	int n = elf32_sections(code->bytes, code->size);

	if (n < 0)
		return damaged(f, "section header table");
	for (int i = 0; i < n; i++) {
		struct elf32_section s = elf32_section(code->bytes, code->size, (uint32_t)i);

		if (s.h.sh_type != SHT_SYMTAB)
			continue;
		prog->symbols = elf32_symbols(code->bytes, code->size, &s);
		return prog->symbols.at ? 0 : damaged(f, "symbol table");
	}
	return 0;
}

/*
 * ---- programs that run on some of a tile's columns, or rows (firmware/lib/ring.h: used_cols(),
 * used_rows()) ----
 */

#define COLS_SECTION ".wse.cols"
#define ROWS_SECTION ".wse.rows"
#define COLS_MAX     2047u /* of an immediate operand */

/* csrr RD, dim, which has rows and columns; addi RD, zero, COLS; lui RD, ROWS << 4 */
#define RD	     0xf80u
#define READ_DIM     ((uint32_t)WSE_CSR_DIM << 20 | 0x2073u)
#define LOAD_COLS(n) ((uint32_t)(n) << 20 | 0x13u)
#define LOAD_ROWS(n) ((uint32_t)(n) << 16 | 0x37u)

static int take_places(const struct file *f, const struct elf32_section *s,
		       const struct wse_program *prog, struct places *to)
{
	const struct wse_code *code = prog->code;
	uint32_t n = s->h.sh_size / 4, word;

	if (!s->data)
		return wse_fail(-ENOEXEC, "%s is damaged: its section %s leads out of the file",
				f->name, s->name);
	to->at = calloc(n ? n : 1, sizeof(*to->at));
	if (!to->at)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t where;

		memcpy(&where, s->data + 4ul * i, 4);
		where -= WSE_SRAM_BASE;
		word = 0;
		if (where % 4 == 0 && where >= code->start && where <= code->end - 4)
			memcpy(&word, code->image + (where - code->start), 4);
		if ((word & ~RD) != READ_DIM)
			return wse_fail(-ENOEXEC,
					"%s is damaged: its section %s names %#x, "
					"where nothing reads the tile's shape",
					f->name, s->name, WSE_SRAM_BASE + where);
		to->at[to->n++] = where;
	}
	return 0;
}

/* a program that does not ask for columns, or was not made for fewer, has no such section */
static int read_places(const struct file *f, struct wse_program *prog)
{
	int n = elf32_sections(f->bytes, f->size), ret = 0;

	for (int i = 0; i < n && !ret; i++) {
		struct elf32_section s = elf32_section(f->bytes, f->size, (uint32_t)i);

		if (!strcmp(s.name, COLS_SECTION) && !prog->cols_at.at)
			ret = take_places(f, &s, prog, &prog->cols_at);
		else if (!strcmp(s.name, ROWS_SECTION) && !prog->rows_at.at)
			ret = take_places(f, &s, prog, &prog->rows_at);
	}
	return ret;
}

/* `load` instead of what reads the shape there */
static void load_instead(struct wse_program *prog, const struct places *places, uint32_t load)
{
	uint32_t word;

	for (uint32_t i = 0; i < places->n; i++) {
		char *p = (char *)prog->buf->ptr + (places->at[i] - prog->code->start);

		memcpy(&word, p, 4);
		word = (word & RD) | load;
		memcpy(p, &word, 4);
	}
}

int wse_program_columns(struct wse_program *prog, uint32_t cols)
{
	if (!prog->buf)
		return -EINVAL;
	if (cols == prog->cols)
		return 0;
	if (!cols || cols > prog->cols || cols > COLS_MAX)
		return wse_fail(-ERANGE, "%s: on %u of %u columns it does not run: at most %u",
				prog->name, cols, prog->cols,
				prog->cols < COLS_MAX ? prog->cols : COLS_MAX);
	if (!prog->cols_at.at)
		return wse_fail(-ENOTSUP,
				"%s runs on all %u columns alone: use the programs of this release",
				prog->name, prog->cols);
	load_instead(prog, &prog->cols_at, LOAD_COLS(cols));
	return 0;
}

int wse_program_rows(struct wse_program *prog, uint32_t rows)
{
	if (!prog->buf)
		return -EINVAL;
	if (rows == prog->rows)
		return 0;
	if (!rows || rows > prog->rows)
		return wse_fail(-ERANGE, "%s: on %u of %u rows it does not run", prog->name, rows,
				prog->rows);
	if (!prog->rows_at.at)
		return wse_fail(-ENOTSUP,
				"%s runs on all %u rows alone: use the programs of this release",
				prog->name, prog->rows);
	load_instead(prog, &prog->rows_at, LOAD_ROWS(rows));
	return 0;
}

/* the image in a buffer that the device reads */
static int make_buffer(struct wse_context *ctx, struct wse_program *prog)
{
	const struct wse_code *code = prog->code;
	uint32_t bytes = code->end - code->start;
	int ret = ctx->dev->ops->buffer_create(ctx->dev, bytes, &prog->buf);

	if (ret)
		return ret;
	memcpy(prog->buf->ptr, code->image, bytes);
	prog->rows = (uint16_t)ctx->dev->info.rows;
	prog->cols = (uint16_t)ctx->dev->info.cols;
	return 0;
}

static struct drm_wse_cmd copy_command(const struct wse_program *prog, uint32_t queue)
{
	struct drm_wse_cmd cmd = wse_cmd_copy_in((struct wse_copy){
		.queue = queue,
		.sram = prog->code->start,
		.len = prog->code->end - prog->code->start,
		.broadcast = 1,
		.rows = prog->rows,
		.cols = prog->cols,
	});

	cmd.bo = prog->buf ? prog->buf->handle : 0; /* a buffer of the library's own: no handle */
	return cmd;
}

struct drm_wse_cmd wse_program_copy(const struct wse_program *prog, uint32_t queue)
{
	if (wse_handle_check(WSE_HANDLE_PROGRAM, prog))
		return (struct drm_wse_cmd){0}; /* which a submit refuses: there is no queue 0 */
	return copy_command(prog, queue);
}

static int copy_to_cores(struct wse_context *ctx, struct wse_program *prog)
{
	struct drm_wse_cmd cmd;
	int ret = make_buffer(ctx, prog);

	if (ret)
		return ret;
	cmd = copy_command(prog, 1);
	ret = wse_submit_wait(ctx, &cmd, 1, WSE_FOREVER);
	wse_buffer_put(prog->buf);
	prog->buf = NULL;
	return ret;
}

static void program_free(struct wse_program *prog)
{
	if (prog->buf)
		wse_buffer_put(prog->buf);
	wse_device_put(prog->dev);
	free(prog->name);
	wse_code_put(prog->code);
	free(prog->cols_at.at);
	free(prog->rows_at.at);
	free(prog);
}

static int load_image(struct wse_context *ctx, const struct file *f, int keep,
		      struct wse_program **out)
{
	struct wse_program *prog;
	struct drm_wse_info info;
	Elf32_Ehdr h;
	int ret;

	/* anew: the driver may have learnt the firmware's size when the context booted it */
	ret = ctx->dev->ops->info(ctx->dev, &info);
	if (!ret)
		ret = check_header(f, &h);
	if (ret)
		return ret;
	prog = calloc(1, sizeof(*prog));
	if (!prog)
		return -ENOMEM;
	prog->dev = ctx->dev;
	wse_device_get(prog->dev);
	prog->name = strdup(f->name);
	prog->code = code_of(f->bytes, f->size);
	ret = prog->name && prog->code ? read_segments(f, &h, &info, prog->code) : -ENOMEM;
	if (!ret)
		ret = read_symbols(f, prog);
	if (!ret)
		ret = read_places(f, prog);
	if (!ret) /* before a command of it can fail */
		wse_context_knows(ctx, prog->code);
	if (!ret)
		ret = keep ? make_buffer(ctx, prog) : copy_to_cores(ctx, prog);
	if (!ret)
		ret = wse_handle_add(WSE_HANDLE_PROGRAM, prog);
	if (ret)
		program_free(prog);
	else
		*out = prog;
	return ret;
}

static int load(struct wse_context *ctx, const struct file *f, int keep, struct wse_program **out)
{
	unsigned int before = wse_failures();
	int ret = load_image(ctx, f, keep, out);

	return wse_fail_since(before, ret, "%s cannot be loaded: %s", f->name, strerror(-ret));
}

int wse_program_load_memory(struct wse_context *ctx, const void *image, size_t size,
			    struct wse_program **prog)
{
	struct file f = {.bytes = image, .size = size, .name = "the program"};
	int ret = wse_handle_check(WSE_HANDLE_CONTEXT, ctx);

	if (ret)
		return ret;
	f.dev = ctx->dev;
	return load(ctx, &f, 0, prog);
}

static int load_file(struct wse_context *ctx, const char *path, int keep, struct wse_program **prog)
{
	struct file f = {.name = path};
	char own[PATH_MAX];
	void *bytes;
	int ret = wse_handle_check(WSE_HANDLE_CONTEXT, ctx);

	if (ret)
		return ret;
	f.dev = ctx->dev;
	ret = wse_read_file(path, FILE_MAX_BYTES, &bytes, &f.size);
	if (ret == -ENOENT && !strchr(path, '/') &&
	    !wse_find_file("WSE_KERNELS", path, sizeof(own), own))
		ret = wse_read_file(own, FILE_MAX_BYTES, &bytes, &f.size);
	if (ret)
		return wse_fail(ret, "the program %s cannot be read: %s", path, strerror(-ret));
	f.bytes = bytes;
	ret = load(ctx, &f, keep, prog);
	free(bytes);
	return ret;
}

int wse_program_load(struct wse_context *ctx, const char *path, struct wse_program **prog)
{
	return load_file(ctx, path, 0, prog);
}

int wse_program_create(struct wse_context *ctx, const char *path, struct wse_program **prog)
{
	return load_file(ctx, path, 1, prog);
}

int wse_program_symbol(const struct wse_program *prog, const char *name, uint32_t *addr)
{
	int ret = wse_handle_check(WSE_HANDLE_PROGRAM, prog);

	if (ret)
		return ret;
	if (!name || !addr)
		return wse_fail(-EINVAL, "a symbol needs a name, and a place for its address");
	for (uint32_t i = 0; i < prog->symbols.n; i++) {
		const char *own;
		Elf32_Sym s = elf32_symbol(&prog->symbols, i, &own);

		if (s.st_shndx == SHN_UNDEF || !*own || strcmp(own, name))
			continue;
		*addr = s.st_value;
		return 0;
	}
	return wse_fail(-ENOENT, "%s has no symbol %s: is it spelt right, and not static?",
			prog->name, name);
}

uint32_t wse_program_end(const struct wse_program *prog)
{
	return wse_handle_check(WSE_HANDLE_PROGRAM, prog) ? 0 : (prog->code->end + 15) & ~15u;
}

void wse_program_destroy(struct wse_program *prog)
{
	if (prog && !wse_handle_remove(WSE_HANDLE_PROGRAM, prog))
		program_free(prog);
}
