// SPDX-License-Identifier: MIT
/* JSON lines. Numbers that are not finite are null: JSON has no others. */
#include <wse/train.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct out {
	char *text;
	size_t n, size;
};

__attribute__((format(printf, 2, 3))) static void put(struct out *o, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	o->n += (size_t)vsnprintf(o->n < o->size ? o->text + o->n : NULL,
				  o->n < o->size ? o->size - o->n : 0, fmt, ap);
	va_end(ap);
}

static void put_real(struct out *o, const char *key, double v)
{
	if (isfinite(v))
		put(o, ",\"%s\":%.9g", key, v);
	else
		put(o, ",\"%s\":null", key);
}

/* bytes of the UTF-8 character at v that is not ASCII, 0 if it is none */
static int utf8(const unsigned char *v)
{
	int n = v[0] >= 0xf0 ? 4 : v[0] >= 0xe0 ? 3 : 2;
	uint32_t c = v[0] & (0xff >> (n + 1));

	if (v[0] < 0xc2 || v[0] > 0xf4)
		return 0;
	for (int i = 1; i < n; i++) {
		if ((v[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (v[i] & 0x3f);
	}
	/* a longer form than needed, halves of UTF-16 pairs, the end of Unicode */
	return (n == 3 && c < 0x800) || (c >= 0xd800 && c < 0xe000) || (n == 4 && c < 0x10000) ||
			       c > 0x10ffff
		       ? 0
		       : n;
}

static void put_string(struct out *o, const char *key, const char *value)
{
	const unsigned char *v = (const unsigned char *)value;

	put(o, ",\"%s\":\"", key);
	while (*v) {
		int n = utf8(v);

		if (*v == '"' || *v == '\\')
			put(o, "\\%c", *v);
		else if (*v >= 32 && *v < 127)
			put(o, "%c", *v);
		else if (n)
			put(o, "%.*s", n, (const char *)v);
		else
			put(o, "\\u%04x", *v);
		v += n ? n : 1;
	}
	put(o, "\"");
}

static int finish(struct out *o)
{
	put(o, "}\n");
	return o->n < o->size ? 0 : -ENOSPC;
}

int wse_json_event(const struct wse_event *e, char *text, size_t size)
{
	static const char *const names[] = {"begin", "train", "eval", "checkpoint"};
	struct out o = {text, 0, size};

	put(&o, "{\"event\":\"%s\",\"step\":%" PRIu64, names[e->kind], e->step);
	if (e->kind == WSE_EVENT_BEGIN)
		put(&o, ",\"max_steps\":%" PRIu64 ",\"held_out_samples\":%" PRIu64, e->max_steps,
		    e->samples);
	if (e->kind == WSE_EVENT_TRAIN || e->kind == WSE_EVENT_EVAL)
		put_real(&o, "loss", e->loss);
	if (e->kind == WSE_EVENT_EVAL)
		put(&o, ",\"samples\":%" PRIu64, e->samples);
	if (e->kind == WSE_EVENT_EVAL && e->text)
		put_string(&o, "set", e->text);
	if (e->kind == WSE_EVENT_TRAIN) {
		put_real(&o, "learning_rate", e->lr);
		put_real(&o, "gradient_norm", e->norm);
		put_real(&o, "ms", e->ms);
		put_real(&o, "samples_per_second", e->rate);
	}
	if (e->kind == WSE_EVENT_CHECKPOINT)
		put_string(&o, "path", e->text);
	else
		put(&o, ",\"devices\":%u", e->devices);
	put_real(&o, "seconds", e->seconds);
	return finish(&o);
}

int wse_json_text(const char *what, const char *said, char *text, size_t size)
{
	struct out o = {text, 0, size};

	put(&o, "{\"event\":\"%s\"", what);
	put_string(&o, "text", said);
	return finish(&o);
}

int wse_json_end(uint64_t step, int stopped, const char *checkpoint, const char *hash, char *text,
		 size_t size)
{
	struct out o = {text, 0, size};

	put(&o, "{\"event\":\"end\",\"step\":%" PRIu64 ",\"stopped\":%s", step,
	    stopped ? "true" : "false");
	put_string(&o, "checkpoint", checkpoint);
	put_string(&o, "hash", hash);
	return finish(&o);
}
