// SPDX-License-Identifier: MIT
/*
 * Advice in errors: random models, tiles, batches and texts, most of which do not go together. What
 * each error advises is done, all of it: it is accepted, or refused for another reason than all
 * before. The seeds are fixed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "num/num.h"
#include "tap.h"
#include "train/session.h"

enum { SHAPES = TAP_SANITIZED ? 40 : 180 };

enum { STEPS = 12, LAYERS = 4, CHOICES = 16 };

/* numbers of a parameter file, by the names that errors have for them; 0: the key is not there */
enum key {
	HIDDEN,
	HEADS,
	FILTER,
	SEQ,
	POSITIONS,
	VOCAB,
	WINDOW,
	EMBED,
	BATCH,
	MICRO,
	HELD,
	HIDDEN_SIZES,
	KEYS
};

static const char *const names[KEYS] = {"hidden_size",
					"num_heads",
					"filter_size",
					"max_sequence_length",
					"max_position_embeddings",
					"vocab_size",
					"window",
					"embedding_size",
					"batch_size",
					"micro_batch_size",
					"held_out_bytes",
					"hidden_sizes"};

struct shape {
	int gpt, list; /* list: hidden_sizes */
	uint32_t layers, width[LAYERS];
	uint64_t key[KEYS];
	uint32_t rows, cols;
	size_t text; /* bytes */
};

static const char file[] = "trainer:\n"
			   "  init:\n"
			   "    model: %s\n"
			   "    optimizer: {SGD: {learning_rate: 0.1}}\n"
			   "    loop: {max_steps: 1}\n"
			   "  fit:\n"
			   "    train_dataloader: {data_dir: %s, batch_size: %llu%s}\n"
			   "    val_dataloader: {held_out_bytes: %llu}\n";

static char path[] = "/tmp/wse-advice-XXXXXX";

static void add(char *text, size_t size, const char *name, uint64_t n)
{
	size_t len = strlen(text);

	if (n)
		snprintf(text + len, size - len, ", %s: %llu", name, (unsigned long long)n);
}

static void write_file(const struct shape *s, char *text, size_t size)
{
	char model[600], micro[60] = "";
	size_t n;

	snprintf(model, sizeof(model), "{name: %s", s->gpt ? "gpt2" : "mlp");
	for (int k = 0; k <= EMBED; k++)
		if (k != SEQ && (k != HIDDEN || !s->list))
			add(model, sizeof(model), names[k], s->key[k]);
	if (!s->list)
		add(model, sizeof(model), "num_hidden_layers", s->layers);
	n = strlen(model);
	for (uint32_t l = 0; s->list && l < s->layers; l++)
		n += (size_t)snprintf(model + n, sizeof(model) - n, "%s%u%s",
				      l ? ", " : ", hidden_sizes: [", s->width[l],
				      l + 1 == s->layers ? "]" : "");
	snprintf(model + n, sizeof(model) - n, "}");
	add(micro, sizeof(micro), "micro_batch_size", s->key[MICRO]);
	add(micro, sizeof(micro), "max_sequence_length", s->gpt ? s->key[SEQ] : 0);
	snprintf(text, size, file, model, path, (unsigned long long)s->key[BATCH], micro,
		 (unsigned long long)s->key[HELD]);
}

/* 0, or an error */
static int take(const struct shape *s)
{
	static char text[1 << 20];
	struct wse_config *c = malloc(sizeof(*c));
	struct wse_session session;
	char yaml[2000], uri[60];
	const char *uris[] = {uri};
	FILE *f = fopen(path, "w");
	int ret;

	memset(text, 'x', sizeof(text));
	if (!c || !f || s->text > sizeof(text) || fwrite(text, 1, s->text, f) != s->text)
		exit(1);
	fclose(f);
	write_file(s, yaml, sizeof(yaml));
	snprintf(uri, sizeof(uri), "oracle:rows=%u,cols=%u", s->rows, s->cols);
	ret = wse_config_parse("f", yaml, strlen(yaml), NULL, 0, c);
	if (!ret) {
		ret = wse_session_open(&session, c, uris, 1, NULL);
		if (!ret)
			wse_session_close(&session);
	}
	free(c);
	return ret;
}

static uint64_t seed, drawn;

