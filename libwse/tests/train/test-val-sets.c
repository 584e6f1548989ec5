// SPDX-License-Identifier: MIT
/*
 * Several held-out sets: fit.val_dataloader as a list. What is read and refused, and runs that
 * evaluate on all of them: the losses of runs with one set each, on any devices and ranks.
 */
#include <math.h>
#include <sys/stat.h>

#include "input/config.h"
#include "output/metrics.h"
#include "ranks.h"
#include "tap.h"
#define OWN_DIR "/dev/shm/wse-test-XXXXXX"
#include "whole_run.h"

enum { SETS = 3, EVALS = 3 /* steps 0, 2, 4 */, STEPS = 4 };

static const char *const names[SETS] = {"validate_0", "own", "cut.out-2"};
static char texts[2][300]; /* files */

/* ---- parameter files ---- */

static int read_sets(const char *list, struct wse_config *c, struct wse_faults *f)
{
	char set[2000];
	const char *sets[] = {set};
	struct wse_config_source src = {
		.name = "f.yaml", .text = yaml, .size = strlen(yaml), .sets = sets, .nsets = 1};

	snprintf(set, sizeof(set), "val_dataloader=%s", list);
	return wse_config_read(&src, c, f);
}

static void refused(const char *list, const char *says)
{
	static struct wse_faults f;
	static struct wse_config c;
	int ret = read_sets(list, &c, &f);

	ok(ret == -EINVAL && f.n == 1 && strstr(f.f[0].text, says), "%s: %s", list,
	   f.n ? f.f[0].text : "it was taken");
}

static void files(void)
{
	static struct wse_faults f;
	static struct wse_config c;
	char many[2000] = "[";
	int ret = read_sets("[{data_dir: a, batch_size: 7}, {name: b, held_out_bytes: 9}]", &c, &f);

	ok(!ret && c.nval == 2 && !strcmp(c.val[0].name, "validate_0") &&
		   !strcmp(c.val[1].name, "b") && !strcmp(c.val[0].data, "a") &&
		   !c.val[1].data[0] && c.val[0].batch == 7 && !c.val[1].batch &&
		   c.val[1].held_out == 9,
	   "two sets%s%s", ret ? ": " : "", ret ? f.f[0].text : "");
	ret = read_sets("[{held_out_bytes: 9}]", &c, &f);
	ok(!ret && c.nval == 1 && !c.val[0].name[0] && c.val[0].held_out == 9,
	   "a list of one is as one without a list");
	ret = read_sets("[]", &c, &f);
	ok(!ret && c.nval == 1 && !c.val[0].data[0] && c.val[0].held_out == 2048,
	   "an empty list is as none");
	refused("[{data_dir: a}, {}, {held_out_bytes: 7}]",
		"val_dataloader.2 and validate_1 are both cut out of the text");
	refused("[{name: x, data_dir: a}, {name: x, data_dir: b}]",
		"val_dataloader.1.name has the name x, as another one before it");
	refused("[{data_dir: a, name: validate_1}, {data_dir: b}]",
		"val_dataloader.1 has the name validate_1");
	refused("[{name: \"a,b\", data_dir: a}, {data_dir: b}]", "name must be of letters");
	refused("[{name: \"\", data_dir: a}, {data_dir: b}]", "name must be of letters");
	refused("[{name: a2345678901234567890123456789012345678901, data_dir: a}]", "name");
	refused("[{data_dir: a}, b]", "val_dataloader.1 must hold the keys");
	refused("[{data_dir: a, batchsize: 1}]", "val_dataloader.0.batchsize");
	for (int i = 0; i <= WSE_VAL_SETS; i++)
		sprintf(many + strlen(many), "%s{data_dir: d%d}", i ? ", " : "", i);
	refused(strcat(many, "]"), "val_dataloader.16 is one too many: at most 16");
}

/* ---- runs ---- */

