// SPDX-License-Identifier: MIT
/*
 * Models that fit a tile by the planner's last modes: the FFN in as many chunks as divide it, and
 * blocks' inputs that leave the cores and come back. They plan, and they have the bits of a model
 * that fits without them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <wse/wse.h>

#include "base/error.h"
#include "input/config.h"
#include "model/gpt.h"
#include "ops/ops.h"
#include "ops/kinds.h"
#include "ops/spill.h"
#include "model/plan.h"
#include "num/num.h"
#include "tap.h"
#include "train/session.h"
#include "train/verify.h"

static char text[] = "/tmp/wse-plan-XXXXXX";

/* ---- models that are planned alone ---- */

struct large {
	const char *name;
	uint32_t layers, hidden, heads, filter, vocab, rows, cols;
	uint32_t spilled;
	uint32_t chunks; /* 0: any */
};

static int plan_of(const struct large *l, struct wse_model *m, struct wse_plan *p)
{
	struct wse_tile tile = {.rows = l->rows, .cols = l->cols, .lanes = 8, .sram = 48 * 1024};
	struct wse_gpt shape = {.vocab = l->vocab,
				.positions = 128,
				.seq = 128,
				.hidden = l->hidden,
				.layers = l->layers,
				.heads = l->heads,
				.filter = l->filter,
				.act = WSE_GELU_NEW,
				.tied = 1,
				.eps = 1e-5f,
				.dev = 0.02f,
				.learned = 1};
	int ret = wse_gpt_init(m, &shape);

	return ret ? ret : wse_plan_make(m, &tile, 16, 0, p);
}

static int said;

/* what --plan prints of spills */
static void line(void *ctx, enum wse_log_level level, const char *what)
{
	const struct wse_plan *p = ctx;
	char want[100];

	(void)level;
	snprintf(want, sizeof(want), "spilled          %u inputs of blocks: %llu bytes a token",
		 p->graph.nspills, (unsigned long long)(p->spilled / p->tokens));
	said |= !strncmp(what, want, strlen(want));
}

static void plans(const struct large *l)
{
	struct wse_plan p = {0};
	struct wse_exec_cfg log = {line, &p};
	struct wse_model m;
	int ret = plan_of(l, &m, &p);

	said = 0;
	if (!ret)
		wse_plan_print(&p, &m, "a tile", &log);
	ok(!ret && p.graph.total <= 48 * 1024 && (!l->chunks || p.graph.variant == l->chunks) &&
		   p.spilled == l->spilled * 2ull * l->hidden * p.tokens * l->layers &&
		   said == (int)l->spilled,
	   "%s: %u layers on %u x %u cores take %u bytes, FFN in %u chunks, %u spills%s%s", l->name,
	   l->layers, l->rows, l->cols, p.graph.total, p.graph.variant, p.graph.nspills,
	   ret ? ": " : "", ret ? wse_error() : "");
	wse_plan_fini(&p);
}

/* every divisor is the number of chunks of some mode, the largest one that of the last */
static void divisors(void)
{
	struct wse_tile tile = {.rows = 4, .cols = 4, .lanes = 8, .sram = 48 * 1024};
	struct wse_gpt shape = {.vocab = 64,
				.positions = 32,
				.seq = 32,
				.hidden = 32,
				.layers = 1,
				.heads = 4,
				.filter = 16 * 60,
				.eps = 1e-5f,
				.dev = 0.02f,
				.learned = 1};
	uint32_t seen[61] = {0}, found = 0, wanted = 0, last = 0;
	struct wse_model m;

	wse_gpt_init(&m, &shape);
	for (uint32_t mode = 0; mode < m.family->modes; mode++) {
		struct wse_graph g = {0};
		int ret = m.family->graph(&m, &tile, 8, mode, &g);

		last = ret ? 0 : g.variant;
		seen[last]++;
		wse_graph_fini(&g);
	}
	for (uint32_t n = 1; n <= 60; n++) {
		wanted += 60 % n == 0;
		found += 60 % n == 0 && seen[n];
	}
	ok(found == wanted && last == 60 && seen[0],
	   "60 blocks of four features a column come in %u of %u numbers of chunks; last %u", found,
	   wanted, last);
}

