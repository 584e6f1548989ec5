// SPDX-License-Identifier: MIT
/* A session opened, saved and loaded; a step's commit. Its micro-batches: session_run.c. */
#include "session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "memx/disk.h"
#include "input/hf_config.h"
#include "input/bpe.h"
#include "input/hdf5.h"
#include "live.h"
#include "profile.h"
#include "ranks.h"
#include "train/memory.h"

struct wse_memx_cfg wse_session_memx_cfg(const struct wse_config *cfg)
{
	return (struct wse_memx_cfg){
		.model = cfg->model,
		.optim = cfg->optim,
		.sched = cfg->sched,
		.max_norm = cfg->max_norm,
		.seed = cfg->seed,
		.forward = cfg->forward,
		.sparsity = cfg->sparsity,
	};
}

/* what a checkpoint says of it, too */
static int look_at_tokenizer(const char *path, struct wse_train_state *run)
{
	struct wse_bpe *b = NULL;
	int ret = *path ? wse_bpe_open(path, &b) : 0;

	if (ret || !b)
		return ret;
	run->tokenizer = wse_bpe_size(b);
	run->tokenizer_sum = wse_bpe_sum(b);
	wse_bpe_close(b);
	return 0;
}

int wse_session_fits(const struct wse_config *cfg, const char *path, enum wse_ckpt_load what)
{
	const struct wse_memx_cfg mc = wse_session_memx_cfg(cfg);
	struct wse_train_state run = {0};
	int ret = look_at_tokenizer(cfg->tokenizer, &run);

	if (ret)
		return ret;
	ret = wse_hf_config_check(path, &cfg->model);
	ret = ret ? ret : wse_ckpt_fits(path, &mc, &run, what);
	return ret ? wse_fail_in(ret, "checkpoint %.200s: ", path) : 0;
}

/* the plan is made: a smaller batch must have one, too */
static int too_few_samples(struct wse_session *s)
{
	uint64_t batch = wse_plan_batch(&s->cfg.model, &s->plan.graph.tile, s->data.ntrain,
					s->cfg.micro_batch);

	wse_fail(
		-EINVAL,
		"%.*s: %llu training samples are less than a batch of %llu: give a text of %llu or "
		"more",
		wse_hdf5_first(s->cfg.data), s->cfg.data, (unsigned long long)s->data.ntrain,
		(unsigned long long)s->cfg.batch,
		(unsigned long long)wse_data_tokens(&s->data, s->cfg.batch));
	if (batch)
		wse_fail_more(", or choose train_dataloader.batch_size %llu",
			      (unsigned long long)batch);
	return -EINVAL;
}

/* what makes tokens of text, and is in the checkpoint */
static int open_tokenizer(struct wse_session *s, struct wse_data_cfg *dc)
{
	uint32_t vocab = s->cfg.model.vocab;
	int ret = s->cfg.tokenizer[0] ? wse_bpe_open(s->cfg.tokenizer, &s->bpe) : 0;

	if (ret || !s->bpe)
		return ret;
	dc->bpe = s->bpe;
	return wse_bpe_size(s->bpe) <= vocab
		       ? 0
		       : wse_fail(
				 -EINVAL,
				 "tokenizer %.300s has %u tokens, the model %u: choose vocab_size %u, "
				 "or more",
				 s->cfg.tokenizer, wse_bpe_size(s->bpe), vocab,
				 wse_bpe_size(s->bpe));
}

/* in model_dir: it has room for checkpoints, which /tmp may not have */
static int use_files(struct wse_session *s, const struct wse_memory *m, enum wse_memory_files files,
		     struct wse_memx_cfg *mc)
{
	const char *note;

	mc->dir = s->cfg.model_dir[0] ? s->cfg.model_dir : ".";
	mc->grad_places = files >= WSE_FILES_GRADS ? m->places : 0;
	if (files >= WSE_FILES_IMAGES) /* more units stay where the limit allows it */
		mc->image_room = m->image_room + s->cfg.memory_limit - wse_memory_sum(m, files);
	if (mkdir(mc->dir, 0777) && errno != EEXIST)
		return wse_fail(-errno, "model_dir %.200s: %s", mc->dir, strerror(errno));
	note = wse_disk_note(mc->dir);
	wse_logf(&s->log, WSE_LOG_INFO, "| Memory: %llu MB in all; weights%s %llu MB in %.200s",
		 (unsigned long long)(wse_memory_sum(m, files) / 1000000),
		 mc->image_room	   ? ", moments, gradients and images in files of"
		 : mc->grad_places ? ", moments and gradients in files of"
				   : " and moments in a file of",
		 (unsigned long long)(wse_memory_disk(m, files) / 1000000), mc->dir);
	if (note)
		wse_logf(&s->log, WSE_LOG_WARN, "files in %.200s %s", mc->dir, note);
	return 0;
}

int wse_session_open(struct wse_session *s, const struct wse_config *cfg, const char *const *uris,
		     uint32_t n, const struct wse_exec_cfg *log)
{
	return wse_session_open_part(s, cfg, uris, n, log, 0, 0);
}

