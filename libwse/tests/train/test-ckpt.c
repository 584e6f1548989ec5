// SPDX-License-Identifier: MIT
/* Checkpoint files: round trip, damage, full disk; and the data loader's files. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input/data.h"
#include "num/num.h"
#include "num/sha256.h"
#include "base/error.h"
#include "memx/st_load.h"
#include "st_whole.h"
#include "own_dir.h"
#include "tap.h"

static void put(const char *path, const void *data, size_t n)
{
	FILE *f = fopen(path, "w");

	if (!f || fwrite(data, 1, n, f) != n)
		perror(path);
	if (f)
		fclose(f);
}

static size_t get(const char *path, char *data, size_t room)
{
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(data, 1, room, f) : 0;

	if (f)
		fclose(f);
	return n;
}

static void sha(void)
{
	struct wse_sha256 s;
	char hex[65];

	wse_sha256_init(&s);
	wse_sha256_add(&s, "abc", 3);
	wse_sha256_hex(&s, hex);
	ok(!strcmp(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
	   "SHA-256 of abc");
	wse_sha256_init(&s);
	for (int i = 0; i < 1000000; i++)
		wse_sha256_add(&s, "a", 1);
	wse_sha256_hex(&s, hex);
	ok(!strcmp(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
	   "SHA-256 of a million a");
}

/* a file whose key has another name, as if there had been no such checksum */
static void unsealed(const char *good, size_t n, const char *key, const char *other, int want)
{
	char bad[4096], *at = bad;
	struct st_whole in;
	int ret;

	memcpy(bad, good, n);
	while (memcmp(at, key, strlen(key)))
		at++;
	memcpy(at, other, strlen(other));
	put(in_dir("bad"), bad, n);
	ret = st_whole_read(in_dir("bad"), &in);
	if (!ret)
		st_whole_free(&in);
	ok(ret == want, "without %s: %s", key, wse_error());
}

/* another program's file has no checksums at all, and is read */
static void foreign(void)
{
	static const char header[] =
		"{\"__metadata__\":{\"format\":\"pt\"},\"w\":{\"dtype\":\"F32\","
		"\"shape\":[1],\"data_offsets\":[0,4]}}";
	char all[200];
	uint64_t len = strlen(header);
	float one = 1.0f;
	struct st_whole in;
	int ret;

	memcpy(all, &len, 8);
	memcpy(all + 8, header, len);
	memcpy(all + 8 + len, &one, 4);
	put(in_dir("pt"), all, 12 + len);
	ret = st_whole_read(in_dir("pt"), &in);
	ok(!ret && in.st.ntensors == 1 &&
		   !strcmp(wse_st_get(in.f.meta, in.f.nmeta, "format"), "pt"),
	   "another program's file %s", ret ? wse_error() : "");
	st_whole_free(&in);
}

/*
 * a file of this header and eight bytes of data: the name that it has to have, or what is said
 * against it
 */
static void header(const char *text, const char *name, const char *want)
{
	static const float data[2] = {1.0f, 2.0f};
	uint64_t len = strlen(text);
	char *all = malloc(len + 16);
	struct wse_st_file f;
	float got[2] = {0};
	int ret;

	memcpy(all, &len, 8);
	memcpy(all + 8, text, len);
	memcpy(all + 8 + len, data, 8);
	put(in_dir("other"), all, len + 16);
	ret = wse_st_open(in_dir("other"), &f);
	if (name)
		ok(!ret && wse_st_view(&f, name) &&
			   !wse_st_pread(wse_st_view(&f, name), 0, 8, got) && !memcmp(got, data, 8),
		   "%.60s is read %s", text, ret ? wse_error() : "");
	else
		ok(ret == -EBADMSG && strstr(wse_error(), want), "%.60s: %s", text, wse_error());
	if (!ret)
		wse_st_close(&f);
	free(all);
}

#define INFO(begin, end)  "{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[" begin "," end "]}"
#define INFO2(begin, end) "{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[" begin "," end "]}"

