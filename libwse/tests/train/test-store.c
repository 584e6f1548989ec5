// SPDX-License-Identifier: MIT
/* The store in a file beside the one in memory, and disks that are full, faulty, cut or shared. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/magic.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bad_disk.h"
#include "base/error.h"
#include "heap.h"
#include "input/config.h"
#include "memx/disk.h"
#include "model/gpt.h"
#include "num/num.h"
#include "state.h"
#include "pieces_list.h"
#include "tap.h"
#include "train/memory.h"

/* ---- a list of pieces: of several units, more than the store has buffers ---- */

enum { UNITS = 20, INS = 96, OUTS = 128 };

static float value(uint32_t piece, uint64_t round, size_t i)
{
	return (float)((piece * 131 + round * 17 + i) % 8191);
}

/* a pass: every piece is what the last pass left, and is written anew */
static int pass(struct wse_store *s, const struct wse_memx_pieces *l, uint64_t round, int write)
{
	int ret = 0;

	s->step = round;
	if (s->ops->ahead)
		s->ops->ahead(s, 0, l->n);
	for (uint32_t k = 0; k < l->n && !ret; k++) {
		float *a[WSE_MEMX_ARRAYS];
		size_t bad = 0;

		ret = s->ops->get(s, k, a);
		if (ret)
			return ret;
		for (size_t i = 0; i < l->p[k].count; i++)
			for (int w = 0; w < 3; w++) {
				bad += a[w][i] !=
				       (round > 1 ? value(k, round - 1, i) + (float)w : 0);
				if (write)
					a[w][i] = value(k, round, i) + (float)w;
			}
		ret = s->ops->put(s, k, write);
		if (bad)
			return -EILSEQ;
	}
	return ret;
}

/* want: the way that it must go, and past the page cache or not; -1: any */
static void passes(const char *dir, int want, int want_direct, const char *what)
{
	struct wse_store *s = NULL;
	struct list t;
	int ret, way = -1, direct = 0;

	make_list(&t, UNITS, OUTS, 3);
	ret = wse_store_file(&t.l, 3, NULL, dir, &s);
	for (uint64_t round = 1; round < 5 && !ret; round++)
		ret = pass(s, &t.l, round, 1);
	/* in any order */
	for (uint32_t i = 0; i < 60 && !ret; i++) {
		uint32_t k = (uint32_t)(wse_rng_u64(3, 0, i) % t.l.n);
		float *a[WSE_MEMX_ARRAYS];

		ret = s->ops->get(s, k, a);
		if (!ret && a[1][5] != value(k, 4, 5) + 1)
			ret = -EILSEQ;
		ret = ret ? ret : s->ops->put(s, k, 0);
	}
	if (s)
		way = wse_store_file_way(s, &direct);
	ok(!ret && t.l.n > UNITS + 1 && (want < 0 || way == want) &&
		   (want_direct < 0 || direct == want_direct),
	   "%s: %s%s, %u pieces%s%s", what, way == WSE_DISK_IO_URING ? "io_uring" : "a thread",
	   direct ? ", O_DIRECT" : "", t.l.n, ret ? ": " : "", ret ? wse_error() : "");
	if (s)
		s->ops->close(s);
	free_list(&t);
}

/* ---- packed ---- */

/* what is there in a round: nothing, all of it, a quarter of other places each time */
static float sparse_value(uint32_t piece, uint64_t round, int array, size_t i)
{
	static const uint32_t odd[] = {0x80000000, 1, 0x7fc00001, 0xff800000}; /* -0 is no +0 */
	uint64_t r = wse_rng_u64(round * 3 + (uint64_t)array, piece, i);
	float x;

	if (round == 3 && piece % 5 == 3)
		return 0.0f;
	if (r % 4 && !(round == 3 && piece % 5 == 4))
		return 0.0f;
	if (r % 64)
		return (float)(r >> 40) + 1.0f;
	memcpy(&x, &odd[(r >> 8) % 4], sizeof(x));
	return x;
}