/* no plan, no graph of millions of operations on the way to it, and a batch that does go */
static void refused(void)
{
	static const struct large deep = {"deep", 300, 256, 4, 65536, 256, 4, 4, 0, 0};
	struct wse_plan p = {0};
	struct wse_model m;
	int ret = plan_of(&deep, &m, &p);

	ok(ret == -E2BIG && p.graph.total > 48 * 1024 && p.graph.nops < 300000,
	   "300 layers and 4096 blocks of four features a column: %u operations, %u bytes",
	   p.graph.nops, p.graph.total);
	wse_plan_fini(&p);
}

/* ---- a model that is run ---- */

static const char yaml[] =
	"trainer:\n"
	"  init:\n"
	"    model: {name: gpt2, hidden_size: 64, num_hidden_layers: 2, num_heads: 4,\n"
	"            max_position_embeddings: 64, filter_size: 96}\n"
	"    optimizer: {AdamW: {betas: [0.9, 0.95], weight_decay: 0.01}}\n"
	"    schedulers: [{ConstantLR: {learning_rate: 3.0e-3}}]\n"
	"    loop: {max_steps: 20, eval_frequency: 0}\n"
	"    sampling: {bytes: 0}\n"
	"  fit:\n"
	"    train_dataloader: {batch_size: 4, micro_batch_size: 1, data_dir: TEXT}\n"
	"    val_dataloader: {held_out_bytes: 1024}\n";

struct run {
	const char *uri;
	uint32_t devices, rows; /* rows and columns of the tile */
	int spill;
	uint32_t chunks; /* 0: the planner begins with its first mode */
};

/* the first mode with so many chunks, spilled or not, is where the planner begins */
static uint32_t first_mode(const struct wse_model *m, const struct run *r)
{
	struct wse_tile tile = {.rows = r->rows, .cols = r->rows, .lanes = 8, .sram = 48 * 1024};
	uint32_t mode = 0, found = 0;

	for (; r->chunks && !found; mode += !found) {
		struct wse_graph g = {0};

		found = !m->family->graph(m, &tile, 16, mode, &g) && g.variant == r->chunks &&
			!g.nspills == !r->spill;
		wse_graph_fini(&g);
		if (mode == m->family->modes)
			break;
	}
	return mode;
}

static int open_run(const struct run *r, struct wse_session *s)
{
	static const char *const small[] = {
		"model.hidden_size=32", "model.num_heads=2", "model.filter_size=48",
		"model.max_position_embeddings=32", "train_dataloader.batch_size=2"};
	struct wse_config_source src = {.name = "test",
					.text = yaml,
					.size = sizeof(yaml) - 1,
					.data = text,
					.sets = small,
					.nsets = r->rows == 2 ? 5 : 0};
	const char *uris[] = {r->uri, r->uri, r->uri};
	struct wse_faults faults;
	struct wse_config cfg;
	int ret = wse_config_read(&src, &cfg, &faults);

	if (!ret)
		cfg.model.mode = first_mode(&cfg.model, r);
	return ret ? ret : wse_session_open(s, &cfg, uris, r->devices, NULL);
}

/* three chunks: other bits than one, a gradient that is as long, and the oracle's bits */
static void chunks(void)
{
	static const struct run runs[] = {{"sim:func,rows=4,cols=4", 1, 4, 0, 0},
					  {"sim:func,rows=4,cols=4", 1, 4, 0, 3}};
	struct wse_step_result r[2];
	struct wse_session s;
	uint32_t variant[2] = {0};
	int ret = 0;

	for (uint32_t i = 0; i < 2 && !ret; i++) {
		ret = open_run(&runs[i], &s);
		if (ret)
			break;
		variant[i] = s.plan.graph.variant;
		ret = wse_session_compute(&s, &r[i]);
		if (!ret && i)
			ret = wse_verify_step(&s, "oracle:rows=4,cols=4");
		ret = ret ? ret : wse_session_commit(&s, &r[i]);
		wse_session_close(&s);
	}
	if (!ok(!ret && variant[0] == 1 && variant[1] == 3,
		"the FFN in one chunk and in three, which have the oracle's bits%s%s",
		ret ? ": " : "", ret ? wse_error() : ""))
		return;
	ok(r[0].norm != r[1].norm && r[0].norm / r[1].norm > 0.999 &&
		   r[0].norm / r[1].norm < 1.001 && r[0].loss / r[1].loss > 0.9999 &&
		   r[0].loss / r[1].loss < 1.0001,
	   "losses %.6f and %.6f, norms of the gradients %.5f and %.5f", r[0].loss, r[1].loss,
	   r[0].norm, r[1].norm);
}

