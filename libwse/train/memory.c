// SPDX-License-Identifier: MIT
/* What memory of the host a run takes. */
#include "train/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pages.h"
#include "graph/mask.h"
#include "memx/ckpt_hash.h"
#include "memx/grad_file.h"
#include "memx/image_file.h"
#include "memx/st_place.h"
#include "memx/store.h"
#include "swarmx/exchange.h"
#include "swarmx/swarmx.h"

/* measured: libraries, programs, threads and their stacks, the hash; the text is not in it */
#define PROCESS (10ull << 20)
/*
 * measured: a core of the twin with its SRAM; what one that has work takes besides, and what it
 * keeps of each byte of its program, decoded
 */
#define TWIN_CORE    (62ull << 10)
#define TWIN_WORK    (10ull << 10)
#define TWIN_PROGRAM 2.2

/*
 * buffers of a unit's gradient that one device has at most: a tree of n leaves that come in order
 */
static uint64_t buffers(uint64_t n)
{
	uint64_t log = 0;

	while (2ull << log <= n)
		log++;
	return 1 + log;
}

/* what the exchange of a step takes, and who reads or serves a checkpoint */
static uint64_t exchange(const struct wse_plan *plan, const struct wse_memx_pieces *pieces,
			 uint32_t ranks)
{
	struct wse_part parts[WSE_REDUCE_PARTS];
	uint64_t m = plan->micro_batches;
	uint32_t n = 0;

	for (uint32_t r = 0; r < ranks; r++)
		n += wse_reduce_parts(plan->micro_batches, (uint32_t)(r * m / ranks),
				      (uint32_t)((r + 1) * m / ranks), parts);
	return wse_exchange_memory(pieces, n) + pieces->longest * sizeof(float);
}

/* a tensor as a checkpoint has it */
static struct wse_st_tensor in_ckpt(const struct wse_tensor *t)
{
	return (struct wse_st_tensor){.dim = {t->dim[1], t->dim[0]},
				      .count = t->count,
				      .transposed = (t->flags & WSE_TENSOR_TRANSPOSED) != 0};
}

/* what a checkpoint takes of state in memory, besides its hash */
static uint64_t near(const struct wse_tensor_table *tab)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < tab->n; i++) {
		struct wse_st_tensor t = in_ckpt(&tab->t[i]);
		uint64_t n = wse_st_write_memory(&t);

		most = n > most ? n : most;
	}
	return most;
}

/* what a checkpoint takes that is written or read in the order of the pieces: ckpt_order.h */
static uint64_t far(const struct wse_tensor_table *tab, const struct wse_memx_pieces *pieces)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < tab->n; i++) {
		struct wse_st_tensor t = in_ckpt(&tab->t[i]);
		const struct wse_st st = {.ntensors = 1, .tensors = &t};
		uint64_t n = wse_st_places_memory(&st);

		most = n > most ? n : most;
	}
	return most + pieces->longest * sizeof(float);
}

/* is a unit's matrix what inputs are gathered from? */
static int is_input(const struct wse_graph *g, const struct wse_tensor_table *tab, uint32_t unit)
{
	uint32_t t = g->units[unit].weight;

	return t != WSE_NO_TENSOR && tab->t[t].flags & WSE_TENSOR_INPUT;
}

/* the unit whose gradient the host adds to before it is a leaf, as slots.c has it */
static uint32_t parked_unit(const struct wse_config *cfg, const struct wse_graph *g,
			    const struct wse_tensor_table *tab)
{
	for (uint32_t i = 0; i < g->nunits && cfg->model.family->leaf; i++)
		if (is_input(g, tab, i))
			return i;
	return WSE_NO_UNIT;
}

/* what of images is in memory when they are in a file; without memory: no less */
static void images_in_file(const struct wse_graph *g, const struct wse_tensor_table *tab,
			   uint32_t devices, struct wse_memory *m)
{
	unsigned char *stays = calloc(g->nunits + 1ul, 1);

	m->images_file = m->images;
	for (uint32_t i = 0; i < g->nunits && stays; i++)
		stays[i] = (unsigned char)is_input(g, tab, i);
	if (stays)
		m->images_file =
			wse_image_file_memory(g, stays, devices, &m->image_room, &m->images_disk);
	free(stays);
}

