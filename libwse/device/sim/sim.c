// SPDX-License-Identifier: MIT
/* The in-process transport: open, close, buffers, and the table of its calls. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sim.h"

static int dma_read(void *host, uint64_t iova, void *buf, size_t len)
{
	struct sim *sim = host;

	return sim_bus_access(&sim->bus, iova, buf, len, false);
}

static int dma_write(void *host, uint64_t iova, const void *buf, size_t len)
{
	struct sim *sim = host;

	return sim_bus_access(&sim->bus, iova, (void *)(uintptr_t)buf, len, true);
}

static const void *dma_at(void *host, uint64_t iova, size_t len)
{
	struct sim *sim = host;

	return sim_bus_at(&sim->bus, iova, len);
}

/* All rings are polled after each advance, so an interrupt only has to end it. */
static void irq(void *host, unsigned int vector)
{
	struct sim *sim = host;

	(void)vector;
	sim->rang = sim->exact;
	if (sim->debugger)
		debugger_brk(sim->debugger);
	else
		sim->ops->brk(sim->machine);
}

static const struct wse_host_ops host_ops = {
	.dma_read = dma_read, .dma_write = dma_write, .irq = irq, .dma_at = dma_at};

#define GET(reg, name, value) (((value)&WSE_##reg##_##name##_MASK) >> WSE_##reg##_##name##_SHIFT)

static int identify(struct sim *sim, uint32_t *depth)
{
	uint32_t abi = sim_read(sim, WSE_REG_ABI), tile = sim_read(sim, WSE_REG_TILE);
	uint32_t core = sim_read(sim, WSE_REG_CORE), queues = sim_read(sim, WSE_REG_QUEUES);
	struct drm_wse_info *info = &sim->base.info;
	uint32_t count = GET(QUEUES, COUNT, queues), log2 = GET(QUEUES, DEPTH_LOG2, queues);

	if (sim_read(sim, WSE_REG_MAGIC) != WSE_MAGIC) {
		return wse_fail(-EPROTO, "the model is no wafer");
	}
	if (GET(ABI, MAJOR, abi) != WSE_ABI_MAJOR) {
		return wse_fail(
			-EPROTO,
			"it has ABI %u.%u, libwse %u.%u: build model and library from one release",
			GET(ABI, MAJOR, abi), GET(ABI, MINOR, abi), WSE_ABI_MAJOR, WSE_ABI_MINOR);
	}
	sim->abi_minor = GET(ABI, MINOR, abi);
	info->abi_major = GET(ABI, MAJOR, abi);
	info->abi_minor = sim->abi_minor;
	info->rows = GET(TILE, ROWS, tile);
	info->cols = GET(TILE, COLS, tile);
	info->sram_kib = GET(CORE, SRAM_KIB, core);
	info->lanes = GET(CORE, LANES, core);
	info->colors = GET(CORE, COLORS, core);
	info->features = sim_read(sim, WSE_REG_FEATURES);
	if (!info->rows || !info->cols || !info->sram_kib || !info->colors || count < 2 ||
	    count > WSE_MAX_QUEUES || log2 < 1 || log2 > 10) {
		return wse_fail(-EPROTO, "impossible capabilities: tile %#x, core %#x, queues %#x",
				tile, core, queues);
	}
	info->queues = count - 1;
	*depth = 1u << log2;
	info->max_cmds = *depth - 1;
	info->max_budget = WSE_MAX_BUDGET;
	sim->nrings = count;
	sim->geom = (struct wse_geom){.rows = info->rows,
				      .cols = info->cols,
				      .sram_bytes = info->sram_kib * 1024,
				      .colors = info->colors,
				      .queues = info->queues,
				      .bcast_dim = GET(FEATURES, BCAST_DIM, info->features),
				      .linear = GET(FEATURES, LINEAR, info->features)};
	return 0;
}

static int create_model(struct sim *sim, const struct wse_uri *uri)
{
	struct wse_machine_cfg cfg = {
		.rows = uri->rows,
		.cols = uri->cols,
		.seed = uri->seed,
		.threads = uri->threads,
		.dma_latency = uri->latency,
		.group = uri->group,
		.flags = (uri->hostfp ? WSE_MACHINE_HOSTFP : 0) |
			 (uri->races ? WSE_MACHINE_CHECK_RACES : 0) |
			 (uri->shuffle ? WSE_MACHINE_SHUFFLE : 0) |
			 (uri->exact ? WSE_MACHINE_EXACT : 0) |
			 (uri->waves ? WSE_MACHINE_WAVES : 0),
	};
	char buses[48] = "one bus";
	int ret;

	if (uri->group)
		snprintf(buses, sizeof(buses), "a bus for each %u columns", uri->group);
	sim->ops = wse_machine_find(uri->model);
	if (!sim->ops || sim->ops->api != WSE_MACHINE_API) {
		return wse_fail(-ENOTSUP, "the model \"%s\" is not linked into this program: %s",
				uri->model,
				!strcmp(uri->model, "rtl") ? "use one that is, or sim:func"
							   : "there are func and rtl");
	}
	ret = sim->ops->create(&cfg, &host_ops, sim, &sim->machine);
	if (ret == -ENOTSUP && !strcmp(uri->model, "rtl") && !uri->hostfp)
		wse_fail(ret,
			 "the model rtl was not built for %u x %u cores with %s%s: `make tile%s "
			 "ROWS=%u COLS=%u GROUP=%u%s` builds it%s",
			 uri->rows, uri->cols, buses, uri->waves ? " and waves" : "",
			 uri->waves ? " TRACE=fst" : "", uri->rows, uri->cols, uri->group,
			 uri->waves ? "" : " && make", uri->waves ? "" : ", or use sim:func");
	else if (ret == -ENOTSUP)
		wse_fail(ret, "the model %s was not built for %u x %u cores%s", uri->model,
			 uri->rows, uri->cols, uri->hostfp ? " with host floating point" : "");
	else if (ret)
		wse_fail(ret, "the model %s of %u x %u cores cannot be made: %s", uri->model,
			 uri->rows, uri->cols, strerror(-ret));
	return ret;
}

