// SPDX-License-Identifier: MIT
/* Hugging Face's config.json. */
#include "fuzz.h"
#include "input/hf_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct wse_gpt g = {0};
	uint32_t window;
	int dropout;

	fuzz_result(wse_hf_config_read(fuzz_file(bytes, size), &g, &window, &dropout));
	return 0;
}
