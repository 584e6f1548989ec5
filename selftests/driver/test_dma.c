// SPDX-License-Identifier: GPL-2.0
/*
 * What is mapped for a device, and for how long. The guest runs with swiotlb=force: every mapping
 * then takes slots of the bounce buffer, and debugfs tells how many are taken.
 */
#include "wse_test.h"
#include "kselftest_harness.h"

#define USED "/sys/kernel/debug/swiotlb/io_tlb_used"

FIXTURE(dma)
{
	char address[2][32];
	int fd[2];
	long idle; /* slots taken when no device is bound */
};

static long slots(void)
{
	long n = -1;
	FILE *f = fopen(USED, "r");

	if (f) {
		if (fscanf(f, "%ld", &n) != 1)
			n = -1;
		fclose(f);
	}
	return n;
}

FIXTURE_SETUP(dma)
{
	int i;

	if (slots() < 0)
		SKIP(return, "there is no " USED);
	for (i = 0; i < 2; i++)
		wse_address(i, self->address[i]);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, wse_unbind(self->address[i]));
	self->idle = slots();
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, wse_bind(self->address[i]));
		self->fd[i] = wse_open_at(self->address[i]);
		ASSERT_LE(0, self->fd[i]);
	}
}

FIXTURE_TEARDOWN(dma)
{
	int i;

	for (i = 0; i < 2; i++)
		if (self->fd[i] >= 0)
			close(self->fd[i]);
}

TEST_F(dma, buffers_are_unmapped_with_the_handle)
{
	long before = slots();
	uint32_t bo;

	ASSERT_EQ(0, wse_bo_create(self->fd[0], 1 << 20, &bo));
	if (slots() == before)
		SKIP(return, "mappings do not bounce: boot with swiotlb=force");
	EXPECT_EQ(0, wse_gem_close(self->fd[0], bo));
	EXPECT_EQ(before, slots());
}

/* files, mappings and the dma-buf stay, what is mapped for the devices does not */
TEST_F(dma, nothing_is_mapped_after_unbind)
{
	struct drm_prime_handle out = { .flags = O_CLOEXEC | O_RDWR }, in = {};
	size_t size = 1 << 20;
	long one, both;
	uint32_t bo[2];
	uint64_t *p;

	ASSERT_EQ(0, wse_bo_create(self->fd[0], size, &bo[0]));
	ASSERT_EQ(0, wse_bo_create(self->fd[0], PAGE, &bo[1]));
	p = wse_bo_map(self->fd[0], bo[0], size);
	ASSERT_NE(NULL, p);
	p[1] = 42;
	one = slots();
	out.handle = bo[0];
	ASSERT_EQ(0, wse_ioctl(self->fd[0], DRM_IOCTL_PRIME_HANDLE_TO_FD, &out));
	in.fd = out.fd;
	ASSERT_EQ(0, wse_ioctl(self->fd[1], DRM_IOCTL_PRIME_FD_TO_HANDLE, &in));
	both = slots();
	if (both == self->idle)
		SKIP(return, "mappings do not bounce: boot with swiotlb=force");
	EXPECT_LT(one, both);

	ASSERT_EQ(0, wse_unbind(self->address[1]));
	EXPECT_EQ(one, slots());
	ASSERT_EQ(0, wse_unbind(self->address[0]));
	EXPECT_EQ(self->idle, slots());
	EXPECT_EQ(42, p[1]);
	p[2] = 43;
	close(self->fd[0]);
	close(self->fd[1]);
	close(out.fd);
	munmap(p, size);
	self->fd[0] = -1;
	self->fd[1] = -1;
	EXPECT_EQ(self->idle, slots());
	ASSERT_EQ(0, wse_bind(self->address[0]));
	ASSERT_EQ(0, wse_bind(self->address[1]));
}

TEST_HARNESS_MAIN
