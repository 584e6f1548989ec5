// SPDX-License-Identifier: MIT
/*
 * Byte-level BPE against bpe-reference, which does the same by other means, and files that are
 * broken. WSE_GPT2_TOKENIZER: a folder with GPT-2's vocab.json and merges.txt, which are tried,
 * too.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wse/tokens.h>

#include "base/error.h"
#include "input/bpe.h"
#include "input/json_file.h"
#include "num/num.h"
#include "own_dir.h"
#include "tap.h"

#define REFERENCE "libwse/tests/train/bpe-reference"

static void spill(const char *name, const char *text, size_t n)
{
	FILE *f = fopen(in_dir(name), "w");

	if (!f || fwrite(text, 1, n, f) != n || fclose(f)) {
		printf("Bail out! %s cannot be written\n", in_dir(name));
		exit(1);
	}
}

static int decodes(const struct wse_bpe *b, const struct wse_tokens *t, const char *text, size_t n)
{
	size_t at = 0, len;

	for (size_t i = 0; i < t->n; i++) {
		const char *p = wse_bpe_token(b, t->id[i], &len);

		if (!len || len > n - at || memcmp(text + at, p, len))
			return 0;
		at += len;
	}
	return at == n;
}

static int equal(const struct wse_tokens *a, const struct wse_tokens *b)
{
	if (a->n != b->n || memcmp(a->id, b->id, a->n * sizeof(*a->id))) {
		size_t i = 0;

		while (i < a->n && i < b->n && a->id[i] == b->id[i])
			i++;
		printf("# %zu and %zu tokens, differing from number %zu on\n", a->n, b->n, i);
		return 0;
	}
	return 1;
}

/* in pieces, and handed over in parts of other sizes */
static int streams(const struct wse_bpe *b, const char *text, size_t n,
		   const struct wse_tokens *want)
{
	static const size_t pieces[] = {1, 7, 64, 1000};
	int good = 1;

	for (int i = 0; i < 4 && good; i++) {
		struct wse_bpe_stream *s;
		struct wse_tokens t = {0};
		size_t part = 1 + 37 * (size_t)i;

		good = !wse_bpe_stream_open(b, pieces[i], &s);
		for (size_t at = 0; at < n && good; at += part)
			good = !wse_bpe_stream_add(s, text + at, n - at < part ? n - at : part, &t);
		good = good && !wse_bpe_stream_end(s, &t) && equal(&t, want);
		wse_bpe_stream_close(s);
		free(t.id);
	}
	return good;
}

static void test_case(const char *tokenizer, const char *text_name, const char *ids_name)
{
	struct wse_tokens want = {0}, t = {0};
	struct wse_bpe *b = NULL;
	char *text = NULL, *ids = NULL;
	size_t n = 0, bytes = 0;
	int good = !wse_bpe_open(in_dir(tokenizer), &b) &&
		   !wse_file_read(in_dir(text_name), "text", &text, &n) &&
		   !wse_file_read(in_dir(ids_name), "ids", &ids, &bytes) &&
		   !wse_bpe_encode(b, text, n, &t);

	want.id = (uint32_t *)(void *)ids;
	want.n = bytes / 4;
	ok(good && equal(&t, &want), "%s: the reference's %zu tokens of %zu bytes", text_name,
	   want.n, n);
	if (!good)
		printf("# %s\n", wse_error());
	ok(good && decodes(b, &t, text, n), "%s: they are the same bytes again", text_name);
	ok(good && streams(b, text, n, &want), "%s: the same in pieces", text_name);
	free(t.id);
	free(text);
	free(ids);
	wse_bpe_close(b);
}

static void test_reference(void)
{
	char command[600], tokenizer[64], text[64], ids[64];
	FILE *f;
	int n = 0;

	snprintf(command, sizeof(command), "python3 " REFERENCE " make %s", dir);
	if (system(command)) {
		ok(0, "%s", command);
		return;
	}
	f = fopen(in_dir("cases"), "r");
	while (f && fscanf(f, "%63s %63s %63s", tokenizer, text, ids) == 3) {
		test_case(tokenizer, text, ids);
		n++;
	}
	if (f)
		fclose(f);
	ok(n == 12, "%d texts were compared", n);
}