static uint64_t draw(uint64_t from, uint64_t to)
{
	return from + wse_rng_u64(seed, 0, drawn++) % (to - from + 1);
}

/* a number as people choose them: of any size, often round */
static uint64_t size(uint64_t from, uint64_t to)
{
	uint64_t n = draw(from, draw(from, to)), of = 1ull << draw(0, 6);

	return n > of ? n / of * of : n;
}

static struct shape random_shape(void)
{
	struct shape s = {
		.gpt = !!draw(0, 2),
		.rows = (uint32_t)size(1, 20),
		.cols = (uint32_t)size(1, 20),
		.text = 200 + size(1, 50000),
		.layers = (uint32_t)draw(1, 2),
	};

	s.key[HIDDEN] = size(8, 300);
	s.key[VOCAB] = draw(0, 1) ? 256 : size(64, 900);
	s.key[BATCH] = size(1, s.gpt ? 64 : 2000);
	s.key[MICRO] = draw(0, 1) ? 0 : size(1, s.gpt ? 16 : 500);
	s.key[HELD] = draw(0, 3) ? size(1, 10000) : 2048;
	if (s.gpt) {
		s.key[HEADS] = draw(1, 20);
		if (draw(0, 2))
			s.key[HIDDEN] = s.key[HEADS] * size(1, 32);
		s.key[HIDDEN] = s.key[HIDDEN] < 8 ? 8 : s.key[HIDDEN];
		s.key[FILTER] = draw(0, 1) ? 0 : size(8, 700);
		s.key[POSITIONS] = size(8, 400);
		s.key[SEQ] = draw(0, 1) ? 0 : size(8, 400);
		return s;
	}
	s.key[WINDOW] = size(1, 40);
	s.key[EMBED] = size(1, 40);
	s.list = (int)draw(0, 1);
	for (uint32_t l = 0; l < s.layers; l++)
		s.width[l] = (uint32_t)size(8, 1200);
	s.key[HIDDEN] = s.list ? 0 : s.width[0];
	return s;
}

/* ---- reading an error ---- */

/* the key that a text begins with, the longest one; -1: none */
static int key_at(const char *text)
{
	int best = -1;

	for (int k = 0; k < KEYS; k++)
		if (!strncmp(text, names[k], strlen(names[k])) &&
		    (best < 0 || strlen(names[k]) > strlen(names[best])))
			best = k;
	return best;
}

static int first_key(const char *why)
{
	for (; *why; why++)
		if (key_at(why) >= 0)
			return key_at(why);
	return -1;
}

/* a number, or "[64, 32]"; what comes behind it, NULL when it is none */
static char *set(struct shape *s, int key, const char *text)
{
	char *end = (char *)text;

	if (key == HIDDEN_SIZES)
		for (uint32_t l = 0; l < s->layers && (*end == '[' || *end == ','); l++)
			s->width[l] = (uint32_t)strtoul(end + 1, &end, 10);
	if (key == HIDDEN_SIZES)
		return *end == ']' ? end + 1 : NULL;
	if (key < 0 || *text < '0' || *text > '9')
		return NULL;
	s->key[key] = strtoull(text, &end, 10);
	for (uint32_t l = 0; key == HIDDEN && l < s->layers; l++)
		s->width[l] = (uint32_t)s->key[key];
	return end;
}

/* "hidden_size 64 and num_heads 4", "64", "a tile of 4 x 8 cores": 0 when it is not understood */
static int apply(struct shape *s, int key, const char *text)
{
	char *end;

	int n = 0;

	if (sscanf(text, "a tile of %u x %u cores%n", &s->rows, &s->cols, &n) == 2) {
		if (!text[n])
			return 1;
		text += n + 5; /* and ... */
	}
	for (;;) {
		if (!strncmp(text, "val_dataloader.", 15))
			text += 15;
		if (!strncmp(text, "train_dataloader.", 17))
			text += 17;
		if (key_at(text) >= 0) {
			key = key_at(text);
			text += strlen(names[key]) + 1;
		}
		if (!strcmp(text, "auto")) {
			s->key[key] = 0;
			return 1;
		}
		end = set(s, key, text);
		if (!end || !*end)
			return !!end;
		if (strncmp(end, " and ", 5))
			return 0;
		text = end + 5;
	}
}

