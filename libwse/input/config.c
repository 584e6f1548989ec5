// SPDX-License-Identifier: MIT
/* From the YAML tree to struct wse_config: every key that exists is asked for here. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "yaml_tree.h"

/*
 * A reader stops at its first error: once ret is set, every getter returns without looking. A
 * missing key is kept back until all others have been read, because a misspelt one explains it.
 */
struct reader {
	const char *name;
	char *why;
	int ret;
	char missing[WSE_WHY];
	struct wse_config *cfg;
};

__attribute__((format(printf, 3, 4))) static void fail(struct reader *r, const struct wse_yaml *y,
						       const char *fmt, ...)
{
	char text[300], where[200] = "";
	va_list ap;

	if (r->ret)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	r->ret = wse_why(r->why, -EINVAL, "%.80s: %s %s", r->name,
			 y ? wse_yaml_where(y, where) : "", text);
}

/* the entry `key`; if it is required and absent, an error at the map */
static struct wse_yaml *want(struct reader *r, struct wse_yaml *y, const char *key, int required)
{
	struct wse_yaml *c = r->ret ? NULL : wse_yaml_get(y, key);
	char where[200];

	if (!c && required && y && !r->ret && !r->missing[0])
		wse_why(r->missing, 0, "%.80s: %s lacks the key \"%s\"", r->name,
			wse_yaml_where(y, where), key);
	return c;
}

static struct wse_yaml *map(struct reader *r, struct wse_yaml *y, const char *key, int required)
{
	struct wse_yaml *c = want(r, y, key, required);

	if (c && c->type != WSE_YAML_MAP) {
		fail(r, c, "must hold keys of its own");
		return NULL;
	}
	return c;
}

static uint64_t to_u64(struct reader *r, const struct wse_yaml *c, uint64_t min, uint64_t max)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = c->type == WSE_YAML_SCALAR ? strtoull(c->text, &end, 10) : 0;
	if (c->type != WSE_YAML_SCALAR || *c->text < '0' || *c->text > '9' || *end || errno ||
	    v < min || v > max)
		fail(r, c, "must be a whole number from %llu to %llu, not \"%.40s\"",
		     (unsigned long long)min, (unsigned long long)max,
		     c->type == WSE_YAML_SCALAR ? c->text : "a list or map");
	return v;
}

static uint64_t u64(struct reader *r, struct wse_yaml *y, const char *key, int required,
		    uint64_t fallback, uint64_t min, uint64_t max)
{
	struct wse_yaml *c = want(r, y, key, required);

	return c ? to_u64(r, c, min, max) : fallback;
}

static double to_real(struct reader *r, const struct wse_yaml *c, double min, double max)
{
	char *end;
	double v = c->type == WSE_YAML_SCALAR ? strtod(c->text, &end) : 0.0;

	if (c->type != WSE_YAML_SCALAR || end == c->text || *end || !(v >= min && v <= max))
		fail(r, c, "must be a number from %g to %g, not \"%.40s\"", min, max,
		     c->type == WSE_YAML_SCALAR ? c->text : "a list or map");
	return v;
}

static double real(struct reader *r, struct wse_yaml *y, const char *key, int required,
		   double fallback, double min, double max)
{
	struct wse_yaml *c = want(r, y, key, required);

	return c ? to_real(r, c, min, max) : fallback;
}

static int flag(struct reader *r, struct wse_yaml *y, const char *key, int fallback)
{
	struct wse_yaml *c = want(r, y, key, 0);

	if (!c)
		return fallback;
	if (c->type == WSE_YAML_SCALAR) {
		if (!strcasecmp(c->text, "true"))
			return 1;
		if (!strcasecmp(c->text, "false"))
			return 0;
	}
	fail(r, c, "must be true or false");
	return fallback;
}

static void word(struct reader *r, struct wse_yaml *y, const char *key, int required, char *to,
		 size_t size)
{
	struct wse_yaml *c = want(r, y, key, required);

	if (!c)
		return;
	if (c->type != WSE_YAML_SCALAR || strlen(c->text) >= size)
		fail(r, c, "must be a text of less than %zu characters", size);
	else
		snprintf(to, size, "%s", c->text);
}

