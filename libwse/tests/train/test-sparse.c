// SPDX-License-Identifier: MIT
/*
 * Training with masks: the same bits on oracle and twin, on 1 to 3 devices, with state in memory or
 * in files, and as a dense run whose gradients are masked by hand; what is left out is 0, and
 * counts are exact. And with dense images that lie as they are sent: the bits of rows.
 */
#include <math.h>
#include <errno.h>

#include "sparse.h"
#include "tap.h"
#include "ops/emit.h"
#include "train/params.h"
#include "train/verify.h"
#include "wse/train.h"
#include "wse_regs.h"

#define GPT "vocab_size: 128, num_heads: 4, max_position_embeddings: 16"

static const struct sparse_case cases[] = {
	{"mlp",
	 "name: mlp, window: 4, embedding_size: 8, hidden_sizes: [64, 32], nonlinearity: gelu",
	 "batch_size: 96, micro_batch_size: 32", "{sparsity: 0.75, param_filter: '*'}"},
	{"gpt2, queries, keys and values in one",
	 "name: gpt2, hidden_size: 32, num_hidden_layers: 2, filter_size: 64, " GPT,
	 "batch_size: 6, micro_batch_size: 2", "{sparsity: 0.75}"},
	{"gpt2, queries alone",
	 "name: gpt2, hidden_size: 32, num_hidden_layers: 1, filter_size: 64, " GPT,
	 "batch_size: 6, micro_batch_size: 2",
	 "[{sparsity: 0.9, param_filter: '*proj_q_dense_layer.weight'},"
	 " {sparsity: 0.5, param_filter: ['*.ffn.1.linear_layer.weight']}]"},
	{"gpt2, a block made again",
	 "name: gpt2, hidden_size: 32, num_hidden_layers: 2, filter_size: 64, recompute: block, " GPT,
	 "batch_size: 6, micro_batch_size: 2", "0.75"},
	{"gpt2, of two blocks one input",
	 "name: gpt2, hidden_size: 32, num_hidden_layers: 3, filter_size: 64, recompute: nth_block, " GPT,
	 "batch_size: 6, micro_batch_size: 2", "0.75"},
	{"gpt2, blocks' inputs on the host",
	 "name: gpt2, hidden_size: 32, num_hidden_layers: 2, filter_size: 64, recompute: spill, " GPT,
	 "batch_size: 6, micro_batch_size: 2", "{sparsity: 0.75, init_method: topk}"},
	{"llama: GQA, SwiGLU, its own output layer",
	 "name: llama, hidden_size: 32, num_hidden_layers: 2, filter_size: 64, "
	 "attention_module: multiquery_attention, extra_attention_params: {num_kv_groups: 2}, "
	 "share_embedding_weights: false, position_embedding_type: rotary, rotary_dim: 8, " GPT,
	 "batch_size: 6, micro_batch_size: 2",
	 "[{sparsity: 0.75}, {sparsity: 0.25, param_filter: lm_head.weight}]"},
	{"gptj",
	 "name: gptj, hidden_size: 32, num_hidden_layers: 1, filter_size: 64, rotary_dim: 8, " GPT,
	 "batch_size: 6, micro_batch_size: 2", "{sparsity: 0.6}"},
	{"neox, head by head in files",
	 "name: gpt_neox, hidden_size: 32, num_hidden_layers: 1, filter_size: 64, rotary_dim: 8, " GPT,
	 "batch_size: 6, micro_batch_size: 2", "{sparsity: 0.6}"},
};

enum { NCASES = sizeof(cases) / sizeof(*cases), STEPS = TAP_SANITIZED ? 2 : 3 };

