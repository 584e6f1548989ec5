// SPDX-License-Identifier: MIT
/*
 * Which weights a mask has, by sorting; masks in checkpoints; what a section or a file may get
 * wrong.
 */
#include <errno.h>
#include <sys/stat.h>

#include "memx/choose.h"
#include "sparse.h"
#include "tap.h"
#include "wse/train.h"

#define MODEL                                                                      \
	"name: gpt2, vocab_size: 128, num_heads: 4, max_position_embeddings: 16, " \
	"hidden_size: 32, num_hidden_layers: 2, filter_size: 64"

static const char tile[] = "oracle:rows=2,cols=2";
static const struct sparse_case gpt = {"gpt2", MODEL, "batch_size: 4, micro_batch_size: 2", ""};

static int open_on(const char *uri, const char *sparsity, struct wse_session *s)
{
	struct wse_config cfg;
	int ret = sparse_config(&gpt, sparsity, &cfg);

	memset(s, 0, sizeof(*s));
	return ret ? ret : wse_session_open(s, &cfg, &uri, 1, NULL);
}

static int open_gpt(const char *sparsity, struct wse_session *s)
{
	return open_on(tile, sparsity, s);
}

static int do_steps(struct wse_session *s, int n)
{
	struct wse_step_result r;
	int ret = 0;

	for (int i = 0; i < n && !ret; i++) {
		ret = wse_session_compute(s, &r);
		ret = ret ? ret : wse_session_commit(s, &r);
	}
	return ret ? ret : wse_memx_finish(s->memx);
}

/* ---- by sorting ---- */

struct item {
	uint64_t key;
	size_t i;
};

static int by_key(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return x->key != y->key ? (x->key < y->key ? -1 : 1) : (x->i > y->i) - (x->i < y->i);
}

/* the n of those with want[i] == which that have the smallest keys become !which */
static void move(unsigned char *bits, const uint64_t *key, size_t count, size_t n, int which)
{
	struct item *list = malloc((count + 1) * sizeof(*list));
	size_t k = 0;

	for (size_t i = 0; i < count; i++)
		if (bits[i] == which)
			list[k++] = (struct item){key[i], i};
	qsort(list, k, sizeof(*list), by_key);
	for (size_t i = 0; i < n && i < k; i++)
		bits[list[i].i] = (unsigned char)!which;
	free(list);
}

static uint64_t size_of(float f)
{
	return wse_f2u(f) & 0x7fffffff;
}

static void first(const char *uri, const char *sparsity, int topk)
{
	struct wse_session s;
	int ret = open_on(uri, sparsity, &s), good = !ret;
	uint32_t n = good ? wse_memx_masks(s.memx)->nparts : 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct wse_sparse_part *p = &wse_memx_masks(s.memx)->part[i];
		unsigned char *got = malloc(p->count), *want = malloc(p->count);
		uint64_t *key = malloc(p->count * sizeof(*key));
		float *w = malloc(p->count * sizeof(*w));

		memset(want, 1, p->count);
		wse_tensor_init_part(s.table, 1, p->tensor, p->from, p->count, w);
		for (size_t k = 0; k < p->count; k++)
			key[k] = topk ? size_of(w[k])
				      : wse_rng_u64(1, WSE_CHOOSE_RANDOM | p->tensor, p->from + k);
		move(want, key, p->count, p->count - p->keep, 1);
		sparse_bits(&s, p, got);
		good &= !memcmp(got, want, p->count);
		free(got);
		free(want);
		free(key);
		free(w);
	}
	ok(good && n == 12, "%s on %s: %u masks as by sorting%s%s", sparsity, uri, n,
	   ret ? ": " : "", ret ? wse_error() : "");
	wse_session_close(&s);
}

