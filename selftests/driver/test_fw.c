// SPDX-License-Identifier: GPL-2.0
/*
 * Firmware that is missing, damaged or of another release. Each test binds the device anew, since a
 * driver that has loaded its firmware keeps it.
 */
#include "wse_test.h"
#include "kselftest_harness.h"

#define FIRMWARE "/lib/firmware/wse/wse-fw.bin"

FIXTURE(fw)
{
	uint8_t image[65536];
	ssize_t size;
	char address[32];
	int fd;
};

static ssize_t read_all(const char *path, void *buf, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size);

	close(fd);
	return n;
}

static int write_all(const char *path, const void *buf, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	ssize_t n = fd < 0 ? -1 : write(fd, buf, size);

	close(fd);
	return n == (ssize_t)size ? 0 : -1;
}

FIXTURE_SETUP(fw)
{
	/* remains of an earlier test do not matter */
	if (access("/root/fw", R_OK))
		ASSERT_EQ(0, system("cp " FIRMWARE " /root/fw"));
	self->size = read_all("/root/fw", self->image, sizeof(self->image));
	ASSERT_LT((ssize_t)sizeof(struct wse_fw), self->size);
	wse_address(0, self->address);
	self->fd = -1;
}

FIXTURE_TEARDOWN(fw)
{
	if (self->fd >= 0)
		close(self->fd);
}

/* with the first size bytes of the image in place; the errno of a context */
static int try(FIXTURE_DATA(fw) * self, ssize_t size)
{
	uint32_t ctx;
	int ret;

	ret = wse_unbind(self->address);
	unlink(FIRMWARE);
	if (!ret && size >= 0)
		ret = write_all(FIRMWARE, self->image, size);
	if (!ret)
		ret = wse_bind(self->address);
	if (ret)
		return ret;
	self->fd = wse_open_at(self->address);
	return wse_ctx_create(self->fd, 0, &ctx);
}

TEST_F(fw, good)
{
	struct wse_fw *head = (struct wse_fw *)self->image;
	struct drm_wse_info info;

	EXPECT_EQ(0, try(self, self->size));
	info = wse_info(self->fd);
	EXPECT_EQ(head->version, info.fw_version);
	EXPECT_EQ(head->bytes, info.fw_end);
}

TEST_F(fw, missing)
{
	struct drm_wse_info info;
	unsigned int before, i;
	uint32_t ctx;

	EXPECT_EQ(-ENOENT, try(self, -1));
	/* the device can be asked nevertheless, and once the file is there all is well */
	info = wse_info(self->fd);
	EXPECT_NE(0, info.rows);
	EXPECT_EQ(0, info.fw_end);
	/* repeated attempts of users do not fill the log */
	before = wse_messages();
	for (i = 0; i < 300; i++)
		EXPECT_EQ(-ENOENT, wse_ctx_create(self->fd, 0, &ctx));
	EXPECT_GT(before + 50, wse_messages());
	ASSERT_EQ(0, write_all(FIRMWARE, self->image, self->size));
	sleep(6);
	EXPECT_EQ(0, wse_ctx_create(self->fd, 0, &ctx));
}

TEST_F(fw, empty)
{
	EXPECT_GT(0, try(self, 0));
}

TEST_F(fw, short_of_a_header)
{
	EXPECT_EQ(-ENOEXEC, try(self, sizeof(struct wse_fw) - 1));
}

TEST_F(fw, truncated)
{
	EXPECT_EQ(-ENOEXEC, try(self, self->size - 8));
}

TEST_F(fw, wrong_magic)
{
	self->image[0] ^= 1;
	EXPECT_EQ(-ENOEXEC, try(self, self->size));
}

TEST_F(fw, one_bit_flipped)
{
	self->image[self->size - 1] ^= 0x80;
	EXPECT_EQ(-ENOEXEC, try(self, self->size));
}

TEST_F(fw, entry_outside)
{
	struct wse_fw *head = (struct wse_fw *)self->image;

	head->entry = WSE_SRAM_BASE + head->bytes;
	EXPECT_EQ(-ENOEXEC, try(self, self->size));
}

TEST_F(fw, newer_minor)
{
	((struct wse_fw *)self->image)->abi_minor = WSE_ABI_MINOR + 1;
	EXPECT_EQ(-EOPNOTSUPP, try(self, self->size));
}

TEST_F(fw, other_major)
{
	((struct wse_fw *)self->image)->abi_major++;
	EXPECT_EQ(-EOPNOTSUPP, try(self, self->size));
}

TEST_HARNESS_MAIN