/* so large that files take less memory */
static const struct sparse_case large[] = {
	{"gpt2, 4 blocks",
	 "name: gpt2, hidden_size: 128, num_hidden_layers: 4, num_heads: 4, "
	 "max_position_embeddings: 32",
	 "batch_size: 8, micro_batch_size: 1", "{sparsity: 0.75}"},
	{"mlp, 12 layers",
	 "name: mlp, window: 8, embedding_size: 32, hidden_sizes: [256, 256, 256, 256, 256, 256, "
	 "256, 256, 256, 256, 256, 256]",
	 "batch_size: 192, micro_batch_size: 32", "{sparsity: 0.75}"},
	/* so many that a quarter of their images is more than what a file of them takes */
	{"mlp, 20 layers",
	 "name: mlp, window: 8, embedding_size: 32, hidden_sizes: [256, 256, 256, 256, 256, 256, "
	 "256, 256, 256, 256, 256, 256, 256, 256, 256, 256, 256, 256, 256, 256]",
	 "batch_size: 48, micro_batch_size: 16", "{sparsity: 0.75}"},
};

/* the linker has what libwse asks devices for come here: bit i, device i has no LINEAR streams */
static uint32_t without, asked;

int __real_wse_device_info(struct wse_device *dev, struct drm_wse_info *info);
int __wrap_wse_device_info(struct wse_device *dev, struct drm_wse_info *info);

int __wrap_wse_device_info(struct wse_device *dev, struct drm_wse_info *info)
{
	int ret = __real_wse_device_info(dev, info);

	if (!ret && without & 1u << asked++ % 32)
		info->features &= ~WSE_FEATURES_LINEAR_MASK;
	return ret;
}

/* how a run is done besides the case */
struct how {
	const char *uri;
	uint32_t devices, steps;
	enum wse_memory_files files;
	int by_hand; /* dense streams, and gradients are cleared here */
	int linear;  /* dense images lie as they are sent */
	const char *replay;
	const char *sparsity; /* in place of the case's */
};

struct came {
	uint64_t sum, mac, other; /* other: gradients that are not used and were not 0 */
	double loss, norm;
	int grads_file;
	/*
	 * units whose streams are LINEAR; whose gradients are handed over packed; whose images are
	 * packed alone
	 */
	uint64_t packed, lie, alone, ordered; /* ordered: dense ones of those alone */
	uint64_t image_reads, bytes, commands;
	/*
	 * floats of state that are packed; bytes of it that went to its file, and that images'
	 * and gradients' files read and wrote
	 */
	size_t kept;
	uint64_t written, images, grads;
	uint64_t image_read; /* bytes of an image that was read, on average */
};

/* the streams of this session go without masks */
static void show_none(struct wse_session *s)
{
	struct wse_image *images = (struct wse_image *)(uintptr_t)wse_memx_images(s->memx);

	for (uint32_t i = 0; i < s->plan.graph.nunits; i++)
		images[i].mask.buf = images[i].mask_tr.buf = NULL;
}

/* what is in no mask of the sums of gradients: how much is not 0, and cleared where it is asked */
static uint64_t unused(struct wse_session *s, int clear)
{
	const struct wse_masks *m = wse_memx_masks(s->memx);
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->plan.graph.nunits; i++) {
		const struct wse_unit *u = &s->plan.graph.units[i];
		size_t count = (size_t)u->outs * u->ins;
		float *kept;

		if (!wse_masks_bits(m, i) || !s->io.sums[i])
			continue;
		kept = malloc(2 * count * sizeof(*kept));
		wse_memx_sum(s->memx, s->io.sums, i, 0, count, kept);
		memcpy(kept + count, kept, count * sizeof(*kept));
		wse_masks_clear(m, i, 0, count, kept);
		for (size_t k = 0; k < count; k++)
			n += wse_f2u(kept[k]) != wse_f2u(kept[count + k]);
		if (clear)
			memcpy(s->io.sums[i], kept, count * sizeof(*kept));
		free(kept);
	}
	return n;
}

