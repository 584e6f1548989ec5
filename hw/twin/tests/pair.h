/* SPDX-License-Identifier: MIT */
/*
 * The same random programs on a core with the fast paths of vector instructions and on the exact
 * one.
 */
#ifndef WSE_TEST_PAIR_H
#define WSE_TEST_PAIR_H

#include <string.h>

#include "check.h"
#include "rig.h"
#include "twin/twin.h"
#include "ways.h"

struct pair {
	struct rig fast, exact;
	struct wse_core_state st; /* of the fast one after its last program */
	struct twin_ways ways; /* of the fast one */
	uint32_t faults;
	bool streams; /* runs of wavelets take another time than one after the other */
};

/* runs the fast one's image on both; false: they differ */
static inline bool pair_run(struct pair *p)
{
	struct rig *a = &p->fast, *b = &p->exact;
	const struct twin_core *ca = &a->m->core[0], *cb = &b->m->core[0];
	struct wse_core_state sb;

	memcpy(b->image, a->image, sizeof(a->image));
	rig_run(a, &p->st);
	rig_run(b, &sb);
	if (p->streams)
		sb.mcycle = p->st.mcycle;
	p->faults += p->st.run == WSE_CORE_FAULTED;
	return !memcmp(&p->st, &sb, sizeof(sb)) && !memcmp(a->got, b->got, sizeof(a->got)) &&
	       !memcmp(a->acc, b->acc, sizeof(a->acc)) && ca->ready == cb->ready &&
	       ca->blocked == cb->blocked && ca->cnt[WSE_CNT_MAC] == cb->cnt[WSE_CNT_MAC];
}

/*
 * n programs; look may be NULL, and is called after each. false: there are no such cores here, and
 * that has been said
 */
static inline bool pair_compare(struct pair *p, uint32_t n, void (*make)(struct rig *r),
				void (*look)(const struct pair *p))
{
	struct twin_ways none = {0};
	uint32_t bad = 0, first = 0, i;

	if (!ok(rig_open(&p->fast, 0) && rig_open(&p->exact, WSE_MACHINE_EXACT), "two cores"))
		return false;
	for (i = 0; i < n; i++) {
		make(&p->fast);
		if (!pair_run(p) && !bad++)
			first = i;
		if (look)
			look(p);
	}
	ok(!bad, "%u of %u programs differ (first %u), %u ended in a fault", bad, n, first,
	   p->faults);
	ways_add(&p->ways, p->fast.m);
	ways_add(&none, p->exact.m);
	went_none(&none);
	p->fast.ops->destroy(p->fast.m);
	p->exact.ops->destroy(p->exact.m);
	return true;
}

#endif /* WSE_TEST_PAIR_H */