/* the index of the value in a NULL-terminated list of accepted ones */
static int choice(struct reader *r, struct wse_yaml *y, const char *key, int required,
		  const char *const *values)
{
	struct wse_yaml *c = want(r, y, key, required);
	char list[160] = "";

	if (!c)
		return 0;
	for (int i = 0; values[i]; i++) {
		size_t n = strlen(list);

		if (c->type == WSE_YAML_SCALAR && !strcmp(c->text, values[i]))
			return i;
		snprintf(list + n, sizeof(list) - n, "%s%s", n ? " or " : "", values[i]);
	}
	fail(r, c, "is \"%.40s\"; accepted: %s",
	     c->type == WSE_YAML_SCALAR ? c->text : "a list or map", list);
	return 0;
}

static void ignore(struct reader *r, struct wse_yaml *y, const char *key)
{
	struct wse_yaml *c = want(r, y, key, 0);
	size_t n = strlen(r->cfg->ignored);

	if (!c)
		return;
	wse_yaml_use_all(c);
	snprintf(r->cfg->ignored + n, sizeof(r->cfg->ignored) - n, "%s%s", n ? ", " : "", key);
}

static void read_backend(struct reader *r, struct wse_yaml *init)
{
	static const char *const vendor[] = {
		"num_workers_per_csx", "max_wgt_servers",
		"max_act_per_csx",     "num_act_servers",
		"mount_dirs",	       "python_paths",
		"job_labels",	       "job_priority",
		"job_time_sec",	       "disable_version_check",
		"mgmt_address",	       "mgmt_namespace",
		"credentials_path",
	};
	struct wse_yaml *backend = map(r, init, "backend", 0);
	struct wse_yaml *cluster = map(r, backend, "cluster_config", 0);

	ignore(r, backend, "backend_type");
	ignore(r, backend, "compile_dir");
	ignore(r, backend, "use_cs_grad_accum");
	r->cfg->num_wse = (uint32_t)u64(r, cluster, "num_csx", 0, 1, 1, 64);
	for (size_t i = 0; i < sizeof(vendor) / sizeof(*vendor); i++)
		ignore(r, cluster, vendor[i]);
}

static void read_model(struct reader *r, struct wse_yaml *init)
{
	static const char *const names[] = {"mlp", NULL};
	static const char *const acts[] = {"relu", "gelu", NULL};
	struct wse_yaml *m = map(r, init, "model", 1), *sizes, *c;
	uint32_t hidden[WSE_MLP_MAX_LINEAR], n = 0, window, embed, vocab;
	int act;

	choice(r, m, "name", 1, names);
	window = (uint32_t)u64(r, m, "window", 1, 0, 1, 4096);
	embed = (uint32_t)u64(r, m, "embedding_size", 1, 0, 1, 4096);
	vocab = (uint32_t)u64(r, m, "vocab_size", 0, 256, 2, 65536);
	act = choice(r, m, "nonlinearity", 0, acts);
	sizes = want(r, m, "hidden_sizes", 0);
	if (sizes && (wse_yaml_peek(m, "hidden_size") || wse_yaml_peek(m, "num_hidden_layers"))) {
		fail(r, sizes,
		     "contradicts hidden_size and num_hidden_layers: give the one or "
		     "the others");
		return;
	}
	if (sizes) {
		if (sizes->type != WSE_YAML_LIST)
			fail(r, sizes, "must be a list of widths, such as [512, 256]");
		for (c = sizes->child; c && !r->ret; c = c->next) {
			if (n + 1 >= WSE_MLP_MAX_LINEAR)
				fail(r, c, "is one layer too many: %d are the most",
				     WSE_MLP_MAX_LINEAR - 1);
			else
				hidden[n++] = (uint32_t)to_u64(r, c, 1, 1u << 16);
		}
	} else {
		uint32_t width = (uint32_t)u64(r, m, "hidden_size", 1, 0, 1, 1u << 16);

		n = (uint32_t)u64(r, m, "num_hidden_layers", 1, 0, 0, WSE_MLP_MAX_LINEAR - 1);
		for (uint32_t i = 0; i < n && !r->ret; i++) /* n may be what was refused */
			hidden[i] = width;
	}
	if (!r->ret && !r->missing[0] &&
	    wse_mlp_init(&r->cfg->mlp, window, embed, vocab, hidden, n, act))
		fail(r, m, "sizes are out of range");
}

/* a map of exactly one key, the name of a kind: its index, and the map below it */
static int kind(struct reader *r, struct wse_yaml *y, const char *const *names,
		struct wse_yaml **args)
{
	struct wse_yaml *c = y ? y->child : NULL;
	char list[160] = "";

