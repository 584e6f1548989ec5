// SPDX-License-Identifier: MIT
/*
 * Training on wafers, the twin in this process: every bit against the oracle, the same checkpoint
 * whatever happens on the way, the map of the SRAM, the cost of a step. One step on the RTL where
 * it is linked.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <wse/wse.h>

#include "device/device.h"
#include "graph/place.h"
#include "model/mlp.h"
#include "model/plan.h"
#include "ops/ops.h"
#include "train/loop.h"
#include "num/num.h"
#include "train/session.h"
#include "train/verify.h"
#include "other_cpu.h"
#include "tap.h"
#include "wse_regs.h"

#ifdef __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

static const char yaml[] =
	"trainer:\n"
	"  init:\n"
	"    model: {name: mlp, window: 8, embedding_size: 8, hidden_sizes: [64, 32], "
	"nonlinearity: gelu_new}\n"
	"    optimizer: {AdamW: {betas: [0.9, 0.95], weight_decay: 0.01}}\n"
	"    schedulers: [{ConstantLR: {learning_rate: 5.0e-3}}]\n"
	"    precision: {max_gradient_norm: 1.0}\n"
	"    loop: {max_steps: 12, eval_frequency: 0}\n"
	"    checkpoint: {steps: 3}\n"
	"    logging: {log_steps: 4}\n"
	"    sampling: {bytes: 16, prompt: 'the '}\n"
	"  fit:\n"
	"    train_dataloader: {batch_size: 96, micro_batch_size: 16, data_dir: TEXT}\n"
	"    val_dataloader: {held_out_bytes: 100}\n";

static char dir[] = "/tmp/wse-wafer-XXXXXX";

/* ---- executors on their way in: the linker sends wse_exec_open_wafer() through here ---- */

int __real_wse_exec_open_wafer(const char *uri, const struct wse_exec_cfg *cfg,
			       struct wse_exec **exec);
int __wrap_wse_exec_open_wafer(const char *uri, const struct wse_exec_cfg *cfg,
			       struct wse_exec **exec);

static struct {
	uint32_t opened;
	uint32_t victim; /* the victim-th device opened (from 1) ... */
	uint32_t runs;	 /* ... faults in its runs-th step */
	const struct wse_exec_ops *real;
	struct wse_exec_ops ops;
	const struct wse_graph *graph;
} hook;

static int victim_prepare(struct wse_exec *e, const struct wse_graph *g)
{
	hook.graph = g;
	return hook.real->prepare(e, g);
}

/* from this step on the program of its cores has an illegal instruction where the weight gradient
 * starts */
static int victim_run(struct wse_exec *e, const struct wse_micro_batch *jobs, uint32_t n,
		      const struct wse_micro_ops *ops, void *ctx)
{
	char path[100];

	if (jobs[0].backward && hook.runs && !--hook.runs) {
		snprintf(path, sizeof(path), "%s/mlp.elf", dir);
		setenv("WSE_KERNELS", path, 1);
		hook.real->prepare(e, hook.graph);
		unsetenv("WSE_KERNELS");
	}
	return hook.real->run(e, jobs, n, ops, ctx);
}

int __wrap_wse_exec_open_wafer(const char *uri, const struct wse_exec_cfg *cfg,
			       struct wse_exec **exec)
{
	int ret = __real_wse_exec_open_wafer(uri, cfg, exec);

	if (ret)
		return ret;
	if (++hook.opened == hook.victim) {
		hook.real = (*exec)->ops;
		hook.ops = *hook.real;
		hook.ops.prepare = victim_prepare;
		hook.ops.run = victim_run;
		(*exec)->ops = &hook.ops;
	}
	return 0;
}

