// SPDX-License-Identifier: MIT
/* JSON lines. Numbers that are not finite are null: JSON has no others. */
#include "log_json.h"

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

static void put_string(struct out *o, const char *key, const char *v)
{
	put(o, ",\"%s\":\"", key);
	for (; *v; v++) {
		unsigned char c = (unsigned char)*v;

		if (c == '"' || c == '\\')
			put(o, "\\%c", c);
		else if (c < 32 || c > 126)
			put(o, "\\u%04x", c);
		else
			put(o, "%c", c);
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