	*args = NULL;
	if (r->ret || !y)
		return 0;
	for (int i = 0; names[i]; i++) {
		size_t n = strlen(list);

		if (y->type == WSE_YAML_MAP && c && !c->next && !strcmp(c->key, names[i])) {
			*args = map(r, y, c->key, 1);
			return i;
		}
		snprintf(list + n, sizeof(list) - n, "%s%s", n ? ", " : "", names[i]);
	}
	fail(r, y, "must have exactly one key out of: %s", list);
	return 0;
}

static void read_optimizer(struct reader *r, struct wse_yaml *init, double *lr,
			   const struct wse_yaml **lr_node)
{
	static const char *const names[] = {"AdamW", "Adam", "SGD", NULL};
	struct wse_optim_cfg *o = &r->cfg->optim;
	struct wse_yaml *args, *betas;

	o->kind = (enum wse_optim_kind)kind(r, map(r, init, "optimizer", 1), names, &args);
	*lr = real(r, args, "learning_rate", 0, 0.0, 0.0, 1e6);
	*lr_node = args ? wse_yaml_peek(args, "learning_rate") : NULL;
	o->weight_decay = real(r, args, "weight_decay", 0, 0.0, 0.0, 1e3);
	if (o->kind == WSE_OPTIM_SGD) {
		o->momentum = real(r, args, "momentum", 0, 0.0, 0.0, 1.0);
		return;
	}
	o->eps = real(r, args, "eps", 0, 1e-8, 1e-20, 1.0);
	o->beta1 = 0.9;
	o->beta2 = 0.999;
	if (!flag(r, args, "correct_bias", 1))
		fail(r, wse_yaml_peek(args, "correct_bias"),
		     "must be true: the moments are always "
		     "corrected");
	betas = want(r, args, "betas", 0);
	if (!betas)
		return;
	if (betas->type != WSE_YAML_LIST || !betas->child || !betas->child->next ||
	    betas->child->next->next) {
		fail(r, betas, "must be a list of two numbers");
		return;
	}
	o->beta1 = to_real(r, betas->child, 0.0, 0.999999);
	o->beta2 = to_real(r, betas->child->next, 0.0, 0.9999999);
}

static void read_schedule(struct reader *r, struct wse_yaml *y, uint64_t begin, int nested);

/* the parts in order; milestones say when the second, third, ... begin, else total_iters do */
static void read_sequence(struct reader *r, struct wse_yaml *args, uint64_t begin)
{
	struct wse_sched_list *list = &r->cfg->sched;
	struct wse_yaml *parts = want(r, args, "schedulers", 1);
	struct wse_yaml *stones = want(r, args, "milestones", 0);
	struct wse_yaml *stone = stones ? stones->child : NULL;

	if (parts && (parts->type != WSE_YAML_LIST || !parts->child))
		fail(r, parts, "must be a list of schedulers");
	if (stones && stones->type != WSE_YAML_LIST)
		fail(r, stones, "must be a list of steps");
	for (struct wse_yaml *c = parts ? parts->child : NULL; c && !r->ret; c = c->next) {
		read_schedule(r, c, begin, 1);
		if (!c->next || r->ret)
			break;
		if (stones && !stone)
			fail(r, stones, "must have one step less than there are schedulers");
		else if (stones)
			begin = to_u64(r, stone, begin + 1, UINT32_MAX);
		else
			begin += list->s[list->n - 1].total_iters;
		stone = stone ? stone->next : NULL;
	}
	if (stone)
		fail(r, stone, "is one milestone too many");
}

static void read_schedule(struct reader *r, struct wse_yaml *y, uint64_t begin, int nested)
{
	static const char *const names[] = {"ConstantLR", "LinearLR", "CosineDecayLR",
					    "SequentialLR", NULL};
	struct wse_sched_list *list = &r->cfg->sched;
	struct wse_sched s = {.begin = begin};
	struct wse_yaml *args;
	int which = kind(r, y, names, &args);

	if (r->ret)
		return;
	if (which == 3) {
		if (nested)
			fail(r, y, "cannot hold another SequentialLR");
		else
			read_sequence(r, args, begin);
		return;
	}
	if (list->n == WSE_SCHED_MAX) {
		fail(r, y, "is one too many: %d schedulers are the most", WSE_SCHED_MAX);
		return;
	}
	s.kind = (enum wse_sched_kind)which;
	if (s.kind == WSE_SCHED_CONSTANT) {
		s.from = s.to = real(r, args, "learning_rate", 1, 0.0, 0.0, 1e6);
		s.total_iters = u64(r, args, "total_iters", 0, 1, 1, UINT32_MAX);
	} else {
		s.from = real(r, args, "initial_learning_rate", 1, 0.0, 0.0, 1e6);
		s.to = real(r, args, "end_learning_rate", 1, 0.0, 0.0, 1e6);
		s.total_iters = u64(r, args, "total_iters", 1, 1, 1, UINT32_MAX);
	}
	list->s[list->n++] = s;
}