/* masks, weights and gradients before a step that changes masks; what they are to be after it */
static void changed(const char *uri, const char *sparsity, int rigl)
{
	struct wse_session s;
	struct wse_step_result r;
	struct state before = {0}, after = {0};
	unsigned char *want[16] = {NULL}, *old[16] = {NULL};
	int ret = open_on(uri, sparsity, &s), good, zero = 1, dense = 0;
	uint32_t n = ret ? 0 : wse_memx_masks(s.memx)->nparts;
	const float *g = NULL;

	ret = ret ? ret : do_steps(&s, 1);
	ret = ret ? ret : wse_session_compute(&s, &r);
	if (!ret)
		before = state_of(s.memx);
	for (uint32_t i = 0; i < n && i < 16 && !ret; i++) {
		const struct wse_sparse_part *p = &wse_memx_masks(s.memx)->part[i];
		const struct wse_tensor *t = &s.table->t[p->tensor];
		uint64_t *key = malloc(p->count * sizeof(*key));
		float *grad = malloc(t->count * sizeof(*grad));

		want[i] = malloc(p->count);
		old[i] = malloc(p->count);
		wse_memx_grads(s.memx, s.io.sums);
		ret = wse_memx_grad(s.memx, p->tensor, grad);
		g = grad + p->from;
		sparse_bits(&s, p, old[i]);
		memcpy(want[i], old[i], p->count);
		for (size_t k = 0; k < p->count; k++)
			key[k] = size_of(before.params[t->off + p->from + k]);
		move(want[i], key, p->count, wse_sparse_drops(&s.cfg.sparsity.g[0], 2, p->keep), 1);
		for (size_t k = 0; k < p->count; k++) {
			dense |= !old[i][k] && wse_f2u(g[k]);
			key[k] =
				rigl ? 0xffffffff - size_of(g[k])
				     : wse_rng_u64(1 + 2, WSE_CHOOSE_GROW | p->tensor, p->from + k);
		}
		move(want[i], key, p->count, wse_sparse_drops(&s.cfg.sparsity.g[0], 2, p->keep), 0);
		free(key);
		free(grad);
	}
	ret = ret ? ret : wse_session_commit(&s, &r);
	ret = ret ? ret : wse_memx_finish(s.memx);
	good = !ret && n == 12;
	if (good)
		after = state_of(s.memx);
	for (uint32_t i = 0, moved; i < n && good; i++) {
		const struct wse_sparse_part *p = &wse_memx_masks(s.memx)->part[i];
		size_t at = s.table->t[p->tensor].off + p->from;
		unsigned char *got = malloc(p->count);

		moved = 0;
		sparse_bits(&s, p, got);
		for (size_t k = 0; k < p->count; k++) {
			moved += got[k] != old[i][k];
			if (!got[k] || !old[i][k])
				zero &= !wse_f2u(after.params[at + k]) &&
					!wse_f2u(after.m[at + k]) && !wse_f2u(after.v[at + k]);
		}
		good &= !memcmp(got, want[i], p->count) && moved;
		free(got);
	}
	ok(good && zero && dense == rigl,
	   "%s on %s: masks of step 2 as by sorting%s; new weights are 0%s%s", sparsity, uri,
	   rigl ? ", from gradients of all weights" : "", ret ? ": " : "", ret ? wse_error() : "");
	/* and the next steps go on by them */
	ret = ret ? ret : do_steps(&s, 3);
	ok(!ret, "three steps more%s%s", ret ? ": " : "", ret ? wse_error() : "");
	for (uint32_t i = 0; i < 16; i++) {
		free(want[i]);
		free(old[i]);
	}
	state_free(&before);
	state_free(&after);
	wse_session_close(&s);
}

/* ---- checkpoints ---- */

static char dir[] = "/tmp/wse-masks-XXXXXX";

static const char *in_dir(const char *name)
{
	static char path[4][100];
	static int n;

	n = (n + 1) % 4;
	snprintf(path[n], sizeof(path[n]), "%s/%s", dir, name);
	return path[n];
}

