// SPDX-License-Identifier: MIT
/* The command line of wse-train: its options, and which contradict each other. */
#include "wse-train-args.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PROMPTS_ROOM (32 << 10) /* of all, with an end each, as the library has it */

static const char usage[] =
	"usage: wse-train --params FILE.yaml [options]\n"
	"       wse-train --tokenize TEXT --tokenizer DIR --out FILE.bin\n"
	"  --mode M             train_and_eval (default), train, eval, eval_all, generate\n"
	"  --num_wse N          number of wafers (default: the file's num_csx, or 1); also --num_csx\n"
	"  --devices URI,...    accel:N | sim:rtl,rows=4,cols=4 | sim:func,rows=4,cols=4\n"
	"                       (with --plan also plan:cs2, plan:rows=R,cols=C,lanes=L,link=B,ghz=F)\n"
	"                       (default: accel:0 ... if they exist, else sim:func,rows=4,cols=4)\n"
	"  --wait               wait in line for a device that another process has leased\n"
	"                       (default: that is an error)\n"
	"  --data PATH          text file, directory of text files, or uint16 token file (*.bin)\n"
	"                       (default: the file's train_dataloader.data_dir)\n"
	"  --tokenizer DIR      what makes tokens of text: a folder with tokenizer.json, or vocab.json and\n"
	"                       merges.txt (default: train_dataloader.tokenizer, or bytes are tokens)\n"
	"  --model_dir DIR      checkpoints, metrics.csv, loss.svg (default: the file's, or model_dir)\n"
	"  --max_steps N        the step to end at (default: the file's)\n"
	"  --checkpoint_path F  start from F; \"auto\": from the last one in DIR, if any (default: step 0;\n"
	"                       for eval and generate the last one)\n"
	"  --set KEY.PATH=VALUE overrides a key of the file; may be repeated\n"
	"  --prompt TEXT        what the sampled text goes on from; \"-\": standard input, bytes as they are\n"
	"                       (default: the file's, or \"The \"); may be repeated\n"
	"  --prompt-file FILE   the same of each line of a file, without its newline (default: none)\n"
	"  --profile DIR        where the time goes: timelines of wafers and host, operations\n"
	"                       by cycles (default: none)\n"
	"  --live SOCKET        open a unix socket there, on which wse-top shows the run (default: none)\n"
	"  --log-json FILE      append what happens as JSON, an object a line (default: none)\n"
	"  --validate_only      check the file and the options, run nothing\n"
	"  --plan               print mapping, memory and cost, run nothing\n"
	"  --ranks N            with --plan: for N processes of a launcher, also what the network carries\n"
	"                       (default: 1)\n"
	"  --verify-steps K,... replay these steps in process and compare every bit of the gradients\n"
	"                       (default: none)\n"
	"  --verify-device URI  what replays them (default: sim:rtl of the same shape)\n"
	"  --wave FILE.fst,step=S[,from=A][,to=B][,core=X.Y]  replay step S on sim:rtl with the signals\n"
	"                       of its cycles A to B - 1, of one core (column.row) or all, for gtkwave;\n"
	"                       step=fault: the step that ends with a fault, and the cycles before that\n"
	"                       (default: none; of a window: from 0, 10000 cycles, all cores)\n"
	"  --check F            was the run of checkpoint F what it says? Makes steps again, writes nothing\n"
	"  --steps A..B         the steps: from its checkpoint of step A (0: from the seed) to B\n"
	"  --require WHAT       fail unless the held-out loss ends below the text's unigram entropy\n"
	"                       (unigram), so many nats below it (unigram-0.3), or below the mean of the\n"
	"                       unigram and bigram entropies (mean) (default: nothing is required)\n"
	"  --launch COMMAND     start this by a launcher, \"mpirun -n 4\" or \"srun --mpi=pmix -n 4\": each\n"
	"                       of its processes has the devices named here (default: one process)\n"
	"  --restart N          with --launch and --model_dir: start it again up to N times, from the last\n"
	"                       checkpoint, when a rank failed and there is a newer one (default: 0)\n"
	"  --tokenize TEXT      write a text's tokens to --out, and train nothing; \"-\": standard input\n"
	"  --out FILE.bin       where they go: what --data takes\n"
	"  --version, --help\n";

int terminal_columns(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col ? 80 : size.ws_col;
}

int bad_usage(const char *what)
{
	fprintf(stderr, "wse-train: %s; see wse-train --help\n", what);
	return 2;
}

