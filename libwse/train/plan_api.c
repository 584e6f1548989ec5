// SPDX-License-Identifier: MIT
/* The public call on plans: a device's shape, or the one that its URI names. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/handle.h"
#include "machine.h"
#include "model/plan.h"
#include "ops/past.h"
#include "swarmx/link.h"
#include "train/memory.h"
#include "train/network.h"
#include "train/params.h"
#include "train/plan_device.h"
#include "train/plan_shapes.h"
#include "train/plan_sparse.h"

static int shape_of(const char *uri, struct wse_exec_info *info)
{
	*info = (struct wse_exec_info){.tile = {.lanes = 8, .sram = 48 * 1024}};
	snprintf(info->name, sizeof(info->name), "%.60s", uri);
	if (wse_uri_number(uri, "rows", 4, &info->tile.rows) ||
	    wse_uri_number(uri, "cols", 4, &info->tile.cols))
		return wse_fail(-EINVAL, "%.200s: rows and cols take a positive number", uri);
	if (wse_uri_number(uri, "group", wse_machine_group(info->tile.cols), &info->tile.group))
		info->tile.group = 0;
	return 0;
}

/* one that is there is asked for its own shape; for one that is not, the URI's has to do */
static int ask_device(const char *uri, const struct wse_exec_cfg *log, struct wse_exec_info *info)
{
	struct wse_failure before;
	int ret;

	wse_failure_keep(&before, 0);
	ret = wse_exec_info(uri, info);
	wse_fail_since(before.count, ret, "%.200s: %s", uri, strerror(-ret));
	if (ret == -EINVAL)
		return ret;
	if (ret) {
		wse_logf(log, WSE_LOG_WARN, "%s; planned for %u x %u cores all the same",
			 wse_error(), info->tile.rows, info->tile.cols);
		return wse_failure_undo(&before);
	}
	return 0;
}

static int fill(const struct wse_config *cfg, const struct wse_plan *p, struct wse_plan_info *out)
{
	struct wse_tensor_table tab = {0};
	int ret = cfg->model.family->tensors(&cfg->model, &tab);

	if (!ret)
		out->weights = tab.params;
	wse_tensor_table_fini(&tab);
	out->tokens = p->tokens;
	out->micro_batches = p->micro_batches;
	out->ops = p->graph.nops;
	out->units = p->graph.nunits;
	out->sram = p->graph.total;
	out->mode = p->mode;
	out->streamed_in = p->streamed_in;
	out->streamed_out = p->streamed_out;
	out->cycles = p->cycles;
	out->useful = p->useful;
	out->columns = p->graph.tile.cols;
	return ret ? wse_fail(ret, "no memory for the model's parameters") : 0;
}

/* a step after which RigL changes masks, and the mean of the run's */
static void print_updates(const struct wse_config *cfg, struct wse_plan *p, uint32_t ranks,
			  const struct wse_exec_cfg *log)
{
	double *dense = calloc(p->graph.nunits + 1ul, sizeof(*dense)), any = 0.0;
	struct wse_network n[2];
	struct wse_plan_step s[2];
	int ret = 0;

	for (int i = 0; i < 2 && dense && !ret; i++) {
		ret = wse_plan_dense_grads(cfg, &p->graph, i ? WSE_PLAN_MEAN : WSE_PLAN_UPDATES,
					   dense, &any);
		ret = ret ? ret : wse_network_of(cfg, p, ranks, dense, &n[i]);
		if (!ret)
			s[i] = wse_plan_dense_step(p, dense);
	}
	free(dense);
	if (ret || any <= 0.0)
		return;
	wse_logf(
		log, WSE_LOG_INFO,
		"updates          %.4g of the steps change masks by gradients of all weights: %.0f "
		"cycles a micro-batch, %.0f bytes in, %.0f out",
		any, s[0].cycles, s[0].in, s[0].out);
	if (ranks > 1)
		wse_logf(
			log, WSE_LOG_INFO,
			"                 a rank %.1f MB out, %.1f in at most, gradients %.1f, %.1f, "
			"counts of weights %.1f",
			1e-6 * (double)wse_carried_sum(&n[0].out),
			1e-6 * (double)wse_carried_sum(&n[0].in), 1e-6 * (double)n[0].out.grads,
			1e-6 * (double)n[0].in.grads, 1e-6 * (double)n[0].out.counts);
	wse_logf(
		log, WSE_LOG_INFO,
		"                 the mean of all steps: %.0f cycles a micro-batch, %.0f bytes in, "
		"%.0f out",
		s[1].cycles, s[1].in, s[1].out);
	if (ranks > 1)
		wse_logf(log, WSE_LOG_INFO, "                 a rank %.1f MB out, %.1f in at most",
			 1e-6 * (double)wse_carried_sum(&n[1].out),
			 1e-6 * (double)wse_carried_sum(&n[1].in));
}