/* a run with a break after step 3 is the run without */
static void resumed(const char *sparsity)
{
	struct wse_session s;
	uint64_t want = 0, got = 0;
	int ret = open_gpt(sparsity, &s);

	ret = ret ? ret : do_steps(&s, 3);
	ret = ret ? ret : wse_session_save(&s, in_dir("three.safetensors"), NULL);
	ret = ret ? ret : do_steps(&s, 3);
	want = ret ? 0 : sparse_sum(&s);
	wse_session_close(&s);
	ret = ret ? ret : open_gpt(sparsity, &s);
	ret = ret ? ret : wse_session_load(&s, in_dir("three.safetensors"), WSE_CKPT_ALL);
	ret = ret ? ret : do_steps(&s, 3);
	got = ret ? 0 : sparse_sum(&s);
	wse_session_close(&s);
	ok(!ret && want && want == got, "%s: three steps, a checkpoint, three steps are six%s%s",
	   sparsity, ret ? ": " : "", ret ? wse_error() : "");
}

/* loading a file that three steps of `of` wrote into a run of `into`; says: of the sentence */
static void loads(const char *of, const char *into, enum wse_ckpt_load what, const char *says)
{
	struct wse_session s;
	int ret = open_gpt(of, &s), r;

	ret = ret ? ret : do_steps(&s, 1);
	ret = ret ? ret : wse_session_save(&s, in_dir("other.safetensors"), NULL);
	wse_session_close(&s);
	ret = ret ? ret : open_gpt(into, &s);
	r = ret ? ret : wse_session_load(&s, in_dir("other.safetensors"), what);
	ok(!ret && (says ? r == -EINVAL && strstr(wse_error(), says) : !r), "%s into %s: %s", of,
	   into, r ? wse_error() : "taken");
	if (!ret && !r) {
		r = do_steps(&s, 1);
		ok(!r, "and a step%s%s", r ? ": " : "", r ? wse_error() : "");
	}
	wse_session_close(&s);
}

/* masks of a file: on a tile of another shape the same weights, and a generator is not asked */
static void from_file(void)
{
	char section[300];
	struct wse_session a, b;
	int ret = open_gpt("{sparsity: 0.6, init_method: topk}", &a), good = 1;

	ret = ret ? ret : do_steps(&a, 1);
	ret = ret ? ret : wse_session_save(&a, in_dir("masks.safetensors"), NULL);
	snprintf(section, sizeof(section), "{mask_file: '%s'}", in_dir("masks.safetensors"));
	ret = ret ? ret : open_on("sim:func,rows=4,cols=4", section, &b);
	for (uint32_t i = 0; !ret && i < wse_memx_masks(a.memx)->nparts; i++) {
		const struct wse_sparse_part *p = &wse_memx_masks(a.memx)->part[i];
		unsigned char *x = malloc(p->count), *y = malloc(p->count);

		sparse_bits(&a, p, x);
		sparse_bits(&b, &wse_memx_masks(b.memx)->part[i], y);
		good &= !memcmp(x, y, p->count) && wse_memx_masks(b.memx)->part[i].keep == p->keep;
		free(x);
		free(y);
	}
	ok(!ret && good, "masks of a file, on another tile%s%s", ret ? ": " : "",
	   ret ? wse_error() : "");
	ret = ret ? ret : do_steps(&b, 2);
	ok(!ret, "and two steps%s%s", ret ? ": " : "", ret ? wse_error() : "");
	wse_session_close(&b);
	wse_session_close(&a);
	snprintf(section, sizeof(section),
		 "{mask_file: '%s', param_filter: '*linear_layer.weight'}",
		 in_dir("masks.safetensors"));
	ret = open_gpt(section, &b);
	ok(ret == -EINVAL && strstr(wse_error(), "has no mask: give a sparsity.param_filter"),
	   "a filter that leaves some of its masks: %s", wse_error());
	snprintf(section, sizeof(section), "{mask_file: '%s'}", in_dir("none.safetensors"));
	ret = open_gpt(section, &b);
	ok(ret == -ENOENT, "a file that is not there: %s", wse_error());
}