double below_unigram(const char *require)
{
	char *end;
	double nats;

	if (strncmp(require, "unigram", 7))
		return -1.0;
	if (!require[7])
		return 0.0;
	nats = strtod(require + 8, &end);
	return require[7] == '-' && end != require + 8 && !*end && nats >= 0.0 ? nats : -1.0;
}

/* decimal digits and nothing else, from min to max */
static int to_number(const char *text, uint32_t min, uint32_t max, uint32_t *number)
{
	unsigned long long v;

	errno = 0;
	v = strtoull(text, NULL, 10);
	if (!*text || text[strspn(text, "0123456789")] || errno || v < min || v > max)
		return -EINVAL;
	*number = (uint32_t)v;
	return 0;
}

/* an option of the launching process, which those that it starts shall not have */
static void take_away(char **argv)
{
	if (optarg == argv[optind - 1])
		argv[optind - 2] = NULL;
	argv[optind - 1] = NULL;
}

/* a plan for systems that are on paper */
static int is_paper(const struct args *a)
{
	return a->plan && a->devices && !strncmp(a->devices, "plan:", 5);
}

int parse(int argc, char **argv, struct args *a)
{
	static const struct option opts[] = {{"params", required_argument, NULL, 'p'},
					     {"mode", required_argument, NULL, 'm'},
					     {"num_wse", required_argument, NULL, 'n'},
					     {"num_csx", required_argument, NULL, 'n'},
					     {"prompt", required_argument, NULL, 'i'},
					     {"prompt-file", required_argument, NULL, 'I'},
					     {"validate_only", no_argument, NULL, 'C'},
					     {"devices", required_argument, NULL, 'd'},
					     {"data", required_argument, NULL, 't'},
					     {"model_dir", required_argument, NULL, 'o'},
					     {"max_steps", required_argument, NULL, 's'},
					     {"checkpoint_path", required_argument, NULL, 'c'},
					     {"set", required_argument, NULL, 'S'},
					     {"log-json", required_argument, NULL, 'j'},
					     {"profile", required_argument, NULL, 'f'},
					     {"live", required_argument, NULL, 'L'},
					     {"wave", required_argument, NULL, 'W'},
					     {"version", no_argument, NULL, 1},
					     {"plan", no_argument, NULL, 'P'},
					     {"wait", no_argument, NULL, 'w'},
					     {"verify-steps", required_argument, NULL, 'v'},
					     {"verify-device", required_argument, NULL, 'V'},
					     {"require", required_argument, NULL, 'r'},
					     {"check", required_argument, NULL, 'k'},
					     {"steps", required_argument, NULL, 'K'},
					     {"tokenize", required_argument, NULL, 'T'},
					     {"tokenizer", required_argument, NULL, 'Z'},
					     {"out", required_argument, NULL, 'O'},
					     {"launch", required_argument, NULL, 'l'},
					     {"restart", required_argument, NULL, 'R'},
					     {"ranks", required_argument, NULL, 'N'},
					     {"help", no_argument, NULL, 'h'},
					     {NULL, 0, NULL, 0}};
	const char *word = argv[1]; /* that getopt is at */
	char text[100];
	int o;

	opterr = 0; /* one line, ours */
	for (; (o = getopt_long(argc, argv, ":h", opts, NULL)) != -1; word = argv[optind]) {
		switch (o) {
		case 'p':
			a->params = optarg;
			break;
		case 'm':
			a->mode = optarg;
			break;
		case 'n':
			if (to_number(optarg, 1, MAX_PLAN, &a->num_wse))
				return 1 + bad_usage("--num_wse takes a number from 1 to 64");
			break;
		case 'd':
			a->devices = optarg;
			break;
		case 't':
			a->data = optarg;
			break;
		case 'o':
			a->model_dir = optarg;
			break;
		case 's':
			a->max_steps = optarg;
			break;
		case 'c':
			a->checkpoint = optarg;
			break;
		case 'S':
			if (a->nsets == MAX_SETS)
				return 1 + bad_usage("too many --set");
			a->sets[a->nsets++] = optarg;
			break;
		case 'P':
			a->plan = 1;
			break;
		case 'w':
			a->wait = 1;
			break;
		case 'C':
			a->validate = 1;
			break;
		case 'j':
			a->json = optarg;
			break;
		case 'f':
			a->profile = optarg;
			break;
		case 'L':
			a->live = optarg;
			break;
		case 'W':
			a->wave = optarg;
			break;
		case 1:
			printf("wse-train %s\n", wse_version());
			return 1;
		case 'i':
			a->prompt = optarg;
			/* one too many is an error of the configuration */
			if (a->nprompts <= WSE_PROMPTS)
				a->prompts[a->nprompts++].text = optarg;
			break;
		case 'I':
			a->prompt_file = optarg;
			break;
		case 'v':
			a->verify = optarg;
			break;
		case 'V':
			a->verify_uri = optarg;
			break;
		case 'r':
			a->require = optarg;
			break;
		case 'k':
			a->check = optarg;
			break;
		case 'K':
			a->steps = optarg;
			break;
		case 'T':
			a->tokenize = optarg;
			break;
		case 'Z':
			a->tokenizer = optarg;
			break;
		case 'O':
			a->out = optarg;
			break;
		case 'l':
			a->launch = optarg;
			take_away(argv);
			break;
		case 'R':
			if (to_number(optarg, 0, UINT32_MAX, &a->restarts))
				return 1 + bad_usage("--restart takes a number");
			take_away(argv);
			break;
		case 'N':
			if (to_number(optarg, 1, 1024, &a->ranks))
				return 1 + bad_usage("--ranks takes a number from 1 to 1024");
			break;
		case 'h':
			fputs(usage, stdout);
			return 1;
		default:
			/* of several letters in a word getopt has not passed the word yet */
			if (optind < argc && argv[optind] == word)
				optind++;
			snprintf(text, sizeof(text),
				 o == ':' ? "%.60s needs a value"
					  : "%.60s is no option, or takes no value",
				 argv[optind - 1]);
			return 1 + bad_usage(text);
		}
	}
	if (optind < argc)
		return 1 + bad_usage("everything is given by an option");
	if (a->num_wse > MAX_URIS && !is_paper(a))
		return 1 + bad_usage("--num_wse takes a number from 1 to 64; to 192 with --plan "
				     "--devices plan:...");
	if (a->devices && !strncmp(a->devices, "plan:", 5) && !a->plan && !a->validate)
		return 1 + bad_usage("--devices plan:... is for --plan: nothing runs on it");
	if (a->tokenize && (!a->tokenizer || !a->out || a->params))
		return 1 + bad_usage("--tokenize takes --tokenizer DIR and --out FILE.bin, and no "
				     "--params");
	if (!a->tokenize && a->out)
		return 1 + bad_usage("--out is an option of --tokenize");
	if (!a->params && !a->tokenize)
		return 1 + bad_usage("--params is missing");
	if (a->launch && !a->launch[strspn(a->launch, " \t")])
		return 1 + bad_usage("--launch takes a command, as \"mpirun -n 4\"");
	if (a->ranks && !a->plan)
		return 1 + bad_usage("--ranks is an option of --plan; to start ranks: --launch "
				     "\"mpirun -n 4\"");
	if (a->restarts && (!a->launch || !a->model_dir))
		return 1 + bad_usage("--restart needs --launch, and --model_dir, where checkpoints "
				     "appear");
	if (a->restarts && a->nsets == MAX_SETS)
		return 1 + bad_usage("too many --set: --restart has one of its own");
	if (a->require && strcmp(a->require, "mean") && below_unigram(a->require) < 0.0)
		return 1 + bad_usage("--require takes unigram, unigram-NATS or mean");
	return 0;
}

