/* SPDX-License-Identifier: MIT */
/* --check: was a run what it says? Steps are made again and their hashes compared. */
#ifndef WSE_TRAIN_CHECK_H
#define WSE_TRAIN_CHECK_H

#include "train/loop.h"

/*
 * On a session that has done no step. run->checkpoint is a checkpoint of the run in question, in
 * its folder, beside which metrics.csv and the checkpoint of step run->check_from lie; steps
 * check_from + 1 ... check_to are made again. Nothing is written. ops: line, progress and stop are
 * used.
 *
 * 0		they are what the run says, which a line of the log says
 * -EILSEQ	they are not: the sentence names the first step that differs, or what was edited
 * -EINVAL	it is another run than the parameters', or it began elsewhere
 * -ENODATA	there is no hash, or no checkpoint, of these steps
 * -EINTR	stop() said so
 */
int wse_check_run(struct wse_session *s, const struct wse_run *run, const struct wse_run_ops *ops);

#endif
