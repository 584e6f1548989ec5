/* SPDX-License-Identifier: MIT */
/* What the files of the stub share. */
#ifndef WSE_GDB_STUB_H
#define WSE_GDB_STUB_H

#include "gdb.h"
#include "wse_regs.h"

#define PACKET_MAX 0x4000u   /* bytes of a packet between $ and #, either way */
#define OUT_MAX	   (1u << 22) /* that wait to be sent: a debugger which reads needs far less */
#define NWORDS	   (WSE_SRAM_BYTES / 4)
#define WATCHES	   8u	      /* of a core */
#define WATCH_MAX  64u	      /* bytes of one */

enum hit {
	HIT_NONE,
	HIT_STEP,
	HIT_BREAK,
	HIT_WATCH,
	HIT_FAULT,
};

struct gdb_watch {
	uint32_t addr, len;
	uint8_t was[WATCH_MAX];
};

struct gdb_core {
	bool attached, killed;
	bool told;	    /* that it has faulted */
	uint8_t hit;	    /* enum hit, not reported yet */
	bool resumed; /* by the debugger: else its stops wait until it is */
	bool parked;  /* held meanwhile, where it has stopped: at parked_pc */
	uint32_t parked_pc;
	bool stepping;
	uint32_t from, to;  /* it steps until pc is outside [from, to) */
	uint32_t told_pc;   /* a breakpoint that was reported: the core passes it; 1: none */
	uint32_t watch_hit; /* address */
	uint32_t nbreaks;
	uint8_t *breaks; /* [NWORDS] bits BREAK_*; NULL: there has been none */
	uint32_t nwatches;
	struct gdb_watch watch[WATCHES];
};

#define BREAK_SOFT 1u
#define BREAK_HARD 2u

struct gdb_stub {
	struct gdb_cfg cfg;
	char *program;
	uint32_t ncores;
	struct gdb_core *core;
	bool connected, running, interrupted;
	bool asked; /* by gdb_brk() */
	bool traced; /* records of all cores are asked for */
	uint32_t nstops; /* breakpoints, watchpoints and steps: what needs records */
	uint64_t retired; /* instructions of the cores that it is attached to */
	uint32_t still;	  /* cycles since there was one, with watchpoints */
	uint32_t general; /* core of Hg */
	uint32_t listed;  /* qsThreadInfo goes on here */
	unsigned int stop_signal; /* of the latest stop, for ? */
	uint32_t stop_core;
	bool multi, no_ack, swbreak, hwbreak;
	/* a packet that comes in */
	enum { IN_IDLE, IN_BODY, IN_SUM1, IN_SUM2 } in_state;
	char in[PACKET_MAX + 1];
	size_t nin;
	bool in_escape, in_long;
	uint8_t in_sum, in_want;
	/* one that is made */
	char reply[PACKET_MAX + 1];
	size_t nreply;
	/* bytes that wait to be sent; where the latest packet begins, for - */
	uint8_t *out;
	size_t nout, out_room;
	uint8_t *last;
	size_t nlast;
	bool choked;
	char *text; /* a document that is read by pieces */
	size_t ntext, text_room;
	bool text_short; /* memory ran out */
};

/* packet.c */
void gdb_say(struct gdb_stub *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
void gdb_say_hex(struct gdb_stub *g, const void *bytes, size_t len);
void gdb_send(struct gdb_stub *g); /* the packet that gdb_say made */
void gdb_console(struct gdb_stub *g, const char *text, size_t len);
bool gdb_number(const char **p, uint64_t *n); /* hexadecimal */
bool gdb_bytes(const char **p, void *bytes, size_t len);

/* a document */
void gdb_text_begin(struct gdb_stub *g);
void gdb_text(struct gdb_stub *g, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* commands.c */
void gdb_command(struct gdb_stub *g, char *packet, size_t len);
void gdb_say_thread(struct gdb_stub *g, uint32_t core);
void gdb_error(struct gdb_stub *g);			 /* the reply is E01 */
void gdb_release(struct gdb_stub *g, uint32_t core); /* from the debugger; the last one: all run */

/* xfer.c: OBJECT:read:ANNEX:OFFSET,LENGTH, behind qXfer: */
void gdb_xfer(struct gdb_stub *g, const char *p);

/* regs.c: 0, or false for a register that does not exist or cannot be set */
void gdb_target_xml(struct gdb_stub *g);
bool gdb_read_reg(struct gdb_stub *g, uint32_t core, uint32_t reg);
bool gdb_write_reg(struct gdb_stub *g, uint32_t core, uint32_t reg, const char *hex);
void gdb_read_regs(struct gdb_stub *g, uint32_t core);
bool gdb_write_regs(struct gdb_stub *g, uint32_t core, const char *hex);

/* stops.c */
int gdb_insert(struct gdb_stub *g, uint32_t core, unsigned int type, uint64_t addr, uint64_t len);
int gdb_remove(struct gdb_stub *g, uint32_t core, unsigned int type, uint64_t addr, uint64_t len);
void gdb_forget(struct gdb_stub *g, uint32_t core); /* all of a core */
void gdb_resume(struct gdb_stub *g);
void gdb_report(struct gdb_stub *g, uint32_t core, enum hit hit, unsigned int signal);
unsigned int gdb_fault_signal(uint32_t cause);

/* monitor.c */
void gdb_monitor(struct gdb_stub *g, const char *line);
void gdb_processes_xml(struct gdb_stub *g);

static inline uint32_t core_row(const struct gdb_stub *g, uint32_t core)
{
	return core / g->cfg.cols;
}

static inline uint32_t core_col(const struct gdb_stub *g, uint32_t core)
{
	return core % g->cfg.cols;
}

#endif /* WSE_GDB_STUB_H */
