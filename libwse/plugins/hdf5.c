// SPDX-License-Identifier: MIT
/*
 * wse-hdf5.so: samples of HDF5 files, by libhdf5 (1.10). libwse opens it when a run has such data,
 * so that nothing else needs libhdf5. One thread calls it.
 */
#include <errno.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/hdf5.h"
#include "wse_release.h"

#define NAME "data"

struct file {
	hid_t file, set, space;
	hsize_t dim[3];
};

static herr_t first_reason(unsigned int n, const H5E_error2_t *e, void *why)
{
	if (!n && e->desc)
		snprintf(why, 160, "%s", e->desc);
	return 0;
}

/* what libhdf5 says, in its words: of the innermost call */
static int said(char *why, size_t size, const char *what)
{
	char reason[160] = "no reason is given";

	H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, first_reason, reason);
	snprintf(why, size, "%s (libhdf5: %s)", what, reason);
	return -EINVAL;
}

static void close_file(void *ctx)
{
	struct file *f = ctx;

	if (f->space >= 0)
		H5Sclose(f->space);
	if (f->set >= 0)
		H5Dclose(f->set);
	if (f->file >= 0)
		H5Fclose(f->file);
	free(f);
}

/* whole numbers [n][3][S] */
static int check_set(struct file *f, char *why, size_t size)
{
	hid_t type = H5Dget_type(f->set);
	int whole = type >= 0 && H5Tget_class(type) == H5T_INTEGER;
	int ndims;

	if (type >= 0)
		H5Tclose(type);
	if (!whole) {
		snprintf(why, size, "its dataset \"" NAME "\" is not of whole numbers");
		return -EINVAL;
	}
	f->space = H5Dget_space(f->set);
	ndims = f->space < 0 ? -1 : H5Sget_simple_extent_ndims(f->space);
	if (ndims == 3 && H5Sget_simple_extent_dims(f->space, f->dim, NULL) == 3 && f->dim[1] == 3)
		return 0;
	if (ndims == 1)
		snprintf(why, size,
			 "its dataset \"" NAME
			 "\" is one row of tokens, not samples [n][3][S] (inputs, "
			 "mask, labels): write it as tokens (*.bin), or as samples");
	else if (ndims == 3)
		snprintf(why, size,
			 "its dataset \"" NAME "\" has %llu rows a sample, not 3: inputs, "
			 "mask, labels",
			 (unsigned long long)f->dim[1]);
	else
		snprintf(why, size, "its dataset \"" NAME "\" has %d dimensions, not 3: [n][3][S]",
			 ndims);
	return -EINVAL;
}

static int check_examples(const struct file *f, char *why, size_t size)
{
	long long n = 0;
	hssize_t numbers;
	hid_t attr, space;
	int ret = 0;

	if (H5Aexists(f->file, "n_examples") <= 0)
		return 0;
	attr = H5Aopen(f->file, "n_examples", H5P_DEFAULT);
	space = attr < 0 ? -1 : H5Aget_space(attr);
	numbers = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
	if (numbers < 0 || (numbers == 1 && H5Aread(attr, H5T_NATIVE_LLONG, &n) < 0))
		ret = said(why, size, "its attribute n_examples cannot be read");
	else if (numbers != 1) {
		snprintf(why, size, "its attribute n_examples is not one number");
		ret = -EINVAL;
	}
	if (space >= 0)
		H5Sclose(space);
	if (attr >= 0)
		H5Aclose(attr);
	if (ret || n == (long long)f->dim[0])
		return ret;
	snprintf(why, size, "its attribute n_examples is %lld, its dataset \"" NAME "\" has %llu",
		 n, (unsigned long long)f->dim[0]);
	return -EINVAL;
}

static int open_file(const char *path, void **file, uint64_t *n, uint64_t *s, char *why,
		     size_t size)
{
	struct file *f = malloc(sizeof(*f));
	int ret = 0;

	if (!f)
		return -ENOMEM;
	*f = (struct file){.set = -1, .space = -1};
	f->file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
	if (f->file < 0)
		ret = said(why, size, "it is no whole HDF5 file");
	else if (H5Lexists(f->file, NAME, H5P_DEFAULT) <= 0) {
		snprintf(why, size, "it has no dataset \"" NAME "\"");
		ret = -EINVAL;
	}
	if (!ret)
		f->set = H5Dopen2(f->file, NAME, H5P_DEFAULT);
	if (!ret && f->set < 0)
		ret = said(why, size, "its \"" NAME "\" is no dataset");
	ret = ret ? ret : check_set(f, why, size);
	ret = ret ? ret : check_examples(f, why, size);
	if (ret) {
		close_file(f);
		return ret;
	}
	*n = f->dim[0];
	*s = f->dim[2];
	*file = f;
	return 0;
}

static int read_file(void *ctx, uint64_t first, uint64_t n, int64_t *to, char *why, size_t size)
{
	struct file *f = ctx;
	hsize_t from[3] = {first, 0, 0}, count[3] = {n, f->dim[1], f->dim[2]};
	hid_t mem = H5Screate_simple(3, count, NULL);
	herr_t ret =
		mem < 0 ? -1
			: H5Sselect_hyperslab(f->space, H5S_SELECT_SET, from, NULL, count, NULL);

	if (ret >= 0)
		ret = H5Dread(f->set, H5T_NATIVE_INT64, mem, f->space, H5P_DEFAULT, to);
	if (ret < 0) /* before another call forgets the reason */
		ret = said(why, size, "its samples cannot be read");
	if (mem >= 0)
		H5Sclose(mem);
	return ret < 0 ? -EINVAL : 0;
}

__attribute__((visibility("default"))) int wse_hdf5_plugin(const char *release,
							   struct wse_hdf5_calls *calls);
int wse_hdf5_plugin(const char *release, struct wse_hdf5_calls *calls)
{
	if (strcmp(release, WSE_RELEASE))
		return -EPROTONOSUPPORT;
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* libraries print nothing */
	*calls = (struct wse_hdf5_calls){open_file, read_file, close_file};
	return 0;
}
