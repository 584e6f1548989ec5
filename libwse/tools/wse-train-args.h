/* SPDX-License-Identifier: MIT */
/* The command line of wse-train. */
#ifndef WSE_TRAIN_ARGS_H
#define WSE_TRAIN_ARGS_H

#include <stddef.h>
#include <stdint.h>
#include <wse/wse.h>

#define MAX_SETS     64
#define MAX_URIS     64
#define LIST_OF_URIS 8192 /* bytes of --devices */
#define MAX_PLAN     192  /* systems of a plan: device */
#define MAX_PROMPT   4096 /* one more than may be */

struct args {
	const char *params, *mode, *devices, *data, *model_dir, *max_steps, *checkpoint;
	const char *verify, *verify_uri, *require, *prompt, *json, *check, *steps;
	const char *profile, *live, *wave, *prompt_file;
	const char *tokenize, *tokenizer, *out, *launch;
	size_t prompt_len;			    /* 0: up to the first NUL */
	struct wse_prompt prompts[WSE_PROMPTS + 2]; /* all of --prompt */
	uint32_t nprompts;
	uint32_t num_wse, restarts;
	uint32_t ranks; /* of a plan, 0: alone */
	int plan, validate, wait;
	const char *sets[MAX_SETS + 2]; /* and those that --max_steps and --num_wse are */
	uint32_t nsets;
};

/* a line on stderr; the exit status */
int bad_usage(const char *what);

int terminal_columns(void); /* of stderr; 80 where it does not say */
/* "unigram" or "unigram-NATS": how far below, -1 for another text */
double below_unigram(const char *require);
/* 0 to go on, else the exit status + 1; --launch and --restart are NULL in argv then */
int parse(int argc, char **argv, struct args *a);
/* "A..B", A below B */
int read_steps(const char *text, uint64_t *from, uint64_t *to);
int read_verify(const char *list, uint64_t *steps, uint32_t *n);
/* --prompt -: one byte too many is an error of the configuration; --prompt-file */
int read_prompt(struct args *a);
int set_mode(const char *name, enum wse_mode *mode);
/* options that contradict each other; 0 or the exit status */
/* is nothing trained in it? */
int is_forward(enum wse_mode mode);
int check_args(const struct args *a, enum wse_mode mode);

#endif
