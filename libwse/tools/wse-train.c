// SPDX-License-Identifier: MIT
/* wse-train: the command line of the trainer. All printing of the trainer happens here. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#include <wse/wse.h>

#include "launch.h"
#include "wse-train-args.h"
#include "wse-train-tokens.h"
#include "wse/wse_said.h"

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

/* a launcher ends the ranks that are left when one is gone: no rank waits for another then */
static char left_alone[160];

static void on_launcher(int sig)
{
	const struct itimerval soon = {.it_value = {.tv_usec = 700000}};
	static volatile sig_atomic_t asked;
	ssize_t n;

	/* which rank is gone the trainer may know in a moment */
	if (sig == SIGTERM && !asked) {
		asked = 1;
		setitimer(ITIMER_REAL, &soon, NULL);
		return;
	}
	n = write(STDERR_FILENO, left_alone, strlen(left_alone));

	(void)n;
	_exit(sig == SIGTERM || sig == SIGALRM ? 1 : 2);
}

/*
 * The first signal asks for a clean end, the second one kills. Of several ranks rank 0 is asked, by
 * SIGINT or SIGUSR1, which launchers pass on; SIGTERM is what they end a run with that has lost a
 * rank.
 */
static void set_signals(const struct wse_trainer_info *info)
{
	struct sigaction ask = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND | SA_RESTART};
	struct sigaction leave = {.sa_handler = on_launcher, .sa_flags = SA_RESTART};
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	int many = info->ranks > 1;

	snprintf(
		left_alone, sizeof(left_alone),
		"wse-train: rank %u was ended by the launcher: another rank is gone, or the job was "
		"stopped; checkpoints are good\n",
		info->rank);
	sigaction(SIGINT, info->rank ? &ignore : &ask, NULL);
	sigaction(SIGTERM, many ? &leave : &ask, NULL);
	if (many)
		sigaction(SIGALRM, &leave, NULL);
	if (many)
		sigaction(SIGUSR1, info->rank ? &ignore : &ask, NULL);
}

/* modes that have nothing to bring to an end: a signal kills, however long they take */
static int leaves_nothing(enum wse_mode mode)
{
	return mode == WSE_MODE_EVAL || mode == WSE_MODE_GENERATE;
}

struct screen {
	int terminal;
	int bar;    /* a progress bar is on the last line */
	FILE *json; /* --log-json */
};

static void write_json(struct screen *sc, const char *text);

/* escape sequences and braille only where they are understood */
static int is_terminal(int fd)
{
	const char *term = getenv("TERM");

	return isatty(fd) && term && *term && strcmp(term, "dumb");
}

static void line(void *ctx, enum wse_log_level level, const char *text)
{
	struct screen *sc = ctx;

	if (sc->bar)
		fputs("\r\033[K", stderr);
	sc->bar = 0;
	if (level == WSE_LOG_INFO) {
		puts(text);
		fflush(stdout);
	} else {
		const char *what = level == WSE_LOG_ERROR ? "error" : "warning";
		char json[8192];

		fprintf(stderr, "%s: %s\n", what, text);
		if (sc->json && !wse_json_text(what, text, json, sizeof(json)))
			write_json(sc, json);
	}
}

static void progress(void *ctx, const struct wse_progress *p)
{
	enum { WIDTH = 30 };
	struct screen *sc = ctx;
	long eta = (long)(p->eta + 0.5);
	int room = terminal_columns() - 1, width, full = 0;
	char text[160];

	if (!sc->terminal)
		return;
	snprintf(text, sizeof(text), "%llu/%llu  loss %.3f  %.0f samples/sec  ETA %ld:%02ld",
		 (unsigned long long)p->step, (unsigned long long)p->max_steps, p->loss, p->rate,
		 eta / 60, eta % 60);
	/* what goes on in the next row would stay there */
	width = room - (int)strlen(text) - 3;
	width = width < WIDTH ? width : WIDTH;
	if (width > 0)
		full = p->max_steps ? (int)((uint64_t)width * p->step / p->max_steps) : width;
	if (width >= 4)
		fprintf(stderr, "\r\033[K[%.*s%*s] %s", full, "##############################",
			width - full, "", text);
	else
		fprintf(stderr, "\r\033[K%.*s", room, text);
	sc->bar = 1;
}

/* a line in one write, so that a reader of the growing file sees whole ones */
static void write_json(struct screen *sc, const char *text)
{
	if (!sc->json || (fputs(text, sc->json) >= 0 && !fflush(sc->json)))
		return;
	fprintf(stderr, "warning: --log-json ends here: %s\n", strerror(errno));
	fclose(sc->json);
	sc->json = NULL;
}

static void event(void *ctx, const struct wse_event *e)
{
	char text[8192];

	if (!wse_json_event(e, text, sizeof(text)))
		write_json(ctx, text);
}

