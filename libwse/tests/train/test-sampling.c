// SPDX-License-Identifier: MIT
/* Sampling: temperature, top_k, top_p, seed, number of samples; on a GPT and on an MLP. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "num/num.h"
#include "tap.h"
#include "train/session.h"

#define MODEL_GPT \
	"{name: gpt2, hidden_size: 8, num_hidden_layers: 1, num_heads: 2, max_position_embeddings: 16}"
#define MODEL_MLP \
	"{name: mlp, window: 4, embedding_size: 8, hidden_sizes: [32], nonlinearity: gelu_new}"

static const char yaml[] = "trainer:\n"
			   "  init:\n"
			   "    model: " MODEL_GPT "\n"
			   "    optimizer: {AdamW: {learning_rate: 1.0e-2}}\n"
			   "    loop: {max_steps: 2}\n"
			   "  fit:\n"
			   "    train_dataloader: {batch_size: 8, data_dir: TEXT}\n"
			   "    val_dataloader: {held_out_bytes: 256}\n";

static char text[] = "/tmp/wse-test-XXXXXX";

#define N 12

static char made[2][64][N + 1];

static char *go(struct wse_session *s, int to, struct wse_sampling how)
{
	how.prompt = "eta";
	how.prompt_len = 3;
	how.n = N;
	how.top_p = how.top_p == 0.0 ? 1.0 : how.top_p;
	memset(made[to], 0, sizeof(made[to]));
	if (wse_session_generate(s, &how, made[to][0])) {
		printf("Bail out! %s\n", wse_error());
		exit(1);
	}
	return made[to][0];
}

static int same(uint32_t streams)
{
	return !memcmp(made[0], made[1], streams * sizeof(made[0][0]));
}

/* how many different bytes 600 texts begin with */
static int heads(struct wse_session *s, struct wse_sampling how)
{
	static char first[600][2];
	char seen[256] = {0};
	int n = 0;

	how.temperature = 50; /* 256 bytes of about the same probability */
	how.streams = 600;
	how.n = 1;
	if (wse_session_generate(s, &how, first[0]))
		return 0;
	for (uint32_t i = 0; i < how.streams; i++) {
		n += !seen[(unsigned char)first[i][0]];
		seen[(unsigned char)first[i][0]] = 1;
	}
	return n;
}

static void model(const char *set, const char *what)
{
	const char *uri = "oracle:rows=1,cols=2";
	struct wse_step_result r;
	struct wse_session s;
	struct wse_config cfg;
	int all, few, one = 1, ret;

	ret = wse_config_parse("test", yaml, sizeof(yaml) - 1, &set, 1, &cfg);
	snprintf(cfg.data, sizeof(cfg.data), "%s", text);
	if (ret || wse_session_open(&s, &cfg, &uri, 1, NULL)) {
		printf("Bail out! %s\n", wse_error());
		exit(1);
	}
	for (int i = 0; i < 10; i++)
		if (wse_session_compute(&s, &r) || wse_session_commit(&s, &r))
			exit(1);
	go(&s, 0, (struct wse_sampling){.streams = 3});
	for (int i = 1; i < 3; i++)
		one &= !strcmp(made[0][0], made[0][i]);
	ok(one && strlen(made[0][0]) == N, "%s: temperature 0 is one text: '%s'", what, made[0][0]);
	go(&s, 1, (struct wse_sampling){.temperature = 3, .top_k = 1, .streams = 3, .seed = 7});
	ok(same(3), "%s: so is top_k 1 at any temperature", what);
	go(&s, 1, (struct wse_sampling){.temperature = 3, .top_p = 1e-9, .streams = 3, .seed = 7});
	ok(same(3), "%s: so is a top_p of next to nothing", what);
	go(&s, 0, (struct wse_sampling){.temperature = 1, .streams = 40, .seed = 3});
	go(&s, 1, (struct wse_sampling){.temperature = 1, .streams = 40, .seed = 3});
	ok(same(40) && strcmp(made[0][0], made[0][1]), "%s: a seed gives its texts again", what);
	go(&s, 1, (struct wse_sampling){.temperature = 1, .streams = 5, .seed = 3});
	ok(same(5), "%s: a text does not depend on how many there are", what);
	go(&s, 1, (struct wse_sampling){.temperature = 1, .streams = 40, .seed = 4});
	ok(!same(1), "%s: another seed gives others", what);
	go(&s, 1, (struct wse_sampling){.temperature = 1, .top_k = 256, .streams = 40, .seed = 3});
	ok(same(40), "%s: top_k of the whole vocabulary cuts nothing", what);
	all = heads(&s, (struct wse_sampling){.top_p = 1.0});
	few = heads(&s, (struct wse_sampling){.top_p = 1.0, .top_k = 3});
	ok(all > 100 && few == 3, "%s: %d first bytes, %d with top_k 3", what, all, few);
	few = heads(&s, (struct wse_sampling){.top_p = 0.1});
	ok(few > 15 && few < 35, "%s: %d with top_p 0.1", what, few);
	wse_session_close(&s);
}

int main(void)
{
	int fd = mkstemp(text);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (!f)
		return 1;
	for (uint64_t i = 0; i < 4000; i++)
		fputc("etaoin shrdlu\n"[wse_rng_u64(7, 0, i / 5 * 3 % 97 + i % 5) % 14], f);
	fclose(f);
	model("model=" MODEL_GPT, "gpt");
	model("model=" MODEL_MLP, "mlp");
	unlink(text);
	return tap_end();
}
