/* SPDX-License-Identifier: MIT */
/*
 * A parameter file in the Model Zoo's trainer form, as the trainer needs it. Every key must be
 * known: each that is unknown, missing, mistyped or contradictory is a fault with its line.
 */
#ifndef WSE_TRAIN_CONFIG_H
#define WSE_TRAIN_CONFIG_H

#include "data.h"
#include "faults.h"
#include "memx/ckpt.h"

#define WSE_PATH 1024
#define WSE_PROMPT 4096
#define WSE_PROMPTS_ROOM (32 << 10) /* of several */
#define WSE_VAL_NAME	 41 /* with its NUL */

/* a held-out set: an evaluation goes over all of a run */
struct wse_config_val {
	char name[WSE_VAL_NAME]; /* "" of the only one; else "validate_0", ... or the file's */
	char data[WSE_PATH];	 /* data_dir, "" if it is cut out of the text */
	uint64_t held_out;	 /* held_out_bytes */
	uint64_t batch;		 /* samples, for eval_steps; 0: that of training */
};

/* a run that names no checkpoint: begins anew and evaluates the last; takes the last; takes none */
enum wse_autoload { WSE_AUTOLOAD_EVAL, WSE_AUTOLOAD_ALWAYS, WSE_AUTOLOAD_NEVER };

struct wse_config {
	struct wse_model model;
	struct wse_optim_cfg optim;
	struct wse_sched_list sched;
	struct wse_sparsity sparsity;	/* n 0: all weights are there */
	double max_norm;		/* precision.max_gradient_norm, 0: off */
	uint64_t seed;			/* trainer.init.seed */
	uint64_t max_steps;		/* loop.max_steps */
	uint64_t eval_frequency;	/* steps between evaluations; 0: only at the end */
	uint64_t eval_steps;		/* batches of an evaluation; 0: all held-out samples */
	uint64_t checkpoint_steps;	/* 0: only at the end */
	int save_initial;		/* a checkpoint of step 0, too */
	uint64_t max_shard;		/* bytes of a file of model_dir/model; 0: none is written */
	int shard_all;			/* checkpoint.shard_checkpoint_states: moments, too */
	enum wse_ckpt_load load_states;	/* checkpoint.load_checkpoint_states */
	enum wse_autoload autoload;	/* checkpoint.autoload_last_checkpoint */
	uint64_t log_steps;
	uint64_t memory_limit;		/* bytes; 0: none */
	uint32_t num_wse;		/* backend.cluster_config.num_csx */
	/* backend.image_order: 1: dense images lie as they are sent, 0: by rows; of training */
	int linear;
	char model_dir[WSE_PATH];
	char data[WSE_PATH];		/* fit.train_dataloader.data_dir */
	char tokenizer[WSE_PATH];	/* fit.train_dataloader.tokenizer, "" if none */
	/* [nval] of fit.val_dataloader, or of validate or validate_all; 1 or more */
	struct wse_config_val val[WSE_VAL_SETS];
	uint32_t nval;
	/*
	 * ckpt_path of fit or validate, "" if none; ckpt_paths of validate_all: patterns, one a
	 * line, "": all of model_dir
	 */
	char ckpt[4 * WSE_PATH];
	uint64_t batch, micro_batch;	/* samples; micro_batch 0: auto */
	/*
	 * of a sample's loss, the sum over its tokens (loss_scaling batch_size); 0: the mean over
	 * all tokens that count (num_tokens)
	 */
	double loss_weight;
	int shuffle;
	uint64_t shuffle_seed;
	uint64_t sample_tokens;		/* trainer.init.sampling: tokens to make */
	double sample_temperature;	/* 0: the most likely one */
	uint32_t sample_top_k;		/* 0: all */
	double sample_top_p;		/* 1: all */
	uint64_t sample_seed;		/* "seed", else that of the run */
	uint32_t samples;		/* 0: two after training, one for generate */
	char sample_prompt[WSE_PROMPT];	/* bytes as they are, and a NUL behind them */
	size_t sample_prompt_len;
	/* several, of which that is the first: one behind the other with a NUL each; 0: one */
	uint32_t nprompts;
	char prompts[WSE_PROMPTS_ROOM];
	size_t prompt_len[WSE_PROMPTS];
	/* callbacks and loggers: 0 and "" if they are not there */
	uint64_t keep_checkpoints;	/* KeepNCheckpoints: the last n stay */
	int count_params, log_flops;	/* CountParams, FlopUtilization: a line each */
	int log_norms;			/* ComputeNorm: of parameters and of layers' gradients */
	/* TensorBoardLogger: folder, in model_dir unless absolute */
	char tensorboard[WSE_PATH];
	char ignored[512];		/* keys that make no difference here, ", " between */
	/* to evaluate and to generate: nothing is trained; 2: for WSE_MODE_EVAL_ALL */
	int forward;
	/* of a plan: what training would need and is not available */
	char unneeded[512];
};

struct wse_config_source {
	const char *name, *text;	/* of the file, the name for messages; text [size] */
	size_t size;
	const char *const *sets;	/* [nsets] "key.path=value", where a path may leave out */
	uint32_t nsets;			/* "trainer.init." or "trainer.fit." */
	const char *data, *model_dir, *tokenizer;	/* instead of the file's, or NULL */
	const char *prompt;		/* likewise, bytes kept as they are */
	size_t prompt_len;		/* 0: up to the first NUL */
	const struct wse_prompt *prompts;	/* several, up to one with text NULL; or NULL */
	/*
	 * nothing is read or trained: sections that would be refused for that are named in unneeded
	 */
	int plan;
	int forward;	/* 1: held-out sets are those of validate, if there; 2: of validate_all */
};

/* -EINVAL when there are faults: all of them, in the order of lines; the first is the sentence */
int wse_config_read(const struct wse_config_source *src, struct wse_config *cfg,
		    struct wse_faults *faults);
/* the same for a file; name, text and size of src are set here */
int wse_config_read_file(const char *path, struct wse_config_source *src, struct wse_config *cfg,
			 struct wse_faults *faults);
/* the same without the list */
int wse_config_parse(const char *name, const char *text, size_t size, const char *const *sets,
		     uint32_t nsets, struct wse_config *cfg);
int wse_config_load(const char *path, const char *const *sets, uint32_t nsets,
		    struct wse_config *cfg);

#endif
