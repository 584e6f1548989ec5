// SPDX-License-Identifier: MIT
/*
 * For test_session: many ROWS COLS PROGRAM.elf SOCKET: a twin whose cores all run the program,
 * until the debugger leaves.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf32.h"
#include "gdb/gdb.h"
#include "gdb/server.h"
#include "twin/tests/dev.h"

static uint8_t file[1 << 20], image[WSE_SRAM_BYTES];

int main(int argc, char **argv)
{
	struct gdb_server *server = NULL;
	struct gdb_cfg cfg = {.closed = true};
	struct gdb_stub *stub = NULL;
	struct elf32 elf;
	struct dev d;
	char why[160];
	FILE *f;

	if (argc != 5)
		return 2;
	cfg.rows = (uint32_t)atoi(argv[1]);
	cfg.cols = (uint32_t)atoi(argv[2]);
	cfg.program = argv[3];
	f = fopen(argv[3], "rb");
	if (!f || elf32_parse(file, fread(file, 1, sizeof(file), f), WSE_SRAM_BASE, WSE_SRAM_BYTES,
			      &elf, why, sizeof(why)))
		return 2;
	fclose(f);
	for (unsigned int i = 0; i < elf.nsegments; i++)
		memcpy(image + (elf.segment[i].addr - WSE_SRAM_BASE), elf.segment[i].data,
		       elf.segment[i].filesz);
	if (dev_open(&d, "func", cfg.rows, cfg.cols))
		return 1;
	for (uint32_t i = 0; i < cfg.rows * cfg.cols; i++) {
		d.ops->poke(d.m, i, WSE_SRAM_BASE, image, sizeof(image));
		d.ops->boot(d.m, i, elf.entry);
	}
	cfg.ops = d.ops;
	cfg.machine = d.m;
	if (gdb_create(&cfg, &stub) || gdb_listen(argv[4], stub, &server))
		return 1;
	while (!gdb_met_debugger(server))
		gdb_serve(server, -1);
	while (gdb_has_debugger(server)) {
		gdb_serve(server, gdb_runs(stub) ? 0 : -1);
		gdb_advance(stub, 10000, NULL);
	}
	gdb_close(server);
	gdb_destroy(stub);
	dev_close(&d);
	return 0;
}