static void read_rates(struct reader *r, struct wse_yaml *init)
{
	const struct wse_yaml *lr_node;
	struct wse_yaml *scheds;
	double lr;

	read_optimizer(r, init, &lr, &lr_node);
	scheds = want(r, init, "schedulers", 0);
	if (r->ret || r->missing[0])
		return;
	if (scheds && lr_node) {
		fail(r, lr_node, "contradicts trainer.init.schedulers: give the one or the other");
	} else if (scheds) {
		if (scheds->type != WSE_YAML_LIST || !scheds->child || scheds->child->next)
			fail(r, scheds,
			     "must be a list of one scheduler (SequentialLR holds "
			     "several)");
		else
			read_schedule(r, scheds->child, 0, 0);
	} else if (lr_node) {
		r->cfg->sched.n = 1;
		r->cfg->sched.s[0] = (struct wse_sched){WSE_SCHED_CONSTANT, lr, lr, 1, 0};
	} else {
		fail(r, wse_yaml_peek(init, "optimizer"),
		     "has no learning rate: give "
		     "learning_rate, or trainer.init.schedulers");
	}
}

static void read_loop(struct reader *r, struct wse_yaml *init)
{
	static const char *const types[] = {"bfloat16", NULL};
	static const char *const states[] = {"all", "model,optimizer,dataloader", "model", NULL};
	struct wse_yaml *y = map(r, init, "loop", 1);
	struct wse_config *c = r->cfg;

	c->max_steps = u64(r, y, "max_steps", 1, 0, 1, UINT32_MAX);
	c->eval_frequency = u64(r, y, "eval_frequency", 0, 0, 0, UINT32_MAX);
	c->eval_steps = u64(r, y, "eval_steps", 0, 0, 0, UINT32_MAX);
	y = map(r, init, "checkpoint", 0);
	c->checkpoint_steps = u64(r, y, "steps", 0, 0, 0, UINT32_MAX);
	c->load_states = (enum wse_ckpt_load)choice(r, y, "load_checkpoint_states", 0, states);
	y = map(r, init, "logging", 0);
	c->log_steps = u64(r, y, "log_steps", 0, 10, 1, UINT32_MAX);
	y = map(r, init, "precision", 0);
	if (!flag(r, y, "enabled", 1))
		fail(r, wse_yaml_peek(y, "enabled"), "must be true: a wafer stores bfloat16");
	choice(r, y, "fp16_type", 0, types);
	ignore(r, y, "loss_scaling_factor"); /* bf16 has fp32's range */
	c->max_norm = real(r, y, "max_gradient_norm", 0, 0.0, 0.0, 1e30);
	c->seed = u64(r, init, "seed", 0, 1, 0, UINT64_MAX);
	snprintf(c->model_dir, sizeof(c->model_dir), "model_dir");
	word(r, init, "model_dir", 0, c->model_dir, sizeof(c->model_dir));
	y = map(r, init, "sampling", 0);
	c->sample_bytes = u64(r, y, "bytes", 0, 64, 0, 65536);
	c->sample_temperature = real(r, y, "temperature", 0, 0.8, 0.0, 100.0);
	snprintf(c->sample_prompt, sizeof(c->sample_prompt), "The ");
	word(r, y, "prompt", 0, c->sample_prompt, sizeof(c->sample_prompt));
	ignore(r, init, "callbacks");
	ignore(r, init, "loggers");
}

