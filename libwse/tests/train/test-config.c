// SPDX-License-Identifier: MIT
/* Parameter files: what is read, and every kind of mistake. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "input/config.h"
#include "model/gpt.h"
#include "model/mlp.h"
#include "tap.h"

/* clang-format off */
static const char good[] =
"trainer:\n"
"  init:\n"
"    backend:\n"
"      backend_type: CSX\n"
"      cluster_config:\n"
"        num_csx: 3\n"
"        max_wgt_servers: 24\n"
"    seed: 7\n"
"    model:\n"
"      name: mlp\n"				/* 10 */
"      window: 8\n"
"      embedding_size: 16\n"
"      hidden_size: 64\n"
"      num_hidden_layers: 2\n"
"      nonlinearity: gelu_new\n"
"    optimizer:\n"
"      AdamW:\n"
"        betas: [0.8, 0.99]\n"
"        correct_bias: true\n"
"        weight_decay: 0.1\n"			/* 20 */
"    schedulers:\n"
"    - SequentialLR:\n"
"        schedulers:\n"
"        - LinearLR:\n"
"            initial_learning_rate: 0.0\n"
"            end_learning_rate: 1.0e-2\n"
"            total_iters: 10\n"
"        - CosineDecayLR:\n"
"            initial_learning_rate: 0.01\n"
"            end_learning_rate: 0.001\n"	/* 30 */
"            total_iters: 90\n"
"    precision:\n"
"      enabled: true\n"
"      fp16_type: bfloat16\n"
"      max_gradient_norm: 1.0\n"
"    loop:\n"
"      max_steps: 100\n"
"      eval_frequency: 20\n"
"    checkpoint:\n"
"      steps: 50\n"				/* 40 */
"    logging:\n"
"      log_steps: 5\n"
"  fit:\n"
"    train_dataloader:\n"
"      data_dir: /some/text\n"
"      batch_size: 128\n"
"      micro_batch_size: auto\n"
"      shuffle: false\n"
"      shuffle_seed: 3\n"
"    val_dataloader:\n"				/* 50 */
"      held_out_bytes: 1024\n";
/* clang-format on */

static int parse(const char *text, const char *set, struct wse_config *c)
{
	return wse_config_parse("f.yaml", text, strlen(text), &set, set ? 1 : 0, c);
}

/* text behind the good file; want NULL: it may be there */
static void behind(const char *more, const char *want)
{
	char text[4096];
	struct wse_config c;
	int ret;

	snprintf(text, sizeof(text), "%s%s", good, more);
	ret = parse(text, NULL, &c);
	ok(want ? ret == -EINVAL && strstr(wse_error(), want) : !ret, "%s",
	   want ? wse_error() : "the end of a document");
}

/* the good file with one piece of text replaced */
static void mistake(const char *from, const char *to, const char *want1, const char *want2)
{
	char text[4096];
	const char *at = strstr(good, from);
	struct wse_config c;
	int ret;

	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
	ret = parse(text, NULL, &c);
	ok(ret == -EINVAL && strstr(wse_error(), want1) && strstr(wse_error(), want2), "%s",
	   wse_error());
}

static void setting(const char *set, int taken, const char *want)
{
	struct wse_config c;
	int ret = parse(good, set, &c);

	ok(taken ? !ret : ret == -EINVAL && strstr(wse_error(), want), "--set %s: %s", set,
	   taken ? "taken" : wse_error());
}

static void cut_short(void)
{
	struct wse_config c;
	int crashes = 0, taken = 0, silent = 0;
	unsigned int said;

	/* no crash and no acceptance of what lacks its end (the sanitizers watch) */
	for (size_t n = 0; n + 40 < sizeof(good); n++)
		if (!wse_config_parse("cut", good, n, NULL, 0, &c) && n < 900)
			crashes++;
	ok(!crashes, "a file cut at every byte");
	for (size_t n = 0; n + 1 < sizeof(good); n++)
		for (int i = 0; i < 4; i++) {
			char text[sizeof(good)];

			memcpy(text, good, sizeof(good));
			text[n] = ":-{\n"[i];
			said = wse_failures();
			if (!wse_config_parse("bad", text, sizeof(good) - 1, NULL, 0, &c))
				taken++;
			else if (wse_failures() == said)
				silent++;
		}
	ok(!silent && taken && taken < (int)sizeof(good),
	   "every byte replaced by : - { and a new line: %d taken, the others refused with words",
	   taken);
}