/* compares, and writes the next round: into both, elements in the middle alone in the last one */
static size_t beside(struct wse_store *ram, struct wse_store *packed,
		     const struct wse_memx_piece *p, uint32_t k, uint64_t round, size_t *kept,
		     const unsigned char *masked)
{
	float *a[WSE_MEMX_ARRAYS], *b[WSE_MEMX_ARRAYS];
	size_t bad = 0, from = round == 5 ? p->count / 3 : 0, end = p->count - from;

	if (ram->ops->get(ram, k, a) || packed->ops->get(packed, k, b))
		return 1;
	for (int w = 0; w < 3; w++) {
		bad += memcmp(a[w], b[w], p->count * sizeof(float)) != 0;
		for (size_t i = from; i < end; i++)
			a[w][i] = b[w][i] = sparse_value(k, round, w, i);
		for (size_t i = 0; i < p->count; i++)
			*kept += p->unit != WSE_NO_UNIT && masked[p->unit] && wse_f2u(a[w][i]);
	}
	return bad + (ram->ops->put(ram, k, 1) || packed->ops->put(packed, k, 1));
}

static size_t record(const struct wse_memx_pieces *l, uint32_t k)
{
	return 4096 + 3 * ((l->p[k].count * 4 + 4095) / 4096 * 4096);
}

/* dir NULL: in memory. In a file: what is there is written, in blocks, and nothing else */
static void packed_beside_ram(const char *dir)
{
	struct wse_store *ram = NULL, *packed = NULL;
	unsigned char masked[UNITS] = {0};
	size_t bad = 0, wrong = 0, dense = 0, least = SIZE_MAX, all = 0, most = 0;
	uint64_t in = 0, out = 0;
	struct list t;
	int ret;

	make_list(&t, UNITS, OUTS, 3);
	for (uint32_t i = 0; i < UNITS; i++)
		masked[i] = i % 3 == 0;
	for (uint32_t k = 0; k < t.l.n; k++) {
		const struct wse_memx_piece *p = &t.l.p[k];
		int packs = p->unit != WSE_NO_UNIT && masked[p->unit];

		dense += packs ? 3 * p->count : 0;
		all += p->unit != WSE_NO_UNIT ? record(&t.l, k) : 0;
		most += packs			 ? 2 * 4096 + 3 * (p->count + 63) / 64 * 8
			: p->unit != WSE_NO_UNIT ? record(&t.l, k)
						 : 0;
	}
	ret = wse_store_ram(&t.l, 3, &ram);
	if (!ret && dir)
		ret = wse_store_file(&t.l, 3, masked, dir, &packed);
	else if (!ret)
		ret = wse_store_packed(&t.l, 3, masked, &packed);
	for (uint64_t round = 1; round < 6 && !ret; round++) {
		size_t kept = 0;
		uint64_t before = out;

		if (packed->ops->ahead)
			packed->ops->ahead(packed, 0, t.l.n);
		for (uint32_t k = 0; k < t.l.n; k++)
			bad += beside(ram, packed, &t.l.p[k], k, round, &kept, masked);
		wrong += wse_store_packed_floats(packed) != kept;
		wse_store_file_moved(packed, &in, &out);
		wrong += dir && (out == before || out - before > most + 4 * kept);
		least = kept < least ? kept : least;
	}
	ok(!ret && !bad && !wrong && least && least < dense / 3 && !wse_store_packed_floats(ram) &&
		   (!dir || (in && out < 5 * all / 10 * 9)),
	   "packed %s, and in memory: the same bits, %zu of %zu floats are kept, %.1f MB written of "
	   "%.1f",
	   dir ? "in a file" : "in memory", least, dense, 1e-6 * (double)out,
	   5e-6 * (double)(dir ? all : 0));
	if (ram)
		ram->ops->close(ram);
	if (packed)
		packed->ops->close(packed);
	free_list(&t);
}

/* ---- faults ---- */

