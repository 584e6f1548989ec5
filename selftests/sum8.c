/* SPDX-License-Identifier: MIT */
/*
 * Runs the kernel sum8 of hw/doc/README.md: 1 + 2 + ... + 8 on one core of a twin. Usage: sum8
 * PROGRAM.elf
 */
#include <stdio.h>
#include <string.h>
#include <wse/wse.h>

int main(int argc, char **argv)
{
	static const uint16_t x[8] = {0x3f80, 0x4000, 0x4040, 0x4080,
				      0x40a0, 0x40c0, 0x40e0, 0x4100}; /* 1 ... 8 */
	struct wse_device *dev;
	struct wse_context *ctx;
	struct wse_program *prog;
	struct wse_buffer *buf;
	uint32_t entry, at;
	int ret = argc != 2 || wse_device_open("sim:func,rows=1,cols=1", &dev) ||
		  wse_context_create(dev, 0, &ctx) || wse_program_load(ctx, argv[1], &prog) ||
		  wse_program_symbol(prog, "sum8", &entry) || wse_buffer_create(dev, 24, &buf);

	if (!ret) {
		at = wse_program_end(prog);
		memcpy(wse_buffer_map(buf), x, sizeof(x));
		struct drm_wse_cmd cmds[] = {
			wse_cmd_copy_in((struct wse_copy){
				.buf = buf, .rows = 1, .cols = 1, .sram = at, .len = 24}),
			wse_cmd_start(
				(struct wse_start){.rows = 1,
						   .cols = 1,
						   .entry = entry,
						   .arg = {0x80000000 + at, 0x80000000 + at + 16},
						   .closed = 1}),
			wse_cmd_copy_out((struct wse_copy){
				.buf = buf, .rows = 1, .cols = 1, .sram = at, .len = 24}),
		};

		ret = wse_submit_wait(ctx, cmds, 3, WSE_FOREVER);
	}
	if (ret) {
		fprintf(stderr, "%s\n", wse_error());
		return 1;
	}
	printf("%g\n", ((float *)wse_buffer_map(buf))[4]);
	return 0;
}
