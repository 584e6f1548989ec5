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
	{"ComputeNorm", NULL},	   {"CheckLoss", NULL},		 {"NaNChecker", NULL},
	{"RateProfiler", NULL},	   {"KeepNCheckpoints", keep_n}, {"CountParams", count_params},
	{"FlopUtilization", flops}};
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
	char remedy[200] = "remove it; there are";

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

void wse_config_listeners(struct sections *s, struct wse_yaml *init)
{
	read_list(s, init, "callbacks", "callback", callbacks,
		  sizeof(callbacks) / sizeof(*callbacks));
	read_list(s, init, "loggers", "logger", loggers, sizeof(loggers) / sizeof(*loggers));
	/* a launcher starts a run again from outside of it */
	wse_config_ignore_as(s, init, "autorestart",
			     "autorestart (wse-train --launch ... --restart N)");
}
