// SPDX-License-Identifier: MIT
/* Parameter files: what is read, and every kind of mistake. */
#include <errno.h>
#include <string.h>

#include "input/config.h"
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
"      nonlinearity: gelu\n"
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

static int parse(const char *text, const char *set, struct wse_config *c, char *why)
{
	return wse_config_parse("f.yaml", text, strlen(text), &set, set ? 1 : 0, c, why);
}

/* the good file with one piece of text replaced */
static void mistake(const char *from, const char *to, const char *want1, const char *want2)
{
	char text[4096], why[WSE_WHY] = "";
	const char *at = strstr(good, from);
	struct wse_config c;
	int ret;

	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
	ret = parse(text, NULL, &c, why);
	ok(ret == -EINVAL && strstr(why, want1) && strstr(why, want2), "%s", why);
}

static void setting(const char *set, int taken, const char *want)
{
	char why[WSE_WHY] = "";
	struct wse_config c;
	int ret = parse(good, set, &c, why);

	ok(taken ? !ret : ret == -EINVAL && strstr(why, want), "--set %s: %s", set,
	   taken ? "taken" : why);
}

static void cut_short(void)
{
	char why[WSE_WHY];
	struct wse_config c;
	int crashes = 0;

	/* no crash and no acceptance of what lacks its end (the sanitizers watch) */
	for (size_t n = 0; n + 40 < sizeof(good); n++)
		if (!wse_config_parse("cut", good, n, NULL, 0, &c, why) && n < 900)
			crashes++;
	ok(!crashes, "a file cut at every byte");
	for (size_t n = 0; n + 1 < sizeof(good); n++)
		for (int i = 0; i < 4; i++) {
			char text[sizeof(good)];

			memcpy(text, good, sizeof(good));
			text[n] = ":-{\n"[i];
			wse_config_parse("bad", text, sizeof(good) - 1, NULL, 0, &c, why);
		}
	ok(1, "every byte replaced by : - { and a new line");
}

int main(void)
{
	struct wse_config c;
	char why[WSE_WHY];
	int ret = parse(good, NULL, &c, why);

	ok(!ret, "a good file%s%s", ret ? ": " : "", ret ? why : "");
	ok(c.mlp.nlinear == 3 && c.mlp.width[0] == 128 && c.mlp.width[1] == 64 &&
		   c.mlp.width[3] == 256 && c.mlp.act == WSE_ACT_GELU,
	   "model");
	ok(c.sched.n == 2 && c.sched.s[1].begin == 10 && c.sched.s[1].from == 0.01 &&
		   c.optim.beta1 == 0.8 && c.optim.beta2 == 0.99,
	   "optimizer and schedule");
	ok(c.max_steps == 100 && c.eval_frequency == 20 && c.checkpoint_steps == 50 &&
		   c.log_steps == 5 && c.max_norm == 1.0 && c.seed == 7 && c.num_wse == 3,
	   "loop");
	ok(c.batch == 128 && !c.micro_batch && !c.shuffle && c.shuffle_seed == 3 &&
		   c.held_out == 1024 && !strcmp(c.data, "/some/text"),
	   "data");
	ok(strstr(c.ignored, "max_wgt_servers") && strstr(c.ignored, "backend_type"), "ignored: %s",
	   c.ignored);

	mistake("hidden_size: 64", "hidden_sise: 64", "line 13", "accepted there: name, win");
	mistake("max_steps", "max_stepz", "line 37: trainer.init.loop.max_stepz", "max_steps");
	mistake("      batch_size: 128\n", "", "train_dataloader", "batch_size");
	mistake("window: 8", "window: eight", "line 11", "whole number");
	mistake("window: 8", "window: -8", "line 11", "whole number");
	mistake("window: 8", "window: [8]", "line 11", "whole number");
	mistake("name: mlp", "name: gpt3", "line 10", "accepted: mlp");
	mistake("gelu", "swish", "line 15", "relu or gelu");
	mistake("shuffle: false", "shuffle: maybe", "line 48", "true or false");
	mistake("hidden_size: 64", "hidden_sizes: [64]", "line 13", "contradicts");
	mistake("AdamW:", "Lion:", "line 16", "AdamW, Adam, SGD");
	mistake("CosineDecayLR", "StepLR", "line 28", "CosineDecayLR");
	mistake("correct_bias: true", "learning_rate: 1.0", "line 19", "contradicts");
	mistake("micro_batch_size: auto", "micro_batch_size: 48", "line 47", "contradicts");
	mistake("seed: 7", "seed: 7\n    seed: 8", "9", "twice");
	mistake("seed: 7", "seed: 7\n    <<: {a: 1}\n    <<: {b: 2}", "f.yaml:9",
		"merge keys (<<)");
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
	setting("checkpoint.load_checkpoint_states=optimizer", 0,
		"accepted: all or model,optimizer,dataloader or model");
	ok(c.load_states == WSE_CKPT_ALL &&
		   !parse(good, "checkpoint.load_checkpoint_states=model", &c, why) &&
		   c.load_states == WSE_CKPT_MODEL &&
		   !parse(good, "checkpoint.load_checkpoint_states=model,optimizer,dataloader", &c,
			  why) &&
		   c.load_states == WSE_CKPT_RATES_NEW,
	   "load_checkpoint_states");
	parse(good, "fit.train_dataloader.batch_size=256", &c, why);
	ok(c.batch == 256, "--set overrides");
	cut_short();
	return tap_end();
}