/* places that a unit's gradient has in the file, and the subtrees that a rank's range leaves */
static void places(uint32_t micro_batches, uint32_t devices, uint32_t ranks, struct wse_memory *m,
		   uint32_t *parts)
{
	struct wse_part part[WSE_REDUCE_PARTS];
	uint64_t n = micro_batches;

	m->places = 1; /* of a rank without a micro-batch: for its pieces of the sum */
	*parts = 0;
	for (uint64_t r = 0; r < ranks; r++) {
		uint32_t first = (uint32_t)(r * n / ranks), end = (uint32_t)((r + 1) * n / ranks);
		uint32_t waits = wse_reduce_waiting(micro_batches, first, end, devices);
		uint32_t left = wse_reduce_parts(micro_batches, first, end, part);

		m->places = waits > m->places ? waits : m->places;
		*parts = left > *parts ? left : *parts;
	}
}

/*
 * gradients of tensors in no unit: the rows that a step reads, of the last step, of this one and
 * while two are added
 */
static uint64_t rows(const struct wse_plan *plan, const struct wse_tensor_table *tab,
		     const struct wse_memx_pieces *pieces)
{
	uint64_t tokens = (uint64_t)plan->micro_batches * plan->tokens, sum = 0;
	uint32_t last = WSE_NO_TENSOR;

	for (uint32_t i = 0; i < pieces->first[0]; i++) {
		const struct wse_tensor *t = &tab->t[pieces->p[i].tensor];
		uint64_t n = t->dim[0] < tokens ? t->dim[0] : tokens;

		if (pieces->p[i].tensor != last && t->flags & WSE_TENSOR_INPUT)
			sum += 3 * n * (t->dim[1] + 1ull) * sizeof(float);
		last = pieces->p[i].tensor;
	}
	return sum;
}

int wse_memory_packs_grads(const struct wse_config *cfg, const struct wse_graph *g,
			   const struct wse_tensor_table *tab, uint32_t unit)
{
	for (uint32_t i = 0; i < cfg->sparsity.n; i++)
		if (cfg->sparsity.g[i].algorithm == WSE_SPARSE_RIGL)
			return 0;
	return g->units[unit].density > 0.0 && !g->tile.no_linear && !is_input(g, tab, unit);
}

/* of a unit's gradient */
static uint64_t grad_bytes(const struct wse_config *cfg, const struct wse_graph *g,
			   const struct wse_tensor_table *tab, uint32_t unit)
{
	const struct wse_unit *u = &g->units[unit];
	uint64_t n = wse_unit_grad_floats(g, u);

	if (wse_memory_packs_grads(cfg, g, tab, unit))
		n = wse_masks_packed(g, u) + (uint64_t)u->vec_rows * g->tile.cols;
	return n * sizeof(float);
}

/* what of gradients is in memory when they are in a file */
static int grads_in_file(const struct wse_config *cfg, const struct wse_plan *plan,
			 const struct wse_tensor_table *tab, const struct wse_memx_pieces *pieces,
			 uint32_t devices, uint32_t ranks, struct wse_memory *m)
{
	const struct wse_graph *g = &plan->graph;
	uint32_t mine = (plan->micro_batches + ranks - 1) / ranks, parts;
	uint32_t parked = parked_unit(cfg, g, tab);
	double *density = calloc(g->nunits + 1ul, sizeof(*density)), most = 0.0;
	uint64_t *bytes = calloc(g->nunits + 1ul, sizeof(*bytes)), rest;

	if (!density || !bytes) {
		free(density);
		free(bytes);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < g->nunits; i++) {
		bytes[i] = grad_bytes(cfg, g, tab, i);
		if (wse_memory_packs_grads(cfg, g, tab, i))
			density[i] = g->units[i].density;
		most = density[i] > most ? density[i] : most;
	}
	places(plan->micro_batches, devices, ranks, m, &parts);
	/* packed rows of a piece are in memory while they are spread out */
	rest = wse_grad_file_memory(pieces, m->places, density, &m->grads_disk) +
	       (uint64_t)(most * (double)pieces->longest) * sizeof(float) +
	       wse_exchange_file_memory(pieces, ranks, parts) + pieces->longest * sizeof(float);
	for (uint32_t i = 0; i < g->nunits && !cfg->model.family->leaf; i++)
		if (is_input(g, tab, i))
			rest += wse_unit_grad_floats(g, &g->units[i]) * sizeof(float);
	rest += rows(plan, tab, pieces);
	m->made_file = wse_swarm_grad_bytes(g, bytes, devices, mine, parked, 0);
	m->made_take = wse_swarm_grad_bytes(g, bytes, devices, mine, parked, 1);
	m->grads_file = rest + m->made_file;
	m->grads_take = rest + m->made_take;
	free(density);
	free(bytes);
	return 0;
}