static void read_fit(struct reader *r, struct wse_yaml *trainer)
{
	struct wse_yaml *fit = map(r, trainer, "fit", 1);
	struct wse_yaml *y = map(r, fit, "train_dataloader", 1), *micro;
	struct wse_config *c = r->cfg;

	ignore(r, y, "data_processor");
	word(r, y, "data_dir", 0, c->data, sizeof(c->data));
	c->batch = u64(r, y, "batch_size", 1, 0, 1, 1u << 24);
	micro = want(r, y, "micro_batch_size", 0);
	if (micro && (micro->type != WSE_YAML_SCALAR || strcmp(micro->text, "auto")))
		c->micro_batch = to_u64(r, micro, 1, 1u << 24);
	if (!r->ret && c->micro_batch && c->batch % c->micro_batch)
		fail(r, micro, "contradicts batch_size: %llu is no multiple of %llu",
		     (unsigned long long)c->batch, (unsigned long long)c->micro_batch);
	c->shuffle = flag(r, y, "shuffle", 1);
	c->shuffle_seed = u64(r, y, "shuffle_seed", 0, 1, 0, UINT64_MAX);
	ignore(r, y, "num_workers");
	ignore(r, y, "prefetch_factor");
	ignore(r, y, "persistent_workers");
	y = map(r, fit, "val_dataloader", 0);
	word(r, y, "data_dir", 0, c->val_data, sizeof(c->val_data));
	c->held_out = u64(r, y, "held_out_bytes", 0, 2048, 1, 1u << 30);
}

static int set_all(struct wse_yaml *root, const char *const *sets, uint32_t nsets, char *why)
{
	for (uint32_t i = 0; i < nsets; i++) {
		const char *eq = strchr(sets[i], '=');
		char path[256];
		int n, ret;

		if (!eq || eq == sets[i])
			return wse_why(why, -EINVAL, "--set %.80s: must be key.path=value",
				       sets[i]);
		n = (int)(eq - sets[i]);
		if (!strncmp(sets[i], "trainer.", 8))
			snprintf(path, sizeof(path), "%.*s", n, sets[i]);
		else if (!strncmp(sets[i], "train_dataloader", 16) ||
			 !strncmp(sets[i], "val_dataloader", 14))
			snprintf(path, sizeof(path), "trainer.fit.%.*s", n, sets[i]);
		else if (!strncmp(sets[i], "init.", 5) || !strncmp(sets[i], "fit.", 4))
			snprintf(path, sizeof(path), "trainer.%.*s", n, sets[i]);
		else
			snprintf(path, sizeof(path), "trainer.init.%.*s", n, sets[i]);
		ret = wse_yaml_set(root, path, eq + 1, why);
		if (ret)
			return ret;
	}
	return 0;
}

int wse_config_parse(const char *name, const char *text, size_t size, const char *const *sets,
		     uint32_t nsets, struct wse_config *cfg, char *why)
{
	struct reader r = {.name = name, .why = why, .cfg = cfg};
	struct wse_yaml *root, *trainer, *init;
	const struct wse_yaml *bad;
	char where[200];
	int ret;

	memset(cfg, 0, sizeof(*cfg));
	ret = wse_yaml_parse(name, text, size, &root, why);
	if (ret)
		return ret;
	ret = set_all(root, sets, nsets, why);
	if (ret) {
		wse_yaml_free(root);
		return ret;
	}
	if (root->type != WSE_YAML_MAP)
		fail(&r, root, "must be a file with the key \"trainer\"");
	trainer = map(&r, root, "trainer", 1);
	init = map(&r, trainer, "init", 1);
	read_backend(&r, init);
	read_model(&r, init);
	read_rates(&r, init);
	read_loop(&r, init);
	read_fit(&r, trainer);
	bad = r.ret ? NULL : wse_yaml_unused(root);
	if (bad)
		r.ret = wse_why(why, -EINVAL, "%.80s: %s is unknown; accepted there: %s", name,
				wse_yaml_where(bad, where), bad->parent->accepted);
	else if (!r.ret && r.missing[0])
		r.ret = wse_why(why, -EINVAL, "%s", r.missing);
	wse_yaml_free(root);
	return r.ret;
}

int wse_config_load(const char *path, const char *const *sets, uint32_t nsets,
		    struct wse_config *cfg, char *why)
{
	enum { MAX = 1 << 20 };
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret;
	char *text;
	ssize_t n = 0, got = 0;

	if (fd < 0)
		return wse_why(why, -errno, "%s: %s", path, strerror(errno));
	text = malloc(MAX);
	while (text && got < MAX && (n = read(fd, text + got, (size_t)(MAX - got))) > 0)
		got += n;
	ret = !text ? -ENOMEM : n < 0 ? -errno : got == MAX ? -EFBIG : 0;
	close(fd);
	if (ret)
		wse_why(why, ret, "%s: %s", path, strerror(-ret));
	else
		ret = wse_config_parse(path, text, (size_t)got, sets, nsets, cfg, why);
	free(text);
	return ret;
}