static void headers(void)
{
	static char long_text[110000], blanks[100001];

	/* what JSON allows */
	header("{\"w\":" INFO2("0", "8") "}", "w", NULL);
	header("{\"\\u0077.\\u00E9\":" INFO2("0", "8") "}", "w.\xc3\xa9", NULL);
	header("{\"\\ud83d\\ude00\":" INFO2("0", "8") "}", "\xf0\x9f\x98\x80", NULL);
	header("{\"a\\/\\\"\\\\b\":" INFO2("0", "8") "}", "a/\"\\b", NULL);
	header("{\"a\\u001b\\n\":" INFO2("0", "8") "}", "a\\u001b\\n", NULL);
	header("{\"w\":" INFO2("0e0", "8") "}", "w", NULL);
	header("{\"w\":" INFO2("-0.00E+7", "0.0800e2") "}", "w", NULL);
	header("{\"w\":" INFO2("0", "800e-2") "}", "w", NULL);
	header(" { } ", NULL, "the tensors need 0 bytes, the file has 8");
	memset(blanks, 'x', 100000);
	snprintf(long_text, sizeof(long_text), "{\"__metadata__\":{\"note\":\"%s\"},\"w\":%s}",
		 blanks, INFO2("0", "8"));
	header(long_text, "w", NULL);
	blanks[200] = 0;
	snprintf(long_text, sizeof(long_text), "{\"%s\":%s}", blanks, INFO2("0", "8"));
	header(long_text, blanks, NULL);

	/* what the sizes alone do not tell */
	header("{\"a\":" INFO("0", "4") ",\"b\":" INFO("0", "4") "}", NULL,
	       "a and b overlap at byte 0 of the data");
	header("{\"a\":" INFO("4", "8") ",\"b\":" INFO("4", "8") "}", NULL,
	       "bytes 0 to 4 of the data belong to no tensor");
	header("{\"a\":" INFO2("0", "8") ",\"b\":" INFO("4", "8") "}", NULL,
	       "a and b overlap at byte 4");
	header("{\"a\":" INFO("0", "4") "}", NULL, "the tensors need 4 bytes, the file has 8");
	header("{\"w\":" INFO("0", "4") ",\"\\u0077\":" INFO("4", "8") "}", NULL,
	       "w is in the header twice");
	header("{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"},\"w\":" INFO2("0", "8") "}", NULL,
	       "a is in the header twice");
	header("{\"w\":" INFO("0", "8") "}", NULL,
	       "w has data of 8 bytes, its shape and type need 4");

	/* no JSON, or no number of bytes */
	header("{\"\\ud83d\":" INFO2("0", "8") "}", NULL, "lone surrogate");
	header("{\"\\ud83d\\u0041\":" INFO2("0", "8") "}", NULL, "lone surrogate");
	header("{\"\\u00g1\":" INFO2("0", "8") "}", NULL, "damaged near byte 14");
	header("{\"\\x\":" INFO2("0", "8") "}", NULL, "damaged");
	header("{\"w\":" INFO2("00", "8") "}", NULL, "damaged");
	header("{\"w\":" INFO2("0", "8.") "}", NULL, "damaged");
	header("{\"w\":" INFO2("0", "8e") "}", NULL, "damaged");
	header("{\"w\":" INFO2("0", "7.5") "}", NULL, "no whole number");
	header("{\"w\":" INFO2("-8", "0") "}", NULL, "no whole number");
	header("{\"w\":" INFO2("0", "8e999999999999") "}", NULL, "no whole number");
	header("{\"w\":" INFO2("0", "18446744073709551624") "}", NULL, "no whole number");
	header("{\"w\":" INFO2("0", "9000000000000000000") "}", NULL,
	       "w has data of 9000000000000000000");
	header("{\"w\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
	       NULL, "damaged");
}

/* a model of many layers has more tensors than other programs' files */
static void many_tensors(void)
{
	enum { N = 65536 };
	struct wse_st_tensor *ts = calloc(N, sizeof(*ts));
	struct wse_st st = {.ntensors = N, .tensors = ts};
	struct st_whole in;
	float one = 1.0f;
	int ret;

	for (int i = 0; i < N; i++) {
		ts[i] = (struct wse_st_tensor){"", 1, {1}, 1, &one, 0};
		snprintf(ts[i].name, sizeof(ts[i].name), "transformer.h.%d.weight", i);
	}
	ret = wse_st_write(in_dir("many"), &st);
	ret = ret ? ret : st_whole_read(in_dir("many"), &in);
	ok(!ret && in.st.ntensors == N && st_whole_find(&in, ts[N - 1].name),
	   "%d tensors are written and read %s", N, ret ? wse_error() : "");
	if (!ret)
		st_whole_free(&in);
	free(ts);
}

/* ---- two passes ---- */

