// SPDX-License-Identifier: MIT
/*
 * The loss curve: training loss, held-out loss, and the text's entropies to measure them by; below
 * it, over the same steps, learning rate and gradient norm.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "metrics.h"

struct range {
	double step0, step1, loss0, loss1;
};

/* a diverging run ends in numbers whose difference is not finite: what is beyond is not drawn */
#define LOSS_MAX 1e300

static int drawable(const struct wse_metric *m)
{
	return fabs(m->loss) <= LOSS_MAX;
}

static struct range range_of(const struct wse_metrics *ms, double unigram, double bigram)
{
	struct range r = {0, 1, LOSS_MAX, -LOSS_MAX};
	double also[2] = {unigram, bigram};

	for (uint32_t i = 0; i < ms->n; i++) {
		if (!drawable(&ms->m[i]))
			continue;
		r.step1 = fmax(r.step1, (double)ms->m[i].step);
		r.loss0 = fmin(r.loss0, ms->m[i].loss);
		r.loss1 = fmax(r.loss1, ms->m[i].loss);
	}
	for (int i = 0; i < 2; i++)
		if (also[i] > 0.0) {
			r.loss0 = fmin(r.loss0, also[i]);
			r.loss1 = fmax(r.loss1, also[i]);
		}
	if (r.loss0 > r.loss1)
		r.loss0 = r.loss1 = 0.0;
	if (r.loss0 == r.loss1) {
		double room = fmax(0.5, fabs(r.loss1) * 0.1);

		r.loss0 -= room;
		r.loss1 += room;
	}
	r.loss0 -= 0.03 * (r.loss1 - r.loss0);
	r.loss1 += 0.03 * (r.loss1 - r.loss0);
	return r;
}

/* the distance of ticks that people read easily: 1, 2 or 5 times a power of ten, 4 to 9 of them */
static double tick_of(double length)
{
	double unit = pow(10.0, floor(log10(length / 4.0)));

	if (length / (5.0 * unit) >= 4.0)
		return 5.0 * unit;
	return length / (2.0 * unit) >= 4.0 ? 2.0 * unit : unit;
}

/* a loss as a tick or a label: always short; text [24] */
static const char *tick_text(double loss, double tick, char *text)
{
	int digits = tick < 1.0 ? (int)ceil(-log10(tick) - 1e-9) : 0;

	if (fabs(loss) < 1e5 && digits < 7)
		snprintf(text, 24, "%.*f", digits, loss);
	else
		snprintf(text, 24, "%.3g", loss);
	return text;
}

#define W	760
#define H	(420 + 2 * PANEL)
#define PANEL	100 /* of which PANEL_H are the plot */
#define PANEL_H 80
#define LEFT	60
#define TOP	30
#define PLOT_W	570
#define PLOT_H	340

static double sx(const struct range *r, double step)
{
	return LEFT + PLOT_W * (step - r->step0) / (r->step1 - r->step0);
}

static double sy(const struct range *r, double loss)
{
	return TOP + PLOT_H * (r->loss1 - loss) / (r->loss1 - r->loss0);
}

static void svg_ticks(FILE *f, const struct range *r)
{
	double tick = tick_of(r->loss1 - r->loss0), step = fmax(1.0, tick_of(r->step1));
	char text[24];

	for (double k = ceil(r->loss0 / tick); k * tick <= r->loss1; k++)
		fprintf(f,
			"<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#eee\"/>\n"
			"<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
			LEFT, sy(r, k * tick), LEFT + PLOT_W, sy(r, k * tick), LEFT - 6,
			sy(r, k * tick) + 4, tick_text(k * tick, tick, text));
	for (double at = 0; at <= r->step1; at += step)
		fprintf(f, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f</text>\n",
			sx(r, at), H - 32, at);
}

static double lr_of(const struct wse_metric *m)
{
	return m->lr;
}

static double norm_of(const struct wse_metric *m)
{
	return m->norm;
}

static int in_panel(const struct wse_metric *m, double (*of)(const struct wse_metric *m))
{
	return !m->held_out && of(m) >= 0.0 && of(m) <= LOSS_MAX;
}

