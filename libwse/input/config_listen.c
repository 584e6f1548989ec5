// SPDX-License-Identifier: MIT
/* trainer.init.callbacks and .loggers of a parameter file, by the Model Zoo's names. */
#include <stdio.h>
#include <string.h>

#include "sections.h"

struct listener {
	const char *name;
	/* its entries; NULL: it has none that matter, for it is always on */
	void (*read)(struct sections *s, struct wse_yaml *args);
};

static void keep_n(struct sections *s, struct wse_yaml *args)
{
	s->cfg->keep_checkpoints = reader_u64(&s->r, args, "n", 1, 0, 1, UINT32_MAX);
}

static void count_params(struct sections *s, struct wse_yaml *args)
{
	(void)args;
	s->cfg->count_params = 1;
}

static void norms(struct sections *s, struct wse_yaml *args)
{
	(void)args;
	s->cfg->log_norms = 1;
}

/* the learning rate is in every line; no other entry of a group changes but by it */
static void param_group(struct sections *s, struct wse_yaml *args)
{
	static const char *const keys[] = {"lr", NULL};
	struct wse_yaml *list = args ? reader_want(&s->r, args, "keys", 1) : NULL;

	if (list && list->type == WSE_YAML_LIST && list->child && !list->child->next &&
	    list->child->type == WSE_YAML_SCALAR && !strcmp(list->child->text, "lr"))
		wse_yaml_use_all(list);
	else if (list)
		reader_choice(&s->r, args, "keys", 1, keys);
}

static void flops(struct sections *s, struct wse_yaml *args)
{
	(void)args;
	s->cfg->log_flops = 1;
}

static void tensorboard(struct sections *s, struct wse_yaml *args)
{
	snprintf(s->cfg->tensorboard, sizeof(s->cfg->tensorboard), "events");
	reader_word(&s->r, args, "summary_dir", 0, s->cfg->tensorboard,
		    sizeof(s->cfg->tensorboard));
}

static const struct listener callbacks[] = {
	{"ComputeNorm", norms},	      {"CheckLoss", NULL},
	{"NaNChecker", NULL},	      {"RateProfiler", NULL},
	{"KeepNCheckpoints", keep_n}, {"CountParams", count_params},
	{"FlopUtilization", flops},   {"LogOptimizerParamGroup", param_group}};
static const struct listener loggers[] = {{"ProgressLogger", NULL},
					  {"TensorBoardLogger", tensorboard}};

/* "Name: {entries}", or the name alone */
static void read_one(struct sections *s, struct wse_yaml *c, const char *what,
		     const struct listener *known, size_t n)
{
	struct wse_yaml *args = c->type == WSE_YAML_MAP ? c->child : NULL;
	const char *name = c->type == WSE_YAML_SCALAR ? c->text
			   : args && args->key	      ? args->key
						      : "without a name";
	char remedy[240] = "remove it; there are";

	for (size_t i = 0; i < n; i++) {
		if (strcmp(known[i].name, name)) {
			size_t at = strlen(remedy);

			snprintf(remedy + at, sizeof(remedy) - at, "%s %s", i ? "," : "",
				 known[i].name);
			continue;
		}
		if (!known[i].read) {
			wse_yaml_use_all(c);
			return;
		}
		args = args ? reader_want(&s->r, c, name, 0) : NULL;
		if (args && args->type != WSE_YAML_MAP &&
		    !(args->type == WSE_YAML_SCALAR &&
		      (!args->text[0] || !strcmp(args->text, "null"))))
			reader_fail(&s->r, args, "must be a map, such as {}");
		if (args && args->type != WSE_YAML_MAP)
			args = NULL;
		if (!args && known[i].read == keep_n)
			reader_fail(&s->r, c, "is %s without n: give KeepNCheckpoints: {n: 3}",
				    name);
		known[i].read(s, args);
		return;
	}
	wse_config_refuse(s, c, what, name, remedy);
}

static void read_list(struct sections *s, struct wse_yaml *init, const char *key, const char *what,
		      const struct listener *known, size_t n)
{
	struct wse_yaml *list = reader_want(&s->r, init, key, 0);

	if (!list)
		return;
	if (list->type != WSE_YAML_LIST) {
		reader_fail(&s->r, list, "must be a list");
		wse_yaml_use_all(list);
		return;
	}
	for (struct wse_yaml *c = list->child; c; c = c->next)
		read_one(s, c, what, known, n);
}

/* a launcher starts a run again from outside of it, with as many wafers as it finds */
static void autorestart(struct sections *s, struct wse_yaml *y)
{
	struct wse_yaml *max = wse_yaml_peek(y, "max_num_restarts");

	if (!y)
		return;
	if (max && max->type == WSE_YAML_SCALAR && !strcmp(max->text, "null"))
		wse_yaml_use_all(reader_want(&s->r, y, "max_num_restarts", 0));
	else
		reader_u64(&s->r, y, "max_num_restarts", 0, 0, 0, UINT32_MAX);
	reader_u64(&s->r, y, "min_num_csx", 0, 1, 1, UINT32_MAX);
	wse_config_note(s->cfg->ignored, sizeof(s->cfg->ignored),
			"autorestart (wse-train --launch ... --restart N)");
}

void wse_config_listeners(struct sections *s, struct wse_yaml *init)
{
	read_list(s, init, "callbacks", "callback", callbacks,
		  sizeof(callbacks) / sizeof(*callbacks));
	read_list(s, init, "loggers", "logger", loggers, sizeof(loggers) / sizeof(*loggers));
	autorestart(s, reader_map(&s->r, init, "autorestart", 0));
}
