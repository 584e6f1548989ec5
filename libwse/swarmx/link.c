// SPDX-License-Identifier: MIT
/*
 * Is this process one of several that a launcher started? Then by which link it finds the others.
 */
#include "link.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "device/device.h"
#include "wse_release.h"

static long number(const char *name)
{
	const char *text = getenv(name);

	return text ? strtol(text, NULL, 10) : -1;
}

static int open_plugin(struct wse_link **link)
{
	char path[PATH_MAX];
	wse_link_plugin_fn make;
	void *so;
	int ret;

	if (wse_find_file("WSE_MPI", "wse-mpi.so", sizeof(path), path) &&
	    wse_find_file("WSE_MPI", "../wse-mpi.so", sizeof(path), path))
		return wse_fail(-ENOENT,
				"a launcher (mpirun, srun) started this process, and libwse "
				"was built without MPI: install libopenmpi-dev and build "
				"again, or unset OMPI_COMM_WORLD_SIZE and PMIX_RANK");
	/* local: only the plug-in sees MPI's names */
	so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!so)
		return wse_fail(
			-ENOENT,
			"a launcher (mpirun, srun) started this process, and MPI is missing "
			"(%.300s): install openmpi-bin, or set WSE_MPI to a wse-mpi.so",
			dlerror());
	*(void **)&make = dlsym(so, WSE_LINK_PLUGIN);
	ret = make ? make(WSE_RELEASE, link) : -EPROTONOSUPPORT;
	if (ret == -EPROTONOSUPPORT)
		wse_fail(ret, "%.300s is of another release than this library (%s)", path,
			 WSE_RELEASE);
	else if (ret)
		wse_fail(ret, "%.300s: %s", path, strerror(-ret));
	return ret; /* the plug-in stays: MPI does not end before the process */
}

int wse_link_find(struct wse_link **link)
{
	*link = NULL;
	if (number("OMPI_COMM_WORLD_SIZE") > 0 || getenv("PMIX_RANK"))
		return open_plugin(link);
	if (number("SLURM_STEP_NUM_TASKS") > 1)
		return wse_fail(-EINVAL,
				"srun started %ld tasks that do not know of each other: give srun "
				"--mpi=pmix, or -n 1 for a run on one host",
				number("SLURM_STEP_NUM_TASKS"));
	return 0;
}
