// SPDX-License-Identifier: MIT
/*
 * A kernel of one's own, add_id.c, on all cores of a device:
 *
 *	kernel DEVICE add_id.elf
 */
#include <stdio.h>
#include <wse/wse.h>

int main(int argc, char **argv)
{
	struct wse_device *dev = NULL;
	struct wse_context *ctx = NULL;
	struct wse_program *prog = NULL;
	struct wse_buffer *buf = NULL;
	struct drm_wse_info info;
	uint32_t entry;
	int ret = argc != 3 ? -1 : wse_device_open(argv[1], &dev);

	ret = ret ? ret : wse_device_info(dev, &info);
	ret = ret ? ret : wse_context_create(dev, 0, &ctx);
	ret = ret ? ret : wse_program_load(ctx, argv[2], &prog);
	ret = ret ? ret : wse_program_symbol(prog, "add_id", &entry);
	ret = ret ? ret : wse_buffer_create(dev, 8ul * info.rows * info.cols, &buf);
	if (!ret) {
		uint32_t at = wse_program_end(prog); /* free SRAM begins here */
		struct drm_wse_cmd cmds[] = {
			wse_cmd_start((struct wse_start){.rows = info.rows,
							 .cols = info.cols,
							 .entry = entry,
							 .arg = {0x80000000 + at, 1000},
							 .closed = 1}),
			wse_cmd_copy_out((struct wse_copy){.buf = buf,
							   .rows = info.rows,
							   .cols = info.cols,
							   .sram = at,
							   .len = 8,
							   .cstride = 8,
							   .rstride = 8 * info.cols}),
		};

		ret = wse_submit_wait(ctx, cmds, 2, WSE_FOREVER);
	}
	for (uint32_t i = 0; !ret && i < info.rows * info.cols; i++)
		printf("%u%c", ((uint32_t *)wse_buffer_map(buf))[2 * i],
		       (i + 1) % info.cols ? ' ' : '\n');
	if (ret)
		fprintf(stderr, "%s\n", argc != 3 ? "usage: kernel DEVICE PROGRAM" : wse_error());
	wse_buffer_destroy(buf);
	wse_program_destroy(prog);
	wse_context_destroy(ctx);
	wse_device_close(dev);
	return ret != 0;
}