static int steps_of(struct wse_session *s, const struct how *h, struct came *r)
{
	struct wse_step_result step = {0};
	struct wse_exec_cost cost;
	int ret = 0;

	for (uint32_t i = 0; i < h->steps && !ret; i++) {
		if (h->by_hand)
			show_none(s);
		ret = wse_session_compute(s, &step);
		if (!ret && !wse_swarm_cost(s->swarm, 0, &cost)) {
			r->mac += cost.count[WSE_CNT_MAC];
			r->bytes += cost.count[WSE_CNT_DMA_RD] + cost.count[WSE_CNT_DMA_WR];
			r->commands += cost.count[WSE_CNT_CMDS];
		}
		for (uint32_t u = 0; u < s->plan.graph.nunits; u++) {
			const struct wse_image *img = &wse_memx_images(s->memx)[u];
			const struct wse_unit *of = &s->plan.graph.units[u];

			r->packed += img->packed != NULL;
			r->alone += wse_masks_alone(wse_memx_masks(s->memx), u) && img->packed &&
				    !img->fwd.buf && !img->tr.buf;
			r->ordered += img->packed && !img->packed->bits;
			r->lie += wse_image_grad_rows(img, (size_t)of->outs * of->ins) != NULL;
		}
		if (!ret && h->replay && i + 1 == h->steps)
			ret = wse_verify_step(s, h->replay);
		r->other += unused(s, h->by_hand);
		ret = ret ? ret : wse_session_commit(s, &step);
	}
	r->loss = step.loss;
	r->norm = step.norm;
	return ret;
}

static int run(const struct sparse_case *c, const struct how *h, struct came *r)
{
	const char *uris[] = {h->uri, h->uri, h->uri};
	char dir[] = "/tmp/wse-sparse-dir-XXXXXX";
	struct wse_memory m;
	struct wse_config cfg;
	struct wse_session s;
	int ret = sparse_config(c, h->sparsity ? h->sparsity : c->sparsity, &cfg);
	uint64_t in, out;

	*r = (struct came){0};
	cfg.linear = h->linear;
	ret = ret ? ret : wse_session_open(&s, &cfg, uris, h->devices, NULL);
	if (!ret && h->files) {
		ret = wse_memory_of(&cfg, &s.plan, h->uri, h->devices, 1, &m);
		wse_session_close(&s);
		cfg.memory_limit = wse_memory_sum(&m, h->files);
		snprintf(cfg.model_dir, sizeof(cfg.model_dir), "%s", mkdtemp(dir));
		ret = ret ? ret : wse_session_open(&s, &cfg, uris, h->devices, NULL);
	}
	if (ret)
		return ret;
	ret = steps_of(&s, h, r);
	r->sum = ret ? 0 : sparse_sum(&s);
	r->grads_file = wse_memx_grad_file(s.memx) != NULL;
	r->image_reads = wse_memx_image_reads(s.memx);
	r->kept = wse_memx_packed(s.memx);
	wse_memx_moved(s.memx, WSE_MEMX_STATE_FILE, &in, &r->written);
	wse_memx_moved(s.memx, WSE_MEMX_IMAGE_FILE, &in, &r->images);
	/* how often one is read depends on what the readers find in memory, not how long it is */
	r->image_read = r->image_reads ? wse_memx_image_read_bytes(s.memx) / r->image_reads : 0;
	wse_memx_moved(s.memx, WSE_MEMX_GRAD_FILE, &in, &out);
	r->grads = in + out;
	wse_session_close(&s);
	if (h->files)
		rmdir(dir);
	return ret;
}

static int same(const struct came *a, const struct came *b)
{
	return a->sum && a->sum == b->sum && a->loss == b->loss && a->norm == b->norm;
}

