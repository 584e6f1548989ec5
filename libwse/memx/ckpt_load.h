/* SPDX-License-Identifier: MIT */
/*
 * What of a checkpoint must match a run that takes it, shared by the files that read one:
 * ckpt_match.c compares what it says, ckpt_masks.c its masks, ckpt_load.c its tensors.
 */
#ifndef WSE_MEMX_CKPT_LOAD_H
#define WSE_MEMX_CKPT_LOAD_H

#include "ckpt.h"
#include "ckpt_arrays.h"
#include "facts.h"
#include "st_load.h"

/* a file, and the run that is to take it */
struct wse_ckpt_match {
	const struct wse_st_file *file;
	const char *path;
	const struct wse_facts *run;
	const struct wse_train_state *ts;
	enum wse_ckpt_load what;
	int look;   /* the file is another run's: nothing goes on from it */
	int sparse; /* the run has masks */
	char *changed; /* [WSE_CHANGED]: what is odd about it, all the same */
};

/* does the whole state count, or the parameters alone? */
static inline int wse_ckpt_takes_all(enum wse_ckpt_load what)
{
	return what == WSE_CKPT_ALL || what == WSE_CKPT_RATES_NEW;
}

/* what a checkpoint says besides its tensors and the run's facts */
struct wse_ckpt_place {
	uint64_t step, beta1_pow, beta2_pow, epoch, position, own;
	const char *chain, *start; /* NULL: it has none */
	int masks;		   /* it has some */
};

/* what a file's metadata has under a key; NULL: nothing */
const char *wse_ckpt_get(const struct wse_st_file *st, const char *key);
/* may the model be taken? -EINVAL */
int wse_ckpt_check_model(const struct wse_ckpt_match *m);
/* may the run go on? -EINVAL */
int wse_ckpt_check_run(const struct wse_ckpt_match *m);
/* the numbers of its state: all of *at but step and chain. -EBADMSG */
int wse_ckpt_read_state(const struct wse_ckpt_match *m, struct wse_ckpt_place *at);
/* step and chain, where they count, and whether the place in the text is that step's. -EBADMSG */
int wse_ckpt_read_step(const struct wse_ckpt_match *m, struct wse_ckpt_place *at);
/*
 * The masks of a file into takes [*n ...], none if there are none and `what` does not need them; to
 * a dense run none matters, nor to weights alone in a run that has a mask_file. -EINVAL, -EBADMSG
 */
int wse_ckpt_find_masks(const struct wse_st_file *file, const struct wse_ckpt_arrays *a,
			enum wse_ckpt_load what, struct wse_st_take *takes, uint32_t *n);

#endif
