// SPDX-License-Identifier: MIT
/* Hugging Face's GPT-2 files: from an independent writer and to an independent reader, hf-file */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memx/hf.h"
#include "memx/safetensors.h"
#include "num/num.h"
#include "base/error.h"
#include "ref/gpt_ref.h"
#include "st_whole.h"
#include "hf_file.h"
#include "own_dir.h"
#include "tap.h"

/* ---- the model: the sizes that hf-file has when it is not told others ---- */

#define MAX_TENSORS 64

struct model {
	struct gpt_ref_cfg c;
	uint32_t n;
	struct gpt_ref_tensor t[MAX_TENSORS];
	struct wse_hf_tensor table[MAX_TENSORS];
	size_t params;
	float *p;
};

static void make(struct model *m, uint32_t layers, uint32_t hidden, uint32_t vocab, int tied)
{
	m->c = (struct gpt_ref_cfg){.vocab = vocab,
				    .positions = 6,
				    .hidden = hidden,
				    .layers = layers,
				    .heads = 2,
				    .filter = 12,
				    .eps = 1e-5f,
				    .tied = tied};
	m->n = gpt_ref_ntensors(&m->c);
	m->params = gpt_ref_nparams(&m->c);
	m->p = malloc(m->params * sizeof(float));
	if (!m->p || m->n > MAX_TENSORS)
		abort();
	for (size_t i = 0; i < m->params; i++)
		m->p[i] = 1000;
	for (uint32_t i = 0; i < m->n; i++) {
		struct gpt_ref_tensor *t = &m->t[i];

		*t = gpt_ref_tensor(&m->c, i);
		m->table[i] = (struct wse_hf_tensor){
			t->name, t->ndim, {t->dim[0], t->dim[1]}, t->transposed, m->p + t->off};
	}
}

/* what hf-file puts at [row][col] of a tensor that is [out][in] */
static float value(const char *name, uint32_t row, uint32_t col)
{
	uint32_t sum = 5 * row + 3 * col;

	name = strncmp(name, "transformer.", 12) ? name : name + 12;
	for (; *name; name++)
		sum += (unsigned char)*name;
	return ((float)(sum % 31) - 15) / 8;
}

/* numbers that are not what hf-file wrote; 1000 is what they were before */
static size_t wrong(const struct model *m)
{
	size_t n = 0;

	for (uint32_t i = 0; i < m->n; i++)
		for (uint32_t j = 0; j < m->t[i].count; j++)
			n += m->p[m->t[i].off + j] !=
			     value(m->t[i].name, j / m->t[i].dim[1], j % m->t[i].dim[1]);
	return n;
}

/* ---- in ---- */

static void reads(struct model *m, const char *what, const char *words)
{
	int ret;

	for (size_t i = 0; i < m->params; i++)
		m->p[i] = 1000;
	if (hf_file("write %s %s", in_dir("in"), words))
		abort();
	ret = wse_hf_read(in_dir("in"), m->table, m->n);
	ok(!ret && !wrong(m), "%s: %zu of %zu numbers wrong %s", what, wrong(m), m->params,
	   ret ? wse_error() : "");
}

static void in(void)
{
	struct model m, own;

	make(&m, 2, 8, 11, 1);
	make(&own, 2, 8, 11, 0);
	reads(&m, "F32", "");
	reads(&m, "F16", "dtype=F16");
	reads(&m, "BF16", "dtype=BF16");
	reads(&m, "names without transformer.", "prefix=");
	reads(&m, "mask buffers, one of them a scalar", "masks=1 dtype=F16");
	reads(&m, "mask buffers without transformer.", "masks=1 prefix=");
	reads(&m, "slopes of a BTLM", "extra=transformer.relative_pe.slopes");
	reads(&m, "moments of a checkpoint of ours", "extra=optimizer.exp_avg.wte.weight");
	reads(&m, "lm_head.weight that is wte", "head=1");
	reads(&own, "lm_head.weight of its own", "head=2");
	free(m.p);
	free(own.p);
}

/* ---- what does not fit ---- */