static void same_bits(const struct sparse_case *c)
{
	const struct how oracle = {.uri = "oracle:rows=2,cols=2", .devices = 1, .steps = STEPS};
	struct how h = oracle;
	struct came want, got, dense;
	int ret = run(c, &oracle, &want);

	ok(!ret && !want.other, "%s: %d steps on the oracle; no gradient of what is left out%s%s",
	   c->what, STEPS, ret ? ": " : "", ret ? wse_error() : "");
	h.uri = "sim:func,rows=2,cols=2";
	h.replay = "oracle:rows=2,cols=2";
	ret = run(c, &h, &got);
	ok(!ret && same(&want, &got), "%s: the twin has these bits%s%s", c->what, ret ? ": " : "",
	   ret ? wse_error() : "");
	h.replay = NULL;
	h.by_hand = 1;
	wse_linear_streams = 0; /* images and gradients with the places of all weights */
	ret = run(c, &h, &dense);
	wse_linear_streams = 1;
	ok(!ret && same(&want, &dense) && dense.other && got.mac < dense.mac,
	   "%s: those of dense streams with gradients masked by hand; %.2f of the multiply-adds%s%s",
	   c->what, (double)got.mac / (double)(dense.mac + 1), ret ? ": " : "",
	   ret ? wse_error() : "");
	for (uint32_t n = 2; n <= 3; n++) {
		h = oracle;
		h.devices = n;
		ret = run(c, &h, &got);
		ok(!ret && same(&want, &got), "%s: those of %u devices", c->what, n);
	}
}

/*
 * Streams are LINEAR, or by rows as a device without them wants it; and cut into commands, of which
 * each has an area of its own: the same bits, and LINEAR streams bring fewer bytes.
 */
static void two_ways(const struct sparse_case *c)
{
	const struct how h = {.uri = "sim:func,rows=2,cols=2", .devices = 1, .steps = STEPS};
	const uint64_t most = wse_emit_stream_bytes;
	struct came linear, rows, cut;
	int ret = run(c, &h, &linear);

	wse_emit_stream_bytes = 4096;
	ret = ret ? ret : run(c, &h, &cut);
	wse_linear_streams = 0;
	wse_emit_stream_bytes = most;
	ret = ret ? ret : run(c, &h, &rows);
	wse_linear_streams = 1;
	ok(!ret && same(&linear, &rows) && same(&linear, &cut) && linear.packed && !rows.packed &&
		   linear.lie && !rows.lie && linear.alone && !rows.alone &&
		   cut.commands > linear.commands && linear.bytes < rows.bytes,
	   "%s: by rows, LINEAR, and so in %llu commands instead of %llu: the same bits; "
	   "%.2f of the bytes%s%s",
	   c->what, (unsigned long long)cut.commands, (unsigned long long)linear.commands,
	   (double)linear.bytes / (double)(rows.bytes + 1), ret ? ": " : "",
	   ret ? wse_error() : "");
}

/* came[i]: of two devices those of bits i have no LINEAR streams */
static int with_and_without(const struct sparse_case *c, const struct how *h, struct came came[4])
{
	int ret = 0;

	for (uint32_t i = 0; i < 4 && !ret; i++) {
		without = i;
		asked = 0;
		ret = run(c, h, &came[i]);
	}
	without = 0;
	return ret;
}

/* of two devices one has no LINEAR streams, the first or the second: each does what it can */
static void mixed(const struct sparse_case *c)
{
	const struct how h = {.uri = "sim:func,rows=2,cols=2", .devices = 2, .steps = STEPS};
	struct came came[4];
	int ret = with_and_without(c, &h, came);

	ok(!ret && same(&came[0], &came[1]) && same(&came[0], &came[2]) &&
		   same(&came[0], &came[3]) && came[1].packed && came[2].packed &&
		   !came[3].packed && came[0].lie && !came[1].lie && !came[2].lie &&
		   came[0].alone && !came[1].alone && !came[2].alone &&
		   came[1].bytes > came[2].bytes && came[1].bytes == came[3].bytes &&
		   came[2].bytes == came[0].bytes,
	   "%s: LINEAR on both, one or none of two devices: the same bits; the first carries %llu "
	   "bytes without it, %llu with%s%s",
	   c->what, (unsigned long long)came[1].bytes, (unsigned long long)came[2].bytes,
	   ret ? ": " : "", ret ? wse_error() : "");
}

