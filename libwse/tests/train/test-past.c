// SPDX-License-Identifier: MIT
/*
 * Text with the keys and values of what came before: the tokens of the whole window, bit for bit,
 * on oracle, twin and RTL; and a session that trains on afterwards as if there had been no text.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "num/num.h"
#include "ops/past.h"
#include "tap.h"
#include "train/generate_past.h"

static const char yaml[] =
	"trainer:\n"
	"  init:\n"
	"    model: {name: gpt2, hidden_size: 32, num_hidden_layers: 2, num_heads: 4,\n"
	"            max_position_embeddings: 64}\n"
	"    optimizer: {AdamW: {learning_rate: 3.0e-2}}\n"
	"    loop: {max_steps: 2}\n"
	"  fit:\n"
	"    train_dataloader: {batch_size: 4, data_dir: TEXT}\n"
	"    val_dataloader: {held_out_bytes: 1024}\n";

#define ROOM 80

static char text[] = "/tmp/wse-past-XXXXXX";

struct shape {
	const char *uri, *sets[4]; /* uri: of all devices */
	uint32_t streams, prompt, tokens;
	const char *what;
};

static uint32_t wafers = 1;

static void start(struct wse_session *s, const struct shape *h, int forward)
{
	const char *const uris[] = {h->uri, h->uri};
	struct wse_config cfg;
	uint32_t n = 0;

	while (n < 4 && h->sets[n])
		n++;
	if (wse_config_parse("test", yaml, sizeof(yaml) - 1, h->sets, n, &cfg)) {
		printf("Bail out! %s\n", wse_error());
		exit(1);
	}
	snprintf(cfg.data, sizeof(cfg.data), "%s", text);
	cfg.forward = forward;
	if (wse_session_open(s, &cfg, uris, wafers, NULL)) {
		printf("Bail out! %s: %s\n", h->what, wse_error());
		exit(1);
	}
}

static void train(struct wse_session *s, int steps, double *loss)
{
	struct wse_step_result r;

	for (int i = 0; i < steps; i++)
		if (wse_session_compute(s, &r) || wse_session_commit(s, &r)) {
			printf("Bail out! %s\n", wse_error());
			exit(1);
		}
	*loss = r.loss;
}

static const char prompt[] = "hello, this is a text of the sea and of the stars and so on. "
			     "the end is near, they say.";

/* made [streams][ROOM]; how many rows of cores had a past */
static uint64_t generate(struct wse_session *s, const struct shape *h, int whole, char *made)
{
	const struct wse_sampling how = {.prompt = prompt,
					 .prompt_len = h->prompt,
					 .n = h->tokens,
					 .temperature = 1.0,
					 .top_p = 1.0,
					 .streams = h->streams,
					 .seed = 3};
	uint64_t before = s->rows_made;
	char *out = calloc(h->streams, h->tokens + 1);

	s->whole_window = whole;
	memset(made, 0, (size_t)h->streams * ROOM);
	if (!out || wse_session_generate(s, &how, out)) {
		printf("Bail out! %s: %s\n", h->what, wse_error());
		exit(1);
	}
	for (uint32_t i = 0; i < h->streams; i++)
		memcpy(made + (size_t)i * ROOM, out + (size_t)i * (h->tokens + 1), h->tokens);
	free(out);
	return s->rows_made - before;
}

/*
 * of the last row that was made, which has the n-th input, against what is planned of its past; the
 * planner's are held to 10 % as well
 */
static void test_cycles(struct wse_session *s, const struct shape *h, uint32_t n)
{
	struct wse_exec_cost cost;
	struct wse_past p;
	double planned;
	uint32_t row;

	if (strncmp(h->uri, "sim:rtl", 7))
		return;
	if (wse_past_make(&s->plan.graph, 1, &p) || wse_swarm_cost(s->swarm, 0, &cost)) {
		ok(0, "%s: no cost: %s", h->what, wse_error());
		return;
	}
	row = (n - 1) / p.g.t;
	planned = (double)wse_past_cycles(&p, row);
	wse_graph_fini(&p.g);
	ok(planned / (double)cost.cycles < 1.15 && planned / (double)cost.cycles > 0.9,
	   "%s: a token in %llu cycles, %+.1f %% planned with a past of %u rows", h->what,
	   (unsigned long long)cost.cycles, 100 * (planned / (double)cost.cycles - 1), row);
}