/* of a checkpoint: weights and moments; 0: there is none */
static uint64_t file_sum(const char *path)
{
	static char bytes[4 << 20];
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(bytes, 1, sizeof(bytes), f) : 0;

	if (f)
		fclose(f);
	return n && n < sizeof(bytes) ? wse_checksum64(bytes, n) : 0;
}

/* two steps and an evaluation: a checksum over losses, weights and moments, 0 on failure */
static uint64_t two_steps(const struct run *r, uint32_t *spills, uint32_t *variant)
{
	struct wse_step_result step[2];
	struct wse_session s;
	uint64_t sum = 0, n;
	char path[sizeof(text) + 20];
	double loss[3];
	int ret = open_run(r, &s);

	snprintf(path, sizeof(path), "%s.safetensors", text);
	if (ret)
		return 0;
	for (int i = 0; i < 2 && !ret; i++) {
		ret = wse_session_compute(&s, &step[i]);
		ret = ret ? ret : wse_session_commit(&s, &step[i]);
		loss[i] = step[i].loss;
	}
	ret = ret ? ret : wse_session_eval(&s, 0, 1, &loss[2], &n);
	ret = ret ? ret : wse_session_save(&s, path, NULL);
	sum = ret ? 0 : file_sum(path);
	sum ^= sum ? wse_checksum64(loss, sizeof(loss)) : 0;
	*spills = s.plan.graph.nspills;
	*variant = s.plan.graph.variant;
	wse_session_close(&s);
	unlink(path);
	return sum;
}

/* what is kept on the cores and what is spilled: the same bits; the first run is kept */
static void same_bits(const struct run *runs, uint32_t n)
{
	uint64_t want = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct run *r = &runs[i];
		uint32_t spills = 0, variant = 0;
		uint64_t got = two_steps(r, &spills, &variant);

		want = i ? want : got;
		ok(got && got == want && spills == (r->spill ? 2 : 0) &&
			   (!r->chunks || variant == r->chunks),
		   "%u x %s, %u spills, FFN in %u chunks: %s bits%s%s", r->devices, r->uri, spills,
		   variant, got == want ? "the same" : "other", got ? "" : ": ",
		   got ? "" : wse_error());
	}
}

static void spilled(void)
{
	static const struct run whole[] = {
		{"sim:func,rows=4,cols=4", 1, 4, 0, 1}, {"oracle:rows=4,cols=4", 1, 4, 1, 1},
		{"sim:func,rows=4,cols=4", 1, 4, 1, 1}, {"sim:func,rows=4,cols=4", 2, 4, 1, 1},
		{"sim:func,rows=4,cols=4", 3, 4, 1, 1},
	};
	static const struct run three[] = {
		{"sim:func,rows=4,cols=4", 1, 4, 0, 3},
		{"oracle:rows=4,cols=4", 1, 4, 1, 3},
		{"sim:func,rows=4,cols=4", 2, 4, 1, 3},
	};
	static const struct run rtl[] = {
		{"sim:func,rows=2,cols=2", 1, 2, 0, 1},
		{"sim:func,rows=2,cols=2", 1, 2, 1, 1},
		{"sim:rtl,rows=2,cols=2", 1, 2, 1, 1},
	};
	struct wse_device *dev;

	same_bits(whole, 5);
	same_bits(three, 3);
	if (wse_device_open("sim:rtl,rows=2,cols=2", &dev)) {
		same_bits(rtl, 2);
		return;
	}
	wse_device_close(dev);
	same_bits(rtl, 3);
}

