// SPDX-License-Identifier: MIT
/* A core's program, an ELF file: it is loaded, and its symbols and lines are looked up. */
#include "fuzz.h"
#include "lines.h"
#include "wse/wse.h"
#include "wse_regs.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct wse_device *dev;
	static struct wse_context *ctx;
	char text[WSE_LINES_TEXT];
	struct wse_program *prog;
	struct wse_lines lines;
	uint32_t addr;

	if (!dev &&
	    (wse_device_open("sim:func,rows=1,cols=1", &dev) || wse_context_create(dev, 0, &ctx)))
		fuzz_found("no device: %s", wse_error());
	if (!fuzz_result(wse_program_load_memory(ctx, bytes, size, &prog))) {
		fuzz_result(wse_program_symbol(prog, "main", &addr));
		wse_program_destroy(prog);
	}
	wse_lines_find(&lines, bytes, size);
	for (uint32_t pc = WSE_SRAM_BASE; pc < WSE_SRAM_BASE + 4096; pc += 68)
		wse_lines_place(&lines, pc, text);
	return 0;
}