/* parameters and moments in memory; a sparse run packs those of masked matrices */
static int state_in_memory(const struct wse_graph *g, const struct wse_memx_pieces *kept,
			   const struct wse_tensor_table *tab, uint32_t arrays, uint32_t ranks,
			   struct wse_memory *m)
{
	double *density = calloc(g->nunits + 1ul, sizeof(*density));
	int masked = 0;

	if (!density)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->nunits; i++) {
		density[i] = g->units[i].density > 0.0 ? g->units[i].density : 0.0;
		masked |= density[i] > 0.0;
	}
	m->state = wse_store_packed_memory(kept, arrays, density);
	if (!masked)
		m->state = arrays * wse_pages_bytes(m->state / arrays);
	m->saved = WSE_CKPT_BEHIND;
	if (masked)
		m->state += far(tab, kept);
	else
		m->saved += ranks > 1 ? far(tab, kept) : near(tab); /* wse_memx_is_far() */
	free(density);
	return 0;
}

/* and of those that lie in a file */
static int state_in_file(const struct wse_graph *g, const struct wse_memx_pieces *kept,
			 uint32_t arrays, struct wse_memory *m)
{
	double *density = calloc(g->nunits + 1ul, sizeof(*density));

	if (!density)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->nunits; i++)
		density[i] = g->units[i].density;
	m->state_file = wse_store_file_memory(kept, arrays, density, &m->disk) + m->far;
	free(density);
	return 0;
}

/* do images of a unit lie packed alone? */
static int is_alone(const struct wse_graph *g, const struct wse_tensor_table *tab, uint32_t unit)
{
	return wse_unit_packs(&g->units[unit]) && !g->forward && !g->tile.no_linear &&
	       !is_input(g, tab, unit);
}

/*
 * of those one is written at a time, and has all its places then, of the transposed one a strip
 */
static uint64_t written_whole(const struct wse_graph *g, const struct wse_tensor_table *tab)
{
	uint64_t most = 0, strip = 0;

	for (uint32_t i = 0; i < g->nunits; i++) {
		const struct wse_unit *u = &g->units[i];
		uint64_t fwd = wse_unit_fwd_bytes(u);

		if (!is_alone(g, tab, i))
			continue;
		most = fwd > most ? fwd : most;
		strip = u->outs > strip ? u->outs : strip;
	}
	return most + strip * WSE_PACKED_STRIP * sizeof(uint16_t);
}

/* images in memory, but for what lies packed: of its units one is written at a time */
static uint64_t images_of(const struct wse_graph *g, const struct wse_tensor_table *tab)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < g->nunits; i++) {
		const struct wse_unit *u = &g->units[i];
		uint64_t fwd = wse_unit_fwd_bytes(u);
		int alone = is_alone(g, tab, i);

		sum += wse_unit_image_bytes(g, u) - (alone ? 2 * fwd : 0);
	}
	return sum + written_whole(g, tab);
}

/* of several ranks: the weights of a unit that are sent without those that are not there */
static uint64_t sent_packed(const struct wse_graph *g, const struct wse_tensor_table *tab)
{
	uint64_t most = 0, n;

	for (uint32_t i = 0; i < g->nunits; i++) {
		const struct wse_unit *u = &g->units[i];

		if (u->density <= 0.0 || is_input(g, tab, i))
			continue;
		n = (uint64_t)(u->density * (double)u->outs * u->ins) * sizeof(uint16_t);
		most = n > most ? n : most;
	}
	return most;
}

