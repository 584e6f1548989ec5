// SPDX-License-Identifier: MIT
/* The table of operations, and what holds for all of them. */
#include "ops/kinds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/place.h"

/* where data may begin above every version of the program with the kernels of GPT-2's form */
#define KERNELS_END		 0x4980u

#define HOST(kind, name)	 &wse_type_##name,
#define KERNEL(kind, name, args) &wse_type_##name,
static const struct wse_op_type *const types[WSE_OP_KINDS] = {
	/* in the order of enum wse_op_kind */
	WSE_HOST_OPS(HOST) WSE_KERNELS(KERNEL) WSE_KERNELS_CHUNKS(KERNEL) WSE_KERNELS_FULL(KERNEL)
		WSE_KERNELS_DROP(KERNEL) WSE_KERNELS_PAST(KERNEL)};

const struct wse_op_type *wse_op_type(uint32_t kind)
{
	return kind < WSE_OP_KINDS ? types[kind] : NULL;
}

const char *wse_kind_name(uint32_t kind)
{
	const struct wse_op_type *type = wse_op_type(kind);

	return type ? type->name : "no operation";
}

uint32_t wse_op_map(struct wse_graph *g, enum wse_op_kind kind, uint32_t program, uint32_t a,
		    uint32_t b, const char *what)
{
	struct wse_op *op = wse_graph_op(g, kind, WSE_NO_UNIT, program);
	uint32_t out = wse_graph_value(g, what, WSE_TYPE_BF16, WSE_SHAPE_TOKENS,
				       a < g->nvalues ? g->values[a].rows : 0);

	op->in[0] = a;
	op->in[1] = b;
	op->out[0] = out;
	return out;
}

static int check(const struct wse_graph *g, const struct wse_op *op)
{
	const struct wse_op_type *type = wse_op_type(op->kind);

	if (!type)
		return wse_fail(-EINVAL, "there is no kind %u", op->kind);
	if (op->program >= g->nprograms && type->entry)
		return wse_fail(-EINVAL, "there is no program %u of %u", op->program, g->nprograms);
	return type->check(g, op);
}

/* all of a unit's gradient is written; ret: what is known already */
static int check_grads(const struct wse_graph *g, int ret)
{
	uint32_t *written = calloc(g->nunits + 1, sizeof(*written)); /* WSE_GRAD_* */

	if (!written)
		return wse_fail(-ENOMEM, "no memory for the units");
	for (uint32_t k = 0; k < g->nops; k++)
		if (g->ops[k].unit < g->nunits)
			written[g->ops[k].unit] |= wse_op_type(g->ops[k].kind)->writes_grad;
	for (uint32_t i = 0; i < g->nunits; i++) {
		const struct wse_unit *u = &g->units[i];
		uint32_t want = (u->weight == WSE_NO_TENSOR ? 0 : WSE_GRAD_MATRIX) |
				(u->nvec ? WSE_GRAD_VECTORS : 0);

		want &= ~written[i];
		if (!want)
			continue;
		ret = wse_fail(-EINVAL, "unit %u: no operation writes the gradient of its %s", i,
			       want & WSE_GRAD_MATRIX ? "matrix" : "vectors");
		break;
	}
	free(written);
	return ret;
}

uint32_t wse_graph_kernels(struct wse_graph *g)
{
	return wse_graph_program(g, "train.elf", KERNELS_END);
}

/* programs, and those with all kernels, which take their place where an operation needs it */
static const struct wse_graph_program plain[] = {{"train.elf", 0},
						 {"forward.elf", 0},
						 {"backward.elf", 0},
						 {"cached.elf", 0}},
				      full[] = {{"full.elf", 0x5200},
						{"full_forward.elf", 0x2c00},
						{"full_backward.elf", 0x2c00},
						{"full_cached.elf", 0x2c00}},
				      slopes[] = {{"slopes.elf", 0x5200},
						  {"slopes_forward.elf", 0x2c00},
						  {"slopes_backward.elf", 0x2c00},
						  {"slopes_cached.elf", 0x2c00}},
				      /* text with a past has no dropout */
	drops[] = {{"drop.elf", 0x5b80},
		   {"drop_forward.elf", 0x3280},
		   {"drop_backward.elf", 0x3300},
		   {"full_cached.elf", 0x2c00}};

static const struct wse_graph_program *const programs[] = {[WSE_OP_PLAIN] = plain,
							   [WSE_OP_FULL] = full,
							   [WSE_OP_SLOPES] = slopes,
							   [WSE_OP_DROPS] = drops};

/* the most that an operation of a program wants */
static enum wse_op_full wanted(const struct wse_graph *g, uint32_t program)
{
	enum wse_op_full most = WSE_OP_PLAIN;

	for (uint32_t i = 0; i < g->nops; i++) {
		const struct wse_op_type *type = wse_op_type(g->ops[i].kind);
		enum wse_op_full is = WSE_OP_PLAIN;

		if (type && type->full && g->ops[i].program == program)
			is = type->full(&g->ops[i]);
		most = is > most ? is : most;
	}
	return most;
}

/*
 * Programs whose attention deals its work out to the rows, in place of others; the first one that
 * fits. Backward wants more room than forward.
 */
