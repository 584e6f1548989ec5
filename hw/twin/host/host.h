/* SPDX-License-Identifier: MIT */
/* The host's side of the device: queues, jobs, edge ports, and the functions of host/. */
#ifndef TWIN_HOST_HOST_H
#define TWIN_HOST_HOST_H

#include "twin/exact/core.h"

#define TWIN_NQ 5u /* queue pairs, as the RTL's default */

/* host memory of a command */
struct twin_buf {
	uint64_t base;
	bool direct;
	uint8_t shift;
	uint64_t tag[64], page[64]; /* cache of list entries; tag = index + 1 */
};

/* REST: an admin command is done when the buses have answered */
enum twin_qstate { Q_EMPTY, Q_WAIT, Q_RUN, Q_FENCE, Q_REST, Q_DONE };
enum twin_exec { X_COPY, X_IN, X_OUT, X_START, X_COUNT };

struct twin_queue {
	bool exists, phase;
	uint64_t sq, cq;
	uint32_t sq_max, cq_max; /* entries - 1 */
	uint32_t sq_head, sq_tail, cq_head, cq_tail;
	bool kept; /* kept_tail came with MORE: it counts with the last doorbell of its batch */
	uint32_t kept_tail;
	uint32_t vector, completed;
	uint8_t state; /* enum twin_qstate */
	uint8_t exec;  /* enum twin_exec */
	struct wse_sqe sqe;
	uint16_t res, fault;
	uint32_t t_start, t_end;
};

struct twin_job { /* what an executor works on */
	bool active;
	uint8_t queue;
	struct wse_sqe sqe;
	uint64_t deadline;
	bool look; /* the budget is used up: the next round decides */
	struct twin_buf buf, mask; /* of streams */
	bool failed;		   /* streams: DMA error */
	uint64_t bad;		   /* the bus address of the access that failed */
};

/* what an executor has done in a round */
enum twin_progress { RUN_IDLE, RUN_MOVED, RUN_ENDED };

struct twin_result { /* how a job ended */
	uint16_t status;
	struct wse_fault f; /* without status, queue, cid, cycle, seq */
};

/* a copy's columns of one bus, [first, end) of the command's, and where it has come to */
struct twin_copy {
	struct twin_buf buf;
	uint32_t first, end, row, col, line;
	bool busy, silent; /* silent: the bus does not answer */
};

/*
 * a bus to the host's memory, in quarters of a cycle: when its two directions are free, and what
 * the round's transfers take
 */
struct twin_bus {
	uint64_t in_free, out_free, in, out;
	/* of the last command of each executor: it has ended, but this access has no answer yet */
	bool owed[X_COUNT];
	uint64_t asked[X_COUNT];
	struct twin_copy copy;
};

/* a column's elements in the host's memory, LINEAR: places in the buffer */
struct twin_run {
	uint64_t at, end;
	bool over; /* the block has more than there are: the port waits behind the last of them */
};

struct twin_port_in { /* stream-in of a column */
	struct twin_bus *bus;
	struct twin_run run;
	uint32_t cost;	  /* of a block on the bus; LINEAR: of its masks */
	bool busy, fresh; /* fresh: its block has not been read, as before the first one */
	bool silent;	  /* the bus does not answer */
	uint8_t color;
	uint16_t age; /* rounds that it has waited */
	uint32_t block;
	uint32_t *w; /* wavelets of the block; behind them room for values and masks */
	size_t room; /* bytes there, which stay for the next command */
	uint32_t n, pos;
	bool end_due;  /* the block's END comes after the wavelets */
	uint8_t dense; /* features per k when all elements come in order, else 0 */
	bool words;    /* dense: the wavelets have been made; until then there are values alone */
	float *v;      /* dense: [k][f] */
	struct twin_range range; /* of its values */
};

struct twin_port_out { /* stream-out of a column */
	struct twin_bus *bus;
	struct twin_run run;
	uint32_t cost, mask_cost; /* of a block on the bus, out and in */
	bool busy, fresh, silent;
	uint8_t color, etype;
	uint32_t block;
	uint8_t *data;	 /* [nfeat][kcol] elements */
	uint8_t *sel;	 /* [nfeat][(kcol + 7) / 8] mask */
	uint32_t *order; /* selected elements: f * kcol + k; LINEAR: 0, 1, ... */
	uint32_t n, pos;
	uint8_t dense;			 /* features when all elements are selected, else 0 */
	struct twin_chan q[WSE_NCOLORS]; /* south edge port */
};

