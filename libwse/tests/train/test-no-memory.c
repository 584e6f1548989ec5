// SPDX-License-Identifier: MIT
/*
 * Memory runs out at each place in turn, for one call or from there on, while parameter files are
 * read, models planned and commands submitted: -ENOMEM and a sentence, or the same as with memory;
 * nothing crashes, and no key of a file is lost.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <wse/wse.h>

#include "own_dir.h"
#include "tap.h"

/* ---- what is allocated: the linker has all calls come here ---- */

static long calls, fail_at = -1, fail_end;
static _Thread_local int caller; /* a device's thread is another one, whose turns are by chance */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);

void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);

static int fails(void)
{
	long at;

	if (!caller)
		return 0;
	at = calls++;
	if (fail_at < 0 || at < fail_at || at >= fail_end)
		return 0;
	errno = ENOMEM;
	return 1;
}

void *__wrap_malloc(size_t n)
{
	return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
	return fails() ? NULL : __real_realloc(p, n);
}

char *__wrap_strdup(const char *s)
{
	return fails() ? NULL : __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n)
{
	return fails() ? NULL : __real_strndup(s, n);
}

/* ---- what is tried ---- */

#define TILE "sim:func,rows=4,cols=4"

static char yaml_file[64];

static void write_yaml(void)
{
	FILE *f;

	snprintf(yaml_file, sizeof(yaml_file), "%s/params.yaml", dir);
	f = fopen(yaml_file, "w");
	if (!f)
		return;
	/* two heads of keys on four columns, which share the table of angles */
	fputs("trainer:\n"
	      "  init:\n"
	      "    model:\n"
	      "      name: llama\n"
	      "      vocab_size: 64\n"
	      "      hidden_size: 32\n"
	      "      num_hidden_layers: 1\n"
	      "      num_heads: 2\n"
	      "      filter_size: 64\n"
	      "      max_position_embeddings: 16\n"
	      "    optimizer:\n"
	      "      AdamW:\n"
	      "        learning_rate: 0.001\n"
	      "        weight_decay: 0.1\n"
	      "    loop:\n"
	      "      max_steps: 3\n"
	      "  fit:\n"
	      "    train_dataloader:\n"
	      "      batch_size: 8\n",
	      f);
	fclose(f);
}

static int read_file(struct wse_params *p, struct wse_plan_info *info)
{
	const char *const sets[] = {"optimizer.AdamW.betas=[0.8, 0.9]", "loop.max_steps=4"};
	const struct wse_override over = {.sets = sets, .nsets = 2, .plan = 1};

	(void)info;
	return wse_params_read(p, yaml_file, &over);
}

static int plan_file(struct wse_params *p, struct wse_plan_info *info)
{
	int ret = read_file(p, NULL);

	return ret ? ret : wse_params_plan(p, TILE, WSE_PLAN_SHAPE, NULL, NULL, info);
}

static int plan_mlp(struct wse_params *p, struct wse_plan_info *info)
{
	const uint32_t hidden[] = {32};
	const struct wse_mlp_shape mlp = {
		.vocab = 64, .window = 4, .embed = 8, .nhidden = 1, .hidden = hidden};
	const struct wse_train_shape training = {.batch = 32, .lr = 2e-3};
	struct wse_model *m = NULL;
	int ret = wse_model_mlp(&mlp, &m);

	ret = ret ? ret : wse_params_make(p, m, &training);
	ret = ret ? ret : wse_params_plan(p, TILE, WSE_PLAN_SHAPE, NULL, NULL, info);
	wse_model_destroy(m);
	return ret;
}

/* with params of its own; *n: how often it asks for memory */
static int once(int (*what)(struct wse_params *p, struct wse_plan_info *info), long *n,
		struct wse_plan_info *info)
{
	struct wse_params *p = NULL;
	int ret;

	memset(info, 0, sizeof(*info));
	calls = 0;
	ret = wse_params_create(&p);
	ret = ret ? ret : what(p, info);
	*n = calls;
	fail_at = -1;
	wse_params_destroy(p);
	return ret;
}