struct taken {
	char path[128];
	uint64_t spoil; /* a byte that changes when the first tensor has been taken; 0: none */
	size_t n;
};

static int take(void *ctx, const struct wse_st_take *t, size_t from, size_t count, const float *in)
{
	struct taken *k = ctx;
	int fd = k->spoil && !k->n ? open(k->path, O_WRONLY) : -1;

	(void)t, (void)from, (void)in;
	k->n += count;
	if (fd >= 0 && (pwrite(fd, "x", 1, (off_t)k->spoil) != 1 || close(fd)))
		perror(k->path);
	return 0;
}

/* a file that is good when it is checked and another one when it is taken */
static void changes(void)
{
	float a[6] = {1, 2, 3, 4, 5, 6}, b[3] = {7, 8, 9};
	struct wse_st_tensor ts[2] = {{"a", 2, {2, 3}, 6, a, 1}, {"b", 1, {3, 1}, 3, b, 0}};
	struct wse_st st = {.ntensors = 2, .tensors = ts};
	struct taken k = {.n = 0};
	struct wse_st_take takes[2];
	struct wse_st_file f;
	int ret;

	snprintf(k.path, sizeof(k.path), "%s", in_dir("changes"));
	ret = wse_st_write(k.path, &st);
	ret = ret ? ret : wse_st_open(k.path, &f);
	for (int i = 0; i < 2 && !ret; i++)
		takes[i] = (struct wse_st_take){.view = wse_st_view(&f, ts[i].name),
						.rows = 3,
						.cols = i ? 1 : 2,
						.transposed = !i};
	ret = ret ? ret : wse_st_load(&f, takes, 2, take, &k);
	ok(!ret && k.n == 9, "two tensors are taken %s", ret ? wse_error() : "");
	k.n = 0;
	k.spoil = wse_st_view(&f, "b")->at + 1;
	ret = wse_st_load(&f, takes, 2, take, &k);
	ok(ret == -ESTALE && k.n == 9 && strstr(wse_error(), "b changed while it was read"), "%s",
	   wse_error());
	k.n = 0;
	ret = wse_st_load(&f, takes, 2, take, &k);
	ok(ret == -EBADMSG && !k.n, "and next time before anything is taken: %s", wse_error());
	wse_st_close(&f);
}

/* ---- stripes ---- */

enum { ROWS = 16400, COLS = 500 }; /* in memory; a file of half floats has more than a stripe */

static uint16_t half(size_t row, size_t col)
{
	return (uint16_t)(0x3f80 + (row * 7 + col * 3) % 1021); /* BF16, finite */
}

static int take_half(void *ctx, const struct wse_st_take *t, size_t from, size_t count,
		     const float *in)
{
	size_t *wrong = ctx;

	(void)t;
	for (size_t i = 0; i < count; i++)
		wrong[0] += wse_f2u(in[i]) != (uint32_t)half((from + i) / COLS, (from + i) % COLS)
						      << 16;
	wrong[1] += count;
	return 0;
}

/* a transposed matrix of BF16, some rows of the file at a time */
static void turned(void)
{
	uint16_t *line = malloc(ROWS * sizeof(*line));
	struct wse_st_take t = {.rows = ROWS, .cols = COLS, .transposed = 1};
	FILE *f = fopen(in_dir("turned"), "w");
	size_t wrong[2] = {0};
	struct wse_st_file in;
	char text[200];
	uint64_t len = (uint64_t)snprintf(text, sizeof(text),
					  "{\"w\":{\"dtype\":\"BF16\",\"shape\":[%d,%d],"
					  "\"data_offsets\":[0,%d]}}",
					  COLS, ROWS, COLS * ROWS * 2);
	int ret;

	fwrite(&len, 8, 1, f);
	fwrite(text, len, 1, f);
	for (size_t c = 0; c < COLS; c++) {
		for (size_t r = 0; r < ROWS; r++)
			line[r] = half(r, c);
		fwrite(line, sizeof(*line), ROWS, f);
	}
	fclose(f);
	ret = wse_st_open(in_dir("turned"), &in);
	if (!ret) {
		t.view = wse_st_view(&in, "w");
		ret = wse_st_load(&in, &t, 1, take_half, wrong);
		wse_st_close(&in);
	}
	ok(!ret && !wrong[0] && wrong[1] == (size_t)ROWS * COLS && wse_st_stripe_rows(ROWS) < COLS,
	   "a transposed matrix in stripes of %zu rows: %zu of %zu wrong %s",
	   wse_st_stripe_rows(ROWS), wrong[0], wrong[1], ret ? wse_error() : "");
	unlink(in_dir("turned"));
	free(line);
}