static void test_sum(void)
{
	struct wse_bpe *a = NULL, *b = NULL, *c = NULL;
	int good = !wse_bpe_open(in_dir("gpt2"), &a) &&
		   !wse_bpe_open(in_dir("same/tokenizer.json"), &b) &&
		   !wse_bpe_open(in_dir("llama"), &c);

	ok(good && wse_bpe_sum(a) == wse_bpe_sum(b) && wse_bpe_size(a) == wse_bpe_size(b) &&
		   wse_bpe_sum(a) != wse_bpe_sum(c),
	   "vocab.json with merges.txt, and tokenizer.json: the same tokenizer has the same sum");
	wse_bpe_close(a);
	wse_bpe_close(b);
	wse_bpe_close(c);
}

/* a megabyte without a space, and what else would show a loop within a loop */
static void test_long(const char *path)
{
	static const char *const what[] = {"random bytes", "one letter", "blanks",
					   "newlines",	   "0xff",	 "two letters"};
	size_t n = 1 << 20;
	char *text = malloc(n);
	struct wse_bpe *b;

	if (wse_bpe_open(path, &b)) {
		ok(0, "%s", wse_error());
		free(text);
		return;
	}
	for (int k = 0; k < 6; k++) {
		struct wse_tokens t = {0};
		int good;

		for (size_t i = 0; i < n; i++)
			text[i] = k == 0   ? (char)wse_rng_u64(1, 2, i)
				  : k == 5 ? (char)("ae"[wse_rng_u64(1, 2, i) & 1])
					   : "a \n\xff"[k - 1];
		good = !wse_bpe_encode(b, text, n, &t);
		ok(good && decodes(b, &t, text, n), "%s: 1 MiB of %s", path + strlen(dir) + 1,
		   what[k]);
		free(t.id);
	}
	free(text);
	wse_bpe_close(b);
}

/* ---- files that are broken ---- */

static void refused(const char *path, const char *sentence)
{
	struct wse_bpe *b = NULL;
	int ret = wse_bpe_open(path, &b);

	if (!ok(ret && strstr(wse_error(), sentence), "%s", sentence))
		printf("# %d, %s\n", ret, ret ? wse_error() : "was opened");
	wse_bpe_close(b);
}

