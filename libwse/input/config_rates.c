// SPDX-License-Identifier: MIT
/* trainer.init.optimizer and .schedulers. */
#include <string.h>

#include "sections.h"

/*
 * one that the Model Zoo has: its state is rows and columns of whole matrices, and its step takes
 * the root mean square of a tensor, where updates go by pieces that ranks and files share
 */
static int is_adafactor(const struct wse_yaml *y)
{
	return y && y->type == WSE_YAML_MAP && y->child && !strcmp(y->child->key, "Adafactor");
}

static void read_betas(struct reader *r, struct wse_yaml *args, struct wse_optim_cfg *o)
{
	struct wse_yaml *betas = reader_want(r, args, "betas", 0);

	if (!betas)
		return;
	if (betas->type != WSE_YAML_LIST || !betas->child || !betas->child->next ||
	    betas->child->next->next) {
		reader_fail(r, betas, "must be a list of two numbers");
		return;
	}
	o->beta1 = reader_to_real(r, betas->child, 0.0, 0.999999);
	o->beta2 = reader_to_real(r, betas->child->next, 0.0, 0.9999999);
}

static void read_optimizer(struct sections *s, struct wse_yaml *init, double *lr,
			   const struct wse_yaml **lr_node)
{
	static const char *const names[] = {"AdamW", "Adam", "SGD", "Lion", NULL};
	struct wse_optim_cfg *o = &s->cfg->optim;
	struct wse_yaml *y, *args;
	struct reader *r = &s->r;

	*lr = 0.0;
	*lr_node = NULL;
	y = reader_want(r, init, "optimizer", 1);
	if (is_adafactor(y)) {
		reader_fail(
			r, y,
			"is Adafactor, which is not available: its step takes means over whole "
			"tensors, and moments are kept by parts of them; take Lion, which keeps "
			"one moment, or AdamW");
		wse_yaml_use_all(y);
		o->kind = (enum wse_optim_kind) - 1;
		return;
	}
	o->kind = (enum wse_optim_kind)reader_kind(r, y, names, &args);
	*lr = reader_real(r, args, "learning_rate", 0, 0.0, 0.0, 1e6);
	*lr_node = args ? wse_yaml_peek(args, "learning_rate") : NULL;
	o->weight_decay = reader_real(r, args, "weight_decay", 0, 0.0, 0.0, 1e3);
	if (o->kind == WSE_OPTIM_SGD) {
		o->momentum = reader_real(r, args, "momentum", 0, 0.0, 0.0, 1.0);
		return;
	}
	o->beta1 = 0.9;
	o->beta2 = o->kind == WSE_OPTIM_LION ? 0.99 : 0.999;
	read_betas(r, args, o);
	if (o->kind == WSE_OPTIM_LION)
		return;
	o->eps = reader_real(r, args, "eps", 0, 1e-8, 1e-20, 1.0);
	if (!reader_flag(r, args, "correct_bias", 1))
		reader_fail(r, wse_yaml_peek(args, "correct_bias"),
			    "must be true: the moments are always corrected");
}

static void read_schedule(struct sections *s, struct wse_yaml *y, uint64_t begin, int nested);

/* the parts in order; milestones say when the second, third, ... begin, else total_iters do */
static void read_sequence(struct sections *s, struct wse_yaml *args, uint64_t begin)
{
	struct wse_sched_list *list = &s->cfg->sched;
	struct reader *r = &s->r;
	struct wse_yaml *parts = reader_want(r, args, "schedulers", 1);
	struct wse_yaml *stones = reader_want(r, args, "milestones", 0);
	struct wse_yaml *stone = stones ? stones->child : NULL;
	uint32_t before = r->faults->n;

	if (parts && (parts->type != WSE_YAML_LIST || !parts->child))
		reader_fail(r, parts, "must be a list of schedulers");
	if (stones && stones->type != WSE_YAML_LIST)
		reader_fail(r, stones, "must be a list of steps");
	if (r->faults->n != before || !parts)
		return;
	for (struct wse_yaml *c = parts->child; c; c = c->next) {
		read_schedule(s, c, begin, 1);
		if (!c->next)
			break;
		if (stones && !stone) {
			reader_fail(r, stones, "must have one step less than there are schedulers");
			stones = NULL;
		} else if (stones) {
			begin = reader_to_u64(r, stone, begin + 1, UINT32_MAX);
		} else if (list->n && list->s[list->n - 1].kind == WSE_SCHED_INVERSE_SQRT) {
			reader_fail(r, c, "has no end: put it last, or give milestones");
		} else if (list->n) {
			begin += list->s[list->n - 1].total_iters;
		}
		stone = stone ? stone->next : NULL;
	}
	if (stone)
		reader_fail(r, stone, "is one milestone too many");
}

