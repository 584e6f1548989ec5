/* SPDX-License-Identifier: MIT */
/*
 * wse-top: sources of what it shows (runs by their sockets, device nodes), and the picture as lines
 * of text, which the screen and the batch mode share.
 */
#ifndef WSE_TOP_H
#define WSE_TOP_H

#include <stddef.h>
#include <stdint.h>

#define TOP_SOURCES 72
#define TOP_DEVICES 64	 /* of a source */
#define TOP_QUEUES  16
#define TOP_CORES   (1u << 20)
#define TOP_SAYS    400

enum top_map { TOP_MAC, TOP_LWAIT, TOP_INSTRET, TOP_LINK, TOP_MAPS };

/* what a device has counted since its reset; maps [rows * cols], links [4 * rows * cols] */
struct top_device {
	char name[80], says[TOP_SAYS]; /* says "": all is there */
	char holder[90];
	uint32_t rows, cols, lanes, nqueues;
	uint64_t cycles, mac, cmds, rd, wr, queue[TOP_QUEUES];
	uint64_t busy_ns; /* of the holder's queues, added over all of them; 0: not told */
	uint64_t *map[TOP_MAPS];
};

/* one look at a source */
struct top_look {
	char says[TOP_SAYS]; /* why there is nothing, or "" */
	double time;	     /* seconds, of the source's clock */
	int run;	     /* a run: the members that follow */
	long process;
	uint64_t step, max_steps;
	double loss, lr, norm, rate, ms, spent;
	uint32_t ndevices;
	struct top_device device[TOP_DEVICES];
};

struct top_source {
	char name[128]; /* path of a socket, or of a node */
	int node;
	struct wse_device *dev;	     /* of a node that is open */
	struct top_look *now, *before; /* before: the one whose time differs, or NULL */
};

struct top {
	struct top_source source[TOP_SOURCES];
	uint32_t nsources;
	uint32_t chosen;     /* device, counted over all sources */
	enum top_map map;
};

/* a picture's text as it came, size bytes and a NUL behind: 0, or look->says says what is wrong */
int top_parse(char *text, size_t size, struct top_look *look);
/* asks a run; always leaves a look */
void top_ask_run(const char *path, struct top_look *look);
/* nodes that are there become sources; one that goes stays, and says that it is not there */
void top_find_nodes(struct top *t);
void top_ask_node(struct top_source *s, struct top_look *look);
void top_look_free(struct top_look *look);

/* all sources anew; 0, -ENOMEM */
int top_refresh(struct top *t);
void top_free(struct top *t);
uint32_t top_ndevices(const struct top *t);
/* NULL: there is none of this number */
const struct top_device *top_device(const struct top *t, uint32_t i);

/*
 * The picture in lines of at most width bytes, printable ASCII, height of them at most (0: as many
 * as it takes). Called in order; chosen: it is the line of the chosen device; heat: a cell's digit
 * stands at each odd place from the 6th on
 */
typedef void (*top_line_fn)(void *ctx, const char *text, int chosen, int heat);
void top_draw(const struct top *t, uint32_t width, uint32_t height, top_line_fn line, void *ctx);

#endif
