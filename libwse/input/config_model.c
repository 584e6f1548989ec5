// SPDX-License-Identifier: MIT
/* trainer.init.model of a parameter file: which family, and its sizes. */
#include <stdio.h>
#include <string.h>

#include "hf_config.h"
#include "model/gpt.h"
#include "model/mlp.h"
#include "sections.h"

/* the widths of the hidden layers, from either form; their number */
static uint32_t read_hidden(struct reader *r, struct wse_yaml *m, uint32_t *hidden)
{
	struct wse_yaml *width = reader_want(r, m, "hidden_size", 0);
	struct wse_yaml *layers = reader_want(r, m, "num_hidden_layers", 0);
	struct wse_yaml *sizes = reader_want(r, m, "hidden_sizes", 0), *c;
	uint32_t n = 0, before = r->faults->n;

	if (!sizes) {
		hidden[0] = (uint32_t)reader_u64(r, m, "hidden_size", 1, 0, 1, 1u << 16);
		n = (uint32_t)reader_u64(r, m, "num_hidden_layers", 1, 0, 0,
					 WSE_MLP_MAX_LINEAR - 1);
		for (uint32_t i = 1; i < n; i++)
			hidden[i] = hidden[0];
		return r->faults->n == before ? n : 0;
	}
	if (width || layers) {
		reader_fail(r, sizes,
			    "contradicts hidden_size and num_hidden_layers: give the one or the "
			    "others");
		return 0;
	}
	if (sizes->type != WSE_YAML_LIST)
		reader_fail(r, sizes, "must be a list of widths, such as [512, 256]");
	for (c = sizes->type == WSE_YAML_LIST ? sizes->child : NULL; c; c = c->next) {
		if (n + 1 < WSE_MLP_MAX_LINEAR) {
			hidden[n++] = (uint32_t)reader_to_u64(r, c, 1, 1u << 16);
			continue;
		}
		reader_fail(r, c, "is one layer too many: %d are the most", WSE_MLP_MAX_LINEAR - 1);
		break;
	}
	return n;
}

/*
 * gelu is the exact form, by erf, everywhere; Hugging Face has three names for that by tanh, whose
 * formulas differ in the order of their factors alone
 */
#define GELUS	  "gelu", "gelu_new", "gelu_pytorch_tanh", "gelu_fast"
#define GELU_ACTS WSE_GELU, WSE_GELU_NEW, WSE_GELU_NEW, WSE_GELU_NEW

static void read_mlp(struct sections *s, struct wse_yaml *m)
{
	static const char *const names[] = {"relu", GELUS, NULL};
	static const enum wse_activation acts[] = {WSE_RELU, GELU_ACTS};
	struct reader *r = &s->r;
	uint32_t hidden[WSE_MLP_MAX_LINEAR], n, window, embed, before = r->faults->n;
	uint32_t missing = r->nmissing;
	int act;

	window = (uint32_t)reader_u64(r, m, "window", 1, 0, 1, 4096);
	embed = (uint32_t)reader_u64(r, m, "embedding_size", 1, 0, 1, 4096);
	s->vocab = (uint32_t)reader_u64(r, m, "vocab_size", 0, 256, 2, 65536);
	act = reader_choice(r, m, "nonlinearity", 0, names);
	n = read_hidden(r, m, hidden);
	if (!m || r->faults->n != before || r->nmissing != missing)
		return;
	if ((uint64_t)window * embed > WSE_MLP_MAX_INPUT)
		reader_fail(r, wse_yaml_peek(m, "embedding_size"),
			    "%u x window %u is more than %u: choose %u", embed, window,
			    WSE_MLP_MAX_INPUT, WSE_MLP_MAX_INPUT / window);
	else if (wse_mlp_init(&s->cfg->model, window, embed, s->vocab, hidden, n,
			      acts[act < 0 ? 0 : act]))
		reader_fail(r, m, "sizes are out of range");
}