/* masks and, of LINEAR streams, the values of both images */
static uint64_t masks_of(const struct wse_graph *g, const struct wse_unit *u, int images)
{
	uint64_t ways = g->forward ? 1 : 2, bits = 0, values = 0;

	for (uint32_t back = 0; u->density > 0.0 && back < ways; back++) {
		struct wse_mask_shape m = wse_mask_shape(g, u, (int)back);

		bits += wse_mask_bytes(&m);
	}
	if (images && wse_unit_packs(u) && !g->tile.no_linear)
		values = ways * wse_masks_packed(g, u) * sizeof(uint16_t);
	return bits + values;
}

int wse_memory_of(const struct wse_config *cfg, const struct wse_plan *plan, const char *uri,
		  uint32_t devices, uint32_t ranks, struct wse_memory *m)
{
	const struct wse_graph *g = &plan->graph;
	int forward = cfg->forward || g->forward;
	uint32_t arrays = forward ? 1 : wse_optim_arrays(&cfg->optim);
	uint32_t all = devices * ranks;
	uint64_t per = (plan->micro_batches + all - 1) / all, io = 0, most = 0, slots;
	uint32_t mine = (plan->micro_batches + ranks - 1) / ranks;
	struct wse_memx_pieces pieces = {0}, kept;
	struct wse_tensor_table tab = {0};
	uint32_t *slot = NULL;
	int ret = cfg->model.family->tensors(&cfg->model, &tab);

	memset(m, 0, sizeof(*m));
	ret = ret ? ret : wse_memx_pieces_make(g, &tab, &pieces);
	if (!ret) {
		slot = calloc(pieces.n + 1ul, sizeof(*slot));
		ret = slot ? wse_memx_pieces_deal(&pieces, g->nunits, 0, forward ? 1 : ranks, &kept,
						  slot)
			   : -ENOMEM;
		free(slot);
	}
	if (ret) {
		wse_memx_pieces_fini(&pieces);
		wse_tensor_table_fini(&tab);
		return wse_fail(ret, "%s", strerror(-ret));
	}
	m->images = images_of(g, &tab);
	for (uint32_t i = 0; i < g->nunits; i++) {
		m->grads += grad_bytes(cfg, g, &tab, i) * (devices < mine ? devices : mine) *
			    buffers(per);
	}
	images_in_file(g, &tab, devices, m);
	m->images_file += written_whole(g, &tab);
	for (uint32_t i = 0; i < g->nunits; i++) {
		m->images += masks_of(g, &g->units[i], 1);
		m->images_file += masks_of(g, &g->units[i], 0);
	}
	ret = grads_in_file(cfg, plan, &tab, &pieces, devices, ranks, m);
	for (uint32_t i = 0; i < pieces.first[0]; i++) {
		/* of several ranks, what inputs are gathered from: wse_memx_find_inputs() */
		if (ranks > 1 && !forward && tab.t[pieces.p[i].tensor].flags & WSE_TENSOR_INPUT)
			m->exchange += pieces.p[i].count * (cfg->model.family->leaf ? 2 : 4);
		most = pieces.p[i].count > most ? pieces.p[i].count : most;
	}
	if (cfg->sparsity.n)
		most = pieces.longest;
	m->grads += rows(plan, &tab, &pieces) + most * sizeof(float); /* one piece is whole */
	if (forward) { /* the images are all there is of the weights: they are in memory */
		m->grads = m->grads_file = m->grads_take = m->grads_disk = m->images_disk = 0;
		m->made_file = m->made_take = 0;
		m->images_file = m->images;
		m->image_room = 0;
		m->places = 0;
	}
	if (ranks > 1 && !forward)
		m->exchange += exchange(plan, &pieces, ranks) + sent_packed(g, &tab);
	ret = ret ? ret : state_in_memory(g, &kept, &tab, arrays, ranks, m);
	m->far = far(&tab, &pieces);
	ret = ret ? ret : state_in_file(g, &kept, arrays, m);
	if (forward && cfg->model.family->leaf) { /* the images are all there is */
		m->state = m->state_file = wse_store_image_memory(&pieces);
		m->disk = m->far = m->saved = 0;
	}
	for (uint32_t i = 0; i < g->nin; i++)
		io += g->in[i].bytes;
	for (uint32_t i = 0; i < g->nout; i++)
		io += i == g->logits ? 0 : g->out[i].bytes;
	slots = (per > 1 ? 2ull : 1ull) * devices;
	m->slots = slots * io + g->out[g->logits].bytes + plan->spilled * devices;
	/* what a model of one's own adds gradients to */
	for (uint32_t i = 0; i < tab.n && !cfg->model.family->leaf && !forward; i++)
		if (tab.t[i].flags & WSE_TENSOR_INPUT)
			m->slots += tab.t[i].count * sizeof(float);
	if (!strncmp(uri, "sim:func", 8))
		m->cores = (uint64_t)devices * g->tile.rows *
			   (plan->columns * TWIN_CORE +
			    g->tile.cols * (TWIN_WORK + (uint64_t)(TWIN_PROGRAM * g->base)));
	m->rest = PROCESS;
	wse_memx_pieces_fini(&kept);
	wse_memx_pieces_fini(&pieces);
	wse_tensor_table_fini(&tab);
	return ret ? wse_fail(ret, "%s", strerror(-ret)) : 0;
}