static int stop(void *ctx)
{
	(void)ctx;
	return interrupted;
}

/* "sim:rtl,rows=4,cols=4,accel:0": a part with a colon begins a device; list is changed. 0 when
 * there are too many */
static uint32_t split_devices(char *list, const char **uris)
{
	uint32_t n = 0;

	for (char *p = list, *next; p; p = next) {
		if (n == MAX_URIS)
			return 0;
		next = p;
		do {
			next = strchr(next, ',');
			if (next && strcspn(next + 1, ":") < strcspn(next + 1, ","))
				break;
			next = next ? next + 1 : NULL;
		} while (next);
		if (next)
			*next++ = 0;
		uris[n++] = p;
	}
	return n;
}

/* devices are used as named; a single simulator as often as wafers are wanted: it can be had many
 * times */
static uint32_t choose_devices(const struct args *a, uint32_t num, char *list, size_t size,
			       const char **uris)
{
	uint32_t n = 0;
	size_t at = 0;

	if (a->devices && !strncmp(a->devices, "plan:", 5)) {
		uris[0] = a->devices;
		return 1;
	}
	if (a->devices) {
		if ((size_t)snprintf(list, size, "%s", a->devices) < size)
			n = split_devices(list, uris);
		if (!n) {
			fprintf(stderr, "wse-train: --devices names more than %d\n", MAX_URIS);
			return 0;
		}
		if (n == 1 && strncmp(uris[0], "accel:", 6))
			while (n < num && n < MAX_URIS)
				uris[n++] = uris[0];
		if (!a->num_wse || n == a->num_wse)
			return n;
		fprintf(stderr,
			"wse-train: --num_wse %u contradicts --devices, which names %u: "
			"leave out --num_wse, or name as many\n",
			a->num_wse, n);
		return 0;
	}
	for (uint32_t i = 0; i < num && i < MAX_URIS; i++) {
		char node[40];

		snprintf(node, sizeof(node), "/dev/accel/accel%u", i);
		if (access("/dev/accel/accel0", F_OK))
			snprintf(list + at, size - at, "sim:func,rows=4,cols=4");
		else
			snprintf(list + at, size - at, "accel:%u", i);
		uris[n++] = list + at;
		at += strlen(list + at) + 1;
	}
	return n;
}

/* the wafers that the command line asks a plan for; 0: those of the file */
static uint32_t plan_wafers(const struct args *a)
{
	const char *uris[MAX_URIS];
	char list[LIST_OF_URIS];
	uint32_t n;

	if (a->num_wse || !a->devices)
		return a->num_wse;
	if ((size_t)snprintf(list, sizeof(list), "%s", a->devices) >= sizeof(list))
		return 0;
	n = split_devices(list, uris);
	return n > 1 ? n : 0;
}

static void plan_line(void *ctx, enum wse_log_level level, const char *text)
{
	const struct args *a = ctx;

	if (level != WSE_LOG_INFO)
		fprintf(stderr, "note: %s\n", text);
	else if (a->plan)
		puts(text);
}

/* what a plan says of a device that is not the first: notes alone */
static void note_line(void *ctx, enum wse_log_level level, const char *text)
{
	if (level != WSE_LOG_INFO)
		plan_line(ctx, level, text);
}

/* the other wafers are of the first one's shape, as a run asks, and how fast they would be */
static int plan_others(struct args *a, struct wse_params *p, uint32_t flags,
		       const char *const *uris, uint32_t n, const struct wse_plan_info *first)
{
	const struct wse_tile *to = &first->tile;

	for (uint32_t i = 1; i < n; i++) {
		struct wse_plan_info info;
		uint32_t j = 0;

		while (strcmp(uris[j], uris[i]))
			j++;
		if (j < i)
			continue;
		if (wse_params_plan(p, uris[i], flags, note_line, a, &info)) {
			fprintf(stderr, "wse-train: %s\n", wse_error());
			return 2;
		}
		if (info.tile.rows != to->rows || info.tile.cols != to->cols ||
		    info.tile.lanes != to->lanes) {
			fprintf(stderr,
				"wse-train: device %s has %u x %u cores of %u lanes, the first "
				"has %u x %u of %u: tile shapes are not mixed\n",
				uris[i], info.tile.rows, info.tile.cols, info.tile.lanes, to->rows,
				to->cols, to->lanes);
			return 2;
		}
		if (a->plan && info.cycles != first->cycles)
			printf("%s takes %llu cycles for a micro-batch\n", uris[i],
			       (unsigned long long)info.cycles);
	}
	return 0;
}

