// SPDX-License-Identifier: GPL-2.0
/*
 * Mappings for a device: which memory, for how long, and how the device finds it: page lists of
 * scattered buffers, hosts that copy mapped memory (swiotlb=force), and the accounting of the
 * memory.
 *
 * The guest decides which of these tests apply: plain, swiotlb=force (debugfs shows how many slots
 * of the bounce buffer are taken), or with an IOMMU.
 */
#include <linux/udmabuf.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "wse_test.h"
#include "kselftest_harness.h"

#define USED   "/sys/kernel/debug/swiotlb/io_tlb_used"
#define CGROUP "/tmp/cgroup"
#define MIB    1048576ul

FIXTURE(dma)
{
	char address[2][32];
	int fd[2];
	uint32_t ctx;
};

/* Slots of the bounce buffer that are taken, -1 if nothing bounces. */
static long slots(void)
{
	char text[4096];

	wse_slurp("/proc/cmdline", text, sizeof(text));
	if (!strstr(text, "swiotlb=force"))
		return -1;
	wse_slurp(USED, text, sizeof(text));
	return strtol(text, NULL, 10);
}

static bool iommu(void)
{
	char text[4096];

	wse_slurp("/proc/cmdline", text, sizeof(text));
	return strstr(text, "intel_iommu=on");
}

FIXTURE_SETUP(dma)
{
	int i;

	for (i = 0; i < 2; i++) {
		wse_address(i, self->address[i]);
		self->fd[i] = wse_open_at(self->address[i]);
		ASSERT_LE(0, self->fd[i]);
	}
	ASSERT_EQ(0, wse_ctx_create(self->fd[0], DRM_WSE_CTX_WAIT, &self->ctx));
}

FIXTURE_TEARDOWN(dma)
{
	int i;

	if (self->fd[0] >= 0)
		wse_list_bytes(self->address[0], "4194304");
	for (i = 0; i < 2; i++)
		if (self->fd[i] >= 0)
			close(self->fd[i]);
}

static void fill(uint64_t *p, size_t words, uint64_t seed)
{
	size_t i;

	for (i = 0; i < words; i++)
		p[i] = (seed + i) * 0x9e3779b97f4a7c15ull;
}

/*
 * n pages of zeros as a dma-buf in which none follows the one before; -errno. They are written:
 * udmabuf would allocate them in its list's order, in which they may be neighbours, and takes those
 * of fallocate(), which nothing has cleared yet, as they are (Linux 6.12).
 */
static int scattered(uint32_t n)
{
	static const char zeros[PAGE];
	int dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), mem, fd;
	struct udmabuf_create_list *list = calloc(1, sizeof(*list) + n * sizeof(list->list[0]));
	uint32_t i;

	if (dev < 0)
		return -errno;
	/* the kernel's own limit is 1024 */
	wse_sysfs_write("/sys/module/udmabuf/parameters/list_limit", "65536");
	mem = memfd_create("scattered", MFD_ALLOW_SEALING);
	for (i = 0; mem >= 0 && i < n; i++)
		if (write(mem, zeros, PAGE) != PAGE)
			return -ENOSPC;
	if (!list || mem < 0 || fcntl(mem, F_ADD_SEALS, F_SEAL_SHRINK))
		return -EINVAL;
	list->count = n;
	/* all odd ones backwards, then all even ones */
	for (i = 0; i < n; i++)
		list->list[i] = (struct udmabuf_create_item){
			.memfd = mem,
			.offset = (uint64_t)PAGE * (i < n / 2 ? n - 1 - 2 * i : 2 * (n - 1 - i)),
			.size = PAGE,
		};
	fd = ioctl(dev, UDMABUF_CREATE_LIST, list);
	if (fd < 0)
		fd = -errno;
	close(mem);
	close(dev);
	free(list);
	return fd;
}

static int import(int fd, int dmabuf, uint32_t *handle)
{
	struct drm_prime_handle in = { .fd = dmabuf };
	int ret = wse_ioctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &in);

	*handle = in.handle;
	return ret;
}