struct job {
	const char *name, *list;
	const char *steps;
	uint32_t devices;
	int resume;
	int odd_rank; /* has `odd` for its list */
	const char *odd;
	uint32_t eval_steps;
	const char *also;
	struct wse_run_result res[RANKS_MAX];
	char why[1024]; /* of rank 0 */
	struct watch w[RANKS_MAX];
};

static void *one_rank(void *arg)
{
	struct rank *me = arg;
	struct job *j = me->arg;
	char list[2000], eval_steps[40];
	const char *sets[] = {list,
			      j->steps ? j->steps : "loop.max_steps=4",
			      "loop.eval_frequency=2",
			      "checkpoint.steps=2",
			      eval_steps,
			      j->also};

	snprintf(eval_steps, sizeof(eval_steps), "loop.eval_steps=%u", j->eval_steps);
	snprintf(list, sizeof(list), "val_dataloader=%s",
		 j->odd && (int)me->rank == j->odd_rank ? j->odd : j->list);
	j->w[me->rank].link = me->ranks > 1 ? me->link : NULL;
	if (me->ranks == 1)
		me->link->ops->close(me->link);
	me->ret = go(j->name, four, j->devices, sets, 5 + !!j->also, j->resume, &j->w[me->rank],
		     &j->res[me->rank]);
	snprintf(me->why, sizeof(me->why), "%s", wse_error());
	return NULL;
}

struct losses {
	uint32_t n;
	double at[SETS][STEPS + 2]; /* NaN: no row */
	uint32_t trained;
};

static int row(void *ctx, const struct wse_metric *m)
{
	struct losses *l = ctx;
	uint32_t set = 0;

	if (!m->held_out) {
		l->trained++;
		return m->set[0] ? -1 : 0;
	}
	while (m->set[0] && set < SETS && strcmp(m->set, names[set]))
		set++;
	if (set == SETS || m->step > STEPS + 1 || !isnan(l->at[set][m->step]))
		return -1;
	l->at[set][m->step] = m->loss;
	l->n++;
	return 0;
}

/* a run, and the evaluations in its metrics.csv; 0, or not with a line why */
static int losses_of(uint32_t ranks, struct job *j, struct losses *l)
{
	struct rank r[RANKS_MAX];
	char path[300];
	int bad = all_ranks(ranks, one_rank, j, r);

	memcpy(j->why, r[0].why, sizeof(j->why));
	for (uint32_t i = 0; i < SETS * (STEPS + 2); i++)
		l->at[i / (STEPS + 2)][i % (STEPS + 2)] = NAN;
	l->n = l->trained = 0;
	snprintf(path, sizeof(path), "%s/%s/metrics.csv", dir, j->name);
	if (!bad && wse_metrics_read(path, row, l))
		bad = printf("# %s: an odd row\n", path);
	return bad;
}

static int same_losses(const struct losses *a, const struct losses *b)
{
	int same = a->n == b->n && a->n;

	for (uint32_t i = 0; i < SETS; i++)
		for (uint32_t k = 0; k <= STEPS; k += 2)
			same &= a->at[i][k] == b->at[i][k];
	return same;
}

static char three[1600], one_of[SETS][500];

static void make_sets(void)
{
	FILE *f;

	for (int i = 0; i < 2; i++) {
		snprintf(texts[i], sizeof(texts[i]), "%s/held-%d", dir, i);
		f = fopen(texts[i], "w");
		for (int k = 0; k < 200 + 77 * i; k++)
			fprintf(f, i ? "held out %d\n" : "%d bottles of beer\n", k);
		fclose(f);
	}
	snprintf(one_of[0], sizeof(one_of[0]), "{data_dir: %s, held_out_bytes: 1500}", texts[0]);
	snprintf(one_of[1], sizeof(one_of[1]), "{name: own, data_dir: %s, held_out_bytes: 2000}",
		 texts[1]);
	snprintf(one_of[2], sizeof(one_of[2]), "{name: cut.out-2, held_out_bytes: 1000}");
	snprintf(three, sizeof(three), "[%s, %s, %s]", one_of[0], one_of[1], one_of[2]);
}

static void validated(const struct losses *all);