/* gradients in memory */
static uint64_t grads_with(const struct wse_memory *m, enum wse_memory_files files)
{
	return files >= WSE_FILES_IMAGES  ? m->grads_take
	       : files >= WSE_FILES_GRADS ? m->grads_file
					  : m->grads;
}

/* what is counted twice: a checkpoint comes when gradients in files are complete */
static uint64_t in_turn(const struct wse_memory *m, enum wse_memory_files files)
{
	uint64_t made = files >= WSE_FILES_IMAGES ? m->made_take : m->made_file;

	return files < WSE_FILES_GRADS ? 0 : made < m->far ? made : m->far;
}

uint64_t wse_memory_sum(const struct wse_memory *m, enum wse_memory_files files)
{
	return (files >= WSE_FILES_IMAGES ? m->images_file : m->images) + grads_with(m, files) +
	       (files >= WSE_FILES_STATE ? m->state_file : m->state + m->saved) -
	       in_turn(m, files) + m->slots + m->cores + m->exchange + m->rest;
}

uint64_t wse_memory_disk(const struct wse_memory *m, enum wse_memory_files files)
{
	return (files >= WSE_FILES_STATE ? m->disk : 0) +
	       (files >= WSE_FILES_GRADS ? m->grads_disk : 0) +
	       (files >= WSE_FILES_IMAGES ? m->images_disk : 0);
}

int wse_memory_file(const struct wse_memory *m, uint64_t limit)
{
	static const char *const with[] = {"", " with its weights in a file",
					   " with weights and gradients in files",
					   " with weights, gradients and images in files"};
	enum wse_memory_files best = WSE_FILES_NONE;
	uint64_t mb = 1000000, sum;

	if (!limit)
		return WSE_FILES_NONE;
	for (enum wse_memory_files f = WSE_FILES_NONE; f <= WSE_FILES_IMAGES; f++) {
		if (wse_memory_sum(m, f) <= limit)
			return (int)f;
		if (wse_memory_sum(m, f) < wse_memory_sum(m, best))
			best = f;
	}
	sum = wse_memory_sum(m, best);
	return wse_fail(
		-E2BIG,
		"memory_limit %llu MB: the run takes %llu MB%s (images %llu, gradients %llu): "
		"choose %llu or more",
		(unsigned long long)(limit / mb), (unsigned long long)((sum + mb - 1) / mb),
		with[best],
		(unsigned long long)((best >= WSE_FILES_IMAGES ? m->images_file : m->images) / mb),
		(unsigned long long)(grads_with(m, best) / mb),
		(unsigned long long)((sum + mb - 1) / mb));
}