/* len bytes from one place of the buffer to another, through a core */
static int through(int fd, uint32_t ctx, uint32_t bo, uint64_t from, uint64_t to, uint32_t len)
{
	struct drm_wse_cmd cmds[2] = {
		cmd_copy(WSE_OP_COPY_IN, bo, from, 0, 0, 0x1000, len),
		cmd_copy(WSE_OP_COPY_OUT, bo, to, 0, 0, 0x1000, len),
	};

	return wse_run(fd, ctx, cmds, 2);
}

/*
 * writes of the processor after the buffer's creation reach the device, and the device's writes
 * reach the processor
 */
TEST_F(dma, both_see_the_same_memory)
{
	long before = slots();
	size_t size = 3 * MIB;
	uint32_t bo, round;
	uint64_t *p;

	ASSERT_EQ(0, wse_bo_create(self->fd[0], size, &bo));
	p = wse_bo_map(self->fd[0], bo, size);
	ASSERT_NE(NULL, p);
	for (round = 1; round < 4; round++) {
		fill(p, 2048, round);
		/* in the middle of a page that the device writes around */
		p[2 * MIB / 8 - 1] = round;
		ASSERT_EQ(0, through(self->fd[0], self->ctx, bo, 0, 2 * MIB, 16384));
		EXPECT_EQ(0, memcmp(p, (char *)p + 2 * MIB, 16384));
		EXPECT_EQ(round, p[2 * MIB / 8 - 1]);
	}
	/* and no bounce buffer is filled up by that */
	EXPECT_EQ(before, slots());
	EXPECT_EQ(0, wse_gem_close(self->fd[0], bo));
	EXPECT_EQ(before, slots());
}

/* mappings, files and exports of such a buffer may outlive the device */
TEST_F(dma, buffers_outlive_the_device)
{
	struct drm_prime_handle out = { .flags = O_CLOEXEC | O_RDWR };
	size_t size = MIB;
	uint64_t *p, *q;
	uint32_t bo;
	long idle;

	ASSERT_EQ(0, wse_bo_create(self->fd[0], size, &bo));
	p = wse_bo_map(self->fd[0], bo, size);
	ASSERT_NE(NULL, p);
	p[1] = 42;
	out.handle = bo;
	ASSERT_EQ(0, wse_ioctl(self->fd[0], DRM_IOCTL_PRIME_HANDLE_TO_FD, &out));
	q = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, out.fd, 0);
	ASSERT_NE(MAP_FAILED, q);
	ASSERT_EQ(0, wse_unbind(self->address[0]));
	ASSERT_EQ(0, wse_unbind(self->address[1]));
	idle = slots();
	EXPECT_EQ(42, p[1]);
	p[2] = 43;
	EXPECT_EQ(43, q[2]);
	/* a part without any access so far */
	q[size / 8 - 1] = 44;
	EXPECT_EQ(44, p[size / 8 - 1]);
	munmap(p, size / 2);
	EXPECT_EQ(44, p[size / 8 - 1]);
	close(self->fd[0]);
	close(self->fd[1]);
	close(out.fd);
	munmap((char *)p + size / 2, size / 2);
	EXPECT_EQ(42, q[1]);
	munmap(q, size);
	self->fd[0] = -1;
	self->fd[1] = -1;
	EXPECT_EQ(idle, slots());
	ASSERT_EQ(0, wse_bind(self->address[0]));
	ASSERT_EQ(0, wse_bind(self->address[1]));
}

/* its dma-buf is mapped first, then the buffer gets an offset; both are touched afterwards */
TEST_F(dma, dma_buf_is_mapped_first)
{
	struct drm_prime_handle out = { .flags = O_CLOEXEC | O_RDWR };
	size_t size = MIB, i;
	uint64_t *p, *q;

	ASSERT_EQ(0, wse_bo_create(self->fd[0], size, &out.handle));
	ASSERT_EQ(0, wse_ioctl(self->fd[0], DRM_IOCTL_PRIME_HANDLE_TO_FD, &out));
	q = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, out.fd, 0);
	ASSERT_NE(MAP_FAILED, q);
	p = wse_bo_map(self->fd[0], out.handle, size);
	ASSERT_NE(NULL, p);
	for (i = 0; i < size / 8; i += PAGE / 8)
		q[i] = i + 1;
	for (i = 0; i < size / 8; i += PAGE / 8)
		EXPECT_EQ(i + 1, p[i]);
	munmap(p, size);
	munmap(q, size);
	close(out.fd);
}