enum fault { FLIPPED, FOREIGN, OLD, CUT };

/* what the disk gives back is not what was written */
static void faulty(const char *dir, enum fault fault, int err, const char *says)
{
	struct wse_store *s = NULL;
	char *a = malloc(1 << 20);
	size_t at = 0, n;
	struct list t;
	int fd, ret;

	make_list(&t, UNITS, OUTS, 3);
	ret = wse_store_file(&t.l, 3, NULL, dir, &s);
	ret = ret ? ret : pass(s, &t.l, 1, 1);
	fd = scratch();
	n = record(&t.l, 1);
	if (fault == OLD) /* the second record as it was a step before */
		ret = ret ? ret : pread(fd, a, n, (off_t)n) != (ssize_t)n;
	ret = ret ? ret : pass(s, &t.l, 2, 1);
	at = n + 5000;
	if (fault == FLIPPED) {
		ret += pread(fd, a, 1, (off_t)at) != 1;
		a[0] ^= 4;
		ret += __real_pwrite(fd, a, 1, (off_t)at) != 1;
	} else if (fault == FOREIGN) { /* the first record in its place */
		ret += pread(fd, a, n, 0) != (ssize_t)n;
		ret += __real_pwrite(fd, a, n, (off_t)n) != (ssize_t)n;
	} else if (fault == OLD) {
		ret += __real_pwrite(fd, a, n, (off_t)n) != (ssize_t)n;
	} else {
		ret += ftruncate(fd, (off_t)n + 4096);
	}
	if (!ok(!ret && fd >= 0, "two passes, and then the disk: %s", says))
		return;
	ret = pass(s, &t.l, 3, 1);
	ok(ret == err && strstr(wse_error(), says) && strstr(wse_error(), "unit 1, piece 1 of 1"),
	   "%s", wse_error());
	close(fd);
	s->ops->close(s);
	free_list(&t);
	free(a);
}

/* requests that the kernel fails once they were begun: the same sentences, whichever way they go */
static void by_kernel(const char *dir, int way)
{
	static const struct {
		const char *path;
		int flags, err;
		const char *says;
	} of[] = {
		{"/dev/full", O_RDWR, -ENOSPC, "no room is left: make some"},
		{"/dev/null", O_RDWR, -EIO, "the file ends too early"},
		{"/dev/zero", O_RDWR, -EBADMSG, "the record is another one"},
		{"/dev/null", O_WRONLY, -EBADF, "reading: Bad file descriptor: the disk refuses"},
		{"/dev/zero", O_RDONLY, -EBADF, "writing: Bad file descriptor"},
		{"/proc/self/fd", O_RDONLY, -EISDIR, "reading: Is a directory"},
	};
	struct list t;

	make_list(&t, UNITS, OUTS, 3);
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct wse_store *s = NULL;
		int writes = of[i].err == -ENOSPC || !strncmp(of[i].says, "writing", 7), ret, is;

		no_ring = way == WSE_DISK_THREAD;
		ret = wse_store_file(&t.l, 3, NULL, dir, &s);
		no_ring = 0;
		is = s ? wse_store_file_way(s, NULL) : -1;
		if (!ret && is != way) {
			tap_skip("io_uring is refused here", "requests that the kernel fails");
			s->ops->close(s);
			break;
		}
		/* what was not written is not read; what was is through when it was read again */
		if (!writes)
			ret = ret ? ret : pass(s, &t.l, 1, 1);
		if (!writes)
			ret = ret ? ret : pass(s, &t.l, 2, 0);
		ret = ret || becomes(scratch_fd(), of[i].path, of[i].flags) ? -EPROTO : 0;
		ret = ret ? ret : pass(s, &t.l, writes ? 1 : 2, 1);
		ok(ret == of[i].err && strstr(wse_error(), of[i].says) &&
			   strstr(wse_error(), ": unit ") && strstr(wse_error(), ", piece "),
		   "%s: %s", way == WSE_DISK_THREAD ? "a thread" : "io_uring", wse_error());
		if (s)
			s->ops->close(s);
	}
	free_list(&t);
}