/* by the public calls: what a run says of its first weights */
static void from_c(const char *uri, const struct losses *all)
{
	char set[2000], file[300], text[300];
	const char *const sets[] = {set}, *name = NULL;
	const struct wse_override over = {.sets = sets, .nsets = 1, .data = text};
	struct wse_params *p;
	struct wse_trainer *t;
	uint64_t n = 0;
	double loss;
	FILE *f;
	int ret;

	snprintf(set, sizeof(set), "val_dataloader=%s", three);
	snprintf(file, sizeof(file), "%s/sets.yaml", dir);
	snprintf(text, sizeof(text), "%s/text", dir);
	f = fopen(file, "w");
	fputs(yaml, f);
	fclose(f);
	ret = wse_params_create(&p);
	ret = ret ? ret : wse_params_read(p, file, &over);
	ret = ret ? ret : wse_trainer_open(p, &uri, 1, NULL, NULL, &t);
	wse_params_destroy(p);
	if (ret) {
		ok(0, "a trainer with three sets: %s", wse_error());
		return;
	}
	for (uint32_t i = 0; i < SETS; i++) {
		ret = wse_trainer_eval_set(t, i, 0, &loss, &n, &name);
		ok(!ret && !strcmp(name, names[i]) && n > 100 && fabs(loss - all->at[i][0]) < 1e-4,
		   "wse_trainer_eval_set %u: %s, %llu samples, %.5f%s%s", i, name,
		   (unsigned long long)n, loss, ret ? ": " : "", ret ? wse_error() : "");
	}
	ret = wse_trainer_eval_set(t, SETS, 0, &loss, NULL, NULL);
	ok(ret == -ENOENT &&
		   strstr(wse_error(), "there is no held-out set 3: there are 3, from 0 on"),
	   "%s", wse_error());
	wse_trainer_close(t);
}

static void runs(void)
{
	struct job first = {.name = "first", .list = three, .devices = 1};
	struct losses all, l;
	char hash[65];
	int bad = losses_of(1, &first, &all);

	ok(!bad && all.n == SETS * EVALS && all.trained == STEPS &&
		   first.res[0].held_out == all.at[0][STEPS],
	   "three sets: %u evaluations, the result is the first one's", all.n);
	memcpy(hash, first.res[0].hash, sizeof(hash));
	for (uint32_t i = 0; i < SETS; i++) {
		struct job j = {.name = names[i], .list = one_of[i], .devices = 2};
		int same = 1;

		bad = losses_of(1, &j, &l);
		/* without what is cut out of the text other samples are trained on */
		for (uint32_t k = 0; k <= (i < 2 ? 0 : STEPS); k += 2)
			same &= l.at[i][k] == all.at[i][k];
		ok(!bad && l.n == EVALS && same, "%s alone: loss %.4f, and with the others",
		   names[i], l.at[i][0]);
	}
	for (uint32_t ranks = 1; ranks <= 3; ranks++) {
		struct job j = {.name = "many", .list = three, .devices = ranks == 2 ? 1 : 3};
		char cmd[200];

		bad = losses_of(ranks, &j, &l);
		ok(!bad && same_losses(&l, &all) && !strcmp(j.res[0].hash, hash),
		   "%u ranks of %u devices: the same losses of all sets, the same hash", ranks,
		   j.devices);
		snprintf(cmd, sizeof(cmd), "rm -r %s/many", dir);
		if (system(cmd))
			printf("# %s\n", cmd);
	}
	validated(&all);
	from_c(four[0], &all);
}

