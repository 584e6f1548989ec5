// SPDX-License-Identifier: MIT
/* For the cores: what test-print.c asks them to say. */
#include "wse_print.h"

static float half[2] = {0.5f, -1e-30f};

WSE_ENTRY void say(uint32_t args, uint32_t info)
{
	signed char small = -3;

	(void)args;
	(void)info;
	wse_printf("core %u,%u says\n", wse_col(), wse_row());
	wse_printf("%d%% of %s, %c|%5.2f|%-6x|%+d|%*d|", 100, wse_col() ? "east" : "west", 'q', 2.5,
		   0xabcu, small, 6, 42);
	wse_printf("%g %g %g %p\n", half[0], half[1], wse_bf16(0x3fc0), (void *)args);
	wse_done(0);
}

WSE_ENTRY void many(uint32_t args, uint32_t info)
{
	(void)info;
	for (uint32_t i = 0; i < *(uint32_t *)args; i++)
		wse_printf("%u\n", i);
	wse_done(0);
}

/* says the values that the host gives as %s: an address that may be anything */
WSE_ENTRY void string(uint32_t args, uint32_t info)
{
	(void)info;
	wse_printf("<%s>", *(const char **)args);
	wse_done(0);
}

/* core 1,0 alone writes two words over what the others have said, too */
WSE_ENTRY void smash(uint32_t args, uint32_t info)
{
	(void)info;
	wse_printf("before");
	if (wse_col() == 1 && !wse_row()) {
		__wse_print.head.used += *(uint32_t *)args;
		__wse_print.word[1] = ((uint32_t *)args)[1];
	}
	wse_done(0);
}

/* the last words before a fault, or without an end */
WSE_ENTRY void last(uint32_t args, uint32_t info)
{
	(void)info;
	wse_printf("at %p\n", (void *)*(uint32_t *)args);
	*(volatile uint32_t *)*(uint32_t *)args = 0;
	for (;;)
		;
}

WSE_ENTRY void hang(uint32_t args, uint32_t info)
{
	(void)info;
	wse_printf("waits for color %u\n", *(uint32_t *)args);
	wse_done(wse_recv(*(uint32_t *)args));
}
