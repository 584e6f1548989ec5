// SPDX-License-Identifier: MIT
/*
 * The images of MemoryX, bf16 as devices stream them, by unit: in memory or in a file, written anew
 * after each update, and who waits for that. And what the host gathers inputs from.
 */
#include "memx/memx_inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "memx/choose.h"
#include "memx/image_file.h"
#include "num/num.h"

/* ---- opening ---- */

int wse_memx_open_images(struct wse_memx *mx)
{
	const uint32_t n = mx->g->nunits + 1;
	size_t whole = 64;

	for (uint32_t i = 0; i < mx->g->nunits; i++)
		if (wse_masks_alone(&mx->masks, i) && wse_unit_fwd_bytes(&mx->g->units[i]) > whole)
			whole = wse_unit_fwd_bytes(&mx->g->units[i]);

	mx->images.buf = calloc(n, sizeof(struct wse_shared_buf *));
	mx->images.unit = calloc(n, sizeof(*mx->images.unit));
	mx->images.early = calloc(n, 1);
	mx->images.ready = calloc(n, 1);
	mx->images.inputs = calloc(mx->tab.n, sizeof(*mx->images.inputs));
	mx->images.mirror = calloc(mx->tab.n, sizeof(*mx->images.mirror));
	mx->images.rows = calloc(mx->tab.n, sizeof(*mx->images.rows));
	if (!mx->images.buf || !mx->images.unit || !mx->images.early || !mx->images.ready ||
	    !mx->images.inputs || !mx->images.mirror || !mx->images.rows)
		return -ENOMEM;
	mx->images.whole = (struct wse_shared_buf){.ptr = wse_pages_alloc(whole), .size = whole};
	if (!mx->images.whole.ptr)
		return -ENOMEM;
	if (wse_memx_images_in_file(&mx->cfg)) {
		/* what inputs are gathered from stays where it is */
		for (uint32_t i = 0; i < mx->tab.n; i++)
			if (mx->tab.t[i].flags & WSE_TENSOR_INPUT &&
			    mx->map.home[i].unit != WSE_NO_UNIT)
				mx->images.early[mx->map.home[i].unit] = 1;
		return wse_image_file_open(mx->g, mx->images.early, &mx->masks, mx->cfg.image_room,
					   mx->cfg.dir, &mx->pool, mx->images.unit,
					   &mx->images.file);
	}
	for (uint32_t i = 0; i < mx->g->nunits; i++) {
		const struct wse_unit *u = &mx->g->units[i];
		int alone = wse_masks_alone(&mx->masks, i);
		size_t both = 2 * wse_unit_fwd_bytes(u), bytes = wse_unit_image_bytes(mx->g, u);
		int ret = mx->pool.alloc(mx->pool.ctx, alone ? bytes - both + 64 : bytes,
					 &mx->images.buf[i]);

		if (ret)
			return ret;
		mx->images.unit[i] = alone ? (struct wse_image){.vec = {mx->images.buf[i], 0}}
					   : wse_image_spans(mx->g, u, mx->images.buf[i]);
	}
	return 0;
}

void wse_memx_close_images(struct wse_memx *mx)
{
	wse_image_file_close(mx->images.file);
	for (uint32_t i = 0; mx->images.buf && i < mx->g->nunits; i++)
		if (mx->images.buf[i])
			mx->pool.free(mx->pool.ctx, mx->images.buf[i]);
	for (uint32_t i = 0; mx->images.mirror && i < mx->tab.n; i++)
		free(mx->images.mirror[i]);
	free(mx->images.whole.ptr);
	free(mx->images.buf);
	free(mx->images.unit);
	free(mx->images.early);
	free(mx->images.ready);
	free(mx->images.inputs);
	for (uint32_t i = 0; mx->images.rows && i < mx->tab.n; i++)
		free(mx->images.rows[i]);
	free(mx->images.rows);
	free(mx->images.mirror);
}

static int open_rows(struct wse_memx *mx, uint32_t tensor)
{
	size_t count = mx->tab.t[tensor].count;

	if (mx->cfg.model.family->leaf) {
		mx->images.rows[tensor] = wse_pages_alloc(count * sizeof(uint16_t));
		mx->images.inputs[tensor].bf16 = mx->images.rows[tensor];
		return mx->images.rows[tensor] ? 0 : -ENOMEM;
	}
	mx->images.mirror[tensor] = wse_pages_alloc(count * sizeof(float));
	mx->images.inputs[tensor].f32 = mx->images.mirror[tensor];
	return mx->images.mirror[tensor] ? 0 : -ENOMEM;
}

