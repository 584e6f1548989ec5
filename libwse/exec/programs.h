/* SPDX-License-Identifier: MIT */
/* The programs of a graph on a wafer. Errors have set their sentences. */
#ifndef WSE_EXEC_PROGRAMS_H
#define WSE_EXEC_PROGRAMS_H

#include "graph/graph.h"
#include "ops/ops.h"

struct wse_context;
struct drm_wse_info;

struct wse_programs {
	struct wse_program *prog[WSE_GRAPH_PROGRAMS];
	uint32_t entry[WSE_GRAPH_PROGRAMS][WSE_OP_KINDS]; /* of start functions; 0: none */
};

/* all of the graph's, from WSE_KERNELS; after an error, too, they are to be unloaded */
int wse_programs_load(struct wse_programs *p, struct wse_context *ctx, const struct wse_graph *g);
void wse_programs_unload(struct wse_programs *p);
/* weights of the next graph wait until its first start, which says where they go */
int wse_programs_close_stream(struct wse_context *ctx, const struct drm_wse_info *info);

#endif /* WSE_EXEC_PROGRAMS_H */
