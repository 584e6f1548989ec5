// SPDX-License-Identifier: MIT
/* Records in a scratch file. */
#include "memx/records.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/pages.h"
#include "memx/disk.h"
#include "num/num.h"

#define SLOTS WSE_RECORDS_SLOTS
#define AHEAD WSE_RECORDS_AHEAD
#define HUGE  ((size_t)2 << 20)

/* the first block of a record; it must be what is remembered of its last writing */
struct header {
	char magic[8];
	uint32_t unit, record;
	uint64_t run; /* one file of many */
	uint64_t step;
	uint64_t bytes; /* behind it, whole blocks: the rest of the record is 0, and not written */
	uint64_t sum;	/* of those */
};

enum state { FREE, READING, READY, USED, WRITING };

struct slot {
	struct wse_disk_io io;
	char *mem; /* [longest record] */
	enum state state;
	uint32_t record;
	uint64_t turn; /* when it was used last */
};

struct wse_records {
	const struct wse_record *list;
	uint32_t n;
	struct wse_disk *disk;
	void *mem; /* of all slots */
	struct slot slot[SLOTS];
	uint64_t turn;
	uint64_t in, out; /* bytes that were read and written */
	uint64_t *off;	  /* [n + 1] */
	struct header *h; /* [n]: as written last; magic "": no content */
	char what[40], dir[200];
};

static size_t blocks(size_t bytes)
{
	return (bytes + WSE_DISK_BLOCK - 1) / WSE_DISK_BLOCK * WSE_DISK_BLOCK;
}

static size_t on_disk(const struct wse_record *list, uint32_t record)
{
	return WSE_DISK_BLOCK + blocks(list[record].bytes);
}

/* of whole blocks, up to the last one that is not 0: moments are 0 before the first step */
static size_t without_zeros(const char *p, size_t bytes)
{
	for (; bytes; bytes -= WSE_DISK_BLOCK) {
		uint64_t w[64], any = 0;

		for (size_t at = 0; at < WSE_DISK_BLOCK && !any; at += sizeof(w)) {
			memcpy(w, p + bytes - WSE_DISK_BLOCK + at, sizeof(w));
			for (size_t i = 0; i < sizeof(w) / sizeof(*w); i++)
				any |= w[i];
		}
		if (any)
			break;
	}
	return bytes;
}

static int is_there(const struct wse_records *r, uint32_t record)
{
	return r->h[record].magic[0] != 0;
}

/* the sentence with unit and piece */
static int fail(const struct wse_records *r, uint32_t record, int err, const char *says)
{
	const struct wse_record *l = &r->list[record];

	return wse_fail(err, "the %s in a file in %.150s: unit %u, piece %u of %u: %s", r->what,
			r->dir, l->unit, l->piece, l->pieces, says);
}

/* what a request came to, in words */
static int failed(const struct wse_records *r, uint32_t record, int ret, int writing)
{
	char text[200];

	if (ret == -ENODATA && !writing)
		return fail(r, record, -EIO,
			    "the file ends too early: it was cut; go on from the last checkpoint");
	if (ret == -ENOSPC || ret == -ENODATA)
		return fail(r, record, -ENOSPC,
			    "no room is left: make some, or raise memory_limit, and go on from the "
			    "last checkpoint");
	snprintf(text, sizeof(text), "%s: %s: the disk refuses it; go on from the last checkpoint",
		 writing ? "writing" : "reading", strerror(-ret));
	return fail(r, record, ret, text);
}

static uint64_t sum_of(const struct wse_records *r, const struct slot *s)
{
	return wse_checksum64(s->mem + WSE_DISK_BLOCK, r->h[s->record].bytes);
}

/* a write or a read that was begun has come to its end */
static int settle(struct wse_records *r, struct slot *s)
{
	int writing = s->state == WRITING, ret;
	size_t bytes = r->h[s->record].bytes;

	if (s->state != READING && s->state != WRITING)
		return 0;
	ret = wse_disk_wait(r->disk, &s->io);
	s->state = ret ? FREE : READY;
	if (ret)
		return failed(r, s->record, ret, writing);
	if (writing)
		return 0;
	s->state = FREE;
	if (memcmp(s->mem, &r->h[s->record], sizeof(struct header)))
		return fail(r, s->record, -EBADMSG,
			    "the record is another one: something else wrote to the disk; go on "
			    "from the last checkpoint");
	if (r->h[s->record].sum != sum_of(r, s))
		return fail(r, s->record, -EBADMSG,
			    "what is read is not what was written: the disk is faulty; go on from "
			    "the last checkpoint on another one");
	if (!r->list[s->record].head)
		memset(s->mem + WSE_DISK_BLOCK + bytes, 0,
		       blocks(r->list[s->record].bytes) - bytes);
	s->state = READY;
	return 0;
}