void wse_memx_show_piece(void *ctx, const struct wse_memx_piece *p, size_t from, size_t n,
			 const float *in)
{
	struct wse_memx *mx = ctx;
	uint16_t *rows = mx->images.rows[p->tensor];
	float *mirror = mx->images.mirror[p->tensor];

	for (size_t i = 0; rows && i < n; i++)
		rows[p->at + from + i] = wse_f32_to_bf16(in[i]);
	if (mirror)
		memcpy(mirror + p->at + from, in, n * sizeof(*in));
}

int wse_memx_share_inputs(struct wse_memx *mx)
{
	const struct wse_memx_pieces *l = &mx->map.pieces;
	uint32_t n = 0;

	for (uint32_t k = 0; k < l->first[0] && mx->map.ranks > 1; k++) {
		const struct wse_memx_piece *p = &l->p[k];
		uint32_t owner = wse_memx_piece_owner(k, mx->map.ranks);
		uint16_t *rows = mx->images.rows[p->tensor];
		float *mirror = mx->images.mirror[p->tensor];

		if (rows)
			mx->share.parts[n++] = (struct wse_memx_part){owner, rows + p->at,
								      p->count * sizeof(*rows)};
		if (mirror)
			mx->share.parts[n++] = (struct wse_memx_part){owner, mirror + p->at,
								      p->count * sizeof(*mirror)};
	}
	return n ? mx->share.peers.spread(mx->share.peers.ctx, mx->share.parts, n) : 0;
}

/*
 * What inputs are gathered from: a tensor in no unit where it lies, or, of several ranks, from a
 * copy; a matrix of a unit from its image, or from a copy where the image has another order, or the
 * model wants binary32.
 */
int wse_memx_find_inputs(struct wse_memx *mx)
{
	for (uint32_t i = 0; i < mx->tab.n; i++) {
		const struct wse_home *h = &mx->map.home[i];
		float *array[WSE_MEMX_ARRAYS];
		int ret;

		if (!(mx->tab.t[i].flags & WSE_TENSOR_INPUT))
			continue;
		if (h->unit == WSE_NO_UNIT && mx->map.ranks > 1) {
			ret = open_rows(mx, i);
			if (ret)
				return ret;
			continue;
		}
		if (h->unit == WSE_NO_UNIT && wse_memx_images_alone(&mx->cfg)) {
			mx->images.inputs[i].bf16 =
				wse_store_image_rows(mx->map.store, mx->map.alone[i]);
			continue;
		}
		if (h->unit == WSE_NO_UNIT) {
			ret = wse_map_get(&mx->map, mx->map.alone[i], array);
			ret = ret ? ret : wse_map_put(&mx->map, mx->map.alone[i], 0);
			if (ret)
				return ret;
			mx->images.inputs[i].f32 = array[WSE_MEMX_P];
			continue;
		}
		mx->images.early[h->unit] = 1;
		if (mx->cfg.model.family->leaf && !h->which &&
		    wse_map_is_plain(&mx->g->units[h->unit])) {
			mx->images.inputs[i].bf16 = wse_span_ptr(mx->images.unit[h->unit].fwd);
			continue;
		}
		mx->images.mirror[i] = wse_pages_alloc(mx->tab.t[i].count * sizeof(float));
		if (!mx->images.mirror[i] ||
		    (mx->map.ranks > 1 && wse_share_whole(&mx->share, h->unit)))
			return -ENOMEM;
		mx->images.inputs[i].f32 = mx->images.mirror[i];
	}
	return 0;
}

/* ---- writing ---- */

static int done_writing(struct wse_memx *mx)
{
	uint32_t unit = mx->images.writing;

	mx->images.writing = WSE_NO_UNIT;
	return unit == WSE_NO_UNIT ? 0 : wse_image_file_end(mx->images.file, unit, mx->step, 1);
}