struct told {
	uint64_t calls, last, total;
	int falls;
};

static void tell(void *ctx, uint64_t done, uint64_t total)
{
	struct told *t = ctx;

	t->calls++;
	t->falls += done <= t->last || done > total || (t->total && t->total != total);
	t->last = done;
	t->total = total;
}

/* the writer says how far it is, up to the last byte */
static void progress(void)
{
	enum { FLOATS = 20 << 20 }; /* more than the disk may be behind */
	float *data = calloc(FLOATS, sizeof(*data));
	struct wse_st_tensor ts[2] = {{"a", 1, {FLOATS}, FLOATS, data, 0},
				      {"b", 1, {3}, 3, data, 0}};
	struct told t = {0};
	const struct wse_st_progress p = {.wrote = tell, .ctx = &t};
	struct wse_st st = {.ntensors = 2, .tensors = ts, .progress = &p};
	int ret = data ? wse_st_write(in_dir("long"), &st) : -ENOMEM;

	ok(!ret && !t.falls && t.calls >= 81 && t.last == t.total &&
		   t.total == (FLOATS + 3) * sizeof(float),
	   "the writer tells of %d MB in %d pieces, each time of more", (int)(t.total >> 20),
	   (int)t.calls);
	unlink(in_dir("long"));
	free(data);
}

static void safetensors(void)
{
	static float big[100000];
	float a[6] = {1, -2, 3.5f, 0, 1e-40f, 6}, b[3] = {7, 8, 9};
	struct wse_st_tensor ts[2] = {{"a.weight", 2, {2, 3}, 6, a, 0},
				      {"a.bias", 1, {3, 1}, 3, b, 0}};
	struct wse_st_meta meta = {"wse.step", "12"};
	struct wse_st st = {.ntensors = 2, .nmeta = 1, .tensors = ts, .meta = &meta};
	struct st_whole in;
	struct rlimit lim, old;
	struct stat sb;
	char good[4096], bad[4096], want[80];
	int refused = 0, said = 0, ret;
	size_t n;

	ok(!wse_st_write(in_dir("x.safetensors"), &st), "write");
	ret = st_whole_read(in_dir("x.safetensors"), &in);
	ok(!ret && in.st.ntensors == 2 && !memcmp(st_whole_find(&in, "a.weight")->data, a, 24) &&
		   st_whole_find(&in, "a.weight")->dim[1] == 3 &&
		   !strcmp(wse_st_get(in.f.meta, in.f.nmeta, "wse.step"), "12"),
	   "read back %s", ret ? wse_error() : "");
	st_whole_free(&in);
	n = get(in_dir("x.safetensors"), good, sizeof(good));
	for (size_t i = 0; i < n; i++) { /* cut at every byte */
		put(in_dir("cut"), good, i);
		refused += st_whole_read(in_dir("cut"), &in) == -EBADMSG;
		said += strstr(wse_error(), "cut short") != NULL;
	}
	ok(refused == (int)n && said == (int)n,
	   "a file cut short at each of %zu bytes is "
	   "said to be cut short",
	   n);
	snprintf(want, sizeof(want), "needs %zu bytes, has %zu", n, n - 30);
	put(in_dir("cut"), good, n - 30); /* in the middle of the first of two tensors */
	ok(st_whole_read(in_dir("cut"), &in) == -EBADMSG && strstr(wse_error(), want), "%s",
	   wse_error());
	refused = 0;
	for (size_t i = n - 36; i < n; i++) {
		memcpy(bad, good, n);
		bad[i] ^= 0x10;
		put(in_dir("bad"), bad, n);
		refused += st_whole_read(in_dir("bad"), &in) == -EBADMSG;
	}
	ok(refused == 36, "a flipped bit in each data byte: %s", wse_error());
	refused = 0; /* length and header: names, shapes, metadata, every scalar, every checksum */
	for (size_t i = 0; i < 8 * (n - 36); i++) {
		memcpy(bad, good, n);
		bad[i / 8] ^= (char)(1 << i % 8);
		put(in_dir("bad"), bad, n);
		ret = st_whole_read(in_dir("bad"), &in);
		refused += ret == -EBADMSG;
		if (!ret)
			st_whole_free(&in);
	}
	ok(refused == 8 * ((int)n - 36), "each of %zu flipped bits of the header is refused",
	   8 * (n - 36));
	put(in_dir("bad"), good, n);
	truncate(in_dir("bad"), (off_t)n + 4);
	ok(st_whole_read(in_dir("bad"), &in) == -EBADMSG, "trailing bytes: %s", wse_error());
	unsealed(good, n, "header.sha256", "header.sha255", -EBADMSG);
	unsealed(good, n, "sum.a.bias", "som.a.bias", -EBADMSG);
	ok(st_whole_read(in_dir("none"), &in) == -ENOENT, "no file: %s", wse_error());
	ok(st_whole_read(dir, &in) == -EINVAL, "a directory: %s", wse_error());

	/* a full disk: the file size limit stands in for it */
	ts[0] = (struct wse_st_tensor){"a.weight", 2, {100, 1000}, 100000, big, 0};
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	lim = (struct rlimit){100000, old.rlim_max};
	setrlimit(RLIMIT_FSIZE, &lim);
	ret = wse_st_write(in_dir("x.safetensors"), &st);
	setrlimit(RLIMIT_FSIZE, &old);
	ok(ret == -EFBIG && get(in_dir("x.safetensors"), bad, sizeof(bad)) == n &&
		   !memcmp(good, bad, n) && stat(in_dir("x.safetensors.tmp"), &sb),
	   "no room half way: the old checkpoint stays, nothing else does");
	ok(wse_st_write("/proc/nowhere/x", &st) == -ENOENT, "no such folder");
}

