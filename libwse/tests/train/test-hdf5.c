// SPDX-License-Identifier: MIT
/*
 * The Model Zoo's HDF5 files, and tokens that do not count: what is read, what is refused, and a
 * step against the fp32 reference. The files are written here.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "own_dir.h"
#include "tap.h"

#if __has_include(<hdf5.h>)
#include <hdf5.h>

#include "base/error.h"
#include "input/data.h"
#include "input/hdf5.h"
#include "gradient.h"
#include "num/num.h"
#include "ref/gpt_ref.h"
#include "state.h"
#include "train/session.h"

enum { S = 64, N = 16, COUNT = 40 };

/* a sample: its tokens, and which count as labels */
struct sample {
	int32_t row[3][S];
};

static uint32_t token(uint64_t seed, uint32_t sample, uint32_t i, uint32_t vocab)
{
	return (uint32_t)(wse_rng_u64(seed, sample, i / 3) % vocab);
}

static struct sample *samples(uint64_t seed, uint32_t n, uint32_t vocab, uint32_t count)
{
	struct sample *s = calloc(n, sizeof(*s));

	for (uint32_t k = 0; k < n; k++)
		for (uint32_t i = 0; i < S; i++) {
			s[k].row[0][i] = (int32_t)token(seed, k, i, vocab);
			s[k].row[1][i] = i < count;
			s[k].row[2][i] = (int32_t)token(seed, k, i + 1, vocab);
		}
	return s;
}

static int floats;	   /* what is written is of no whole numbers */
static hsize_t examples_n; /* n_examples is an array of so many */

/* dims [3] of what is written: the first n of the samples; examples -1: no attribute */
static void write_as(const char *path, const char *set, const struct sample *s, const hsize_t *dims,
		     int ndims, long long examples)
{
	hid_t f = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), space, d;

	space = H5Screate_simple(ndims, dims, NULL);
	d = H5Dcreate2(f, set, floats ? H5T_IEEE_F32LE : H5T_STD_I32LE, space, H5P_DEFAULT,
		       H5P_DEFAULT, H5P_DEFAULT);
	H5Dwrite(d, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, s);
	H5Dclose(d);
	H5Sclose(space);
	if (examples >= 0) {
		long long *all = calloc(examples_n + 1, sizeof(*all));

		for (hsize_t i = 0; i < examples_n + 1; i++)
			all[i] = examples;
		space = examples_n ? H5Screate_simple(1, &examples_n, NULL) : H5Screate(H5S_SCALAR);
		d = H5Acreate2(f, "n_examples", H5T_NATIVE_LLONG, space, H5P_DEFAULT, H5P_DEFAULT);
		H5Awrite(d, H5T_NATIVE_LLONG, all);
		free(all);
		H5Aclose(d);
		H5Sclose(space);
	}
	H5Fclose(f);
}

static void write_samples(const char *path, const struct sample *s, uint32_t n)
{
	write_as(path, "data", s, (hsize_t[]){n, 3, S}, 3, n);
}

/* ---- what is read ---- */

static struct wse_data_cfg cfg_of(const char *path)
{
	return (struct wse_data_cfg){.path = path,
				     .vocab = 256,
				     .window = 1,
				     .span = S,
				     .val = {{.held_out = S}},
				     .nval = 1};
}