/* a copy of the program whose linear_wgrad is illegal */
static int sabotage(void)
{
	unsigned char *elf, *sections, *s;
	uint32_t addr, off = 0, shoff, i;
	char path[600];
	struct wse_device *dev;
	struct wse_context *ctx;
	struct wse_program *prog = NULL;
	size_t size;
	FILE *f;
	int ret;

	if (wse_find_file("WSE_KERNELS", "mlp.elf", sizeof(path), path) ||
	    wse_device_open("sim:func,rows=1,cols=1", &dev))
		return -ENOENT;
	ret = wse_context_create(dev, 0, &ctx);
	ret = ret ? ret : wse_program_load(ctx, path, &prog);
	ret = ret ? ret : wse_program_symbol(prog, "linear_wgrad", &addr);
	wse_program_destroy(prog);
	wse_context_destroy(ctx);
	wse_device_close(dev);
	ret = ret ? ret : wse_read_file(path, 1 << 20, (void **)&elf, &size);
	if (ret)
		return ret;
	memcpy(&shoff, elf + 28, 4); /* e_phoff: the segment that holds the address */
	sections = elf + shoff;
	for (i = 0; i < elf[44]; i++) {
		uint32_t p[5];

		s = sections + 32 * i;
		memcpy(p, s, sizeof(p)); /* type, offset, vaddr, paddr, filesz */
		if (p[0] == 1 && addr >= p[2] && addr < p[2] + p[4])
			off = p[1] + addr - p[2];
	}
	memset(elf + off, 0, 4);
	snprintf(path, sizeof(path), "%s/mlp.elf", dir);
	f = fopen(path, "w");
	ret = f && off && fwrite(elf, 1, size, f) == size ? 0 : -EIO;
	if (f)
		fclose(f);
	free(elf);
	return ret;
}

/* ---- single steps ---- */

static int open_session(struct wse_session *s, const char *uri, const char *const *sets,
			uint32_t nsets)
{
	struct wse_config cfg;
	int ret = wse_config_parse("test", yaml, strlen(yaml), sets, nsets, &cfg);

	memset(s, 0, sizeof(*s));
	if (ret) {
		printf("# %s\n", wse_error());
		return ret;
	}
	snprintf(cfg.data, sizeof(cfg.data), "%s/text", dir);
	return wse_session_open(s, &cfg, &uri, 1, NULL);
}

struct shape {
	uint32_t rows, cols, t;
	const char *act, *hidden;
};

/* a step on uri, and the same on `other`: all losses and gradients. */
static void compare(const struct shape *sh, const char *uri, const char *other)
{
	char set[4][80], what[200];
	const char *sets[] = {set[0], set[1], set[2], set[3]};
	struct wse_step_result r;
	struct wse_session s;
	int ret;

	snprintf(set[0], 80, "model.hidden_sizes=%s", sh->hidden);
	snprintf(set[1], 80, "model.nonlinearity=%s", sh->act);
	snprintf(set[2], 80, "train_dataloader.micro_batch_size=%u", sh->rows * sh->t);
	snprintf(set[3], 80, "train_dataloader.batch_size=%u", 2 * sh->rows * sh->t);
	ret = open_session(&s, uri, sets, 4);
	ret = ret ? ret : wse_session_compute(&s, &r);
	ret = ret ? ret : wse_session_commit(&s, &r);
	ret = ret ? ret : wse_session_compute(&s, &r);
	ret = ret ? ret : wse_verify_step(&s, other);
	snprintf(what, sizeof(what), "%s = %.30s, %u tokens a core, %s, hidden %s", uri, other,
		 sh->t, sh->act, sh->hidden);
	ok(!ret, "%s%s%s", what, ret ? ": " : "", ret ? wse_error() : "");
	if (s.memx)
		wse_session_close(&s);
}

