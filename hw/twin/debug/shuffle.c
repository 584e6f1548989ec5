// SPDX-License-Identifier: MIT
/*
 * WSE_MACHINE_SHUFFLE: another order of events in every round, the same for the same seed. Cores
 * and engines take turns at random, with shares of random length or none; wavelets stop anywhere on
 * their way; runs are handed out whole or one by one. The contract allows all these orders, and
 * neither the twin alone nor the RTL takes many of them. A program whose result changes is not
 * confluent.
 */
#include "twin/twin.h"

/* splitmix64; 0 ... n - 1 */
uint32_t twin_shuffle_below(struct twin_mesh *m, uint32_t n)
{
	uint64_t z = m->shuffle += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)(((z ^ z >> 31) >> 32) * n >> 32);
}

/* 1 ... max, small ones as likely as large ones */
static uint32_t share(struct twin_mesh *m, unsigned int max_log2)
{
	return 1 + twin_shuffle_below(m, 1u << twin_shuffle_below(m, max_log2 + 1));
}

void twin_shuffle_list(struct twin_mesh *m, uint32_t *list, uint32_t n)
{
	uint32_t i, k, swap;

	for (i = n; i > 1; i--) {
		k = twin_shuffle_below(m, i);
		swap = list[i - 1];
		list[i - 1] = list[k];
		list[k] = swap;
	}
}

/* a core's turn; in one of four it comes to nothing */
void twin_shuffle_turn(struct twin_mesh *m, struct twin_core *c)
{
	uint32_t limit = share(m, 10);

	if (!twin_shuffle_below(m, 4)) {
		twin_wake(m, c);
		return;
	}
	m->equantum = share(m, 8);
	twin_core_run(m, c, limit < m->limit ? limit : m->limit);
}

/* some of the wavelets that could move do, any of them first; far: to other parts, too */
void twin_shuffle_drain(struct twin_mesh *m, bool crosses_part)
{
	while (m->nwork && twin_shuffle_below(m, 16)) {
		uint32_t i = twin_shuffle_below(m, m->nwork), w = m->work[i];
		struct twin_core *c = &m->core[w >> 5];

		m->work[i] = m->work[--m->nwork];
		c->kick &= ~(1u << (w & 31));
		if (!crosses_part && c->crosses_part >> (w & 31) & 1) {
			twin_postpone(m, c, w & 31);
			continue;
		}
		if (twin_fabric_move(m, c, w & 31, 1 + twin_shuffle_below(m, WSE_CHAN_DEPTH)))
			twin_kick(m, c, w & 31);
	}
}
