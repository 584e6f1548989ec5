// SPDX-License-Identifier: MIT
#include "heat.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TOP    60u /* of a panel's cells: its title and legend are above */
#define GAP    24u
#define MAP    360u /* width of a panel, at least that of its legend */
#define SHADES 64u

struct tile {
	uint32_t rows, cols, cell;
	FILE *f;
};

static const struct wse_heat_panel counters[WSE_HEAT_MAPS] = {
	[WSE_HEAT_MAC] = {"multiply-adds of the lanes", "lane-cycles", false},
	[WSE_HEAT_LWAIT] = {"lanes wait for wavelets or room", "cycles", false},
	[WSE_HEAT_INSTRET] = {"scalar instructions", "instructions", false},
	[WSE_HEAT_LINK] = {"wavelets by link", "wavelets", true},
};

/* white for 0, then from yellow to dark red */
static void color(char *text, size_t size, uint64_t n, uint64_t most)
{
	uint32_t k = most ? (uint32_t)((double)n / (double)most * (SHADES - 1)) : 0;

	if (!n)
		snprintf(text, size, "#ffffff");
	else
		snprintf(text, size, "#%02x%02x%02x", 255 - k * 115 / SHADES, 235 - k * 3 - k / 2,
			 170 - k * 9 / 4);
}

static void legend(const struct tile *t, const struct wse_heat_panel *p, uint32_t x, uint32_t y,
		   uint64_t most)
{
	char shade[16];

	fprintf(t->f, "<text x=\"%u\" y=\"%u\" font-weight=\"bold\">%s</text>\n", x, y + 16,
		p->title);
	for (uint32_t i = 0; i < SHADES; i++) {
		color(shade, sizeof(shade), i, SHADES - 1);
		fprintf(t->f, "<rect x=\"%u\" y=\"%u\" width=\"2\" height=\"12\" fill=\"%s\"/>\n",
			x + 14 + 2 * i, y + 28, shade);
	}
	fprintf(t->f,
		"<text x=\"%u\" y=\"%u\">0</text><text x=\"%u\" y=\"%u\">%" PRIu64 " %s</text>\n",
		x, y + 38, x + 20 + 2 * SHADES, y + 38, most, p->unit);
}

/* a core's cell, or a link's triangle in it, with its edge there */
static void cell(const struct tile *t, const struct wse_heat_panel *p, uint32_t x, uint32_t y,
		 uint32_t port, uint64_t n, uint64_t most)
{
	static const uint8_t corner[4][4] = {
		{0, 0, 1, 0}, {1, 0, 1, 1}, {0, 1, 1, 1}, {0, 0, 0, 1}};
	const uint32_t a = t->cell;
	const uint8_t *k = corner[port];
	char shade[16];

	color(shade, sizeof(shade), n, most);
	if (p->links)
		fprintf(t->f, "<polygon points=\"%u,%u %u,%u %u,%u\"", x + k[0] * a, y + k[1] * a,
			x + k[2] * a, y + k[3] * a, x + a / 2, y + a / 2);
	else
		fprintf(t->f, "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\"", x, y, a, a);
	fprintf(t->f,
		" fill=\"%s\" stroke=\"#999\" stroke-width=\"0.5\"><title>%" PRIu64
		" %s</title></%s>\n",
		shade, n, p->unit, p->links ? "polygon" : "rect");
}

static void panel(const struct tile *t, const struct wse_heat_panel *p, uint32_t x0, uint32_t y0,
		  const uint64_t *value)
{
	const uint32_t each = p->links ? 4 : 1, n = t->rows * t->cols * each;
	const uint32_t down = t->rows > 8 ? 8 : 1, right = t->cols > 8 ? 8 : 1; /* a number each */
	uint64_t most = 0;

	for (uint32_t i = 0; i < n; i++)
		most = value[i] > most ? value[i] : most;
	legend(t, p, x0, y0, most);
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t core = i / each, x = x0 + 14 + core % t->cols * t->cell;

		cell(t, p, x, y0 + TOP + core / t->cols * t->cell, i % each, value[i], most);
	}
	for (uint32_t r = 0; r < t->rows; r += down)
		fprintf(t->f, "<text x=\"%u\" y=\"%u\" text-anchor=\"end\">%u</text>\n", x0 + 10,
			y0 + TOP + r * t->cell + t->cell / 2 + 4, r);
	for (uint32_t c = 0; c < t->cols; c += right)
		fprintf(t->f, "<text x=\"%u\" y=\"%u\" text-anchor=\"middle\">%u</text>\n",
			x0 + 14 + c * t->cell + t->cell / 2, y0 + TOP + t->rows * t->cell + 14, c);
}

int wse_heat_write(const char *path, const char *title, uint32_t rows, uint32_t cols,
		   uint64_t *const *map)
{
	return wse_heat_draw(path, title, rows, cols, counters, WSE_HEAT_MAPS, map);
}

int wse_heat_draw(const char *path, const char *title, uint32_t rows, uint32_t cols,
		  const struct wse_heat_panel *panels, uint32_t n, uint64_t *const *map)
{
	const uint32_t lines = (n + 1) / 2;
	struct tile t = {rows, cols, (MAP - 20) / cols, NULL};
	uint32_t width, height;
	bool failed;
	int err;

	t.cell = t.cell > 48 ? 48 : t.cell < 6 ? 6 : t.cell;
	width = cols * t.cell + 20 > MAP ? cols * t.cell + 20 : MAP;
	height = TOP + rows * t.cell + 20;
	t.f = fopen(path, "w");
	if (!t.f)
		return -errno;
	fprintf(t.f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
		"font-family=\"sans-serif\" font-size=\"12\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
		"<text x=\"%u\" y=\"20\">%u x %u cores (rows down, columns to the right), "
		"%s</text>\n",
		2 * width + 3 * GAP, lines * (height + GAP) + GAP + 16, GAP, rows, cols, title);
	for (uint32_t i = 0; i < n; i++)
		panel(&t, &panels[i], GAP + i % 2 * (width + GAP),
		      GAP + 10 + i / 2 * (height + GAP), map[i]);
	fputs("</svg>\n", t.f);
	failed = ferror(t.f);
	failed |= fclose(t.f) != 0;
	if (!failed)
		return 0;
	err = errno ? -errno : -EIO;
	if (strncmp(path, "/dev/", 5))
		unlink(path);
	return err;
}
