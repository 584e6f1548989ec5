/* SPDX-License-Identifier: MIT */
/*
 * What joins the ranks of a run: messages of bytes between processes, each of which has devices of
 * its own. A run without a launcher has no link. Nothing is added up by a link, and no call waits.
 *
 * One thread at a time makes calls on a link, all but ended() after start().
 */
#ifndef WSE_SWARMX_LINK_H
#define WSE_SWARMX_LINK_H

#include <stddef.h>
#include <stdint.h>

struct wse_link;

struct wse_link_ops {
	/* rank, ranks and host are valid from here on */
	int (*start)(struct wse_link *l);
	/*
	 * By another thread, while start() waits: 1 and its name in `who`, if a rank has ended that
	 * start() waits for. NULL: the link does not hear of it
	 */
	int (*ended)(struct wse_link *l, char *who, size_t size);
	/*
	 * Begin to send `bytes` to a rank, or to receive as many. The buffer stays, and a
	 * receiver's is not looked at, until test() says that the request is done. Messages of one
	 * tag between two ranks come in the order in which they were sent.
	 */
	int (*send)(struct wse_link *l, uint32_t to, uint32_t tag, const void *buf, size_t bytes,
		    void **req);
	int (*recv)(struct wse_link *l, uint32_t from, uint32_t tag, void *buf, size_t bytes,
		    void **req);
	/* 1: done, and *req is gone; 0: not yet; -EMSGSIZE: a message of another length came */
	int (*test)(struct wse_link *l, void **req);
	/*
	 * the run failed: no buffer is touched any more, no rank is waited for. Only close follows
	 */
	void (*abort)(struct wse_link *l);
	/* after the last request; works before start, too */
	void (*close)(struct wse_link *l);
};

struct wse_link {
	const struct wse_link_ops *ops;
	uint32_t rank, ranks;
	char host[64];	/* this rank's, for people */
	/* ranks are processes, and start() returns when all of them have begun it */
	int processes;
	/* seconds that start() may take before a rank is taken to be gone; 0: any time */
	double patience;
};

#define WSE_LINK_RANKS 1024	/* at most */
#define WSE_LINK_BYTES (1u << 28) /* of a message, at most */

/* Ranks that are threads of one process, for tests: links [ranks]. */
int wse_link_pair(uint32_t ranks, struct wse_link **links);
/* for tests: this rank stops answering, like a host that vanishes */
void wse_link_pair_vanish(struct wse_link *link);

/*
 * The link of the launcher that started this process, by wse-mpi.so; *link is NULL without one.
 * -ENOENT: the plug-in or MPI is missing, -EINVAL: a launcher that does not say who the others are.
 */
int wse_link_find(struct wse_link **link);

/* what wse-mpi.so exports; its ABI is this header's and goes with the release */
#define WSE_LINK_PLUGIN "wse_link_mpi"
typedef int (*wse_link_plugin_fn)(const char *release, struct wse_link **link);

#endif
