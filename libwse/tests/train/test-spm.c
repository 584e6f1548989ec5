// SPDX-License-Identifier: MIT
/*
 * SentencePiece's tokenizer.model: models that spm_train makes here, ids beside libsentencepiece's,
 * any bytes there and back, texts in parts, files that are broken.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wse/tokens.h>

#include "base/error.h"
#include "input/json_file.h"
#include "input/spm.h"
#include "num/num.h"
#include "own_dir.h"
#include "tap.h"

#define HEADER "/usr/include/sentencepiece_processor.h"

static void run(const char *what, const char *command)
{
	char all[2000];

	snprintf(all, sizeof(all), "cd %s && { %s; } > log 2>&1", dir, command);
	if (!system(all))
		return;
	printf("Bail out! %s: %s\n", what, all);
	exit(1);
}

static void write_file(const char *name, const void *p, size_t n)
{
	FILE *f = fopen(in_dir(name), "w");

	if (!f || fwrite(p, 1, n, f) != n || fclose(f)) {
		printf("Bail out! %s cannot be written\n", in_dir(name));
		exit(1);
	}
}

/* real text, with lines of all of Unicode's planes, runs of spaces and tabs, and empty ones */
static void make_text(void)
{
	FILE *f = fopen(in_dir("more"), "w");

	for (uint32_t i = 0; f && i < 400; i++) {
		for (uint32_t k = 0; k < 30; k++) {
			uint64_t r = wse_rng_u64(5, i, k);
			uint32_t c = (uint32_t)(r >> 8) % 0x1ff00 + 0x20;

			if (c >= 0xd800 && c < 0xe000)
				c = ' ';
			if (r % 4 == 0)
				c = ' ';
			if (r % 31 == 0)
				c = '\t';
			if (c < 0x80)
				fprintf(f, "%c", c);
			else if (c < 0x800)
				fprintf(f, "%c%c", 0xc0 | c >> 6, 0x80 | (c & 63));
			else if (c < 0x10000 && c != 0x2581)
				fprintf(f, "%c%c%c", 0xe0 | c >> 12, 0x80 | (c >> 6 & 63),
					0x80 | (c & 63));
			else if (c != 0x2581)
				fprintf(f, "%c%c%c%c", 0xf0 | c >> 18, 0x80 | (c >> 12 & 63),
					0x80 | (c >> 6 & 63), 0x80 | (c & 63));
		}
		fprintf(f, "%s", i % 5 ? "\n" : "\n\n");
	}
	if (!f || fclose(f)) {
		printf("Bail out! no text\n");
		exit(1);
	}
	run("text",
	    "cat /usr/share/common-licenses/GPL-3 /usr/share/common-licenses/GFDL-1.3 > seen "
	    "&& cat seen more > text");
}

#define TRAIN                                                                         \
	"spm_train --input=seen --model_type=bpe --normalization_rule_name=identity " \
	"--remove_extra_whitespaces=false --byte_fallback=true --split_digits=true "

static int equal(const struct wse_tokens *t, const uint32_t *want, size_t n, size_t text)
{
	size_t i = 0;

	while (i < t->n && i < n && t->id[i] == want[i])
		i++;
	if (i == t->n && i == n)
		return 1;
	printf("# text %zu: %zu and %zu tokens, number %zu is %u here, %u there\n", text, t->n, n,
	       i, i < t->n ? t->id[i] : 0, i < n ? want[i] : 0);
	return 0;
}

/* decode(encode(x)) = x by the public calls */
static int comes_back(const struct wse_tokenizer *t, const char *text, size_t n)
{
	uint32_t *ids = malloc((n + 1) * sizeof(*ids));
	char *back = malloc(n + 1);
	size_t count, bytes = 0;
	int good = !wse_tokenizer_encode(t, text, n, ids, &count) && count <= n + 1 &&
		   !wse_tokenizer_decode(t, ids, count, back, n, &bytes) && bytes == n &&
		   !memcmp(back, text, n);

	free(ids);
	free(back);
	return good;
}