/* a key of the Model Zoo that has one value here */
static void only_flag(struct sections *s, struct wse_yaml *m, const char *key, int value)
{
	if (reader_flag(&s->r, m, key, value) != value)
		reader_fail(&s->r, wse_yaml_peek(m, key), "must be %s", value ? "true" : "false");
}

static void only_word(struct sections *s, struct wse_yaml *m, const char *key, const char *value)
{
	const char *const values[] = {value, NULL};

	reader_choice(&s->r, m, key, 0, values);
}

static int is_word(const struct wse_yaml *y, const char *word)
{
	return y && y->type == WSE_YAML_SCALAR && !strcmp(y->text, word);
}

/* a rate of dropout; null is as if it were not there */
static float read_drop(struct sections *s, struct wse_yaml *m, const char *key, double otherwise)
{
	const struct wse_yaml *at = wse_yaml_peek(m, key);
	double rate = otherwise;

	if (is_word(at, "null"))
		reader_want(&s->r, m, key, 0);
	else
		rate = reader_real(&s->r, m, key, 0, otherwise, 0.0, 1.0);
	if (at && rate > 0.99)
		reader_fail(&s->r, at, "%g drops all but all: choose at most 0.99", rate);
	return (float)rate;
}

/*
 * dropout_rate (residual_dropout_rate of GPT-J's files) is that of all, but where embeddings or
 * attention have their own
 */
static void read_dropout(struct sections *s, struct wse_yaml *m, struct wse_gpt *g)
{
	double rate = read_drop(s, m, "dropout_rate", 0.0);
	const char *embed =
		wse_yaml_peek(m, "embd_pdrop") ? "embd_pdrop" : "embedding_dropout_rate";

	rate = read_drop(s, m, "residual_dropout_rate", rate);
	g->drop_residual = (float)rate;
	g->drop_embed = read_drop(s, m, embed, rate);
	g->drop_attention = read_drop(s, m, "attention_dropout_rate", rate);
}

/* what a loss is divided by; num_tokens has no weight, as in the Model Zoo */
static void read_loss(struct sections *s, struct wse_yaml *m)
{
	static const char *const scalings[] = {"num_tokens", "batch_size", NULL};
	int scaling = reader_choice(&s->r, m, "loss_scaling", 0, scalings);

	if (scaling == 1)
		s->cfg->loss_weight = reader_real(&s->r, m, "loss_weight", 0, 1.0, 1e-12, 1e12);
	else
		wse_config_ignore(s, m, "loss_weight");
	if (reader_real(&s->r, m, "label_smoothing", 0, 0.0, 0.0, 1.0) != 0.0)
		reader_fail(&s->r, wse_yaml_peek(m, "label_smoothing"),
			    "must be 0: targets are single tokens");
}

/* one of Model Zoo's initializers; dev stays 0 when there is none */
static void read_initial(struct sections *s, struct wse_yaml *m, const char *key,
			 struct wse_initial *to)
{
	struct wse_yaml *y = reader_want(&s->r, m, key, 0), *name = wse_yaml_peek(y, "name");
	int cut = is_word(name, "truncated_normal");
	uint32_t before = s->r.faults->n;
	double mean, dev, low = 0.0, high = 0.0;

	if (!y || is_word(y, "null"))
		return;
	if (y->type != WSE_YAML_MAP || (name && !cut && !is_word(name, "normal"))) {
		name = name ? name : y;
		wse_config_refuse(s, y, "initializer",
				  name->type == WSE_YAML_SCALAR ? name->text : "of another form",
				  "give a map with name (normal or truncated_normal) and std");
		return;
	}
	reader_want(&s->r, y, "name", 0);
	mean = reader_real(&s->r, y, "mean", 0, 0.0, -10.0, 10.0);
	dev = reader_real(&s->r, y, "std", 1, 0.0, 1e-6, 10.0);
	if (cut) {
		low = reader_real(&s->r, y, "a", 0, -2.0 * dev, -100.0, 100.0);
		high = reader_real(&s->r, y, "b", 0, 2.0 * dev, -100.0, 100.0);
	}
	if (s->r.faults->n != before)
		return;
	/* a value is drawn until it lies there: one of 25 draws at least */
	if (cut && !(low <= mean && mean <= high && high - low >= 0.1 * dev))
		reader_fail(&s->r, y,
			    "must have mean %g between a %g and b %g, which are a tenth of std %g "
			    "apart at least",
			    mean, low, high, dev);
	*to = (struct wse_initial){(float)mean, (float)dev, (float)low, (float)high};
}

