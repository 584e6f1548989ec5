// SPDX-License-Identifier: MIT
/* From the YAML tree to struct wse_config: every key that exists is asked for here. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "device/device.h"
#include "hf_config.h"
#include "sections.h"

static void read_backend(struct sections *s, struct wse_yaml *init)
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
	static const char *const orders[] = {"rows", "linear", NULL};
	struct wse_yaml *backend = reader_map(&s->r, init, "backend", 0);
	struct wse_yaml *cluster = reader_map(&s->r, backend, "cluster_config", 0);

	wse_config_ignore(s, backend, "backend_type");
	wse_config_ignore(s, backend, "compile_dir");
	wse_config_ignore(s, backend, "use_cs_grad_accum");
	s->cfg->linear = reader_choice(&s->r, backend, "image_order", 0, orders) == 1;
	s->cfg->num_wse =
		(uint32_t)reader_u64(&s->r, cluster, "num_csx", 0, 1, 1, s->src->plan ? 192 : 64);
	for (size_t i = 0; i < sizeof(vendor) / sizeof(*vendor); i++)
		wse_config_ignore(s, cluster, vendor[i]);
}

static void read_precision(struct sections *s, struct wse_yaml *init)
{
	static const char *const types[] = {"bfloat16", NULL};
	struct reader *r = &s->r;
	struct wse_yaml *y = reader_map(r, init, "precision", 0), *format;

	if (!reader_flag(r, y, "enabled", 1))
		reader_fail(r, wse_yaml_peek(y, "enabled"),
			    "must be true: a wafer stores bfloat16");
	format = wse_yaml_peek(y, "fp16_type");
	if (format && format->type == WSE_YAML_SCALAR && !strcmp(format->text, "cbfloat16"))
		wse_config_refuse(s, reader_want(r, y, "fp16_type", 0), "number format",
				  format->text, "a wafer stores bfloat16");
	else
		reader_choice(r, y, "fp16_type", 0, types);
	wse_config_ignore(s, y, "loss_scaling_factor"); /* bf16 has fp32's range */
	wse_config_ignore(s, y, "log_loss_scale");
	wse_config_ignore(s, y, "precision_opt_level");
	s->cfg->max_norm = reader_real(r, y, "max_gradient_norm", 0, 0.0, 0.0, 1e30);
}

/* at: where the file says it, NULL for the option */
static int check_prompt(struct sections *s, const struct wse_yaml *at, const char *prompt, size_t n)
{
	char text[120] = "";
	size_t i = s->bpe ? n : 0; /* a tokenizer takes any bytes */

	while (i < n && (unsigned char)prompt[i] < s->vocab)
		i++;
	if (n >= WSE_PROMPT)
		snprintf(text, sizeof(text), "must be less than %d bytes", WSE_PROMPT);
	else if (n && !s->bpe && s->vocab > 256)
		snprintf(text, sizeof(text),
			 "needs a tokenizer: vocab_size is %u, more than that of bytes", s->vocab);
	else if (i < n)
		snprintf(text, sizeof(text), "has byte %u at %zu, outside the vocabulary of %u",
			 (unsigned int)(unsigned char)prompt[i], i, s->vocab);
	if (text[0] && at)
		reader_fail(&s->r, at, "%s", text);
	else if (text[0])
		wse_fault_add(s->r.faults, 0, "--prompt: %s", text);
	return !text[0];
}

/* several, of options */
static void read_prompts(struct sections *s, const struct wse_prompt *p)
{
	struct wse_config *c = s->cfg;
	size_t at = 0;

	for (; p->text; p++) {
		size_t n = p->len ? p->len : strlen(p->text);

		if (!check_prompt(s, NULL, p->text, n))
			return;
		if (c->nprompts == WSE_PROMPTS || at + n + 1 > sizeof(c->prompts)) {
			wse_fault_add(s->r.faults, 0, "--prompt: at most %d, of %d bytes in all",
				      WSE_PROMPTS, WSE_PROMPTS_ROOM - WSE_PROMPTS);
			return;
		}
		memcpy(c->prompts + at, p->text, n);
		c->prompts[at + n] = 0;
		if (!c->nprompts) {
			memcpy(c->sample_prompt, c->prompts, n + 1);
			c->sample_prompt_len = n;
		}
		c->prompt_len[c->nprompts++] = n;
		at += n + 1;
	}
}