static void free_memory(struct sim *sim)
{
	uint32_t i;

	for (i = 0; i < WSE_MAX_QUEUES; i++)
		sim_ring_free(&sim->ring[i]);
	sim_bo_put(sim->fault_bo);
	sim_bo_put(sim->fw_bo);
	sim_bus_fini(&sim->bus);
	pthread_cond_destroy(&sim->changed);
	pthread_cond_destroy(&sim->wake);
	pthread_mutex_destroy(&sim->lock);
	free(sim->handles);
	wse_device_fini(&sim->base);
	free(sim);
}

static void sim_close(struct wse_device *dev)
{
	struct sim *sim = to_sim(dev);

	sim_thread_stop(sim);
	debugger_destroy(sim->debugger);
	sim->ops->destroy(sim->machine);
	free_memory(sim);
}

int wse_sim_open(const char *text, const struct wse_uri *uri, struct wse_device **dev)
{
	struct sim *sim = calloc(1, sizeof(*sim));
	struct wse_failure before;
	uint32_t depth;
	int ret;

	if (!sim)
		return -ENOMEM;
	wse_failure_keep(&before, 0);
	ret = wse_device_init(&sim->base, &wse_sim_transport, text);
	if (ret) {
		free(sim);
		return ret;
	}
	sim_bus_init(&sim->bus);
	pthread_mutex_init(&sim->lock, NULL);
	sim_cond_init(&sim->wake);
	pthread_cond_init(&sim->changed, NULL);
	sim_list_init(&sim->pending);
	sim_list_init(&sim->active);
	sim->pages = uri->pages;
	sim->chunk = 1024;
	sim->exact = !strcmp(uri->model, "rtl");
	ret = create_model(sim, uri);
	if (ret)
		goto free;
	ret = identify(sim, &depth);
	if (ret)
		goto destroy;
	ret = sim_thread_start(sim);
	if (ret)
		goto destroy;
	ret = sim_call(sim, sim_start, &depth);
	if (ret) {
		wse_fail(ret, "it does not start (%s)", strerror(-ret));
		sim_close(&sim->base);
		return ret;
	}
	/* without firmware the rest is still worth having: a context will say what is missing */
	sim_load_firmware(sim);
	wse_failure_undo(&before);
	sim->base.info.fw_version = sim->fw_version;
	sim->base.info.fw_end = sim->fw_end;
	ret = uri->gdb[0] ? sim_debug(sim, uri->gdb) : 0;
	if (ret) {
		sim_close(&sim->base);
		return ret;
	}
	*dev = &sim->base;
	return 0;
destroy:
	sim->ops->destroy(sim->machine);
free:
	free_memory(sim);
	return ret;
}

static int sim_info(struct wse_device *dev, struct drm_wse_info *info)
{
	struct sim *sim = to_sim(dev);

	pthread_mutex_lock(&sim->lock);
	*info = dev->info;
	info->fw_version = sim->fw_version;
	info->fw_end = sim->fw_end;
	info->resets = sim->resets;
	pthread_mutex_unlock(&sim->lock);
	return 0;
}

struct reads {
	const uint32_t *offset;
	uint32_t n, *value;
};

static int read_registers(struct sim *sim, void *arg)
{
	struct reads *r = arg;
	uint32_t i;

	for (i = 0; i < r->n; i++)
		r->value[i] = sim_read(sim, r->offset[i]);
	return 0;
}

static int sim_mmio_read(struct wse_device *dev, const uint32_t *offset, uint32_t n,
			 uint32_t *value)
{
	struct reads r = {offset, n, value};

	return sim_call(to_sim(dev), read_registers, &r);
}

