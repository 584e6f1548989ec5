// SPDX-License-Identifier: MIT
/* Parameters as a handle: from a file, or from C. */
#include "train/params.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/handle.h"
#include "memx/ckpt.h"
#include "model/create.h"
#include "train/model_dir.h"
#include "train/session.h"

int wse_params_create(struct wse_params **out)
{
	struct wse_params *p = calloc(1, sizeof(*p));
	int ret;

	if (!p)
		return wse_fail(-ENOMEM, "no memory");
	ret = wse_handle_add(WSE_HANDLE_PARAMS, p);
	if (ret)
		free(p);
	else
		*out = p;
	return ret;
}

/* releases what p holds and empties it */
static void clear(struct wse_params *p)
{
	if (p->ready)
		wse_model_put(&p->cfg.model);
	memset(p, 0, sizeof(*p));
}

int wse_params_destroy(struct wse_params *p)
{
	int ret = p ? wse_handle_remove(WSE_HANDLE_PARAMS, p) : 0;

	if (p && !ret) {
		clear(p);
		free(p);
	}
	return ret;
}

/* ---- from a file ---- */

static void note(struct wse_params *p, const char *what, const char *names)
{
	if (names[0])
		snprintf(p->notes[p->nnotes++], sizeof(p->notes[0]), "%s: %s", what, names);
}

static int read_file(struct wse_params *p, const char *path, const struct wse_override *over)
{
	static const struct wse_override none;
	struct wse_config_source src = {0};
	int ret;

	if (!over)
		over = &none;
	src.sets = over->sets;
	src.nsets = over->nsets;
	src.data = over->data;
	src.tokenizer = over->tokenizer;
	src.model_dir = over->model_dir;
	src.prompt = over->prompt;
	src.prompt_len = over->prompt_len;
	src.prompts = over->prompts;
	src.plan = !!over->plan;
	if (over->forward > 2)
		return wse_fail(-EINVAL, "forward is %llu: 0, 1 or 2",
				(unsigned long long)over->forward);
	src.forward = (int)over->forward;
	clear(p);
	ret = wse_config_read_file(path, &src, &p->cfg, &p->faults);
	if (ret)
		return ret;
	p->cfg.forward = (int)over->forward;
	p->ready = 1;
	note(p, "training would need what is not available", p->cfg.unneeded);
	note(p, "not used, as it makes no difference here", p->cfg.ignored);
	return 0;
}

int wse_params_read(struct wse_params *p, const char *path, const struct wse_override *over)
{
	int ret = wse_handle_enter(WSE_HANDLE_PARAMS, p);

	if (ret)
		return ret;
	ret = path ? read_file(p, path, over) : wse_fail(-EINVAL, "the path is NULL");
	wse_handle_leave(p);
	return ret;
}

const char *wse_params_fault(const struct wse_params *p, uint32_t i)
{
	if (wse_handle_check(WSE_HANDLE_PARAMS, p) || i > p->faults.n)
		return NULL;
	if (i == p->faults.n)
		return i == WSE_FAULTS ? "there may be more" : NULL;
	return p->faults.f[i].text;
}

const char *wse_params_note(const struct wse_params *p, uint32_t i)
{
	if (wse_handle_check(WSE_HANDLE_PARAMS, p) || i >= p->nnotes)
		return NULL;
	return p->notes[i];
}

int wse_params_devices(const struct wse_params *p)
{
	int ret = wse_handle_check(WSE_HANDLE_PARAMS, p);

	if (ret)
		return ret;
	return p->cfg.num_wse ? (int)p->cfg.num_wse : 1;
}

/* ---- from C ---- */

/* the member `name`, a text that is copied */
static int text(const char *name, const char *from, const char *fallback, char *to, size_t size)
{
	const char *s = from ? from : fallback;

	if (strlen(s) >= size)
		return wse_fail(-EINVAL, "%s has %zu characters: less than %zu are possible", name,
				strlen(s), size);
	snprintf(to, size, "%s", s);
	return 0;
}

