// SPDX-License-Identifier: MIT
/* A tokenizer.json, or a file of SentencePiece: what it reads it encodes with, there and back. */
#include "fuzz.h"
#include "input/bpe.h"

static void there_and_back(const struct wse_bpe *b, const char *text, size_t size)
{
	struct wse_tokens t = {0};
	size_t at = 0, n;

	if (!fuzz_result(wse_bpe_encode(b, text, size, &t))) {
		for (size_t i = 0; i < t.n; i++) {
			const char *token = wse_bpe_token(b, t.id[i], &n);
			/* the space that SentencePiece puts before a text is not its own */
			size_t skip = !i && wse_bpe_prefix(b) && n && token[0] == ' ';

			if (t.id[i] >= wse_bpe_size(b) || n - skip > size - at ||
			    memcmp(token + skip, text + at, n - skip))
				fuzz_found("token %zu, %u, is not at byte %zu of the text", i,
					   t.id[i], at);
			at += n - skip;
		}
		if (at != size)
			fuzz_found("%zu bytes of %zu came back", at, size);
	}
	free(t.id);
}

/* SentencePiece's are known by their name */
static int open_model(const void *bytes, size_t size, struct wse_bpe **b)
{
	char path[64];
	FILE *f;
	int ret;

	fuzz_path(path, ".model");
	f = fopen(path, "w");
	if (!f || fwrite(bytes, 1, size, f) != size || fclose(f))
		fuzz_found("%s is not written", path);
	ret = wse_bpe_open(path, b);
	unlink(path);
	return ret;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const char text[] = "Two words, 2 num6ers:\n\n\tgr\xc3\xbc\xc3\x9f \xff\xe2\x96 "
				   "<|endoftext|> \xe2\x96\x81 don't\0 <s>  ";
	struct wse_bpe *b;
	/* the first field of such a file */
	int model = size && bytes[0] == '\n';

	if (fuzz_result(model ? open_model(bytes, size, &b)
			      : wse_bpe_open(fuzz_file(bytes, size), &b)))
		return 0;
	there_and_back(b, text, sizeof(text) - 1);
	there_and_back(b, (const char *)bytes, size < 256 ? size : 256);
	if (wse_bpe_begin_id(b) >= wse_bpe_size(b))
		fuzz_found("the first token is none");
	wse_bpe_close(b);
	return 0;
}