int read_steps(const char *text, uint64_t *from, uint64_t *to)
{
	char *end;

	errno = 0;
	*from = strtoull(text, &end, 10);
	if (end == text || strspn(text, "0123456789.") != strlen(text) || strncmp(end, "..", 2))
		return -EINVAL;
	text = end + 2;
	*to = strtoull(text, &end, 10);
	return end == text || *end || errno || *from >= *to ? -EINVAL : 0;
}

int read_verify(const char *list, uint64_t *steps, uint32_t *n)
{
	while (list && *list) {
		char *end;
		unsigned long long k = strtoull(list, &end, 10);

		if (end == list || !k || (*end && *end != ',') || *n == WSE_VERIFY_MAX)
			return -EINVAL;
		steps[(*n)++] = k;
		list = *end ? end + 1 : end;
	}
	return 0;
}

/* of a file that can be read whole: bytes of all, -errno with a line on stderr */
static ssize_t read_whole(const char *path, char *text, size_t room)
{
	FILE *f = fopen(path, "rb");
	size_t n = f ? fread(text, 1, room, f) : 0;
	int err = !f || ferror(f) ? errno : n == room ? EFBIG : 0;

	if (f)
		fclose(f);
	if (err == EFBIG)
		fprintf(stderr, "wse-train: --prompt-file %s: more than %zu bytes of prompts\n",
			path, room - 1);
	else if (err)
		fprintf(stderr, "wse-train: --prompt-file %s: %s\n", path, strerror(err));
	return err ? -err : (ssize_t)n;
}

