/* SPDX-License-Identifier: MIT */
/*
 * Runs of wavelets: find.c finds what can pass (a flow), pass.c passes it, again.c keeps it, runs.c
 * knows the sources.
 */
#ifndef TWIN_FAST_RUNS_RUNS_H
#define TWIN_FAST_RUNS_RUNS_H

#include "twin/exact/lanes.h"
#include "twin/exact/sources.h"
#include "twin/fast/kernels/kernels.h"
#include "twin/twin.h"

#define TWIN_RUN_MAX 8192u /* wavelets of one run: bounds the work of a round */

struct run { /* an array of data wavelets */
	const uint32_t *w;
	/*
	 * or, dense, the values of a block's elements from place at on, all features of each k in
	 * order
	 */
	const float *v;
	uint32_t at;
	uint8_t dense, shift; /* features of each k: 1, 2 or 4, and its logarithm */
	struct twin_range range;
};

struct node {		     /* an engine with its running instruction, or a south port */
	struct twin_core *c; /* a port's: the core north of it */
	struct twin_engine *e;
	struct twin_port_out *port;
	uint32_t slot;
	uint8_t which;
	bool need_fab, need_dot, got_fab, got_dot;
	uint32_t first, sinks;	     /* what it feeds: flows.sink[first ...] */
	struct node *from;	     /* feeds it by the fabric; NULL: a north port, or no node */
	const struct run *fab, *dot; /* inputs: what others have made, */
	struct run out;		     /* and what this one does */
	/* the last round whose run has passed on: for nodes of other threads that it feeds */
	uint64_t done;
};

struct router { /* that wavelets cross */
	uint32_t core;
	uint8_t color, port, tx; /* in by port, out by tx */
};

struct flows { /* what find.c has found, of one flow or more */
	struct node *node;
	uint32_t *order; /* nodes, every one after those that feed it */
	/* [node]: the part of each; with from: linked by columns.c */
	uint8_t *parts;
	uint32_t *sink;
	uint32_t *slot; /* [3 * core + engine] or [3 * cores + column] -> node + 1 */
	uint32_t *stack;
	struct router *trail;
	uint32_t ntrail, trail_cap;
	uint32_t nnodes, norder, nsinks, hops;
	/* how far to look */
	bool limited;
	const struct twin_mesh *part; /* not out of this part; NULL: no such limit */
	int32_t col;		      /* nor out of this column; < 0: no such limit */
	bool crosses_part;	      /* there was more beyond */
};

struct flow { /* all that one source feeds, and how many elements can pass through it now */
	struct flows *b;
	uint32_t node, nnodes, order, norder; /* its part of b */
	uint32_t sink, nsinks;		      /* those that the source feeds itself */
	uint32_t trail;			      /* first router, of hops_all */
	uint32_t n;
	struct run run; /* a port's */
	/* cores that a wavelet of the source crosses; all wavelets together */
	uint32_t hops, hops_all;
	bool stores;	       /* runs need a scratch */
	bool values;	       /* of a port, to lanes that refuse no index */
	bool end;	       /* the block's END comes next */
	struct kept_set *kept; /* where it is kept; NULL: the search has found it */
};

struct kept_set {	   /* the flow that a source fed the last time, see again.c */
	struct flow s;	   /* first what is looked at first */
	struct flows b;	   /* without slots and stack; node has room for all of it */
	uint32_t routes;   /* twin_mesh.routes of all parts when the flow's were checked */
	uint64_t *state;   /* of the nodes' engines; of a port its color */
	bool linked;	   /* columns.c has linked its nodes */
	bool crosses_part; /* it leaves its mover's part */
	uint32_t rows;	   /* its nodes are lanes with an AXPY, of a column's first rows; or 0 */
	uint32_t room;	   /* bytes at b.node */
	/* data and END wavelets that no counter has counted yet, see twin_runs_settle() */
	uint64_t crossed, ended;
} __attribute__((aligned(64)));