/* what is there, and which weights have a place, after two steps from the weights of a file (NULL:
 * initial ones); 0: an error */
static int two_steps(const char *section, const char *weights, uint64_t sum[2])
{
	struct wse_session s;
	int ret = open_gpt(section, &s);

	ret = ret || !weights ? ret : wse_session_load(&s, weights, WSE_CKPT_MODEL);
	ret = ret ? ret : do_steps(&s, 2);
	sum[0] = ret ? 0 : sparse_sum(&s);
	sum[1] = 0;
	for (uint32_t i = 0; !ret && i < wse_memx_masks(s.memx)->nparts; i++) {
		const struct wse_sparse_part *p = &wse_memx_masks(s.memx)->part[i];
		unsigned char *bits = malloc(p->count);

		sparse_bits(&s, p, bits);
		for (size_t e = 0; e < p->count; e++)
			sum[1] = sum[1] * 1099511628211u + bits[e] + 1;
		free(bits);
	}
	wse_session_close(&s);
	return ret;
}

/* levels beside a file's masks, and masks of weights that are loaded, change nothing */
static void file_decides(void)
{
	static const char *const more[] = {
		"{mask_file: '%s'}",
		"{mask_file: '%s', sparsity: 0.9}",
		"{mask_file: '%s', sparsity: 0.9, init_method: topk}",
		"[{mask_file: '%s', param_filter: '*attn*'}, {sparsity: 0.9}]",
	};
	static const char *const weights[][2] = {
		{"initial ones", NULL}, {"dense ones", "null"}, {"sparse ones", "{sparsity: 0.3}"}};
	static const char loaded[] = "weights.safetensors";
	uint64_t masks = 0;
	struct wse_session s;
	int ret = open_gpt("{sparsity: 0.6}", &s);

	ret = ret ? ret : wse_session_save(&s, in_dir("masks.safetensors"), NULL);
	wse_session_close(&s);
	for (size_t i = 0; i < 3; i++) {
		const char *made = weights[i][1];
		uint64_t want = 0, got[2] = {0};
		char section[300];

		if (made) {
			ret = ret ? ret : open_gpt(made, &s);
			ret = ret ? ret : wse_session_save(&s, in_dir(loaded), NULL);
			wse_session_close(&s);
		}
		for (size_t k = 0; k < sizeof(more) / sizeof(*more); k++) {
			snprintf(section, sizeof(section), more[k], in_dir("masks.safetensors"));
			ret = ret ? ret : two_steps(section, made ? in_dir(loaded) : NULL, got);
			want = k ? want : got[0];
			masks = i || k ? masks : got[1];
			ok(!ret && got[0] == want && got[1] == masks, "%s, from %s%s%s", more[k],
			   weights[i][0], ret ? ": " : "", ret ? wse_error() : "");
		}
	}
}

/* a byte of a mask in a file of another program: no checksums, so it is the value that is judged */
static void made_by_hand(void)
{
	static const struct {
		const char *name, *what, *says;
		uint32_t rows;
		unsigned char fill;
	} bad[] = {
		{"transformer.h.0.attn.c_proj.weight", "values", "a mask has 0 and 1", 32, 2},
		{"transformer.h.0.attn.c_proj.weight", "no weight", "leaves no weight", 32, 0},
		{"transformer.h.0.attn.c_proj.weight", "another shape",
		 "16 x 32 there, 32 x 32 in this", 16, 1},
		{"transformer.h.7.attn.c_proj.weight", "another model", "this model has no", 32, 1},
		{"transformer.wte.weight", "a tensor without one", "has no mask", 32, 1},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		char header[400], section[300];
		uint64_t len;
		FILE *f = fopen(in_dir("hand.safetensors"), "wb");
		struct wse_session s;
		int ret;

		len = (uint64_t)snprintf(header, sizeof(header),
					 "{\"mask.%s\":{\"dtype\":\"U8\",\"shape\":[%u,32],"
					 "\"data_offsets\":[0,%u]}}",
					 bad[i].name, bad[i].rows, bad[i].rows * 32);
		fwrite(&len, 8, 1, f);
		fwrite(header, len, 1, f);
		for (uint32_t k = 0; k < bad[i].rows * 32; k++)
			fputc(bad[i].fill, f);
		fclose(f);
		snprintf(section, sizeof(section),
			 "{mask_file: '%s', param_filter: '*.0.attn.c_proj.weight'}",
			 in_dir("hand.safetensors"));
		ret = open_gpt(section, &s);
		ok(ret && strstr(wse_error(), bad[i].says), "%s: %s", bad[i].what, wse_error());
		if (!ret)
			wse_session_close(&s);
	}
}