static void refuses(struct model *m, const char *words, int err, const char *says)
{
	size_t touched = 0;
	int ret;

	for (size_t i = 0; i < m->params; i++)
		m->p[i] = 1000;
	if (hf_file("write %s %s", in_dir("in"), words))
		abort();
	ret = wse_hf_read(in_dir("in"), m->table, m->n);
	for (size_t i = 0; i < m->params; i++)
		touched += m->p[i] != 1000;
	ok(ret == err && !touched && strstr(wse_error(), says), "%s: %s (%s)", words, wse_error(),
	   strerror(-ret));
}

static void misfits(void)
{
	struct model m, own;

	make(&m, 2, 8, 11, 1);
	make(&own, 2, 8, 11, 0);
	refuses(&m, "layers=3", -EINVAL, "num_hidden_layers is 3 there, 2 in this model");
	refuses(&m, "layers=1", -EINVAL, "num_hidden_layers is 1 there, 2 in this model");
	refuses(&m, "hidden=6", -EINVAL, "hidden_size is 6 there, 8 in this model");
	refuses(&m, "vocab=12 positions=7 filter=16", -EINVAL,
		"vocab_size is 12 there, 11 in this model; max_position_embeddings is 7 there, 6 in "
		"this model; filter_size is 16 there, 12 in this model");
	refuses(&m, "linear=1", -EINVAL,
		"24 x 8 there, 8 x 24 in this model: it lies as [out][in]");
	refuses(&m, "drop=h.1.ln_2.bias", -EINVAL, "transformer.h.1.ln_2.bias is not in it");
	refuses(&m, "drop=wte.weight", -EINVAL, "wte.weight is not in it: no GPT-2");
	refuses(&m, "extra=transformer.h.0.attn.rotary", -EINVAL,
		"transformer.h.0.attn.rotary is in it, and not in this model");
	refuses(&m, "extra=ln_f.bias", -EINVAL, "ln_f.bias is 2 there, 8 in this model");
	refuses(&m, "hidden=8 prefix= extra=transformer.ln_f.bias drop=ln_f.bias", -EINVAL,
		"transformer.ln_f.bias is 2 there, 8 in this model");
	refuses(&m, "dtype=F64", -EINVAL, "of type F64 there; F32, F16 and BF16 are read");
	refuses(&m, "nan=h.1.mlp.c_proj.weight", -ERANGE, "h.1.mlp.c_proj.weight[3] is not finite");
	refuses(&m, "nan=wte.weight dtype=BF16", -ERANGE, "wte.weight[3] is not finite");
	refuses(&m, "nan=wte.weight dtype=F16", -ERANGE, "wte.weight[3] is not finite");
	refuses(&m, "head=2", -EINVAL, "output layer has weights of its own, this model's is tied");
	refuses(&own, "", -EINVAL, "output layer is tied to wte, this model's is not");
	free(m.p);
	free(own.p);
}

/* a whole file with two tensors of one name, with and without the prefix */
static void twice(void)
{
	float data[8] = {0};
	struct wse_st_tensor t[2] = {{"transformer.wte.weight", 2, {2, 4}, 8, data, 0},
				     {"wte.weight", 2, {2, 4}, 8, data, 0}};
	struct wse_st st = {.ntensors = 2, .tensors = t};
	struct wse_hf_tensor table = {"transformer.wte.weight", 2, {2, 4}, 0, data};
	int ret;

	if (wse_st_write(in_dir("twice"), &st))
		abort();
	ret = wse_hf_read(in_dir("twice"), &table, 1);
	ok(ret == -EINVAL &&
		   strstr(wse_error(), "wte.weight is in it twice, as transformer.wte.weight too"),
	   "%s", wse_error());
}

static void damage(void)
{
	char cut[128];
	int refused = 0, n = 0;
	struct model m;
	struct stat sb;

	make(&m, 2, 8, 11, 1);
	snprintf(cut, sizeof(cut), "%s", in_dir("cut"));
	if (hf_file("write %s masks=1", cut) || stat(cut, &sb))
		abort();
	for (off_t at = sb.st_size - 1; at >= 0; at -= 101, n++)
		refused += !truncate(cut, at) && wse_hf_read(cut, m.table, m.n) == -EBADMSG;
	ok(refused == n, "a file cut short, %d times: %s", n, wse_error());
	ok(wse_hf_read(in_dir("none"), m.table, m.n) == -ENOENT, "no file: %s", wse_error());
	free(m.p);
}