static void shapes(void)
{
	static const struct shape all[] = {
		{1, 1, 8, "gelu_new", "[32]"},
		{1, 1, 16, "relu", "[16, 16]"},
		{1, 4, 64, "gelu_new", "[16]"},
		{2, 2, 8, "relu", "[32]"},
		{2, 2, 16, "gelu_new", "[64]"},
		{2, 2, 32, "gelu_new", "[64, 32]"},
		{2, 2, 16, "relu", "[64, 32, 48]"},
		{2, 4, 8, "gelu_new", "[32, 64, 32]"},
		{2, 4, 16, "relu", "[64]"},
		{2, 4, 32, "relu", "[64, 16]"},
		{4, 4, 8, "gelu_new", "[64]"},
		{4, 4, 16, "gelu_new", "[32, 32]"},
		{4, 4, 32, "relu", "[48, 64, 32]"},
		{3, 2, 16, "gelu_new", "[40]"},
		{4, 2, 24, "gelu_new", "[16, 32, 16]"},
		{2, 2, 8, "gelu_new", "[]"},
	};
	char uri[60], oracle[60];

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const struct shape *sh = &all[i];

		snprintf(uri, sizeof(uri), "sim:func,rows=%u,cols=%u", sh->rows, sh->cols);
		snprintf(oracle, sizeof(oracle), "oracle:rows=%u,cols=%u", sh->rows, sh->cols);
		compare(sh, uri, oracle);
	}
}

/* one step on the RTL against the twin, and the RTL's own cost against the plan */
static void rtl(void)
{
	static const struct shape all[] = {{2, 2, 16, "gelu_new", "[32]"},
					   {2, 2, 8, "relu", "[16, 32]"},
					   {2, 2, 32, "gelu_new", "[32]"},
					   {4, 4, 16, "relu", "[32]"}};
	struct wse_device *dev;
	char uri[60], twin[60];

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		snprintf(uri, sizeof(uri), "sim:rtl,rows=%u,cols=%u", all[i].rows, all[i].cols);
		snprintf(twin, sizeof(twin), "sim:func,rows=%u,cols=%u", all[i].rows, all[i].cols);
		if (wse_device_open(uri, &dev) == -ENOTSUP) {
			tap_skip("the RTL is not linked into this program", "a step on %s", uri);
			continue;
		}
		wse_device_close(dev);
		if (SANITIZED)
			tap_skip("too slow with sanitizers", "a step on %s", uri);
		else
			compare(&all[i], twin, uri);
	}
}

/* ---- whole runs ---- */

struct watch {
	uint64_t kill_at, steps;
	int repeated;
	double first, last; /* losses */
	char sample[400];
};

static void line(void *ctx, enum wse_log_level level, const char *text)
{
	struct watch *w = ctx;

	(void)level;
	w->repeated |= strstr(text, "is repeated") != NULL;
	if (!strncmp(text, "    the ", 8))
		snprintf(w->sample + strlen(w->sample), sizeof(w->sample) - strlen(w->sample),
			 "%.100s|", text);
}

static void progress(void *ctx, const struct wse_progress *p)
{
	struct watch *w = ctx;

	if (!w->steps++)
		w->first = p->loss;
	w->last = p->loss;
	if (w->kill_at && p->step == w->kill_at)
		raise(SIGKILL);
}

static const char *const four[] = {"sim:func,rows=2,cols=2", "sim:func,rows=2,cols=2",
				   "sim:func,rows=2,cols=2", "sim:func,rows=2,cols=2"};
static const char *const oracle[] = {"oracle:rows=2,cols=2"};

static int go(const char *name, enum wse_mode mode, const char *const *uris, uint32_t n,
	      const char *const *sets, uint32_t nsets, const char *from, struct watch *w,
	      struct wse_run_result *res)
{
	struct wse_run_ops ops = {.line = line, .progress = progress, .ctx = w, .line_ctx = w};
	struct wse_run run = {.mode = mode, .uris = uris, .nuris = n, .checkpoint = from};
	int ret = wse_config_parse("test", yaml, strlen(yaml), sets, nsets, &run.cfg);

