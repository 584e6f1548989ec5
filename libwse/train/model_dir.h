/* SPDX-License-Identifier: MIT */
/* The directory of a run: one run at a time writes there, and which checkpoints are in it. */
#ifndef WSE_TRAIN_MODEL_DIR_H
#define WSE_TRAIN_MODEL_DIR_H

#include "exec/exec.h"
#include "input/config.h"

#define WSE_MODEL_DIR_PATH (WSE_PATH + 64) /* of a file in it */

/*
 * It is made if it is not there, and *lock, a file descriptor, keeps other runs out until it is
 * closed. -EALREADY while another run has it, -errno; *lock may be open then, or is -1
 */
int wse_model_dir_open(const char *dir, const struct wse_exec_cfg *log, int *lock);
/* the checkpoint of the highest step below `below`; path [WSE_MODEL_DIR_PATH] "": there is none */
void wse_model_dir_last(const char *dir, unsigned long long below, char *path);
/*
 * Checkpoints by names or patterns of glob(7), one a line, each line's in the order of numbers in
 * their names; "": all of dir, by step. *paths [*n] and its texts are freed with
 * wse_model_dir_free(). -ENOENT: a line has none
 */
int wse_model_dir_find(const char *dir, const char *patterns, char ***paths, uint32_t *n);
void wse_model_dir_free(char **paths, uint32_t n);
int wse_model_dir_is_file(const char *checkpoint); /* not a folder, FIFO or the like */
/*
 * A run that begins with the checkpoint `from` (NULL, "": with none) is to write there: -EEXIST
 * when another one is the last, or the run takes not the whole of it, as the next "auto" would
 */
int wse_model_dir_check(const char *dir, const char *from, int whole);
/*
 * The last checkpoint is damaged, as the sentence says: err, and the sentence adds which one before
 * it is good. The choice is the user's
 */
int wse_model_dir_damaged(const char *dir, const char *checkpoint, int err);
/* the last n checkpoints up to this step stay, 0: all. The log has the errors: no run ends there */
void wse_model_dir_keep(const char *dir, uint64_t step, uint64_t n,
			const struct wse_exec_cfg *log);

#endif