/* ---- several files and an index ---- */

#define SHARD "model-0000%d-of-00002.safetensors"

static char index_text[1 << 15];

/* the file `in` as two shards in dir/sharded, and the text of their index */
static void split(void)
{
	struct st_whole w;
	char name[64], path[200];
	size_t at = 0, bytes = 0;
	uint32_t n;

	snprintf(path, sizeof(path), "%s", in_dir("sharded"));
	mkdir(path, 0700);
	if (st_whole_read(in_dir("in"), &w))
		abort();
	n = w.st.ntensors / 2;
	for (uint32_t k = 0; k < w.st.ntensors; k++)
		bytes += w.st.tensors[k].count * sizeof(float);
	at += (size_t)sprintf(index_text,
			      "{\"metadata\": {\"total_size\": %zu, \"x\": [1, {\"y\": "
			      "null}, \"]\"]},\n\"weight_map\": {",
			      bytes);
	for (int i = 0; i < 2; i++) {
		struct wse_st part = {.ntensors = i ? w.st.ntensors - n : n,
				      .tensors = w.st.tensors + (i ? n : 0)};

		snprintf(name, sizeof(name), SHARD, i + 1);
		snprintf(path, sizeof(path), "%s/sharded/%s", dir, name);
		if (wse_st_write(path, &part))
			abort();
		for (uint32_t k = 0; k < part.ntensors; k++)
			at += (size_t)sprintf(index_text + at, "%s\"%s\": \"%s\"",
					      i || k ? ", " : "", part.tensors[k].name, name);
	}
	sprintf(index_text + at, "}}\n");
	st_whole_free(&w);
}

/* the index with `from` as `to` */
static void put_index(const char *from, const char *to)
{
	const char *at = from ? strstr(index_text, from) : NULL;
	FILE *f = fopen(in_dir("sharded/model.safetensors.index.json"), "w");

	if (!f || (from && !at))
		abort();
	if (at)
		fprintf(f, "%.*s%s%s", (int)(at - index_text), index_text, to, at + strlen(from));
	else
		fputs(index_text, f);
	fclose(f);
}

static void no_index(const struct model *m, const char *from, const char *to, int err,
		     const char *says)
{
	int ret;

	put_index(from, to);
	ret = wse_hf_read(in_dir("sharded"), m->table, m->n);
	ok(ret == err && strstr(wse_error(), says), "%s", wse_error());
	put_index(NULL, NULL);
}

