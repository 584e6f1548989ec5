/* SPDX-License-Identifier: MIT */
/* What the twin offers beyond hw/model/machine.h. */
#ifndef TWIN_FUNC_H
#define TWIN_FUNC_H

#include <stdbool.h>
#include <stdint.h>

struct wse_machine;

/* wse_machine_cfg.flags: cut the smallest tile into parts, as if it were a large one; for tests */
#define TWIN_MODEL_PARTS (1u << 30)

/*
 * With WSE_MACHINE_CHECK_RACES: violations of the rules that make a program confluent
 * (hw/doc/core.md), counted. *text (may be NULL) gets a line about the first one, valid until the
 * model is destroyed; "" when there is none.
 */
uint64_t twin_race_count(struct wse_machine *m, const char **text);

/*
 * The ways through the twin that save time, and what the counter of each counts: what went that way
 * since the model was made. README.md says when each is taken. The exact twin takes none of them.
 */
#define TWIN_WAYS(X)                                                                       \
	X(translated, "scalar instructions that ran in translated blocks")                  \
	X(quick, "vector instructions done at their ISSUE by quick.c")                      \
	X(generated, "vector instructions done at their ISSUE by code of their own")        \
	X(grouped, "vector instructions of the queue, each done at once")                   \
	X(again, "instructions that were the last of their engine, too")                    \
	X(known, "instructions that the cache of checked ones had")                         \
	X(runs, "runs that passed all that a source feeds at once")                         \
	X(values, "sources of runs that sent values, without wavelets")                     \
	X(kept, "runs through the set of the source's last one")                            \
	X(axpys, "runs through such a set that is stream AXPY alone")                       \
	X(pairs, "stream AXPYs of two cores done together")                                 \
	X(copy_rows, "operands of stream AXPY read from their copy in binary32")            \
	X(copy_cols, "operands of stream DOT read from their copy by columns")              \
	X(fused, "sums whose products are exact, by fused operations")                      \
	X(resumed, "cores that went on in the round of a run")                              \
	X(in_place, "rows of stream blocks read where they lie")                            \
	X(threaded, "rounds of which several threads took the cores' turns")                \
	X(handed, "rounds of which several threads passed the runs")                        \
	X(banded, "rounds whose runs and turns went band by band")

struct twin_ways {
#define TWIN_WAY(name, what) uint64_t name;
	TWIN_WAYS(TWIN_WAY)
#undef TWIN_WAY
};

void twin_ways(const struct wse_machine *m, struct twin_ways *w);

/* does this build have any? (build/hw/libwse_twin_exact.a has none) */
bool twin_has_ways(void);

#endif /* TWIN_FUNC_H */