static void folders(void)
{
	struct sample *a = samples(1, N, 256, COUNT), *b = samples(2, 3, 256, S);
	char list[500];
	struct wse_data d;
	struct wse_data_cfg c = cfg_of(list);
	int same = 1, ret;

	mkdir(in_dir("one"), 0700);
	mkdir(in_dir("two"), 0700);
	write_samples(in_dir("one/b.h5"), a + 2, N - 2);
	write_samples(in_dir("one/a.h5"), a, 2);
	write_samples(in_dir("two/x.h5"), b, 3);
	fclose(fopen(in_dir("one/data_params.json"), "w"));
	snprintf(list, sizeof(list), "%s\n%s\n", in_dir("one"), in_dir("two"));
	ret = wse_data_open(&c, &d);
	ok(!ret && d.ntrain == N + 2 && d.val[0].samples == 1 && d.t.mask,
	   "two folders of files%s%s", ret ? ": " : "", ret ? wse_error() : "");
	for (uint32_t k = 0; k < N + 2 && !ret; k++) {
		const uint16_t *at = wse_data_train(&d, 0, k);
		const uint8_t *mask = wse_data_mask(&d, at);
		const struct sample *s = k < N ? &a[k] : &b[k - N];

		for (uint32_t i = 0; i < S; i++)
			same &= at[(int)i - 1] == s->row[0][i] && mask[i] == s->row[1][i] &&
				(!mask[i] || at[i] == s->row[2][i]);
	}
	ok(!ret && same,
	   "inputs, labels and masks are those of the files, in the order of their names");
	ok(!ret && wse_data_held(&d, 0, 0)[-1] == b[2].row[0][0], "the last sample is held out");
	if (!ret)
		wse_data_close(&d);
	c.path = in_dir("two");
	c.val[0].path = in_dir("one");
	ret = wse_data_open(&c, &d);
	ok(!ret && d.ntrain == 3 && d.val[0].samples == N && !d.t.mask && d.val[0].t.mask &&
		   wse_data_held(&d, 0, 1)[5] == a[1].row[2][5] &&
		   !wse_data_mask(&d, wse_data_train(&d, 0, 1)) &&
		   !wse_data_mask(&d, wse_data_held(&d, 0, 1))[COUNT],
	   "held-out files; where all count there is no mask %s", ret ? wse_error() : "");
	if (!ret)
		wse_data_close(&d);
	free(a);
	free(b);
}

/* as a tool leaves them whose last shards have nothing to hold */
static void empty_files(void)
{
	struct sample *s = samples(1, N, 256, S);
	struct wse_data_cfg c;
	struct wse_data d;
	int ret;

	mkdir(in_dir("empty"), 0700);
	write_samples(in_dir("empty/a.h5"), s, 0);
	write_samples(in_dir("empty/b.h5"), s, 0);
	write_samples(in_dir("empty/c.h5"), s, N);
	write_samples(in_dir("empty/d.h5"), s, 0);
	c = cfg_of(in_dir("empty"));
	ret = wse_data_open(&c, &d);
	ok(!ret && d.ntrain == N - 1 && wse_data_train(&d, 0, 1)[5] == s[1].row[2][5],
	   "files without samples among others%s%s", ret ? ": " : "", ret ? wse_error() : "");
	if (!ret)
		wse_data_close(&d);
	free(s);
}

static void refuse(const char *path, const char *says)
{
	struct wse_data d;
	struct wse_data_cfg c = cfg_of(path);
	int ret = wse_data_open(&c, &d);

	ok(ret < 0 && strstr(wse_error(), says) && !strchr(wse_error(), '\n'), "%s",
	   ret < 0 ? wse_error() : "it was taken");
	if (!ret)
		wse_data_close(&d);
}

/* chunks with checksums; without samples none is on the disk: only the dimensions are large */
static void write_chunks(const char *path, const struct sample *s, hsize_t n)
{
	hid_t f = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	hid_t space = H5Screate_simple(3, (hsize_t[]){n, 3, S}, NULL);
	hid_t how = H5Pcreate(H5P_DATASET_CREATE), d;

	H5Pset_chunk(how, 3, (hsize_t[]){s ? n : 64, 3, S});
	H5Pset_fletcher32(how);
	d = H5Dcreate2(f, "data", H5T_STD_I32LE, space, H5P_DEFAULT, how, H5P_DEFAULT);
	if (s)
		H5Dwrite(d, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, s);
	H5Dclose(d);
	H5Pclose(how);
	H5Sclose(space);
	H5Fclose(f);
}

static void damage(const char *path, const struct sample *s)
{
	static char all[1 << 16];
	FILE *f = fopen(path, "r+");
	size_t n = f ? fread(all, 1, sizeof(all), f) : 0, at = 0;

	while (at + sizeof(s->row[0]) <= n && memcmp(all + at, s->row[0], sizeof(s->row[0])))
		at++;
	ok(at + sizeof(s->row[0]) <= n && !fseek(f, (long)at, SEEK_SET) && fputc(~all[at], f) >= 0,
	   "a byte of its samples is another");
	if (f)
		fclose(f);
}