/* rows without weights, in all columns and in one: on the twin as on the oracle */
static void empty_rows(void)
{
	static const char *const uris[] = {"oracle:rows=2,cols=2", "sim:func,rows=2,cols=2"};
	char header[300], section[300];
	uint64_t len, sum[2] = {0};
	FILE *f = fopen(in_dir("rows.safetensors"), "wb");
	struct wse_session s;
	int ret = 0;

	len = (uint64_t)snprintf(header, sizeof(header),
				 "{\"mask.transformer.h.0.attn.c_proj.weight\":{\"dtype\":\"U8\","
				 "\"shape\":[32,32],\"data_offsets\":[0,1024]}}");
	fwrite(&len, 8, 1, f);
	fwrite(header, len, 1, f);
	/* in [inputs][outputs]: outputs 0 ... 7 have none, 8 ... 15 of the first column alone */
	for (uint32_t k = 0; k < 1024; k++)
		fputc(k % 32 >= 16 || (k % 32 >= 8 && k / 32 < 16 && k % 3), f);
	fclose(f);
	snprintf(section, sizeof(section),
		 "{mask_file: '%s', param_filter: '*.0.*proj_output_dense_layer.weight'}",
		 in_dir("rows.safetensors"));
	for (int i = 0; i < 2 && !ret; i++) {
		ret = open_on(uris[i], section, &s);
		ret = ret ? ret : do_steps(&s, 2);
		sum[i] = ret ? 0 : sparse_sum(&s);
		wse_session_close(&s);
	}
	ok(!ret && sum[0] && sum[0] == sum[1], "rows and columns without weights%s%s",
	   ret ? ": " : "", ret ? wse_error() : "");
}

/* ---- the section ---- */

static void refused(void)
{
	static const struct {
		const char *section, *says;
	} bad[] = {
		{"{sparsity: 0.5, param_filter: '*proj_x*'}",
		 "there are *self_attn.proj_q_dense_layer.weight, *self_attn.proj_k"},
		{"[{sparsity: 0.5}, {sparsity: 0.5, param_filter: [lm_head.weight]}]",
		 "is the name of no matrix that can be sparse"},
		{"{sparsity: 0.5, param_filter: 'transformer.wte.weight'}",
		 "is the name of no matrix"},
		{"{sparsity: 0.9999}", "leaves no weight of"},
		{"1.0",
		 "sparsity 1 leaves no weight of transformer_decoder.layers.0.self_attn.proj_q"},
		{"{sparsity: 1.5}", "sparsity.sparsity"},
		{"{init_method: random}", "sparsity"},
		{"{sparsity: 0.5, init_method: best}", "random"},
		{"{sparsity: 0.5, algorithm: gmp}", "static"},
		{"{sparsity: 0.5, algorithm: set, update: {freq: 0}}",
		 "1 or more, or algorithm static"},
		{"{sparsity: 0.5, algorithm: set, update: {freq: 2, start: 5}}", "must be 0"},
		{"{sparsity: 0.5, algorithm: rigl, update: {steps: [1, 2]}}", "give freq and stop"},
		{"{sparsity: {type: linear, init: 0.1, slope: 0.1}}", "in all steps"},
		{"{sparsity: 0.5, algorithm: rigl, drop_fraction: 2.0}", "drop_fraction"},
		{"{sparsity: 0.5, algorithm: rigl, drop_fraction: {type: cosine, init: 0.3}}",
		 "half_period"},
		{"{sparsity: 0.5, param_filters: '*'}", "param_filter"},
		{"{sparsity: 0.5, param_filter: []}", "a name with wildcards"},
		{"[{mask_file: a, param_filter: '*.0.*'}, {mask_file: b, param_filter: '*.1.*'}]",
		 "is another file than that of a group before, \"a\": all masks come from one"},
	};
	struct wse_config cfg;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		int ret = sparse_config(&gpt, bad[i].section, &cfg);

		ok(ret == -EINVAL && strstr(wse_error(), bad[i].says), "%s: %s", bad[i].section,
		   ret ? wse_error() : "taken");
	}
}