/* after n inputs: the logits of the whole window, and those with a past, made in two goes */
static int same_logits(struct wse_session *s, const struct shape *h, uint32_t n)
{
	const struct wse_graph *g = &s->plan.graph;
	uint32_t vocab = s->cfg.model.vocab, t = s->plan.tokens, bad = 0;
	struct shape one = *h;
	uint16_t history[2 * ROOM] = {0};
	const uint16_t *sample = history + 1;
	const float *whole = s->io.out[g->logits]->ptr, *past;
	const uint32_t half = n / 2 + 1;
	struct wse_gen_past *p;
	char made[ROOM];
	size_t stride;

	one.streams = one.tokens = 1;
	one.prompt = n;
	generate(s, &one, 1, made);
	for (uint32_t i = 0; i < n; i++)
		history[i] = (uint16_t)prompt[i];
	if (wse_gen_past_open(s, 1, &p) || wse_gen_past_logits(p, &sample, &half, &past, &stride) ||
	    wse_gen_past_logits(p, &sample, &n, &past, &stride)) {
		printf("Bail out! %s: %s\n", h->what, wse_error());
		exit(1);
	}
	past += wse_gen_past_at(p, 0, n);
	for (uint32_t v = 0; v < vocab; v++)
		bad += wse_f2u(whole[(size_t)v * t + n - 1]) != wse_f2u(past[v * stride]);
	if (wse_gen_past_close(p))
		return 0;
	test_cycles(s, h, n);
	return !bad;
}

static void check(const struct shape *h, int trains)
{
	char *a = calloc(h->streams, ROOM), *b = calloc(h->streams, ROOM);
	struct wse_session s, other;
	uint64_t rows, none;
	double x, y;
	int many = 0;

	start(&s, h, !trains);
	if (trains)
		train(&s, 2, &x);
	none = generate(&s, h, 1, a);
	rows = generate(&s, h, 0, b);
	for (uint32_t i = 1; i < h->streams; i++)
		many |= !!memcmp(a, a + (size_t)i * ROOM, ROOM);
	ok(!none && rows && !memcmp(a, b, (size_t)h->streams * ROOM) && (many || h->streams == 1),
	   "%s: %u texts of %u tokens after %u, %llu rows made: the same", h->what, h->streams,
	   h->tokens, h->prompt, (unsigned long long)rows);
	ok(same_logits(&s, h, h->prompt + 1), "%s: logits bit for bit", h->what);
	if (trains) {
		train(&s, 1, &x);
		start(&other, h, 0);
		train(&other, 3, &y);
		ok(memcmp(&x, &y, sizeof(x)) == 0, "%s: and training goes on: loss %.9g", h->what,
		   x);
		wse_session_close(&other);
	}
	wse_session_close(&s);
	free(a);
	free(b);
}

/* prompts of other lengths in one call: the texts of one prompt each, with fewer rows */
static void prompts_together(const struct shape *h, int whole)
{
	static const struct wse_prompt list[] = {
		{prompt, 20}, {"x", 1}, {prompt + 3, 47}, {"", 0}, {prompt, 33}};
	enum { N = 5, TOKENS = 14, STREAMS = 2, EACH = STREAMS * (TOKENS + 1) };
	char all[N][EACH], one[EACH];
	struct wse_sampling how = {.n = TOKENS,
				   .temperature = 1.0,
				   .top_p = 1.0,
				   .streams = STREAMS,
				   .seed = 3,
				   .prompts = list,
				   .nprompts = N};
	uint64_t together, alone;
	struct wse_session s;
	int bad;

	start(&s, h, 1);
	s.whole_window = whole;
	bad = wse_session_generate(&s, &how, all[0]);
	together = s.rows_made;
	how.prompts = NULL;
	how.nprompts = 0;
	for (uint32_t i = 0; i < N && !bad; i++) {
		how.prompt = list[i].text;
		how.prompt_len = list[i].len;
		bad = wse_session_generate(&s, &how, one) || memcmp(one, all[i], EACH);
	}
	alone = s.rows_made - together;
	bad |= whole ? together != 0 : together == 0 || together >= alone;
	ok(!bad && strcmp(all[0], all[4]),
	   "%s: %u prompts in one call, %llu rows made, one by one %llu: the same texts", h->what,
	   N, (unsigned long long)together, (unsigned long long)alone);
	wse_session_close(&s);
}

/* rows that are computed: of the prompt once, then one a token, and none behind a full window */
static void counts(void)
{
	struct shape h = {"oracle:rows=4,cols=2", {NULL}, 1, 20, 10, "rows"};
	char made[ROOM];
	struct wse_session s;
	uint64_t rows;

	start(&s, &h, 1);
	h.prompt = 1;
	rows = generate(&s, &h, 0, made);
	ok(s.plan.graph.t == 16 && rows == 10, "a row a token: %llu of 10 tokens",
	   (unsigned long long)rows);
	h.prompt = 50; /* four rows, and tokens up to the 64th input */
	h.tokens = 20;
	rows = generate(&s, &h, 0, made);
	ok(rows == 3 + 15, "50 tokens of prompt, 20 more: %llu rows, and 5 whole windows",
	   (unsigned long long)rows);
	h.prompt = 70;
	rows = generate(&s, &h, 0, made);
	ok(!rows, "a prompt beyond the window has no past: %llu", (unsigned long long)rows);
	wse_session_close(&s);
}

