/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fuzzer's parts: fuzz.c runs processes and judges, fuzz_ops.c has their operations, fuzz_mem.c
 * places arguments in memory.
 */
#ifndef WSE_FUZZ_H
#define WSE_FUZZ_H

#include "wse_test.h"

#define MAX_DEVICES 4u
#define MAX_BOS	    16u
#define MAX_SYNCS   16u
#define MAX_FDS	    24u
#define MAX_FILES   3u

/* Counts of all processes together. */
struct fuzz_stats {
	uint64_t ops, ioctls, eintr, efault, injected;
	uint64_t submits, accepted, leases, faults;
	uint64_t refused[160]; /* submits, by errno */
	uint64_t op_calls[32], op_good[32], op_ns[32];
	int stop;
};

struct fuzz_options {
	uint64_t seed, ops;
	unsigned int seconds, procs, ndev;
	unsigned int fail;   /* percent of ioctls in which something fails on purpose */
	unsigned int evil;   /* mode of the evil device; 0: none, 99: any that it survives */
	bool chaos;	     /* devices are reset, unbound and bound meanwhile */
	bool as_root;	     /* no process drops its rights */
	bool udmabuf;
	const char *module;  /* to be loaded again at the end */
	char address[MAX_DEVICES][32];
};

struct fuzz_rng {
	uint64_t state;
};

struct fuzz_bo {
	uint32_t handle;
	uint64_t size;
	void *map; /* of all of it, or NULL */
};

struct fuzz_sync {
	uint32_t handle;
	uint64_t point; /* the last one handed out; 0: binary */
	bool used;	/* it should have a fence */
};

/* An open accel node and its objects. Threads of one process share it without locks. */
struct fuzz_file {
	int fd; /* -1: closed */
	unsigned int dev;
	uint32_t ctx; /* 0: none */
	unsigned int nbo, nsync;
	struct fuzz_bo bo[MAX_BOS];
	struct fuzz_sync sync[MAX_SYNCS];
};

/* A process. Its threads have copies with random numbers and memory of their own. */
struct fuzz_worker {
	struct fuzz_rng rng;
	struct fuzz_file *files; /* [MAX_FILES] */
	int *fds;		 /* [MAX_FDS] dma-bufs, sync files, syncobjs; -1: free */
	char *arena;		 /* see fuzz_mem.c */
	int mailbox[2];		 /* where processes give each other files */
	bool root;
	unsigned int depth; /* of forks and threads */
	unsigned int stale; /* submits in a row that found something missing */
	bool lost;	    /* the last submit said that its context or device is gone */
};

extern struct fuzz_stats *stats;
extern struct fuzz_options opt;
extern struct drm_wse_info fuzz_info[MAX_DEVICES];

static inline uint64_t rnd(struct fuzz_rng *r)
{
	uint64_t z = (r->state += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* 0 ... n - 1; 0 for n == 0 */
static inline uint64_t below(struct fuzz_rng *r, uint64_t n)
{
	return n ? rnd(r) % n : 0;
}

static inline bool percent(struct fuzz_rng *r, unsigned int p)
{
	return below(r, 100) < p;
}

static inline void count(uint64_t *counter)
{
	__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

/* memory: fuzz_mem.c */
char *arena_map(void);
uint64_t odd_value(struct fuzz_rng *r);
uint64_t odd_pointer(struct fuzz_worker *w, uint64_t good);
void *place(struct fuzz_worker *w, const void *data, size_t size, bool *writable);
int call(struct fuzz_worker *w, int fd, unsigned long request, void *arg, size_t size);

/* operations: fuzz_ops.c, fuzz_sync.c, fuzz_submit.c */
const char *op_name(unsigned int i);
void run_ops(struct fuzz_worker *w, unsigned int n);
void file_open(struct fuzz_worker *w, struct fuzz_file *f);
void file_close(struct fuzz_file *f);
void keep_fd(struct fuzz_worker *w, int fd);
int any_fd(struct fuzz_worker *w);
void set_alarm(struct fuzz_worker *w, unsigned int ms);
bool op_submit(struct fuzz_worker *w, struct fuzz_file *f);
bool op_sync(struct fuzz_worker *w, struct fuzz_file *f);
bool op_dmabuf(struct fuzz_worker *w, struct fuzz_file *f);
uint32_t any_sync(struct fuzz_worker *w, struct fuzz_file *f);

#endif
