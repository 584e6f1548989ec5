/* SPDX-License-Identifier: MIT */
/*
 * Training. Parameters say what is trained, on which text, and how; they come from a file or from
 * C. A trainer is the devices, MemoryX (weights and optimizer in host memory, streamed to the
 * wafers layer by layer) and SwarmX (gradients of all devices added up), and does steps, or a whole
 * run.
 *
 * Results never depend on the number of devices, on threads or on time: the same parameters and the
 * same text give the same bits.
 *
 * One thread at a time may be in a call on an object: another one, or a callback, gets -EBUSY. A
 * handle that was destroyed, or is another kind of object, gives -EBADF. wse_error() says which.
 */
#ifndef WSE_WSE_TRAIN_H
#define WSE_WSE_TRAIN_H

#include <stddef.h>
#include <stdint.h>

#include <wse/model.h>

#pragma GCC visibility push(default) /* libwse.so exports what follows */
#ifdef __cplusplus
extern "C" {
#endif

struct wse_params;
struct wse_trainer;

enum wse_log_level { WSE_LOG_ERROR, WSE_LOG_WARN, WSE_LOG_INFO };

/* one line of text without the newline; may be called from any thread */
typedef void (*wse_log_fn)(void *ctx, enum wse_log_level level, const char *text);

/* ---- parameters ---- */

/* Empty: read a file into them or fill them in from C. */
int wse_params_create(struct wse_params **p);
int wse_params_destroy(struct wse_params *p);

/* What a text goes on from: bytes as they are. */
struct wse_prompt {
	const char *text;
	size_t len; /* 0: up to the first NUL */
};

#define WSE_PROMPTS 64 /* of a run, 32 KiB in all */

/* What overrides a parameter file. */
struct wse_override {
	/* [nsets] "key.path=value"; "trainer.init." and "trainer.fit." may be left out */
	const char *const *sets;
	uint32_t nsets;
	/* 1: nothing will be trained: sections that training would refuse become notes */
	uint32_t plan;
	/* text file, directory of text files, or tokens (*.bin); NULL: the file's */
	const char *data;
	const char *model_dir;	 /* likewise */
	const char *prompt;	 /* likewise; bytes as they are */
	size_t prompt_len;	 /* 0: up to its first NUL */
	/*
	 * 1: trainers evaluate and generate only, without memory for optimizer state and gradients:
	 * they take the weights of a checkpoint (WSE_CKPT_MODEL, _EVAL), and refuse steps. Held-out
	 * sets and checkpoint are those of the file's validate, where it has one; 2: the same with
	 * those of validate_all, for WSE_MODE_EVAL_ALL
	 */
	uint64_t forward;
	const char *tokenizer;	 /* as for wse_tokenizer_open(); NULL: the file's */
	/* several, instead of prompt; one with text NULL is their end */
	const struct wse_prompt *prompts;
};

/*
 * Reads a parameter file (wse-train(1)); over may be NULL.
 *
 * -EINVAL	the file has faults: wse_params_fault() has them all, wse_error() the first
 * -ENOENT, ...	it cannot be read
 */
int wse_params_read(struct wse_params *p, const char *path, const struct wse_override *over);
/* Fault number i of the last file, in the order of its lines; NULL: there are no more. */
const char *wse_params_fault(const struct wse_params *p, uint32_t i);
/* What a user should know of the file that is no fault: keys that are not used, ... As above. */
const char *wse_params_note(const struct wse_params *p, uint32_t i);
/* How many wafers the file asks for; 1 if it does not say. -EBADF. */
int wse_params_devices(const struct wse_params *p);

enum wse_optim_kind { WSE_OPTIM_ADAMW, WSE_OPTIM_ADAM, WSE_OPTIM_SGD, WSE_OPTIM_LION };
enum wse_sched_kind {
	WSE_SCHED_CONSTANT,
	WSE_SCHED_LINEAR,
	WSE_SCHED_COSINE,
	WSE_SCHED_INVERSE_SQRT, /* from / the root of the larger one of step and total_iters */
};

#define WSE_SCHED_MAX 8

struct wse_sched {
	enum wse_sched_kind kind;
	double from, to;      /* learning rates at its first step and from total_iters on */
	uint64_t total_iters; /* at least 1 */
	uint64_t begin;	      /* step at which it takes over; ascending, the first is 0 */
};

/* The same from C. */
struct wse_train_shape {
	/* text file, directory of text files, or tokens (*.bin); NULL: none, for plans and text */
	const char *data;
	const char *val_data;  /* held-out text; NULL: held_out tokens are cut out of data */
	uint64_t held_out;     /* 0: 2048 */
	const char *model_dir; /* of runs: checkpoints, metrics.csv, loss.svg; NULL: "model_dir" */
	/* samples of a step; the only member that is needed, with a learning rate */
	uint64_t batch;
	uint64_t micro_batch;  /* samples that a wafer takes at once; 0: one that divides batch */
	uint64_t max_steps;    /* of a run; 0: 1 */
	uint64_t seed;	       /* of the initial weights; 0: 1 */
	uint64_t shuffle_seed; /* 0: 1 */
	uint32_t in_order;     /* 1: samples are not shuffled */
	uint32_t optimizer;    /* enum wse_optim_kind */
	double beta1, beta2, eps; /* 0: 0.9, 0.999 (Lion: 0.99), 1e-8 (Lion has none) */
	double momentum;	  /* SGD */
	double weight_decay;
	double lr;		  /* constant, where there is no schedule */
	const struct wse_sched *sched; /* [nsched] */
	uint32_t nsched;
	uint32_t log_steps;	  /* 0: 10 */
	double max_norm;	  /* gradients are clipped to it; 0: not */
	uint64_t eval_frequency;  /* steps between evaluations of a run; 0: at its end */
	uint64_t eval_batches;	  /* of an evaluation; 0: all held-out samples */
	uint64_t checkpoint_steps; /* 0: at its end */
	uint64_t sample_bytes;	   /* tokens of text that a run shows at its end; 0: none */
	const char *prompt;	   /* of that; NULL: none */
	double temperature;	   /* likewise; 0: 0.8 */
	uint64_t forward;	   /* as that of struct wse_override */
	const char *tokenizer;	   /* makes tokens of text; NULL: bytes are tokens */
	uint64_t masked;	   /* 1: batches of the caller's have loss masks */
	uint64_t resv[5];
};

/* The model is kept: it may be destroyed. -EINVAL names the member that is wrong, -EBADF. */
int wse_params_make(struct wse_params *p, const struct wse_model *model,
		    const struct wse_train_shape *shape);

/* ---- plans: does it fit, what does it cost ---- */

struct wse_plan_info {
	struct wse_tile tile;
	uint32_t tokens;	/* of a micro-batch */
	uint32_t micro_batches; /* of a step */
	uint32_t ops, units;
	uint64_t weights;	/* parameters in all */
	uint32_t sram;		/* bytes of a core that are used, of tile.sram */
	/* 0: all of it is kept, in one piece; more: parts are made again, or in chunks */
	uint32_t mode;
	uint64_t streamed_in, streamed_out; /* bytes of a micro-batch */
	uint64_t cycles;	/* predicted, of a micro-batch */
	double useful;		/* multiply-adds / (cycles * lanes * cores that are used) */
	uint64_t columns;	/* of tile.cols that the model takes: the first ones */
	uint64_t resv[7];
};

#define WSE_PLAN_SHAPE	 1 /* plan for the shape that the URI names; no device is opened */
#define WSE_PLAN_FORWARD 2 /* the forward pass alone, as for eval and generate */
/* N << this: of N ranks (mpirun, srun) with such devices each: a rank's memory, and the network */
#define WSE_PLAN_RANKS_SHIFT 16

/*
 * uri as for wse_device_open(). A device that is not there is planned for all the same, with a line
 * of WSE_LOG_WARN. line gets the plan as text; may be NULL.
 *
 * -EINVAL	widths or batch do not divide, or the URI is none (then info->tile is 0)
 * -E2BIG	it does not fit into a core; info and lines say by how much
 * wse_error() has sizes that do divide, or a tile that it does fit, under the names of parameter
 * files
 */
int wse_params_plan(struct wse_params *p, const char *uri, uint32_t flags, wse_log_fn line,
		    void *ctx, struct wse_plan_info *info);

/*
 * Are the parameters of a checkpoint (NULL: the file's ckpt_path, if any; "auto": the last one in
 * its model_dir) those of the model: names, shapes, shards, config.json? And was it trained with
 * the tokenizer of these params? Its headers are read alone, and no device is opened.
 *
 * -EINVAL	it is of another model or tokenizer
 * -EBADMSG	it is damaged
 * -ENOENT, ...	it cannot be read
 */
int wse_params_check(struct wse_params *p, const char *checkpoint);

/* ---- trainers ---- */

/*
 * Opens n devices (1 ... 64) of one tile shape, reads the text, makes the initial weights. log gets
 * what devices say and what a run reports; may be NULL. p may be destroyed.
 *
 * -EINVAL	parameters, devices or text do not fit each other
 * and what wse_device_open() and wse_context_create() return
 */
int wse_trainer_open(const struct wse_params *p, const char *const *uris, uint32_t n,
		     wse_log_fn log, void *ctx, struct wse_trainer **t);
int wse_trainer_close(struct wse_trainer *t);

struct wse_trainer_info {
	uint64_t step;	  /* committed steps */
	uint32_t devices; /* that are alive, of all ranks */
	uint32_t tensors;
	uint64_t weights; /* parameters in all */
	uint64_t tokens;  /* of the text */
	double unigram, bigram; /* entropies of the text, nats a token */
	uint64_t max_steps;	/* of a run, as the parameters say */
	uint64_t vocab;		/* tokens are below it */
	uint32_t rank, ranks;	/* of this process, under mpirun or srun; else 0 and 1 */
	uint64_t token_bytes;	/* of the longest token: 1 without a tokenizer */
	uint64_t resv[4];
};

int wse_trainer_info(struct wse_trainer *t, struct wse_trainer_info *info);

struct wse_step_result {
	double loss; /* mean over the batch, nats per token */
	double norm; /* of the gradient before clipping */
	double lr;
};

/*
 * One step: forward, backward, update. Nothing is changed on error. A device that fails is left out
 * from then on, and the step is done again on those that are left.
 *
 * -ERANGE	loss or gradient is not finite
 * -ENODATA	there is no text
 * -ENODEV, ...	of the last device
 */
int wse_trainer_step(struct wse_trainer *t, struct wse_step_result *result);

/*
 * The same on a batch of the caller's, for trainers without a text (data NULL):
 * samples [batch][window + span], of each the tokens before its first target and then the targets:
 * uint16_t, or uint32_t where the vocabulary is above 65536; n: tokens in all. A checkpoint then
 * has the step, but does not know the batches: which ones come next is the caller's to keep.
 *
 * -EINVAL	n is another number, a token is not below vocab, or the trainer has a text
 */
int wse_trainer_step_on(struct wse_trainer *t, const void *samples, uint64_t n,
			struct wse_step_result *result);

#define WSE_STEP_LR	  1
#define WSE_STEP_MAX_NORM 2

/* A batch of the caller's, and what its step has in place of the parameters'. */
struct wse_step_shape {
	const void *samples; /* [batch][window + span], as of wse_trainer_step_on() */
	uint64_t n;	     /* tokens of samples in all */
	/* [batch][span]: a target with a 0 does not count; NULL: all do. Params have masked 1 */
	const uint8_t *mask;
	uint64_t nmask;	     /* of it in all */
	uint64_t own;	     /* WSE_STEP_*: which of the members that follow are of this step */
	double lr;	     /* in place of the schedule's */
	double max_norm;     /* of clipping; 0: none */
	uint64_t resv[3];
};

/*
 * wse_trainer_step_on() with a mask, a learning rate, a norm. Rate, norm and the hashes of samples
 * and mask go into the chain; a checkpoint says which of the rates some step had of its own.
 *
 * -EINVAL	as wse_trainer_step_on(); a mask without masked, or one that leaves no target; lr or
 *		max_norm is no number from 0 on, or is given and not in own
 */
int wse_trainer_step_with(struct wse_trainer *t, const struct wse_step_shape *how,
			  struct wse_step_result *result);

/*
 * Mean loss of a batch of the caller's, forward alone, in nats a token; nothing is changed. how:
 * its samples and mask. Trainers with a text may be asked, too, and those that evaluate only.
 */
int wse_trainer_loss_on(struct wse_trainer *t, const struct wse_step_shape *how, double *loss);

/*
 * Mean loss of the held-out samples, at most max_batches batches (0: all), in nats a token; samples
 * may be NULL. Of several held-out sets of a parameter file: of the first.
 */
int wse_trainer_eval(struct wse_trainer *t, uint64_t max_batches, double *loss, uint64_t *samples);

/*
 * The same on held-out set number `set` of a parameter file, from 0 on; samples and name may be
 * NULL. *name is valid until the trainer is closed, "" of a set that is the only one.
 *
 * -ENOENT	there is no such set: they have ended
 */
int wse_trainer_eval_set(struct wse_trainer *t, uint32_t set, uint64_t max_batches, double *loss,
			 uint64_t *samples, const char **name);

/*
 * Parameter number i of the model. data: binary32 [rows][cols], of the committed step, valid until
 * the next call.
 */
struct wse_tensor_info {
	const char *name;
	uint32_t rows, cols; /* cols 1: a vector */
	const float *data;
};

/* -ENOENT	there is no such number */
int wse_trainer_tensor(struct wse_trainer *t, uint32_t i, struct wse_tensor_info *info);
/* New values for it; n must be its number of elements. The moments of the optimizer stay. */
int wse_trainer_set_tensor(struct wse_trainer *t, uint32_t i, const float *data, uint64_t n);

/*
 * Records from now on where the time goes, into the folder dir: wafers.pftrace, what each device
 * executes on its queues, in device cycles; host.pftrace, what the trainer does, in its own time
 * (both for https://ui.perfetto.dev); at the end operations.txt, operations with their cycles and
 * the planner's, and wafer-N.svg, what each device's cores and links have counted, and of its
 * first micro-batch wafer-N-forward.svg, -loss.svg and -backward.svg. NULL ends the recording, as
 * wse_trainer_close() does.
 *
 * -EEXIST	dir has a profile
 * -EBUSY	one is being recorded
 * -EINVAL	NULL, and none is
 * -ENOSPC ...	of ending one: a file could not be written whole
 */
int wse_trainer_profile(struct wse_trainer *t, const char *dir);

/*
 * Opens a unix socket at path on which wse-top(1) sees the run: step, loss, rate, and what each
 * core has counted, as of the end of a step. No result changes; reading the counters takes at most
 * 0.5 % of the time, for steps in between are not shown where it would take more. NULL closes it,
 * as wse_trainer_close() does.
 *
 * -EADDRINUSE	another run is there
 * -EEXIST	a file that is no socket
 * -EBUSY	one is open
 * -EINVAL	NULL, and none is; or an empty path
 * -ENAMETOOLONG
 */
int wse_trainer_live(struct wse_trainer *t, const char *path);

/* ---- checkpoints ---- */

/* The file is the old one or the new one, never half of it. -ERANGE: something is not finite. */
int wse_trainer_save(struct wse_trainer *t, const char *path);

/* what to take out of a checkpoint */
enum wse_ckpt_load {
	WSE_CKPT_ALL,	    /* go on as if there had been no break */
	WSE_CKPT_RATES_NEW, /* betas, weight decay, clipping and schedule are the trainer's */
	WSE_CKPT_MODEL,	    /* weights alone; step and state are those of a start */
	WSE_CKPT_EVAL,	    /* weights, and the step they are of, if the file tells */
};

/* -EINVAL	it does not fit this trainer: what, its value in both; -EBADMSG: it is damaged */
int wse_trainer_load(struct wse_trainer *t, const char *path, enum wse_ckpt_load what);

/* SHA-256 over weights and training state, hexadecimal, [65]. Equal training has equal hashes. */
int wse_checkpoint_hash(const char *path, char *hex);

/* ---- text ---- */

struct wse_sampling {
	const char *prompt; /* bytes as they are */
	size_t prompt_len;
	uint64_t n;	    /* tokens to make: bytes, without a tokenizer */
	double temperature; /* 0: the most likely token */
	uint32_t top_k;	    /* of the most likely ones; 0: all */
	double top_p;	    /* of the fewest that have this share; 0, 1: all */
	uint64_t seed;
	uint32_t streams; /* texts */
	/* [nprompts] instead of prompt, where that is NULL; each has `streams` texts */
	uint32_t nprompts;
	const struct wse_prompt *prompts;
};

/*
 * Continues each prompt in `streams` independent ways; text [prompts][streams][n * token_bytes +
 * 1], with wse_trainer_info's token_bytes; each ends with a 0. A text does not depend on the other
 * prompts. -EINVAL: neither bytes nor a tokenizer.
 */
int wse_trainer_generate(struct wse_trainer *t, const struct wse_sampling *how, char *text);

/* ---- a whole run ---- */

enum wse_mode {
	WSE_MODE_TRAIN,
	WSE_MODE_EVAL,
	WSE_MODE_TRAIN_AND_EVAL,
	WSE_MODE_GENERATE,
	WSE_MODE_CHECK, /* was another run what it says? See check_from */
	WSE_MODE_EVAL_ALL, /* each checkpoint of validate_all on each of its sets; forward 2 */
};

struct wse_progress {
	uint64_t step, max_steps;
	double loss;
	double rate; /* samples a second */
	double eta;  /* seconds */
};

/* what the lines of a run say, in numbers */
enum wse_event_kind {
	WSE_EVENT_BEGIN,	/* step: the one to go on from; samples: held out, of all sets */
	WSE_EVENT_TRAIN,	/* after every step */
	WSE_EVENT_EVAL,		/* loss, samples; text: the held-out set's name, NULL without */
	WSE_EVENT_CHECKPOINT,	/* step, text: its path */
};

struct wse_event {
	enum wse_event_kind kind;
	uint64_t step, max_steps;
	double seconds;		/* of the run, over resumes */
	double loss;		/* nats per token */
	double lr, norm;	/* norm: of the gradient, before clipping */
	double ms;		/* of this step, without evaluations and checkpoints */
	double rate;		/* samples a second of this step */
	uint64_t samples;
	uint32_t devices;	/* alive */
	const char *text;
};

#define WSE_VERIFY_MAX 16

struct wse_run_shape {
	enum wse_mode mode;
	/* NULL: the file's ckpt_path, if any; "auto": the last one in model_dir, if any. A run that
	 * does not go on from the last one there refuses a model_dir that has some */
	const char *checkpoint;
	/* [nverify] steps (1...) to do again on another device: every bit is compared */
	const uint64_t *verify;
	uint32_t nverify;	/* at most WSE_VERIFY_MAX */
	const char *verify_uri; /* that device; NULL: sim:rtl of the same shape */
	void (*progress)(void *ctx, const struct wse_progress *p); /* after a step; may be NULL */
	int (*stop)(void *ctx); /* between steps; not 0: checkpoint and end. May be NULL */
	/* what the lines say, for programs; may be NULL */
	void (*event)(void *ctx, const struct wse_event *e);
	void *ctx;
	/* not 0: at the end the loss curve goes to the log, in braille, for a terminal */
	uint64_t chart;
	/*
	 * WSE_MODE_CHECK: checkpoint is one of the run in question, in its folder; steps check_from
	 * + 1 ... check_to are made again from the checkpoint of step check_from beside it (0: from
	 * the initial weights), and compared with the hashes in metrics.csv there, and the weights
	 * with the checkpoint of step check_to, if it is there. Nothing is written.
	 */
	uint64_t check_from, check_to;
	const char *check_weights; /* where it began with weights of a file: that file; else NULL */
	/*
	 * "FILE.fst,step=S[,from=A][,to=B][,core=COLUMN.ROW]": step S is replayed on the RTL as by
	 * verify, with waves (wse_device_wave()) of its cycles A to B - 1; NULL: none. With
	 * "step=fault" and no A and B the step whose fault, deadlock or budget ends the run, with
	 * waves of the last 10000 cycles before that; the run's error stays what it is
	 */
	const char *wave;
};

struct wse_run_result {
	uint64_t steps;		/* committed in all */
	double loss;		/* of the last step */
	int evaluated;
	double held_out;	/* of the last evaluation, if evaluated; of the first set */
	double unigram, bigram; /* entropies of the text, nats */
	char checkpoint[1088];	/* the last one written or read, "" if none */
	char hash[65];		/* of that checkpoint */
	int stopped;		/* by stop() */
	uint64_t resv[8];
};

/*
 * Train, evaluate, checkpoint, draw and sample as the parameters say; wse-train(1) is this call. 0
 * also when it was stopped. On error wse_error() says why, and what was kept; result is valid.
 *
 * WSE_MODE_CHECK: 0: the steps are what the run says; -EILSEQ: they are not, and wse_error() names
 * the first that differs, or what was edited; -ENODATA: there is no hash or checkpoint of them;
 * -EINTR: stop() ended it.
 */
int wse_trainer_run(struct wse_trainer *t, const struct wse_run_shape *run,
		    struct wse_run_result *result);

/* ---- events as JSON, an object a line ---- */

/* text [size]: a line with its newline. -ENOSPC when it does not fit */
int wse_json_event(const struct wse_event *e, char *text, size_t size);
/* {"event":"<what>","text":"<said>"}, said being any bytes; \u00XX for what is not UTF-8 */
int wse_json_text(const char *what, const char *said, char *text, size_t size);

/* {"event":"end", ...}: the last checkpoint and its hash, "" if there is none */
int wse_json_end(uint64_t step, int stopped, const char *checkpoint, const char *hash, char *text,
		 size_t size);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif /* WSE_WSE_TRAIN_H */
