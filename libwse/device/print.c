// SPDX-License-Identifier: MIT
/* What the cores have said with wse_printf(). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/handle.h"
#include "device.h"
#include "print.h"
#include "wse_print_area.h"
#include "wse_regs.h"

struct reader {
	wse_message_fn fn;
	void *arg;
	uint32_t row, col;
};

static void hand_on(void *arg, const char *text, size_t len)
{
	struct reader *r = arg;

	(void)len;
	r->fn(r->arg, r->row, r->col, text);
}

/*
 * Takes the areas of all cores, one behind the other, and gives the cores their room back: two
 * commands on one queue, which keeps their order. Of a context that is lost the first alone.
 */
static int take(struct wse_context *ctx, const struct wse_print *p, bool lost, char *areas)
{
	const struct drm_wse_info *info = &ctx->dev->info;
	const uint32_t none = info->rows * info->cols * p->bytes; /* bytes of 0 in the buffer */
	struct wse_copy all = {
		.sram = p->area - WSE_SRAM_BASE,
		.rows = (uint16_t)info->rows,
		.cols = (uint16_t)info->cols,
		.len = p->bytes,
		.cstride = p->bytes,
		.rstride = p->bytes * info->cols,
	};
	struct drm_wse_cmd cmds[2];
	struct wse_buffer *buf;
	int ret = ctx->dev->ops->buffer_create(ctx->dev, none + 8, &buf);

	if (ret)
		return ret;
	memset((char *)buf->ptr + none, 0, 8);
	cmds[0] = wse_cmd_copy_out(all);
	all.off = none;
	all.len = sizeof(struct wse_print_head);
	all.cstride = all.rstride = 0;
	all.broadcast = 1;
	cmds[1] = wse_cmd_copy_in(all);
	cmds[0].bo = cmds[1].bo = buf->handle; /* the library's own: no handle for users */
	ret = lost ? ctx->dev->ops->look(ctx, cmds) : wse_submit_wait(ctx, cmds, 2, WSE_FOREVER);
	if (!ret)
		memcpy(areas, buf->ptr, none);
	wse_buffer_put(buf);
	return ret;
}

/* Of a context that is lost: the memory of the cores stays as it was. */
static int look(struct wse_context *ctx, const struct wse_print *p, char *areas)
{
	struct wse_device *dev = ctx->dev;
	uint32_t cores = dev->info.rows * dev->info.cols;
	int ret = 0;

	if (!dev->ops->peek)
		return dev->ops->look ? take(ctx, p, true, areas) : -ENOTSUP;
	for (uint32_t i = 0; i < cores && !ret; i++)
		ret = dev->ops->peek(dev, i, p->area, areas + (size_t)i * p->bytes, p->bytes);
	return ret;
}

static int tell(const struct wse_device *dev, const struct wse_print *p, const char *name,
		const char *areas, struct reader *r)
{
	char why[400];
	int ret = 0;

	for (uint32_t i = 0; i < dev->info.rows * dev->info.cols; i++) {
		r->row = i / dev->info.cols;
		r->col = i % dev->info.cols;
		if (!wse_print_each(p, areas + (size_t)i * p->bytes, hand_on, r, why,
				    sizeof(why)) ||
		    ret)
			continue;
		ret = wse_fail(-EBADMSG, "%s: core %u,%u: %s", name, r->col, r->row, why);
	}
	return ret;
}

int wse_program_print(struct wse_context *ctx, const struct wse_program *prog, wse_message_fn fn,
		      void *arg)
{
	struct reader r = {.fn = fn, .arg = arg};
	struct wse_failure before;
	struct wse_device *dev;
	const struct wse_code *code;
	const char *name;
	struct wse_print p;
	char *areas;
	int ret = wse_handle_check(WSE_HANDLE_CONTEXT, ctx);

	if (!ret)
		ret = wse_handle_check(WSE_HANDLE_PROGRAM, prog);
	if (ret)
		return ret;
	if (!fn)
		return wse_fail(-EINVAL, "wse_program_print() without a function for the texts");
	dev = ctx->dev;
	code = wse_program_code(prog, &name);
	wse_print_find(&p, code->bytes, code->size);
	if (!p.bytes)
		return wse_fail(
			-ENODATA,
			"%s has no wse_printf(), or was stripped: include wse_print.h in it "
			"and leave its symbols there",
			name);
	areas = malloc((size_t)dev->info.rows * dev->info.cols * p.bytes);
	if (!areas)
		return wse_fail(-ENOMEM, "no memory for the messages of %s", name);
	wse_failure_keep(&before, 0);
	ret = take(ctx, &p, false, areas);
	if (ret && !look(ctx, &p, areas)) {
		wse_failure_undo(&before);
		ret = 0;
	}
	if (!ret)
		ret = tell(dev, &p, name, areas, &r);
	free(areas);
	return ret;
}