/* the option's, the file's, or a beginning that most texts have */
static void read_prompt(struct sections *s, struct wse_yaml *y)
{
	struct wse_config *c = s->cfg;
	const char *option = s->src->prompt;
	struct wse_yaml *at;
	size_t n;

	snprintf(c->sample_prompt, sizeof(c->sample_prompt), "%s",
		 s->bpe				     ? "The"
		 : s->vocab > 't' && s->vocab <= 256 ? "The "
						     : "");
	reader_word(&s->r, y, "prompt", 0, c->sample_prompt, sizeof(c->sample_prompt));
	c->sample_prompt_len = strlen(c->sample_prompt);
	at = y ? wse_yaml_peek(y, "prompt") : NULL;
	/* once: without sampling, or with a fault about that, the prompt does not matter */
	if (s->src->prompts && s->src->prompts->text) {
		read_prompts(s, s->src->prompts);
		return;
	}
	if (!option && at && !(wse_yaml_peek(y, "bytes") && s->vocab > 256 && !s->bpe))
		check_prompt(s, at, c->sample_prompt, c->sample_prompt_len);
	if (!option)
		return;
	n = s->src->prompt_len ? s->src->prompt_len : strlen(option);
	if (!check_prompt(s, NULL, option, n))
		return;
	memcpy(c->sample_prompt, option, n);
	c->sample_prompt[n] = 0;
	c->sample_prompt_len = n;
}

/*
 * Text is made of bytes, or by the tokenizer: with a larger vocabulary and none there is no text.
 * bytes is the older name of tokens, of a time when they were the same.
 */
static void read_sampling(struct sections *s, struct wse_yaml *init)
{
	struct wse_config *c = s->cfg;
	struct reader *r = &s->r;
	struct wse_yaml *y = reader_map(r, init, "sampling", 0);
	int no_text = s->vocab > 256 && !s->bpe;
	const char *key;

	key = wse_yaml_peek(y, "tokens") ? "tokens" : "bytes";
	if (wse_yaml_peek(y, "tokens"))
		wse_config_ignore_as(s, y, "bytes", "sampling.bytes (tokens is given)");
	c->sample_tokens = reader_u64(r, y, key, 0, no_text ? 0 : 64, 0, 65536);
	if (c->sample_tokens && no_text)
		reader_fail(r, wse_yaml_peek(y, key),
			    "must be 0: vocab_size is %u, and there is no tokenizer to make text",
			    s->vocab);
	c->sample_temperature = reader_real(r, y, "temperature", 0, 0.8, 0.0, 100.0);
	c->sample_top_k = (uint32_t)reader_u64(r, y, "top_k", 0, 0, 0, 65536);
	c->sample_top_p = reader_real(r, y, "top_p", 0, 1.0, 1e-6, 1.0);
	c->sample_seed = reader_u64(r, y, "seed", 0, c->seed, 0, UINT64_MAX);
	c->samples = (uint32_t)reader_u64(r, y, "samples", 0, 0, 1, 1024);
	read_prompt(s, y);
}

static void take_option(struct wse_faults *faults, const char *name, const char *value, char *to)
{
	if (value && (!*value || strlen(value) >= WSE_PATH))
		wse_fault_add(faults, 0, "%s: must be a path of 1 to %d characters", name,
			      WSE_PATH - 1);
	else if (value)
		snprintf(to, WSE_PATH, "%s", value);
}

/* what makes tokens of text: the option's, or the file's; it is read here to check it */
static void read_tokenizer(struct sections *s, struct wse_yaml *trainer)
{
	struct wse_yaml *data = wse_yaml_peek(wse_yaml_peek(trainer, "fit"), "train_dataloader");
	struct wse_config *c = s->cfg;
	struct wse_yaml *at;

	reader_word(&s->r, data, "tokenizer", 0, c->tokenizer, sizeof(c->tokenizer));
	at = wse_yaml_peek(data, "tokenizer");
	if (s->src->tokenizer) {
		take_option(s->r.faults, "--tokenizer", s->src->tokenizer, c->tokenizer);
		at = NULL;
	}
	if (!c->tokenizer[0])
		return;
	if (wse_bpe_open(c->tokenizer, &s->bpe)) {
		if (at)
			reader_fail(&s->r, at, "cannot be used: %s", wse_error());
		else
			wse_fault_add(s->r.faults, 0, "%s", wse_error());
		return;
	}
	if (wse_bpe_size(s->bpe) <= s->vocab)
		return;
	if (at)
		reader_fail(&s->r, at,
			    "has %u tokens, and model.vocab_size is %u: choose %u, or more",
			    wse_bpe_size(s->bpe), s->vocab, wse_bpe_size(s->bpe));
	else
		wse_fault_add(
			s->r.faults, 0,
			"--tokenizer: it has %u tokens, and model.vocab_size is %u: choose %u, "
			"or more",
			wse_bpe_size(s->bpe), s->vocab, wse_bpe_size(s->bpe));
}

