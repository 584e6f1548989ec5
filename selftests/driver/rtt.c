// SPDX-License-Identifier: GPL-2.0
/*
 * In the guest: how long a nop takes from the ioctl to the syncobj, how many fit into a second, and
 * how many interrupts that takes; beside them reads of 4 KiB from /dev/nvme0n1 where there is one
 * (vm/run --nvme). One "name value unit" a line.
 */
#include <sys/stat.h>

#include "wse_test.h"

#define ROUNDS 2000u

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* all that the module has got */
static unsigned long interrupts(void)
{
	FILE *f = fopen("/proc/interrupts", "r");
	unsigned long sum = 0;
	char line[512];

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (strstr(line, " wse\n"))
			sum += strtoul(strchr(line, ':') + 1, NULL, 10);
	fclose(f);
	return sum;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_rtt(const char *name, double *us, unsigned int n)
{
	qsort(us, n, sizeof(*us), compare);
	printf("%s_median %.1f us\n%s_p99 %.1f us\n", name, us[n / 2], name, us[n * 99 / 100]);
}

/* n submits of k nops with depth of them in flight; 0 or the first error */
static int stream(int fd, uint32_t ctx, unsigned int n, unsigned int k, unsigned int depth)
{
	struct drm_wse_cmd cmds[64];
	struct drm_wse_sync sync[64];
	unsigned int i;
	int ret;

	for (i = 0; i < k; i++)
		cmds[i] = cmd_nop(1);
	for (i = 0; i < depth; i++)
		sync[i] = (struct drm_wse_sync){ .handle = syncobj_create(fd) };
	for (i = 0; i < n + depth; i++) {
		if (i >= depth) {
			ret = syncobj_wait(fd, sync[i % depth].handle, 0, SECONDS(60));
			if (ret)
				return ret;
		}
		if (i < n) {
			ret = wse_submit_syncs(fd, ctx, cmds, k, NULL, 0, &sync[i % depth], 1);
			if (ret)
				return ret;
		}
	}
	return 0;
}

static void bench_nvme(double *us)
{
	int fd = open("/dev/nvme0n1", O_RDONLY | O_DIRECT);
	unsigned int i;
	void *buf;

	if (fd < 0 || posix_memalign(&buf, 4096, 4096))
		return;
	for (i = 0; i < ROUNDS; i++) {
		double begin = now();

		if (pread(fd, buf, 4096, 4096ll * (i * 7919 % 100000)) != 4096)
			return;
		us[i] = 1e6 * (now() - begin);
	}
	print_rtt("nvme_rtt", us, ROUNDS);
	close(fd);
}

int main(void)
{
	struct drm_wse_cmd nop = cmd_nop(1);
	struct drm_wse_sync sync = {};
	static double us[ROUNDS];
	unsigned long irqs;
	uint32_t ctx, i;
	double begin;
	int fd = wse_open_nth(0), ret;

	if (fd < 0 || wse_ctx_create(fd, DRM_WSE_CTX_WAIT, &ctx)) {
		fprintf(stderr, "rtt: no device\n");
		return 1;
	}
	sync.handle = syncobj_create(fd);
	for (i = 0; i < ROUNDS; i++) {
		begin = now();
		ret = wse_submit_syncs(fd, ctx, &nop, 1, NULL, 0, &sync, 1);
		if (!ret)
			ret = syncobj_wait(fd, sync.handle, 0, SECONDS(10));
		if (ret) {
			fprintf(stderr, "rtt: %s\n", strerror(-ret));
			return 1;
		}
		us[i] = 1e6 * (now() - begin);
	}
	print_rtt("nop_rtt", us, ROUNDS);

	irqs = interrupts();
	begin = now();
	ret = stream(fd, ctx, 20000, 1, 32);
	printf("nop_depth32 %.0f 1/s\n", 20000 / (now() - begin));
	printf("nop_depth32_irqs %.3f per_command\n", (interrupts() - irqs) / 20000.0);

	irqs = interrupts();
	begin = now();
	if (!ret)
		ret = stream(fd, ctx, 2000, 32, 8);
	printf("nop_submit32 %.0f 1/s\n", 64000 / (now() - begin));
	printf("nop_submit32_irqs %.3f per_command\n", (interrupts() - irqs) / 64000.0);
	bench_nvme(us);
	return ret != 0;
}