static struct slot *find(struct wse_records *r, uint32_t record)
{
	for (uint32_t i = 0; i < SLOTS; i++)
		if (r->slot[i].state != FREE && r->slot[i].record == record)
			return &r->slot[i];
	return NULL;
}

/* a slot for another record: a free one, else the one that was used longest ago */
static int take(struct wse_records *r, struct slot **slot)
{
	struct slot *s = NULL;
	int ret;

	for (uint32_t i = 0; i < SLOTS; i++) {
		struct slot *c = &r->slot[i];

		if (c->state == FREE) {
			s = c;
			break;
		}
		if (c->state != USED && c->state != READING && (!s || c->turn < s->turn))
			s = c;
	}
	for (uint32_t i = 0; i < SLOTS && !s; i++) /* what was read ahead in vain */
		if (r->slot[i].state == READING)
			s = &r->slot[i];
	if (!s)
		return -EBUSY;
	ret = settle(r, s);
	s->state = FREE;
	*slot = s;
	return ret;
}

static void begin(struct wse_records *r, struct slot *s, uint32_t record, int write)
{
	s->record = record;
	s->state = write ? WRITING : READING;
	s->turn = ++r->turn;
	s->io.buf = s->mem;
	s->io.off = r->off[record];
	s->io.len = WSE_DISK_BLOCK + r->h[record].bytes;
	s->io.write = write;
	*(write ? &r->out : &r->in) += s->io.len;
	wse_disk_begin(r->disk, &s->io);
}

static int read_ahead(struct wse_records *r, uint32_t record, uint32_t end)
{
	for (uint32_t k = record + 1; k <= record + AHEAD && k < end; k++) {
		struct slot *s;
		int ret;

		if (!is_there(r, k) || find(r, k))
			continue;
		ret = take(r, &s);
		if (ret)
			return ret;
		begin(r, s, k, 0);
	}
	return 0;
}

static int hold(struct wse_records *r, struct slot *s, void **mem)
{
	int ret = settle(r, s);

	if (ret)
		return ret;
	s->state = USED;
	s->turn = ++r->turn;
	*mem = s->mem + WSE_DISK_BLOCK;
	return 0;
}

int wse_records_get(struct wse_records *r, uint32_t record, uint32_t end, void **mem)
{
	struct slot *s = find(r, record);
	int ret = s ? 0 : take(r, &s);

	if (ret)
		return ret;
	if (s->state == FREE) {
		s->record = record;
		if (is_there(r, record))
			begin(r, s, record, 0);
		else
			memset(s->mem, 0,
			       r->list[record].head ? WSE_DISK_BLOCK + r->list[record].head
						    : on_disk(r->list, record));
	}
	ret = hold(r, s, mem);
	return ret ? ret : read_ahead(r, record, end);
}

int wse_records_new(struct wse_records *r, uint32_t record, void **mem)
{
	struct slot *s = find(r, record);
	size_t bytes = r->list[record].bytes;
	int ret = s ? 0 : take(r, &s);

	if (ret)
		return ret;
	s->record = record;
	ret = hold(r, s, mem);
	if (!ret) /* up to a whole block, which is in the sum */
		memset((char *)*mem + bytes, 0, blocks(bytes) - bytes);
	return ret;
}

/* whole blocks of the record in a slot go to the file */
static int put_blocks(struct wse_records *r, struct slot *s, size_t bytes, uint64_t step)
{
	struct header *h = &r->h[s->record];

	memcpy(h->magic, "WSEMEMX1", sizeof(h->magic));
	h->unit = r->list[s->record].unit;
	h->record = s->record;
	h->run = (uint64_t)(uintptr_t)r ^ (uint64_t)getpid() << 32;
	h->step = step;
	h->bytes = bytes;
	h->sum = sum_of(r, s);
	memcpy(s->mem, h, sizeof(*h));
	begin(r, s, s->record, 1);
	return 0;
}