static void resumed(void)
{
	struct job j = {.name = "parts", .list = three, .devices = 1, .steps = "loop.max_steps=2"};
	struct losses once, l;
	struct job whole = {.name = "whole", .list = three, .devices = 1};
	struct rank r[RANKS_MAX];
	char path[300];
	int bad = losses_of(1, &whole, &once);

	bad |= losses_of(1, &j, &l);
	ok(!bad && l.n == 2 * SETS, "two of four steps");
	j.steps = NULL;
	j.resume = 1;
	bad = losses_of(2, &j, &l);
	ok(!bad && same_losses(&l, &once) && !strcmp(j.res[0].hash, whole.res[0].hash),
	   "gone on with by two ranks: rows and hash of a run without a break");
	j.list = one_of[2];
	j.steps = "loop.max_steps=5";
	bad = losses_of(1, &j, &l);
	ok(!bad && j.res[0].steps == 5 && l.n == once.n + 1 && l.at[2][5] > 0.0 &&
		   isnan(l.at[0][5]),
	   "it goes on with other sets, for what is cut out is the same");
	snprintf(path, sizeof(path), "fit.ckpt_path=%s/parts/checkpoint_5.safetensors", dir);
	j.resume = 0;
	j.also = path;
	j.steps = "loop.max_steps=6";
	j.w[0].listen = "Loading checkpoint";
	j.w[0].verify = 6;
	on_ranks(1, one_rank, &j, r);
	ok(!r[0].ret && j.res[0].steps == 6 && strstr(j.w[0].said, "checkpoint_5"),
	   "fit.ckpt_path is where a run begins %s", r[0].ret ? r[0].why : "");
}

/* what the lines of an evaluation say, in words and in numbers */
static void told(void)
{
	struct job j = {.name = "told", .list = three, .devices = 1};
	struct wse_event e = {.kind = WSE_EVENT_EVAL, .loss = 2.0, .samples = 5, .text = "own"};
	char text[600];
	struct losses l;
	int bad;

	j.w[0].listen = "Set=own";
	bad = losses_of(1, &j, &l);
	ok(!bad && strstr(j.w[0].said, ", Set=own, Loss=") && strstr(j.w[0].said, "held-out"), "%s",
	   j.w[0].said);
	ok(!wse_json_event(&e, text, sizeof(text)) && strstr(text, "\"samples\":5,\"set\":\"own\""),
	   "%s", text);
	snprintf(text, sizeof(text), "grep -q '>cut.out-2<' %s/told/loss.svg", dir);
	ok(!system(text), "loss.svg names the sets");
	j = (struct job){.name = "few", .devices = 1, .eval_steps = 3};
	snprintf(text, sizeof(text),
		 "[{data_dir: %s, batch_size: 7}, "
		 "{name: own, held_out_bytes: 1000}]",
		 texts[0]);
	j.list = text;
	j.w[0].listen = "Set=validate_0";
	bad = losses_of(1, &j, &l);
	ok(!bad && strstr(j.w[0].said, "Samples=21 "), "3 batches of 7: %s", j.w[0].said);
	j = (struct job){.name = "few-1", .devices = 1, .eval_steps = 3, .list = text};
	j.w[0].listen = "Set=own";
	bad = losses_of(1, &j, &l);
	ok(!bad && strstr(j.w[0].said, "Samples=288 "), "3 of the 96 of training: %s", j.w[0].said);
	j = (struct job){.devices = 1};
	j.name = "bad";
	j.list = "[{data_dir: /nowhere/at/all}, {}]";
	bad = losses_of(1, &j, &l);
	ok(bad && strstr(j.why, "/nowhere/at/all"), "a set that is not there: %s", j.why);
}

static void odd_rank(void)
{
	struct job j = {.name = "odd", .list = three, .devices = 1, .odd_rank = 1};
	struct rank r[RANKS_MAX];
	char odd[2000];

	/* as many samples, another text */
	snprintf(odd, sizeof(odd), "[%s, {name: own, data_dir: %s, held_out_bytes: 2000}, %s]",
		 one_of[0], texts[0], one_of[2]);
	j.odd = odd;
	on_ranks(2, one_rank, &j, r);
	ok(r[0].ret && r[1].ret && strstr(r[0].why, "held-out set 1 own, 2000 samples, checksum"),
	   "a rank with another held-out text: %s", r[0].why);
}

/* ---- checkpoints of a run, evaluated ---- */

static char evals[8000]; /* lines of them, and which checkpoints were loaded */

