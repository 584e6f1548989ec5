/* SPDX-License-Identifier: MIT */
/*
 * A session: the devices, MemoryX, the text and the buffers between them. It knows how to do one
 * training step, one evaluation and one piece of generated text; when to do which is loop.c's.
 */
#ifndef WSE_TRAIN_SESSION_H
#define WSE_TRAIN_SESSION_H

#include "memx/ckpt.h"
#include "input/config.h"
#include "input/data.h"
#include "exec/exec.h"
#include "memx/memx.h"
#include "model/plan.h"
#include "swarmx/swarmx.h"
#include "train/slots.h"

struct wse_ranks;

struct wse_session {
	struct wse_config cfg;
	struct wse_exec_cfg log;
	struct wse_tile tile;		/* of every device: shapes are not mixed */
	int by_rows;	      /* a device has no LINEAR streams */
	struct wse_plan plan;
	struct wse_swarm *swarm;
	struct wse_memx *memx;
	struct wse_data data;
	/* the tokenizer, NULL: tokens are bytes, or a file of them */
	struct wse_bpe *bpe;
	const struct wse_tensor_table *table;	/* of the parameters: MemoryX has them */
	struct wse_train_state state;
	struct wse_slots io;		/* micro-batches, and what comes of them */
	int scattered;			/* the gradients of the inputs were added to io.sums */
	int squared;			/* the squares of the gradients went to all ranks */
	const uint16_t **samples;	/* [batch] the first target of each sample of the step */
	/* while a step is on samples of the caller's: they, their mask, which may be NULL */
	const uint16_t *own_samples;
	const uint8_t *own_mask;
	/* texts are made without a past: for tests, and to compare */
	int whole_window;
	uint64_t rows_made;		/* starts of a row of cores with a past */
	int torn;			/* a load ended half way: the weights are no step's */
	struct wse_ranks *ranks;	/* ranks.h; NULL: this process is alone */
	struct wse_profile *profile;	/* profile.h; NULL: none is made */
	struct wse_live *live;		/* live.h; NULL: no socket */
};

/* uris [n]; data is not opened when cfg->data is "". */
int wse_session_open(struct wse_session *s, const struct wse_config *cfg, const char *const *uris,
		     uint32_t n, const struct wse_exec_cfg *log);
/* one that will join others (ranks.h): with this rank's part of the weights. ranks 0: alone */
int wse_session_open_part(struct wse_session *s, const struct wse_config *cfg,
			  const char *const *uris, uint32_t n, const struct wse_exec_cfg *log,
			  uint32_t rank, uint32_t ranks);
void wse_session_close(struct wse_session *s);

/* what of it MemoryX and checkpoints know */
struct wse_memx_cfg wse_session_memx_cfg(const struct wse_config *cfg);

/* before there is one: is a checkpoint of this model, and its tokenizer (wse_ckpt_fits())? */
int wse_session_fits(const struct wse_config *cfg, const char *path, enum wse_ckpt_load what);

/*
 * another device, ready for the model: of the same tile shape, or with other columns but enough of
 * them
 */
int wse_session_device(struct wse_session *s, const char *uri, struct wse_exec **exec);
/*
 * wse_session_open(): devices uris [n] of one tile shape, the model planned on it, and the swarm of
 * them. -EINVAL, -errno of a device
 */
int wse_session_open_devices(struct wse_session *s, const char *const *uris, uint32_t n);

/* a step's images, where they come and go: they are taken unit by unit */
void wse_session_images(struct wse_session *s, struct wse_swarm_step *step);

struct wse_st_progress;
int wse_session_save(struct wse_session *s, const char *path,
		     const struct wse_st_progress *progress); /* may be NULL */
/* what is odd but no error is logged */
int wse_session_load(struct wse_session *s, const char *path, enum wse_ckpt_load what);
const struct wse_tensor_table *wse_session_table(struct wse_session *s);
uint64_t wse_session_step(struct wse_session *s);	/* committed steps */
uint32_t wse_session_devices(struct wse_session *s);	/* that are alive, of all ranks */

/*
 * A step in three parts, so that --verify-steps can look at the gradients in between (before
 * check_grads): compute leaves outputs and the sums of the gradients; commit updates and moves the
 * data loader on.
 * -ERANGE: loss or gradient is not finite (the sentence names the layer), nothing is changed.
 */
int wse_session_compute(struct wse_session *s, struct wse_step_result *r);
/*
 * the same on samples of the caller's, [batch][window + span], with a mask [batch][span] or NULL;
 * stay until the commit
 */
int wse_session_compute_on(struct wse_session *s, const uint16_t *samples, const uint8_t *mask,
			   struct wse_step_result *r);
/* the mean loss of such samples, forward alone */
int wse_session_loss_on(struct wse_session *s, const uint16_t *samples, const uint8_t *mask,
			double *loss);
/* they are the caller's again */
void wse_session_own_end(struct wse_session *s);
/* [span] of a sample of the step: its targets that count are not 0; NULL: all count */
const uint8_t *wse_session_mask(const struct wse_session *s, const uint16_t *sample);
int wse_session_commit(struct wse_session *s, struct wse_step_result *r);
/*
 * What the chain says of the batch of a step (1 ...), text [WSE_CHAIN_BATCH]; of samples of the
 * caller's: of those that are being trained on
 */
void wse_session_batch(const struct wse_session *s, uint64_t step, char *text);
/* the norm of all parameters, as they are now; of several ranks made by all together */
int wse_session_param_norm(struct wse_session *s, double *norm);
/* between the two: -ERANGE when a gradient is not finite; commit would say so */
int wse_session_check_grads(struct wse_session *s);
/* -EINVAL: it has no optimizer state; -ESTALE: a load that ended half way left torn weights */
int wse_session_check_trains(const struct wse_session *s);
int wse_session_check_whole(const struct wse_session *s);
/*
 * The gradients of what the host gathered. Once a step, and not before it is needed: until then
 * s->io.sums is what the devices made, which a replay compares.
 */
int wse_session_scatter(struct wse_session *s);

/*
 * Can training go on from here? A forward of the next step, -ERANGE when it is not finite; what a
 * checkpoint needs before it may be called good. On the host when no device is left to ask.
 */
int wse_session_probe(struct wse_session *s);
/*
 * Both: the forward runs while the file is written, which is in its place once the forward has
 * ended well. A sentence about the weights comes before one about the file
 */
int wse_session_save_probed(struct wse_session *s, const char *path,
			    const struct wse_st_progress *progress);

/* mean loss over the samples of held-out set `set`, at most max_batches batches of them (0: all);
 * -ERANGE when one is not finite. *samples is their number */
int wse_session_eval(struct wse_session *s, uint32_t set, uint64_t max_batches, double *loss,
		     uint64_t *samples);

/* continue the prompt in `streams` independent ways; text [streams][wse_session_text_room(s, n)] */
int wse_session_generate(struct wse_session *s, const struct wse_sampling *how, char *text);
/* bytes that n tokens may have, and a NUL */
size_t wse_session_text_room(const struct wse_session *s, uint64_t n);

#endif
