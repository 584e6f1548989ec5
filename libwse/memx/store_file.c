// SPDX-License-Identifier: MIT
/*
 * The store in a file: a record a piece, its header and its arrays in whole blocks. Two pieces are read ahead, up to
 * three are written behind; what was written and is still here is not read again. Tensors in no unit stay in memory.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/pages.h"
#include "memx/disk.h"
#include "memx/store.h"
#include "num/num.h"

#define SLOTS 6u /* one that is used, AHEAD that are read, the others are written */
#define AHEAD 2u

/* the first block of a record; it must be what is remembered of its last writing */
struct header {
	char magic[8];
	uint32_t unit, piece;
	uint64_t run; /* one file of many */
	uint64_t step;
	uint64_t sum; /* of the arrays */
};

enum state { FREE, READING, READY, USED, WRITING };

struct slot {
	struct wse_disk_io io;
	char *mem; /* [longest record] */
	enum state state;
	uint32_t piece;
	uint64_t turn; /* when it was used last */
};

struct file {
	struct wse_store base;
	const struct wse_memx_pieces *pieces;
	uint32_t arrays, host; /* pieces below host are in memory */
	struct wse_disk *disk;
	struct slot slot[SLOTS];
	uint64_t turn;
	uint32_t ahead_end;
	uint64_t *off;	  /* [pieces] */
	struct header *h; /* [pieces]: as written last; magic "": never, all 0 */
	float *ram[WSE_MEMX_ARRAYS];
	char dir[200];
};

static size_t blocks(size_t bytes)
{
	return (bytes + WSE_DISK_BLOCK - 1) / WSE_DISK_BLOCK * WSE_DISK_BLOCK;
}

static size_t array_bytes(const struct file *f, uint32_t piece)
{
	return blocks(f->pieces->p[piece].count * sizeof(float));
}

static size_t record_bytes(const struct file *f, uint32_t piece)
{
	return WSE_DISK_BLOCK + f->arrays * array_bytes(f, piece);
}

/* the sentence with unit and piece */
static int fail(const struct file *f, uint32_t piece, int err, const char *what)
{
	uint32_t unit = f->pieces->p[piece].unit;

	return wse_fail(err, "the weights in a file in %.150s: unit %u, piece %u of %u: %s", f->dir,
			unit, piece - f->pieces->first[unit] + 1,
			f->pieces->first[unit + 1] - f->pieces->first[unit], what);
}

/* a write or a read that was begun has come to its end */
static int settle(struct file *f, struct slot *s)
{
	int writing = s->state == WRITING, ret;
	char text[200];

	if (s->state != READING && s->state != WRITING)
		return 0;
	ret = wse_disk_wait(f->disk, &s->io);
	s->state = ret ? FREE : READY;
	if (!ret && !writing) {
		const struct header *h = &f->h[s->piece];

		if (memcmp(s->mem, h, sizeof(*h))) {
			s->state = FREE;
			return fail(
				f, s->piece, -EBADMSG,
				"the record is another one: something else wrote to the disk; go "
				"on from the last checkpoint");
		}
		if (h->sum !=
		    wse_checksum64(s->mem + WSE_DISK_BLOCK, f->arrays * array_bytes(f, s->piece))) {
			s->state = FREE;
			return fail(
				f, s->piece, -EBADMSG,
				"what is read is not what was written: the disk is faulty; go on "
				"from the last checkpoint on another one");
		}
	}
	if (!ret)
		return 0;
	if (ret == -ENODATA && !writing)
		return fail(f, s->piece, -EIO,
			    "the file ends too early: it was cut; go on from the last checkpoint");
	if (ret == -ENOSPC || ret == -ENODATA)
		return fail(f, s->piece, -ENOSPC,
			    "no room is left: make some, or raise memory_limit, and go on from the "
			    "last checkpoint");
	snprintf(text, sizeof(text), "%s: %s", writing ? "writing" : "reading", strerror(-ret));
	return fail(f, s->piece, ret, text);
}

static struct slot *find(struct file *f, uint32_t piece)
{
	for (uint32_t i = 0; i < SLOTS; i++)
		if (f->slot[i].state != FREE && f->slot[i].piece == piece)
			return &f->slot[i];
	return NULL;
}

/* a slot for another piece: a free one, else the one that was used longest ago */
static int take(struct file *f, struct slot **slot)
{
	struct slot *s = NULL;
	int ret;

	for (uint32_t i = 0; i < SLOTS; i++) {
		struct slot *c = &f->slot[i];

		if (c->state == FREE) {
			s = c;
			break;
		}
		if (c->state != USED && c->state != READING && (!s || c->turn < s->turn))
			s = c;
	}
	for (uint32_t i = 0; i < SLOTS && !s; i++) /* what was read ahead in vain */
		if (f->slot[i].state == READING)
			s = &f->slot[i];
	if (!s)
		return -EBUSY;
	ret = settle(f, s);
	s->state = FREE;
	*slot = s;
	return ret;
}

static void begin(struct file *f, struct slot *s, uint32_t piece, int write)
{
	s->piece = piece;
	s->state = write ? WRITING : READING;
	s->turn = ++f->turn;
	s->io.buf = s->mem;
	s->io.off = f->off[piece];
	s->io.len = record_bytes(f, piece);
	s->io.write = write;
	wse_disk_begin(f->disk, &s->io);
}

static int read_ahead(struct file *f, uint32_t piece)
{
	for (uint32_t k = piece + 1; k <= piece + AHEAD && k < f->ahead_end; k++) {
		struct slot *s;
		int ret;

		if (!f->h[k].magic[0] || find(f, k))
			continue;
		ret = take(f, &s);
		if (ret)
			return ret;
		begin(f, s, k, 0);
	}
	return 0;
}