/* from 0 to the largest, which the label says; y: of the top */
static void svg_panel(FILE *f, const struct wse_metrics *ms, const struct range *r, int y,
		      const char *name, const char *color, double (*of)(const struct wse_metric *m))
{
	double most = 0.0, unit;

	for (uint32_t i = 0; i < ms->n; i++)
		if (in_panel(&ms->m[i], of))
			most = fmax(most, of(&ms->m[i]));
	unit = most > 0.0 ? most : 1.0;
	fprintf(f,
		"<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" "
		"stroke=\"#ccc\"/>\n"
		"<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.3g</text>\n"
		"<text x=\"%d\" y=\"%d\" text-anchor=\"end\">0</text>\n"
		"<text x=\"%d\" y=\"%d\" fill=\"%s\">%s</text>\n"
		"<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1\" points=\"",
		LEFT, y, PLOT_W, PANEL_H, LEFT - 6, y + 10, most, LEFT - 6, y + PANEL_H,
		LEFT + PLOT_W + 6, y + 14, color, name, color);
	for (uint32_t i = 0; i < ms->n; i++)
		if (in_panel(&ms->m[i], of))
			fprintf(f, "%.1f,%.1f ", sx(r, (double)ms->m[i].step),
				y + PANEL_H - (PANEL_H - 4) * of(&ms->m[i]) / unit);
	fprintf(f, "\"/>\n");
}

/* a dashed line, and its name beside the plot, where no curve is; *free is the lowest place that
 * no label has taken yet */
static void svg_entropy(FILE *f, const struct range *r, double nats, const char *name, double *free)
{
	double y = sy(r, nats), at = fmax(y + 4, *free);

	if (nats <= 0.0)
		return;
	fprintf(f,
		"<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#888\" "
		"stroke-dasharray=\"6 4\"/>\n<text x=\"%d\" y=\"%.1f\" fill=\"#666\">"
		"%s %.3f</text>\n",
		LEFT, y, LEFT + PLOT_W, y, LEFT + PLOT_W + 6, at, name, nats);
	*free = at + 14;
}

/* training steps, set NULL, or evaluations on a held-out set */
static int is_of(const struct wse_metric *m, const char *set)
{
	return drawable(m) && m->held_out == (set != NULL) && (!set || !strcmp(m->set, set));
}

static void svg_line(FILE *f, const struct wse_metrics *ms, const struct range *r, const char *set,
		     const char *color)
{
	fprintf(f, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" points=\"", color,
		set ? "2" : "1");
	for (uint32_t i = 0; i < ms->n; i++)
		if (is_of(&ms->m[i], set))
			fprintf(f, "%.1f,%.1f ", sx(r, (double)ms->m[i].step),
				sy(r, ms->m[i].loss));
	fprintf(f, "\"/>\n");
	for (uint32_t i = 0; i < ms->n && set; i++)
		if (is_of(&ms->m[i], set))
			fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n",
				sx(r, (double)ms->m[i].step), sy(r, ms->m[i].loss), color);
}

/* a line a held-out set, the name of one of several at its last point */
static void svg_held_out(FILE *f, const struct wse_metrics *ms, const struct range *r)
{
	static const char *const colors[] = {"#c0392b", "#d68910", "#7d6608", "#a04000"};
	uint32_t n = 0;

	for (uint32_t i = 0; i < ms->n; i++) {
		const struct wse_metric *m = &ms->m[i], *last = m;
		uint32_t j = 0;

		if (!m->held_out)
			continue;
		while (j < i && !(ms->m[j].held_out && !strcmp(ms->m[j].set, m->set)))
			j++;
		if (j < i) /* the set has its line */
			continue;
		svg_line(f, ms, r, m->set, colors[n % 4]);
		for (j = i; j < ms->n; j++)
			if (is_of(&ms->m[j], m->set))
				last = &ms->m[j];
		if (m->set[0] && drawable(last))
			fprintf(f,
				"<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\" fill=\"%s\">%s"
				"</text>\n",
				sx(r, (double)last->step) - 6, sy(r, last->loss) - 6, colors[n % 4],
				m->set);
		n++;
	}
}

static void svg(FILE *f, const struct wse_metrics *ms, double unigram, double bigram)
{
	struct range r = range_of(ms, unigram, bigram);
	double free = TOP;

	fprintf(f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		"viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
		W, H, W, H);
	svg_ticks(f, &r);
	fprintf(f,
		"<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" "
		"stroke=\"#ccc\"/>\n"
		"<text x=\"%d\" y=\"18\">loss, nats per token: <tspan fill=\"#7aa6d8\">training"
		"</tspan>, <tspan fill=\"#c0392b\">held-out</tspan>; entropy of the text: "
		"<tspan fill=\"#666\">dashed</tspan></text>\n"
		"<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">step</text>\n",
		LEFT, TOP, PLOT_W, PLOT_H, LEFT, LEFT + PLOT_W / 2, H - 8);
	/* the larger one is the upper one */
	svg_entropy(f, &r, fmax(unigram, bigram), unigram >= bigram ? "unigram" : "bigram", &free);
	svg_entropy(f, &r, fmin(unigram, bigram), unigram >= bigram ? "bigram" : "unigram", &free);
	svg_line(f, ms, &r, NULL, "#7aa6d8");
	svg_held_out(f, ms, &r);
	svg_panel(f, ms, &r, TOP + PLOT_H + 15, "learning rate", "#2e8b57", lr_of);
	svg_panel(f, ms, &r, TOP + PLOT_H + 15 + PANEL, "gradient norm", "#8e6bbf", norm_of);
	fprintf(f, "</svg>\n");
}