/* a decoder of the Model Zoo's keys, whose form is that of a family where they do not say */
static void read_decoder(struct sections *s, struct wse_yaml *m, struct wse_yaml *data,
			 enum wse_decoder of, struct wse_gpt *g)
{
	static const char *const names[] = {GELUS, "relu", "squared_relu", "swiglu", NULL};
	static const enum wse_activation acts[] = {GELU_ACTS, WSE_RELU, WSE_SQUARED_RELU, WSE_SILU};
	struct reader *r = &s->r;
	uint32_t most;
	int act;

	g->vocab = (uint32_t)reader_u64(r, m, "vocab_size", 0, 256, 2, WSE_GPT_MAX_VOCAB);
	g->hidden = (uint32_t)reader_u64(r, m, "hidden_size", 1, 0, 8, WSE_GPT_MAX_WIDTH);
	g->layers = (uint32_t)reader_u64(r, m, "num_hidden_layers", 1, 0, 1, WSE_GPT_MAX_LAYERS);
	g->heads = (uint32_t)reader_u64(r, m, "num_heads", 1, 0, 1, WSE_GPT_MAX_HEADS);
	g->filter = (uint32_t)reader_u64(r, m, "filter_size", 0, 4ull * g->hidden, 8,
					 WSE_GPT_MAX_WIDTH);
	most = wse_config_form(s, m, of, g);
	g->positions = (uint32_t)reader_u64(r, m, "max_position_embeddings", 1, 0, 8, most);
	g->seq = (uint32_t)reader_u64(r, data, "max_sequence_length", 0, g->positions, 8,
				      WSE_GPT_MAX_POSITIONS);
	act = reader_choice(r, m, "nonlinearity", 0, names);
	g->act = acts[act < 0 ? 0 : act];
	if (of == WSE_DECODER_LLAMA && !wse_yaml_peek(m, "nonlinearity"))
		g->act = WSE_SILU;
	g->gated = g->act == WSE_SILU;
	wse_config_window(s, m, g);
	g->eps = (float)reader_real(r, m, "layer_norm_epsilon", 0, 1e-5, 1e-12, 1.0);
	g->dev = (float)reader_real(r, m, "initializer_range", 0, 0.02, 1e-6, 10.0);
}

/* one that Hugging Face's config.json describes: {config: folder or file} */
static void read_config(struct sections *s, struct wse_yaml *m, struct wse_yaml *data,
			struct wse_gpt *g)
{
	struct wse_yaml *at = wse_yaml_peek(m, "config");
	char path[WSE_PATH] = "";
	uint32_t window = 0;
	int dropout = 0;

	reader_word(&s->r, m, "config", 1, path, sizeof(path));
	if (path[0] && wse_hf_config_read(path, g, &window, &dropout))
		reader_fail(&s->r, at, "%.200s: %s", path, wse_error());
	if (!g->positions)
		return;
	if (g->positions > WSE_GPT_MAX_POSITIONS && g->learned)
		reader_fail(&s->r, at, "%.200s: n_positions is more than %d", path,
			    WSE_GPT_MAX_POSITIONS);
	g->seq = (uint32_t)reader_u64(&s->r, data, "max_sequence_length", 0, g->positions, 8,
				      WSE_GPT_MAX_POSITIONS);
	if (window && window < g->seq)
		reader_fail(
			&s->r, at,
			"%.200s: sliding_window is %u, which is not there: with sequences of up "
			"to that many tokens (max_sequence_length) it would be none",
			path, window);
	if (dropout)
		wse_config_note(s->cfg->ignored, sizeof(s->cfg->ignored), "dropout of config.json");
}

/*
 * decoders, with the Model Zoo's keys; gpt2 and gpt3 differ in names only where attention is dense
 */