static void no_room(const char *dir)
{
	struct wse_store *s = NULL;
	struct list t;
	int ret;

	make_list(&t, UNITS, OUTS, 3);
	full = 1;
	ret = wse_store_file(&t.l, 3, NULL, dir, &s);
	ok(ret == -ENOSPC && !s && strstr(wse_error(), "make room, or raise memory_limit"),
	   "no room for the file: %s", wse_error());
	full = 0;
	ret = wse_store_file(&t.l, 3, NULL, "/nowhere/at/all", &s);
	ok(ret == -ENOENT && strstr(wse_error(), "/nowhere/at/all"), "no such folder: %s",
	   wse_error());
	no_ring = 1; /* so that it goes through pwrite() */
	ret = wse_store_file(&t.l, 3, NULL, dir, &s);
	ret = ret ? ret : pass(s, &t.l, 1, 1);
	full_now = 1;
	ret = ret ? ret : pass(s, &t.l, 2, 1);
	ok(ret == -ENOSPC && strstr(wse_error(), "unit ") && strstr(wse_error(), "make some"),
	   "a disk that is full in the middle: %s", wse_error());
	full_now = 0;
	s->ops->close(s);
	ret = wse_store_file(&t.l, 3, NULL, dir, &s);
	failing = 1;
	ret = ret ? ret : pass(s, &t.l, 1, 1);
	ok(ret == -EIO && strstr(wse_error(), "writing: Input/output error"),
	   "a disk that fails: %s", wse_error());
	failing = 0;
	no_ring = 0;
	s->ops->close(s);
	free_list(&t);
}

/* ---- MemoryX on either ---- */

/* steps with gradients made here; images and state of the last */
static int train(const struct wse_memx_cfg *cfg, const struct wse_graph *g, int steps,
		 uint64_t *sum)
{
	float **grad = calloc(g->nunits, sizeof(*grad)), row[64];
	const struct wse_rows position = {1, 64, (uint32_t[]){1}, row};
	struct wse_memx *mx;
	struct state st;
	double norm, lr;
	int ret = wse_memx_open(cfg, g, &heap, &mx);

	*sum = 0;
	if (ret) {
		free(grad);
		return ret;
	}
	for (uint32_t i = 0; i < g->nunits; i++)
		grad[i] = malloc(wse_unit_grad_floats(g, &g->units[i]) * sizeof(float));
	for (int k = 0; k < steps && !ret; k++) {
		for (uint32_t i = 0; i < g->nunits; i++)
			for (size_t j = 0; j < wse_unit_grad_floats(g, &g->units[i]); j++)
				grad[i][j] = (float)((i * 7 + j * 13 + (size_t)k) % 1021) - 510.0f;
		wse_memx_grads(mx, grad);
		for (uint32_t i = 0; i < 64; i++)
			row[i] = (float)i;
		wse_memx_grad_rows(mx, 1, &position);
		ret = wse_memx_commit(mx, &norm, &lr);
		ret = ret ? ret : wse_memx_finish(mx);
	}
	if (!ret) {
		st = state_of(mx);
		*sum = wse_checksum64(st.params, st.table->params * 4) +
		       3 * wse_checksum64(st.m, st.table->params * 4);
		if (st.v)
			*sum += 5 * wse_checksum64(st.v, st.table->params * 4);
		for (uint32_t i = 0; i < g->nunits; i++)
			*sum = *sum * 31 + wse_checksum64(wse_memx_images(mx)[i].fwd.buf->ptr,
							  wse_unit_image_bytes(g, &g->units[i]));
		state_free(&st);
	}
	wse_memx_close(mx);
	for (uint32_t i = 0; i < g->nunits; i++)
		free(grad[i]);
	free(grad);
	return ret;
}

