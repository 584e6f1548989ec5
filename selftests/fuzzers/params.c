// SPDX-License-Identifier: MIT
/* A parameter file, whose last byte says what it is read for; what is read is planned for. */
#include <wse/train.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct wse_override over = {0};
	struct wse_plan_info info;
	struct wse_params *p;
	uint8_t last;

	if (!size)
		return 0;
	last = bytes[size - 1];
	over.plan = last & 1;
	over.forward = last / 2 % 3;
	if (wse_params_create(&p))
		fuzz_found("no params");
	if (!fuzz_result(wse_params_read(p, fuzz_file(bytes, size - 1), &over)))
		fuzz_result(wse_params_plan(p, "sim:func,rows=2,cols=2",
					    WSE_PLAN_SHAPE | (over.forward ? WSE_PLAN_FORWARD : 0),
					    NULL, NULL, &info));
	wse_params_destroy(p);
	return 0;
}