int wse_session_open_part(struct wse_session *s, const struct wse_config *cfg,
			  const char *const *uris, uint32_t n, const struct wse_exec_cfg *log,
			  uint32_t rank, uint32_t ranks)
{
	struct wse_data_cfg dc = {
		.path = cfg->data,
		.vocab = cfg->model.vocab,
		.window = cfg->model.window,
		.span = cfg->model.span,
		.nval = cfg->nval,
		.shuffle = cfg->shuffle,
		.shuffle_seed = cfg->shuffle_seed,
	};
	const struct wse_data_val *cut;
	struct wse_memx_cfg mc = wse_session_memx_cfg(cfg);
	unsigned int before = wse_failures();
	struct wse_memory memory;
	struct wse_buf_pool pool;
	char start[40];
	int ret = 0;

	memset(s, 0, sizeof(*s));
	s->cfg = *cfg;
	s->cfg.model.forward = (uint32_t)cfg->forward;
	if (log)
		s->log = *log;
	for (uint32_t i = 0; i < cfg->nval; i++)
		dc.val[i] = (struct wse_data_val){cfg->val[i].data[0] ? cfg->val[i].data : NULL,
						  cfg->val[i].held_out};
	ret = open_tokenizer(s, &dc);
	if (!ret && cfg->data[0])
		ret = wse_data_read(&dc, &s->data);
	s->cfg.model.masked |= wse_data_masked(&s->data);
	ret = ret ? ret : wse_session_open_devices(s, uris, n);
	/*
	 * a text is read before a device is waited for, and cut when there is a plan: what fits it
	 * must fit the wafers
	 */
	if (!ret && cfg->data[0])
		ret = wse_data_cut(&s->data);
	if (!ret && cfg->data[0] && s->data.ntrain < cfg->batch)
		ret = too_few_samples(s);
	if (ret)
		goto fail;
	if (cfg->memory_limit) {
		ret = wse_memory_of(cfg, &s->plan, uris[0], n, ranks ? ranks : 1, &memory);
		ret = ret ? ret : wse_memory_file(&memory, cfg->memory_limit);
		if (ret < 0)
			goto fail;
		if (ret)
			ret = use_files(s, &memory, (enum wse_memory_files)ret, &mc);
		if (ret)
			goto fail;
	}
	mc.by_rows = s->by_rows;
	pool = wse_swarm_pool(s->swarm);
	/* each rank has all that it evaluates with */
	mc.rank = cfg->forward ? 0 : rank;
	mc.ranks = cfg->forward ? 0 : ranks;
	ret = wse_memx_open(&mc, &s->plan.graph, &pool, &s->memx);
	if (!ret) {
		s->table = wse_session_table(s);
		s->samples =
			calloc((size_t)s->plan.micro_batches * s->plan.tokens / s->cfg.model.span,
			       sizeof(*s->samples));
		ret = s->samples ? wse_slots_open(&s->io, s, &pool, n, 1) : -ENOMEM;
		wse_memx_give_back(s->memx, wse_swarm_give_back, s->swarm);
		if (mc.grad_places)
			wse_swarm_grad_file(s->swarm, wse_memx_grad_file(s->memx),
					    wse_memx_host_units(s->memx));
	}
	if (ret) {
		wse_fail_since(before, ret, "%s", strerror(-ret));
		if (ret == -ENOMEM)
			wse_fail_in(ret, "no memory for buffers and weights: ");
		goto fail;
	}
	if (mc.sparsity.file[0] && !mc.forward)
		ret = wse_ckpt_masks(mc.sparsity.file, s->memx, &mc);
	if (ret)
		goto fail;
	cut = wse_data_cut_out(&s->data);
	s->state = (struct wse_train_state){
		.shuffle = cfg->shuffle,
		.shuffle_seed = cfg->shuffle_seed,
		.text_tokens = s->data.t.ntok,
		.text_sum = s->data.t.sum,
		.tokenizer = s->bpe ? wse_bpe_size(s->bpe) : 0,
		.tokenizer_sum = s->bpe ? wse_bpe_sum(s->bpe) : 0,
		.held_out = cut ? cut->held_out : 0,
		.samples = s->data.ntrain,
		.batch = cfg->batch,
		.loss_weight = cfg->loss_weight,
		.micro_batch = s->plan.tokens / s->cfg.model.span,
		.rows = s->tile.rows,
		.cols = s->plan.graph.tile.cols,
		.lanes = s->tile.lanes,
		.variant = wse_graph_order(&s->plan.graph),
	};
	snprintf(start, sizeof(start), "seed %llu", (unsigned long long)cfg->seed);
	wse_ckpt_start(&mc, &s->state, start);
	return 0;
fail:
	wse_session_close(s);
	return ret;
}

void wse_session_close(struct wse_session *s)
{
	struct wse_failure before;

	wse_failure_keep(&before, 0);
	wse_live_close(s->live);
	s->live = NULL;
	wse_profile_close(s, s->profile);
	wse_failure_undo(&before);
	wse_ranks_close(s);
	wse_memx_close(s->memx);
	wse_swarm_close(s->swarm); /* gives all buffers back */
	wse_plan_fini(&s->plan);
	wse_data_close(&s->data);
	wse_slots_close(&s->io);
	wse_bpe_close(s->bpe);
	free(s->samples);
	memset(s, 0, sizeof(*s));
}

