// SPDX-License-Identifier: MIT
/* trainer.fit of a parameter file: the text that is trained on, and held-out sets. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "num/nearest.h"
#include "sections.h"

#define MAX_BATCH (1u << 24)

/* a list of folders with HDF5 files, or of checkpoints, one a line */
static void read_list(struct sections *s, const struct wse_yaml *list, const char *what, char *to,
		      size_t size)
{
	size_t n = 0;

	for (const struct wse_yaml *c = list->child; c; c = c->next) {
		if (c->type != WSE_YAML_SCALAR || strchr(c->text, '\n')) {
			reader_fail(&s->r, c, "must be the name of %s", what);
			return;
		}
		n += (size_t)snprintf(to + n, n < size ? size - n : 0, "%s\n", c->text);
		if (n >= size) {
			reader_fail(&s->r, list, "has more than %zu characters in all", size - 1);
			return;
		}
	}
	if (!n)
		reader_fail(&s->r, list, "must be the name of %s, or a list of such", what);
}

/*
 * data_dir, unless an option names the text. Of the Model Zoo's data processors those of HDF5 files
 * are here
 */
static void read_text(struct sections *s, struct wse_yaml *y, char *to, size_t size)
{
	struct wse_yaml *proc = reader_want(&s->r, y, "data_processor", 0);
	struct wse_yaml *dir = reader_want(&s->r, y, "data_dir", 0);

	if (proc && !s->src->data && proc->type == WSE_YAML_SCALAR &&
	    (!strcmp(proc->text, "GptHDF5DataProcessor") ||
	     !strcmp(proc->text, "GptHDF5MapDataProcessor"))) {
		if (dir && dir->type == WSE_YAML_LIST) {
			read_list(s, dir, "a folder", to, size);
			wse_yaml_use_all(dir);
		} else {
			reader_word(&s->r, y, "data_dir", 1, to, size);
		}
		return;
	}
	if (s->src->data || proc) {
		if (proc && s->src->data)
			wse_config_note(s->cfg->ignored, sizeof(s->cfg->ignored), "data_processor");
		else if (proc)
			wse_config_refuse(
				s, proc, "data processor",
				proc->type == WSE_YAML_SCALAR ? proc->text : "without a name",
				"remove it, and give a text, a directory of texts or tokens "
				"(*.bin) as data_dir, or with --data");
		if (proc)
			wse_yaml_use_all(proc);
		if (proc && dir)
			wse_yaml_use_all(dir);
	}
	if (!proc)
		reader_word(&s->r, y, "data_dir", 0, to, size);
	if (!s->src->data && strchr(to, '\n')) /* which stands between the names of a list */
		reader_fail(&s->r, dir, "has a newline in its name: rename it");
}

/* what a dataloader of the Model Zoo says of its tokens */
static void read_tokens(struct sections *s, struct wse_yaml *y)
{
	struct wse_yaml *list = reader_want(&s->r, y, "data_transforms", 0), *name;
	uint64_t vocab = reader_u64(&s->r, y, "vocab_size", 0, s->vocab, 1, 1u << 30);

	if (vocab != s->vocab)
		reader_fail(&s->r, wse_yaml_peek(y, "vocab_size"),
			    "%llu is not the model's, %u: give that, or leave it out",
			    (unsigned long long)vocab, s->vocab);
	if (!list || !list->child)
		return;
	name = wse_yaml_peek(list->child, "name");
	wse_config_refuse(s, list, "data transform",
			  name && name->type == WSE_YAML_SCALAR ? name->text : "without a name",
			  "take it away, and give data to which it was done");
}

/* of any dataloader: how it loads, which is of no matter here */
static void ignore_loading(struct sections *s, struct wse_yaml *y)
{
	static const char *const loading[] = {"num_workers", "prefetch_factor",
					      "persistent_workers", "use_worker_cache", "repeat"};

	for (size_t i = 0; i < sizeof(loading) / sizeof(*loading); i++)
		wse_config_ignore(s, y, loading[i]);
}

static void read_train(struct sections *s, struct wse_yaml *fit)
{
	struct reader *r = &s->r;
	struct wse_yaml *y = reader_map(r, fit, "train_dataloader", 1), *micro;
	struct wse_config *c = s->cfg;

	read_text(s, y, c->data, sizeof(c->data));
	c->batch = reader_u64(r, y, "batch_size", 1, 0, 1, MAX_BATCH);
	micro = reader_want(r, y, "micro_batch_size", 0);
	if (micro && (micro->type != WSE_YAML_SCALAR || strcmp(micro->text, "auto")))
		c->micro_batch = reader_to_u64(r, micro, 1, MAX_BATCH);
	c->shuffle = reader_flag(r, y, "shuffle", 1);
	c->shuffle_seed = reader_u64(r, y, "shuffle_seed", 0, 1, 0, UINT64_MAX);
	/*
	 * a step takes a whole batch; which samples are left out, shuffling changes with every
	 * epoch
	 */
	if (!reader_flag(r, y, "drop_last", 1))
		reader_fail(
			r, wse_yaml_peek(y, "drop_last"),
			"must be true: the last samples of an epoch, fewer than a batch, are not "
			"trained on");
	ignore_loading(s, y);
	read_tokens(s, y);
}

