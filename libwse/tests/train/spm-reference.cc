// SPDX-License-Identifier: MIT
// What libsentencepiece makes of texts, for test-spm.c: MODEL TEXTS IDS. A text is its length and
// its bytes, ids are their number and themselves; all numbers are 32 bits.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <sentencepiece_processor.h>

int main(int argc, char **argv)
{
	sentencepiece::SentencePieceProcessor sp;
	uint32_t n;
	FILE *in, *out;

	if (argc != 4 || !sp.Load(argv[1]).ok())
		return 1;
	in = std::fopen(argv[2], "rb");
	out = std::fopen(argv[3], "wb");
	while (in && out && std::fread(&n, 4, 1, in) == 1) {
		std::string text(n, 0), back;
		std::vector<int> ids;

		if (std::fread(&text[0], 1, n, in) != n || !sp.Encode(text, &ids).ok() ||
		    !sp.Decode(ids, &back).ok())
			return 1;
		n = (uint32_t)ids.size();
		std::fwrite(&n, 4, 1, out);
		std::fwrite(ids.data(), 4, n, out);
		n = back != text; // and what it decodes is the text
		std::fwrite(&n, 4, 1, out);
	}
	return !in || !out || std::fclose(out);
}