/* ten faults, ten messages, in the order of the lines */
/* clang-format off */
static const char ten[] =
"trainer:\n"
"  init:\n"
"    seed: -1\n"					/* 3 */
"    model:\n"					/* 4: no window */
"      name: mlp\n"
"      embeding_size: 16\n"			/* 6 */
"      hidden_sizes: [64, wide]\n"		/* 7 */
"      nonlinearity: gleu\n"			/* 8 */
"    optimizer:\n"
"      AdamW: {betas: [0.9], learning_rate: 0.1}\n" /* 10 */
"    loop:\n"
"      max_steps: 1\n"
"      max_steps: 2\n"				/* 13 */
"      batch_size: 4\n"				/* 14: not here */
"  fit:\n"
"    train_dataloader:\n"
"      data_dir: [a, b]\n"			/* 17 */
"      batch_size: 64\n"
"      micro_batch_size: 0\n"			/* 19 */
"      shuffle: true\n";
/* clang-format on */

static void ten_faults(void)
{
	static const int lines[] = {3, 4, 6, 7, 8, 10, 13, 14, 17, 19};
	struct wse_config_source src = {.name = "ten.yaml", .text = ten, .size = strlen(ten)};
	static struct wse_faults f;
	struct wse_config c;
	int ret = wse_config_read(&src, &c, &f), right = 0;

	for (uint32_t i = 0; i < f.n && i < 10; i++) {
		right += f.f[i].line == lines[i];
		printf("# %s\n", f.f[i].text);
	}
	ok(ret == -EINVAL && f.n == 10 && right == 10, "ten faults, ten messages, by line");
	ok(strstr(f.f[1].text, "lacks the key \"window\"") &&
		   strstr(f.f[2].text, "(did you mean embedding_size?); accepted there: name,") &&
		   strstr(f.f[4].text,
			  "(did you mean gelu?); accepted: relu or gelu or gelu_new or gelu_pytorch_tanh or "
			  "gelu_fast") &&
		   strstr(f.f[7].text, "(it belongs to trainer.fit.train_dataloader)"),
	   "with the nearest names");
}

/* more than are kept; the sanitizers watch */
static void many_faults(void)
{
	static struct wse_faults f;
	static char text[1 << 16];
	struct wse_config_source src = {.name = "many.yaml", .text = text};
	struct wse_config c;
	int ret;

	strcpy(text, good);
	for (int i = 0; i < 200; i++)
		sprintf(text + strlen(text), "unknown_%d: {a: 1, a: 2}\n", i);
	src.size = strlen(text);
	ret = wse_config_read(&src, &c, &f);
	ok(ret == -EINVAL && f.n == WSE_FAULTS && strstr(f.f[0].text, "line 52: a is given twice"),
	   "400 faults: %u are kept, first: %s", f.n, f.f[0].text);
}

/* the sections of a published file that are not the model's; clang-format off keeps its lines */
/* clang-format off */
static const char zoo[] =
"    precision: {enabled: true, fp16_type: bfloat16, precision_opt_level: 0, log_loss_scale: true}\n"
"    loop: {max_steps: 9, eval_frequency: 3, eval_steps: 2}\n"
"    checkpoint: {steps: 9, save_initial_checkpoint: false}\n"
"    callbacks:\n"
"    - ComputeNorm: {}\n"
"    - ScopedTrainFlags: {a: 1}\n"
"    loggers: [ProgressLogger: {}, WandbLogger: {dir: x}]\n"
"  fit:\n"
"    train_dataloader:\n"
"      data_processor: SyntheticDataProcessor\n"
"      data_dir: [./train/0, ./train/1]\n"
"      batch_size: 64\n"
"      num_workers: 1\n"
"    val_dataloader: &val\n"
"      data_processor: SyntheticDataProcessor\n"
"      data_dir: ./val\n"
"      batch_size: 64\n"
"      shuffle: false\n"
"  validate: {val_dataloader: *val}\n"
"  validate_all: {val_dataloaders: *val}\n";
/* clang-format on */