static void data(void)
{
	struct wse_data_cfg c = {.path = in_dir("text"),
				 .vocab = 256,
				 .window = 4,
				 .val = {{.held_out = 64}},
				 .nval = 1,
				 .shuffle = 1,
				 .shuffle_seed = 5};
	static char text[3000], headed[1024 + sizeof(uint32_t[600])];
	static unsigned char seen[3000];
	uint16_t words[600];
	uint32_t wide[600];
	ptrdiff_t first;
	double pairs;
	char path[128], bin[128];
	struct wse_data d;
	int twice = 0, touched = 0;
	uint32_t magic[256] = {20240520, 1, 600};

	snprintf(path, sizeof(path), "%s", in_dir("text"));
	snprintf(bin, sizeof(bin), "%s", in_dir("t.bin"));
	c.path = path;
	for (int i = 0; i < 3000; i++)
		text[i] = (char)("abcd"[i % 4]);
	put(path, text, sizeof(text));
	ok(!wse_data_open(&c, &d) && d.val[0].samples == 64, "text is read");
	ok(fabs(d.unigram - log(4)) < 1e-9 && d.bigram < 1e-9,
	   "entropies of abcdabcd...: %.6f and %.6f", d.unigram, d.bigram);
	for (uint64_t i = 0; i < d.val[0].samples; i++)
		seen[wse_data_held(&d, 0, i) - d.t.tok] = 2;
	for (uint64_t i = 0; i < d.ntrain; i++) {
		size_t p = (size_t)(wse_data_train(&d, 0, i) - d.t.tok);

		twice += seen[p] & 1;
		for (size_t j = p - 4; j <= p; j++)
			touched += seen[j] == 2;
		seen[p] |= 1;
	}
	ok(!twice && !touched && d.ntrain == 3000 - 64 - 9 * 4,
	   "an epoch has %llu samples, none twice, none near held-out text",
	   (unsigned long long)d.ntrain);
	ok(wse_data_train(&d, 0, 0) != wse_data_train(&d, 1, 0), "epochs differ");
	wse_data_close(&d);

	/*
	 * a token of every other kind, in turn two others: 599 pairs, 300 of them begin with the
	 * one
	 */
	for (int i = 0; i < 600; i++)
		words[i] = (uint16_t)(i % 2 ? 40000 + i % 4 : 7);
	c.path = bin;
	c.vocab = 50257;
	put(bin, words, sizeof(words));
	ok(!wse_data_open(&c, &d), "a large vocabulary");
	ok(fabs(d.unigram - 1.5 * log(2)) < 1e-9 && fabs(d.bigram - 300.0 / 599 * log(2)) < 1e-9,
	   "entropies of a large vocabulary: %.6f and %.6f", d.unigram, d.bigram);
	wse_data_close(&d);
	c.vocab = 256;
	for (int i = 0; i < 600; i++)
		words[i] = (uint16_t)(i % 200);
	put(bin, words, sizeof(words));
	ok(!wse_data_open(&c, &d) && d.t.ntok == 600 && d.t.tok[5] == 5 && d.t.map.n == 1200 &&
		   (void *)d.t.tok == d.t.map.p,
	   "uint16 tokens, where the file is mapped");
	wse_data_close(&d);
	for (uint32_t i = 0; i < 4; i++) { /* version, too many, too few, uint32 */
		static const char *const want[] = {"version 2; of uint16 tokens 1 is read",
						   "says 601 tokens", "the file has 600",
						   "of uint32 tokens 7 is read"};
		const uint32_t change[] = {2, 601, 599, 20240801};
		uint32_t bad[256];

		memcpy(bad, magic, 1024);
		bad[i == 3 ? 0 : i ? 2 : 1] = change[i];
		memcpy(text, bad, 1024);
		memcpy(text + 1024, words, sizeof(words));
		put(bin, text, 1024 + sizeof(words));
		ok(wse_data_open(&c, &d) == -EINVAL && strstr(wse_error(), want[i]), "%s",
		   wse_error());
	}
	put(bin, magic, 12);
	ok(wse_data_open(&c, &d) == -EINVAL && strstr(wse_error(), "the file has 0"), "%s",
	   wse_error());
	memcpy(text, magic, 1024);
	memcpy(text + 1024, words, sizeof(words));
	put(bin, text, 1024 + sizeof(words));
	ok(!wse_data_open(&c, &d) && d.t.ntok == 600 && (char *)d.t.tok == (char *)d.t.map.p + 1024,
	   "llm.c's header is skipped");
	wse_data_close(&d);
	/* uint32: by llm.c's header, or by a vocabulary that does not fit uint16 */
	for (int i = 0; i < 600; i++)
		wide[i] = (uint32_t)(i % 2 ? 100000 + i % 4 : i % 200);
	c.vocab = 100004;
	put(bin, wide, sizeof(wide));
	ok(!wse_data_open(&c, &d) && d.t.ntok == 600 && wse_token(d.t.tok, 1, c.vocab) == 100001 &&
		   wse_token(d.t.tok, 198, c.vocab) == 198 &&
		   wse_token(wse_data_train(&d, 0, 0), -4, c.vocab) <= 100003,
	   "600 uint32 tokens");
	pairs = d.bigram;
	first = wse_data_train(&d, 0, 11) - d.t.tok;
	wse_data_close(&d);
	memcpy(headed, (uint32_t[3]){20240801, 7, 600}, 12);
	memcpy(headed + 1024, wide, sizeof(wide));
	put(bin, headed, 1024 + sizeof(wide));
	ok(!wse_data_open(&c, &d) && d.t.ntok == 600 && d.bigram == pairs &&
		   wse_data_train(&d, 0, 11) - d.t.tok == first,
	   "the same with llm.c's header");
	wse_data_close(&d);
	c.vocab = 100003;
	ok(wse_data_open(&c, &d) == -EINVAL && strstr(wse_error(), "choose vocab_size 100004"),
	   "%s", wse_error());
	c.vocab = 256;
	ok(wse_data_open(&c, &d) == -EINVAL && strstr(wse_error(), "token 100001 at position 1 "),
	   "%s", wse_error());
	for (int i = 0; i < 600; i++)
		wide[i] = words[i];
	memcpy(headed + 1024, wide, sizeof(wide));
	put(bin, headed, 1024 + sizeof(wide));
	ok(!wse_data_open(&c, &d) && d.t.ntok == 600 && d.t.tok[577] == words[577],
	   "uint32 tokens of a small vocabulary");
	wse_data_close(&d);
	memcpy(headed, magic, 1024);
	memcpy(headed + 1024, words, sizeof(words));
	put(bin, headed, 1024 + sizeof(words));
	c.vocab = 70000;
	ok(!wse_data_open(&c, &d) && d.t.ntok == 600 &&
		   wse_token(d.t.tok, 577, c.vocab) == words[577],
	   "uint16 tokens, by their header, of a large vocabulary");
	wse_data_close(&d);
	put(bin, wide, sizeof(wide) - 2);
	ok(wse_data_open(&c, &d) == -EINVAL && strstr(wse_error(), "uint32 tokens"), "%s",
	   wse_error());
	c.vocab = 256;
	words[77] = 300;
	put(bin, words, sizeof(words));
	ok(wse_data_open(&c, &d) == -EINVAL && strstr(wse_error(), "position 77"), "%s",
	   wse_error());
	put(bin, words, 77);
	ok(wse_data_open(&c, &d) == -EINVAL, "%s", wse_error());
	c.path = path;
	put(path, "", 0);
	ok(wse_data_open(&c, &d) == -ENODATA, "%s", wse_error());
	put(path, "short", 5);
	ok(wse_data_open(&c, &d) == -EINVAL && strstr(wse_error(), "give a text of 118 or more"),
	   "%s", wse_error());
	unlink(path);
	ok(wse_data_open(&c, &d) == -ENOENT, "%s", wse_error());
	mkdir(path, 0777);
	ok(wse_data_open(&c, &d) == -ENODATA, "%s", wse_error());
	rmdir(path);
}