/* weights of another rank come: the image that they are rounded into is in memory until done() */
int wse_memx_want_image(void *ctx, uint32_t unit)
{
	struct wse_memx *mx = ctx;
	int ret = unit == mx->images.writing ? 0 : done_writing(mx);

	/* one that lies packed alone comes later, from its owners */
	if (ret || unit == mx->images.writing || wse_masks_alone(&mx->masks, unit))
		return ret;
	ret = wse_image_file_begin(mx->images.file, unit, 1);
	if (!ret)
		mx->images.writing = unit;
	return ret;
}

static int copy_mirror(struct wse_memx *mx, uint32_t unit)
{
	int ret = 0;

	for (uint32_t i = 0; i < mx->tab.n && !ret; i++)
		if (mx->images.mirror[i] && mx->map.home[i].unit == unit)
			ret = wse_map_copy(&mx->map, WSE_MEMX_P, i, 0, mx->tab.t[i].count,
					   mx->images.mirror[i], NULL);
	return ret;
}

void wse_memx_set_ready(struct wse_memx *mx, uint32_t unit, int ready)
{
	pthread_mutex_lock(&mx->images.lock);
	mx->images.ready[unit] = (unsigned char)ready;
	pthread_cond_broadcast(&mx->images.cond);
	pthread_mutex_unlock(&mx->images.lock);
}

/* an image that is kept packed alone has all its places while it is written; no transposed one */
static void begin_writing(struct wse_memx *mx, uint32_t unit)
{
	if (wse_masks_alone(&mx->masks, unit))
		mx->images.unit[unit].fwd = (struct wse_span){&mx->images.whole, 0};
}

static void end_writing(struct wse_memx *mx, uint32_t unit)
{
	if (wse_masks_alone(&mx->masks, unit))
		mx->images.unit[unit].fwd.buf = NULL;
}

/* a unit's images are written with all places: now those that are there */
static int pack(struct wse_memx *mx, uint32_t unit)
{
	struct wse_image *img = &mx->images.unit[unit];
	int ret = wse_masks_lay_out(&mx->masks, unit, img);

	if (!ret && mx->images.file)
		ret = wse_image_file_room(mx->images.file, unit);
	return ret ? ret : wse_masks_pack(&mx->masks, unit, img);
}

/*
 * Where what other ranks have of a unit's images comes from. They are kept from refresh to refresh
 * unless they lie packed alone: then what was loaded comes from its owners, and before ranks have
 * met nothing was
 */
static enum wse_memx_others others_of(const struct wse_memx *mx, uint32_t unit, int updating)
{
	int alone = wse_masks_alone(&mx->masks, unit);

	if (updating || (alone && mx->share.peers.spread))
		return WSE_OTHERS_SENT;
	return mx->initial || alone ? WSE_OTHERS_MADE : WSE_OTHERS_KEPT;
}

/* updating: first, what the commit has not updated; its gradient is used up then */
static int pass_unit(struct wse_memx *mx, uint32_t unit, int updating)
{
	enum wse_memx_others others = others_of(mx, unit, updating);
	int keep = mx->map.ranks > 1 && others == WSE_OTHERS_KEPT;
	int ret = mx->images.file ? wse_image_file_begin(mx->images.file, unit, keep) : 0, end;

	if (ret)
		return ret;
	begin_writing(mx, unit);
	if (!wse_memx_images_alone(&mx->cfg))
		ret = wse_memx_pass(mx, mx->map.pieces.first[unit], mx->map.pieces.first[unit + 1],
				    updating);
	if (!ret && mx->map.ranks > 1)
		ret = wse_memx_pass_others(mx, unit, others);
	if (!ret && mx->images.early[unit])
		ret = copy_mirror(mx, unit);
	if (!ret)
		ret = pack(mx, unit);
	end_writing(mx, unit);
	end = mx->images.file ? wse_image_file_end(mx->images.file, unit, mx->step, !ret) : 0;
	ret = ret ? ret : end;
	if (ret)
		return ret;
	if (updating && mx->grads.give)
		mx->grads.give(mx->grads.give_ctx, unit);
	wse_memx_set_ready(mx, unit, 1);
	return 0;
}

int wse_memx_pass_unit(struct wse_memx *mx, uint32_t unit, int updating)
{
	uint64_t begin = wse_spans_now(&mx->spans);
	int ret = pass_unit(mx, unit, updating);

	if (updating)
		wse_spans_end(&mx->spans, 0, unit, begin);
	return ret;
}

