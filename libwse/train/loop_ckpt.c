// SPDX-License-Identifier: MIT
/* Checkpoints of a run: from which it begins, when one is written. */
#include "loop_inside.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "base/error.h"
#include "export.h"
#include "input/hf_config.h"
#include "memx/safetensors.h"
#include "model_dir.h"
#include "ranks.h"

int wse_loop_load(struct loop *l, enum wse_ckpt_load what)
{
	int ret;

	wse_logf(&l->log, WSE_LOG_INFO, "| Loading checkpoint %s", l->res->checkpoint);
	ret = wse_session_load(l->s, l->res->checkpoint, what);
	return !ret && l->s->ranks ? wse_ranks_load(l->s, l->res->checkpoint, what) : ret;
}

/* the run's, or the file's of its mode; NULL: none is named */
static const char *start_from(const struct loop *l)
{
	const char *file = l->run->mode == WSE_MODE_GENERATE ? "" : l->run->cfg.ckpt;

	if (l->run->checkpoint)
		return l->run->checkpoint;
	return *file ? file : l->run->cfg.autoload == WSE_AUTOLOAD_ALWAYS ? "auto" : NULL;
}

int wse_loop_resume(struct loop *l, enum wse_ckpt_load what)
{
	const char *from = start_from(l);
	int named = from && strcmp(from, "auto"), ret;

	if (!from && what == WSE_CKPT_EVAL && l->run->cfg.autoload == WSE_AUTOLOAD_NEVER)
		return wse_fail(-ENOENT, "checkpoint.autoload_last_checkpoint is false: give "
					 "--checkpoint_path");
	if (named)
		snprintf(l->res->checkpoint, sizeof(l->res->checkpoint), "%.*s",
			 (int)sizeof(l->res->checkpoint) - 1, from);
	else if (from || what == WSE_CKPT_EVAL)
		wse_model_dir_last(l->run->cfg.model_dir, ULLONG_MAX, l->res->checkpoint);
	if (!l->res->checkpoint[0])
		return what == WSE_CKPT_EVAL ? wse_fail(-ENOENT,
							"no checkpoint in "
							"%.200s: give --checkpoint_path",
							l->run->cfg.model_dir)
					     : 0;
	ret = wse_loop_load(l, what);
	if (!ret || named || (ret != -EBADMSG && wse_model_dir_is_file(l->res->checkpoint)))
		return ret;
	return wse_model_dir_damaged(l->run->cfg.model_dir, l->res->checkpoint, ret);
}

#define PROGRESS_EVERY 5.0 /* seconds between two lines about a slow checkpoint */

struct saving {
	struct loop *l;
	const char *name;
	double begin, said;
};

/* a slow disk: how far it is, every few seconds */
static void wrote(void *ctx, uint64_t done, uint64_t total)
{
	struct saving *s = ctx;
	double t = wse_loop_now(), rate = (double)done / (t - s->begin);

	if (t - s->said < PROGRESS_EVERY || done == total)
		return;
	s->said = t;
	wse_logf(&s->l->log, WSE_LOG_INFO, "| Writing %s: %.0f of %.0f MB, %.1f MB/s, %.0f s left",
		 s->name, (double)done * 1e-6, (double)total * 1e-6, rate * 1e-6,
		 (double)(total - done) / rate);
}

/* a slow wafer: the file waits for the forward that proves it */
static int whole(void *ctx)
{
	const struct saving *s = ctx;

	if (wse_loop_now() - s->said >= PROGRESS_EVERY || s->said > s->begin)
		wse_logf(&s->l->log, WSE_LOG_INFO,
			 "| %s is written: a forward of the next step is to prove it", s->name);
	return 0;
}

typedef int (*save_fn)(struct wse_session *s, const char *path,
		       const struct wse_st_progress *progress);

static int save(struct loop *l, save_fn how)
{
	uint64_t step = wse_session_step(l->s);
	char name[64];
	struct saving s = {.l = l, .name = name, .begin = wse_loop_now()};
	int last = how == wse_session_save_probed;
	const struct wse_st_progress progress = {wrote, &s, last ? whole : NULL,
						 last ? l->res->hash : NULL};
	int ret;

	if (l->saved == step)
		return 0;
	snprintf(name, sizeof(name), "checkpoint_%" PRIu64 ".safetensors", step);
	s.said = s.begin;
	ret = how(l->s, wse_loop_in_dir(l, name), &progress);
	if (ret)
		return ret;
	l->saved = step;
	memcpy(l->res->checkpoint, l->path, sizeof(l->path));
	ret = wse_hf_config_write(l->run->cfg.model_dir, &l->s->cfg.model);
	if (ret)
		wse_logf(&l->log, WSE_LOG_WARN, "no config.json: %s", strerror(-ret));
	wse_logf(&l->log, WSE_LOG_INFO, "| Saved checkpoint %s", l->path);
	wse_model_dir_keep(l->run->cfg.model_dir, step, l->run->cfg.keep_checkpoints, &l->log);
	wse_loop_tell(
		l, (struct wse_event){.kind = WSE_EVENT_CHECKPOINT, .step = step, .text = l->path});
	return 0;
}

int wse_loop_save_due(struct loop *l)
{
	struct wse_failure before;
	int ret;

	if (l->due != wse_session_step(l->s))
		return 0;
	l->due = UINT64_MAX;
	wse_failure_keep(&before, 0);
	ret = wse_session_check_grads(l->s);
	ret = ret ? ret : save(l, wse_session_save);
	if (!ret || ret == -ERANGE)
		return ret;
	wse_logf(&l->log, WSE_LOG_ERROR, "%s", wse_error());
	return wse_failure_undo(&before);
}

int wse_loop_save_last(struct loop *l)
{
	return save(l, wse_session_save_probed);
}

int wse_loop_export(struct loop *l)
{
	uint32_t files;
	int ret;

	if (!l->run->cfg.max_shard)
		return 0;
	ret = wse_session_export(l->s, wse_loop_in_dir(l, "model"), l->run->cfg.max_shard,
				 l->run->cfg.shard_all, &files);
	if (!ret)
		wse_logf(&l->log, WSE_LOG_INFO, "| Exported %s: %u file%s", l->path, files,
			 files == 1 ? "" : "s");
	return ret;
}
