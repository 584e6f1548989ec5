// SPDX-License-Identifier: MIT
/*
 * A checkpoint that is whole and says something else: lines "key=value" of its metadata, "-key",
 * "!number" of a tensor that is not there. Checksums are right, so that it is read to the end.
 */
#include <errno.h>
#include <sys/stat.h>
#include <wse/train.h>

#include "fuzz.h"
#include "memx/safetensors.h"

static const char yaml[] =
	"trainer:\n  init:\n    model: {name: mlp, window: 4, embedding_size: 8, hidden_sizes: [16], "
	"vocab_size: 256}\n"
	"    optimizer: {AdamW: {betas: [0.9, 0.95]}}\n"
	"    schedulers: [{ConstantLR: {learning_rate: 1.0e-2}}]\n"
	"    loop: {max_steps: 4}\n    sampling: {tokens: 0}\n"
	"    sparsity: {sparsity: 0.5, param_filter: '*'}\n"
	"  fit:\n    train_dataloader: {data_dir: x, batch_size: 32, micro_batch_size: 8}\n"
	"    val_dataloader: {held_out_bytes: 256}\n";

#define MOST 200

static struct wse_trainer *trainer;
static struct wse_st_file base;
static char dir[64], file[80];

static void put(const char *path, const void *bytes, size_t size)
{
	FILE *f = fopen(path, "w");

	if (!f || fwrite(bytes, 1, size, f) != size || fclose(f))
		fuzz_found("%s is not written", path);
}

static void remove_dir(void)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (system(command))
		perror("rm");
}

/* a trainer and a checkpoint of it, once */
static void begin(void)
{
	const char *uri = "oracle:rows=1,cols=2";
	char text[4096], data[80];
	struct wse_params *p;
	struct wse_override over = {.data = data, .model_dir = dir};

	fuzz_path(dir, "");
	snprintf(file, sizeof(file), "%s/it", dir);
	snprintf(data, sizeof(data), "%s/text", dir);
	if (mkdir(dir, 0700))
		fuzz_found("no %s", dir);
	atexit(remove_dir);
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)('a' + i * i / 7 % 26);
	put(data, text, sizeof(text));
	put(file, yaml, sizeof(yaml) - 1);
	if (wse_params_create(&p) || wse_params_read(p, file, &over) ||
	    wse_trainer_open(p, &uri, 1, NULL, NULL, &trainer) || wse_params_destroy(p) ||
	    wse_trainer_save(trainer, file) || wse_st_open_one(file, &base))
		fuzz_found("no checkpoint: %s", wse_error());
}

static int floats(void *ctx, uint32_t i, size_t from, size_t count, float *out)
{
	const struct wse_st_view **v = ctx;
	uint8_t byte[4096];

	if (strcmp(v[i]->dtype, "U8"))
		return wse_st_pread(v[i], 4 * from, 4 * count, out);
	for (size_t at = 0, n; at < count; at += n) {
		n = count - at < sizeof(byte) ? count - at : sizeof(byte);
		if (wse_st_pread(v[i], from + at, n, byte))
			return -EIO;
		for (size_t k = 0; k < n; k++)
			out[at + k] = byte[k];
	}
	return 0;
}

static void edit(struct wse_st *st, uint8_t *drop, char *line)
{
	char *value = strchr(line, '=');
	uint32_t i = 0;

	for (char *c = line; *c; c++) /* what the writer takes in names */
		if (*c < ' ' || *c > '~' || *c == '"' || *c == '\\')
			return;
	if (*line == '!') {
		drop[(unsigned int)atoi(line + 1) % base.nviews] = 1;
		return;
	}
	if (*line == '-') {
		line++;
	} else if (value) {
		*value++ = 0;
	} else {
		return;
	}
	while (i < st->nmeta && strcmp(st->meta[i].key, line))
		i++;
	if (value && (i < st->nmeta || (i < MOST && *line))) {
		st->meta[i] = (struct wse_st_meta){line, value};
		st->nmeta += i == st->nmeta;
	} else if (!value && i < st->nmeta) {
		st->meta[i] = st->meta[--st->nmeta];
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct wse_st_meta meta[MOST + 1];
	struct wse_st_tensor *t;
	const struct wse_st_view **view;
	struct wse_st st = {.meta = meta, .floats = floats};
	uint8_t *drop;
	char *text, *at, *line, hash[65];

	if (!trainer)
		begin();
	t = calloc(base.nviews, sizeof(*t));
	view = calloc(base.nviews, sizeof(*view));
	drop = calloc(base.nviews, 1);
	text = at = malloc(size + 1);
	memcpy(text, bytes, size);
	text[size] = 0;
	for (uint32_t i = 0; i < base.nmeta; i++)
		if (strncmp(base.meta[i].key, "sum.", 4))
			meta[st.nmeta++] = base.meta[i];
	while ((line = strsep(&at, "\n")))
		edit(&st, drop, line);
	for (uint32_t i = 0; i < base.nviews; i++) {
		const struct wse_st_view *v = &base.views[i];
		struct wse_st_tensor *to = &t[st.ntensors];

		if (drop[i])
			continue;
		snprintf(to->name, sizeof(to->name), "%s", v->name);
		to->ndim = v->ndim;
		to->dim[0] = v->dim[0];
		to->dim[1] = v->dim[1];
		to->count = v->count;
		st.nbytes += !strcmp(v->dtype, "U8");
		view[st.ntensors++] = v;
	}
	st.tensors = t;
	st.floats_ctx = view;
	if (!fuzz_result(wse_st_write(file, &st))) {
		for (int what = WSE_CKPT_ALL; what <= WSE_CKPT_EVAL; what++)
			fuzz_result(wse_trainer_load(trainer, file, what));
		fuzz_result(wse_checkpoint_hash(file, hash));
	}
	free(text);
	free(drop);
	free(view);
	free(t);
	return 0;
}
