// SPDX-License-Identifier: MIT
/* Where a core stands in its program: function and source line, for the sentence of a loss. */
#include <string.h>

#include "device.h"
#include "lines.h"
#include "wse_regs.h"

_Static_assert(WSE_PLACE >= WSE_LINES_TEXT, "a place needs that");

void wse_context_knows(struct wse_context *ctx, struct wse_code *code)
{
	struct wse_code *old;

	wse_code_get(code);
	pthread_mutex_lock(&ctx->dev->lost_lock);
	old = ctx->code[WSE_CODES - 1];
	memmove(ctx->code + 1, ctx->code, (WSE_CODES - 1) * sizeof(*ctx->code));
	ctx->code[0] = code;
	pthread_mutex_unlock(&ctx->dev->lost_lock);
	wse_code_put(old);
}

/* How many words of n bytes at SRAM offset `at` are the program's. */
static uint32_t likeness(const struct wse_code *code, uint32_t at, const char *bytes, size_t n)
{
	uint32_t same = 0;

	for (uint32_t i = 0; i + 4 <= n; i += 4)
		same += at + i >= code->start && at + i + 4 <= code->end &&
			!memcmp(bytes + i, code->image + (at + i - code->start), 4);
	return same;
}

/*
 * Programs take turns on the cores, and one may be changed for fewer columns: the most alike is
 * meant, if that is half of it.
 */
void wse_context_place(struct wse_context *ctx, uint32_t pc, uint32_t at, const void *near,
		       size_t n, char text[WSE_PLACE])
{
	const struct wse_code *best = NULL;
	uint32_t most = (uint32_t)n / 8;
	struct wse_lines lines;

	text[0] = 0;
	pthread_mutex_lock(&ctx->dev->lost_lock);
	for (uint32_t i = 0; i < WSE_CODES && ctx->code[i]; i++) {
		uint32_t same = likeness(ctx->code[i], at, near, n);

		if (same <= most)
			continue;
		best = ctx->code[i];
		most = same;
	}
	if (best && pc - WSE_SRAM_BASE >= best->start && pc - WSE_SRAM_BASE < best->end) {
		wse_lines_find(&lines, best->bytes, best->size);
		wse_lines_place(&lines, pc, text);
	}
	pthread_mutex_unlock(&ctx->dev->lost_lock);
}