/* masks change after each step: gradients lie by those that were until weights are updated */
static void changing(const struct sparse_case *c)
{
	const struct how h = {.uri = "sim:func,rows=2,cols=2",
			      .devices = 1,
			      .steps = 4,
			      .sparsity = "{sparsity: 0.75, param_filter: '*', algorithm: set, "
					  "update: {freq: 1}}"};
	struct came packed, rows;
	int ret = run(c, &h, &packed);

	wse_linear_streams = 0;
	ret = ret ? ret : run(c, &h, &rows);
	wse_linear_streams = 1;
	ok(!ret && same(&packed, &rows) && packed.lie && !rows.lie,
	   "%s: masks of SET change, and gradients lie packed: the same bits%s%s", c->what,
	   ret ? ": " : "", ret ? wse_error() : "");
}

/* weights of units from which no inputs are gathered: those whose images may lie in order */
static uint64_t streamed(const struct sparse_case *c)
{
	const char *uri = "oracle:rows=2,cols=2";
	struct wse_config cfg;
	struct wse_session s;
	uint64_t n = 0;

	if (sparse_config(c, "0", &cfg) || wse_session_open(&s, &cfg, &uri, 1, NULL))
		return 0;
	for (uint32_t i = 0; i < s.plan.graph.nunits; i++) {
		const struct wse_unit *u = &s.plan.graph.units[i];

		n += u->weight != WSE_NO_TENSOR &&
		     !(wse_memx_masks(s.memx)->tab->t[u->weight].flags & WSE_TENSOR_INPUT);
	}
	wse_session_close(&s);
	return n;
}

/*
 * Dense images that lie as they are sent, beside masks (the case's) or alone: the bits of rows, on
 * oracle and twin, on one device and on three, in one command and in many. As many bytes are
 * streamed: the same ones in another order
 */
static void in_order(const struct sparse_case *c, int masks)
{
	struct how h = {.uri = "sim:func,rows=2,cols=2",
			.devices = 1,
			.steps = STEPS,
			.sparsity = masks ? NULL : "0"};
	const uint64_t most = wse_emit_stream_bytes;
	struct came rows, linear, cut, oracle, three;
	uint64_t units = streamed(c) * STEPS;
	int ret = run(c, &h, &rows);

	h.linear = 1;
	h.replay = "oracle:rows=2,cols=2";
	ret = ret ? ret : run(c, &h, &linear);
	h.replay = NULL;
	wse_emit_stream_bytes = 4096;
	ret = ret ? ret : run(c, &h, &cut);
	wse_emit_stream_bytes = most;
	h.devices = 3;
	ret = ret ? ret : run(c, &h, &three);
	h.uri = "oracle:rows=2,cols=2";
	h.devices = 1;
	ret = ret ? ret : run(c, &h, &oracle);
	ok(!ret && same(&rows, &linear) && same(&rows, &cut) && same(&rows, &three) &&
		   same(&rows, &oracle) && linear.alone == units && !rows.ordered &&
		   linear.ordered == units - rows.alone && oracle.alone == units &&
		   (masks || (linear.ordered == units && !linear.lie &&
			      linear.bytes == rows.bytes && cut.commands > linear.commands)),
	   "%s%s: %llu dense images lie as they are sent: the bits of rows%s%s", c->what,
	   masks ? ", masked" : "", (unsigned long long)linear.ordered / STEPS, ret ? ": " : "",
	   ret ? wse_error() : "");
}