static void filters(void)
{
	static const struct {
		const char *section;
		uint32_t parts;
	} good[] = {
		{"0.5", 12},
		{"{sparsity: 0.5, param_filter: ['*proj_[qkv]_dense_layer.weight']}", 6},
		{"{sparsity: 0.5, param_filter: 'model.*linear_layer.weight'}", 4},
		{"{sparsity: 0.5, param_filter: '*.h.1.mlp.*'}", 2},
		{"{groups: [{sparsity: 0.5, param_filter: '*.layers.0.*'}, {sparsity: 0.25}]}", 12},
		{"[{sparsity: 0, param_filter: '*.layers.0.*'}, {sparsity: 0.25}]", 6},
		{"{schedule: 0.5, type: static}", 12},
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		struct wse_session s;
		int ret = open_gpt(good[i].section, &s);
		uint32_t n = ret ? 0 : wse_memx_masks(s.memx)->nparts;

		ok(!ret && n == good[i].parts, "%s: %u matrices%s%s", good[i].section, n,
		   ret ? ": " : "", ret ? wse_error() : "");
		wse_session_close(&s);
	}
}

/* queries, keys and values wherever a form has them: elements, and those that stay, of layer 0's */
static void heads(void)
{
	static const struct {
		const char *what, *model;
		size_t count[3];
	} form[] = {
		{"queries as wide as the input", "", {1024, 1024, 1024}},
		{"wider queries", "attention_inner_dim: 64", {2048, 2048, 2048}},
		{"narrower ones",
		 "attention_inner_dim: 16, attention_module: multiquery_attention, "
		 "extra_attention_params: {num_kv_groups: 2}",
		 {512, 256, 256}},
		{"narrower ones of a LLaMA",
		 "norm_type: rmsnorm, attention_inner_dim: 16",
		 {512, 512, 512}},
		{"an MPT's",
		 "norm_type: biasless-layernorm, position_embedding_type: alibi, "
		 "use_projection_bias_in_attention: false, use_ffn_bias_in_attention: false, "
		 "use_ffn_bias: false",
		 {1024, 1024, 1024}},
	};

	for (size_t i = 0; i < sizeof(form) / sizeof(*form); i++) {
		char model[500];
		const struct sparse_case c = {"gpt2", model, gpt.data, ""};
		const char *uri = tile;
		struct wse_config cfg;
		struct wse_session s;
		int ret, good;

		memset(&s, 0, sizeof(s));
		snprintf(model, sizeof(model), "%s, %s", MODEL, form[i].model);
		ret = sparse_config(&c,
				    "{sparsity: 0.5, param_filter: ['*linear_layer.weight', "
				    "'*proj_[qkv]_dense_layer.weight']}",
				    &cfg);
		ret = ret ? ret : wse_session_open(&s, &cfg, &uri, 1, NULL);
		good = !ret && wse_memx_masks(s.memx)->nparts == 10;
		for (uint32_t k = 0; k < 3 && good; k++) {
			const struct wse_sparse_part *p = &wse_memx_masks(s.memx)->part[k];
			unsigned char *bytes = malloc(p->count);
			size_t there = 0;

			sparse_bits(&s, p, bytes);
			for (size_t e = 0; e < p->count; e++)
				there += bytes[e];
			good = p->count == form[i].count[k] && there == p->count / 2;
			free(bytes);
		}
		ok(good, "%s%s%s", form[i].what, ret ? ": " : "", ret ? wse_error() : "");
		wse_session_close(&s);
	}
}