/* bytes, as transformers writes them: 5000000, "5MB", "2GiB"; 0: none */
static uint64_t read_size(struct sections *s, struct wse_yaml *y, const char *key)
{
	static const char *const units[] = {"", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"};
	const struct wse_yaml *c = reader_want(&s->r, y, key, 0);
	unsigned long long v = 0;
	uint64_t by = 1;
	char *end;

	if (!c)
		return 0;
	errno = 0;
	if (c->type == WSE_YAML_SCALAR && *c->text >= '0' && *c->text <= '9')
		v = strtoull(c->text, &end, 10);
	for (size_t i = 0; v && i < sizeof(units) / sizeof(*units); i++) {
		if (i)
			by = i == 5 ? 1024 : by * (i < 5 ? 1000 : 1024);
		if (!strcmp(end, units[i]) && !errno && v <= UINT64_MAX / 2 / by)
			return v * by;
	}
	reader_fail(&s->r, c, "must be a size, such as 5000000, 500MB, 5GB or 2GiB");
	return 0;
}

/* the Model Zoo's keys of the callback that are about files in model_dir */
static void read_checkpoint_files(struct sections *s, struct wse_yaml *y)
{
	/* the last is the Model Zoo's default: what its files call themselves decides nothing */
	static const char *const names[] = {"checkpoint_{step}.safetensors",
					    "checkpoint_{step}.mdl", NULL};

	if (wse_yaml_peek(y, "autoload_last_checkpoint"))
		s->cfg->autoload = reader_flag(&s->r, y, "autoload_last_checkpoint", 1)
					   ? WSE_AUTOLOAD_ALWAYS
					   : WSE_AUTOLOAD_NEVER;
	if (reader_choice(&s->r, y, "checkpoint_name", 0, names) == 1)
		wse_config_note(s->cfg->ignored, sizeof(s->cfg->ignored), "checkpoint_name");
}

static void read_loop(struct sections *s, struct wse_yaml *init)
{
	static const char *const states[] = {"all", "model,optimizer,dataloader", "model", NULL};
	static const char *const sharded[] = {"model", "all", NULL};
	struct reader *r = &s->r;
	struct wse_yaml *y = reader_map(r, init, "loop", 1);
	struct wse_config *c = s->cfg;

	c->max_steps = reader_u64(r, y, "max_steps", 1, 0, 1, UINT32_MAX);
	c->eval_frequency = reader_u64(r, y, "eval_frequency", 0, 0, 0, UINT32_MAX);
	c->eval_steps = reader_u64(r, y, "eval_steps", 0, 0, 0, UINT32_MAX);
	y = reader_map(r, init, "checkpoint", 0);
	c->checkpoint_steps = reader_u64(r, y, "steps", 0, 0, 0, UINT32_MAX);
	c->load_states =
		(enum wse_ckpt_load)reader_choice(r, y, "load_checkpoint_states", 0, states);
	c->save_initial = reader_flag(r, y, "save_initial_checkpoint", 0);
	read_checkpoint_files(s, y);
	c->max_shard = read_size(s, y, "max_shard_size");
	c->shard_all = reader_choice(r, y, "shard_checkpoint_states", 0, sharded) == 1;
	if (c->max_shard && !(c->model.family && wse_hf_config_has(&c->model)) && !r->faults->n)
		reader_fail(r, wse_yaml_peek(y, "max_shard_size"),
			    "is for models that Hugging Face's transformers has: this is none");
	/* a checkpoint fits the model here, tensor by tensor, whatever this says */
	wse_config_ignore(s, y, "disable_strict_checkpoint_loading");
	y = reader_map(r, init, "logging", 0);
	c->log_steps = reader_u64(r, y, "log_steps", 0, 10, 1, UINT32_MAX);
	read_precision(s, init);
	c->seed = reader_u64(r, init, "seed", 0, 1, 0, UINT64_MAX);
	c->memory_limit = reader_u64(r, init, "memory_limit", 0, 0, 0, 1u << 30) * 1000000;
	snprintf(c->model_dir, sizeof(c->model_dir), "model_dir");
	reader_word(r, init, "model_dir", 0, c->model_dir, sizeof(c->model_dir));
	read_sampling(s, init);
	wse_config_listeners(s, init);
}

/* every --set on its own: one that is wrong does not hide the next */
static int set_all(struct wse_yaml *root, const struct wse_config_source *src,
		   struct wse_faults *faults)
{
	for (uint32_t i = 0; i < src->nsets; i++) {
		const char *set = src->sets[i], *eq = strchr(set, '='), *front = "trainer.init.";
		char path[256];

		if (!eq || eq == set) {
			wse_fault_add(faults, 0, "--set %.80s: must be key.path=value", set);
			continue;
		}
		if (!strncmp(set, "trainer.", 8))
			front = "";
		else if (!strncmp(set, "train_dataloader", 16) ||
			 !strncmp(set, "val_dataloader", 14))
			front = "trainer.fit.";
		else if (!strncmp(set, "init.", 5) || !strncmp(set, "fit.", 4))
			front = "trainer.";
		snprintf(path, sizeof(path), "%s%.*s", front, (int)(eq - set), set);
		if (wse_yaml_set(root, path, eq + 1, faults) == -ENOMEM)
			return -ENOMEM;
	}
	return 0;
}

int wse_config_read(const struct wse_config_source *src, struct wse_config *cfg,
		    struct wse_faults *faults)
{
	struct sections *s = calloc(1, sizeof(*s));
	struct wse_yaml *root, *trainer, *init;
	int ret;

	memset(cfg, 0, sizeof(*cfg));
	faults->n = 0;
	if (!s) {
		wse_fault_add(faults, 0, "%.80s: no memory", src->name);
		return wse_faults_say(faults, -ENOMEM);
	}
	ret = wse_yaml_parse(src->name, src->text, src->size, &root, faults);
	if (ret)
		goto out;
	s->r = (struct reader){.name = src->name, .faults = faults};
	s->src = src;
	s->cfg = cfg;
	s->vocab = 256;
	if (root->type == WSE_YAML_MAP)
		ret = set_all(root, src, faults);
	else
		reader_fail(&s->r, root, "must be a file with the key \"trainer\"");
	trainer = reader_map(&s->r, root->type == WSE_YAML_MAP ? root : NULL, "trainer", 1);
	init = reader_map(&s->r, trainer, "init", 1);
	read_backend(s, init);
	wse_config_model(s, trainer, init);
	wse_config_rates(s, init);
	wse_config_sparsity(s, init);
	read_tokenizer(s, trainer);
	read_loop(s, init);
	wse_config_fit(s, trainer);
	take_option(faults, "--data", src->data, cfg->data);
	if (src->data && strchr(src->data, '\n')) /* which stands between the names of a list */
		wse_fault_add(faults, 0, "--data: a newline is in the name: rename it");
	take_option(faults, "--model_dir", src->model_dir, cfg->model_dir);
	reader_finish(&s->r, root);
	wse_yaml_free(root);
	ret = ret ? ret : faults->n ? -EINVAL : 0;
out:
	wse_bpe_close(s->bpe);
	free(s);
	return wse_faults_say(faults, ret);
}

int wse_config_read_file(const char *path, struct wse_config_source *src, struct wse_config *cfg,
			 struct wse_faults *faults)
{
	enum { MAX = 1 << 20 };
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret;
	char *text, there[PATH_MAX];
	ssize_t n = 0, got = 0;

	faults->n = 0;
	if (fd < 0) {
		ret = -errno;
		if (ret == -ENOENT && !wse_find_config(path, sizeof(there), there))
			wse_fault_add(faults, 0, "%s: %s: there is %.1000s", path, strerror(-ret),
				      there);
		else
			wse_fault_add(faults, 0, "%s: %s", path, strerror(-ret));
		return wse_faults_say(faults, ret);
	}
	text = malloc(MAX);
	while (text && got < MAX && (n = read(fd, text + got, (size_t)(MAX - got))) > 0)
		got += n;
	ret = !text ? -ENOMEM : n < 0 ? -errno : got == MAX ? -EFBIG : 0;
	close(fd);
	src->name = path;
	src->text = text;
	src->size = (size_t)got;
	if (ret)
		wse_fault_add(faults, 0, "%s: %s", path, strerror(-ret));
	else
		ret = wse_config_read(src, cfg, faults);
	src->text = NULL;
	free(text);
	return wse_faults_say(faults, ret);
}

int wse_config_load(const char *path, const char *const *sets, uint32_t nsets,
		    struct wse_config *cfg)
{
	struct wse_config_source src = {.sets = sets, .nsets = nsets};
	struct wse_faults *faults = malloc(sizeof(*faults));
	int ret;

	if (!faults)
		return wse_fail(-ENOMEM, "no memory");
	ret = wse_config_read_file(path, &src, cfg, faults);
	free(faults);
	return ret;
}

int wse_config_parse(const char *name, const char *text, size_t size, const char *const *sets,
		     uint32_t nsets, struct wse_config *cfg)
{
	struct wse_config_source src = {
		.name = name, .text = text, .size = size, .sets = sets, .nsets = nsets};
	struct wse_faults *faults = malloc(sizeof(*faults));
	int ret;

	if (!faults)
		return wse_fail(-ENOMEM, "no memory");
	ret = wse_config_read(&src, cfg, faults);
	free(faults);
	return ret;
}