/* no past where none is of use, or it does not fit */
static void none(void)
{
	struct shape one = {"oracle:rows=4,cols=2",
			    {"train_dataloader.max_sequence_length=8"},
			    1,
			    3,
			    12,
			    "one row"};
	struct shape mlp = {"oracle:rows=4,cols=2",
			    {"model={name: mlp, window: 8, embedding_size: 8, hidden_sizes: [32]}",
			     "train_dataloader.batch_size=32"},
			    1,
			    3,
			    12,
			    "an MLP"};
	struct shape large = {"oracle:rows=4,cols=2", {NULL}, 1, 3, 12, "a large past"};
	struct wse_past p;
	struct wse_session s;
	char made[ROOM];

	start(&s, &one, 1);
	ok(!generate(&s, &one, 0, made) && wse_past_make(&s.plan.graph, 1, &p) == -ENOTSUP,
	   "a window of one row: %s", wse_error());
	wse_session_close(&s);
	start(&s, &mlp, 1);
	ok(!generate(&s, &mlp, 0, made) && wse_past_make(&s.plan.graph, 1, &p) == -ENOTSUP,
	   "an MLP: %s", wse_error());
	wse_session_close(&s);
	start(&s, &large, 1);
	s.plan.graph.tile.sram = 20000;
	ok(!generate(&s, &large, 0, made) && wse_past_make(&s.plan.graph, 1, &p) == -E2BIG,
	   "too large for the cores, the whole window is computed: %s", wse_error());
	wse_session_close(&s);
}

#define MODEL(name)                                                \
	"model={" name ", hidden_size: 32, num_hidden_layers: 2, " \
	"max_position_embeddings: 64, num_heads: "

/* rotary positions, RMS norm, SwiGLU, heads that share keys, factors of muP */
static const struct {
	const char *name, *model;
} families[] = {
	{"GPT-J", MODEL("name: gptj") "4, rotary_dim: 4}"},
	{"GPT-NeoX, one head over the columns", MODEL("name: gpt_neox") "1, rotary_dim: 8}"},
	{"LLaMA 3, two heads of keys",
	 MODEL("name: llama") "4, extra_attention_params: {num_kv_groups: 2}, filter_size: 48, "
			      "pos_scaling_type: llama3, pos_scaling_factor: 8, pos_scaling_extra_args: "
			      "{original_max_position_embeddings: 32}}"},
	{"LLaMA, one head of keys over the columns",
	 MODEL("name: llama") "4, extra_attention_params: {num_kv_groups: 1}, filter_size: 48}"},
	{"BLOOM", MODEL("name: bloom") "4, position_embedding_type: alibi, "
				       "embedding_layer_norm: true}"},
	{"LLaMA with slopes, two heads of keys",
	 MODEL("name: llama") "4, extra_attention_params: {num_kv_groups: 2}, filter_size: 48, "
			      "position_embedding_type: alibi}"},
	{"GPT-2 with muP's factors",
	 MODEL("name: gpt2") "4, embeddings_scale: 2, attention_logits_alpha: 0.5, "
			     "mup_base_hidden_size: 16, mup_base_filter_size: 64}"},
};

int main(void)
{
	static const char *const devices[] = {"oracle:rows=4,cols=2", "sim:func,rows=4,cols=2",
					      "sim:rtl,rows=4,cols=4"};
	const int kinds = TAP_SANITIZED ? 2 : 3; /* the RTL has no sanitizers */
	int fd = mkstemp(text);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (!f)
		return 1;
	for (uint64_t i = 0; i < 4000; i++)
		fputc("etaoin shrdlu\n"[wse_rng_u64(7, 0, i / 5 * 3 % 97 + i % 5) % 14], f);
	fclose(f);
	for (int i = 0; i < kinds; i++) {
		/* large weights, so that tokens have logits of their own without training */
		int rtl = i == 2;

		check(&(struct shape){devices[i],
				      {"model.initializer_range=0.3"},
				      rtl ? 1 : 3,
				      rtl ? 14 : 20,
				      rtl ? 4 : 60,
				      devices[i]},
		      !rtl);
		check(&(struct shape){devices[i],
				      {"train_dataloader.max_sequence_length=32",
				       "model.num_heads=1", "model.share_embedding_weights=false",
				       "model.initializer_range=0.3"},
				      rtl ? 2 : 6,
				      7,
				      rtl ? 3 : 20,
				      "a head over the columns, 8 tokens a row"},
		      !rtl);
	}
	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
		for (int k = 0; k < kinds; k++) {
			int rtl = k == 2;

			check(&(struct shape){devices[k],
					      {families[i].model, "model.initializer_range=0.3"},
					      rtl ? 1 : 3,
					      rtl ? (i & 1 ? 34 : 9) : 20,
					      rtl ? 2 : 50,
					      families[i].name},
			      0);
		}
	wafers = 2;
	check(&(struct shape){devices[1], {NULL}, 5, 20, 30, "two devices"}, 1);
	wafers = 1;
	for (int i = 0; i < 4; i++)
		prompts_together(&(struct shape){devices[i % 2],
						 {"model.initializer_range=0.3"},
						 1,
						 1,
						 1,
						 devices[i % 2]},
				 i / 2);
	counts();
	none();
	unlink(text);
	return tap_end();
}