static void same_bits(const char *dir)
{
	const struct wse_gpt shape = {.vocab = 500,
				      .positions = 64,
				      .seq = 64,
				      .hidden = 64,
				      .layers = 4,
				      .heads = 4,
				      .filter = 256,
				      .act = WSE_GELU_NEW,
				      .tied = 1,
				      .eps = 1e-5f,
				      .dev = 0.02f,
				      .learned = 1};
	const struct wse_tile tile = {.rows = 4, .cols = 4, .lanes = 8, .sram = 1u << 20};
	struct wse_memx_cfg cfg = {.optim = {WSE_OPTIM_ADAMW, 0.9, 0.95, 1e-8, 0, 0.01},
				   .sched = {1, {{WSE_SCHED_CONSTANT, 0.01, 0.01, 1, 0}}},
				   .max_norm = 1.0,
				   .seed = 3};
	uint64_t ram, file, sgd;
	struct wse_graph g;
	int ret = wse_gpt_init(&cfg.model, &shape);

	ret = ret ? ret : cfg.model.family->graph(&cfg.model, &tile, 16, 0, &g);
	ret = ret ? ret : train(&cfg, &g, 4, &ram);
	cfg.dir = dir;
	ret = ret ? ret : train(&cfg, &g, 4, &file);
	ok(!ret && ram == file, "four steps of a GPT in memory and in a file: the same bits%s%s",
	   ret ? ": " : "", ret ? wse_error() : "");
	no_ring = full_now = 1;
	ret = train(&cfg, &g, 2, &sgd);
	ok(ret == -ENOSPC && strstr(wse_error(), "unit "), "on a full disk: %s", wse_error());
	no_ring = full_now = 0;
	/* records of two arrays */
	cfg.optim = (struct wse_optim_cfg){WSE_OPTIM_LION, 0.9, 0.99, 0, 0, 0.01};
	ret = train(&cfg, &g, 4, &file);
	cfg.dir = NULL;
	ret = ret ? ret : train(&cfg, &g, 4, &ram);
	ok(!ret && ram == file, "the same of Lion, which keeps one moment%s%s", ret ? ": " : "",
	   ret ? wse_error() : "");
	wse_graph_fini(&g);
}

/* ---- the limit ---- */

static void limits(void)
{
	const struct wse_memory m = {.images = 40000000,
				     .images_file = 15000000,
				     .grads = 70000000,
				     .grads_file = 30000000,
				     .grads_take = 25000000,
				     .state = 120000000,
				     .state_file = 20000000,
				     .rest = 10000000};
	const struct wse_memory small = {.images = 1000000,
					 .grads_file = 1000000,
					 .grads_take = 1000000,
					 .state = 2000000,
					 .state_file = 3000000};

	ok(!wse_memory_file(&m, 0) && !wse_memory_file(&m, 240000000) &&
		   wse_memory_file(&m, 239999999) == WSE_FILES_STATE &&
		   wse_memory_file(&m, 140000000) == WSE_FILES_STATE &&
		   wse_memory_file(&m, 139999999) == WSE_FILES_GRADS &&
		   wse_memory_file(&m, 100000000) == WSE_FILES_GRADS &&
		   wse_memory_file(&m, 99999999) == WSE_FILES_IMAGES &&
		   wse_memory_file(&m, 70000000) == WSE_FILES_IMAGES,
	   "no limit, one that is enough, those that take files");
	ok(wse_memory_file(&m, 69000000) == -E2BIG && strstr(wse_error(), "choose 70 or more"),
	   "one that is too low: %s", wse_error());
	ok(wse_memory_file(&small, 2000000) == -E2BIG && strstr(wse_error(), "choose 3 or more"),
	   "a file would not help: %s", wse_error());
}

/* ---- systems that refuse io_uring, file systems that are no disk ---- */

/* as a container's filter does: the system call itself, of this process, is answered by err */
static int forbid_io_uring(unsigned int err)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | err),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

