// SPDX-License-Identifier: MIT
// wse_machine_rtl: picks the tile that was built for cfg's rows, columns and groups and hands every
// call on to it.
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <unistd.h>

extern "C" {
#include "wse_rtl.h"
}

// one line per tile: TILE(rows, cols, group, hostfp)
#define TILE(r, c, p, h) extern "C" const struct wse_machine_ops wse_rtl_##r##x##c##g##p##_##h;
#include "tiles.inc"
#undef TILE

namespace {

#define TILE(r, c, p, h) { r, c, p, h, &wse_rtl_##r##x##c##g##p##_##h },
const struct wse_rtl_tile tiles[] = {
#include "tiles.inc"
};
#undef TILE

// the folder of a file, with its slash
std::string folder(const char *path)
{
	const char *end = path ? std::strrchr(path, '/') : nullptr;

	return end ? std::string(path, end + 1) : std::string();
}

// A tile with waves is a shared object beside the plain ones, in $WSE_WAVES or in rtl/ beside the
// program or library that this code is in: a program has what it costs only when it asks for it.
const struct wse_machine_ops *find_waves(const struct wse_machine_cfg *cfg)
{
	static const char here = 0;
	const char *named = std::getenv("WSE_WAVES");
	char exe[PATH_MAX] = "", name[64], group[16] = "";
	std::string dirs[3];
	Dl_info info;

	if (cfg->group)
		std::snprintf(group, sizeof(group), "g%u", cfg->group);
	std::snprintf(name, sizeof(name), "wave-%ux%u%s.so", cfg->rows, cfg->cols, group);
	if (named && *named)
		dirs[0] = std::string(named) + "/";
	if (dladdr(&here, &info) && !folder(info.dli_fname).empty())
		dirs[1] = folder(info.dli_fname) + "rtl/";
	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0)
		dirs[2] = folder(exe) + "rtl/";
	for (const std::string &d : dirs) {
		void *so = d.empty() ? nullptr
				     : dlopen((d + name).c_str(), RTLD_NOW | RTLD_LOCAL);
		const auto *w =
			so ? static_cast<const wse_rtl_waves *>(dlsym(so, WSE_RTL_WAVES)) : nullptr;

		if (w && w->api == WSE_MACHINE_API && w->size == sizeof(struct wse_machine_ops))
			return w->ops;	// stays open: its models are of its code
	}
	return nullptr;
}

int create(const struct wse_machine_cfg *cfg, const struct wse_host_ops *ops, void *host,
	   struct wse_machine **m)
{
	int hostfp;

	if (!cfg || !ops || !ops->dma_read || !ops->dma_write || !ops->irq || !m || !cfg->rows ||
	    !cfg->cols)
		return -EINVAL;
	if (cfg->group && cfg->cols % cfg->group)
		return -EINVAL;
	if (cfg->flags & WSE_MACHINE_WAVES) {
		const struct wse_machine_ops *waves = find_waves(cfg);

		return waves ? waves->create(cfg, ops, host, m) : -ENOTSUP;
	}
	hostfp = !!(cfg->flags & WSE_MACHINE_HOSTFP);
	for (const auto &t : tiles)
		if (t.rows == cfg->rows && t.cols == cfg->cols && t.group == cfg->group &&
		    t.hostfp == hostfp)
			return t.ops->create(cfg, ops, host, m);
	return -ENOTSUP;
}

void destroy(struct wse_machine *m)
{
	if (m)
		m->ops->destroy(m);
}

uint32_t mmio_read(struct wse_machine *m, uint32_t offset) { return m->ops->mmio_read(m, offset); }
void mmio_write(struct wse_machine *m, uint32_t offset, uint32_t v)
{
	m->ops->mmio_write(m, offset, v);
}
void brk(struct wse_machine *m) { m->ops->brk(m); }
void reset(struct wse_machine *m) { m->ops->reset(m); }

enum wse_stop advance(struct wse_machine *m, uint64_t max_cycles, uint64_t *ran)
{
	return m->ops->advance(m, max_cycles, ran);
}

int peek(struct wse_machine *m, uint32_t core, uint32_t addr, void *buf, size_t len)
{
	return m->ops->peek(m, core, addr, buf, len);
}

int poke(struct wse_machine *m, uint32_t core, uint32_t addr, const void *buf, size_t len)
{
	return m->ops->poke(m, core, addr, buf, len);
}

int get_acc(struct wse_machine *m, uint32_t core, uint32_t acc[128])
{
	return m->ops->get_acc(m, core, acc);
}

int get_state(struct wse_machine *m, uint32_t core, struct wse_core_state *st)
{
	return m->ops->get_state(m, core, st);
}

int set_state(struct wse_machine *m, uint32_t core, const struct wse_core_state *st)
{
	return m->ops->set_state(m, core, st);
}

int boot(struct wse_machine *m, uint32_t core, uint32_t pc) { return m->ops->boot(m, core, pc); }
int step(struct wse_machine *m, uint32_t core, uint64_t max) { return m->ops->step(m, core, max); }

int trace_retire(struct wse_machine *m, uint32_t core, wse_retire_fn fn, void *arg)
{
	return m->ops->trace_retire(m, core, fn, arg);
}

int replay_pick(struct wse_machine *, uint32_t, uint8_t, uint32_t) { return -ENOTSUP; }

int get_units(struct wse_machine *m, uint32_t core, struct wse_core_units *u)
{
	return m->ops->get_units(m, core, u);
}

uint64_t cycles(struct wse_machine *m) { return m->ops->cycles(m); }
int wave_begin(struct wse_machine *m, const struct wse_wave *w) { return m->ops->wave_begin(m, w); }
int wave_end(struct wse_machine *m, uint64_t *ran) { return m->ops->wave_end(m, ran); }
int events(struct wse_machine *m, uint32_t core, uint32_t kinds, wse_ev_fn fn, void *arg)
{
	return m->ops->events(m, core, kinds, fn, arg);
}

} // namespace

extern "C" const struct wse_machine_ops wse_machine_rtl = {
	WSE_MACHINE_API, "rtl", create,	    destroy,	 mmio_read, mmio_write, advance,
	brk,	       reset, peek,	    poke,	 get_acc,   get_state,	set_state,
	boot,	       step,  trace_retire, replay_pick, get_units, cycles,	wave_begin,
	wave_end,      events,
};