static void eval_line(void *ctx, enum wse_log_level level, const char *text)
{
	size_t n = strlen(evals);

	(void)ctx;
	(void)level;
	if (!strncmp(text, "| Eval", 6) || !strncmp(text, "| Loading", 9))
		snprintf(evals + n, sizeof(evals) - n, "%s\n", text);
}

/* which lines there are, each once */
static int line_of(uint64_t step, const char *set, double loss)
{
	char want[200], *at;

	snprintf(want, sizeof(want), "GlobalStep=%llu%s%s, Loss=%.5f, ", (unsigned long long)step,
		 *set ? ", Set=" : "", set, loss);
	at = strstr(evals, want);
	return at && !strstr(at + 1, want);
}

struct asked {
	const char *section; /* "trainer.validate=..." */
	int forward;
	enum wse_mode mode;
	const char *checkpoint;
	struct wse_faults f;
	struct wse_run run;
	struct wse_run_result res;
	uint32_t ranks;
	int ret[RANKS_MAX];
};

static void *ask(void *arg)
{
	struct rank *me = arg;
	struct asked *a = me->arg;
	struct wse_run_ops ops = {.line = eval_line};
	struct wse_run run = a->run;
	struct wse_run_result res;

	if (me->ranks > 1)
		me->ret = wse_hosts_open(me->link, &run.hosts);
	else
		me->link->ops->close(me->link);
	me->ret = me->ret ? me->ret : wse_run(&run, &ops, me->rank ? &res : &a->res);
	snprintf(me->why, sizeof(me->why), "%s", wse_error());
	return NULL;
}

/* 0, or an error that is wse_error() or in f */
static int evaluate(struct asked *a, const char *name, char why[1024])
{
	const char *sets[] = {a->section, "val_dataloader=[{data_dir: /nowhere}, {}]"};
	struct wse_config_source src = {.name = "f.yaml",
					.text = yaml,
					.size = strlen(yaml),
					.sets = sets,
					.nsets = 2,
					.forward = a->forward};
	struct rank r[RANKS_MAX] = {0};
	int ret = wse_config_read(&src, &a->run.cfg, &a->f);

	evals[0] = 0;
	snprintf(why, 1024, "%s", ret ? wse_error() : "");
	if (ret)
		return ret;
	a->run.cfg.forward = a->forward;
	snprintf(a->run.cfg.data, WSE_PATH, "%s/text", dir);
	snprintf(a->run.cfg.model_dir, WSE_PATH, "%s/%s", dir, name);
	a->run.mode = a->mode;
	a->run.uris = four;
	a->run.nuris = 1;
	a->run.checkpoint = a->checkpoint;
	on_ranks(a->ranks ? a->ranks : 1, ask, a, r);
	for (uint32_t i = 0; i < a->ranks && !ret; i++)
		ret = r[i].ret;
	ret = r[0].ret ? r[0].ret : ret;
	memcpy(why, r[0].why, sizeof(r[0].why));
	return ret;
}