	memset(res, 0, sizeof(*res));
	hook.opened = 0;
	if (ret)
		return ret;
	snprintf(run.cfg.data, sizeof(run.cfg.data), "%s/text", dir);
	snprintf(run.cfg.model_dir, sizeof(run.cfg.model_dir), "%s/%s", dir, name);
	return wse_run(&run, &ops, res);
}

static void same_bits(char *hash)
{
	struct wse_run_result res;
	char name[20], sample[400];
	struct watch w = {0}, o = {0};
	int ret = go("oracle", WSE_MODE_TRAIN_AND_EVAL, oracle, 1, NULL, 0, NULL, &o, &res);
	double held = res.held_out;

	snprintf(hash, 65, "%s", res.hash);
	ok(!ret && res.steps == 12 && o.last < o.first, "the oracle: hash %.16s %s", hash,
	   ret ? wse_error() : "");
	for (uint32_t n = 1; n <= 4; n++) {
		snprintf(name, sizeof(name), "n%u", n);
		w = (struct watch){0};
		ret = go(name, WSE_MODE_TRAIN_AND_EVAL, four, n, NULL, 0, NULL, &w, &res);
		ok(!ret && !strcmp(hash, res.hash) && res.held_out == held && o.sample[0] &&
			   !strcmp(w.sample, o.sample),
		   "%u wafer%s: hash %.16s, held-out loss %.6f %s", n, n > 1 ? "s" : "", res.hash,
		   res.held_out, ret ? wse_error() : "");
	}
	snprintf(sample, sizeof(sample), "%s", o.sample);
	ret = go("n2", WSE_MODE_EVAL, four, 3, NULL, 0, NULL, &w, &res);
	ok(!ret && res.held_out == held, "eval of the checkpoint on 3 wafers: %.6f %s",
	   res.held_out, ret ? wse_error() : "");
	w = (struct watch){0};
	ret = go("n2", WSE_MODE_GENERATE, four, 1, NULL, 0, NULL, &w, &res);
	ok(!ret && w.sample[0] && !strncmp(sample, w.sample, strlen(w.sample)), "generate: %s %s",
	   w.sample, ret ? wse_error() : "");
}

static void interruptions(const char *hash)
{
	struct timespec now;
	struct wse_run_result res;
	struct watch w = {0};
	int status, ret;
	pid_t pid;

	clock_gettime(CLOCK_REALTIME, &now);
	w.kill_at = 1 + (uint64_t)now.tv_nsec / 1000 % 11;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		go("kill", WSE_MODE_TRAIN, four, 2, NULL, 0, NULL, &w, &res);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	printf("# killed at step %llu\n", (unsigned long long)w.kill_at);
	w.kill_at = 0;
	ret = go("kill", WSE_MODE_TRAIN, four, 3, NULL, 0, "auto", &w, &res);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && !ret && !strcmp(hash, res.hash),
	   "kill -9 at a random step, resumed on three wafers: the same hash%s",
	   ret ? wse_error() : "");

	if (sabotage()) {
		ok(0, "no program with a fault in it");
		return;
	}
	hook.victim = 2;
	hook.runs = 5;
	ret = go("die", WSE_MODE_TRAIN, four, 3, NULL, 0, NULL, &w, &res);
	ok(!ret && w.repeated && !strcmp(hash, res.hash),
	   "a wafer faults in step 5: the same hash %s", ret ? wse_error() : "");
	hook.victim = 1;
	hook.runs = 8;
	ret = go("dead", WSE_MODE_TRAIN, four, 1, NULL, 0, NULL, &w, &res);
	hook.victim = 0;
	ok(ret == -EFAULT && strstr(wse_error(), "checkpoint_7.safetensors") &&
		   strstr(wse_error(), "the last device failed: sim:") &&
		   strstr(wse_error(), "illegal instruction"),
	   "the only wafer faults: %s", wse_error());
	ret = go("dead", WSE_MODE_TRAIN, four, 4, NULL, 0, "auto", &w, &res);
	ok(!ret && !strcmp(hash, res.hash), "and four others go on: the same hash %s",
	   ret ? wse_error() : "");
}