static void shards(void)
{
	char path[200], other[800];
	struct model m;
	struct wse_st_file f;
	int ret, refused = 0, changed = 0;

	make(&m, 2, 8, 11, 1);
	if (hf_file("write %s", in_dir("in")))
		abort();
	split();
	put_index(NULL, NULL);
	ret = wse_hf_read(in_dir("sharded"), m.table, m.n);
	ok(!ret && !wrong(&m), "a directory with an index: %zu numbers wrong %s", wrong(&m),
	   ret ? wse_error() : "");
	for (size_t i = 0; i < m.params; i++)
		m.p[i] = 1000;
	ret = wse_hf_read(in_dir("sharded/model.safetensors.index.json"), m.table, m.n);
	ok(!ret && !wrong(&m), "the index: %zu numbers wrong %s", wrong(&m),
	   ret ? wse_error() : "");
	ret = wse_st_open(in_dir("sharded"), &f);
	ok(!ret && f.nshards == 2 && !wse_st_check(&f, NULL, NULL) && f.nviews == m.n,
	   "which has two files");
	if (!ret)
		wse_st_close(&f);

	no_index(&m, "{", "", -EBADMSG, "the index is damaged near byte 0");
	no_index(&m, "weight_map", "weights", -EBADMSG, "no weight_map");
	no_index(&m, index_text, "{}", -EBADMSG, "the index is damaged near byte 1");
	no_index(&m, index_text, "", -EBADMSG, "the index is damaged near byte 0");
	no_index(&m, "\"weight_map", "\"weight_map\": {}, \"weight_map", -EBADMSG,
		 "weight_map is in the index twice");
	no_index(&m, "\"total_size\": ", "\"total_size\": 1", -EBADMSG,
		 "the index says total_size 1");
	no_index(&m, "\"total_size\": ", "\"total_size\": 0.", -EBADMSG, "is no whole number");
	no_index(&m, "\"x\"", "\"total_size\": 0, \"x\"", -EBADMSG,
		 "total_size is in the index twice");
	no_index(&m, "}}\n", "}} x", -EBADMSG, "the index is damaged");
	no_index(&m, "\"weight_map", "\"a\": [[[, \"weight_map", -EBADMSG, "the index is damaged");
	no_index(&m, "-00001-of", "-00003-of", -ENOENT,
		 "shard model-00003-of-00002.safetensors: it is missing");
	no_index(&m, "model-00001-of", "../model-00001-of", -EBADMSG,
		 "the index names the file \"../model-00001-of");
	no_index(&m, "model-00001-of", "/etc/model-00001-of", -EBADMSG,
		 "a name of a file beside it");
	no_index(&m, "model-00001-of-00002.safetensors", "..", -EBADMSG,
		 "not beginning with a dot");
	no_index(&m, "model-00001-of-00002.safetensors", "", -EBADMSG, "the file \"\"");
	no_index(&m, "model-00001-of-00002.safetensors", "model.safetensors.index.json", -EBADMSG,
		 "shard model.safetensors.index.json: ");
	no_index(&m, "\"transformer.wte.weight\"", "\"transformer.wt.weight\"", -EBADMSG,
		 "does not hold transformer.wt.weight, as the index says");
	no_index(&m, "\"transformer.wte.weight\": \"model-00001-of-00002.safetensors\", ", "",
		 -EBADMSG, "it holds transformer.wte.weight, which the index does not know");
	no_index(&m, "\"transformer.wte.weight\": \"model-00001-of",
		 "\"transformer.wte.weight\": \"model-00002-of", -EBADMSG,
		 "it holds transformer.wte.weight, which the index has in model-00002-of");
	no_index(&m, "{\"transformer.wte.weight\"",
		 "{\"transformer.\\u0077te.weight\": \"model-00001-of-00002.safetensors\", "
		 "\"transformer.wte.weight\"",
		 -EBADMSG, "transformer.wte.weight is in the index twice");

	for (size_t i = 0, n = strlen(index_text); i < n; i += 3) { /* the sanitizers watch */
		char was = index_text[i];

		index_text[i] = "\"{}[]:,\\x9"[i / 3 % 10];
		put_index(NULL, NULL);
		refused += wse_hf_read(in_dir("sharded"), m.table, m.n) < 0;
		index_text[i] = was;
		changed++;
	}
	ok(refused > changed / 2, "an index with a character changed: %d of %d refused", refused,
	   changed);
	put_index(NULL, NULL);

	/* a shard of a model of the same tensors, of other sizes; damaged; missing */
	snprintf(path, sizeof(path), "%s/sharded/" SHARD, dir, 2);
	snprintf(other, sizeof(other), "mv %s %s/keep", path, dir);
	if (hf_file("write %s filter=16", in_dir("in")) || system(other))
		abort();
	snprintf(other, sizeof(other), "cp %s/sharded/" SHARD " %s/first", dir, 1, dir);
	if (system(other))
		abort();
	split();
	snprintf(other, sizeof(other), "mv %s/first %s/sharded/" SHARD, dir, dir, 1);
	if (system(other))
		abort();
	put_index("total_size", "bytes"); /* which it would fail by first */
	ret = wse_hf_read(in_dir("sharded"), m.table, m.n);
	ok(ret == -EINVAL && strstr(wse_error(), "16 there, "), "a shard of other sizes: %s",
	   wse_error());
	snprintf(
		other, sizeof(other),
		"mv %s/keep %s && printf x | dd of=%s conv=notrunc bs=1 seek=$(($(stat -c %%s %s) - 9)) "
		"2>/dev/null",
		dir, path, path, path);
	if (system(other))
		abort();
	for (size_t i = 0; i < m.params; i++)
		m.p[i] = 1000;
	ret = wse_hf_read(in_dir("sharded"), m.table, m.n);
	ok(ret == -EBADMSG && strstr(wse_error(), "does not match: corrupted") && m.p[0] == 1000,
	   "a shard that was damaged: %s", wse_error());
	unlink(path);
	ret = wse_hf_read(in_dir("sharded"), m.table, m.n);
	ok(ret == -ENOENT &&
		   strstr(wse_error(), "shard model-00002-of-00002.safetensors: it is missing"),
	   "%s", wse_error());
	free(m.p);
	snprintf(other, sizeof(other), "rm -r %s/sharded", dir);
	if (system(other))
		abort();
}

