// SPDX-License-Identifier: MIT
/* A model's initial weights in several safetensors files. */
#include "ref/gpt_shards.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "model/family.h"
#include "num/num.h"

#define ROWS 64u /* of a tensor in the file that are made at a time */

struct writer {
	const struct wse_tensor_table *tab;
	uint64_t seed;
	const char *dir, *type;
	uint32_t size;	 /* bytes of an element */
	uint32_t *first; /* [shards + 1]: tensors */
	uint32_t shards;
};

static FILE *create(const struct writer *w, uint32_t shard)
{
	char path[4096];

	if (shard == w->shards)
		snprintf(path, sizeof(path), "%s/model.safetensors.index.json", w->dir);
	else
		snprintf(path, sizeof(path), "%s/model-%05u-of-%05u.safetensors", w->dir, shard + 1,
			 w->shards);
	return fopen(path, "wb");
}

/* as many tensors a file as fit, one at least */
static int cut(struct writer *w, uint64_t bytes)
{
	uint64_t sum = 0;

	w->first = calloc(w->tab->n + 1ul, sizeof(*w->first));
	if (!w->first)
		return -ENOMEM;
	for (uint32_t i = 0; i < w->tab->n; i++) {
		uint64_t n = w->tab->t[i].count * w->size;

		if (i && sum + n > bytes) {
			w->first[++w->shards] = i;
			sum = 0;
		}
		sum += n;
	}
	w->first[++w->shards] = w->tab->n;
	return 0;
}

static int is_turned(const struct wse_tensor *t)
{
	return (t->flags & WSE_TENSOR_TRANSPOSED) != 0;
}

/* u64 length, JSON with blanks up to a multiple of 8 */
static int write_header(const struct writer *w, uint32_t shard, FILE *f)
{
	uint32_t n = w->first[shard + 1] - w->first[shard];
	char *text = calloc(n + 1ul, 256);
	uint64_t at = 0, len;
	int ok;

	if (!text)
		return -ENOMEM;
	len = (uint64_t)sprintf(text, "{\"__metadata__\":{\"format\":\"pt\"}");
	for (uint32_t i = w->first[shard]; i < w->first[shard + 1]; i++) {
		const struct wse_tensor *t = &w->tab->t[i];
		uint64_t bytes = t->count * w->size;
		int turned = is_turned(t);

		len += (uint64_t)sprintf(text + len, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[%u",
					 t->name, w->type, t->dim[turned]);
		if (t->ndim == 2)
			len += (uint64_t)sprintf(text + len, ",%u", t->dim[!turned]);
		len += (uint64_t)sprintf(text + len,
					 "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", at,
					 at + bytes);
		at += bytes;
	}
	text[len++] = '}';
	while (len % 8)
		text[len++] = ' ';
	ok = fwrite(&len, sizeof(len), 1, f) == 1 && fwrite(text, len, 1, f) == 1;
	free(text);
	return ok ? 0 : -EIO;
}

/* n values as the file has them, in their own place */
static void convert(const struct writer *w, float *p, size_t n)
{
	for (size_t i = 0; i < n && w->size == 2; i++) {
		_Float16 half = (_Float16)p[i];
		uint16_t h;

		memcpy(&h, &half, sizeof(h));
		if (w->type[0] == 'B')
			h = wse_f32_to_bf16(p[i]);
		memcpy((char *)p + 2 * i, &h, sizeof(h));
	}
}

/* rows [at, at + n) of a tensor as the file has it; one that is turned has them as columns */
static void make_rows(const struct writer *w, uint32_t tensor, uint32_t at, uint32_t n, float *to,
		      float *run)
{
	const struct wse_tensor *t = &w->tab->t[tensor];
	uint32_t width = t->ndim == 2 ? t->dim[1] : 1;

	if (!is_turned(t)) {
		wse_tensor_init_part(w->tab, w->seed, tensor, (size_t)at * width, (size_t)n * width,
				     to);
		return;
	}
	for (uint32_t o = 0; o < t->dim[0]; o++) {
		wse_tensor_init_part(w->tab, w->seed, tensor, (size_t)o * width + at, n, run);
		for (uint32_t i = 0; i < n; i++)
			to[(size_t)i * t->dim[0] + o] = run[i];
	}
}

static int write_tensor(const struct writer *w, uint32_t tensor, FILE *f)
{
	const struct wse_tensor *t = &w->tab->t[tensor];
	int turned = is_turned(t);
	uint32_t rows = t->ndim == 2 ? t->dim[turned] : t->dim[0];
	size_t width = t->count / rows;
	float *p = malloc(ROWS * width * sizeof(*p)), run[ROWS];
	int ret = p ? 0 : -ENOMEM;

	for (uint32_t at = 0, n; at < rows && !ret; at += n) {
		n = rows - at < ROWS ? rows - at : ROWS;
		make_rows(w, tensor, at, n, p, run);
		convert(w, p, n * width);
		if (fwrite(p, w->size, n * width, f) != n * width)
			ret = -errno;
	}
	free(p);
	return ret;
}

static int write_shard(const struct writer *w, uint32_t shard)
{
	FILE *f = create(w, shard);
	int ret = f ? write_header(w, shard, f) : -errno;

	for (uint32_t i = w->first[shard]; i < w->first[shard + 1] && !ret; i++)
		ret = write_tensor(w, i, f);
	if (f && fclose(f) && !ret)
		ret = -errno;
	return ret;
}

static int write_index(const struct writer *w)
{
	FILE *f = create(w, w->shards);

	if (!f)
		return -errno;
	fprintf(f, "{\"metadata\": {\"total_size\": %zu}, \"weight_map\": {",
		w->tab->params * w->size);
	for (uint32_t s = 0; s < w->shards; s++)
		for (uint32_t i = w->first[s]; i < w->first[s + 1]; i++)
			fprintf(f, "%s\"%s\": \"model-%05u-of-%05u.safetensors\"", i ? ",\n" : "\n",
				w->tab->t[i].name, s + 1, w->shards);
	fprintf(f, "\n}}\n");
	return fclose(f) ? -errno : 0;
}

int gpt_shards_write(const struct wse_model *m, uint64_t seed, const char *dir, const char *type,
		     uint64_t bytes)
{
	struct wse_tensor_table tab = {0};
	struct writer w = {.tab = &tab, .seed = seed, .dir = dir, .type = type};
	int ret;

	if (strcmp(type, "F32") && strcmp(type, "F16") && strcmp(type, "BF16"))
		return -EINVAL;
	w.size = strcmp(type, "F32") ? 2 : 4;
	ret = m->family->tensors(m, &tab);
	ret = ret ? ret : cut(&w, bytes);
	if (!ret && mkdir(dir, 0777) && errno != EEXIST)
		ret = -errno;
	for (uint32_t i = 0; i < w.shards && !ret; i++)
		ret = write_shard(&w, i);
	ret = ret ? ret : write_index(&w);
	free(w.first);
	wse_tensor_table_fini(&tab);
	return ret;
}