/* nothing is trained in a session that only evaluates and generates */
int wse_session_check_trains(const struct wse_session *s)
{
	return s->cfg.forward ? wse_fail(-EINVAL, "it was opened to evaluate and to generate: it "
						  "has no optimizer state and no gradients")
			      : 0;
}

int wse_session_check_whole(const struct wse_session *s)
{
	return s->torn ? wse_fail(-ESTALE, "the weights are in part those of a checkpoint that "
					   "could not be loaded: load one")
		       : 0;
}

struct saving {
	struct wse_session *s;
	const char *path;
	const struct wse_st_progress *progress;
};

static int save(void *ctx)
{
	const struct saving *a = ctx;
	struct wse_memx_cfg mc = wse_session_memx_cfg(&a->s->cfg);

	return wse_ckpt_save(a->path, a->s->memx, &mc, &a->s->state, a->progress);
}

int wse_session_save(struct wse_session *s, const char *path,
		     const struct wse_st_progress *progress)
{
	struct saving a = {s, path, progress};
	uint64_t begin = wse_profile_now(s->profile);
	int ret = wse_session_check_trains(s);

	ret = ret ? ret : wse_session_check_whole(s);
	ret = ret ? ret : wse_ranks_read_first(s, save, &a);
	wse_profile_span(s->profile, WSE_SPAN_CHECKPOINT, begin);
	return ret ? wse_fail_in(ret, "checkpoint %.200s: ", path) : 0;
}

int wse_session_load(struct wse_session *s, const char *path, enum wse_ckpt_load what)
{
	struct wse_memx_cfg mc = wse_session_memx_cfg(&s->cfg);
	struct wse_train_state ts = s->state;
	char changed[WSE_CHANGED], hash[65], start[WSE_CHAIN_START];
	int ret = what == WSE_CKPT_ALL || what == WSE_CKPT_RATES_NEW ? wse_session_check_trains(s)
								     : 0;

	ret = ret ? ret : wse_hf_config_check(path, &s->cfg.model);
	ret = ret ? ret : wse_ckpt_load(path, s->memx, &mc, what, &ts, changed);
	s->torn = ret ? s->torn || ret == -ESTALE : 0;
	if (!ret && what == WSE_CKPT_MODEL) {
		ret = wse_ckpt_hash(path, hash);
		snprintf(start, sizeof(start), "weights of %s", ret ? "an unknown file" : hash);
		wse_ckpt_start(&mc, &ts, start);
	}
	if (ret)
		return wse_fail_in(ret, "checkpoint %.200s: ", path);
	if (changed[0])
		wse_logf(&s->log, what == WSE_CKPT_EVAL ? WSE_LOG_WARN : WSE_LOG_INFO, "%s%.400s",
			 what == WSE_CKPT_EVAL ? "" : "| Changed: ", changed);
	s->state = ts;
	return 0;
}

const struct wse_tensor_table *wse_session_table(struct wse_session *s)
{
	struct wse_memx_state st;

	wse_memx_state(s->memx, &st);
	return st.table;
}

uint64_t wse_session_step(struct wse_session *s)
{
	struct wse_memx_state st;

	wse_memx_state(s->memx, &st);
	return *st.step;
}

static void chain_step(struct wse_session *s, const struct wse_step_result *r)
{
	struct wse_chain_step step = {
		.step = wse_session_step(s), .loss = r->loss, .lr = r->lr, .norm = r->norm};
	char batch[WSE_CHAIN_BATCH];

	wse_session_batch(s, step.step, batch);
	step.batch = batch;
	wse_chain_add(s->state.chain, &step);
}

int wse_session_commit(struct wse_session *s, struct wse_step_result *r)
{
	uint64_t begin = wse_profile_now(s->profile), rates = 0;
	char own[WSE_CHAIN_BATCH];
	int ret;

	wse_memx_own_text(s->memx, own, sizeof(own));
	for (size_t i = 0; own[i]; i++) /* the ranks' are to be the same */
		rates = rates * 31 + (unsigned char)own[i];
	ret = wse_ranks_meet(s, WSE_TOGETHER_COMMIT, rates);

	ret = ret ? ret : wse_session_scatter(s);
	if (ret)
		return ret;
	ret = wse_memx_commit(s->memx, &r->norm, &r->lr);
	wse_profile_span(s->profile, WSE_SPAN_COMMIT, begin);

	if (ret == -ERANGE && !wse_session_check_grads(s))
		wse_fail(ret, "the norm of the gradient is not finite");
	if (ret)
		return ret;
	chain_step(s, r);
	s->state.own |= wse_memx_own_done(s->memx);
	if (!s->cfg.data[0]) /* the batches are the caller's */
		return 0;
	s->state.position += s->cfg.batch;
	if (s->state.position + s->cfg.batch > s->data.ntrain) { /* the incomplete batch */
		s->state.epoch++;
		s->state.position = 0;
	}
	return 0;
}