/* a part of a mapping that has other permissions, and a mapping that begins inside of the buffer */
TEST_F(dma, mapping_in_parts)
{
	struct drm_prime_handle out = { .flags = O_CLOEXEC | O_RDWR };
	size_t size = 4 * PAGE, words = PAGE / 8, i;
	uint64_t *all, *p;

	ASSERT_EQ(0, wse_bo_create(self->fd[0], size, &out.handle));
	all = wse_bo_map(self->fd[0], out.handle, size);
	ASSERT_NE(NULL, all);
	for (i = 0; i < 4; i++)
		all[i * words] = i + 1;
	p = wse_bo_map(self->fd[0], out.handle, size);
	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, mprotect(p + 2 * words, PAGE, PROT_READ));
	for (i = 0; i < 4; i++)
		EXPECT_EQ(i + 1, p[i * words]);
	munmap(p, size);
	ASSERT_EQ(0, wse_ioctl(self->fd[0], DRM_IOCTL_PRIME_HANDLE_TO_FD, &out));
	p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, out.fd, 2 * PAGE);
	ASSERT_NE(MAP_FAILED, p);
	for (i = 0; i < 2; i++)
		EXPECT_EQ(i + 3, p[i * words]);
	munmap(p, 2 * PAGE);
	munmap(all, size);
	close(out.fd);
}

TEST_F(dma, private_mapping_refused)
{
	struct drm_wse_bo_map map = {};
	uint32_t bo;

	ASSERT_EQ(0, wse_bo_create(self->fd[0], PAGE, &bo));
	map.handle = bo;
	ASSERT_EQ(0, wse_ioctl(self->fd[0], DRM_IOCTL_WSE_BO_MAP, &map));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, self->fd[0],
				   map.offset));
	EXPECT_EQ(EINVAL, errno);
}

/* a foreign buffer that is copied for the device cannot be the same for both */
TEST_F(dma, import_that_bounces_refused)
{
	long before = slots();
	uint32_t bo;
	int fd;

	if (before < 0)
		SKIP(return, "mappings do not bounce: boot with swiotlb=force");
	fd = scattered(16);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EOPNOTSUPP, import(self->fd[0], fd, &bo));
	close(fd);
	EXPECT_EQ(before, slots());
}

static long number(const char *path)
{
	char text[32];

	wse_slurp(path, text, sizeof(text));
	return text[0] ? strtol(text, NULL, 10) : -1;
}

/*
 * Address ranges of the IOMMU in use; buffers are large enough to have no cached ones. KASAN keeps
 * freed memory for a while, but DMA_API_DEBUG, where it is on, counts mappings itself.
 */
static long ranges(void)
{
	long n = number("/sys/kernel/debug/dma-api/nr_total_entries");
	char line[256];
	FILE *f;

	if (n >= 0)
		return n - number("/sys/kernel/debug/dma-api/num_free_entries");
	f = fopen("/proc/slabinfo", "r");
	while (f && n < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, "iommu_iova ", 11))
			n = strtol(line + 11, NULL, 10);
	if (f)
		fclose(f);
	return n;
}

/*
 * Files, mappings and the dma-bufs stay; mappings for the devices end. 3000 mappings behind an
 * emulated IOMMU, on a machine that runs other tests, take longer than the harness allows.
 */
TEST_F_TIMEOUT(dma, nothing_is_mapped_after_unbind, 180)
{
	enum { N = 1500, SIZE = 33 * PAGE, FREE = 800 };
	struct drm_prime_handle out = { .flags = O_CLOEXEC | O_RDWR };
	long before, both;
	uint32_t bo, i;

	if (!iommu() || ranges() < 0)
		SKIP(return, "no counter of mappings: --iommu intel --append slab_nomerge");
	before = ranges();
	for (i = 0; i < N; i++) {
		ASSERT_EQ(0, wse_bo_create(self->fd[0], SIZE, &out.handle));
		ASSERT_EQ(0, wse_ioctl(self->fd[0], DRM_IOCTL_PRIME_HANDLE_TO_FD, &out));
		ASSERT_EQ(0, import(self->fd[1], out.fd, &bo));
		close(out.fd);
	}
	both = ranges();
	EXPECT_LE(before + 2 * N - FREE, both);
	ASSERT_EQ(0, wse_unbind(self->address[1]));
	/* what processors keep for themselves is counted, too */
	EXPECT_GE(both - N + FREE, ranges());
	ASSERT_EQ(0, wse_unbind(self->address[0]));
	EXPECT_GE(both - 2 * N + FREE, ranges());
	ASSERT_EQ(0, wse_bind(self->address[0]));
	ASSERT_EQ(0, wse_bind(self->address[1]));
}