/* texts: parts of the file that end anywhere, of 0 to 3,000 bytes, as UTF-8; then all of it */
static void against(const char *model, int lossless)
{
	char command[600], *text = NULL, *ids = NULL;
	struct wse_bpe *b = NULL;
	struct wse_tokenizer *t = NULL;
	size_t n = 0, bytes = 0, at = 0, k = 0, bad = 0, tokens = 0;
	FILE *f = fopen(in_dir("texts"), "w");
	int ret = wse_file_read(in_dir("text"), "text", &text, &n);

	for (size_t i = 0; f && !ret && i < 200; i++) {
		size_t from = wse_rng_u64(7, i, 0) % n, len = wse_rng_u64(7, i, 1) % 3000;
		uint32_t part;

		if (i == 199) {
			from = 0;
			len = n;
		}
		while (from && (text[from] & 0xc0) == 0x80)
			from--;
		len = len < n - from ? len : n - from;
		while (len && from + len < n && (text[from + len] & 0xc0) == 0x80)
			len--;
		part = (uint32_t)len;
		fwrite(&part, 4, 1, f);
		fwrite(text + from, 1, len, f);
	}
	fclose(f);
	free(text);
	text = NULL;
	snprintf(command, sizeof(command), "./reference %s texts ids", model);
	run("reference", command);
	ret = ret ? ret : wse_file_read(in_dir("texts"), "texts", &text, &n);
	ret = ret ? ret : wse_file_read(in_dir("ids"), "ids", &ids, &bytes);
	ret = ret ? ret : wse_bpe_open(in_dir(model), &b);
	ret = ret ? ret : wse_tokenizer_open(in_dir(model), &t);
	for (size_t i = 0; i < n && !ret; k++) {
		struct wse_tokens made = {0};
		uint32_t len, count, changed;

		memcpy(&len, text + i, 4);
		memcpy(&count, ids + at, 4);
		memcpy(&changed, ids + at + 4 + 4ul * count, 4);
		ret = wse_bpe_encode(b, text + i + 4, len, &made);
		bad += !equal(&made, (uint32_t *)(void *)(ids + at + 4), count, k);
		bad += changed || !comes_back(t, text + i + 4, len);
		tokens += made.n;
		free(made.id);
		i += 4 + len;
		at += 8 + 4ul * count;
	}
	ok(!ret && !bad && k == 200 && lossless,
	   "%s: libsentencepiece's %zu tokens of %zu texts, and the texts again: %zu differ%s%s",
	   model, tokens, k, bad, ret ? ": " : "", ret ? wse_error() : "");
	free(text);
	free(ids);
	wse_tokenizer_close(t);
	wse_bpe_close(b);
}

/* bytes of any value, and U+2581, which stands for a space in the file */
static void any_bytes(void)
{
	enum { N = 200000 };
	static const char odd[] = "a \xe2\x96\x81 b\0\xe2\x96\n\n  c\xff";
	struct wse_tokenizer *t = NULL;
	struct wse_tokenizer_info info;
	char *text = malloc(N);
	int ret = wse_tokenizer_open(in_dir("llama.model"), &t), bad = 0;

	for (size_t i = 0; i < N; i++)
		text[i] = (char)(wse_rng_u64(9, 0, i) >> 20);
	for (size_t n = 1; n < 300 && !ret; n++)
		bad += !comes_back(t, text + 31 * n, n);
	for (size_t n = 0; n < sizeof(odd) && !ret; n++)
		bad += !comes_back(t, odd, n);
	ret = ret ? ret : wse_tokenizer_info(t, &info);
	ok(!ret && !bad && comes_back(t, text, N), "any bytes come back: %d did not", bad);
	ok(!ret && info.tokens == 2000 && info.begin == 1 && info.longest > 5,
	   "%u pieces, the longest of %u bytes, a text begins after %u", info.tokens, info.longest,
	   info.begin);
	wse_tokenizer_close(t);
	free(text);
}

/* a text handed over in parts, where it may be cut and where it may not */
static void parts(const char *model, int cuts)
{
	static const size_t piece[] = {1, 7, 1000, 100000};
	struct wse_tokens whole = {0};
	struct wse_bpe *b = NULL;
	char *text = NULL;
	size_t n = 0, late = 0;
	int ret = wse_file_read(in_dir("text"), "text", &text, &n), bad = 0;

	n = n > 60000 ? 60000 : n;
	ret = ret ? ret : wse_bpe_open(in_dir(model), &b);
	ret = ret ? ret : wse_bpe_encode(b, text, n, &whole);
	for (size_t i = 0; i < 4 && !ret; i++) {
		struct wse_tokens t = {0};
		struct wse_bpe_stream *s;

		ret = wse_bpe_stream_open(b, piece[i], &s);
		for (size_t at = 0; at < n && !ret; at += 1 + 37 * i)
			ret = wse_bpe_stream_add(s, text + at,
						 n - at < 1 + 37 * i ? n - at : 1 + 37 * i, &t);
		late += !t.n;
		ret = ret ? ret : wse_bpe_stream_end(s, &t);
		bad += !equal(&t, whole.id, whole.n, i);
		wse_bpe_stream_close(s);
		free(t.id);
	}
	/* the last is not full before the end in any case */
	ok(!ret && !bad && late == (cuts ? 1 : 4) &&
		   (b->spm->cut_line || b->spm->cut_space) == cuts,
	   "%s: the same in parts, %s", model,
	   cuts ? "and made as they come" : "at the end, for it can be cut nowhere");
	free(text);
	free(whole.id);
	wse_bpe_close(b);
}