/* the good file with one place changed */
static void changed(const char *name, const char *good, const char *from, const char *to,
		    const char *sentence)
{
	const char *at = strstr(good, from);
	char *text = malloc(strlen(good) + strlen(to) + 1);

	if (!at || !text) {
		ok(0, "%s has no %s", name, from);
	} else {
		sprintf(text, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
		spill(name, text, strlen(text));
		refused(strchr(name, '/') && strstr(name, "tokenizer.json") ? in_dir(name)
									    : in_dir("two"),
			sentence);
	}
	free(text);
}

/* "name": {"!": 0, ...}: every byte, then what is more */
static void bytes_json(char *to, const char *more)
{
	int next = 256;

	to += sprintf(to, "{");
	for (int c = 0; c < 256; c++) {
		int plain = (c >= '!' && c <= '~') || (c >= 0xa1 && c <= 0xac) || c >= 0xae;

		to += sprintf(to, "%s\"\\u%04x\": %d", c ? ",\n" : "",
			      (unsigned int)(plain ? c : next++), c);
	}
	sprintf(to, "%s}", more);
}

static void test_two_files(void)
{
	static char vocab[8192];
	const char *merges = "#version: 0.2\na b\nab c\n";

	bytes_json(vocab, ", \"ab\": 256, \"abc\": 257");
	mkdir(in_dir("two"), 0777);
	refused(in_dir("two"), "neither tokenizer.json, vocab.json (with merges.txt) nor");
	refused(in_dir("nowhere"), "No such file");
	spill("two/vocab.json", vocab, strlen(vocab));
	refused(in_dir("two"), "merges.txt: No such file");
	changed("two/merges.txt", merges, "ab c", "ab d",
		"merges.txt: line 3: \"abd\" is not in the vocabulary");
	changed("two/merges.txt", merges, "ab c", "abc", "line 3: \"abc\" are not two tokens");
	changed("two/merges.txt", merges, "ab c", "a b c", "line 3: \"a b c\" are not two tokens");
	changed("two/merges.txt", merges, "ab c", "a b",
		"\"a\" and \"b\" merge twice, as merge 1 and 2");
	spill("two/merges.txt", "a b\n\0", 5);
	refused(in_dir("two"), "merges.txt has NUL bytes");
	spill("two/merges.txt", merges, strlen(merges));
	changed("two/vocab.json", vocab, "\"ab\": 256", "\"ab\": 255", "both have id 255");
	changed("two/vocab.json", vocab, "\"abc\": 257", "\"abc\": 300",
		"no token has id 257, and \"abc\" has 300: ids go from 0 on without holes");
	changed("two/vocab.json", vocab, "\"abc\": 257", "\"abc\": -1", "the id of \"abc\" is -1");
	changed("two/vocab.json", vocab, "\"abc\": 257", "\"abc\": 99999999999",
		"the id of \"abc\"");
	changed("two/vocab.json", vocab, "\"abc\": 257", "\"abc\": \"x\"",
		"the id of \"abc\" is x");
	changed("two/vocab.json", vocab, "\"abc\": 257", "\"\": 257", "token 257 has 0 bytes");
	changed("two/vocab.json", vocab, "\"\\u0041\": 65", "\"AA\": 65",
		"byte 65 (0x41) has no token");
	changed("two/vocab.json", vocab, ", \"ab\"", " \"ab\"", "vocab.json: line 256: ");
	changed("two/vocab.json", vocab, "\"ab\": 256", "\"\xff\": 256", "vocab.json: line 256: ");
	changed("two/vocab.json", vocab, "}", "", "vocab.json: line 256: ");
	spill("two/vocab.json", "[1]", 3);
	refused(in_dir("two"), "vocab.json is no JSON object");
	spill("two/vocab.json", "", 0);
	refused(in_dir("two"), "vocab.json: line 1: ");
	spill("two/vocab.json", vocab, strlen(vocab));
	spill("two/added_tokens.json", "{\"<x>\": 257}", 12);
	refused(in_dir("two"), "added_tokens.json: \"abc\" and \"<x>\" both have id 257");
	spill("two/added_tokens.json", "{\"<x>\": 260}", 12);
	refused(in_dir("two"), "no token has id 258");
	spill("two/added_tokens.json", "{\"ab\": 258}", 11);
	refused(in_dir("two"), "the added token \"ab\" has id 258, in the vocabulary it has 256");
}

static void test_one_file(void)
{
	static const char more[] =
		"\"added_tokens\": [{\"id\": 257, \"content\": \"<x>\", \"lstrip\": false}],\n"
		"\"normalizer\": null, \"decoder\": {\"type\": \"ByteLevel\"},\n"
		"\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [\n"
		" {\"type\": \"Split\", \"pattern\": {\"Regex\": \"\\\\p{L}+\"}, \"behavior\": \"Isolated\"},\n"
		" {\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"use_regex\": false}]}}";
	static char good[16384], vocab[8192];
	struct wse_bpe *b = NULL;

	bytes_json(vocab, ", \"ab\": 256");
	sprintf(good, "{\"model\": {\"type\": \"BPE\", \"merges\": [\"a b\"], \"vocab\":\n%s},\n%s",
		vocab, more);
	mkdir(in_dir("one"), 0777);
	spill("one/tokenizer.json", good, strlen(good));
	ok(!wse_bpe_open(in_dir("one"), &b) && wse_bpe_size(b) == 258,
	   "a folder with tokenizer.json");
	wse_bpe_close(b);
#define T "one/tokenizer.json"
	changed(T, good, "\"BPE\"", "\"Unigram\"", "model has the type Unigram; read is BPE");
	changed(T, good, "\"normalizer\": null", "\"normalizer\": {\"type\": \"NFC\"}",
		"normalizer has the type NFC");
	changed(T, good, "\"Split\"", "\"Digits\"", "pre_tokenizer has the type Digits");
	changed(T, good, "\"Sequence\"", "\"Metaspace\"", "pre_tokenizer has the type Metaspace");
	changed(T, good, "Isolated", "Removed", "Split's behavior is Removed");
	changed(T, good, "\"use_regex\": false", "\"use_regex\": true", "both Split and ByteLevel");
	changed(T, good, "space\": false", "space\": true", "add_prefix_space is true");
	changed(T, good, "\"lstrip\": false", "\"lstrip\": true", "<x>.lstrip is true");
	changed(T, good, "\"content\"", "\"text\"", "added token 0 has no content");
	changed(T, good, "\"merges\"", "\"byte_fallback\": true, \"merges\"",
		"model.byte_fallback is true");
	changed(T, good, "\"merges\"", "\"merged\"", "model has no vocab or no merges");
	changed(T, good, "[\"a b\"]", "[\"a b\", 7]", "merge 1: 7 are not two tokens");
	changed(T, good, "[\"a b\"]", "[[\"a\"]]", "are not two tokens");
	changed(T, good, "[\"a b\"]", "[[\"a\", \"c\"]]",
		"merge 0: \"ac\" is not in the vocabulary");
	changed(T, good, "}+", "}+(", "is none for PCRE2: missing closing parenthesis");
	changed(T, good, "}+", "}+(?<=a)", "looks behind");
	changed(T, good, "\"ByteLevel\"}", "\"WordPiece\"}", "decoder has the type WordPiece");
	changed(T, good, "257, \"con", "258, \"con", "no token has id 257");
	changed(T, good, "\"id\": 257", "\"id\": null", "the id of \"<x>\"");
}

static void test_calls(void)
{
	static const char text[] = "tile and\0 \xff<|endoftext|>";
	const size_t n = sizeof(text) - 1;
	uint32_t ids[sizeof(text)];
	char back[sizeof(text)] = {0};
	struct wse_tokenizer_info info;
	struct wse_tokenizer *t = NULL;
	size_t count = 0, bytes = 0;

	ok(!wse_tokenizer_open(in_dir("gpt2"), &t) && !wse_tokenizer_info(t, &info) &&
		   info.tokens == 557 && info.begin == 556 && info.sum,
	   "wse_tokenizer_info()");
	ok(!wse_tokenizer_encode(t, text, n, ids, &count) && count &&
		   ids[count - 1] == info.begin &&
		   !wse_tokenizer_decode(t, ids, count, NULL, 0, &bytes) && bytes == n &&
		   !wse_tokenizer_decode(t, ids, count, back, n, &bytes) && !memcmp(text, back, n),
	   "wse_tokenizer_encode() and the way back");
	ok(!wse_tokenizer_encode(t, text, 0, ids, &count) && !count, "no text has no tokens");
	ok(wse_tokenizer_decode(t, ids, 2, back, 1, &bytes) == -ENOSPC, "%s", wse_error());
	ids[1] = info.tokens;
	ok(wse_tokenizer_decode(t, ids, 2, back, n, &bytes) == -EINVAL &&
		   strstr(wse_error(), "ids[1] is 557: the vocabulary has 557 tokens"),
	   "%s", wse_error());
	ok(wse_tokenizer_encode(t, NULL, 1, ids, &count) == -EINVAL, "%s", wse_error());
	ok(!wse_tokenizer_close(t) && wse_tokenizer_close(t) == -EBADF, "%s", wse_error());
	ok(wse_tokenizer_info(t, &info) == -EBADF && wse_tokenizer_open(NULL, &t) == -EINVAL, "%s",
	   wse_error());
	ok(wse_tokenizer_open("/dev/null", &t) == -EINVAL, "%s", wse_error());
}

static void test_gpt2(void)
{
	const char *path = getenv("WSE_GPT2_TOKENIZER");
	struct wse_tokens t = {0};
	struct wse_bpe *b = NULL;
	char command[1024], *text = NULL;
	unsigned int id;
	size_t n, i = 0;
	int good;
	FILE *f;

	if (!path) {
		tap_skip("WSE_GPT2_TOKENIZER names no folder", "GPT-2's own vocabulary");
		return;
	}
	good = !wse_bpe_open(path, &b) && !wse_file_read("README.md", "README.md", &text, &n) &&
	       !wse_bpe_encode(b, text, n, &t);
	snprintf(command, sizeof(command), "python3 " REFERENCE " encode '%s' README.md", path);
	f = popen(command, "r");
	while (f && good && fscanf(f, "%u", &id) == 1)
		good = i < t.n && t.id[i++] == id;
	ok(f && !pclose(f) && good && i == t.n, "GPT-2's own vocabulary: %zu tokens of README.md",
	   i);
	free(text);
	free(t.id);
	wse_bpe_close(b);
}

int main(void)
{
	alarm(300); /* a loop within a loop would take hours */
	if (!mkdtemp(dir))
		return 1;
	test_reference();
	test_sum();
	test_long(in_dir("gpt2"));
	test_long(in_dir("llama"));
	test_two_files();
	test_one_file();
	test_calls();
	test_gpt2();
	return dir_remove() ? 1 : tap_end();
}