/* pages in any order, and lists in one piece or several: the device finds every byte */
TEST_F(dma, scattered_import)
{
	size_t size = 4 * MIB;
	static const char *const pieces[] = { "4194304", "16384", "4096" };
	struct drm_wse_cmd far;
	uint32_t bo, i, n = 0;
	uint64_t at, *p;
	int fd;

	if (slots() >= 0)
		SKIP(return, "imports bounce");
	fd = scattered(size / PAGE);
	ASSERT_LE(0, fd);
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, p);
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, wse_list_bytes(self->address[0], pieces[i]));
		ASSERT_EQ(0, import(self->fd[0], fd, &bo));
		fill(p, size / 8, i);
		for (at = 0; at < size / 2 - 16384; at += 3 * 16384 + 8 * n++) {
			uint64_t from = n & 1 ? at : size / 2 + at;
			uint64_t to = n & 1 ? size - 16384 - at : size / 2 - 16384 - at;

			ASSERT_EQ(0, through(self->fd[0], self->ctx, bo, from, to, 16384));
			ASSERT_EQ(0, memcmp((char *)p + from, (char *)p + to, 16384));
		}
		/* two lines: 512 entries describe 2 MiB, from one MiB to the next but one */
		far = cmd_copy(WSE_OP_COPY_IN, bo, MIB - 16, 0, 0, 0x1000, 8);
		far.nline = 2;
		far.lstride = MIB - 8;
		far.sstride = 8;
		EXPECT_EQ(0, wse_run(self->fd[0], self->ctx, &far, 1));
		far.lstride = MIB + 16;
		EXPECT_EQ(i == 2 && !iommu() ? -EFBIG : 0,
			  wse_run(self->fd[0], self->ctx, &far, 1));
		EXPECT_EQ(0, wse_gem_close(self->fd[0], bo));
	}
	munmap(p, size);
	close(fd);
}

/* a stream reads values and mask through lists in pieces, each of its own */
TEST_F(dma, stream_of_a_long_list)
{
	struct drm_wse_cmd in = {
		.op = WSE_OP_STREAM_IN,
		.queue = 1,
		.flags = DRM_WSE_CMD_MASKED,
		.budget = BUDGET,
		.cols = 1,
		.nline = 1,
		.nfeat = 1,
		.kcol = 64,
		.etype = WSE_ETYPE_RAW32,
	};
	uint32_t bo[2], i;
	int fd[2];

	if (slots() >= 0 || iommu())
		SKIP(return, "there are no page lists here");
	ASSERT_EQ(0, wse_list_bytes(self->address[0], "4096"));
	for (i = 0; i < 2; i++) {
		fd[i] = scattered(1024);
		ASSERT_LE(0, fd[i]);
		ASSERT_EQ(0, import(self->fd[0], fd[i], &bo[i]));
	}
	in.bo = bo[0];
	in.mask_bo = bo[1];
	in.off = 3 * MIB + 8;
	in.moff = 2 * MIB + 16;
	/* the mask is all zeros: the stream sends nothing, so no core has to take it */
	EXPECT_EQ(0, wse_run(self->fd[0], self->ctx, &in, 1));
	in.moff = 4 * MIB - 8;
	EXPECT_EQ(0, wse_run(self->fd[0], self->ctx, &in, 1));
	in.moff = 4 * MIB;
	EXPECT_EQ(-ERANGE, wse_run(self->fd[0], self->ctx, &in, 1));
	in.moff = 0;
	in.off = MIB - 8;
	in.nline = 2;
	in.lstride = MIB + 8;
	EXPECT_EQ(-EFBIG, wse_run(self->fd[0], self->ctx, &in, 1));
	in.off = 0;
	in.moff = MIB - 8;
	in.rstride = MIB + 8;
	EXPECT_EQ(-EFBIG, wse_run(self->fd[0], self->ctx, &in, 1));
	close(fd[0]);
	close(fd[1]);
}

