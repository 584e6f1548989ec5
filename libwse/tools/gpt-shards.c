// SPDX-License-Identifier: MIT
/*
 * gpt-shards: a model of a parameter file in several safetensors files, with the weights that a run
 * of it begins with. What `wse-train --mode eval --checkpoint_path DIR` reads, at any size.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "input/config.h"
#include "ref/gpt_shards.h"
#include "wse_release.h"
#include "wse_said.h"

static const char usage[] =
	"usage: gpt-shards PARAMS DIR F32|F16|BF16 MB [KEY=VALUE ...]   [--version | --help]\n"
	"writes the initial weights of PARAMS' model to DIR in files of about MB megabytes each, and\n"
	"their index\n"
	"  KEY=VALUE  sets a key of the file (default: as it is)\n";

int main(int argc, char **argv)
{
	struct wse_config_source src = {.plan = 1};
	struct wse_faults faults;
	struct wse_config cfg;
	unsigned long mb;
	char *end;
	int ret;

	if (argc == 2 && !strcmp(argv[1], "--version")) {
		printf("gpt-shards " WSE_RELEASE "\n");
		return wse_said("gpt-shards", 1);
	}
	if (argc == 2 && !strcmp(argv[1], "--help")) {
		fputs(usage, stdout);
		return wse_said("gpt-shards", 1);
	}
	mb = argc > 4 ? strtoul(argv[4], &end, 10) : 0;
	if (!mb || *end || mb > 1000000) {
		fprintf(stderr,
			"gpt-shards: PARAMS DIR TYPE MB are wanted; see gpt-shards --help\n");
		return 2;
	}
	src.sets = (const char *const *)argv + 5;
	src.nsets = (uint32_t)argc - 5;
	ret = wse_config_read_file(argv[1], &src, &cfg, &faults);
	if (ret) {
		fprintf(stderr, "gpt-shards: %s\n", wse_error());
		return 2;
	}
	ret = gpt_shards_write(&cfg.model, cfg.seed, argv[2], argv[3], mb * 1000000ull);
	if (ret == -EINVAL)
		fprintf(stderr, "gpt-shards: type %.20s: F32, F16 or BF16\n", argv[3]);
	else if (ret)
		fprintf(stderr, "gpt-shards: %.200s: %s\n", argv[2], strerror(-ret));
	return ret ? 1 : 0;
}
