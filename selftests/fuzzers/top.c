// SPDX-License-Identifier: MIT
/* The picture of a run, as wse-top reads it from a socket. */
#include "fuzz.h"
#include "tools/wse-top.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct top_look *look = calloc(1, sizeof(*look));
	char *text = malloc(size + 1);

	memcpy(text, bytes, size);
	text[size] = 0;
	if (top_parse(text, size, look) && !look->says[0])
		fuzz_found("no word of what is wrong");
	top_look_free(look);
	free(text);
	return 0;
}
