// SPDX-License-Identifier: MIT
/* Bus-master accesses and page lists. */
#include <errno.h>
#include <string.h>

#include "twin/twin.h"

int twin_dma(struct wse_machine *m, bool write, uint64_t iova, void *buf, size_t len)
{
	int err = write ? m->ops.dma_write(m->host, iova, buf, len)
			: m->ops.dma_read(m->host, iova, buf, len);

	m->cnt[write ? WSE_CNT_DMA_WR : WSE_CNT_DMA_RD] += err == -EAGAIN ? 0 : len;
	return err;
}

void twin_buf_open(struct twin_buf *b, uint64_t base, bool direct, uint8_t shift)
{
	b->base = base;
	b->direct = direct;
	b->shift = shift;
	memset(b->tag, 0, sizeof(b->tag));
}

/* bytes of a list that are read at once: they lie on one page of the bus as their first does */
#define LINE 64u

static unsigned int slot_of(const struct twin_buf *b, uint64_t entry)
{
	return entry % (sizeof(b->tag) / sizeof(*b->tag));
}

/* entry i of the list, and those behind it on its line: mostly they are next */
static int read_entries(struct wse_machine *m, struct twin_buf *b, uint64_t i, uint64_t *bad)
{
	uint64_t at = b->base + i * 8, entry[LINE / 8];
	unsigned int n = (LINE - at % LINE) / 8, k, slot;
	int err = n > 1 ? twin_dma(m, false, at, entry, n * 8) : -EFAULT;

	if (err && err != -EAGAIN) {
		n = 1;
		err = twin_dma(m, false, at, entry, 8);
	}
	if (err) {
		*bad = at;
		return err;
	}
	for (k = 0; k < n; k++) {
		slot = slot_of(b, i + k);
		b->tag[slot] = i + k + 1;
		b->page[slot] = entry[k] & ~((1ull << b->shift) - 1);
	}
	return 0;
}

/* bus address of a byte and how many follow it on its page */
static int translate(struct wse_machine *m, struct twin_buf *b, uint64_t off, uint64_t *iova,
		     uint64_t *room, uint64_t *bad)
{
	uint64_t i = off >> b->shift, in = off & ((1ull << b->shift) - 1);
	unsigned int slot = slot_of(b, i);
	int err;

	if (b->direct) {
		*iova = b->base + off;
		*room = UINT64_MAX;
		return 0;
	}
	if (b->tag[slot] != i + 1) {
		err = read_entries(m, b, i, bad);
		if (err)
			return err;
	}
	*iova = b->page[slot] + in;
	*room = (1ull << b->shift) - in;
	return 0;
}

const void *twin_buf_at(struct wse_machine *m, struct twin_buf *b, uint64_t off, size_t len)
{
	uint64_t i = off >> b->shift, iova, room, bad;
	const void *at;

	/* reading the list entry may fail; only the copying path reports that */
	if (!m->ops.dma_at || !m->fast || (!b->direct && b->tag[slot_of(b, i)] != i + 1))
		return NULL;
	if (translate(m, b, off, &iova, &room, &bad) || room < len)
		return NULL;
	at = m->ops.dma_at(m->host, iova, len);
	if (at) {
		m->cnt[WSE_CNT_DMA_RD] += len;
		m->mesh->ways.in_place++;
	}
	return at;
}

enum twin_progress twin_dma_error(const struct twin_job *j, struct twin_result *r)
{
	r->status = WSE_ST_DMA_ERROR;
	r->f.iova = j->bad;
	return RUN_ENDED;
}

int twin_buf_io(struct wse_machine *m, struct twin_job *j, struct twin_buf *b, bool write,
		uint64_t off, void *mem, size_t len)
{
	uint64_t iova, room;
	size_t n;
	int err;

	for (; len; len -= n, off += n, mem = (uint8_t *)mem + n) {
		err = translate(m, b, off, &iova, &room, &j->bad);
		if (err)
			return err;
		n = len < room ? len : room;
		err = twin_dma(m, write, iova, mem, n);
		if (err) {
			j->bad = iova;
			return err;
		}
	}
	return 0;
}