/* the member `name`, a number in [min, max]; NaN is in none */
static int check_range(const char *name, double v, double min, double max)
{
	return v >= min && v <= max
		       ? 0
		       : wse_fail(-EINVAL, "%s is %g: it must be from %g to %g", name, v, min, max);
}

static int fill_optim(const struct wse_train_shape *s, struct wse_optim_cfg *o)
{
	int ret;

	if (s->optimizer > WSE_OPTIM_LION)
		return wse_fail(-EINVAL, "optimizer %u: WSE_OPTIM_ADAMW, _ADAM, _SGD or _LION",
				s->optimizer);
	o->kind = (enum wse_optim_kind)s->optimizer;
	o->weight_decay = s->weight_decay;
	ret = check_range("weight_decay", s->weight_decay, 0.0, 1e3);
	if (o->kind == WSE_OPTIM_SGD) {
		o->momentum = s->momentum;
		return ret ? ret : check_range("momentum", s->momentum, 0.0, 1.0);
	}
	o->beta1 = s->beta1 != 0.0 ? s->beta1 : 0.9;
	o->beta2 = s->beta2 != 0.0 ? s->beta2 : o->kind == WSE_OPTIM_LION ? 0.99 : 0.999;
	o->eps = s->eps != 0.0 ? s->eps : 1e-8;
	if (o->kind == WSE_OPTIM_LION && s->eps != 0.0)
		return wse_fail(-EINVAL, "eps: Lion has none: leave it 0");
	ret = ret ? ret : check_range("beta1", o->beta1, 0.0, 0.999999);
	ret = ret ? ret : check_range("beta2", o->beta2, 0.0, 0.9999999);
	return ret ? ret : check_range("eps", o->eps, 1e-20, 1.0);
}

static int fill_sched(const struct wse_train_shape *s, struct wse_sched_list *list)
{
	int ret = 0;

	if (!s->nsched) {
		list->n = 1;
		list->s[0] = (struct wse_sched){WSE_SCHED_CONSTANT, s->lr, s->lr, 1, 0};
		return check_range("lr", s->lr, 1e-30, 1e6);
	}
	if (s->nsched > WSE_SCHED_MAX || !s->sched)
		return wse_fail(-EINVAL, "%u schedules: at most %d", s->nsched, WSE_SCHED_MAX);
	if (s->lr != 0.0)
		return wse_fail(-EINVAL, "lr contradicts sched: give the one or the other");
	for (uint32_t i = 0; i < s->nsched && !ret; i++) {
		const struct wse_sched *e = &s->sched[i];

		if ((unsigned int)e->kind > WSE_SCHED_INVERSE_SQRT || !e->total_iters ||
		    (i ? e->begin <= s->sched[i - 1].begin : e->begin != 0))
			ret = wse_fail(
				-EINVAL,
				"sched[%u]: an unknown kind, no total_iters, or a begin that is not "
				"after the one before (0 for the first)",
				i);
		ret = ret ? ret : check_range("sched.from", e->from, 0.0, 1e6);
		ret = ret ? ret : check_range("sched.to", e->to, 0.0, 1e6);
		list->s[i] = *e;
	}
	list->n = s->nsched;
	return ret;
}