static void refused(const char *name, int err, const char *says)
{
	struct wse_bpe *b = NULL;
	int ret = wse_bpe_open(in_dir(name), &b);

	ok(ret == err && strstr(wse_error(), says), "%s", ret ? wse_error() : "it was opened");
	if (!ret)
		wse_bpe_close(b);
}

static void broken(void)
{
	char *data = NULL;
	size_t n = 0;
	int bad = 0;

	if (wse_file_read(in_dir("llama.model"), "model", &data, &n))
		return;
	for (size_t cut = 1; cut < n && cut < 2000; cut++) {
		struct wse_bpe *b = NULL;

		write_file("cut.model", data, cut);
		bad += !wse_bpe_open(in_dir("cut.model"), &b);
		wse_bpe_close(b);
	}
	ok(!bad, "files that are cut short: %d were opened", bad);
	for (size_t i = 0; i < 2000; i++) {
		size_t at = wse_rng_u64(11, i, 0) % n;
		char was = data[at];
		struct wse_tokens t = {0};
		struct wse_bpe *b = NULL;

		data[at] = (char)wse_rng_u64(11, i, 1);
		write_file("bad.model", data, n);
		if (!wse_bpe_open(in_dir("bad.model"), &b))
			bad += wse_bpe_encode(b, "The license \xc3\xa9", 14, &t) != 0;
		wse_bpe_close(b);
		free(t.id);
		data[at] = was;
	}
	ok(!bad, "files with a byte that is another: what can be opened can be used");
	free(data);
	write_file("cut.model", "\n\4\n\2abc", 7);
	refused("cut.model", -EINVAL, "it is cut short, or no model of SentencePiece");
	write_file("text.model", "IQ== 0\n", 7);
	refused("text.model", -EINVAL, "no model of SentencePiece");
	refused("unigram.model", -ENOTSUP, "it is SentencePiece's unigram model; its BPE models");
	refused("nfkc.model", -ENOTSUP, "it changes a text before it makes pieces");
	refused("nobytes.model", -ENOTSUP, "it has no piece for byte 0x00");
	refused("none", -ENOENT, "No such file");
}

/* LLaMA 2's folders have tokenizer.json, too; of LLaMA 3's the file of that name is another kind */
static void folders(void)
{
	struct wse_bpe *b = NULL;
	int ret;

	run("folder", "mkdir two && cp llama.model two/tokenizer.model && echo '{}' > "
		      "two/tokenizer.json");
	ret = wse_bpe_open(in_dir("two"), &b);
	ok(!ret && wse_bpe_size(b) == 2000 && wse_bpe_prefix(b), "tokenizer.model in a folder");
	wse_bpe_close(b);
	run("folder", "echo 'IQ== 0' > two/tokenizer.model");
	refused("two", -ENOTSUP, "tokenizer.json");
}

int main(void)
{
	char command[600], cwd[300];

	if (system("command -v spm_train > /dev/null") || access(HEADER, R_OK) ||
	    access("/usr/share/common-licenses/GFDL-1.3", R_OK)) {
		printf("1..0 # SKIP spm_train, " HEADER " or a text is missing: install "
		       "sentencepiece and libsentencepiece-dev\n");
		return 0;
	}
	if (!mkdtemp(dir) || !getcwd(cwd, sizeof(cwd)))
		return 1;
	make_text();
	snprintf(command, sizeof(command),
		 "c++ -std=c++17 -O1 -o reference %s/libwse/tests/train/spm-reference.cc "
		 "-lsentencepiece",
		 cwd);
	run("compiler", command);
	run("LLaMA's", TRAIN "--vocab_size=2000 --model_prefix=llama");
	run("without a space in front",
	    TRAIN "--vocab_size=3000 --add_dummy_prefix=false --allow_whitespace_only_pieces=true "
		  "--model_prefix=plain");
	run("with pieces of users and across words",
	    TRAIN "--vocab_size=2500 --split_by_whitespace=false "
		  "--user_defined_symbols=\"[X],the license,\xc3\xa9,the,$(printf 'e\\ne')\" "
		  "--model_prefix=user");
	run("unigram", "spm_train --input=seen --vocab_size=1000 --hard_vocab_limit=false "
		       "--model_prefix=unigram");
	run("nfkc", "spm_train --input=seen --vocab_size=1000 --model_type=bpe "
		    "--model_prefix=nfkc");
	run("no bytes", "spm_train --input=seen --vocab_size=1000 --model_type=bpe "
			"--normalization_rule_name=identity --remove_extra_whitespaces=false "
			"--model_prefix=nobytes");
	against("llama.model", 1);
	against("plain.model", 1);
	against("user.model", 1);
	any_bytes();
	parts("llama.model", 1);
	parts("user.model", 0);
	broken();
	folders();
	snprintf(command, sizeof(command), "rm -r %s", dir);
	ok(!system(command), "cleaned up");
	return tap_end();
}