/* with a device that has no LINEAR streams images are rows; and it does not join a run later */
static void in_order_old(const struct sparse_case *c)
{
	struct how h = {.uri = "sim:func,rows=2,cols=2",
			.devices = 2,
			.steps = STEPS,
			.sparsity = "0",
			.linear = 1};
	struct came came[4];
	int ret = with_and_without(c, &h, came);

	ok(!ret && same(&came[0], &came[1]) && same(&came[0], &came[2]) &&
		   same(&came[0], &came[3]) && came[0].ordered && !came[1].packed &&
		   !came[2].packed && !came[3].packed,
	   "%s: rows where one of two devices has no LINEAR streams, or none has%s%s", c->what,
	   ret ? ": " : "", ret ? wse_error() : "");
	h.devices = 1;
	h.replay = h.uri;
	without = 2;
	asked = 0;
	ret = run(c, &h, &came[0]);
	without = 0;
	ok(ret == -ENOTSUP && strstr(wse_error(), "has no LINEAR streams"),
	   "%s: such a device does not replay a step of images in order: %s", c->what,
	   ret ? wse_error() : "it did");
}

/* text [200]: --plan's line of images */
static void images_line(void *text, enum wse_log_level level, const char *line)
{
	(void)level;
	if (!strncmp(line, "images ", 7))
		snprintf(text, 200, "%s", line);
}

/* --plan of such a device says that images are rows */
static void in_order_plan(const struct sparse_case *c)
{
	char text[2][200] = {"", ""};
	struct wse_plan_info info;
	struct wse_params *p;
	int ret = wse_params_create(&p);

	ret = ret ? ret : sparse_config(c, "0", &p->cfg);
	for (uint32_t i = 0; i < 2 && !ret; i++) {
		p->cfg.linear = p->ready = 1;
		without = i;
		asked = 0;
		ret = wse_params_plan(p, "sim:func,rows=2,cols=2", 0, images_line, text[i], &info);
	}
	without = 0;
	wse_params_destroy(p);
	ok(!ret && strstr(text[0], " without a mask as they are sent") && !strchr(text[0], ':') &&
		   strstr(text[1], " 0 without a mask as they are sent: the device has no LINEAR "
				   "streams"),
	   "%s: --plan: %s; %s%s%s", c->what, text[0], text[1], ret ? ": " : "",
	   ret ? wse_error() : "");
}

/* in files, too; and of what only evaluates the images are rows */
static void in_order_files(const struct sparse_case *c)
{
	struct how h = {.uri = "sim:func,rows=2,cols=4", .devices = 1, .steps = 3, .sparsity = "0"};
	struct came want, got;
	double loss[2] = {0.0, 1.0};
	uint64_t samples, packed = 0;
	int ret = run(c, &h, &want);

	h.linear = 1;
	for (enum wse_memory_files f = WSE_FILES_STATE; f <= WSE_FILES_IMAGES; f++) {
		h.files = f;
		ret = ret ? ret : run(c, &h, &got);
		ok(!ret && same(&want, &got) && got.ordered && got.alone == got.ordered &&
			   !got.image_reads == (f < WSE_FILES_IMAGES),
		   "%s, %s in files: the bits of rows in memory%s%s", c->what,
		   f == WSE_FILES_STATE	  ? "weights"
		   : f == WSE_FILES_GRADS ? "weights and gradients"
					  : "weights, gradients and images",
		   ret ? ": " : "", ret ? wse_error() : "");
	}
	for (int i = 0; i < 2 && !ret; i++) {
		struct wse_config cfg;
		struct wse_session s;

		ret = sparse_config(c, "0", &cfg);
		cfg.linear = i;
		cfg.forward = 1;
		ret = ret ? ret : wse_session_open(&s, &cfg, &h.uri, 1, NULL);
		ret = ret ? ret : wse_session_eval(&s, 0, 1, &loss[i], &samples);
		for (uint32_t u = 0; u < s.plan.graph.nunits && !ret; u++)
			packed += wse_memx_images(s.memx)[u].packed != NULL;
		wse_session_close(&s);
	}
	ok(!ret && loss[0] == loss[1] && !packed, "%s: an evaluation keeps rows%s%s", c->what,
	   ret ? ": " : "", ret ? wse_error() : "");
}