/* What memory.stat of this process's cgroup says of name, in bytes; -1 if that is not counted. */
static long stat_of(const char *name)
{
	char text[8192], line[32], *p;

	wse_slurp(CGROUP "/test/memory.stat", text, sizeof(text));
	snprintf(line, sizeof(line), "\n%s ", name);
	p = strstr(text, line);
	return p ? strtol(p + strlen(line), NULL, 10) : -1;
}

/* Bytes that the kernel has allocated for this process's cgroup, -1 if that is not counted. */
static long accounted(void)
{
	return stat_of("kernel");
}

static int join_cgroup(void)
{
	char pid[16];

	mkdir(CGROUP, 0755);
	mount("none", CGROUP, "cgroup2", 0, NULL);
	wse_sysfs_write(CGROUP "/cgroup.subtree_control", "+memory");
	mkdir(CGROUP "/test", 0755);
	snprintf(pid, sizeof(pid), "%d", getpid());
	return wse_sysfs_write(CGROUP "/test/cgroup.procs", pid);
}

/* their pages, whether they are of shmem or allocated for the device */
TEST_F(dma, buffers_are_accounted)
{
	enum { SIZE = 16 * MIB };
	long kernel, shmem;
	uint32_t bo;

	ASSERT_EQ(0, join_cgroup());
	sleep(3);
	kernel = accounted();
	shmem = stat_of("shmem");
	ASSERT_LE(0, kernel);
	ASSERT_LE(0, shmem);
	ASSERT_EQ(0, wse_bo_create(self->fd[0], SIZE, &bo));
	sleep(3);
	/* one of them alone: of the other one something may be freed late (KASAN) */
	kernel = accounted() - kernel;
	shmem = stat_of("shmem") - shmem;
	EXPECT_LE(SIZE, kernel > shmem ? kernel : shmem);
}

/* Each buffer once: DMA_API_DEBUG reports each page that is mapped twice. */
TEST_F_TIMEOUT(dma, page_lists_are_accounted, 120)
{
	enum { N = 4, PAGES = 16384 }; /* as long as a udmabuf may be: 128 KiB of list */
	uint32_t i, bo;
	long before;
	int fd[N];

	if (slots() >= 0 || iommu())
		SKIP(return, "there are no page lists here");
	ASSERT_EQ(0, join_cgroup());
	for (i = 0; i < N; i++) {
		fd[i] = scattered(PAGES);
		ASSERT_LE(0, fd[i]);
	}
	/* what processors have counted is added up every two seconds */
	sleep(3);
	before = accounted();
	ASSERT_LE(0, before);
	for (i = 0; i < N; i++)
		ASSERT_EQ(0, import(self->fd[0], fd[i], &bo));
	sleep(3);
	EXPECT_LE(before + (N - 1) * PAGES * 8, accounted());
	for (i = 0; i < N; i++)
		close(fd[i]);
}

/* behind a stream that no core takes */
TEST_F(dma, jobs_are_accounted)
{
	enum { JOBS = 1000, CMDS = 32 };
	struct drm_wse_cmd nops[CMDS], stream = cmd_stuck(BUDGET * 1000);
	uint32_t i, sync;
	long before;

	ASSERT_EQ(0, join_cgroup());
	ASSERT_EQ(0, wse_bo_create(self->fd[0], PAGE, &stream.bo));
	ASSERT_EQ(0, wse_submit(self->fd[0], self->ctx, &stream, 1, &sync));
	for (i = 0; i < CMDS; i++)
		nops[i] = cmd_nop(1);
	before = accounted();
	ASSERT_LE(0, before);
	for (i = 0; i < JOBS; i++)
		ASSERT_EQ(0, wse_submit(self->fd[0], self->ctx, nops, CMDS, &sync));
	EXPECT_EQ(1, syncobj_status(self->fd[0], sync));
	/* each has at least its commands, of 64 bytes */
	EXPECT_LE(before + JOBS * CMDS * 64, accounted());
}

TEST_HARNESS_MAIN