/* ---- the forward pass alone ---- */

/* losses [tokens] of inputs that are random, by the forward images of a session */
static int losses_of(struct wse_session *s, const struct wse_graph *g, const char *uri,
		     float *losses)
{
	const struct wse_image *all = wse_memx_images(s->memx);
	struct wse_image *images = calloc(g->nunits, sizeof(*images));
	struct wse_micro_batch job = {.images = images, .scale = 1.0f};
	struct wse_swarm_step step = {.graph = g, .jobs = &job, .n = 1, .step = 1};
	struct wse_buf_pool pool;
	struct wse_swarm *swarm;
	struct wse_exec *e;
	int ret = wse_exec_open(uri, NULL, &e);

	ret = ret ? ret : e->ops->prepare(e, g);
	ret = ret ? ret : wse_swarm_open(&e, 1, NULL, &swarm);
	if (ret)
		return ret;
	e->id = WSE_SWARM_MAX; /* beside the session's own device */
	pool = wse_swarm_pool(swarm);
	for (uint32_t i = 0; i < g->nin && !ret; i++) {
		ret = pool.alloc(pool.ctx, g->in[i].bytes, &job.in[i].buf);
		for (size_t k = 0; k < g->in[i].bytes / 2 && !ret; k++) {
			uint64_t r = wse_rng_u64(5, i, k);

			((uint16_t *)job.in[i].buf->ptr)[k] =
				i == g->target ? (uint16_t)(r % g->classes)
					       : wse_f32_to_bf16((float)(r % 4096) / 2048 - 1);
		}
	}
	ret = ret ? ret : pool.alloc(pool.ctx, g->out[g->loss].bytes, &job.out[g->loss].buf);
	for (uint32_t i = 0; i < g->nunits && !ret; i++) {
		images[i] = all[i];
		images[i].tr = (struct wse_span){NULL, 0};
		ret = e->ops->map(e, images[i].fwd.buf);
	}
	ret = ret ? ret : wse_swarm_start(swarm, &step);
	ret = ret ? ret : wse_swarm_wait(swarm);
	if (!ret)
		memcpy(losses, job.out[g->loss].buf->ptr, g->out[g->loss].bytes);
	for (uint32_t i = 0; i < g->nunits; i++)
		e->ops->unmap(e, all[i].fwd.buf);
	wse_swarm_close(swarm);
	free(images);
	return ret;
}

static uint64_t image_bytes(const struct wse_graph *g)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < g->nunits; i++)
		sum += wse_unit_image_bytes(g, &g->units[i]);
	return sum;
}

/* the graph that an evaluation has, beside the one of training whose backward pass is not run */
static void forward(const char *what, const char *const *sets, uint32_t nsets, int in_chunks)
{
	static const char *const uris[] = {"sim:func,rows=4,cols=4", "oracle:rows=4,cols=4"};
	struct wse_config_source src = {.name = "test",
					.text = yaml,
					.size = sizeof(yaml) - 1,
					.data = text,
					.sets = sets,
					.nsets = nsets};
	float *want = NULL, *got;
	struct wse_faults faults;
	struct wse_plan p = {0};
	struct wse_config cfg;
	struct wse_session s;
	struct wse_model m;
	size_t n = 0;
	int ret = wse_config_read(&src, &cfg, &faults);

	ret = ret ? ret : wse_session_open(&s, &cfg, uris, 1, NULL);
	if (!ok(!ret, "%s%s%s", what, ret ? ": " : "", ret ? wse_error() : ""))
		return;
	m = cfg.model;
	m.forward = 1;
	ret = wse_plan_make(&m, &s.tile, cfg.batch, cfg.micro_batch, &p);
	ok(!ret && p.graph.nops == s.plan.graph.nforward - 2 * s.plan.graph.nspills &&
		   p.graph.variant == s.plan.graph.variant && !p.graph.nspills &&
		   (p.graph.variant > 1) == in_chunks && p.graph.total <= s.plan.graph.total &&
		   p.streamed_in == image_bytes(&p.graph) && p.streamed_in < s.plan.streamed_in,
	   "%s: %u of %u operations, %u of %u bytes a core, %llu of %llu bytes streamed", what,
	   p.graph.nops, s.plan.graph.nops, p.graph.total, s.plan.graph.total,
	   (unsigned long long)p.streamed_in, (unsigned long long)s.plan.streamed_in);
	if (!ret) {
		n = s.plan.tokens;
		want = calloc(2 * n, sizeof(*want));
		ret = losses_of(&s, &s.plan.graph, uris[0], want);
		got = want + n;
	}
	for (int i = 0; i < 2 && !ret; i++) {
		ret = losses_of(&s, &p.graph, uris[i], got);
		ok(!ret && want[0] > 1 && !memcmp(got, want, n * sizeof(*want)),
		   "%s: losses of the whole graph on %s: %g ...%s%s", what, uris[i], want[0],
		   ret ? ": " : "", ret ? wse_error() : "");
	}
	free(want);
	wse_plan_fini(&p);
	wse_session_close(&s);
}