static void read_gpt(struct sections *s, struct wse_yaml *trainer, struct wse_yaml *m,
		     enum wse_decoder of)
{
	static const char *const recompute[] = {"auto", "ffn", "block", "nth_block", "spill", NULL};
	static const char *const ignored[] = {"mixed_precision", "fp16_type", "enable_vts"};
	struct reader *r = &s->r;
	struct wse_yaml *data = wse_yaml_peek(wse_yaml_peek(trainer, "fit"), "train_dataloader");
	uint32_t before = r->faults->n, missing = r->nmissing;
	struct wse_gpt g = {0};
	const struct wse_yaml *config = wse_yaml_peek(m, "config");
	double range;
	int mode;

	if (config)
		read_config(s, m, data, &g);
	else
		read_decoder(s, m, data, of, &g);
	read_initial(s, m, "initializer", &g.initial);
	read_initial(s, m, "embedding_initializer", &g.embed);
	read_initial(s, m, "output_layer_initializer", &g.residual);
	read_initial(s, m, "ffn_initializer", &g.ffn);
	read_initial(s, m, "ffn_output_layer_initializer", &g.ffn_residual);
	range = g.dev;
	if (g.initial.dev != 0.0f)
		g.dev = g.initial.dev;
	wse_config_mup(s, wse_yaml_peek(trainer, "init"), m, range, &g);
	/*
	 * what is made again in the backward pass: as little as fits, or at least this; nth_block:
	 * as block, and of some neighbouring blocks the first one's input alone is kept; spill: as
	 * block, and blocks' inputs lie on the host until then. No bit depends on it
	 */
	mode = reader_choice(r, m, "recompute", 0, recompute);
	only_flag(s, m, "use_position_embedding", 1);
	only_word(s, m, "attention_type", "scaled_dot_product");
	read_dropout(s, m, &g);
	read_loss(s, m);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		wse_config_ignore(s, m, ignored[i]);
	s->vocab = g.vocab;
	if (!m || r->faults->n != before || r->nmissing != missing)
		return;
	if (wse_gpt_init(&s->cfg->model, &g))
		reader_fail(r, m, "%s", wse_error());
	else
		s->cfg->model.mode = mode > 0 ? wse_gpt_mode[mode] : 0;
}

void wse_config_model(struct sections *s, struct wse_yaml *trainer, struct wse_yaml *init)
{
	/*
	 * the Model Zoo's names: one that is here may still have keys that are refused, so that it
	 * is they that are named
	 */
	static const char *const names[] = {
		"mlp",	      "gpt2",	   "gpt3",   "gptj", "gpt_neox", "llama",
		"mistral",    "mixtral",   "gemma2", "btlm", "jais",	 "bloom",
		"santacoder", "starcoder", "falcon", "mpt",  NULL};
	static const enum wse_decoder decoders[] = {
		0,
		WSE_DECODER_GPT2,
		WSE_DECODER_GPT2,
		WSE_DECODER_GPTJ,
		WSE_DECODER_NEOX,
		WSE_DECODER_LLAMA,
		WSE_DECODER_LLAMA,
		WSE_DECODER_LLAMA,
		WSE_DECODER_LLAMA,
		WSE_DECODER_GPT2,
		WSE_DECODER_GPT2,
		WSE_DECODER_GPT2,
		WSE_DECODER_GPT2,
		WSE_DECODER_GPT2,
		WSE_DECODER_GPTJ, /* side by side, without biases, few heads of keys */
		WSE_DECODER_GPT2, /* its files name norm, slopes and biases */
	};
	struct wse_yaml *m = reader_map(&s->r, init, "model", 1);
	/* a config.json says which */
	int hf = wse_yaml_peek(m, "config") != NULL;
	int family = hf ? 1 : reader_choice(&s->r, m, "name", 1, names);

	if (family < 0)
		wse_yaml_use_all(m); /* the keys of another model */
	else if (family == 0)
		read_mlp(s, m);
	else
		read_gpt(s, trainer, m, decoders[family]);
}