static void model_zoo(void)
{
	static struct wse_faults f;
	struct wse_config_source src = {.name = "zoo.yaml"};
	struct wse_config c;
	static const char *const hdf5[] = {
		"train_dataloader.data_processor=GptHDF5MapDataProcessor",
		"val_dataloader.data_processor=GptHDF5DataProcessor"};
	char text[4096];
	int ret;

	snprintf(text, sizeof(text), "%.*s%s", (int)(strstr(good, "    precision:") - good), good,
		 zoo);
	src.text = text;
	src.size = strlen(text);
	ret = wse_config_read(&src, &c, &f);
	ok(ret == -EINVAL && f.n == 4 &&
		   strstr(f.f[0].text, "is the callback ScopedTrainFlags, which is not") &&
		   strstr(f.f[1].text, "logger WandbLogger, which") &&
		   strstr(f.f[2].text, "data processor SyntheticDataProcessor, which") &&
		   strstr(f.f[3].text, "val_dataloader.data_processor"),
	   "training refuses by name: %s", f.f[2].text);
	src.plan = 1;
	ret = wse_config_read(&src, &c, &f);
	ok(!ret && !strcmp(c.unneeded, "callback ScopedTrainFlags, logger WandbLogger, "
				       "data processor SyntheticDataProcessor"),
	   "a plan names them: %s", c.unneeded);
	ok(strstr(c.ignored, "precision_opt_level") && strstr(c.ignored, "validate_all") &&
		   strstr(c.ignored, "validate,"),
	   "ignored: %s", c.ignored);
	src.plan = 0;
	src.sets = hdf5;
	src.nsets = 2;
	ret = wse_config_read(&src, &c, &f);
	ok(ret == -EINVAL && f.n == 2 && !strcmp(c.data, "./train/0\n./train/1\n") &&
		   !strcmp(c.val[0].data, "./val"),
	   "those of HDF5 files are there, and take lists of folders");
	src.nsets = 0;
	src.data = "my.txt";
	ret = wse_config_read(&src, &c, &f);
	ok(ret == -EINVAL && f.n == 2 && !strcmp(c.data, "my.txt") && !c.val[0].data[0] &&
		   strstr(c.ignored, "data_processor"),
	   "--data takes the place of its data");
}

static void prompt(const char *set, const char *option, int vocab, const char *want)
{
	char size[40];
	const char *sets[] = {size, set};
	struct wse_config_source src = {.name = "f.yaml",
					.text = good,
					.size = strlen(good),
					.sets = sets,
					.nsets = set ? 2 : 1,
					.prompt = option};
	static struct wse_faults f;
	struct wse_config c;
	int ret;

	snprintf(size, sizeof(size), "model.vocab_size=%d", vocab);
	ret = wse_config_read(&src, &c, &f);
	ok(ret ? strstr(f.f[0].text, want) != NULL : !strcmp(c.sample_prompt, want),
	   "prompt %s%s, vocabulary %d: '%s'", set ? set : "", option ? option : "", vocab,
	   ret ? f.f[0].text : c.sample_prompt);
}

static void prompts(void)
{
	prompt(NULL, NULL, 256, "The ");
	prompt(NULL, NULL, 64, "");
	prompt(NULL, NULL, 1024, "");
	prompt("sampling.prompt=", NULL, 256, "");
	prompt("sampling.prompt=The end  ", NULL, 256, "The end  ");
	prompt("sampling.prompt=\"a\\nb \"", NULL, 256, "a\nb ");
	prompt("sampling.prompt=it # is", NULL, 256, "it # is");
	prompt(NULL, "* {\xc3\xa9 ", 256, "* {\xc3\xa9 ");
	prompt(NULL, "", 256, "");
	prompt("sampling.prompt=a\xc3", NULL, 128, "incomplete UTF-8");
	prompt("sampling.prompt=az", NULL, 100,
	       "prompt has byte 122 at 1, outside the vocabulary of 100");
	prompt(NULL, "a\xc3", 128, "--prompt: has byte 195 at 1, outside");
	prompt("sampling.prompt=The ", NULL, 1024, "needs a tokenizer: vocab_size is 1024");
	prompt("sampling.bytes=4", NULL, 1024,
	       "must be 0: vocab_size is 1024, and there is no tokenizer");
	prompt(NULL, "The ", 1024, "--prompt: needs a tokenizer");
}

