// SPDX-License-Identifier: MIT
/* What ranks do on their own, each in a call of its own: was it done, and the same, on all? */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "train/ranks.h"

/* of a rank, and of all from rank 0 */
struct opinion {
	int32_t err;
	uint32_t done; /* by some rank */
	uint64_t sum;  /* of what it was done with */
	char text[WSE_SENTENCE];
};

/* the first rank that failed, or has something else than rank 0 */
static void find(struct wse_hosts *h, const struct opinion *all, const char *thing,
		 struct opinion *o)
{
	uint32_t ranks = wse_hosts_ranks(h);
	char who[96], first[96];

	*o = (struct opinion){0};
	for (uint32_t i = 0; i < ranks; i++)
		o->done |= !all[i].err;
	for (uint32_t i = 0; i < ranks && !o->err; i++) {
		wse_hosts_name(h, i, who, sizeof(who));
		o->err = all[i].err;
		if (o->err)
			snprintf(o->text, sizeof(o->text), "%s: %.900s", who, all[i].text);
	}
	for (uint32_t i = 1; i < ranks && !o->err; i++) {
		if (all[i].sum == all[0].sum)
			continue;
		o->err = -EINVAL;
		snprintf(o->text, sizeof(o->text),
			 "%s has another %.300s than %s: all ranks need the same",
			 wse_hosts_name(h, i, who, sizeof(who)), thing,
			 wse_hosts_name(h, 0, first, sizeof(first)));
	}
}

int wse_ranks_agree(struct wse_ranks *r, int err, uint64_t sum, const char *thing, int *done)
{
	struct wse_hosts *h = wse_ranks_hosts(r);
	uint32_t ranks = wse_hosts_ranks(h);
	struct opinion *all = calloc(ranks, sizeof(*all)), mine = {.err = err, .sum = sum}, o = {0};
	int ret;

	*done = 0;
	if (!all)
		return wse_hosts_fail(h, wse_fail(-ENOMEM, "no memory"));
	snprintf(mine.text, sizeof(mine.text), "%s", err ? wse_error() : "");
	ret = wse_hosts_gather(h, &mine, wse_hosts_rank(h) ? NULL : all, sizeof(mine));
	for (uint32_t i = 0; i < ranks; i++)
		all[i].text[sizeof(all[i].text) - 1] = 0;
	if (!ret && !wse_hosts_rank(h))
		find(h, all, thing, &o);
	ret = ret ? ret : wse_hosts_spread(h, &o, sizeof(o));
	free(all);
	if (ret)
		return ret;
	*done = o.done != 0;
	o.text[sizeof(o.text) - 1] = 0;
	return o.err ? wse_fail(o.err, "%s", o.text) : 0;
}

uint64_t wse_ranks_sum(const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	uint64_t sum = 0xcbf29ce484222325ull; /* FNV-1a */

	for (size_t i = 0; i < n; i++)
		sum = (sum ^ p[i]) * 0x100000001b3ull;
	return sum;
}