static void validated(const struct losses *all)
{
	static struct asked a;
	static char section[2000];
	char why[1024], cmd[700];
	int ret;

	/* validate has sets and checkpoint of its own: fit's, which is not there, is not read */
	a = (struct asked){.section = section, .forward = 1, .mode = WSE_MODE_EVAL};
	snprintf(
		section, sizeof(section),
		"trainer.validate={val_dataloader: %s, ckpt_path: %s/first/checkpoint_2.safetensors}",
		one_of[0], dir);
	ret = evaluate(&a, "first", why);
	ok(!ret && line_of(2, "", all->at[0][2]) && a.res.held_out == all->at[0][2],
	   "validate: its set, its checkpoint %s", why);
	a.checkpoint = "auto";
	ret = evaluate(&a, "first", why);
	ok(!ret && line_of(4, "", all->at[0][4]), "another checkpoint by the option %s", why);
	a = (struct asked){.section = section, .forward = 2, .mode = WSE_MODE_EVAL_ALL};
	for (a.ranks = 1; a.ranks <= 2; a.ranks++) {
		snprintf(section, sizeof(section), "trainer.validate_all={val_dataloaders: %s}",
			 three);
		ret = evaluate(&a, "first", why);
		ok(!ret && line_of(2, names[0], all->at[0][2]) &&
			   line_of(2, names[1], all->at[1][2]) &&
			   line_of(2, names[2], all->at[2][2]) &&
			   line_of(4, names[0], all->at[0][4]) &&
			   line_of(4, names[1], all->at[1][4]) &&
			   line_of(4, names[2], all->at[2][4]) && a.res.held_out == all->at[0][4] &&
			   strstr(evals, "_2.saf") < strstr(evals, "_4.saf"),
		   "validate_all, %u ranks: all of the folder on each of three sets %s", a.ranks,
		   why);
	}
	a.ranks = 1;
	/* 10 behind 2, by number */
	snprintf(cmd, sizeof(cmd),
		 "cd %s/first && cp checkpoint_2.safetensors a-2.safetensors && "
		 "cp checkpoint_4.safetensors a-10.safetensors",
		 dir);
	snprintf(
		section, sizeof(section),
		"trainer.validate_all={val_dataloaders: %s, ckpt_paths: [%s/first/a-*.safetensors, "
		"%s/first/checkpoint_2.safetensors]}",
		one_of[1], dir, dir);
	ret = system(cmd) ? -1 : evaluate(&a, "first", why);
	ok(!ret && strstr(evals, "a-2.saf") < strstr(evals, "a-10.saf") &&
		   strstr(evals, "a-10.saf") < strstr(evals, "checkpoint_2.saf") &&
		   a.res.held_out == all->at[1][2],
	   "ckpt_paths: a pattern and a name, in their order %s", why);
	snprintf(section, sizeof(section),
		 "trainer.validate_all={val_dataloaders: %s, ckpt_paths: \"%s/first/b*\"}",
		 one_of[1], dir);
	ret = evaluate(&a, "first", why);
	ok(ret == -ENOENT && strstr(why, "/first/b*: no file has such a name"), "%s", why);
	snprintf(section, sizeof(section), "trainer.validate_all={val_dataloaders: {}}");
	ret = evaluate(&a, "empty", why);
	ok(ret == -ENOENT && strstr(why, "no checkpoint in"), "%s", why);
	a.mode = WSE_MODE_EVAL;
	ret = evaluate(&a, "first", why);
	ok(ret == -EINVAL && strstr(why, "forward 2 go together"), "%s", why);
}

static void not_validated(const char *section, int forward, const char *says)
{
	static struct asked a;
	char why[1024];
	int ret;

	a = (struct asked){.section = section, .forward = forward, .mode = WSE_MODE_EVAL};
	ret = evaluate(&a, "first", why);
	ok(ret == -EINVAL && strstr(why, says), "%s", why);
}

static void bad_sections(void)
{
	not_validated("trainer.validate={ckpt_path: x}", 1, "lacks the key \"val_dataloader\"");
	not_validated("trainer.validate={val_dataloader: {}, ckpt_path: null}", 1,
		      "ckpt_path is null, the initial weights");
	not_validated("trainer.validate={val_dataloader: {}, ckpt_paths: [x]}", 1,
		      "ckpt_paths is unknown (did you mean ckpt_path?)");
	not_validated("trainer.validate={val_dataloader: {}, ckpt_path: [x]}", 1, "ckpt_path must");
	not_validated("trainer.validate={val_dataloader: {}}", 2, "lacks the key \"validate_all\"");
	not_validated("trainer.validate_all={ckpt_paths: x}", 2,
		      "lacks the key \"val_dataloaders\"");
	not_validated("trainer.validate_all={val_dataloaders: {}, ckpt_paths: [{a: 1}]}", 2,
		      "must be the name of a checkpoint");
	not_validated("trainer.validate_all={val_dataloaders: {}, ckpt_paths: []}", 2,
		      "or a list of such");
}

int main(void)
{
	int ret;

	files();
	ret = make_text();
	if (ret)
		return ret < 0;
	make_sets();
	runs();
	bad_sections();
	resumed();
	told();
	odd_rank();
	return tap_end();
}