/* bytes as they are, NUL among them; 4095 at the most */
static void long_prompts(void)
{
	static char text[WSE_PROMPT];
	struct wse_config_source src = {.name = "f.yaml",
					.text = good,
					.size = strlen(good),
					.prompt = text,
					.prompt_len = 3};
	static struct wse_faults f;
	struct wse_config c;
	int ret;

	memcpy(text, "\0\xff\n", 3);
	ret = wse_config_read(&src, &c, &f);
	ok(!ret && c.sample_prompt_len == 3 && !memcmp(c.sample_prompt, "\0\xff\n", 4),
	   "a prompt with a NUL");
	memset(text, 'x', sizeof(text));
	src.prompt_len = WSE_PROMPT - 1;
	ret = wse_config_read(&src, &c, &f);
	ok(!ret && c.sample_prompt_len == WSE_PROMPT - 1, "a prompt of %d bytes", WSE_PROMPT - 1);
	src.prompt_len = WSE_PROMPT;
	ret = wse_config_read(&src, &c, &f);
	ok(ret == -EINVAL && strstr(f.f[0].text, "--prompt: must be less than 4096 bytes"), "%s",
	   f.f[0].text);
}

static void bad_sampling(const char *set, const char *want)
{
	struct wse_config c;
	int ret = parse(good, set, &c);

	ok(ret == -EINVAL && strstr(wse_error(), want), "%s: %s", set, wse_error());
}

static void memory(void)
{
	struct wse_config c;
	int ret = parse(good, "memory_limit=1400", &c);

	ok(!ret && c.memory_limit == 1400000000, "a memory limit of 1400 MB");
	ret = parse(good, "seed=9", &c);
	ok(!ret && !c.memory_limit, "none");
}

static void sampling(void)
{
	struct wse_config c;
	int ret = parse(good, "seed=9", &c);

	ok(!ret && c.sample_top_k == 0 && c.sample_top_p == 1.0 && c.sample_seed == 9 &&
		   c.samples == 0,
	   "sampling when nothing is said %s", ret ? wse_error() : "");
	ret = parse(good, "sampling={top_k: 5, top_p: 0.9, seed: 3, samples: 4, temperature: 0}",
		    &c);
	ok(!ret && c.sample_top_k == 5 && c.sample_top_p == 0.9 && c.sample_seed == 3 &&
		   c.samples == 4 && c.sample_temperature == 0.0,
	   "sampling as asked for %s", ret ? wse_error() : "");
	bad_sampling("sampling.top_k=-1", "sampling.top_k must be a whole number from 0 to 65536");
	bad_sampling("sampling.top_p=1.5", "sampling.top_p must be a number from 1e-06 to 1");
	bad_sampling("sampling.samples=0",
		     "sampling.samples must be a whole number from 1 to 1024");
	bad_sampling("sampling.seed=x", "sampling.seed must be");
	bad_sampling("sampling.topk=3", "topk is unknown (did you mean top_k?)");
}

#define GPT_WITH(initial)                                                          \
	"model={name: gpt3, hidden_size: 64, num_hidden_layers: 1, num_heads: 4, " \
	"max_position_embeddings: 8, initializer_range: 0.01, " initial "}"

static int same_initial(const struct wse_initial *i, float mean, float dev, float low, float high)
{
	return i->mean == mean && i->dev == dev && i->low == low && i->high == high;
}

/* the Model Zoo's initializers are taken, before initializer_range */
static void initializer(void)
{
	static const char *const all = GPT_WITH(
		"initializer: {name: truncated_normal, mean: 0.0, std: 0.05, a: -0.1, b: 0.1}, "
		"embedding_initializer: {name: truncated_normal, mean: 0.5, std: 0.25}, "
		"output_layer_initializer: {name: normal, std: 0.004}");
	const struct wse_gpt *g;
	struct wse_config c;
	int ret = parse(good, all, &c);

	g = wse_gpt(&c.model);
	ok(!ret && g->dev == 0.05f && same_initial(&g->initial, 0, 0.05f, -0.1f, 0.1f) &&
		   same_initial(&g->embed, 0.5f, 0.25f, -0.5f, 0.5f) &&
		   same_initial(&g->residual, 0, 0.004f, 0, 0) && !strstr(c.ignored, "initializer"),
	   "three initializers %s", ret ? wse_error() : "");
	setting(GPT_WITH("initializer: normal"), 0,
		"initializer is the initializer normal, which is not available: give a map with");
	setting(GPT_WITH("embedding_initializer: {name: xavier_uniform, gain: 2.0}"), 0,
		"the initializer xavier_uniform, which is not available");
	setting(GPT_WITH("output_layer_initializer: {name: normal}"), 0, "lacks the key \"std\"");
	setting(GPT_WITH("initializer: {std: 0.5}, embedding_initializer: null"), 1, "");
	setting(GPT_WITH(
			"embedding_initializer: {name: truncated_normal, std: 0.02, a: 0.01, b: 1}"),
		0, "embedding_initializer must have mean 0 between a 0.01 and b 1");
	setting(GPT_WITH(
			"embedding_initializer: {name: truncated_normal, std: 1, a: -0.01, b: 0.01}"),
		0, "a tenth of std 1 apart");
	setting(GPT_WITH("embedding_initializer: {name: truncated_normal, std: 0.02, c: 1}"), 0,
		"c is unknown");
}

