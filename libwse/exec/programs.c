// SPDX-License-Identifier: MIT
/* The programs of a graph: files, places of their start functions, limits of the plan. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "device/device.h"
#include "exec/programs.h"
#include "ops/emit.h"

static int find_entries(struct wse_programs *p, const struct wse_graph *g, uint32_t program,
			const char *path)
{
	for (uint32_t i = 0; i < g->nops; i++) {
		const struct wse_op *op = &g->ops[i];
		const char *name = wse_op_type(op->kind)->entry;

		if (op->program != program || !name || p->entry[program][op->kind])
			continue;
		if (wse_program_symbol(p->prog[program], name, &p->entry[program][op->kind]))
			return wse_fail(
				-ENOENT,
				"%s has no start function %s: use the programs of this release",
				path, name);
	}
	return 0;
}

static int load_program(struct wse_programs *p, struct wse_context *ctx, const struct wse_graph *g,
			uint32_t program)
{
	const struct wse_graph_program *gp = &g->programs[program];
	char path[512];
	int ret = wse_find_file("WSE_KERNELS", gp->file, sizeof(path), path);

	if (ret)
		return wse_fail(
			ret,
			"there is no program %s for the cores: set WSE_KERNELS to its directory, "
			"or put it into /lib/firmware/wse",
			gp->file);
	ret = wse_program_create(ctx, path, &p->prog[program]);
	if (ret)
		return wse_fail_in(ret, "loading a program of the cores: ");
	if (wse_program_end(p->prog[program]) > gp->end)
		return wse_fail(
			-E2BIG,
			"%s ends at %#x, the plan has data from %#x on: use the programs of this "
			"release",
			path, wse_program_end(p->prog[program]), gp->end);
	ret = wse_program_columns(p->prog[program], g->tile.cols);
	ret = ret ? ret : wse_program_rows(p->prog[program], g->tile.rows);
	if (ret)
		return wse_fail_in(ret, "loading a program of the cores: ");
	return find_entries(p, g, program, path);
}

int wse_programs_load(struct wse_programs *p, struct wse_context *ctx, const struct wse_graph *g)
{
	int ret = 0;

	for (uint32_t i = 0; i < g->nprograms && !ret; i++)
		ret = load_program(p, ctx, g, i);
	return ret;
}

void wse_programs_unload(struct wse_programs *p)
{
	for (uint32_t i = 0; i < WSE_GRAPH_PROGRAMS; i++)
		wse_program_destroy(p->prog[i]);
	memset(p, 0, sizeof(*p));
}

int wse_programs_close_stream(struct wse_context *ctx, const struct drm_wse_info *info)
{
	struct wse_start start = {.queue = WSE_QUEUE_RUN,
				  .rows = info->rows,
				  .cols = info->cols,
				  .closed = 1,
				  .budget = WSE_EMIT_START_BUDGET};
	struct wse_program *prog = NULL;
	struct drm_wse_cmd cmd[2];
	char path[512];
	int ret = wse_find_file("WSE_KERNELS", "rows.elf", sizeof(path), path);

	if (ret)
		return wse_fail(ret, "there is no program rows.elf for the cores: use the programs "
				     "of this release");
	ret = wse_program_create(ctx, path, &prog);
	ret = ret ? ret : wse_program_symbol(prog, "close_stream", &start.entry);
	if (!ret) {
		cmd[0] = wse_program_copy(prog, WSE_QUEUE_RUN);
		cmd[1] = wse_cmd_start(start);
		ret = wse_submit_wait(ctx, cmd, 2, WSE_FOREVER);
	}
	wse_program_destroy(prog);
	return ret;
}