/* ---- numbers ---- */

/* every F16 and BF16 against the value by its definition */
static void halves(void)
{
	static uint16_t data[2][65536];
	static float got[65536];
	struct wse_hf_tensor table = {"wte.weight", 2, {1, 65536}, 0, got};
	char header[256];
	int bad = 0, ret = 0;

	for (int type = 0; type < 2; type++) {
		uint16_t mask =
			type ? 0x7f80 : 0x7c00; /* infinities and NaN are refused elsewhere */
		uint64_t len;
		FILE *f;

		for (uint32_t i = 0; i < 65536; i++)
			data[type][i] = (i & mask) == mask ? 0 : (uint16_t)i;
		len = (uint64_t)snprintf(header, sizeof(header),
					 "{\"wte.weight\":{\"dtype\":\"%s\",\"shape\":[1,65536],"
					 "\"data_offsets\":[0,131072]}}",
					 type ? "BF16" : "F16");
		f = fopen(in_dir("half"), "w");
		if (!f)
			abort();
		fwrite(&len, 8, 1, f);
		fwrite(header, len, 1, f);
		fwrite(data[type], sizeof(data[type]), 1, f);
		fclose(f);
		ret |= wse_hf_read(in_dir("half"), &table, 1);
		for (uint32_t i = 0; i < 65536; i++) {
			uint16_t h = data[type][i];
			int mbits = type ? 7 : 10, bias = type ? 127 : 15;
			int e = (h & 0x7fff) >> mbits, m = h & ((1 << mbits) - 1);
			double v = e ? (1 << mbits) + m : m;

			for (int k = (e ? e : 1) - bias - mbits; k; k += k < 0 ? 1 : -1)
				v = k < 0 ? v / 2 : v * 2;
			bad += wse_f2u(got[i]) != wse_f2u((float)(h & 0x8000 ? -v : v));
		}
	}
	ok(!ret && !bad, "all F16 and BF16 numbers: %d wrong %s", bad, ret ? wse_error() : "");
}

/* ---- out ---- */

static void out(void)
{
	struct model m, back;
	struct stat sb;
	int ret;

	make(&m, 2, 8, 11, 1);
	make(&back, 2, 8, 11, 1);
	for (uint32_t i = 0; i < m.n; i++)
		for (uint32_t j = 0; j < m.t[i].count; j++)
			m.p[m.t[i].off + j] =
				value(m.t[i].name, j / m.t[i].dim[1], j % m.t[i].dim[1]);
	ret = wse_hf_write(in_dir("out"), m.table, m.n);
	ok(!ret && !hf_file("check %s", in_dir("out")), "written as Hugging Face's %s",
	   ret ? wse_error() : "");
	ret = wse_hf_read(in_dir("out"), back.table, back.n);
	ok(!ret && !memcmp(back.p, m.p, m.params * sizeof(float)), "and read back %s",
	   ret ? wse_error() : "");
	m.p[m.t[2].off + 1] = 1.0f / 0.0f;
	ret = wse_hf_write(in_dir("inf"), m.table, m.n);
	ok(ret == -ERANGE && strstr(wse_error(), "transformer.h.0.ln_1.weight[1] is not finite") &&
		   stat(in_dir("inf"), &sb),
	   "%s: nothing is written", wse_error());
	ret = wse_hf_write("/proc/nowhere/x", back.table, back.n);
	ok(ret == -ENOENT, "no such folder: %s", wse_error());
	free(m.p);
	free(back.p);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	in();
	misfits();
	twice();
	damage();
	shards();
	halves();
	out();
	for (size_t i = 0; i < 5; i++)
		unlink(in_dir(((const char *[]){"in", "twice", "cut", "half", "out"})[i]));
	rmdir(dir);
	return tap_end();
}