/* a session to evaluate has such a graph and no other, and the losses of one that trains */
static void forward_session(const char *const *sets, uint32_t nsets)
{
	struct wse_config_source src = {.name = "test",
					.text = yaml,
					.size = sizeof(yaml) - 1,
					.data = text,
					.sets = sets,
					.nsets = nsets};
	const char *uri = "sim:func,rows=4,cols=4";
	uint32_t ops[2] = {0}, units = 0, half = 0;
	double loss[2] = {0, 1};
	struct wse_faults faults;
	struct wse_config cfg;
	uint64_t n;
	int ret = wse_config_read(&src, &cfg, &faults);

	for (int i = 0; i < 2 && !ret; i++) {
		struct wse_session s;

		cfg.forward = i;
		ret = wse_session_open(&s, &cfg, &uri, 1, NULL);
		if (ret)
			break;
		ret = wse_session_eval(&s, 0, 2, &loss[i], &n);
		ops[i] = s.plan.graph.nops;
		units = s.plan.graph.nunits;
		for (uint32_t u = 0; u < units && i; u++)
			half += !wse_memx_images(s.memx)[u].tr.buf;
		wse_session_close(&s);
	}
	ok(!ret && loss[0] == loss[1] && ops[1] < ops[0] && half == units,
	   "a session that evaluates: %u operations of %u, no transposed images, loss %.9g%s%s",
	   ops[1], ops[0], loss[1], ret ? ": " : "", ret ? wse_error() : "");
}

/* a model that no plan trains on this tile is evaluated all the same */
static void forward_of_large(void)
{
	static const struct large wide = {"hidden 4608", 28, 4608, 16, 18432, 50257, 16, 32, 0, 0};
	struct wse_plan p = {0};
	struct wse_model m;
	int ret = plan_of(&wide, &m, &p);
	uint32_t total = p.graph.total;

	wse_plan_fini(&p);
	ok(ret == -E2BIG, "%s is not trained on 16 x 32 cores: %u bytes", wide.name, total);
	m.forward = 1;
	ret = wse_plan_make(
		&m, &(struct wse_tile){.rows = 16, .cols = 32, .lanes = 8, .sram = 48 * 1024}, 16,
		0, &p);
	ok(!ret && p.graph.total < 48 * 1024 &&
		   (double)image_bytes(&p.graph) < 2.02 * (double)m.family->macs(&m),
	   "its forward pass takes %u, and images of %llu bytes%s%s", p.graph.total,
	   (unsigned long long)image_bytes(&p.graph), ret ? ": " : "", ret ? wse_error() : "");
	wse_plan_fini(&p);
}

static uint32_t count(const struct wse_graph *g, uint32_t kind)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->nops; i++)
		n += g->ops[i].kind == kind;
	return n;
}

/*
 * GPT-J's width on columns of 12 features, padded, that have 64 tokens each: it spills, and with
 * the FFN in chunks copies run beside kernels. No plain order of places leaves room for that:
 * 49,328 bytes and more.
 */
