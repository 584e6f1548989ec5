// SPDX-License-Identifier: MIT
// wse_model_rtl: picks the tile that was built for cfg's rows, columns and groups and hands every
// call on to it.
#include <cerrno>

extern "C" {
#include "wse_rtl.h"
}

// one line per tile: TILE(rows, cols, group, hostfp)
#define TILE(r, c, p, h) extern "C" const struct wse_model_ops wse_rtl_##r##x##c##g##p##_##h;
#include "tiles.inc"
#undef TILE

namespace {

#define TILE(r, c, p, h) { r, c, p, h, &wse_rtl_##r##x##c##g##p##_##h },
const struct wse_rtl_tile tiles[] = {
#include "tiles.inc"
};
#undef TILE

int create(const struct wse_model_cfg *cfg, const struct wse_host_ops *ops, void *host,
	   struct wse_model **m)
{
	int hostfp;

	if (!cfg || !ops || !ops->dma_read || !ops->dma_write || !ops->irq || !m || !cfg->rows ||
	    !cfg->cols)
		return -EINVAL;
	if (cfg->group && cfg->cols % cfg->group)
		return -EINVAL;
	hostfp = !!(cfg->flags & WSE_MODEL_HOSTFP);
	for (const auto &t : tiles)
		if (t.rows == cfg->rows && t.cols == cfg->cols && t.group == cfg->group &&
		    t.hostfp == hostfp)
			return t.ops->create(cfg, ops, host, m);
	return -ENOTSUP;
}

void destroy(struct wse_model *m)
{
	if (m)
		m->ops->destroy(m);
}

uint32_t mmio_read(struct wse_model *m, uint32_t offset) { return m->ops->mmio_read(m, offset); }
void mmio_write(struct wse_model *m, uint32_t offset, uint32_t v)
{
	m->ops->mmio_write(m, offset, v);
}
void brk(struct wse_model *m) { m->ops->brk(m); }
void reset(struct wse_model *m) { m->ops->reset(m); }

enum wse_stop advance(struct wse_model *m, uint64_t max_cycles, uint64_t *ran)
{
	return m->ops->advance(m, max_cycles, ran);
}

int peek(struct wse_model *m, uint32_t core, uint32_t addr, void *buf, size_t len)
{
	return m->ops->peek(m, core, addr, buf, len);
}

int poke(struct wse_model *m, uint32_t core, uint32_t addr, const void *buf, size_t len)
{
	return m->ops->poke(m, core, addr, buf, len);
}

int get_acc(struct wse_model *m, uint32_t core, uint32_t acc[128])
{
	return m->ops->get_acc(m, core, acc);
}

int get_state(struct wse_model *m, uint32_t core, struct wse_core_state *st)
{
	return m->ops->get_state(m, core, st);
}

int set_state(struct wse_model *m, uint32_t core, const struct wse_core_state *st)
{
	return m->ops->set_state(m, core, st);
}

int boot(struct wse_model *m, uint32_t core, uint32_t pc) { return m->ops->boot(m, core, pc); }
int step(struct wse_model *m, uint32_t core, uint64_t max) { return m->ops->step(m, core, max); }

int trace_retire(struct wse_model *m, uint32_t core, wse_retire_fn fn, void *arg)
{
	return m->ops->trace_retire(m, core, fn, arg);
}

int replay_pick(struct wse_model *, uint32_t, uint8_t, uint32_t) { return -ENOTSUP; }

int get_units(struct wse_model *m, uint32_t core, struct wse_core_units *u)
{
	return m->ops->get_units(m, core, u);
}

} // namespace

extern "C" const struct wse_model_ops wse_model_rtl = {
	WSE_MODEL_API, "rtl", create,	    destroy,	 mmio_read, mmio_write, advance,
	brk,	       reset, peek,	    poke,	 get_acc,   get_state,	set_state,
	boot,	       step,  trace_retire, replay_pick, get_units,
};
