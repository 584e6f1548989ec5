// SPDX-License-Identifier: MIT
/* metrics.csv: written as the run goes, read back when it is resumed. */
#include "metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HEADER "step,split,loss,learning_rate,gradient_norm,seconds\n"

static int keep(struct wse_metrics *ms, const struct wse_metric *m)
{
	if (ms->n == ms->room) {
		uint32_t room = ms->room * 2 + 256;
		struct wse_metric *p = realloc(ms->m, room * sizeof(*p));

		if (!p)
			return -ENOMEM;
		ms->m = p;
		ms->room = room;
	}
	ms->m[ms->n++] = *m;
	return 0;
}

static int write_row(FILE *f, const struct wse_metric *m)
{
	int n = fprintf(f, "%" PRIu64 ",%s,%.6f,%.8g,%.6g,%.3f\n", m->step,
			m->held_out ? "held_out" : "train", m->loss, m->lr, m->norm, m->seconds);

	return n < 0 || fflush(f) ? -errno : 0;
}

static int read_back(struct wse_metrics *ms, const char *path, uint64_t step)
{
	FILE *f = fopen(path, "re");
	char line[256], split[16];
	struct wse_metric m;
	int ret = 0;

	if (!f)
		return errno == ENOENT ? 0 : -errno;
	while (!ret && fgets(line, sizeof(line), f))
		if (sscanf(line, "%" SCNu64 ",%15[a-z_],%lf,%lf,%lf,%lf", &m.step, split, &m.loss,
			   &m.lr, &m.norm, &m.seconds) == 6 &&
		    m.step <= step) {
			m.held_out = split[0] == 'h';
			ret = keep(ms, &m);
		}
	fclose(f);
	return ret;
}

int wse_metrics_open(struct wse_metrics *ms, const char *path, uint64_t step)
{
	int ret = 0;

	memset(ms, 0, sizeof(*ms));
	if (!path)
		return 0;
	if (step)
		ret = read_back(ms, path, step);
	if (ret)
		return ret;
	ms->csv = fopen(path, "we");
	if (!ms->csv)
		return -errno;
	if (fputs(HEADER, ms->csv) < 0)
		ret = -EIO;
	for (uint32_t i = 0; i < ms->n && !ret; i++)
		ret = write_row(ms->csv, &ms->m[i]);
	return ret;
}

int wse_metrics_add(struct wse_metrics *ms, const struct wse_metric *m)
{
	int ret = keep(ms, m);

	if (!ret && ms->csv)
		ret = write_row(ms->csv, m);
	if (ret && ms->csv) {
		fclose(ms->csv);
		ms->csv = NULL;
	}
	return ret;
}

int wse_metrics_close(struct wse_metrics *ms)
{
	int ret = ms->csv && fclose(ms->csv) ? -errno : 0;

	free(ms->m);
	memset(ms, 0, sizeof(*ms));
	return ret;
}
