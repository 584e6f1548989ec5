// SPDX-License-Identifier: MIT
/* Devices on paper: each option has a type and a range, and what does not fit is named. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "tap.h"
#include "train/plan_device.h"

static void takes(void)
{
	struct wse_plan_device d;
	int ret = wse_plan_device("plan:", &d);

	ok(ret == -EINVAL && strstr(wse_error(), "the presets of plan: are cs2"),
	   "nothing behind plan:: %s", wse_error());
	ok(wse_plan_device("sim:func,rows=2,cols=2", &d) == 0, "a device that is not on paper");
	ret = wse_plan_device("plan:rows=65535,cols=1,lanes=16,sram=1000000000,link=0.001,ghz=1e3",
			      &d);
	ok(ret == 1 && d.tile.rows == 65535 && d.tile.cols == 1 && d.tile.lanes == 16 &&
		   d.tile.sram == 1000000000 && d.tiles == 1 && d.link == 0.001 && d.ghz == 1000.0,
	   "each option, at an end of its range");
	ret = wse_plan_device("plan:cols=16", &d);
	ok(ret == 1 && d.tile.rows == 4 && d.tile.cols == 16 && d.tile.lanes == 8 &&
		   d.tile.sram == 48 * 1024 && d.tiles == 1 && d.link == 0.0 && d.ghz == 0.0,
	   "what stands for an option that is not there");
	ret = wse_plan_device("plan:cs2,tiles=3,ghz=0.85", &d);
	ok(ret == 1 && d.tile.rows == 994 && d.tile.cols == 750 && d.tile.lanes == 4 &&
		   d.tiles == 3 && d.link == 136.0 && d.ghz == 0.85,
	   "a preset, and other values than its own");
}

static void refuses(void)
{
	static const struct {
		const char *uri, *says;
	} bad[] = {
		{"plan:rows=1.5", "rows is \"1.5\": it takes a whole number from 1 to 65535"},
		{"plan:rows=1e2", "rows is \"1e2\": it takes a whole number"},
		{"plan:rows=4.0", "rows is \"4.0\": it takes a whole number"},
		{"plan:rows=0", "rows is \"0\": it takes a whole number from 1"},
		{"plan:cols=-4", "cols is \"-4\": it takes a whole number from 1"},
		{"plan:cols=65536", "cols is \"65536\": it takes a whole number from 1 to 65535"},
		{"plan:cols=4294967300", "cols is \"4294967300\""},
		{"plan:cols=18446744073709551620", "cols is \"18446744073709551620\""},
		{"plan:lanes=0x8", "lanes is \"0x8\": it takes a whole number"},
		{"plan:lanes= 8", "lanes is \" 8\""},
		{"plan:lanes=8 ", "lanes is \"8 \""},
		{"plan:lanes=", "lanes is \"\": it takes a whole number"},
		{"plan:sram=48k",
		 "sram is \"48k\": it takes a whole number from 1 to 1000000000 bytes"},
		{"plan:sram=2000000000", "sram is \"2000000000\""},
		{"plan:cs2,tiles=17",
		 "tiles is \"17\": it takes a whole number from 0 to 16, where 0"},
		{"plan:cs2,tiles=0.5", "tiles is \"0.5\": it takes a whole number from 0 to 16"},
		{"plan:cols=4,tiles=5", "4 columns are no 5 tiles: choose tiles=4"},
		{"plan:link=0",
		 "link is \"0\": it takes a number from 0.001 to 1000000000 bytes a cycle"},
		{"plan:link=inf", "link is \"inf\": it takes a number"},
		{"plan:link=nan", "link is \"nan\": it takes a number"},
		{"plan:link=0x10", "link is \"0x10\": it takes a number"},
		{"plan:ghz=-1", "ghz is \"-1\": it takes a number from 0.001 to 1000"},
		{"plan:ghz=1e400", "ghz is \"1e400\": it takes a number"},
		{"plan:ghz=1.1GHz", "ghz is \"1.1GHz\": it takes a number"},
		{"plan:ghz=1.00000000000000000000000000000000000000000", "ghz is \"1.0000"},
		{"plan:rows=4,rows=8", "rows is there twice"},
		{"plan:cs2,rows", "\"rows\" is no option of plan:"},
		{"plan:rows=4,,cols=4", "\"\" is no option of plan:"},
		{"plan:row=4", "\"row=4\" is no option of plan:, which has rows, cols, lanes"},
		{"plan:cs3", "the presets of plan: are cs2"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct wse_plan_device d;
		int ret = wse_plan_device(bad[i].uri, &d);

		ok(ret == -EINVAL && strstr(wse_error(), bad[i].says) &&
			   strstr(wse_error(), bad[i].uri) == wse_error(),
		   "%s", wse_error());
	}
}

int main(void)
{
	takes();
	refuses();
	return tap_end();
}
