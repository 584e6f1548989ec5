// SPDX-License-Identifier: MIT
/*
 * What the cores say with wse_printf(), hello_cores.c:
 *
 *	hello DEVICE hello_cores.elf
 */
#include <stdio.h>
#include <wse/wse.h>

static void say(void *arg, uint32_t row, uint32_t col, const char *text)
{
	(void)arg;
	printf("core %u,%u: %s", col, row, text);
}

int main(int argc, char **argv)
{
	struct wse_device *dev = NULL;
	struct wse_context *ctx = NULL;
	struct wse_program *prog = NULL;
	struct drm_wse_info info;
	uint32_t entry;
	int ret = argc != 3 ? -1 : wse_device_open(argv[1], &dev);

	ret = ret ? ret : wse_device_info(dev, &info);
	ret = ret ? ret : wse_context_create(dev, 0, &ctx);
	ret = ret ? ret : wse_program_load(ctx, argv[2], &prog);
	ret = ret ? ret : wse_program_symbol(prog, "hello_cores", &entry);
	if (!ret) {
		struct drm_wse_cmd start = wse_cmd_start((struct wse_start){
			.rows = info.rows, .cols = info.cols, .entry = entry, .arg = {1}});

		ret = wse_submit_wait(ctx, &start, 1, WSE_FOREVER);
		/* also where it failed: then the last words of the cores are here */
		if (wse_program_print(ctx, prog, say, NULL) && !ret)
			ret = -1;
	}
	if (ret)
		fprintf(stderr, "%s\n", argc != 3 ? "usage: hello DEVICE PROGRAM" : wse_error());
	wse_program_destroy(prog);
	wse_context_destroy(ctx);
	wse_device_close(dev);
	return ret != 0;
}
