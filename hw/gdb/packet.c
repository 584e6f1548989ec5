// SPDX-License-Identifier: MIT
/* Packets: $body#sum with acknowledgements, and the buffers of both ways. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stub.h"

static void put(struct gdb_stub *g, const void *bytes, size_t len)
{
	size_t room = g->out_room ? g->out_room : 4096;
	uint8_t *p;

	if (g->choked || !g->connected)
		return;
	while (room < g->nout + len)
		room *= 2;
	if (room > OUT_MAX) {
		g->choked = true;
		return;
	}
	if (room != g->out_room) {
		p = realloc(g->out, room);
		if (!p) {
			g->choked = true;
			return;
		}
		g->out = p;
		g->out_room = room;
	}
	memcpy(g->out + g->nout, bytes, len);
	g->nout += len;
}

void gdb_say(struct gdb_stub *g, const char *format, ...)
{
	size_t room = sizeof(g->reply) - g->nreply;
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(g->reply + g->nreply, room, format, ap);
	va_end(ap);
	if (n > 0)
		g->nreply += (size_t)n < room ? (size_t)n : room - 1;
}

void gdb_say_hex(struct gdb_stub *g, const void *bytes, size_t len)
{
	static const char digit[] = "0123456789abcdef";
	const uint8_t *p = bytes;

	for (; len && g->nreply + 2 < sizeof(g->reply); len--, p++) {
		g->reply[g->nreply++] = digit[*p >> 4];
		g->reply[g->nreply++] = digit[*p & 15];
	}
}

void gdb_send(struct gdb_stub *g)
{
	uint8_t sum = 0;
	size_t n = 0;
	char end[4];

	g->last[n++] = '$';
	for (size_t i = 0; i < g->nreply; i++) {
		uint8_t c = g->reply[i];

		if (c == '#' || c == '$' || c == '}' || c == '*') {
			g->last[n++] = '}';
			sum += '}';
			c ^= 0x20;
		}
		g->last[n++] = c;
		sum += c;
	}
	snprintf(end, sizeof(end), "#%02x", sum);
	memcpy(g->last + n, end, 3);
	g->nlast = n + 3;
	g->nreply = 0;
	put(g, g->last, g->nlast);
}

/* gdb prints it */
void gdb_console(struct gdb_stub *g, const char *text, size_t len)
{
	while (len) {
		size_t n = len < 1024 ? len : 1024;

		g->nreply = 0;
		gdb_say(g, "O");
		gdb_say_hex(g, text, n);
		gdb_send(g);
		text += n;
		len -= n;
	}
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool gdb_number(const char **p, uint64_t *n)
{
	const char *s = *p;

	for (*n = 0; digit(*s) >= 0; s++) {
		if (*n >> 60)
			return false;
		*n = *n << 4 | (uint64_t)digit(*s);
	}
	if (s == *p)
		return false;
	*p = s;
	return true;
}

bool gdb_bytes(const char **p, void *bytes, size_t len)
{
	uint8_t *to = bytes;

	for (; len; len--, *p += 2) {
		int hi = digit((*p)[0]), lo = hi < 0 ? -1 : digit((*p)[1]);

		if (lo < 0)
			return false;
		*to++ = (uint8_t)(hi << 4 | lo);
	}
	return true;
}

static void end_of_packet(struct gdb_stub *g)
{
	bool good = g->in_sum == g->in_want;

	if (!g->no_ack)
		put(g, good ? "+" : "-", 1);
	if (!good && !g->no_ack)
		return;
	g->nreply = 0;
	if (!good || g->in_long) {
		gdb_say(g, "E01");
		gdb_send(g);
		return;
	}
	g->in[g->nin] = 0;
	gdb_command(g, g->in, g->nin);
}

static void take(struct gdb_stub *g, uint8_t c)
{
	switch (g->in_state) {
	case IN_IDLE:
		if (c == '$') {
			g->in_state = IN_BODY;
			g->nin = 0;
			g->in_sum = 0;
			g->in_escape = g->in_long = false;
		} else if (c == 3) {
			g->interrupted = true;
		} else if (c == '-' && !g->no_ack && g->nlast) {
			put(g, g->last, g->nlast);
		}
		return;
	case IN_BODY:
		if (c == '#') {
			g->in_state = IN_SUM1;
			return;
		}
		if (c == '$') { /* the packet before was cut short */
			g->in_state = IN_IDLE;
			take(g, c);
			return;
		}
		g->in_sum += c;
		if (c == '}' && !g->in_escape) {
			g->in_escape = true;
			return;
		}
		if (g->nin == PACKET_MAX) {
			g->in_long = true;
			return;
		}
		g->in[g->nin++] = (char)(g->in_escape ? c ^ 0x20 : c);
		g->in_escape = false;
		return;
	case IN_SUM1:
		g->in_want = (uint8_t)((digit((char)c) & 15) << 4);
		g->in_state = IN_SUM2;
		return;
	case IN_SUM2:
		g->in_want |= digit((char)c) & 15;
		g->in_state = IN_IDLE;
		end_of_packet(g);
		return;
	}
}

void gdb_input(struct gdb_stub *g, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;

	while (len-- && !g->choked)
		take(g, *p++);
	if (g->interrupted && !g->running)
		g->interrupted = false; /* it stands */
}

const void *gdb_output(const struct gdb_stub *g, size_t *len)
{
	*len = g->nout;
	return g->out;
}

void gdb_sent(struct gdb_stub *g, size_t len)
{
	if (len > g->nout)
		len = g->nout;
	if (g->nout > len)
		memmove(g->out, g->out + len, g->nout - len);
	g->nout -= len;
}

bool gdb_choked(const struct gdb_stub *g)
{
	return g->choked;
}

void gdb_text_begin(struct gdb_stub *g)
{
	g->ntext = 0;
	g->text_short = false;
}

void gdb_text(struct gdb_stub *g, const char *format, ...)
{
	size_t room;
	va_list ap;
	char *p;
	int n;

	for (;;) {
		room = g->text_room - g->ntext;
		va_start(ap, format);
		n = vsnprintf(g->text ? g->text + g->ntext : NULL, room, format, ap);
		va_end(ap);
		if (n < 0)
			return;
		if ((size_t)n < room) {
			g->ntext += (size_t)n;
			return;
		}
		room = 2 * g->text_room + (size_t)n + 4096;
		p = realloc(g->text, room);
		if (!p) {
			g->text_short = true;
			return;
		}
		g->text = p;
		g->text_room = room;
	}
}
