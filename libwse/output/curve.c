// SPDX-License-Identifier: MIT
/* The loss curve: training loss, held-out loss, and the text's entropies to measure them by. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "metrics.h"

struct range {
	double step0, step1, loss0, loss1;
};

static struct range range_of(const struct wse_metrics *ms, double unigram, double bigram)
{
	struct range r = {0, 1, 1e30, -1e30};
	double also[2] = {unigram, bigram};

	for (uint32_t i = 0; i < ms->n; i++) {
		r.step1 = (double)ms->m[i].step > r.step1 ? (double)ms->m[i].step : r.step1;
		r.loss0 = ms->m[i].loss < r.loss0 ? ms->m[i].loss : r.loss0;
		r.loss1 = ms->m[i].loss > r.loss1 ? ms->m[i].loss : r.loss1;
	}
	for (int i = 0; i < 2; i++)
		if (also[i] > 0.0) {
			r.loss0 = also[i] < r.loss0 ? also[i] : r.loss0;
			r.loss1 = also[i] > r.loss1 ? also[i] : r.loss1;
		}
	if (!(r.loss1 > r.loss0)) {
		r.loss0 -= 0.5;
		r.loss1 = r.loss0 + 1.0;
	}
	r.loss0 -= 0.03 * (r.loss1 - r.loss0);
	r.loss1 += 0.03 * (r.loss1 - r.loss0);
	return r;
}

#define W      760
#define H      420
#define LEFT   60
#define TOP    30
#define PLOT_W 680
#define PLOT_H 340

static double sx(const struct range *r, double step)
{
	return LEFT + PLOT_W * (step - r->step0) / (r->step1 - r->step0);
}

static double sy(const struct range *r, double loss)
{
	return TOP + PLOT_H * (r->loss1 - loss) / (r->loss1 - r->loss0);
}

static void svg_entropy(FILE *f, const struct range *r, double nats, const char *name)
{
	if (nats <= 0.0)
		return;
	fprintf(f,
		"<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#888\" "
		"stroke-dasharray=\"6 4\"/>\n<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" "
		"fill=\"#666\">%s entropy %.3f</text>\n",
		LEFT, sy(r, nats), LEFT + PLOT_W, sy(r, nats), LEFT + PLOT_W - 4, sy(r, nats) - 4,
		name, nats);
}

static void svg_line(FILE *f, const struct wse_metrics *ms, const struct range *r, int held_out,
		     const char *color)
{
	fprintf(f, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" points=\"", color,
		held_out ? "2" : "1");
	for (uint32_t i = 0; i < ms->n; i++)
		if (ms->m[i].held_out == held_out)
			fprintf(f, "%.1f,%.1f ", sx(r, (double)ms->m[i].step),
				sy(r, ms->m[i].loss));
	fprintf(f, "\"/>\n");
	for (uint32_t i = 0; i < ms->n && held_out; i++)
		if (ms->m[i].held_out)
			fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n",
				sx(r, (double)ms->m[i].step), sy(r, ms->m[i].loss), color);
}

int wse_curve_svg(const struct wse_metrics *ms, const char *path, double unigram, double bigram)
{
	struct range r = range_of(ms, unigram, bigram);
	char tmp[4096];
	FILE *f;
	int ret;

	if ((size_t)snprintf(tmp, sizeof(tmp), "%s.tmp", path) >= sizeof(tmp))
		return -ENAMETOOLONG;
	f = fopen(tmp, "we");
	if (!f)
		return -errno;
	fprintf(f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		"font-family=\"sans-serif\" font-size=\"12\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
		"<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" "
		"stroke=\"#ccc\"/>\n",
		W, H, LEFT, TOP, PLOT_W, PLOT_H);
	for (int i = 0; i <= 4; i++) {
		double loss = r.loss0 + (r.loss1 - r.loss0) * i / 4;
		double step = r.step1 * i / 4;

		fprintf(f,
			"<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.2f</text>\n"
			"<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f</text>\n",
			LEFT - 6, sy(&r, loss) + 4, loss, sx(&r, step), TOP + PLOT_H + 18, step);
	}
	fprintf(f,
		"<text x=\"%d\" y=\"18\">loss, nats per token: <tspan fill=\"#7aa6d8\">training"
		"</tspan>, <tspan fill=\"#c0392b\">held-out</tspan></text>\n"
		"<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">step</text>\n",
		LEFT, LEFT + PLOT_W / 2, H - 8);
	svg_entropy(f, &r, unigram, "unigram");
	svg_entropy(f, &r, bigram, "bigram");
	svg_line(f, ms, &r, 0, "#7aa6d8");
	svg_line(f, ms, &r, 1, "#c0392b");
	fprintf(f, "</svg>\n");
	ret = fflush(f) ? -errno : ferror(f) ? -EIO : 0;
	if (fclose(f) && !ret)
		ret = -errno;
	if (!ret && rename(tmp, path))
		ret = -errno;
	if (ret)
		unlink(tmp);
	return ret;
}

/* dots [4 * rows][2 * cols] -> lines of braille: U+2800 + a bit per dot */
static void dot(unsigned char *cells, uint32_t cols, uint32_t rows, double x, double y)
{
	static const unsigned char bit[4][2] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};
	long px = (long)(x * (2.0 * cols - 1) + 0.5), py = (long)(y * (4.0 * rows - 1) + 0.5);

	if (px >= 0 && py >= 0 && px < 2 * (long)cols && py < 4 * (long)rows)
		cells[(py / 4) * cols + px / 2] |= bit[py % 4][px % 2];
}

void wse_curve_text(const struct wse_metrics *ms, uint32_t cols, uint32_t rows, double unigram,
		    double bigram, void (*line)(void *ctx, const char *text), void *ctx)
{
	struct range r = range_of(ms, unigram, bigram);
	unsigned char *cells = calloc(cols, rows);
	char *text = malloc(cols * 3 + 64);
	double height = r.loss1 - r.loss0, lines[2] = {unigram, bigram};

	for (uint32_t i = 0; cells && text && i < ms->n; i++)
		dot(cells, cols, rows, (double)ms->m[i].step / r.step1,
		    (r.loss1 - ms->m[i].loss) / height);
	for (uint32_t l = 0; cells && text && l < 2; l++)
		for (uint32_t x = 0; x < cols && lines[l] > 0.0; x++)
			dot(cells, cols, rows, (x + 0.25) / cols, (r.loss1 - lines[l]) / height);
	for (uint32_t y = 0; cells && text && y < rows; y++) {
		double top = r.loss1 - height * y / rows;
		double bottom = r.loss1 - height * (y + 1) / rows;
		int n = sprintf(text, "%6.2f ", (top + bottom) / 2);

		for (uint32_t x = 0; x < cols; x++) {
			unsigned int c = 0x2800u + cells[y * cols + x];

			text[n++] = (char)(0xe0 | c >> 12);
			text[n++] = (char)(0x80 | (c >> 6 & 0x3f));
			text[n++] = (char)(0x80 | (c & 0x3f));
		}
		text[n] = 0;
		for (int l = 0; l < 2; l++)
			if (lines[l] <= top && lines[l] > bottom)
				n += sprintf(text + n, " %s %.2f", l ? "bigram" : "unigram",
					     lines[l]);
		line(ctx, text);
	}
	free(cells);
	free(text);
}