/* all that an error advises, one a shape; their number, -1: it is not understood */
static int advice(const struct shape *s, const char *why, struct shape *to)
{
	const char *give = strstr(why, "give a text of "), *at = strstr(why, "choose ");
	char text[WSE_SENTENCE], *alt, *next, *other, *value;
	int n = 0, key;

	if (give) {
		to[n] = *s;
		to[n++].text = strtoull(give + 15, NULL, 10);
	}
	if (!at)
		return n;
	snprintf(text, sizeof(text), "%s", at + 7);
	for (alt = text; alt; alt = next) {
		next = strstr(alt, ", or ");
		if (next) {
			*next = 0;
			next += 5;
		}
		/* "hidden_size 48 or 96" */
		key = key_at(alt) >= 0 ? key_at(alt) : first_key(why);
		for (value = alt; value && n < CHOICES; value = other ? other + 4 : NULL) {
			other = strstr(value, " or ");
			if (other)
				*other = 0;
			to[n] = *s;
			if (!apply(&to[n++], key, value))
				return -1;
		}
	}
	return n;
}

/* without its numbers, and without what it advises: two errors with one reason are the same one */
static void reason_of(const char *why, char *reason)
{
	const char *end = strstr(why, ": choose "), *fit = strstr(why, " bytes per core");
	size_t n = 0;

	end = end ? end : strstr(why, ": give ");
	end = fit ? fit : end ? end : why + strlen(why);
	for (; why < end; why++)
		if (*why < '0' || *why > '9')
			reason[n++] = *why;
		else if (!n || reason[n - 1] != '#')
			reason[n++] = '#';
	reason[n] = 0;
}

/* ---- */

static void show(const struct shape *s, const char *why)
{
	char yaml[2000];

	write_file(s, yaml, sizeof(yaml));
	printf("# seed %llu, %u x %u cores, text of %zu: %s\n# %s\n", (unsigned long long)seed,
	       s->rows, s->cols, s->text, strstr(yaml, "model:"), why);
}

/*
 * refusals until the shape is taken; -1: an error advised what is refused for one of the reasons
 * before
 */
static int chain(struct shape s, uint32_t *tried)
{
	static char reason[STEPS + 1][WSE_SENTENCE];
	char why[WSE_SENTENCE] = "", again[WSE_SENTENCE];
	struct shape to[CHOICES];
	int n;

	for (int step = 0; step < STEPS; step++) {
		if (!take(&s))
			return step;
		snprintf(why, sizeof(why), "%s", wse_error());
		reason_of(why, reason[step]);
		n = advice(&s, why, to);
		if (n <= 0 || strstr(why, " unit ")) {
			show(&s, why);
			return -1;
		}
		for (int i = 0; i < n; i++, ++*tried) {
			if (!take(&to[i]))
				continue;
			reason_of(wse_error(), again);
			for (int j = 0; j <= step; j++)
				if (!strcmp(reason[j], again)) {
					show(&s, why);
					show(&to[i], wse_error());
					return -1;
				}
		}
		s = to[draw(0, (uint64_t)n - 1)];
	}
	show(&s, why);
	return -1;
}

int main(void)
{
	uint32_t refused[2] = {0}, bad[2] = {0}, all[2] = {0}, tried = 0;
	int fd = mkstemp(path), longest = 0;

	if (fd < 0)
		return 1;
	close(fd);
	for (uint64_t i = 0; i < SHAPES + 1; i++) {
		struct shape s;
		int steps;

		/* the last one: advice to be narrower than a file may have it, once in 2200 */
		seed = i < SHAPES ? i : 1191;
		drawn = 0;
		s = random_shape();
		steps = chain(s, &tried);
		all[s.gpt]++;
		refused[s.gpt] += steps != 0;
		bad[s.gpt] += steps < 0;
		longest = steps > longest ? steps : longest;
	}
	for (int gpt = 0; gpt < 2; gpt++)
		ok(refused[gpt] > all[gpt] / 2 && !bad[gpt],
		   "%s: %u random shapes, %u refused, %u of them with advice that does not help",
		   gpt ? "GPTs" : "MLPs", all[gpt], refused[gpt], bad[gpt]);
	ok(longest > 2 && longest < STEPS, "%u times advice was taken, up to %d in turn", tried,
	   longest);
	unlink(path);
	return tap_end();
}