/* data at `path`: what is refused is named, and quickly */
static void no_text(const char *path, int want_ret, const char *want)
{
	struct wse_data_cfg c = {
		.path = path, .vocab = 256, .window = 4, .val = {{.held_out = 64}}, .nval = 1};
	struct wse_data d;
	int ret;

	alarm(20); /* /dev/zero and a FIFO have no end */
	ret = wse_data_open(&c, &d);
	alarm(0);
	ok(ret == want_ret && strstr(wse_error(), want), "%s", wse_error());
	if (!ret)
		wse_data_close(&d);
}

static void binary(void)
{
	static const char hdf5[] = "\x89HDF\r\n\x1a\n and more";
	char words[4000], dir2[128], path[128];

	for (int i = 0; i < 4000; i++)
		words[i] = i % 400 ? 'a' : 0;
	snprintf(path, sizeof(path), "%s", in_dir("x.h5"));
	put(path, hdf5, sizeof(hdf5));
	no_text(path, -EINVAL, "x.h5: samples of HDF5 files are for GPTs");
	snprintf(path, sizeof(path), "%s", in_dir("x.bin"));
	put(path, hdf5, sizeof(hdf5));
	no_text(path, -EINVAL, "x.bin is an HDF5 file, no text");
	put(path, "\x1f\x8b\x08", 3);
	no_text(path, -EINVAL, "gzip data");
	put(path, "\x1f\x8b\x01\x00", 4); /* token 35615 of GPT-2's */
	no_text(path, -EINVAL, "token 35615 at position 0 is outside the vocabulary");
	snprintf(path, sizeof(path), "%s", in_dir("x.dat"));
	put(path, words, sizeof(words));
	no_text(path, -EINVAL, "binary data (it has NUL bytes)");
	memset(words, 'a', 3900);
	words[3901] = 0;
	put(path, words, 3902); /* one NUL is a slip */
	no_text(path, 0, "");
	no_text("/dev/zero", -EINVAL, "/dev/zero is neither a file nor a directory");
	snprintf(path, sizeof(path), "%s", in_dir("fifo"));
	mkfifo(path, 0600);
	no_text(path, -EINVAL, "fifo is neither");
	snprintf(dir2, sizeof(dir2), "%s", in_dir("tree"));
	mkdir(dir2, 0777);
	put(in_dir("tree/a.dat"), words, sizeof(words));
	put(in_dir("tree/b.dat"), hdf5, sizeof(hdf5));
	no_text(dir2, -ENODATA, "2 files with NUL bytes were left out");
	snprintf(path, sizeof(path), "%s", in_dir("tree/huge"));
	put(path, "", 0);
	truncate(path, (off_t)3 << 30);
	no_text(path, -EFBIG, "huge: more than 2048 MiB of text");
	unlink(path);
	put(in_dir("tree/c.txt"), words, 3000);
	chmod(in_dir("tree/c.txt"), 0);
	chmod(dir, 0755);
	ok(geteuid() || !seteuid(65534), "root reads everything: be another user");
	no_text(dir2, -EACCES, "tree/c.txt: Permission denied");
	ok(!seteuid(getuid()), "and be root again");
	chmod(in_dir("tree/c.txt"), 0600);
	no_text(dir2, 0, "");
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	sha();
	safetensors();
	progress();
	foreign();
	headers();
	many_tensors();
	changes();
	turned();
	data();
	binary();
	return dir_remove() ? 1 : tap_end();
}