struct scratch { /* arrays that engines produce */
	const struct twin_kernels *k;
	uint32_t *v;
	size_t cap, used;
};

#define TWIN_RUNS_LAG 4u /* flows that one thread may be ahead of another */

struct runs_worker {	    /* what a thread needs */
	struct flows ports; /* what its columns feed */
	struct flows any;   /* of one source at a time */
	struct scratch one; /* of that source */
	/* of the columns, in turns: others may still read the last */
	struct scratch r[TWIN_RUNS_LAG];
	bool did;
	uint64_t passed __attribute__((aligned(64))); /* flows that it has passed */
};

struct column { /* what a north port feeds */
	struct flow s;
	bool found, crosses_part;
	uint32_t rows; /* of a kept flow that is AXPY alone: all its lanes take the run */
};

struct runs_state { /* wse_machine.runs */
	struct runs_worker *w[TWIN_PARTS_MAX];
	struct column *column; /* [cols] */
	/* kept flows: of ports, [cols], and of movers, [2 * ncores] */
	struct kept_set *port, *mover;
	uint64_t round; /* of those of a tile in parts */
};

/* runs.c */
/* struct twin_fast: run_sources, settle; free: what the model keeps for them */
bool twin_runs(struct wse_machine *m);
void twin_runs_settle(struct wse_machine *m);
void twin_runs_free(struct wse_machine *m);
uint32_t twin_runs_workers(struct wse_machine *m, uint32_t n); /* at most n: how many there are */
/* what a north port feeds, within the limits of b; the run is delivered */
bool twin_runs_port(struct wse_machine *m, struct flows *b, unsigned int col, struct flow *s);
bool twin_runs_port_run(struct wse_machine *m, struct runs_worker *w, unsigned int col);
/* the same of a kept flow that is AXPY in rows; it has passed */
bool twin_runs_port_axpy(struct wse_machine *m, struct flows *b, unsigned int col, struct flow *s);
void twin_runs_axpy_passed(struct wse_machine *m, const struct flow *s, struct twin_port_in *p);
bool twin_runs_port_end(struct wse_machine *m, struct runs_worker *w, unsigned int col);
/* a run has passed; p: the port that it came from */
void twin_runs_passed(struct wse_machine *m, const struct flow *s, struct twin_port_in *p);
twin_mover_fn twin_runs_mover; /* arg: struct runs_worker */

/* columns.c */
bool twin_runs_parts(struct wse_machine *m, struct runs_state *b);

/* find.c */
int twin_runs_open(struct flows *b, const struct wse_machine *m); /* 0, or -1: no memory */
void twin_runs_close(struct flows *b);
void twin_runs_clear(struct flows *b);
/* adds all that a color feeds from a core's input port; false: a consumer is not ready */
bool twin_runs_follow(struct wse_machine *m, struct flows *b, struct twin_core *c,
		      unsigned int port, unsigned int color);
void twin_runs_limit(struct flows *b, const struct twin_mesh *part, int32_t col);
void twin_runs_begin(struct flows *b, struct flow *s);
/* the flow from its first nodes on; false: nothing can pass, and the flow has been given up */
bool twin_runs_find(struct wse_machine *m, struct flow *s, uint32_t n);
void twin_runs_give_up(struct flow *s);
void twin_runs_source(struct flows *b, struct twin_core *c, unsigned int which);

/* n wavelets have crossed the first routers of the flow's trail */
void twin_runs_count(struct wse_machine *m, const struct flow *s, uint32_t hops, uint64_t n);

/* again.c */
/* the same flow again for what the source sends, up to n elements; false: search */
bool twin_runs_again(struct wse_machine *m, struct kept_set *f, unsigned int color, uint32_t n,
		     struct flow *s);