/* level 0, in each of its forms, is no section at all */
static void level_0(void)
{
	static const char *const none[] = {
		"0", "{sparsity: 0.0, algorithm: rigl, update: {freq: 2}}", "[{sparsity: 0}]"};
	struct how h = {
		.uri = "oracle:rows=2,cols=2", .devices = 1, .steps = STEPS, .sparsity = "null"};
	struct came want, got;
	int ret = run(&cases[1], &h, &want);

	for (int i = 0; i < 3; i++) {
		h.sparsity = none[i];
		ret = ret ? ret : run(&cases[1], &h, &got);
		ok(!ret && same(&want, &got), "sparsity: %s is the dense run, bit for bit",
		   none[i]);
	}
}

/* floats of p, m and v of the units with masks, but for what is left out */
static size_t room_of(const struct wse_session *s)
{
	const struct wse_masks *m = wse_memx_masks(s->memx);
	size_t n = 0;

	for (uint32_t i = 0; i < s->plan.graph.nunits; i++)
		if (wse_masks_bits(m, i))
			n += wse_unit_grad_floats(&s->plan.graph, &s->plan.graph.units[i]);
	for (uint32_t i = 0; i < m->nparts; i++)
		n -= m->part[i].count - m->part[i].keep;
	return 3 * n;
}

/* p, m and v of what is left out are 0 and not kept, and so many weights are there */
static void counts(const struct sparse_case *c)
{
	const char *uri = "oracle:rows=2,cols=2";
	struct wse_step_result step;
	struct wse_config cfg;
	struct wse_session s;
	struct state st;
	int ret = sparse_config(c, c->sparsity, &cfg);
	uint64_t wrong = 0, parts = 0, empty = 0;

	ret = ret ? ret : wse_session_open(&s, &cfg, &uri, 1, NULL);
	if (!ok(!ret, "%s is opened%s%s", c->what, ret ? ": " : "", ret ? wse_error() : ""))
		return;
	for (int i = 0; i < 2 && !ret; i++) {
		ret = wse_session_compute(&s, &step);
		ret = ret ? ret : wse_session_commit(&s, &step);
	}
	ret = ret ? ret : wse_memx_finish(s.memx);
	st = state_of(s.memx);
	for (uint32_t i = 0; i < wse_memx_masks(s.memx)->nparts && !ret; i++) {
		const struct wse_sparse_part *p = &wse_memx_masks(s.memx)->part[i];
		const struct wse_tensor *t = &st.table->t[p->tensor];
		unsigned char *bytes = malloc(p->count);
		size_t n = 0;

		sparse_bits(&s, p, bytes);
		for (size_t k = 0; k < p->count; k++) {
			size_t at = t->off + p->from + k;

			n += bytes[k];
			if (bytes[k])
				empty += wse_f2u(st.params[at]) == 0;
			else
				wrong += wse_f2u(st.params[at]) || wse_f2u(st.m[at]) ||
					 wse_f2u(st.v[at]);
		}
		wrong += n != p->keep;
		parts++;
		free(bytes);
	}
	ok(!ret && parts && !wrong && !empty,
	   "%s: %llu matrices have as many weights as asked, what is left out is +0 with its moments",
	   c->what, (unsigned long long)parts);
	ok(!ret && wse_memx_packed(s.memx) && wse_memx_packed(s.memx) <= room_of(&s),
	   "%s: %zu floats are kept of them, of %zu that are there", c->what,
	   wse_memx_packed(s.memx), room_of(&s));
	state_free(&st);
	wse_session_close(&s);
}

static double part(uint64_t a, uint64_t of)
{
	return (double)a / (double)(of + 1);
}

/*
 * weights and moments, gradients, and images in files; most[]: of a dense run's bytes of gradients
 * at most; of images written, which is the same in each run, and of an image that is read
 */