/* --plan and --validate_only: does the model fit the wafers? The file has no faults */
static int plan(struct args *a, struct wse_params *p, enum wse_mode mode, const char *const *uris,
		uint32_t n)
{
	uint32_t flags =
		(is_forward(mode) ? WSE_PLAN_FORWARD : 0) | a->ranks << WSE_PLAN_RANKS_SHIFT;
	struct wse_plan_info info;
	int ret = wse_params_plan(p, uris[0], flags, plan_line, a, &info);

	if (ret) {
		fflush(stdout);
		fprintf(stderr, "wse-train: %s\n", wse_error());
		return 2;
	}
	ret = plan_others(a, p, flags, uris, n, &info);
	if (!ret && a->validate)
		printf("| %s: no faults; fits %u x %s\n", a->params, n, uris[0]);
	return ret;
}

/* the last line of the JSON log: how the run ended */
static void end_json(struct screen *sc, const struct wse_run_result *res, const char *why)
{
	char text[8192];

	if (why && !wse_json_text("error", why, text, sizeof(text)))
		write_json(sc, text);
	if (!why &&
	    !wse_json_end(res->steps, res->stopped, res->checkpoint, res->hash, text, sizeof(text)))
		write_json(sc, text);
	if (sc->json)
		fclose(sc->json);
}

static int finish(const struct wse_run_result *res, const char *require)
{
	double limit = res->unigram;

	if (res->checkpoint[0])
		printf("| Checkpoint %s\n| Hash %s\n", res->checkpoint, res->hash);
	if (res->stopped) {
		printf("| Stopped at step %llu; go on with --checkpoint_path auto\n",
		       (unsigned long long)res->steps);
		return 130;
	}
	if (res->evaluated)
		printf("| Held-out loss %.4f, unigram entropy %.4f, bigram entropy %.4f\n",
		       res->held_out, res->unigram, res->bigram);
	if (!require)
		return 0;
	limit = strcmp(require, "mean") ? res->unigram - below_unigram(require)
					: 0.5 * (res->unigram + res->bigram);
	if (!res->evaluated) {
		fprintf(stderr, "wse-train: --require %s: nothing was evaluated\n", require);
		return 1;
	}
	if (res->held_out < limit)
		return 0;
	fprintf(stderr, "wse-train: the held-out loss %.4f is not below %.4f (%s)\n", res->held_out,
		limit, require);
	return 1;
}

/* all that is wrong with the file, a line each */
static int read_params(const struct args *a, enum wse_mode mode, struct wse_params *p)
{
	struct wse_override over = {
		.sets = a->sets,
		.nsets = a->nsets,
		.data = a->data,
		.tokenizer = a->tokenizer,
		.model_dir = a->model_dir,
		.prompt = a->prompt,
		.prompt_len = a->prompt_len,
		.prompts = a->nprompts > 1 ? a->prompts : NULL,
		.plan = a->plan || a->validate,
		.forward = mode == WSE_MODE_EVAL_ALL ? 2u : (unsigned int)is_forward(mode),
	};
	const char *text;
	int ret = wse_params_read(p, a->params, &over);

	for (uint32_t i = 0; (text = wse_params_fault(p, i)); i++)
		fprintf(stderr, "wse-train: %s\n", text);
	for (uint32_t i = 0; (text = wse_params_note(p, i)); i++)
		fprintf(stderr, "note: %s\n", text);
	return ret;
}

/* --wait: the same devices, each with ",wait"; 0 or the exit status */
static int add_wait(const char **uris, uint32_t n)
{
	static char list[16384];
	size_t at = 0, len;

	for (uint32_t i = 0; i < n; i++) {
		len = strlen(uris[i]);
		if (strncmp(uris[i], "accel:", 6) ||
		    (len > 5 && !strcmp(uris[i] + len - 5, ",wait")))
			continue;
		if (at + len + 6 > sizeof(list))
			return bad_usage("--devices is too long");
		snprintf(list + at, sizeof(list) - at, "%s,wait", uris[i]);
		uris[i] = list + at;
		at += len + 6;
	}
	return 0;
}

/* a checkpoint that a run begins with, before a device is opened */
static int check_start(struct wse_params *p, const struct wse_run_shape *how)
{
	const char *from = how->checkpoint;

	if (how->mode == WSE_MODE_CHECK || how->mode == WSE_MODE_EVAL_ALL)
		return 0;
	/* text is made with the last one, whichever the file names */
	return wse_params_check(p, !from && how->mode == WSE_MODE_GENERATE ? "auto" : from);
}