static void read_schedule(struct sections *s, struct wse_yaml *y, uint64_t begin, int nested)
{
	static const char *const names[] = {"ConstantLR",    "LinearLR",
					    "CosineDecayLR", "InverseSquareRootDecayLR",
					    "SequentialLR",  NULL};
	enum { SEQUENCE = 4 };
	struct wse_sched_list *list = &s->cfg->sched;
	struct wse_sched sched = {.begin = begin};
	struct reader *r = &s->r;
	struct wse_yaml *args;
	int which = reader_kind(r, y, names, &args);

	if (which == SEQUENCE && nested)
		reader_fail(r, y, "cannot hold another SequentialLR");
	else if (which == SEQUENCE)
		read_sequence(s, args, begin);
	if (which == SEQUENCE && nested)
		wse_yaml_use_all(y);
	if (which < 0 || which == SEQUENCE)
		return;
	sched.kind = (enum wse_sched_kind)which;
	if (sched.kind == WSE_SCHED_CONSTANT) {
		sched.from = sched.to = reader_real(r, args, "learning_rate", 1, 0.0, 0.0, 1e6);
		sched.total_iters = reader_u64(r, args, "total_iters", 0, 1, 1, UINT32_MAX);
	} else if (sched.kind == WSE_SCHED_INVERSE_SQRT) {
		sched.from = reader_real(r, args, "initial_learning_rate", 0, 1.0, 0.0, 1e6) *
			     reader_real(r, args, "scale", 0, 1.0, 0.0, 1e6);
		sched.to = sched.from;
		sched.total_iters = reader_u64(r, args, "warmup_steps", 0, 1, 1, UINT32_MAX);
	} else {
		sched.from = reader_real(r, args, "initial_learning_rate", 1, 0.0, 0.0, 1e6);
		sched.to = reader_real(r, args, "end_learning_rate", 1, 0.0, 0.0, 1e6);
		sched.total_iters = reader_u64(r, args, "total_iters", 1, 1, 1, UINT32_MAX);
	}
	if (list->n < WSE_SCHED_MAX)
		list->s[list->n++] = sched;
	else
		reader_fail(r, y, "is one too many: %d schedulers are the most", WSE_SCHED_MAX);
}

void wse_config_rates(struct sections *s, struct wse_yaml *init)
{
	struct wse_yaml *scheds, *optim = init ? wse_yaml_peek(init, "optimizer") : NULL;
	const struct wse_yaml *lr_node;
	struct reader *r = &s->r;
	double lr;

	read_optimizer(s, init, &lr, &lr_node);
	scheds = reader_want(r, init, "schedulers", 0);
	if (scheds && lr_node)
		reader_fail(r, lr_node,
			    "contradicts trainer.init.schedulers: give the one or the other");
	if (scheds && (scheds->type != WSE_YAML_LIST || !scheds->child || scheds->child->next)) {
		reader_fail(r, scheds,
			    "must be a list of one scheduler (SequentialLR holds several); it %s",
			    scheds->type != WSE_YAML_LIST ? "is no list"
			    : scheds->child		  ? "has more"
							  : "is empty");
		wse_yaml_use_all(scheds);
	} else if (scheds) {
		read_schedule(s, scheds->child, 0, 0);
	} else if (lr_node) {
		s->cfg->sched.n = 1;
		s->cfg->sched.s[0] = (struct wse_sched){WSE_SCHED_CONSTANT, lr, lr, 1, 0};
	} else if (optim && optim->type == WSE_YAML_MAP && s->cfg->optim.kind <= WSE_OPTIM_LION) {
		reader_fail(r, optim,
			    "has no learning rate: give learning_rate, or trainer.init.schedulers");
	}
}
