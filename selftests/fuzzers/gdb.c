// SPDX-License-Identifier: MIT
/* What a debugger sends: packets, a line each, and, between them, raw bytes. */
#include "fuzz.h"
#include "gdb/gdb.h"

static int no_read(void *ctx, uint64_t iova, void *buf, size_t len)
{
	(void)ctx;
	(void)iova;
	memset(buf, 0, len);
	return 0;
}

static int no_write(void *ctx, uint64_t iova, const void *buf, size_t len)
{
	(void)ctx;
	(void)iova;
	(void)buf;
	(void)len;
	return 0;
}

static void no_irq(void *ctx, unsigned int vector)
{
	(void)ctx;
	(void)vector;
}

/* a line: $line#sum, or without a frame where it begins with a digit */
static void send(struct gdb_stub *g, const uint8_t *line, size_t n)
{
	uint8_t sum = 0;
	char end[4];

	if (n && line[0] >= '0' && line[0] <= '9') {
		gdb_input(g, line + 1, n - 1);
		return;
	}
	for (size_t i = 0; i < n; i++)
		sum = (uint8_t)(sum + line[i]);
	snprintf(end, sizeof(end), "#%02x", sum);
	gdb_input(g, "$", 1);
	gdb_input(g, line, n);
	gdb_input(g, end, 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const struct wse_host_ops host = {no_read, no_write, no_irq, NULL};
	const struct wse_machine_cfg model = {.rows = 1, .cols = 2};
	struct gdb_cfg cfg = {.ops = wse_machine_find("func"), .rows = 1, .cols = 2};
	struct gdb_stub *g;
	size_t len, from = 0;

	if (!cfg.ops || cfg.ops->create(&model, &host, NULL, &cfg.machine) || gdb_create(&cfg, &g))
		fuzz_found("no wafer");
	gdb_connect(g);
	for (size_t i = 0; i <= size; i++) {
		uint64_t ran;

		if (i < size && bytes[i] != '\n')
			continue;
		send(g, bytes + from, i - from);
		from = i + 1;
		gdb_advance(g, 100, &ran);
		gdb_output(g, &len);
		gdb_sent(g, len);
	}
	gdb_disconnect(g);
	gdb_destroy(g);
	cfg.ops->destroy(cfg.machine);
	return 0;
}