/* two steps on two RTL wafers: the checkpoint of the twin */
static void rtl_run(void)
{
	static const char *const uris[] = {"sim:rtl,rows=2,cols=2", "sim:rtl,rows=2,cols=2"};
	static const char *const sets[] = {"loop.max_steps=2", "train_dataloader.batch_size=32",
					   "model.hidden_sizes=[32]", "sampling.bytes=0"};
	struct wse_run_result res;
	struct wse_device *dev;
	struct watch w = {0};
	char hash[65] = "";
	int ret = wse_device_open(uris[0], &dev);

	if (ret == -ENOTSUP || SANITIZED) {
		tap_skip(SANITIZED ? "too slow with sanitizers"
				   : "the RTL is not linked into this program",
			 "two steps on two RTL wafers");
		return;
	}
	wse_device_close(dev);
	ret = go("rtl-func", WSE_MODE_TRAIN, four, 1, sets, 4, NULL, &w, &res);
	if (!ret) {
		snprintf(hash, sizeof(hash), "%s", res.hash);
		ret = go("rtl", WSE_MODE_TRAIN, uris, 2, sets, 4, NULL, &w, &res);
	}
	ok(!ret && !strcmp(hash, res.hash), "two steps on two RTL wafers: the twin's hash %.16s %s",
	   hash, ret ? wse_error() : "");
}

/* ---- the plan ---- */

/* the byte behind the last one that a value ever takes, and the stack */
static uint32_t high_water(const struct wse_graph *g)
{
	uint32_t top = g->base;

	for (uint32_t i = 0; i < g->nvalues; i++) {
		const struct wse_value *v = &g->values[i];
		uint32_t size = v->bytes_at_start > v->bytes ? v->bytes_at_start : v->bytes;

		if (v->sram < g->base)
			return 0;
		if (v->sram + size > top)
			top = v->sram + size;
	}
	return top + 1088;
}

/* a graph that holds more than a core at one operation has places for none, and holds its total */
static int total_holds(const struct wse_graph *g, int ret)
{
	uint64_t live;

	wse_graph_peak(g, &live);
	live += g->base + WSE_GRAPH_TOP;
	return g->total == (ret == -E2BIG && live > g->tile.sram ? live : high_water(g));
}

/* a plan has a constant for where each program ends, which the built one does not pass */
static void programs(void)
{
	const struct wse_graph_program *is;
	struct wse_device *dev = NULL;
	struct wse_context *ctx = NULL;
	int ret = wse_device_open("sim:func,rows=1,cols=1", &dev);

	ret = ret ? ret : wse_context_create(dev, 0, &ctx);
	ok(!ret && wse_ops_program(0), "a device for programs%s%s", ret ? ": " : "",
	   ret ? wse_error() : "");
	for (uint32_t i = 0; !ret && (is = wse_ops_program(i)); i++) {
		struct wse_program *prog = NULL;
		char path[600];
		uint32_t end;

		ret = wse_find_file("WSE_KERNELS", is->file, sizeof(path), path);
		ret = ret ? ret : wse_program_load(ctx, path, &prog);
		end = wse_program_end(prog);
		wse_program_destroy(prog);
		ok(!ret && end <= is->end && end + 1024 > is->end,
		   "%s ends at %#x, data begins at %#x%s%s", is->file, end, is->end,
		   ret ? ": " : "", ret ? wse_error() : "");
	}
	wse_context_destroy(ctx);
	wse_device_close(dev);
}