int wse_records_put(struct wse_records *r, uint32_t record, int dirty, uint64_t step)
{
	struct slot *s = find(r, record);

	if (!s)
		return 0;
	s->state = READY;
	return dirty ? put_blocks(r, s,
				  without_zeros(s->mem + WSE_DISK_BLOCK,
						blocks(r->list[record].bytes)),
				  step)
		     : 0;
}

int wse_records_put_some(struct wse_records *r, uint32_t record, size_t bytes, uint64_t step)
{
	struct slot *s = find(r, record);

	if (!s)
		return 0;
	s->state = READY;
	memset(s->mem + WSE_DISK_BLOCK + bytes, 0, blocks(bytes) - bytes);
	return put_blocks(r, s, blocks(bytes), step);
}

void wse_records_drop(struct wse_records *r, uint32_t record)
{
	struct slot *s = find(r, record);

	/* a request that runs has its slot until it is done; what became of it is of no interest */
	if (s && (s->state == READING || s->state == WRITING))
		wse_disk_wait(r->disk, &s->io);
	if (s)
		s->state = FREE;
	r->h[record].magic[0] = 0;
}

void wse_records_close(struct wse_records *r)
{
	if (!r)
		return;
	if (r->disk)
		wse_disk_close(r->disk);
	free(r->mem);
	free(r->off);
	free(r->h);
	free(r);
}

static size_t longest(const struct wse_record *list, uint32_t n)
{
	size_t most = 0;

	for (uint32_t i = 0; i < n; i++)
		if (on_disk(list, i) > most)
			most = on_disk(list, i);
	return most;
}

uint64_t wse_records_memory(const struct wse_record *list, uint32_t n, uint64_t *file)
{
	size_t most = 0;

	*file = 0;
	for (uint32_t i = 0; i < n; i++) {
		size_t whole = on_disk(list, i);
		/* pages that no record needs are not there; they are large ones */
		size_t some = list[i].usual ? list[i].usual + HUGE : whole;

		*file += whole;
		some = some < whole ? some : whole;
		most = some > most ? some : most;
	}
	return SLOTS * (uint64_t)most;
}

/* where records are; slots */
static int alloc(struct wse_records *r)
{
	size_t most = longest(r->list, r->n);

	r->off = calloc(r->n + 1ul, sizeof(*r->off));
	r->h = calloc(r->n + 1ul, sizeof(*r->h));
	if (!r->off || !r->h)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n; i++)
		r->off[i + 1] = r->off[i] + on_disk(r->list, i);
	if (most && posix_memalign(&r->mem, HUGE, SLOTS * most))
		return -ENOMEM;
	if (most) /* a request pins its pages: large ones are few */
		wse_pages_want_huge(r->mem, SLOTS * most);
	for (uint32_t i = 0; i < SLOTS && most; i++) {
		r->slot[i].mem = (char *)r->mem + i * most;
		memset(r->slot[i].mem, 0, WSE_DISK_BLOCK); /* the rest of a header's block */
	}
	return 0;
}

int wse_records_open(const char *dir, const char *what, const struct wse_record *list, uint32_t n,
		     struct wse_records **records)
{
	struct wse_records *r = calloc(1, sizeof(*r));
	int ret;

	if (!r)
		return wse_fail(-ENOMEM, "no memory");
	r->list = list;
	r->n = n;
	snprintf(r->what, sizeof(r->what), "%s", what);
	snprintf(r->dir, sizeof(r->dir), "%s", dir);
	ret = alloc(r);
	if (ret)
		wse_fail(ret, "no memory for the buffers of the %s' file", what);
	else
		ret = wse_disk_open(dir, what, r->off[n] + WSE_DISK_BLOCK, &r->disk);
	if (ret) {
		wse_records_close(r);
		return ret;
	}
	*records = r;
	return 0;
}

size_t wse_records_bytes(const struct wse_records *r, uint32_t record)
{
	return WSE_DISK_BLOCK + r->h[record].bytes;
}

void wse_records_moved(const struct wse_records *r, uint64_t *in, uint64_t *out)
{
	*in = r->in;
	*out = r->out;
}

int wse_records_way(const struct wse_records *r, int *direct)
{
	return wse_disk_way(r->disk, direct);
}
