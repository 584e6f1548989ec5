// SPDX-License-Identifier: MIT
/* A file of tensors: its header, and all that it says is there. */
#include "fuzz.h"
#include "memx/safetensors.h"

static int count(void *ctx, const struct wse_st_view *v, uint64_t from, const void *data,
		 size_t bytes)
{
	(void)data;
	if (from + bytes > v->bytes)
		fuzz_found("%s: a piece behind its end", v->name);
	*(uint64_t *)ctx += bytes;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct wse_st_file f;
	uint64_t all = 0, walked = 0;
	char first;

	if (fuzz_result(wse_st_open_one(fuzz_file(bytes, size), &f)))
		return 0;
	if (!fuzz_result(wse_st_check(&f, count, &all))) {
		if (all > size)
			fuzz_found("%llu bytes of %zu", (unsigned long long)all, size);
		for (uint32_t i = 0; i < f.nviews; i++) {
			if (wse_st_view(&f, f.views[i].name) != &f.views[i])
				fuzz_found("%s is not found", f.views[i].name);
			if (f.views[i].bytes)
				fuzz_result(wse_st_pread(&f.views[i], 0, 1, &first));
			fuzz_result(wse_st_walk(&f.views[i], 32, count, &walked));
		}
		if (walked != all)
			fuzz_found("%llu bytes once more", (unsigned long long)walked);
	}
	wse_st_close(&f);
	return 0;
}