static const struct {
	const char *of;
	enum wse_attn_shares shares;
	struct wse_graph_program is;
} halves[] = {{"train.elf", WSE_ATTN_SHARES_BACK, {"halves_both.elf", 0x6000}},
	      {"train.elf", WSE_ATTN_SHARES, {"halves.elf", 0x5300}},
	      {"forward.elf", WSE_ATTN_SHARES, {"halves_forward.elf", 0x3000}},
	      {"backward.elf", WSE_ATTN_SHARES_BACK, {"halves_backward.elf", 0x3600}},
	      {"full.elf", WSE_ATTN_SHARES_BACK, {"full_halves_both.elf", 0x6b00}},
	      {"full.elf", WSE_ATTN_SHARES, {"full_halves.elf", 0x5c00}},
	      {"full_forward.elf", WSE_ATTN_SHARES, {"full_halves_forward.elf", 0x3480}},
	      {"full_backward.elf", WSE_ATTN_SHARES_BACK, {"full_halves_backward.elf", 0x3c80}}};

const struct wse_graph_program *wse_ops_program(uint32_t i)
{
	const uint32_t phases = sizeof(plain) / sizeof(*plain);

	if (i < (WSE_OP_DROPS - WSE_OP_PLAIN) * phases)
		return &programs[WSE_OP_PLAIN + 1 + i / phases][i % phases];
	i -= (WSE_OP_DROPS - WSE_OP_PLAIN) * phases;
	return i < sizeof(halves) / sizeof(*halves) ? &halves[i].is : NULL;
}

/* -E2BIG: it does not fit, and all is as it was */
static int try_program(struct wse_graph *g, uint32_t i, const struct wse_graph_program *is)
{
	struct wse_graph_program *p = &g->programs[i], was = *p;
	uint32_t base = g->base;
	int ret, again;

	*p = *is;
	if (p->end > g->base)
		g->base = p->end;
	ret = wse_graph_place(g);
	if (ret != -E2BIG)
		return ret;
	*p = was;
	g->base = base;
	wse_attn_halve(g, i, WSE_ATTN_ALONE);
	again = wse_graph_place(g);
	return again ? again : ret;
}

/*
 * A graph that has found its places takes such a program where it fits, too. Forward the bits are
 * the same; where backward is shared, the graph's parts say so.
 */
static int try_halves(struct wse_graph *g)
{
	const size_t n = sizeof(halves) / sizeof(*halves);

	for (uint32_t i = 0; i < g->nprograms; i++) {
		int ret = -E2BIG;

		for (size_t k = 0; k < n && ret == -E2BIG; k++)
			if (!strcmp(g->programs[i].file, halves[k].of) &&
			    wse_attn_halve(g, i, halves[k].shares))
				ret = try_program(g, i, &halves[k].is);
		if (ret && ret != -E2BIG)
			return ret;
	}
	return 0;
}

static void choose_programs(struct wse_graph *g)
{
	for (uint32_t i = 0; i < g->nprograms; i++) {
		struct wse_graph_program *p = &g->programs[i];
		enum wse_op_full want = wanted(g, i);

		for (size_t k = 0; k < sizeof(plain) / sizeof(*plain) && want; k++)
			if (!strcmp(p->file, plain[k].file)) {
				*p = programs[want][k];
				break;
			}
	}
	for (uint32_t i = 0; i < g->nprograms; i++)
		if (g->programs[i].end > g->base)
			g->base = g->programs[i].end;
}

/* values are numbered in the order in which operations make them */
static void cut(struct wse_graph *g)
{
	uint32_t n = 0;

	g->nops = g->nforward;
	for (uint32_t i = 0; i < g->nops; i++)
		for (int k = 0; k < WSE_OP_OUTS; k++)
			if (g->ops[i].out[k] != WSE_NO_VALUE && g->ops[i].out[k] >= n)
				n = g->ops[i].out[k] + 1;
	g->nvalues = n < g->nvalues ? n : g->nvalues;
}

int wse_ops_finish(struct wse_graph *g)
{
	int ret;

	if (g->forward)
		cut(g);
	choose_programs(g);
	for (uint32_t i = 0; i < g->nops; i++) {
		const struct wse_op *op = &g->ops[i];
		const struct wse_op_type *type = wse_op_type(op->kind);
		struct wse_unit *u;

		if (!type || !type->writes_grad || op->unit >= g->nunits)
			continue;
		u = &g->units[op->unit];
		if (u->grad_first == UINT32_MAX)
			u->grad_first = i;
		u->grad_last = i;
	}
	ret = wse_graph_finish(g, check, wse_kind_name);
	ret = ret ? ret : try_halves(g);
	return (ret && ret != -E2BIG) || g->forward ? ret : check_grads(g, ret);
}

int wse_check_value(const struct wse_graph *g, uint32_t value, enum wse_type type,
		    enum wse_shape shape, uint32_t rows, const char *what)
{
	static const char *const names[] = {"bf16", "binary32", "u16", "bytes", "u32"};
	static const char *const shapes[] = {"[rows][tokens]", "[rows][tokens], shared", "a vector",
					     "scratch"};
	const struct wse_value *v;

	if (value == WSE_NO_VALUE)
		return wse_fail(-EINVAL, "%s is missing", what);
	v = &g->values[value];
	if (v->type != type)
		return wse_fail(-EINVAL, "%s (value %u) is %s, not %s", what, value, names[v->type],
				names[type]);
	if (v->shape != shape)
		return wse_fail(-EINVAL, "%s (value %u) is %s, not %s", what, value,
				shapes[v->shape], shapes[shape]);
	if (v->rows != rows)
		return wse_fail(-EINVAL,
				"%s (value %u) has %u features a column where %u are needed", what,
				value, v->rows, rows);
	return 0;
}