static void tight(void)
{
	const struct wse_tile tile = {.rows = 32, .cols = 352, .lanes = 4, .sram = 48 * 1024};
	const struct wse_gpt shape = {.vocab = 50400,
				      .hidden = 4096,
				      .layers = 28,
				      .heads = 16,
				      .filter = 16384,
				      .positions = 2048,
				      .seq = 2048,
				      .eps = 1e-5f,
				      .learned = 1};
	struct wse_plan p = {0};
	struct wse_model m;
	int ret = wse_gpt_init(&m, &shape);
	uint32_t fills;

	ret = ret ? ret : wse_plan_make(&m, &tile, 4, 0, &p);
	fills = ret ? 0 : count(&p.graph, WSE_OP_FILL);
	ok(!ret && p.graph.tile.cols == tile.cols && p.graph.t == 64 && p.graph.nspills == 28 &&
		   p.graph.variant > 1 && fills > 2 * p.graph.nspills,
	   "GPT-J's width on 352 columns: %u bytes per core, %u spills come back in %u pieces%s%s",
	   p.graph.total, p.graph.nspills, fills, ret ? ": " : "", ret ? wse_error() : "");
	wse_plan_fini(&p);
}

/* cycles of the first norm, its mean left out or not; every operation's are sane */
static uint64_t norm_cycles(uint32_t cols, uint32_t t, enum wse_gpt_norm norm, int *bad)
{
	const struct wse_tile tile = {.rows = 1, .cols = cols, .lanes = 8, .sram = 1 << 20};
	const struct wse_gpt shape = {.vocab = 256,
				      .hidden = 4 * cols,
				      .layers = 1,
				      .heads = cols,
				      .filter = 4 * cols,
				      .positions = t,
				      .seq = t,
				      .eps = 1e-5f,
				      .rotary = 4,
				      .norm = norm};
	struct wse_beside beside = {0};
	struct wse_graph g = {0};
	struct wse_model m;
	uint64_t first = 0;
	int ret = wse_gpt_init(&m, &shape);

	ret = ret ? ret : m.family->graph(&m, &tile, t, 0, &g);
	*bad |= ret && ret != -E2BIG; /* cycles do not depend on what a core holds */
	for (uint32_t i = 0; i < g.nops; i++) {
		uint64_t n = wse_op_cycles(&beside, &g, &g.ops[i]);

		*bad |= n > 1000000000;
		first = !first && g.ops[i].kind == WSE_OP_NORM ? n : first;
	}
	*bad |= !first;
	wse_graph_fini(&g);
	return first;
}

/* one sum of a row goes round, not two: of wide tiles that is nearly all of a norm's time */
static void wide_norms(void)
{
	static const uint32_t cols[] = {4, 48, 256, 512, 750, 994}, t[] = {8, 16, 32, 40, 64};
	double least = 1.0, most = 0.0;
	int bad = 0;

	for (size_t c = 0; c < sizeof(cols) / sizeof(*cols); c++)
		for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
			double mean = (double)norm_cycles(cols[c], t[i], WSE_GPT_NORM_LAYER, &bad);
			double rms = (double)norm_cycles(cols[c], t[i], WSE_GPT_NORM_RMS, &bad);

			least = rms / mean < least ? rms / mean : least;
			most = rms / mean > most ? rms / mean : most;
		}
	ok(!bad && least > 0.45 && most < 0.95,
	   "RMS norms of 4 to 994 columns are planned to take %.2f to %.2f of those with a mean%s%s",
	   least, most, bad ? ": " : "", bad ? wse_error() : "");
}

/* a family whose models know no scales of the loss */
static const struct wse_model_family *scaled;

static int no_scales(const struct wse_model *m, const struct wse_tile *tile, uint32_t t,
		     uint32_t mode, struct wse_graph *g)
{
	struct wse_model of = *m;

	of.masked = 0;
	return scaled->graph(&of, tile, t, mode, g);
}