/* letters, digits and what stands in names of files: it goes into metrics.csv and tags */
static int is_name(const char *text)
{
	static const char known[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_.-";

	return *text && !text[strspn(text, known)];
}

static void read_name(struct sections *s, struct wse_yaml *y, struct wse_config_val *v)
{
	struct wse_config *c = s->cfg;
	uint32_t before = s->r.faults->n;

	reader_word(&s->r, y, "name", 0, v->name, sizeof(v->name));
	if (wse_yaml_peek(y, "name") && !is_name(v->name) && s->r.faults->n == before)
		reader_fail(&s->r, wse_yaml_peek(y, "name"),
			    "must be of letters, digits, \"_\", \".\" and \"-\", up to %d",
			    WSE_VAL_NAME - 1);
	for (const struct wse_config_val *o = c->val; o < v; o++)
		if (!strcmp(o->name, v->name))
			reader_fail(&s->r, wse_yaml_peek(y, "name") ? wse_yaml_peek(y, "name") : y,
				    "has the name %s, as another one before it", v->name);
}

/* one held-out set, of several, or the only one */
static void read_val(struct sections *s, struct wse_yaml *y, int several)
{
	struct wse_config *c = s->cfg;
	struct wse_config_val *v = &c->val[c->nval];

	if (several)
		snprintf(v->name, sizeof(v->name), "validate_%u", c->nval);
	read_name(s, y, v);
	read_text(s, y, v->data, sizeof(v->data));
	read_tokens(s, y);
	v->held_out = reader_u64(&s->r, y, "held_out_bytes", 0, 2048, 1, 1u << 30);
	v->batch = reader_u64(&s->r, y, "batch_size", 0, 0, 1, MAX_BATCH);
	ignore_loading(s, y);
	wse_config_ignore_as(s, y, "drop_last",
			     "drop_last of val_dataloader"); /* all samples count */
	/* a model has one length of sequences */
	wse_config_ignore_as(s, y, "max_sequence_length", "max_sequence_length of val_dataloader");
	wse_config_ignore_as(s, y, "shuffle", "shuffle of val_dataloader");
	wse_config_ignore_as(s, y, "shuffle_seed", "shuffle_seed of val_dataloader");
	/* a data processor that is not here was refused by name */
	for (uint32_t i = 0; i < c->nval && (s->src->data || !wse_yaml_peek(y, "data_processor"));
	     i++)
		if (!v->data[0] && !c->val[i].data[0])
			reader_fail(&s->r, y,
				    "and %s are both cut out of the text that is trained on: one "
				    "can be, give data_dir",
				    c->val[i].name);
	c->nval++;
}

/* a dataloader, or a list of such; there is always one */
static void read_vals(struct sections *s, struct wse_yaml *from, const char *key)
{
	struct wse_yaml *y = reader_want(&s->r, from, key, 0);

	if (!y || y->type != WSE_YAML_LIST) {
		read_val(s, reader_map(&s->r, from, key, 0), 0);
		return;
	}
	for (struct wse_yaml *e = y->child; e; e = e->next) {
		if (e->type != WSE_YAML_MAP) {
			reader_fail(&s->r, e, "must hold the keys of a dataloader");
		} else if (s->cfg->nval == WSE_VAL_SETS) {
			reader_fail(&s->r, e, "is one too many: at most %d", WSE_VAL_SETS);
			wse_yaml_use_all(e);
		} else {
			read_val(s, e, y->child->next != NULL);
		}
	}
	if (!y->child)
		read_val(s, NULL, 0);
}

static int is_null(const struct wse_yaml *y)
{
	return y->type == WSE_YAML_SCALAR &&
	       (!y->text[0] || !strcmp(y->text, "null") || !strcmp(y->text, "~"));
}

/* where weights come from; null is the initial ones: what fit begins with anyway */
static void read_ckpt(struct sections *s, struct wse_yaml *from, const char *key, int list)
{
	struct wse_yaml *y = reader_want(&s->r, from, key, 0);
	struct wse_config *c = s->cfg;

	if (!y)
		return;
	if (is_null(y) && s->src->forward)
		reader_fail(&s->r, y,
			    "is null, the initial weights: name a checkpoint, or leave it out");
	else if (list && y->type == WSE_YAML_LIST)
		read_list(s, y, "a checkpoint", c->ckpt, sizeof(c->ckpt));
	else if (!is_null(y))
		reader_word(&s->r, from, key, 0, c->ckpt, WSE_PATH);
	if (list)
		wse_yaml_use_all(y);
}

void wse_config_fit(struct sections *s, struct wse_yaml *trainer)
{
	struct wse_yaml *fit = reader_map(&s->r, trainer, "fit", 1), *y;
	int forward = s->src->forward;

	read_train(s, fit);
	if (forward == 2) {
		y = reader_map(&s->r, trainer, "validate_all", 1);
		reader_want(&s->r, y, "val_dataloaders", 1);
		read_vals(s, y, "val_dataloaders");
		read_ckpt(s, y, "ckpt_paths", 1);
	} else if (forward && wse_yaml_peek(trainer, "validate")) {
		y = reader_map(&s->r, trainer, "validate", 1);
		reader_want(&s->r, y, "val_dataloader", 1);
		read_vals(s, y, "val_dataloader");
		read_ckpt(s, y, "ckpt_path", 0);
	} else {
		read_vals(s, fit, "val_dataloader");
		if (!forward)
			read_ckpt(s, fit, "ckpt_path", 0);
	}
	/* sections and keys of other modes */
	if (forward == 2 || (forward && wse_yaml_peek(trainer, "validate")))
		wse_config_ignore_as(s, fit, "val_dataloader", "val_dataloader of fit");
	if (forward)
		wse_config_ignore_as(s, fit, "ckpt_path", "ckpt_path of fit");
	if (forward != 1)
		wse_config_ignore(s, trainer, "validate");
	if (forward != 2)
		wse_config_ignore(s, trainer, "validate_all");
}