static int file_get(struct wse_store *base, uint32_t piece, float **array)
{
	struct file *f = (struct file *)base;
	struct slot *s;
	int ret;

	memset(array, 0, WSE_MEMX_ARRAYS * sizeof(*array));
	if (piece < f->host) {
		for (uint32_t i = 0; i < f->arrays; i++)
			array[i] = f->ram[i] + f->off[piece];
		return 0;
	}
	s = find(f, piece);
	if (!s) {
		ret = take(f, &s);
		if (ret)
			return ret;
		s->piece = piece;
		if (f->h[piece].magic[0])
			begin(f, s, piece, 0);
		else
			memset(s->mem, 0, record_bytes(f, piece));
	}
	ret = settle(f, s);
	if (ret)
		return ret;
	s->state = USED;
	s->turn = ++f->turn;
	for (uint32_t i = 0; i < f->arrays; i++)
		array[i] = (float *)(void *)(s->mem + WSE_DISK_BLOCK + i * array_bytes(f, piece));
	return read_ahead(f, piece);
}

static int file_put(struct wse_store *base, uint32_t piece, int dirty)
{
	struct file *f = (struct file *)base;
	struct slot *s = piece < f->host ? NULL : find(f, piece);
	struct header *h = &f->h[piece];

	if (!s)
		return 0;
	s->state = READY;
	if (!dirty)
		return 0;
	memcpy(h->magic, "WSEMEMX1", sizeof(h->magic));
	h->unit = f->pieces->p[piece].unit;
	h->piece = piece;
	h->run = (uint64_t)(uintptr_t)f ^ (uint64_t)getpid() << 32;
	h->step = base->step;
	h->sum = wse_checksum64(s->mem + WSE_DISK_BLOCK, f->arrays * array_bytes(f, piece));
	memcpy(s->mem, h, sizeof(*h));
	begin(f, s, piece, 1);
	return 0;
}

static void file_ahead(struct wse_store *base, uint32_t first, uint32_t end)
{
	struct file *f = (struct file *)base;

	(void)first;
	f->ahead_end = end;
}

static void file_close(struct wse_store *base)
{
	struct file *f = (struct file *)base;

	if (f->disk)
		wse_disk_close(f->disk);
	for (uint32_t i = 0; i < SLOTS; i++)
		free(f->slot[i].mem);
	for (int i = 0; i < WSE_MEMX_ARRAYS; i++)
		free(f->ram[i]);
	free(f->off);
	free(f->h);
	free(f);
}

static const struct wse_store_ops file_ops = {
	.get = file_get,
	.put = file_put,
	.ahead = file_ahead,
	.close = file_close,
};

uint64_t wse_store_file_memory(const struct wse_memx_pieces *pieces, uint32_t arrays,
			       uint64_t *file)
{
	uint64_t host = 0;

	*file = 0;
	for (uint32_t i = 0; i < pieces->n; i++) {
		if (i < pieces->first[0])
			host += pieces->p[i].count;
		else
			*file += WSE_DISK_BLOCK +
				 arrays * blocks(pieces->p[i].count * sizeof(float));
	}
	return arrays * host * sizeof(float) +
	       SLOTS * (WSE_DISK_BLOCK + arrays * blocks(pieces->longest * sizeof(float)));
}

/* where records are, and host pieces in memory; buffers */
static int alloc(struct file *f)
{
	const struct wse_memx_pieces *l = f->pieces;
	size_t longest = 0, host = 0;
	uint64_t off = 0;

	f->off = calloc(l->n + 1ul, sizeof(*f->off));
	f->h = calloc(l->n + 1ul, sizeof(*f->h));
	if (!f->off || !f->h)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->n; i++) {
		if (i < f->host) {
			f->off[i] = host;
			host += l->p[i].count;
			continue;
		}
		f->off[i] = off;
		off += record_bytes(f, i);
		if (record_bytes(f, i) > longest)
			longest = record_bytes(f, i);
	}
	f->off[l->n] = off;
	for (uint32_t i = 0; i < f->arrays; i++) {
		f->ram[i] = wse_pages_alloc((host + 1) * sizeof(float));
		if (!f->ram[i])
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < SLOTS && longest; i++) {
		void *mem;

		if (posix_memalign(&mem, WSE_DISK_BLOCK, longest))
			return -ENOMEM;
		f->slot[i].mem = mem;
		memset(mem, 0, WSE_DISK_BLOCK); /* the rest of a header's block */
	}
	return 0;
}

int wse_store_file(const struct wse_memx_pieces *pieces, uint32_t arrays, const char *dir,
		   struct wse_store **store)
{
	struct file *f = calloc(1, sizeof(*f));
	int ret;

	if (!f)
		return wse_fail(-ENOMEM, "no memory");
	f->base.ops = &file_ops;
	f->pieces = pieces;
	f->arrays = arrays;
	f->host = pieces->first[0];
	snprintf(f->dir, sizeof(f->dir), "%s", dir);
	ret = alloc(f);
	if (ret)
		wse_fail(ret, "no memory for the buffers of the weights' file");
	if (!ret)
		ret = wse_disk_open(dir, f->off[pieces->n] + WSE_DISK_BLOCK, &f->disk);
	if (ret) {
		file_close(&f->base);
		return ret;
	}
	*store = &f->base;
	return 0;
}

int wse_store_file_way(const struct wse_store *s, int *direct)
{
	return s->ops == &file_ops ? wse_disk_way(((const struct file *)s)->disk, direct) : -1;
}