int main(void)
{
	const struct wse_mlp *m;
	struct wse_config c;
	int ret = parse(good, NULL, &c);

	ok(!ret, "a good file%s%s", ret ? ": " : "", ret ? wse_error() : "");
	m = wse_mlp(&c.model);
	ok(c.model.family == &wse_family_mlp && m->nlinear == 3 && m->width[0] == 128 &&
		   m->width[1] == 64 && m->width[3] == 256 && m->act == WSE_GELU_NEW &&
		   c.model.vocab == 256 && c.model.window == 8 && c.model.span == 1,
	   "model");
	ok(c.sched.n == 2 && c.sched.s[1].begin == 10 && c.sched.s[1].from == 0.01 &&
		   c.optim.beta1 == 0.8 && c.optim.beta2 == 0.99,
	   "optimizer and schedule");
	ok(c.max_steps == 100 && c.eval_frequency == 20 && c.checkpoint_steps == 50 &&
		   c.log_steps == 5 && c.max_norm == 1.0 && c.seed == 7 && c.num_wse == 3,
	   "loop");
	ok(c.batch == 128 && !c.micro_batch && !c.shuffle && c.shuffle_seed == 3 &&
		   c.val[0].held_out == 1024 && !strcmp(c.data, "/some/text"),
	   "data");
	ok(strstr(c.ignored, "max_wgt_servers") && strstr(c.ignored, "backend_type"), "ignored: %s",
	   c.ignored);

	mistake("hidden_size: 64", "hidden_sise: 64", "line 13", "accepted there: name, win");
	mistake("max_steps", "max_stepz", "line 37: trainer.init.loop.max_stepz", "max_steps");
	mistake("      batch_size: 128\n", "", "train_dataloader", "batch_size");
	mistake("window: 8", "window: eight", "line 11", "whole number");
	mistake("window: 8", "window: -8", "line 11", "whole number");
	mistake("window: 8", "window: [8]", "line 11", "whole number");
	mistake("name: mlp", "name: gptk", "line 10", "accepted: mlp or gpt2 or gpt3 or gptj");
	mistake("gelu_new", "swish", "line 15", "relu or gelu");
	mistake("shuffle: false", "shuffle: maybe", "line 48", "true or false");
	mistake("hidden_size: 64", "hidden_sizes: [64]", "line 13", "contradicts");
	mistake("AdamW:", "Lamb:", "line 16", "AdamW, Adam, SGD, Lion");
	mistake("AdamW:", "adamsw:", "line 16",
		"AdamW, Adam, SGD, Lion; it has \"adamsw\" (did you mean AdamW?)");
	mistake("AdamW:", "SGD: {momentum: 0}\n      AdamW:", "line 16",
		"it has \"SGD\", \"AdamW\"");
	mistake("CosineDecayLR", "StepLR", "line 28", "CosineDecayLR");
	mistake("correct_bias: true", "learning_rate: 1.0", "line 19", "contradicts");
	mistake("micro_batch_size: auto", "micro_batch_size: 0", "line 47",
		"a whole number from 1 to");
	mistake("seed: 7", "seed: 7\n    seed: 8", "9", "twice");
	mistake("seed: 7", "seed: 7\n    <<: {a: 1}\n    <<: {b: 2}", "f.yaml: line 9",
		"merge keys (<<)");
	mistake("seed: 7", "seed: \"7\\0 8\"", "f.yaml: line 8", "has a NUL character");
	mistake("seed: 7", "seed: 7\n    \"se\\0d\": 8", "f.yaml: line 9", "a key has a NUL");
	behind("---\ntrainer: {}\n", "a second document begins (---)");
	behind("...\n", NULL);
	behind("---\n{trainer: ", "no YAML");
	mistake("seed: 7", "seed: {", "f.yaml:", "YAML");
	mistake("bfloat16", "float16", "line 34", "accepted: bfloat16");
	mistake("[0.8, 0.99]", "0.8", "line 18", "two numbers");
	mistake("trainer:", "trainee:", "trainee", "trainer");

	setting("model.hidden_size=128", 1, "");
	setting("trainer.init.loop.max_steps=5", 1, "");
	setting("train_dataloader.batch_size=64", 1, "");
	setting("schedulers.0.SequentialLR.milestones=[20]", 1, "");
	setting("schedulers.0.SequentialLR.milestones=[20, 30]", 0, "too many");
	setting("model.hidden_sise=128", 0, "--set: trainer.init.model.hidden_sise");
	setting("model.window=x", 0, "whole number");
	setting("model", 0, "key.path=value");
	setting("model.num_hidden_layers=1000", 0, "from 0 to 31, not \"1000\"");
	setting("seed.deeper=1", 0, "no such place");
	setting("optimizer=adamw", 0, "it has \"adamw\" (did you mean AdamW?)");
	setting("optimizer={adamw: {betas: [0.8, 0.99]}}", 1, "");
	setting("optimizer={sgd: {}}", 1, "");
	setting("train_dataloader.vocab_size=256", 1, "");
	setting("train_dataloader.vocab_size=50257", 0,
		"trainer.fit.train_dataloader.vocab_size 50257 is not the model's, 256");
	setting("val_dataloader.data_transforms=[{name: add_sink_tokens, num_sink_tokens: 512}]", 0,
		"data_transforms is the data transform add_sink_tokens, which is not available");
	setting("val_dataloader.data_transforms=[]", 1, "");
	setting("checkpoint.save_initial_checkpoint=true", 1, "");
	setting("checkpoint.disable_strict_checkpoint_loading=true", 1, "");
	setting("checkpoint.autoload_last_checkpoint=maybe", 0, "autoload_last_checkpoint");
	setting("checkpoint.checkpoint_name=checkpoint_{step}.mdl", 1, "");
	setting("checkpoint.checkpoint_name=checkpoint_{step}.safetensors", 1, "");
	setting("checkpoint.checkpoint_name=step_{step}.mdl", 0,
		"accepted: checkpoint_{step}.safetensors or checkpoint_{step}.mdl");
	setting("optimizer=[AdamW]", 0, "it has a list");
	setting("optimizer={}", 0, "it has nothing");
	setting("loop=7", 0, "must hold keys of its own, not \"7\"");
	setting("schedulers={ConstantLR: {learning_rate: 1}}", 0, "it is no list");
	setting("model.hidden_size=[64]", 0, "not \"a list or map\"");
	setting("train_dataloader.micro_batch_size=48", 1, "");
	setting("model={name: mlp, window: 4096, embedding_size: 4096, hidden_size: 8, "
		"num_hidden_layers: 1}",
		0, "embedding_size 4096 x window 4096 is more than 1048576: choose 256");
	setting("model={name: gpt2, hidden_size: 60, num_hidden_layers: 1, num_heads: 8, "
		"max_position_embeddings: 64}",
		0, "hidden_size 60 is not a multiple of 4 x 8 heads (num_heads): choose 32 or 64");
	setting("checkpoint.load_checkpoint_states=optimizer", 0,
		"accepted: all or model,optimizer,dataloader or model");
	ok(c.load_states == WSE_CKPT_ALL &&
		   !parse(good, "checkpoint.load_checkpoint_states=model", &c) &&
		   c.load_states == WSE_CKPT_MODEL &&
		   !parse(good, "checkpoint.load_checkpoint_states=model,optimizer,dataloader",
			  &c) &&
		   c.load_states == WSE_CKPT_RATES_NEW,
	   "load_checkpoint_states");
	parse(good, "fit.train_dataloader.batch_size=256", &c);
	ok(c.batch == 256, "--set overrides");
	setting("autorestart={max_num_restarts: null, min_num_csx: 1}", 1, "");
	setting("autorestart={max_num_restart: 3}", 0,
		"autorestart.max_num_restart is unknown (did you mean max_num_restarts?)");
	setting("autorestart={min_num_csx: 0}", 0, "min_num_csx must be a whole number from 1");
	setting("backend.image_order=linear", 1, "");
	setting("backend.image_order=columns", 0, "accepted: rows or linear");
	setting("train_dataloader.data_dir=\"a\\nb\"", 0, "has a newline in its name: rename it");
	setting("train_dataloader.drop_last=true", 1, "");
	setting("train_dataloader.drop_last=false", 0, "drop_last must be true: the last samples");
	setting("val_dataloader.drop_last=false", 1, "");
	cut_short();
	ten_faults();
	many_faults();
	model_zoo();
	prompts();
	long_prompts();
	memory();
	sampling();
	initializer();
	return tap_end();
}