/* a port's flow again that is AXPY in rows: all its lanes take the values of its block */
bool twin_runs_again_axpy(struct wse_machine *m, struct kept_set *f, const struct twin_port_in *p);
void twin_runs_keep(struct wse_machine *m, struct kept_set *f, const struct flow *s);
void twin_runs_forget(struct kept_set *f);
/* does a flow that was found without limits leave a part? If not, it is the part's */
bool twin_runs_leaves(struct kept_set *f, const struct twin_mesh *p);
/* counts what has crossed a kept flow */
void twin_runs_settle_set(struct wse_machine *m, struct kept_set *f);

/* counts what has crossed the flow's routers: now, or of a kept flow before counters are read */
static inline void twin_runs_crossed(struct wse_machine *m, const struct flow *s)
{
	if (s->kept)
		s->kept->crossed += s->n;
	else
		twin_runs_count(m, s, s->hops_all, s->n);
}

static inline void twin_runs_end_crossed(struct wse_machine *m, const struct flow *s)
{
	if (s->kept)
		s->kept->ended++;
	else
		twin_runs_count(m, s, s->hops, 1);
}

/* counts the ways of func.h that a flow's run took */
static inline void twin_runs_went(struct twin_mesh *p, const struct flow *s)
{
	p->ways.runs++;
	p->ways.kept += s->kept != NULL;
}

/* elements that a mover's instruction has left, at most those of a run */
static inline uint32_t twin_runs_left(const struct twin_engine *e)
{
	uint64_t left = e->inner + (uint64_t)(e->outer - 1) * e->width;

	if (e->until_end)
		return TWIN_RUN_MAX;
	return left < TWIN_RUN_MAX ? left : TWIN_RUN_MAX;
}

/* pass.c */
/* all elements of whole or part ks, from the block's element at on; features: of each k */
static inline void twin_runs_values(struct run *r, const float *v, uint32_t at, uint32_t features,
				    struct twin_range range)
{
	r->w = NULL;
	r->v = v;
	r->at = at;
	r->dense = (uint8_t)features;
	r->shift = (uint8_t)(features >> 1); /* of 1, 2 and 4 */
	r->range = range;
}

void twin_runs_deliver(const struct flow *s, uint32_t first, uint32_t sinks, const struct run *r);
bool twin_runs_reserve(struct scratch *r, const struct flow *s); /* false: no memory */
/*
 * Wakes a core that may wait for an instruction that a run has completed. The core resumes right
 * after the run if its lanes are idle; where they have the next block already, its turn can wait
 * for the movers, too.
 */
static inline void twin_runs_wake(struct twin_mesh *p, struct twin_core *c)
{
	if (p->may_resume && !c->eng[WSE_ENGINE_L].n && !c->queued && c->run == WSE_CORE_RUNNING &&
	    (c->wait == WAIT_TASK ||
	     (c->wait == WAIT_ENGINES && !c->eng[WSE_ENGINE_M0].n && !c->eng[WSE_ENGINE_M1].n))) {
		c->queued = true;
		p->resume_list[p->nresume++] = c->idx;
	} else {
		twin_wake(p, c);
	}
}

/* the END of a block at the lanes of a node */
static inline void twin_runs_end(struct node *x)
{
	if (x->e->op == WSE_TOP_DOT)
		twin_dotq_push(x->c, 0, true);
	twin_engine_complete(x->c->mesh, x->c, x->e);
	twin_runs_wake(x->c->mesh, x->c);
}

/* it has been at all of them */
void twin_runs_ended(struct wse_machine *m, struct twin_port_in *p);
/* the flow's run through one of its nodes, through all */
void twin_runs_pass(struct scratch *r, const struct flow *s, struct node *x);
void twin_runs_run(struct scratch *r, const struct flow *s);
/* n values to lanes that have an AXPY, and the END of the block: of one core; of all of a flow */
void twin_runs_run_lanes(const struct twin_kernels *k, struct twin_core *c, const struct run *in,
			 uint32_t n, bool end);
void twin_runs_run_axpy(const struct twin_kernels *k, struct kept_set *f, const struct run *in,
			uint32_t n, bool end);

#endif /* TWIN_FAST_RUNS_RUNS_H */