static void files(const struct sparse_case *c, const char *sparsity, enum wse_memory_files last,
		  const double most[3])
{
	static const char *const what[] = {"", "weights", "gradients, too,", "images, too,"};
	struct how h = {
		.uri = "sim:func,rows=2,cols=4", .devices = 1, .steps = 4, .sparsity = sparsity};
	struct came want, got, dense;
	int ret = run(c, &h, &want);

	h.sparsity = "0";
	h.files = last;
	ret = ret ? ret : run(c, &h, &dense);
	h.sparsity = sparsity;
	for (enum wse_memory_files f = WSE_FILES_STATE; f <= last; f++) {
		h.files = f;
		ret = ret ? ret : run(c, &h, &got);
		ok(!ret && same(&want, &got) && got.grads_file == (f >= WSE_FILES_GRADS) &&
			   !got.image_reads == (f < WSE_FILES_IMAGES) && got.kept &&
			   got.kept == want.kept && got.written &&
			   got.written < dense.written / 10 * 9 && got.alone == want.alone &&
			   got.lie == want.lie && got.bytes == want.bytes &&
			   (f < WSE_FILES_GRADS ||
			    (got.grads && part(got.grads, dense.grads) < most[0])) &&
			   (f < WSE_FILES_IMAGES ||
			    (got.images && fabs(part(got.images, dense.images) - most[1]) < 0.01 &&
			     fabs(part(got.image_read, dense.image_read) - most[2]) < 0.01)),
		   "%s, %s: the same bits with %s in files; of a dense run's bytes %.2f of state "
		   "are written, %.2f of gradients written and read, %.2f of images written and "
		   "%.2f of one read%s%s",
		   c->what, sparsity, what[f], part(got.written, dense.written),
		   part(got.grads, dense.grads), part(got.images, dense.images),
		   part(got.image_read, dense.image_read), ret ? ": " : "", ret ? wse_error() : "");
	}
}

static void rtl(void)
{
	const struct how h = {.uri = "sim:func,rows=2,cols=2",
			      .devices = 1,
			      .steps = 1,
			      .linear = 1,
			      .replay = "sim:rtl,rows=2,cols=2"};
	struct came r;
	int ret = run(&cases[2], &h, &r);

	if (ret == -ENOTSUP) {
		tap_skip("there is no RTL of 2x2", "a step replayed on the RTL");
		return;
	}
	ok(!ret && r.sum && r.ordered && r.alone > r.ordered,
	   "%s, other images in order: a step of the twin, replayed on the RTL%s%s", cases[2].what,
	   ret ? ": " : "", ret ? wse_error() : "");
}

int main(void)
{
	if (sparse_begin()) {
		printf("Bail out! no text\n");
		return 1;
	}
	for (int i = 0; i < NCASES; i++)
		same_bits(&cases[i]);
	for (int i = 0; i < NCASES; i++)
		counts(&cases[i]);
	for (int i = 0; i < NCASES; i++)
		two_ways(&cases[i]);
	for (int i = 0; i < NCASES; i++)
		in_order(&cases[i], 0);
	in_order(&cases[2], 1); /* some of their matrices are dense */
	in_order(&cases[7], 1);
	in_order_old(&cases[1]);
	in_order_plan(&cases[1]);
	in_order_files(&large[1]);
	mixed(&cases[0]);
	changing(&cases[0]);
	level_0();
	files(&large[0], "{sparsity: 0.5}", WSE_FILES_GRADS, (double[3]){0.65});
	files(&large[0], "{sparsity: 0.75, algorithm: rigl, update: {freq: 2}}", WSE_FILES_GRADS,
	      (double[3]){0.75});
	files(&large[1], "{sparsity: 0.25, algorithm: rigl, update: {freq: 2}}", WSE_FILES_IMAGES,
	      (double[]){0.97, 0.84, 0.83});
	files(&large[2], "{sparsity: 0.75, param_filter: '*', algorithm: set, update: {freq: 2}}",
	      WSE_FILES_IMAGES, (double[]){0.35, 0.30, 0.30});
	rtl();
	sparse_done();
	return tap_end();
}