int wse_curve_svg(const struct wse_metrics *ms, const char *path, double unigram, double bigram)
{
	char tmp[4096];
	FILE *f;
	int ret;

	if ((size_t)snprintf(tmp, sizeof(tmp), "%s.tmp", path) >= sizeof(tmp))
		return -ENAMETOOLONG;
	unlink(tmp); /* of a run that was killed; a FIFO would never open */
	f = fopen(tmp, "we");
	if (!f)
		return -errno;
	svg(f, ms, unigram, bigram);
	ret = fflush(f) ? -errno : ferror(f) ? -EIO : 0;
	if (fclose(f) && !ret)
		ret = -errno;
	if (!ret && rename(tmp, path))
		ret = -errno;
	if (ret)
		unlink(tmp);
	return ret;
}

/* dots [4 * rows][2 * cols] -> lines of braille: U+2800 + a bit per dot; x and y from 0 to 1 */
static void dot(unsigned char *cells, uint32_t cols, uint32_t rows, double x, double y)
{
	static const unsigned char bit[4][2] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};
	long px, py;

	if (!(x >= 0.0 && x <= 1.0 && y >= 0.0 && y <= 1.0))
		return;
	px = (long)(x * (2.0 * cols - 1) + 0.5);
	py = (long)(y * (4.0 * rows - 1) + 0.5);
	cells[(py / 4) * cols + px / 2] |= bit[py % 4][px % 2];
}

/* one row of cells; size of text: MARGIN in front, 3 bytes a cell, two labels behind */
#define MARGIN 32
#define LABELS 64

static void text_row(const unsigned char *cells, uint32_t cols, double middle, char *text)
{
	int n = snprintf(text, MARGIN, fabs(middle) < 1e4 ? "%7.2f " : "%7.1e ", middle);

	for (uint32_t x = 0; x < cols; x++) {
		unsigned int c = 0x2800u + cells[x];

		text[n++] = (char)(0xe0 | c >> 12);
		text[n++] = (char)(0x80 | (c >> 6 & 0x3f));
		text[n++] = (char)(0x80 | (c & 0x3f));
	}
	text[n] = 0;
}

void wse_curve_text(const struct wse_metrics *ms, uint32_t cols, uint32_t rows, double unigram,
		    double bigram, void (*line)(void *ctx, const char *text), void *ctx)
{
	struct range r = range_of(ms, unigram, bigram);
	unsigned char *cells = calloc(cols, rows);
	size_t size = MARGIN + 3 * (size_t)cols + LABELS;
	char *text = malloc(size);
	double height = r.loss1 - r.loss0, lines[2] = {unigram, bigram};

	for (uint32_t i = 0; cells && text && i < ms->n; i++)
		if (drawable(&ms->m[i]))
			dot(cells, cols, rows, (double)ms->m[i].step / r.step1,
			    (r.loss1 - ms->m[i].loss) / height);
	for (uint32_t l = 0; cells && text && l < 2; l++)
		for (uint32_t x = 0; x < cols && lines[l] > 0.0; x++)
			dot(cells, cols, rows, (x + 0.25) / cols, (r.loss1 - lines[l]) / height);
	for (uint32_t y = 0; cells && text && y < rows; y++) {
		double top = r.loss1 - height * y / rows;
		double bottom = r.loss1 - height * (y + 1) / rows;
		size_t n;

		text_row(cells + (size_t)y * cols, cols, (top + bottom) / 2, text);
		for (int l = 0; l < 2; l++) {
			n = strlen(text);
			if (lines[l] > 0.0 && lines[l] <= top && lines[l] > bottom)
				snprintf(text + n, size - n, " %s %.2f", l ? "bigram" : "unigram",
					 lines[l]);
		}
		line(ctx, text);
	}
	free(cells);
	free(text);
}