static void bad(void)
{
	struct sample *s = samples(3, 4, 256, S);
	const char *path = in_dir("bad.h5");
	struct wse_data d;
	struct wse_data_cfg c = cfg_of(path);
	FILE *f;

	write_as(path, "tokens", s, (hsize_t[]){4, 3, S}, 3, 4);
	refuse(path, "it has no dataset \"data\"");
	write_as(path, "data", s, (hsize_t[]){4 * 3 * S}, 1, -1);
	refuse(path, "one row of tokens");
	write_as(path, "data", s, (hsize_t[]){12, S}, 2, -1);
	refuse(path, "has 2 dimensions, not 3");
	floats = 1;
	write_samples(path, s, 4);
	refuse(path, "is not of whole numbers");
	floats = 0;
	write_as(path, "data", s, (hsize_t[]){6, 2, S}, 3, -1);
	refuse(path, "has 2 rows a sample, not 3");
	write_as(path, "data", s, (hsize_t[]){4, 3, S}, 3, 5);
	refuse(path, "n_examples is 5, its dataset \"data\" has 4");
	examples_n = 1;
	write_as(path, "data", s, (hsize_t[]){4, 3, S}, 3, 5);
	refuse(path, "n_examples is 5, its dataset \"data\" has 4");
	examples_n = 4096;
	write_as(path, "data", s, (hsize_t[]){4, 3, S}, 3, 4);
	refuse(path, "its attribute n_examples is not one number");
	examples_n = 0;
	write_as(path, "data", s, (hsize_t[]){8, 3, S / 2}, 3, 8);
	refuse(path, "choose train_dataloader.max_sequence_length 32");
	write_chunks(path, s, 4);
	damage(path, s);
	refuse(path, "its samples cannot be read (libhdf5: data error detected by Fletcher32");
	write_chunks(path, NULL, UINT64_MAX / (S + 1) + 1);
	refuse(path, "no memory for 283796062672454641 samples");
	s[2].row[0][7] = s[2].row[2][6] = 256;
	write_samples(path, s, 4);
	refuse(path, "sample 2: label 6 is token 256, outside the vocabulary of 256: choose "
		     "vocab_size 257");
	s[2].row[0][7] = s[2].row[2][6] = -100;
	s[2].row[1][6] = 0;
	write_samples(path, s, 4);
	refuse(path, "sample 2: input 7 is token -100");
	s[2].row[0][7] = 1;
	write_samples(path, s, 4);
	c.val[0].held_out = S;
	ok(!wse_data_open(&c, &d) && wse_data_train(&d, 0, 2)[6] == 1,
	   "a label that does not count may be -100");
	wse_data_close(&d);
	s[1].row[1][3] = 7;
	write_samples(path, s, 4);
	refuse(path, "sample 1: mask 3 is 7, not 0 or 1");
	s[1].row[1][3] = 1;
	s[1].row[2][3] ^= 1;
	write_samples(path, s, 4);
	refuse(path, "labels that count must be the next inputs");
	s[1].row[2][3] ^= 1;
	write_samples(path, s, 4);
	ok(!truncate(path, 1500), "the file is cut short");
	refuse(path, "bad.h5: it is no whole HDF5 file (libhdf5: ");
	f = fopen(path, "w");
	fputs("text\n", f);
	fclose(f);
	refuse(path, "it is no whole HDF5 file");
	write_samples(path, s, 4);
	c.val[0].held_out = 4 * S;
	ok(wse_data_open(&c, &d) == -EINVAL && strstr(wse_error(), "would be held out: choose"),
	   "%s", wse_error());
	c.val[0].held_out = S;
	c.window = 8;
	ok(wse_data_open(&c, &d) == -EINVAL && strstr(wse_error(), "are for GPTs"), "%s",
	   wse_error());
	c.window = 1;
	c.val[0].path = "README.md";
	ok(wse_data_open(&c, &d) == -EINVAL && strstr(wse_error(), "neither is"), "%s",
	   wse_error());
	refuse("/nowhere/x.h5", "/nowhere/x.h5: No such file");
	setenv("WSE_HDF5", "/nowhere/wse-hdf5.so", 1);
	refuse(path, "install libhdf5-103-1");
	unsetenv("WSE_HDF5");
	free(s);
}

/* ---- what does not count ---- */