static void memory(void)
{
	const char *wide[] = {"model.hidden_sizes=[4096]"};
	struct wse_run_result res;
	struct watch w = {0};
	struct wse_device *dev = NULL;
	struct wse_context *ctx = NULL;
	struct wse_program *prog = NULL;
	struct drm_wse_info info = {0};
	struct wse_tile tile;
	struct wse_graph g = {0};
	struct wse_plan plan;
	struct wse_model m;
	char path[600];
	uint32_t end = 0, h[1], total = 0;
	int ret = wse_find_file("WSE_KERNELS", "mlp.elf", sizeof(path), path), fits = 0, good = 1;
	int planned;

	ret = ret ? ret : wse_device_open("sim:func,rows=1,cols=1", &dev);
	ret = ret ? ret : wse_context_create(dev, 0, &ctx);
	ret = ret ? ret : wse_program_load(ctx, path, &prog);
	if (!ret) {
		end = wse_program_end(prog);
		wse_device_info(dev, &info);
	}
	wse_program_destroy(prog);
	wse_context_destroy(ctx);
	wse_device_close(dev);
	tile = (struct wse_tile){.rows = 4, .cols = 4, .lanes = 8, .sram = info.sram_kib * 1024};
	h[0] = 16;
	wse_mlp_init(&m, 8, 8, 256, h, 1, WSE_GELU_NEW);
	ret = ret ? ret : m.family->graph(&m, &tile, 16, 0, &g);
	ok(!ret && end <= g.base && end + 2048 > g.base && g.nprograms == 1 &&
		   !strcmp(g.programs[0].file, "mlp.elf") && g.programs[0].end == g.base,
	   "the program ends at %u, data begins at %u", end, g.base);
	wse_graph_fini(&g);
	/* the widest that fits uses what is left, and the total is what is really taken */
	for (h[0] = 16; h[0] <= 4096 && good; h[0] += 16) {
		wse_mlp_init(&m, 8, 8, 256, h, 1, WSE_GELU_NEW);
		ret = m.family->graph(&m, &tile, 16, 0, &g);
		good &= total_holds(&g, ret) && (ret == -E2BIG) == (g.total > tile.sram);
		total = ret ? total : g.total;
		wse_graph_fini(&g);
		/* what does not fit in one piece may do so in chunks */
		planned = wse_plan_make(&m, &tile, 64, 64, &plan);
		good &= planned == (plan.mode && !planned ? 0 : ret) &&
			total_holds(&plan.graph, planned);
		wse_plan_fini(&plan);
		if (ret)
			break;
		fits = (int)h[0];
	}
	ok(ret == -E2BIG && good && fits > 512 && total + 16 * 4 * 16 > tile.sram,
	   "the widest layer of 16 tokens that fits 4 columns: %d, in %u bytes; then: %s", fits,
	   total, wse_error());
	ret = go("wide", WSE_MODE_TRAIN, four, 1, wide, 1, NULL, &w, &res);
	ok(ret == -E2BIG && strstr(wse_error(), "tokens per core: choose a tile of "), "%s",
	   wse_error());
}