/* batches that are no multiple of the micro-batch that is asked for */
static void rests(void)
{
	static const struct {
		uint64_t batch, micro;
		uint32_t n, fill;
	} of[] = {{16, 2, 8, 0}, {17, 2, 9, 1}, {5, 4, 2, 3}, {1, 4, 1, 3}, {3, 4, 1, 1}};
	const struct wse_tile tile = {.rows = 8, .cols = 4, .lanes = 8, .sram = 48 * 1024};
	const struct wse_gpt shape = {.vocab = 64,
				      .positions = 64,
				      .seq = 64,
				      .hidden = 32,
				      .layers = 1,
				      .heads = 4,
				      .filter = 64,
				      .eps = 1e-5f,
				      .learned = 1};
	struct wse_model_family plain;
	struct wse_model m;
	struct wse_plan p;
	int ret = wse_gpt_init(&m, &shape);

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]) && !ret; i++) {
		ret = wse_plan_make(&m, &tile, of[i].batch, of[i].micro, &p);
		ok(!ret && p.micro_batches == of[i].n && p.fill == of[i].fill &&
			   p.tokens == of[i].micro * 64 &&
			   (p.graph.scale_in != WSE_NO_VALUE) == !!of[i].fill,
		   "%u samples, %u a micro-batch: %u of them, the last with %u that do not count",
		   (uint32_t)of[i].batch, (uint32_t)of[i].micro, p.micro_batches, p.fill);
		wse_plan_fini(&p);
	}
	scaled = m.family;
	plain = *m.family;
	plain.graph = no_scales;
	m.family = &plain;
	ret = wse_plan_make(&m, &tile, 17, 2, &p);
	ok(ret == -EINVAL && !p.tokens &&
		   strstr(wse_error(), "batch_size 17 is not a multiple of micro_batch_size 2") &&
		   strstr(wse_error(), "choose batch_size 16 or 18"),
	   "a model without scales: %s", ret ? wse_error() : "it plans");
	wse_plan_fini(&p);
	m.forward = 1;
	ret = wse_plan_make(&m, &tile, 17, 2, &p);
	ok(!ret && p.fill == 1, "its forward pass needs none%s%s", ret ? ": " : "",
	   ret ? wse_error() : "");
	wse_plan_fini(&p);
}

int main(void)
{
	static const char *const wide[] = {"model.hidden_size=128", "model.filter_size=512",
					   "train_dataloader.micro_batch_size=2"};
	static const char *const spill[] = {"model.recompute=spill"};

	static const struct large large[] = {
		/* name, layers, hidden, heads, filter, vocabulary, tile, spilled, chunks */
		{"filter 11008", 20, 4096, 32, 11008, 256, 16, 64, 1, 43},
		{"filter 22016", 2, 8192, 64, 22016, 256, 16, 64, 0, 43},
		{"6.7B", 32, 4096, 32, 16384, 50257, 16, 64, 1, 0},
		{"13B", 40, 5120, 40, 20480, 50257, 16, 80, 1, 0},
		{"NeoX 20B", 44, 6144, 64, 24576, 50257, 16, 64, 1, 0},
		{"GPT-J 6B's shape", 28, 4096, 16, 16384, 50257, 16, 32, 1, 0},
		{"GPT-3 175B", 96, 12288, 96, 49152, 50257, 16, 96, 1, 0},
	};
	int fd = mkstemp(text);
	FILE *f = fdopen(fd, "w");

	if (!f)
		return 1;
	for (uint32_t i = 0, x = 1; i < 20000; i++) {
		x = x * 1664525 + 1013904223;
		fputc((int)(i * 7 % 40 + (x >> 24) % 24), f);
	}
	fclose(f);
	for (size_t i = 0; i < sizeof(large) / sizeof(*large); i++)
		plans(&large[i]);
	divisors();
	tight();
	wide_norms();
	refused();
	rests();
	chunks();
	spilled();
	forward("the forward pass", NULL, 0, 0);
	forward("with the FFN in chunks", wide, 3, 1);
	forward("of a model whose inputs are spilled", spill, 1, 0);
	forward_session(NULL, 0);
	forward_session(wide, 3);
	forward_of_large();
	unlink(text);
	return tap_end();
}
