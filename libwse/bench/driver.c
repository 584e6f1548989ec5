// SPDX-License-Identifier: MIT
/*
 * The driver's path, measured in the guest: a nop from submit to the signalled fence, beside a 4
 * KiB read of QEMU's own nvme in the same guest. To run it:
 *	selftests/vm/run --device "func 4x4" --nvme --module build/wse.ko --firmware
 *	build/firmware/wse-fw.bin:wse/wse-fw.bin \
 *		--add build/wse-bench -- wse-bench --only driver_rtt_vs_nvme
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <wse/wse.h>

#include "base/error.h"
#include "bench.h"

#define ROUNDS 400

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* median seconds of a 4 KiB read past the page cache */
static int nvme_rtt(double *seconds)
{
	double t[ROUNDS], begin;
	void *page;
	int fd, i;

	fd = open("/dev/nvme0n1", O_RDONLY | O_DIRECT);
	if (fd < 0)
		return wse_fail(-ENOTSUP,
				"no /dev/nvme0n1: run it in the guest (selftests/vm/run --nvme)");
	if (posix_memalign(&page, 4096, 4096)) {
		close(fd);
		return -ENOMEM;
	}
	for (i = 0; i < ROUNDS; i++) {
		begin = bench_now();
		if (pread(fd, page, 4096, 4096l * i) != 4096)
			break;
		t[i] = bench_now() - begin;
	}
	free(page);
	close(fd);
	if (i < ROUNDS)
		return wse_fail(-EIO, "/dev/nvme0n1 cannot be read");
	qsort(t, ROUNDS, sizeof(t[0]), by_value);
	*seconds = t[ROUNDS / 2];
	return 0;
}

/* median seconds of a nop */
static int nop_rtt(double *seconds)
{
	struct drm_wse_cmd nop = wse_cmd_nop(1);
	struct wse_context *ctx = NULL;
	struct wse_device *dev;
	double t[ROUNDS], begin;
	int ret, i;

	ret = wse_device_open("accel:0", &dev);
	if (ret)
		return ret == -ENOENT ? -ENOTSUP : ret;
	ret = wse_context_create(dev, 0, &ctx);
	for (i = 0; i < ROUNDS && !ret; i++) {
		begin = bench_now();
		ret = wse_submit_wait(ctx, &nop, 1, WSE_FOREVER);
		t[i] = bench_now() - begin;
	}
	wse_context_destroy(ctx);
	wse_device_close(dev);
	if (ret)
		return ret;
	qsort(t, ROUNDS, sizeof(t[0]), by_value);
	*seconds = t[ROUNDS / 2];
	return 0;
}

static int driver_rtt_vs_nvme(struct bench_measure *m)
{
	double nop, nvme;
	int ret = nvme_rtt(&nvme);

	if (!ret)
		ret = nop_rtt(&nop);
	if (ret)
		return ret;
	bench_count(m, "nop", "s", nop);
	bench_count(m, "nvme_read_4k", "s", nvme);
	m->value = nop / nvme;
	return 0;
}

const struct bench bench_driver[] = {
	{"driver_rtt_vs_nvme", "x",
	 "nop through the driver / 4 KiB read of QEMU's nvme, in the guest", driver_rtt_vs_nvme, 1},
	{0},
};