static const char yaml[] =
	"trainer:\n"
	"  init:\n"
	"    model: {name: gpt2, hidden_size: 64, num_hidden_layers: 2, num_heads: 4,\n"
	"            max_position_embeddings: 64}\n"
	"    optimizer: {AdamW: {betas: [0.9, 0.95], weight_decay: 0.01}}\n"
	"    schedulers: [{ConstantLR: {learning_rate: 3.0e-3}}]\n"
	"    loop: {max_steps: 20, eval_frequency: 0}\n"
	"    sampling: {tokens: 0}\n"
	"  fit:\n"
	"    train_dataloader: {data_processor: GptHDF5MapDataProcessor, data_dir: [DIR],\n"
	"      batch_size: 4, micro_batch_size: 1, shuffle: false, num_workers: 1}\n"
	"    val_dataloader: {data_processor: GptHDF5DataProcessor, data_dir: DIR}\n";

static int open_run(struct wse_session *s, const char *uri, uint32_t n, const char *const *sets,
		    uint32_t nsets, const char *folder)
{
	const char *uris[2] = {uri, uri};
	char text[sizeof(yaml) + 200], *at;
	struct wse_config cfg;
	int ret, len = 0;

	for (const char *p = yaml; *p; p = at ? at + 3 : p + strlen(p)) {
		at = strstr(p, "DIR]")	 ? strstr(p, "DIR")
		     : strstr(p, "DIR}") ? strstr(p, "DIR")
					 : NULL;
		len += snprintf(text + len, sizeof(text) - (size_t)len, "%.*s%s",
				at ? (int)(at - p) : (int)strlen(p), p, at ? in_dir(folder) : "");
	}
	ret = wse_config_parse("test", text, strlen(text), sets, nsets, &cfg);
	return ret ? ret : wse_session_open(s, &cfg, uris, n, NULL);
}

/* the first COUNT tokens of each sample count: the gradient is that of samples cut there */
static void reference(const char *uri, const char *set, uint32_t vocab)
{
	const char *sets[] = {set};
	uint16_t tokens[4 * (COUNT + 1)];
	struct gpt_ref_cfg c = {.vocab = vocab,
				.positions = S,
				.hidden = 64,
				.layers = 2,
				.heads = 4,
				.filter = 256,
				.act = GPT_REF_GELU,
				.eps = 1e-5f,
				.tied = 1};
	struct wse_session s;
	struct wse_step_result r;
	struct sample *a = samples(4, N, vocab, COUNT);
	struct distance d = {0};
	struct gpt_ref *ref;
	struct state st;
	float *got, *want;
	double loss = 0, held = 0;
	uint64_t n = 0;
	int ret;

	mkdir(in_dir("ref"), 0700);
	write_samples(in_dir("ref/a.h5"), a, N);
	ret = open_run(&s, uri, 1, sets, 1, "ref");
	if (!ok(!ret, "%s, %s: masked samples%s%s", uri, set, ret ? ": " : "",
		ret ? wse_error() : ""))
		return;
	got = malloc(s.table->params * sizeof(*got));
	want = malloc(s.table->params * sizeof(*want));
	ret = wse_session_compute(&s, &r);
	ret = ret ? ret : wse_session_check_grads(&s);
	ret = ret ? ret : gpt_ref_open(&ref, &c, 4, COUNT, 2);
	if (!ret) {
		for (uint32_t k = 0; k < 4; k++)
			for (uint32_t i = 0; i <= COUNT; i++)
				tokens[k * (COUNT + 1) + i] = (uint16_t)token(4, k, i, vocab);
		st = state_of(s.memx);
		for (uint32_t i = 0; i < st.table->n; i++)
			wse_memx_grad(s.memx, i, got + st.table->t[i].off);
		loss = gpt_ref_loss(ref, st.params, tokens, 4, want, NULL);
		d = gradient_distance(s.table, got, want);
		state_free(&st);
		gpt_ref_close(ref);
	}
	ok(!ret && fabs(r.loss - loss) < 1e-5 * loss, "masked loss %.7f, fp32 %.7f: %.1e apart",
	   r.loss, loss, fabs(r.loss - loss) / loss);
	ok(!ret && gradient_close(d), "its gradient: worst relative L2 %.3f %%, cosine %.6f",
	   100 * d.l2, d.cosine);
	ret = ret ? ret : wse_session_eval(&s, 0, 1, &held, &n);
	ok(!ret && n == 4 && fabs(held - r.loss) < 1e-12, "the same samples held out: %.7f", held);
	free(got);
	free(want);
	free(a);
	wse_session_close(&s);
}