void wse_memx_spans(struct wse_memx *mx, const struct wse_spans *spans)
{
	mx->spans = *spans;
}

/* what has been written is of no use any more; a device that waits for an image learns of it */
int wse_memx_give_up(struct wse_memx *mx, int err)
{
	if (!err)
		return 0;
	pthread_mutex_lock(&mx->images.lock);
	mx->failed = err;
	pthread_cond_broadcast(&mx->images.cond);
	pthread_mutex_unlock(&mx->images.lock);
	return err;
}

/* images that lie packed alone: their owners send them, when all ranks have come so far */
static int is_sent(const struct wse_memx *mx, uint32_t unit)
{
	return mx->map.ranks > 1 && others_of(mx, unit, 0) == WSE_OTHERS_SENT;
}

int wse_memx_gather_images(struct wse_memx *mx)
{
	int ret = 0;

	if (!mx->images.due)
		return 0;
	mx->images.due = 0;
	mx->masks.moving = mx->masks.there;
	for (uint32_t i = 0; i < mx->g->nunits && !ret; i++)
		if (is_sent(mx, i))
			ret = wse_memx_pass_unit(mx, i, 0);
	mx->masks.moving = 0;
	return wse_memx_give_up(mx, ret);
}

int wse_memx_refresh(struct wse_memx *mx)
{
	int ret = done_writing(mx);

	mx->failed = 0;
	mx->pending = 0;
	mx->unset = 0;
	wse_masks_turn(&mx->masks);
	wse_masks_forget(&mx->masks);
	wse_masks_show(&mx->masks, mx->images.unit);
	wse_choose_dense_grads(&mx->masks, mx->step + 1, mx->images.unit);
	mx->masks.moving = mx->masks.there && !mx->cfg.forward;
	if (!ret && mx->map.ranks > 1) /* the others' are there */
		ret = wse_memx_pass(mx, 0, mx->map.pieces.first[0], 0);
	wse_map_ahead(&mx->map, mx->map.pieces.first[0], mx->map.pieces.n);
	for (uint32_t i = 0; i < mx->g->nunits && !ret; i++) {
		if (!is_sent(mx, i)) {
			ret = wse_memx_pass_unit(mx, i, 0);
			continue;
		}
		mx->images.due = 1;
		wse_memx_set_ready(mx, i, 0);
	}
	mx->masks.moving = 0;
	return wse_memx_give_up(mx, ret);
}

/* ---- taking ---- */

const struct wse_input *wse_memx_inputs(struct wse_memx *mx)
{
	return mx->images.inputs;
}

const struct wse_image *wse_memx_images(struct wse_memx *mx)
{
	return mx->images.unit;
}

int wse_memx_unit_ready(struct wse_memx *mx, uint32_t unit)
{
	int ret;

	pthread_mutex_lock(&mx->images.lock);
	while (!mx->images.ready[unit] && !mx->failed)
		pthread_cond_wait(&mx->images.cond, &mx->images.lock);
	ret = mx->failed ? -ECANCELED : 0;
	pthread_mutex_unlock(&mx->images.lock);
	return ret;
}

int wse_memx_images_move(const struct wse_memx *mx)
{
	return mx->images.file != NULL;
}

uint64_t wse_memx_image_reads(const struct wse_memx *mx)
{
	return mx->images.file ? wse_image_file_reads(mx->images.file) : 0;
}

uint64_t wse_memx_image_read_bytes(const struct wse_memx *mx)
{
	return mx->images.file ? wse_image_file_read_bytes(mx->images.file) : 0;
}

int wse_memx_unit_take(struct wse_memx *mx, uint32_t unit, enum wse_image_part part, int wait)
{
	int ready, ret;

	pthread_mutex_lock(&mx->images.lock);
	ready = mx->images.ready[unit] || mx->failed;
	pthread_mutex_unlock(&mx->images.lock);
	if (!ready && !wait)
		return -EAGAIN;
	ret = wse_memx_unit_ready(mx, unit);
	return ret || !mx->images.file ? ret
				       : wse_image_file_take(mx->images.file, unit, part, wait);
}

void wse_memx_unit_done(struct wse_memx *mx, uint32_t unit, enum wse_image_part part)
{
	if (mx->images.file)
		wse_image_file_done(mx->images.file, unit, part);
}