/* A model of this process knows every counter that this library knows. */
static int read_counters(struct sim *sim, void *arg)
{
	struct drm_wse_counters *c = arg;
	uint64_t *values = (uint64_t *)(uintptr_t)c->ptr;
	const struct wse_counter *k;
	uint32_t id, reg, n = 0;

	for (id = 0; (k = wse_counter(DRM_WSE_SCOPE_TILE, id)); id++) {
		if (c->scope != DRM_WSE_SCOPE_TILE && c->scope != k->scope)
			continue;
		if (n < c->count) {
			reg = WSE_CNT_BASE + 8 * id;
			if (c->scope != DRM_WSE_SCOPE_TILE) {
				sim_write(sim, WSE_REG_CNT_SEL,
					  id << WSE_CNT_SEL_ID_SHIFT | c->object);
				reg = WSE_REG_CNT_VAL_LO;
			}
			/* reading a low half latches the upper one */
			values[n] = sim_read(sim, reg);
			values[n] |= (uint64_t)sim_read(sim, reg + 4) << 32;
		}
		n++;
	}
	c->count = n;
	return 0;
}

static int sim_ioctl(struct wse_device *dev, unsigned long request, void *arg)
{
	switch (request) {
	case DRM_IOCTL_WSE_COUNTERS:
		return sim_call(to_sim(dev), read_counters, arg);
	default:
		return -EINVAL;
	}
}

/* ---- buffers ---- */

/* Takes over the reference on mem. */
static int buffer_of(struct wse_device *dev, struct sim_mem *mem, struct wse_buffer **out)
{
	struct sim *sim = to_sim(dev);
	struct wse_buffer *buf = calloc(1, sizeof(*buf));
	struct sim_bo *bo, **handles;
	uint32_t i;
	int ret;

	if (!buf) {
		sim_mem_put(mem);
		return -ENOMEM;
	}
	ret = sim_bo_create(&sim->bus, mem, sim->pages, &bo);
	if (ret) {
		free(buf);
		return ret;
	}
	pthread_mutex_lock(&sim->lock);
	for (i = 0; i < sim->nhandles && sim->handles[i]; i++)
		;
	if (i == sim->nhandles) {
		uint32_t n = i ? 2 * i : 16;

		handles = realloc(sim->handles, n * sizeof(*handles));
		if (handles) {
			memset(handles + i, 0, (n - i) * sizeof(*handles));
			sim->handles = handles;
			sim->nhandles = n;
		} else {
			ret = -ENOMEM;
		}
	}
	if (!ret)
		sim->handles[i] = bo;
	pthread_mutex_unlock(&sim->lock);
	if (ret) {
		sim_bo_put(bo);
		free(buf);
		return ret;
	}
	buf->ptr = mem->ptr;
	buf->size = mem->size;
	buf->handle = i + 1;
	wse_buffer_init(buf, dev);
	*out = buf;
	return 0;
}

static int sim_buffer_create(struct wse_device *dev, size_t size, struct wse_buffer **buf)
{
	struct sim_mem *mem;
	int ret = sim_mem_create(size, &mem);

	if (!ret)
		ret = buffer_of(dev, mem, buf);
	if (ret)
		wse_fail(ret, "%s: a buffer of %zu bytes: %s", dev->uri, size, strerror(-ret));
	return ret;
}

static int sim_buffer_share(struct wse_device *dev, struct wse_buffer *src, struct wse_buffer **buf)
{
	struct sim_mem *mem;
	int ret = sim_mem_wrap(src, &mem);

	return ret ? ret : buffer_of(dev, mem, buf);
}

static void sim_buffer_free(struct wse_buffer *buf)
{
	struct sim *sim = to_sim(buf->dev);
	struct sim_bo *bo;

	pthread_mutex_lock(&sim->lock);
	bo = sim->handles[buf->handle - 1];
	sim->handles[buf->handle - 1] = NULL;
	pthread_mutex_unlock(&sim->lock);
	sim_bo_put(bo);
	free(buf);
}

static uint64_t sim_handle_size(struct wse_device *dev, uint32_t handle)
{
	struct sim *sim = to_sim(dev);
	uint64_t size = 0;

	pthread_mutex_lock(&sim->lock);
	if (handle && handle <= sim->nhandles && sim->handles[handle - 1])
		size = sim->handles[handle - 1]->buf.size;
	pthread_mutex_unlock(&sim->lock);
	return size;
}

const struct wse_transport wse_sim_transport = {
	.name = "sim",
	.close = sim_close,
	.info = sim_info,
	.mmio_read = sim_mmio_read,
	.wave = sim_wave,
	.watch = sim_watch,
	.peek = sim_peek,
	.ask = sim_ioctl,
	.buffer_create = sim_buffer_create,
	.buffer_share = sim_buffer_share,
	.buffer_free = sim_buffer_free,
	.context_create = sim_context_create,
	.context_end = sim_context_end,
	.context_free = sim_context_free,
	.context_fault = sim_context_fault,
	.handle_size = sim_handle_size,
	.submit = sim_submit,
	.fence_wait = sim_user_wait,
	.fence_cycles = sim_user_cycles,
	.command_cycles = sim_command_cycles,
	.fence_free = sim_user_free,
};