/* a line is a prompt, also an empty one; the last one may lack its newline */
static int read_lines(struct args *a)
{
	static char text[PROMPTS_ROOM + 1];
	ssize_t n = read_whole(a->prompt_file, text, PROMPTS_ROOM);
	char *at = text, *end = text + n, *stop;
	const char *wrong = n ? NULL : "is empty: give a prompt a line";

	if (n < 0)
		return (int)n;
	a->nprompts = 0;
	for (; at < end && !wrong; at = stop + 1) {
		stop = memchr(at, '\n', (size_t)(end - at));
		stop = stop ? stop : end;
		*stop = 0;
		if (a->nprompts == WSE_PROMPTS)
			wrong = "one line too many: at most 64 prompts";
		else if (stop - at >= MAX_PROMPT)
			wrong = "a prompt is less than 4096 bytes";
		else
			a->prompts[a->nprompts++] = (struct wse_prompt){at, (size_t)(stop - at)};
	}
	if (wrong && n)
		fprintf(stderr, "wse-train: --prompt-file %s, line %u: %s\n", a->prompt_file,
			a->nprompts + 1, wrong);
	else if (wrong)
		fprintf(stderr, "wse-train: --prompt-file %s %s\n", a->prompt_file, wrong);
	a->prompt = a->prompts[0].text;
	a->prompt_len = a->prompts[0].len;
	return wrong ? -EINVAL : 0;
}

int read_prompt(struct args *a)
{
	static char text[MAX_PROMPT + 1];
	ssize_t n = 1;

	if (a->prompt_file)
		return read_lines(a);
	for (uint32_t i = 0; i < a->nprompts && a->nprompts > 1; i++)
		if (!strcmp(a->prompts[i].text, "-")) {
			fprintf(stderr, "wse-train: --prompt - is the only one, or none of them\n");
			return -EINVAL;
		}
	if (!a->prompt || strcmp(a->prompt, "-"))
		return 0;
	while (a->prompt_len < MAX_PROMPT && n > 0) {
		n = read(STDIN_FILENO, text + a->prompt_len, MAX_PROMPT - a->prompt_len);
		if (n < 0 && errno == EINTR)
			n = 1;
		else
			a->prompt_len += n > 0 ? (size_t)n : 0;
	}
	if (n < 0)
		fprintf(stderr, "wse-train: --prompt -: %s\n", strerror(errno));
	a->prompt = text;
	return n < 0 ? -errno : 0;
}

int set_mode(const char *name, enum wse_mode *mode)
{
	static const char *const names[] = {"train",	"eval", "train_and_eval",
					    "generate", "",	"eval_all"};

	*mode = WSE_MODE_TRAIN_AND_EVAL;
	for (unsigned int i = 0; name && *name && i < 6; i++)
		if (!strcmp(name, names[i])) {
			*mode = (enum wse_mode)i;
			return 0;
		}
	return name ? -EINVAL : 0;
}

int is_forward(enum wse_mode mode)
{
	return mode == WSE_MODE_EVAL || mode == WSE_MODE_EVAL_ALL || mode == WSE_MODE_GENERATE;
}

int check_args(const struct args *a, enum wse_mode mode)
{
	if (a->require && (mode == WSE_MODE_TRAIN || mode == WSE_MODE_GENERATE))
		return bad_usage("--require needs a held-out loss: --mode train_and_eval or eval");
	if (a->verify && is_forward(mode))
		return bad_usage("--verify-steps replays training steps: --mode train or "
				 "train_and_eval");
	if (a->check && (a->mode || a->verify || a->require || a->model_dir || a->max_steps))
		return bad_usage("--check makes steps of another run again, and takes no --mode, "
				 "--model_dir, --max_steps, --verify-steps or --require");
	if (a->prompt_file && a->nprompts)
		return bad_usage("--prompt-file has all prompts: take --prompt away");
	if (!a->check != !a->steps)
		return bad_usage("--check F and --steps A..B belong together");
	if (a->verify_uri && !a->verify)
		return bad_usage("--verify-device replays nothing without --verify-steps");
	return 0;
}