/* the Model Zoo's cosine: down and up */
static void drops(void)
{
	const struct wse_sparse_group g = {.algorithm = WSE_SPARSE_RIGL,
					   .drop = 0.3,
					   .drop_least = 0.1,
					   .half_period = 100,
					   .freq = 10,
					   .stop = 50};

	ok(wse_sparse_drops(&g, 200, 1000) == 300 && wse_sparse_drops(&g, 50, 1000) == 200 &&
		   wse_sparse_drops(&g, 100, 1000) == 100,
	   "a cosine of drops: %zu, %zu, %zu of 1000", wse_sparse_drops(&g, 200, 1000),
	   wse_sparse_drops(&g, 50, 1000), wse_sparse_drops(&g, 100, 1000));
	ok(wse_sparse_is_due(&g, 10) && wse_sparse_is_due(&g, 40) && !wse_sparse_is_due(&g, 50) &&
		   !wse_sparse_is_due(&g, 11),
	   "after steps 10, 20, 30 and 40");
}

int main(void)
{
	const char *rigl = "{sparsity: 0.75, algorithm: rigl, update: {freq: 2}}";
	const char *set = "{sparsity: 0.75, algorithm: set, drop_fraction: 0.5, update: {freq: 2}}";

	if (sparse_begin() || !mkdtemp(dir)) {
		printf("Bail out! no text\n");
		return 1;
	}
	first(tile, "{sparsity: 0.75}", 0);
	first("oracle:rows=4,cols=4", "{sparsity: 0.75}", 0);
	first(tile, "{sparsity: 0.3, init_method: topk}", 1);
	changed(tile, rigl, 1);
	changed("sim:func,rows=4,cols=4", rigl, 1);
	changed(tile, set, 0);
	resumed("{sparsity: 0.75}");
	resumed(rigl);
	resumed(set);
	loads("{sparsity: 0.5}", "{sparsity: 0.75}", WSE_CKPT_ALL, "sparsity: \"");
	loads("{sparsity: 0.5}", "null", WSE_CKPT_ALL, "none in this run");
	loads("null", "{sparsity: 0.5}", WSE_CKPT_ALL, "sparsity: \"nothing\"");
	loads("{sparsity: 0.5}", "null", WSE_CKPT_MODEL, NULL);
	loads("null", "{sparsity: 0.5, init_method: topk}", WSE_CKPT_MODEL, NULL);
	loads("{sparsity: 0.5}", "{sparsity: 0.75}", WSE_CKPT_MODEL, "as sparsity.mask_file");
	loads("{sparsity: 0.5}", "{sparsity: 0.5, param_filter: '*proj_output*'}", WSE_CKPT_MODEL,
	      "has no mask");
	loads("{sparsity: 0.5, param_filter: '*proj_output*'}", "{sparsity: 0.5}", WSE_CKPT_MODEL,
	      "mask.transformer.h.0.attn.c_attn.weight is not in it");
	from_file();
	file_decides();
	made_by_hand();
	empty_rows();
	refused();
	filters();
	heads();
	drops();
	for (size_t i = 0; i < 6; i++) {
		static const char *const made[] = {"three.safetensors", "other.safetensors",
						   "masks.safetensors", "hand.safetensors",
						   "rows.safetensors",	"weights.safetensors"};

		unlink(in_dir(made[i]));
	}
	rmdir(dir);
	sparse_done();
	return tap_end();
}