/* bytes of a usual step out of one rank and into it, in MB */
static void print_network(const struct wse_config *cfg, const struct wse_plan *p, uint32_t ranks,
			  const struct wse_exec_cfg *log)
{
	const double mb = 1e-6;
	struct wse_network n;

	if (wse_network_of(cfg, p, ranks, NULL, &n))
		return;
	wse_logf(log, WSE_LOG_INFO,
		 "network          %u ranks, a step of one: %.1f MB out, %.1f in at most", ranks,
		 mb * (double)wse_carried_sum(&n.out), mb * (double)wse_carried_sum(&n.in));
	wse_logf(
		log, WSE_LOG_INFO,
		"                 gradients %.1f out, %.1f in (%u partial sum%s of a layer), images "
		"%.1f, %.1f, losses %.3f, %.3f, norm %.3f, %.3f",
		mb * (double)n.out.grads, mb * (double)n.in.grads, n.nodes, n.nodes == 1 ? "" : "s",
		mb * (double)n.out.images, mb * (double)n.in.images, mb * (double)n.out.losses,
		mb * (double)n.in.losses, mb * (double)n.out.squares, mb * (double)n.in.squares);
}

/* of all devices, in MB; of a rank where there are several */
static void print_memory(const struct wse_config *cfg, const struct wse_plan *p, const char *uri,
			 uint32_t devices, uint32_t ranks, const struct wse_exec_cfg *log)
{
	const double mb = 1e-6;
	struct wse_memory m;
	char exchange[40];

	exchange[0] = 0;
	if (wse_memory_of(cfg, p, uri, devices, ranks, &m))
		return;
	if (m.exchange)
		snprintf(exchange, sizeof(exchange), ", exchange %.0f", mb * (double)m.exchange);
	if (!m.disk)
		wse_logf(log, WSE_LOG_INFO,
			 "memory           %.0f MB: the weights are the images, bf16",
			 mb * (double)wse_memory_sum(&m, WSE_FILES_NONE));
	else if (!m.grads_disk)
		wse_logf(
			log, WSE_LOG_INFO,
			"memory           %.0f MB%s, %.0f with weights and moments in a file of %.0f",
			mb * (double)wse_memory_sum(&m, WSE_FILES_NONE), ranks > 1 ? " a rank" : "",
			mb * (double)wse_memory_sum(&m, WSE_FILES_STATE), mb * (double)m.disk);
	else
		wse_logf(
			log, WSE_LOG_INFO,
			"memory           %.0f MB, %.0f with weights and moments in a file of %.0f, "
			"%.0f with gradients in one of %.0f, too, %.0f with images in one of %.0f",
			mb * (double)wse_memory_sum(&m, WSE_FILES_NONE),
			mb * (double)wse_memory_sum(&m, WSE_FILES_STATE), mb * (double)m.disk,
			mb * (double)wse_memory_sum(&m, WSE_FILES_GRADS), mb * (double)m.grads_disk,
			mb * (double)wse_memory_sum(&m, WSE_FILES_IMAGES),
			mb * (double)m.images_disk);
	wse_logf(
		log, WSE_LOG_INFO,
		"                 images %.0f (%.0f), gradients %.0f (%.0f), weights and moments %.0f "
		"(%.0f), inputs and outputs %.0f, cores %.0f%s",
		mb * (double)m.images, mb * (double)m.images_file, mb * (double)m.grads,
		mb * (double)m.grads_file, mb * (double)m.state, mb * (double)m.state_file,
		mb * (double)m.slots, mb * (double)m.cores, exchange);
}

/* what a token of text costs, of models that look at sequences */
static void print_text(const struct wse_plan *p, const struct wse_exec_cfg *log)
{
	struct wse_failure before;
	struct wse_past past;
	uint64_t cycles;
	int ret;

	wse_failure_keep(&before, 0);
	ret = wse_past_make(&p->graph, 1, &past);
	if (ret == -E2BIG)
		wse_logf(log, WSE_LOG_INFO,
			 "text             the whole window for each token: with a past, %.300s",
			 wse_error());
	if (ret) {
		wse_failure_undo(&before);
		return;
	}
	cycles = wse_past_cycles(&past, past.chunks - 1);
	wse_logf(log, WSE_LOG_INFO,
		 "text             a row of cores a token: %u bytes per core, %llu cycles, %.1f MB "
		 "of keys and values on the host",
		 past.g.total, (unsigned long long)cycles,
		 1e-6 * (double)past.g.in[past.past].bytes);
	wse_graph_fini(&past.g);
}

/* weights that masks leave out */
static void print_sparsity(const struct wse_config *cfg, const struct wse_exec_cfg *log)
{
	struct wse_tensor_table tab = {0};
	uint64_t all, there;

	if (!cfg->sparsity.n || cfg->model.family->tensors(&cfg->model, &tab))
		return;
	wse_sparse_count(&tab, &cfg->sparsity, &all, &there);
	wse_tensor_table_fini(&tab);
	wse_logf(log, WSE_LOG_INFO, "                 %llu of them left out by masks%s",
		 (unsigned long long)(all - there),
		 cfg->sparsity.file[0] ? ", and those of mask_file" : "");
}

