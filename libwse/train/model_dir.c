// SPDX-License-Identifier: MIT
/* The directory of a run: its lock, and which checkpoints are in it. */
#include "model_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/dirs.h"
#include "base/error.h"
#include "keep.h"
#include "memx/ckpt.h"

/* One run at a time writes there; the lock ends with the process, however that ends. */
static int lock_dir(const char *dir, const struct wse_exec_cfg *log, int *lock)
{
	*lock = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*lock < 0)
		return wse_fail(-errno, "model_dir %.200s: %s", dir, strerror(errno));
	if (!flock(*lock, LOCK_EX | LOCK_NB))
		return 0;
	if (errno == EWOULDBLOCK)
		return wse_fail(-EALREADY,
				"model_dir %.200s: another run is writing there: wait for its end, "
				"or give another --model_dir",
				dir);
	wse_logf(log, WSE_LOG_WARN,
		 "model_dir %.200s cannot be locked (%s): see that no other run writes there", dir,
		 strerror(errno));
	return 0;
}

int wse_model_dir_open(const char *dir, const struct wse_exec_cfg *log, int *lock)
{
	int ret = wse_make_dirs(dir);

	*lock = -1;
	return ret ? wse_fail(ret, "model_dir %.200s: %s", dir, strerror(-ret))
		   : lock_dir(dir, log, lock);
}

void wse_model_dir_last(const char *dir, unsigned long long below, char *path)
{
	DIR *d = opendir(dir);
	unsigned long long best = 0, step;
	struct dirent *e;
	int end;

	path[0] = 0;
	while (d && (e = readdir(d))) {
		end = 0;
		if (sscanf(e->d_name, "checkpoint_%llu.safetensors%n", &step, &end) == 1 && end &&
		    !e->d_name[end] && step < below && (step >= best || !path[0])) {
			best = step;
			snprintf(path, WSE_MODEL_DIR_PATH, "%.1023s/%.60s", dir, e->d_name);
		}
	}
	if (d)
		closedir(d);
}

int wse_model_dir_is_file(const char *checkpoint)
{
	struct stat sb;

	return !stat(checkpoint, &sb) && S_ISREG(sb.st_mode);
}

int wse_model_dir_damaged(const char *dir, const char *checkpoint, int err)
{
	struct wse_failure failure;
	char hex[65], path[WSE_MODEL_DIR_PATH];
	const char *name = strrchr(checkpoint, '/') + 1;
	unsigned long long step = 0;

	wse_failure_keep(&failure, err);
	sscanf(name, "checkpoint_%llu", &step);
	do {
		wse_model_dir_last(dir, step, path);
		if (path[0])
			sscanf(strrchr(path, '/') + 1, "checkpoint_%llu", &step);
	} while (path[0] && wse_ckpt_hash(path, hex));
	if (path[0])
		return wse_fail(err,
				"%.600s; %.150s is good: move %.60s away, and auto goes on from it",
				failure.text, path, name);
	return wse_fail(err, "%.900s; there is no good one before it", failure.text);
}

static int same_file(const char *a, const char *b)
{
	struct stat sa, sb;

	return !stat(a, &sa) && !stat(b, &sb) && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

int wse_model_dir_check(const char *dir, const char *from, int whole)
{
	char last[WSE_MODEL_DIR_PATH];

	wse_model_dir_last(dir, ULLONG_MAX, last);
	if (!last[0] || (whole && from && same_file(last, from)))
		return 0;
	return wse_fail(-EEXIST,
			"%.300s is there, of an earlier run: go on from it with "
			"--checkpoint_path auto%s, or give another --model_dir, or remove the old "
			"checkpoints",
			last, whole ? "" : " --set checkpoint.load_checkpoint_states=all");
}

void wse_model_dir_keep(const char *dir, uint64_t step, uint64_t n, const struct wse_exec_cfg *log)
{
	uint32_t removed;
	int ret = n ? wse_keep_checkpoints(dir[0] ? dir : ".", step, n, &removed) : 0;

	if (ret)
		wse_logf(log, WSE_LOG_WARN, "%.200s: an old checkpoint is still there: %s",
			 dir[0] ? dir : ".", strerror(-ret));
	else if (n && removed)
		wse_logf(log, WSE_LOG_INFO, "| Removed %u checkpoints, the last %" PRIu64 " stay",
			 removed, n);
}
