/* SPDX-License-Identifier: MIT */
/*
 * Records in a scratch file (disk.h), by number: each has its place and its length, and is read and
 * written as a whole. Some are read ahead, some are written behind; what was written and is still
 * here is not read again. A record that is not what was written last is an error, with unit and
 * piece in the sentence. One thread at a time.
 */
#ifndef WSE_MEMX_RECORDS_H
#define WSE_MEMX_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#define WSE_RECORDS_SLOTS 6u /* one that is used, AHEAD that are read, the others are written */
#define WSE_RECORDS_AHEAD 2u

struct wse_record {
	size_t bytes;
	uint32_t unit, piece, pieces; /* for sentences: piece 1 ... pieces of a unit */
	/*
	 * of one that is put by wse_records_put_some(): so many bytes are cleared where it has no
	 * content, and none behind what was put; 0: all are
	 */
	size_t head;
	size_t usual; /* bytes that are put, for wse_records_memory(); 0: all */
};

struct wse_records;

/*
 * what: whose, for sentences ("weights"); list [n] stays until close. All are without content at
 * first. -ENOSPC where dir has no room for them, -ENOMEM
 */
int wse_records_open(const char *dir, const char *what, const struct wse_record *list, uint32_t n,
		     struct wse_records **records);
void wse_records_close(struct wse_records *r);

/* its bytes, cleared if it has no content; up to end (excluded) the next ones are read ahead */
int wse_records_get(struct wse_records *r, uint32_t record, uint32_t end, void **mem);
/* as get, but what the record was is of no interest: it will be written */
int wse_records_new(struct wse_records *r, uint32_t record, void **mem);
/* after either; dirty: its bytes were written, in this step */
int wse_records_put(struct wse_records *r, uint32_t record, int dirty, uint64_t step);
/*
 * after get or new: the first bytes of it were written, and what is behind them is of no interest:
 * neither written to the file nor read from it
 */
int wse_records_put_some(struct wse_records *r, uint32_t record, size_t bytes, uint64_t step);
/* it has no content any more */
void wse_records_drop(struct wse_records *r, uint32_t record);

/* bytes of memory for the slots, and of the file */
uint64_t wse_records_memory(const struct wse_record *list, uint32_t n, uint64_t *file);
/* bytes of a record in the file, its header included */
size_t wse_records_bytes(const struct wse_records *r, uint32_t record);
/* bytes that were read from the file and written to it so far: a test asks for it */
void wse_records_moved(const struct wse_records *r, uint64_t *in, uint64_t *out);
/* disk.h's */
int wse_records_way(const struct wse_records *r, int *direct);

#endif
