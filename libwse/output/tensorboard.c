// SPDX-License-Identifier: MIT
/* Event files of TensorBoard, as far as scalars go. */
#include "tensorboard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/dirs.h"

enum { SCALARS = 8, TAG = 100 };
/* wire types of protocol buffers */
enum { VARINT, FIXED64, BYTES, FIXED32 = 5 };
/* fields: of Event, of Summary, of Summary.Value */
enum { WALL_TIME = 1, STEP = 2, FILE_VERSION = 3, SUMMARY = 5 };
enum { VALUE = 1 };
enum { V_TAG = 1, SIMPLE_VALUE = 2 };

/* CRC-32C (Castagnoli), reflected, a bit at a time: events are few */
uint32_t wse_crc32c(const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	uint32_t c = ~0u;

	while (n--) {
		c ^= *p++;
		for (int i = 0; i < 8; i++)
			c = c >> 1 ^ (c & 1 ? 0x82f63b78u : 0);
	}
	return ~c;
}

static uint32_t masked(const void *bytes, size_t n)
{
	uint32_t c = wse_crc32c(bytes, n);

	return (c >> 15 | c << 17) + 0xa282ead8u;
}

/* ---- a message that grows ---- */

struct bytes {
	unsigned char p[SCALARS * (TAG + 16) + 64];
	size_t n;
};

static void put(struct bytes *b, const void *p, size_t n)
{
	memcpy(b->p + b->n, p, n);
	b->n += n;
}

static void varint(struct bytes *b, uint64_t v)
{
	for (; v >= 128; v >>= 7)
		b->p[b->n++] = (unsigned char)(v | 128);
	b->p[b->n++] = (unsigned char)v;
}

static void key(struct bytes *b, uint32_t field, uint32_t type)
{
	varint(b, field << 3 | type);
}

static void message(struct bytes *b, uint32_t field, const void *p, size_t n)
{
	key(b, field, BYTES);
	varint(b, n);
	put(b, p, n);
}

static void begin(struct bytes *b)
{
	struct timespec t;
	double wall;

	clock_gettime(CLOCK_REALTIME, &t);
	wall = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
	b->n = 0;
	key(b, WALL_TIME, FIXED64);
	put(b, &wall, sizeof(wall));
}

static int write_record(int fd, const struct bytes *b)
{
	unsigned char rec[sizeof(b->p) + 16];
	uint64_t len = b->n;
	uint32_t crc = masked(&len, sizeof(len));
	size_t n = b->n + 16, done = 0;

	memcpy(rec, &len, 8);
	memcpy(rec + 8, &crc, 4);
	memcpy(rec + 12, b->p, b->n);
	crc = masked(b->p, b->n);
	memcpy(rec + 12 + b->n, &crc, 4);
	while (done < n) {
		ssize_t k = write(fd, rec + done, n - done);

		if (k < 0 && errno != EINTR)
			return -errno;
		done += k < 0 ? 0 : (size_t)k;
	}
	return 0;
}

int wse_tensorboard_open(const char *dir, int *fd)
{
	static const char version[] = "brain.Event:2";
	char host[80] = "", path[PATH_MAX];
	long long when = time(NULL);
	struct bytes b;
	int ret;

	ret = wse_make_dirs(dir);
	if (ret)
		return ret;
	gethostname(host, sizeof(host) - 1);
	/* a process may begin two runs in a second, and the clock may be put back */
	for (uint32_t n = 0; n < 10000; n++) {
		if ((size_t)snprintf(path, sizeof(path), "%s/events.out.tfevents.%lld.%s.%ld.%u",
				     dir, when, host, (long)getpid(), n) >= sizeof(path))
			return -ENAMETOOLONG;
		*fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
		if (*fd >= 0 || errno != EEXIST)
			break;
	}
	if (*fd < 0)
		return -errno;
	begin(&b);
	message(&b, FILE_VERSION, version, sizeof(version) - 1);
	ret = write_record(*fd, &b);
	if (ret) {
		close(*fd);
		*fd = -1;
	}
	return ret;
}

int wse_tensorboard_add(int fd, uint64_t step, const struct wse_scalar *s, uint32_t n)
{
	struct bytes event, summary = {.n = 0}, value;

	if (n > SCALARS)
		return -EINVAL;
	for (uint32_t i = 0; i < n; i++) {
		float f = (float)s[i].value;

		value.n = 0;
		message(&value, V_TAG, s[i].tag, strnlen(s[i].tag, TAG));
		key(&value, SIMPLE_VALUE, FIXED32);
		put(&value, &f, sizeof(f));
		message(&summary, VALUE, value.p, value.n);
	}
	begin(&event);
	key(&event, STEP, VARINT);
	varint(&event, step);
	message(&event, SUMMARY, summary.p, summary.n);
	return write_record(fd, &event);
}