static int run(const struct args *a, struct wse_params *p, struct wse_run_shape *how,
	       const char *const *uris, uint32_t n)
{
	struct screen sc = {.terminal = is_terminal(STDERR_FILENO)};
	struct wse_trainer_info info = {0};
	struct wse_trainer *t;
	struct wse_run_result res;
	int ret;

	if (a->json) {
		sc.json = fopen(a->json, "ae");
		if (!sc.json) {
			fprintf(stderr, "wse-train: --log-json %s: %s\n", a->json, strerror(errno));
			return 2;
		}
	}
	how->progress = progress;
	how->stop = stop;
	how->event = event;
	how->ctx = &sc;
	how->chart = is_terminal(STDOUT_FILENO);
	ret = check_start(p, how);
	ret = ret ? ret : wse_trainer_open(p, uris, n, line, &sc, &t);
	if (!ret) {
		/*
		 * Before this there was nothing to keep, and who waits in line for a device shall
		 * be able to give up.
		 */
		wse_trainer_info(t, &info);
		if (info.ranks > 1 || !leaves_nothing(how->mode))
			set_signals(&info);
		ret = a->live ? wse_trainer_live(t, a->live) : 0;
		ret = !ret && a->profile ? wse_trainer_profile(t, a->profile) : ret;
		ret = ret ? ret : wse_trainer_run(t, how, &res);
		if (!ret && a->profile)
			ret = wse_trainer_profile(t, NULL);
		wse_trainer_close(t);
	}
	if (sc.bar)
		fputc('\n', stderr);
	if (!info.rank)
		end_json(&sc, &res, ret ? wse_error() : NULL);
	if (!ret && info.rank)
		return res.stopped ? 130 : 0;
	if (ret) {
		fprintf(stderr, "wse-train: %s\n", wse_error());
		/* another run has the folder: a wrong call */
		return ret == -EINTR ? 130 : ret == -EALREADY ? 2 : 1;
	}
	return finish(&res, a->require);
}

/*
 * what was printed is out, or a line says that it is not: an error where it is all there is, but
 * not of a run whose steps are in its folder
 */
static int end_output(int status, int trained)
{
	int failed = wse_said(trained ? "warning" : "wse-train", 1);

	return status || trained ? status : failed;
}

static int command(int argc, char **argv, int *trained)
{
	struct wse_run_shape how = {0};
	struct args a = {0};
	struct wse_params *p;
	static char list[LIST_OF_URIS], steps[64];
	uint64_t verify[WSE_VERIFY_MAX];
	const char *uris[MAX_URIS];
	uint32_t n;
	int ret;

	ret = parse(argc, argv, &a);
	if (ret)
		return ret - 1;
	if (a.tokenize)
		return tokenize_file(a.tokenize, a.tokenizer, a.out, is_terminal(STDERR_FILENO));
	if (set_mode(a.mode, &how.mode))
		return bad_usage("--mode takes train, eval, eval_all, train_and_eval or generate");
	ret = check_args(&a, how.mode);
	if (ret)
		return ret;
	if (a.launch)
		return launch(a.launch, a.restarts, a.model_dir, argc, argv);
	if (a.max_steps) {
		snprintf(steps, sizeof(steps), "loop.max_steps=%.40s", a.max_steps);
		a.sets[a.nsets++] = steps;
	}
	if (a.plan && plan_wafers(&a)) {
		static char systems[80];

		snprintf(systems, sizeof(systems), "backend.cluster_config.num_csx=%u",
			 plan_wafers(&a));
		a.sets[a.nsets++] = systems;
	}
	if (read_verify(a.verify, verify, &how.nverify))
		return bad_usage("--verify-steps takes up to 16 numbers from 1 on");
	if (a.check) {
		how.mode = WSE_MODE_CHECK;
		how.check_weights = a.checkpoint;
		a.checkpoint = a.check;
		if (read_steps(a.steps, &how.check_from, &how.check_to))
			return bad_usage("--steps takes A..B, A below B");
		if (how.check_weights && how.check_from)
			return bad_usage(
				"--checkpoint_path with --check is what step 0 began with: "
				"it goes with --steps 0..B");
	}
	how.verify = verify;
	how.verify_uri = a.verify_uri;
	how.wave = a.wave;
	how.checkpoint = a.checkpoint;
	if (wse_params_create(&p)) {
		fprintf(stderr, "wse-train: %s\n", wse_error());
		return 1;
	}
	ret = 2;
	if (read_prompt(&a) || read_params(&a, how.mode, p))
		goto out;
	n = choose_devices(&a, a.num_wse ? a.num_wse : (uint32_t)wse_params_devices(p), list,
			   sizeof(list), uris);
	if (!n)
		goto out;
	if (a.wait && add_wait(uris, n))
		goto out;
	if (a.validate || a.plan)
		ret = plan(&a, p, how.mode, uris, n);
	else
		ret = run(&a, p, &how, uris, n);
	*trained = !a.validate && !a.plan && !is_forward(how.mode) && !a.check;
out:
	wse_params_destroy(p);
	return ret;
}

int main(int argc, char **argv)
{
	int trained = 0, ret;

	wse_std_open();
	/* a limit of file sizes (ulimit -f) is then an error of write(), as a full disk is */
	signal(SIGXFSZ, SIG_IGN);
	ret = command(argc, argv, &trained);
	return end_output(ret, trained);
}