/* two steps; a checksum of all parameters */
static uint64_t steps(const char *uri, uint32_t n, const char *const *sets, uint32_t nsets,
		      const char *folder, struct wse_step_result *r)
{
	struct wse_session s;
	struct state st;
	uint64_t sum = 0;
	int ret = open_run(&s, uri, n, sets, nsets, folder);

	for (int i = 0; i < 2 && !ret; i++) {
		ret = wse_session_compute(&s, r);
		ret = ret ? ret : wse_session_commit(&s, r);
	}
	if (ret) {
		printf("# %s\n", wse_error());
	} else {
		wse_memx_finish(s.memx);
		st = state_of(s.memx);
		sum = wse_checksum64(st.params, st.table->params * 4);
		state_free(&st);
	}
	wse_session_close(&s);
	return sum;
}

/* a run does not go on with another scale of its loss unless it is told to */
static void weighed(const char *const *sets)
{
	static const char twin[] = "sim:func,rows=4,cols=4";
	struct wse_session a, b;
	int ret = open_run(&a, twin, 1, sets, 2, "ref");

	ret = ret ? ret : wse_session_save(&a, in_dir("w"), NULL);
	ret = ret ? ret : open_run(&b, twin, 1, (const char *[]){sets[0]}, 1, "ref");
	ok(!ret && wse_session_load(&b, in_dir("w"), WSE_CKPT_ALL) == -EINVAL &&
		   strstr(wse_error(), "loss_weight: \"0.015625 a sample\" there"),
	   "%s", wse_error());
	wse_session_close(&a);
	wse_session_close(&b);
}

static void same_bits(void)
{
	static const char *const weight[] = {"model.loss_scaling=batch_size",
					     "model.loss_weight=0.015625"};
	static const char *const small[] = {"model.num_hidden_layers=1", "model.num_heads=2",
					    "model.hidden_size=32"};
	static const char *const twin = "sim:func,rows=4,cols=4";
	struct sample *all = samples(5, N, 256, S);
	struct wse_step_result a, b;
	uint64_t sum;

	sum = steps(twin, 1, NULL, 0, "ref", &a);
	ok(sum && sum == steps(twin, 2, NULL, 0, "ref", &b), "two wafers make the bits of one");
	sum = steps("sim:func,rows=2,cols=2", 1, small, 3, "ref", &a);
	ok(sum && sum == steps("sim:rtl,rows=2,cols=2", 1, small, 3, "ref", &b),
	   "the RTL makes those of the twin");
	ok(sum && sum == steps("oracle:rows=2,cols=2", 1, small, 3, "ref", &a),
	   "and so does the oracle");
	sum = steps(twin, 1, weight, 2, "ref", &a);
	ok(sum != steps(twin, 1, NULL, 0, "ref", &b) &&
		   fabs(b.norm * COUNT / S - a.norm) < 0.02 * a.norm,
	   "batch_size: a sample's tokens are not divided by those that count");
	weighed(weight);
	mkdir(in_dir("all"), 0700);
	write_samples(in_dir("all/a.h5"), all, N);
	sum = steps(twin, 1, weight, 2, "all", &a);
	ok(sum && sum == steps(twin, 1, NULL, 0, "all", &b) && a.norm == b.norm,
	   "where all count, batch_size with a weight of 1 / S is num_tokens, bit for bit");
	for (uint32_t k = 0; k < N; k++)
		memset(all[k].row[1], 0, sizeof(all[k].row[1]));
	write_samples(in_dir("all/a.h5"), all, N);
	ok(!steps(twin, 1, NULL, 0, "all", &a) &&
		   strstr(wse_error(), "no token of the batch counts"),
	   "a batch of nothing: %s", wse_error());
	free(all);
}

int main(void)
{
	char rm[100];

	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	if (!mkdtemp(dir))
		return 1;
	folders();
	empty_files();
	bad();
	/* in chunks */
	reference("sim:func,rows=4,cols=4", "model.vocab_size=2000", 2000);
	reference("sim:func,rows=4,cols=4", "model.vocab_size=256", 256);
	same_bits();
	snprintf(rm, sizeof(rm), "rm -r %s", dir);
	return system(rm) ? 1 : tap_end();
}

#else

int main(void)
{
	printf("1..0 # SKIP no libhdf5-dev\n");
	return 0;
}

#endif
