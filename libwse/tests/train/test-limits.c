// SPDX-License-Identifier: MIT
/* Limits of sizes and counts, each at its edge: what is just below goes, what is just above is refused or wide enough. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exec/clock.h"
#include "ops/attn_cycles.h"
#include "tap.h"

static void clocks(void)
{
	static const uint32_t steps[] = {1, 1000, 1u << 29, (1u << 30) - 1, 0};
	uint64_t now = 12345, at = now;
	uint32_t bad = 0;

	for (int i = 0; i < 40; i++) {
		now += steps[i % 5];
		at = wse_clock_at(at, (uint32_t)now);
		bad += at != now;
		bad += wse_clock_at(at, (uint32_t)(now - WSE_CLOCK_BACK)) != now - WSE_CLOCK_BACK;
		bad += wse_clock_at(at, (uint32_t)(now - 1)) != now - 1;
	}
	ok(!bad && now > 3ull << 32, "a clock of 32 bits told beyond 2^32: %llu cycles",
	   (unsigned long long)at);
}

/* twice the sequence is twice the products of a row, beyond 2^32 hundredths of a cycle */
static void predictions(void)
{
	uint64_t half = wse_attn_cycles(64, 1u << 15, 1024, 1, 8),
		 whole = wse_attn_cycles(64, 1u << 16, 1024, 1, 8),
		 half_back = wse_attn_back_cycles(64, 1u << 15, 1024, 1, 8),
		 whole_back = wse_attn_back_cycles(64, 1u << 16, 1024, 1, 8);

	ok(whole > half * 19 / 10 && whole_back > half_back * 19 / 10 && whole_back * 100 > 1ull << 32,
	   "attention's predictions have 64 bits: %llu and %llu cycles", (unsigned long long)whole,
	   (unsigned long long)whole_back);
}

int main(void)
{
	clocks();
	predictions();
	return tap_end();
}