/* predicted against counted cycles. They are the RTL's; the twin's time is its own */
static void cycles(const char *model)
{
	static const char *const hidden[] = {"[256]", "[256, 256]"};
	char set[5][80], uri[60];
	const char *sets[] = {set[0], set[1], set[2], set[3], set[4]};
	struct wse_exec_cost cost;
	struct wse_step_result r;
	struct wse_session s;
	struct wse_device *dev;
	int is_rtl = !strcmp(model, "rtl"), n = is_rtl || SANITIZED ? 1 : 2;

	snprintf(uri, sizeof(uri), "sim:%s,rows=4,cols=4", model);
	if (is_rtl && (SANITIZED || wse_device_open(uri, &dev) == -ENOTSUP)) {
		tap_skip(SANITIZED ? "too slow with sanitizers"
				   : "the RTL is not linked into this program",
			 "cycles of %s", uri);
		return;
	}
	if (is_rtl)
		wse_device_close(dev);
	for (int i = 0; i < n; i++) {
		uint64_t plan, got;
		int ret;

		snprintf(set[0], 80, "model.hidden_sizes=%s", hidden[i]);
		snprintf(set[1], 80, "model.embedding_size=32");
		snprintf(set[2], 80, "train_dataloader.micro_batch_size=64");
		snprintf(set[3], 80, "train_dataloader.batch_size=64");
		snprintf(set[4], 80, "model.nonlinearity=gelu_new");
		ret = open_session(&s, uri, sets, 5);
		ret = ret ? ret : wse_session_compute(&s, &r);
		ret = ret ? ret : wse_swarm_cost(s.swarm, 0, &cost);
		plan = ret ? 1 : s.plan.cycles;
		got = ret ? 0 : cost.cycles;
		ok(!ret && (is_rtl ? got * 100 >= plan * 94 && got * 100 <= plan * 106 : got > 0),
		   "%s, hidden %s: %llu cycles predicted, %llu counted, lanes busy %.3f", uri,
		   hidden[i], (unsigned long long)plan, (unsigned long long)got,
		   (double)cost.count[WSE_CNT_MAC] / ((double)cost.cycles * 16 * 8));
		if (s.memx)
			wse_session_close(&s);
	}
}

/* 7.86 M distinct weights on a tile of 768 KiB */
static void size(void)
{
	static const char *const sets[] = {
		"model.hidden_sizes=[1536, 1536, 1536, 1536]",
		"model.window=16",
		"model.embedding_size=16",
		"model.nonlinearity=relu",
		"train_dataloader.batch_size=32",
		"train_dataloader.micro_batch_size=32",
		"loop.max_steps=20",
		"sampling.bytes=0",
		"schedulers=[{ConstantLR: {learning_rate: 1.0e-3}}]",
		"checkpoint.steps=0",
	};
	static const char *const wafer[] = {"sim:func,rows=4,cols=4"};
	struct wse_run_result res;
	struct watch w = {0};
	int ret;

	if (SANITIZED) {
		tap_skip("too slow with sanitizers", "7.86 M weights");
		return;
	}
	ret = go("size", WSE_MODE_TRAIN, wafer, 1, sets, 10, NULL, &w, &res);
	ok(!ret && w.steps == 20 && w.last < w.first - 1.0,
	   "256 -> 1536 x 4 -> 256, 7.86 M weights: loss %.3f -> %.3f in 20 steps %s", w.first,
	   w.last, ret ? wse_error() : "");
}

/* words of a small language, with more order than chance */
static int write_text(void)
{
	static const char *const word[] = {
		"the ", "wafer ", "streams ", "weights ", "down ",   "columns ", "and ",  "sums ",
		"go ",	"along ", "rows ",    "of ",	  "cores. ", "A ",	 "step ", "ends\n"};
	char path[100];
	uint32_t at = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/text", dir);
	f = fopen(path, "w");
	for (uint32_t i = 0; f && i < 5000; i++) {
		at = (at * 5 + 1 + (uint32_t)(wse_rng_u64(7, 7, i) % 3)) % 16;
		fputs(word[at], f);
	}
	return f ? fclose(f) : -1;
}

int main(int argc, char **argv)
{
	char hash[65], cmd[200];

	if (argc == 2) { /* other_cpu()'s child: print the hash of the plain run */
		struct wse_run_result res;
		struct watch w = {0};

		snprintf(dir, sizeof(dir), "%s", argv[1]);
		if (go("cpu", WSE_MODE_TRAIN, four, 1, NULL, 0, NULL, &w, &res))
			return 1;
		puts(res.hash);
		return 0;
	}
	if (!mkdtemp(dir) || write_text())
		return 1;
	shapes();
	same_bits(hash);
	interruptions(hash);
	other_cpu(dir, hash);
	programs();
	memory();
	cycles("func");
	cycles("rtl");
	rtl();
	rtl_run();
	size();
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return system(cmd) ? 1 : tap_end();
}