static void everywhere(int (*what)(struct wse_params *p, struct wse_plan_info *info), long step,
		       const char *name)
{
	struct wse_plan_info want, got;
	long total, n, bad = 0, failed = 0;
	int ret = once(what, &total, &want);

	if (!ok(!ret, "%s asks for memory %ld times", name, total)) {
		printf("# %s\n", wse_error());
		return;
	}
	for (long i = 0; i < 2 * total; i += step) {
		fail_at = i / 2;
		fail_end = i % 2 ? fail_at + 1 : total + 1000;
		ret = once(what, &n, &got);
		failed += ret != 0;
		if (ret ? ret == -ENOMEM && *wse_error() : !memcmp(&want, &got, sizeof(got)))
			continue;
		if (!bad++)
			printf("# without memory %s at %ld: %d, \"%s\"\n",
			       i % 2 ? "once" : "from there on", i / 2, ret,
			       ret ? wse_error() : "");
	}
	ok(!bad && failed, "without it nothing else comes out of it (%ld times it is an error)",
	   failed);
}

/* "all or nothing": after an error no command has run, and there is no fence */
static void submits(void)
{
	enum { FENCES = 70, BYTES = 512 }; /* handles: their table grows in between */
	struct drm_wse_cmd copy, nop = wse_cmd_nop(1);
	struct wse_fence *fence[FENCES], *none;
	struct wse_device *dev = NULL;
	struct wse_context *ctx = NULL;
	struct wse_buffer *buf = NULL;
	long bad = 0, failed = 0, n;
	unsigned char *p;
	int ret = wse_device_open("sim:func,rows=1,cols=1", &dev);

	ret = ret ? ret : wse_context_create(dev, 0, &ctx);
	ret = ret ? ret : wse_buffer_create(dev, BYTES, &buf);
	if (!ok(!ret, "a device"))
		return;
	p = wse_buffer_map(buf);
	copy = wse_cmd_copy_out(
		(struct wse_copy){.buf = buf, .rows = 1, .cols = 1, .len = BYTES, .sram = 0x8000});
	/* how many are a submit's own */
	for (n = 0, ret = -ENOMEM; ret == -ENOMEM; n++) {
		calls = 0;
		fail_at = n;
		fail_end = n + 1;
		ret = wse_submit(ctx, &copy, 1, NULL, 0, &none);
		fail_at = -1;
	}
	n--;
	wse_fence_destroy(none);
	for (int i = 0; i < FENCES; i++) {
		/* the last one is of the table, where that grows: at the first submit with room */
		for (long k = n; k >= 0; k--) {
			none = NULL;
			*p = 0xab;
			calls = 0;
			fail_at = k;
			fail_end = k + 1;
			ret = wse_submit(ctx, &copy, 1, NULL, 0, &none);
			fail_at = -1;
			failed += ret != 0;
			/* first, so that one more handle is never what makes the table grow */
			bad += ret && none;
			if (!ret)
				wse_fence_destroy(none);
			/* behind it on the same queue */
			bad += wse_submit_wait(ctx, &nop, 1, WSE_FOREVER) != 0;
			bad += ret ? ret != -ENOMEM || *p != 0xab : *p != 0;
		}
		ret = wse_submit(ctx, &nop, 1, NULL, 0, &fence[i]);
		bad += ret != 0;
	}
	ok(!bad && failed, "a submit that has no memory does nothing (%ld of them)", failed);
	for (int i = 0; i < FENCES; i++)
		wse_fence_destroy(fence[i]);
	wse_buffer_destroy(buf);
	wse_context_destroy(ctx);
	wse_device_close(dev);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	write_yaml();
	caller = 1;
	submits();
	everywhere(read_file, 1, "a parameter file");
	everywhere(plan_mlp, 1, "the plan of an MLP");
	everywhere(plan_file, 7, "the plan of a LLaMA");
	return dir_remove() ? 1 : tap_end();
}