static int fill(const struct wse_model *m, const struct wse_train_shape *s, struct wse_config *c)
{
	int ret = check_range("batch", (double)s->batch, 1, 1u << 24);

	ret = ret ? ret : check_range("micro_batch", (double)s->micro_batch, 0, 1u << 24);
	ret = ret ? ret : text("data", s->data, "", c->data, sizeof(c->data));
	ret = ret ? ret : text("val_data", s->val_data, "", c->val[0].data, sizeof(c->val[0].data));
	ret = ret ? ret : text("tokenizer", s->tokenizer, "", c->tokenizer, sizeof(c->tokenizer));
	ret = ret ? ret
		  : text("model_dir", s->model_dir, "model_dir", c->model_dir,
			 sizeof(c->model_dir));
	ret = ret ? ret : text("prompt", s->prompt, "", c->sample_prompt, sizeof(c->sample_prompt));
	ret = ret ? ret : check_range("max_norm", s->max_norm, 0.0, 1e30);
	ret = ret ? ret : check_range("temperature", s->temperature, 0.0, 100.0);
	ret = ret ? ret : check_range("sample_bytes", (double)s->sample_bytes, 0, 65536);
	ret = ret ? ret : fill_optim(s, &c->optim);
	ret = ret ? ret : fill_sched(s, &c->sched);
	if (ret)
		return ret;
	c->model = *m;
	c->model.masked = s->masked != 0;
	c->max_norm = s->max_norm;
	c->seed = s->seed ? s->seed : 1;
	c->max_steps = s->max_steps ? s->max_steps : 1;
	c->eval_frequency = s->eval_frequency;
	c->eval_steps = s->eval_batches;
	c->checkpoint_steps = s->checkpoint_steps;
	c->log_steps = s->log_steps ? s->log_steps : 10;
	c->num_wse = 1;
	c->val[0].held_out = s->held_out ? s->held_out : 2048;
	c->nval = 1;
	c->batch = s->batch;
	c->micro_batch = s->micro_batch;
	c->shuffle = !s->in_order;
	c->shuffle_seed = s->shuffle_seed ? s->shuffle_seed : 1;
	c->sample_tokens = s->sample_bytes;
	c->sample_temperature = s->temperature != 0.0 ? s->temperature : 0.8;
	c->sample_top_p = 1.0;
	c->sample_seed = c->seed;
	c->sample_prompt_len = strlen(c->sample_prompt);
	c->forward = s->forward != 0;
	return 0;
}

static int make(struct wse_params *p, const struct wse_model *model,
		const struct wse_train_shape *shape)
{
	struct wse_config *c = calloc(1, sizeof(*c));
	int ret = c ? fill(model, shape, c) : wse_fail(-ENOMEM, "no memory");

	if (!ret) {
		wse_model_get(model);
		clear(p);
		p->cfg = *c;
		p->ready = 1;
	}
	free(c);
	return ret;
}

int wse_params_make(struct wse_params *p, const struct wse_model *model,
		    const struct wse_train_shape *shape)
{
	int ret = wse_handle_enter(WSE_HANDLE_PARAMS, p);

	if (ret)
		return ret;
	ret = wse_handle_check(WSE_HANDLE_MODEL, model);
	ret = ret ? ret : make(p, model, shape);
	wse_handle_leave(p);
	return ret;
}

/* the last checkpoint of the folder; loading reports one that is damaged */
static int check_last(const struct wse_config *cfg, enum wse_ckpt_load what)
{
	char path[WSE_MODEL_DIR_PATH];
	struct wse_failure before;
	int ret;

	wse_model_dir_last(cfg->model_dir, ULLONG_MAX, path);
	if (!path[0])
		return 0;
	wse_failure_keep(&before, 0);
	ret = wse_session_fits(cfg, path, what);
	return ret == -EINVAL && wse_model_dir_is_file(path) ? ret : wse_failure_undo(&before);
}

static int check(const struct wse_params *p, const char *checkpoint)
{
	const char *path = checkpoint ? checkpoint : p->cfg.ckpt;
	enum wse_ckpt_load what = p->cfg.forward ? WSE_CKPT_EVAL : p->cfg.load_states;
	int last = p->cfg.autoload == WSE_AUTOLOAD_ALWAYS ||
		   (p->cfg.forward && p->cfg.autoload == WSE_AUTOLOAD_EVAL);

	if (!p->ready)
		return wse_fail(-EINVAL, "the params are empty: wse_params_read() or "
					 "wse_params_make() first");
	if (*path && strcmp(path, "auto"))
		return wse_session_fits(&p->cfg, path, what);
	return *path || last ? check_last(&p->cfg, what) : 0;
}

int wse_params_check(struct wse_params *p, const char *checkpoint)
{
	int ret = wse_handle_enter(WSE_HANDLE_PARAMS, p);

	if (ret)
		return ret;
	ret = check(p, checkpoint);
	wse_handle_leave(p);
	return ret;
}