/* in a process of its own, since a filter stays */
static void forbidden(const char *dir, unsigned int err)
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		struct wse_store *s = NULL;
		int ret, way = -1;
		struct list t;

		if (forbid_io_uring(err))
			_exit(77);
		make_list(&t, UNITS, OUTS, 3);
		ret = wse_store_file(&t.l, 3, NULL, dir, &s);
		for (uint64_t round = 1; round < 4 && !ret; round++)
			ret = pass(s, &t.l, round, 1);
		if (s) {
			way = wse_store_file_way(s, NULL);
			s->ops->close(s);
		}
		free_list(&t);
		_exit(ret || way != WSE_DISK_THREAD);
	}
	if (waitpid(pid, &status, 0) != pid)
		status = -1;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		tap_skip("seccomp: the system takes no filters", "io_uring forbidden");
	else
		ok(!status, "io_uring_setup() forbidden by the system (%s): a thread, same data",
		   strerror((int)err));
}

static unsigned long fs_type; /* of every folder; 0: what it is */
int __real_statfs(const char *path, struct statfs *f);
int __wrap_statfs(const char *path, struct statfs *f);

int __wrap_statfs(const char *path, struct statfs *f)
{
	int ret = __real_statfs(path, f);

	if (fs_type && !ret)
		f->f_type = (__fsword_t)fs_type;
	return ret;
}

static void file_systems(const char *dir)
{
	static const unsigned long net[] = {NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, SMB2_SUPER_MAGIC,
					    CIFS_SUPER_MAGIC, CEPH_SUPER_MAGIC};
	const char *note;
	int bad = 0;

	no_fallocate = 1;
	passes(dir, -1, -1, "room cannot be asked for: NFS before 4.2");
	no_fallocate = 0;
	for (size_t i = 0; i < sizeof(net) / sizeof(net[0]); i++) {
		fs_type = net[i];
		note = wse_disk_note(dir);
		bad |= !note || !strstr(note, "over the network");
	}
	ok(!bad, "files that go over the network are told of");
	fs_type = EXT4_SUPER_MAGIC;
	note = wse_disk_note(dir);
	ok(!note && !wse_disk_note("/nowhere/at/all"), "files on a disk are not");
	fs_type = TMPFS_MAGIC;
	note = wse_disk_note(dir);
	fs_type = 0;
	ok(note && strstr(note, "choose a model_dir on a disk"), "files on tmpfs %s", note);
	note = access("/dev/shm", W_OK) ? "are in memory" : wse_disk_note("/dev/shm");
	ok(note && strstr(note, "are in memory"), "and so it is of /dev/shm");
}

int main(void)
{
	char dir[] = "/tmp/wse-store-XXXXXX";

	if (!mkdtemp(dir))
		return 1;
	passes(dir, -1, -1, "four passes");
	no_ring = 1;
	passes(dir, WSE_DISK_THREAD, -1, "io_uring refused");
	no_ring = 0;
	forbidden(dir, EPERM);
	forbidden(dir, ENOSYS);
	file_systems(dir);
	not_direct = 1;
	passes(dir, WSE_DISK_THREAD, 0, "O_DIRECT refused");
	not_direct = 0;
	not_direct_late = 1;
	passes(dir, WSE_DISK_THREAD, 0, "O_DIRECT refused with the first block");
	not_direct_late = 0;
	if (!access("/dev/shm", W_OK))
		passes("/dev/shm", -1, -1, "on tmpfs");
	by_kernel(dir, WSE_DISK_THREAD);
	by_kernel(dir, WSE_DISK_IO_URING);
	faulty(dir, FLIPPED, -EBADMSG, "what is read is not what was written");
	faulty(dir, FOREIGN, -EBADMSG, "the record is another one");
	faulty(dir, OLD, -EBADMSG, "the record is another one");
	faulty(dir, CUT, -EIO, "the file ends too early");
	no_room(dir);
	packed_beside_ram(NULL);
	packed_beside_ram(dir);
	same_bits(dir);
	limits();
	ok(!rmdir(dir), "nothing is left in the folder");
	return tap_end();
}
