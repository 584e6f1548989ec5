// SPDX-License-Identifier: MIT
/*
 * The parts of the mesh. How a tile is cut depends on its shape alone, never on threads: the order
 * of events inside a round is a matter of the parts, and device time with it.
 */
#include <stdlib.h>
#include <string.h>

#include "twin/func.h"
#include "twin/twin.h"

#define CORES_MIN  64u	/* of a part */
#define BAND_CORES 64u	/* of a band at most, unless a row has more */
#define TILE_MIN   256u /* of a tile in parts: a smaller one's rounds are not worth a hand-over */

/* how many parts: small tiles are one, and so is a tile that is searched for races, as they are
 * reported in order */
static uint32_t parts(const struct wse_machine *m)
{
	uint32_t n = m->ncores < TILE_MIN ? 1 : m->ncores / CORES_MIN;

	if (m->cfg.flags & WSE_MACHINE_CHECK_RACES)
		return 1;
	if (m->cfg.flags & TWIN_MODEL_PARTS)
		n = m->ncores;
	if (n > TWIN_PARTS_MAX)
		n = TWIN_PARTS_MAX;
	return n ? n : 1;
}

/* the first core of a part: of a row, when there are rows for all */
static uint32_t first_of(const struct wse_machine *m, uint32_t i)
{
	if (m->rows >= m->nmesh)
		return (uint32_t)((uint64_t)m->rows * i / m->nmesh) * m->cols;
	return (uint32_t)((uint64_t)m->ncores * i / m->nmesh);
}

/* rows of a band of a part of whole rows; 0: the part is one band */
static uint32_t band_rows(const struct wse_machine *m)
{
	if (m->nmesh == 1 || m->rows < m->nmesh)
		return 0;
	return m->cols < BAND_CORES ? BAND_CORES / m->cols : 1;
}

static int create_bands(struct wse_machine *m, struct twin_mesh *p)
{
	uint32_t most = band_rows(m) * m->cols, i, k;

	if (!most)
		most = p->ncores;
	p->nbands = (p->ncores + most - 1) / most;
	p->band = calloc(p->nbands, sizeof(*p->band));
	for (i = 0; p->band && i < p->nbands; i++) {
		struct twin_band *b = &p->band[i];

		b->first = p->first + i * most;
		b->ncores = i + 1 < p->nbands ? most : p->first + p->ncores - b->first;
		b->run[0] = calloc(b->ncores, sizeof(uint32_t));
		b->run[1] = calloc(b->ncores, sizeof(uint32_t));
		b->source = calloc(b->ncores * 2, sizeof(uint32_t));
		if (!b->run[0] || !b->run[1] || !b->source)
			return -1;
		for (k = 0; k < b->ncores; k++)
			m->core[b->first + k].band = (uint16_t)i;
	}
	return p->band ? 0 : -1;
}

static void destroy_bands(struct twin_mesh *p)
{
	uint32_t i;

	for (i = 0; p->band && i < p->nbands; i++) {
		free(p->band[i].run[0]);
		free(p->band[i].run[1]);
		free(p->band[i].source);
	}
	free(p->band);
}

static int create(struct wse_machine *m, struct twin_mesh *p)
{
	uint32_t n, i;

	p->dev = m;
	p->core = m->core;
	p->out = m->out;
	p->rows = m->rows;
	p->cols = m->cols;
	p->index = (uint32_t)(p - m->mesh);
	p->first = first_of(m, p->index);
	p->ncores = n = first_of(m, p->index + 1) - p->first;
	p->races = m->races;
	p->fast = m->fast;
	p->equantum = TWIN_EQUANTUM;
	if (m->cfg.flags & WSE_MACHINE_SHUFFLE)
		p->shuffle = m->cfg.seed << 1 | 1 | (uint64_t)p->index << 48;
	p->resume_list = calloc(n, sizeof(uint32_t));
	p->work = calloc((size_t)n * WSE_NCOLORS, sizeof(uint32_t));
	p->later = calloc((size_t)n * WSE_NCOLORS, sizeof(uint32_t));
	if (create_bands(m, p) || !p->resume_list || !p->work || !p->later)
		return -1;
	for (i = 0; i < n; i++)
		m->core[p->first + i].mesh = p;
	return 0;
}

int twin_mesh_create(struct wse_machine *m)
{
	uint32_t i;

	m->nmesh = parts(m);
	m->mesh = aligned_alloc(_Alignof(struct twin_mesh), m->nmesh * sizeof(*m->mesh));
	if (!m->mesh)
		return -1;
	memset(m->mesh, 0, m->nmesh * sizeof(*m->mesh));
	for (i = 0; i < m->nmesh; i++)
		if (create(m, &m->mesh[i]))
			return -1;
	return 0;
}

void twin_mesh_destroy(struct wse_machine *m)
{
	uint32_t i;

	for (i = 0; m->mesh && i < m->nmesh; i++) {
		struct twin_mesh *p = &m->mesh[i];

		destroy_bands(p);
		free(p->resume_list);
		free(p->work);
		free(p->later);
	}
	free(m->mesh);
}

/* before a round */
void twin_mesh_begin(struct wse_machine *m)
{
	uint32_t i;

	for (i = 0; i < m->nmesh; i++) {
		m->mesh[i].moved = false;
		m->mesh[i].round = 0;
	}
}

uint32_t twin_mesh_nrun(const struct twin_mesh *p)
{
	uint32_t n = 0, i;

	for (i = 0; i < p->nbands; i++)
		n += p->band[i].nrun;
	return n;
}

uint32_t twin_mesh_nsources(const struct twin_mesh *p)
{
	uint32_t n = 0, i;

	for (i = 0; i < p->nbands; i++)
		n += p->band[i].nsources;
	return n;
}

bool twin_mesh_gather(struct wse_machine *m)
{
	bool left = false;
	uint32_t i;

	for (i = 0; i < m->nmesh; i++) {
		struct twin_mesh *p = &m->mesh[i];

		m->moved |= p->moved;
		m->round = p->round > m->round ? p->round : m->round;
		left |= p->nwork || twin_mesh_nrun(p);
	}
	return left;
}