/* matrices whose images lie as they are sent, where the run asks for that */
static void print_images(const struct wse_config *cfg, const struct wse_graph *g,
			 const struct wse_exec_cfg *log)
{
	uint32_t n = 0;

	if (!cfg->linear || cfg->forward || g->forward)
		return;
	for (uint32_t i = 0; i < g->nunits; i++)
		n += (uint32_t)g->units[i].linear;
	wse_logf(log, WSE_LOG_INFO, "images           %u without a mask as they are sent%s", n,
		 g->tile.no_linear ? ": the device has no LINEAR streams" : "");
}

static void print_shapes(const struct wse_config *cfg, const struct wse_model *m,
			 const struct wse_tile *tile, const struct wse_plan *p, uint32_t systems,
			 int fits, const struct wse_exec_cfg *log)
{
	struct wse_plan_shape best;
	struct wse_plan_micro size;

	wse_plan_shape_find(m, tile, cfg, p, fits, &best);
	wse_plan_shape_print(p, fits, &best, log);
	if (!fits || m->forward)
		return;
	wse_plan_micro_find(m, tile, cfg, p, systems, &size);
	wse_plan_micro_print(p, systems, &size, log);
}

static int plan(const struct wse_params *params, const char *uri, uint32_t flags,
		const struct wse_exec_cfg *log, struct wse_plan_info *out)
{
	uint32_t systems = params->cfg.num_wse ? params->cfg.num_wse : 1;
	uint32_t ranks = flags >> WSE_PLAN_RANKS_SHIFT;
	struct wse_model m = params->cfg.model;
	struct wse_plan_device paper;
	struct wse_exec_info info;
	struct wse_plan p = {0};
	int ret, on_paper;

	m.forward = !!(flags & WSE_PLAN_FORWARD);
	if (!params->ready)
		return wse_fail(
			-EINVAL,
			"the params are empty: wse_params_read() or wse_params_make() first");
	flags -= ranks << WSE_PLAN_RANKS_SHIFT;
	if (ranks > WSE_LINK_RANKS)
		return wse_fail(-EINVAL, "%u ranks: at most %d", ranks, WSE_LINK_RANKS);
	if (!uri || flags & ~(WSE_PLAN_SHAPE | WSE_PLAN_FORWARD))
		return wse_fail(-EINVAL, uri ? "unknown flags %#x" : "the URI is NULL", flags);
	on_paper = ret = wse_plan_device(uri, &paper);
	if (ret < 0)
		return ret;
	if (on_paper) {
		info = (struct wse_exec_info){.tile = paper.tile};
		snprintf(info.name, sizeof(info.name), "%.60s", uri);
		ret = 0;
	} else {
		ret = shape_of(uri, &info);
	}
	if (!ret && !on_paper && !(flags & WSE_PLAN_SHAPE))
		ret = ask_device(uri, log, &info);
	if (ret)
		return ret;
	out->tile = info.tile;
	if (on_paper)
		ret = wse_plan_device_make(&m, &paper, params->cfg.batch, params->cfg.micro_batch,
					   systems, &p);
	else
		ret = wse_plan_make(&m, &info.tile, params->cfg.batch, params->cfg.micro_batch, &p);
	if (p.tokens && !ret)
		ret = wse_plan_images(&params->cfg, &p);
	if (p.tokens && ret != -ENOMEM) {
		int filled = fill(&params->cfg, &p, out);

		ret = ret ? ret : filled;
		wse_plan_print(&p, &m, info.name, log);
		if (on_paper)
			wse_plan_device_print(&paper, &params->cfg, &p, systems, log);
		else
			print_shapes(&params->cfg, &m, &info.tile, &p, systems, !ret, log);
		wse_logf(log, WSE_LOG_INFO, "parameters       %llu",
			 (unsigned long long)out->weights);
		print_sparsity(&params->cfg, log);
		print_images(&params->cfg, &p.graph, log);
		/* each tile of a wafer on paper is a device */
		print_memory(&params->cfg, &p, uri, systems * (on_paper ? paper.tiles : 1),
			     ranks ? ranks : 1, log);
		if (m.forward)
			print_text(&p, log);
		else if (ranks > 1)
			print_network(&params->cfg, &p, ranks, log);
		if (!m.forward)
			print_updates(&params->cfg, &p, ranks ? ranks : 1, log);
	}
	wse_plan_fini(&p);
	return ret;
}

int wse_params_plan(struct wse_params *p, const char *uri, uint32_t flags, wse_log_fn line,
		    void *ctx, struct wse_plan_info *info)
{
	struct wse_exec_cfg log = {line, ctx};
	struct wse_plan_info zero = {0};
	int ret = wse_handle_enter(WSE_HANDLE_PARAMS, p);

	if (ret)
		return ret;
	*info = zero;
	ret = plan(p, uri, flags, &log, info);
	wse_handle_leave(p);
	return ret;
}