/* dma.c: 0, or an errno */
int twin_dma(struct wse_machine *m, bool write, uint64_t iova, void *buf, size_t len);
void twin_buf_open(struct twin_buf *b, uint64_t base, bool direct, uint8_t shift);
/* where len bytes are, as model.h's dma_at; NULL: twin_buf_io() decides */
const void *twin_buf_at(struct wse_machine *m, struct twin_buf *b, uint64_t off, size_t len);
/* between memory and a command's buffer; j->bad: the bus address that failed */
int twin_buf_io(struct wse_machine *m, struct twin_job *j, struct twin_buf *b, bool write,
		uint64_t off, void *mem, size_t len);
/* the command ends so: RUN_ENDED */
enum twin_progress twin_dma_error(const struct twin_job *j, struct twin_result *r);

static inline uint32_t twin_element_bytes(const struct wse_sqe *s)
{
	return s->etype == WSE_ETYPE_BF16 ? 2 : 4;
}

/* bus.c: 0, or -1 without memory; the bus of a column; what a block of a column takes on it */
int twin_bus_create(struct wse_machine *m);
struct twin_bus *twin_bus_of(struct wse_machine *m, uint32_t col);
uint32_t twin_bus_in_cost(const struct wse_sqe *s);
uint32_t twin_bus_out_cost(const struct wse_machine *m, const struct wse_sqe *s);
/* so many bytes of a LINEAR run */
uint32_t twin_bus_run_cost(uint32_t bytes);
uint32_t twin_bus_mask_cost(const struct wse_sqe *s);
/* cycles of a round that would be t without the buses */
uint64_t twin_bus_round(struct wse_machine *m, uint64_t t);
void twin_bus_reset(struct wse_machine *m);

/* silent.c: the column's access at a bus address has no answer: its executor does it again */
void twin_silent_ask_again(struct wse_machine *m, unsigned int exec, uint32_t col, uint64_t at);
/* the command ends, and its buses owe what they have not answered; do they still? */
void twin_silent_end(struct wse_machine *m, unsigned int exec);
bool twin_silent_owed(struct wse_machine *m, unsigned int exec);
/* the groups that do not answer: how many, and the first one's first column; false: none */
bool twin_silent_groups(struct wse_machine *m, unsigned int exec, struct twin_result *r);

/* check.c: status of an entry; *off: byte offset of the bad member */
uint16_t twin_check_sqe(const struct wse_machine *m, const struct wse_sqe *s, bool admin,
			uint32_t *off);
bool twin_is_ring(uint32_t max); /* may a ring have entries 0 ... max? */

/* queue.c */
bool twin_queues_run(struct wse_machine *m);
void twin_queues_reset(struct wse_machine *m);
void twin_doorbell(struct wse_machine *m, unsigned int index, uint32_t value);
bool twin_queues_busy(const struct wse_machine *m);

/* copy.c, stream.c, start.c: executors. begin: true, it ended at once. run: a look in each round */
bool twin_copy_begin(struct wse_machine *m, struct twin_job *j, struct twin_result *r);
enum twin_progress twin_copy_run(struct wse_machine *m, struct twin_job *j, struct twin_result *r);
void twin_copy_find_waiter(struct wse_machine *m, struct twin_job *j, struct twin_result *r);
bool twin_in_begin(struct wse_machine *m, struct twin_job *j, struct twin_result *r);
enum twin_progress twin_in_run(struct wse_machine *m, struct twin_job *j, struct twin_result *r);
bool twin_in_inject(struct wse_machine *m, unsigned int col);
const uint32_t *twin_in_words(struct twin_port_in *p);
bool twin_out_begin(struct wse_machine *m, struct twin_job *j, struct twin_result *r);
enum twin_progress twin_out_run(struct wse_machine *m, struct twin_job *j, struct twin_result *r);
void twin_out_take(struct wse_machine *m, unsigned int col, const uint32_t *w, uint32_t n);
void twin_stream_find_waiter(struct wse_machine *m, struct twin_job *j, struct twin_result *r);
/* ends the command's ports: with exec's job, whose buses may still owe an answer, or at a reset */
void twin_ports_reset(struct wse_machine *m, unsigned int exec);
bool twin_start_begin(struct wse_machine *m, struct twin_job *j, struct twin_result *r);
enum twin_progress twin_start_run(struct wse_machine *m, struct twin_job *j, struct twin_result *r);
void twin_start_find_waiter(struct wse_machine *m, struct twin_job *j, struct twin_result *r);
void twin_scrub(struct wse_machine *m, const struct wse_sqe *s);

/* mmio.c */
uint32_t twin_mmio_read(struct wse_machine *m, uint32_t offset);
void twin_mmio_write(struct wse_machine *m, uint32_t offset, uint32_t value);
uint64_t twin_reg64(const struct wse_machine *m, uint32_t lo);
void twin_reset(struct wse_machine *m);

#endif /* TWIN_HOST_HOST_H */
