// SPDX-License-Identifier: MIT
/*
 * The weights as a folder of Hugging Face's, in files of a size: read back bit for bit, by any
 * number of ranks, killed at any moment, on a full disk, beside files of the user's.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "input/hf_config.h"
#include "memx/safetensors.h"
#include "ranks.h"
#include "state.h"
#include "tap.h"
#include "train/export.h"
#include "train/loop.h"
#include "train/ranks.h"
#define OWN_DIR "/dev/shm/wse-test-XXXXXX"
#include "own_dir.h"

static const char yaml[] =
	"trainer:\n"
	"  init:\n"
	"    model: {name: gpt2, hidden_size: 8, num_hidden_layers: 2, num_heads: 2, filter_size: 16,\n"
	"            max_position_embeddings: 16}\n"
	"    optimizer: {AdamW: {}}\n"
	"    schedulers: [{ConstantLR: {learning_rate: 1.0e-2}}]\n"
	"    loop: {max_steps: 2}\n"
	"    sampling: {bytes: 0}\n"
	"  fit:\n"
	"    train_dataloader: {batch_size: 4, micro_batch_size: 1, data_dir: TEXT}\n"
	"    val_dataloader: {held_out_bytes: 256}\n";

static const char *const uri = "oracle:rows=1,cols=2";

static const char *const models[] = {
	NULL,
	"model={name: gptj, hidden_size: 16, num_hidden_layers: 2, num_heads: 2, filter_size: 32,"
	" max_position_embeddings: 16, rotary_dim: 4}",
	"model={name: gpt_neox, hidden_size: 16, num_hidden_layers: 2, num_heads: 2,"
	" filter_size: 32, max_position_embeddings: 16, rotary_dim: 4}",
	"model={name: llama, hidden_size: 16, num_hidden_layers: 2, num_heads: 2, filter_size: 32,"
	" max_position_embeddings: 16}",
	"model={name: gpt2, hidden_size: 16, num_hidden_layers: 2, num_heads: 2, filter_size: 64,"
	" max_position_embeddings: 16, nonlinearity: gelu_new, position_embedding_type: alibi,"
	" embedding_layer_norm: true, share_embedding_weights: true}",
	"model={name: mpt, hidden_size: 16, num_hidden_layers: 4, num_heads: 2, filter_size: 64,"
	" max_position_embeddings: 16, position_embedding_type: alibi, use_ffn_bias: false,"
	" norm_type: biasless-layernorm, use_projection_bias_in_attention: false,"
	" use_ffn_bias_in_attention: false}",
};

static int read_cfg(struct wse_config *cfg, const char *const *sets, uint32_t n)
{
	int ret = wse_config_parse("test", yaml, sizeof(yaml) - 1, sets, n, cfg);

	snprintf(cfg->data, sizeof(cfg->data), "%s/text", dir);
	snprintf(cfg->model_dir, sizeof(cfg->model_dir), "%s/run", dir);
	return ret;
}

static void open_session(struct wse_session *s, const char *set)
{
	struct wse_config cfg;

	if (read_cfg(&cfg, &set, set != NULL) || wse_session_open(s, &cfg, &uri, 1, NULL)) {
		printf("Bail out! %s\n", wse_error());
		exit(1);
	}
}

static int steps(struct wse_session *s, int n)
{
	struct wse_step_result r;
	int ret = 0;

	for (int i = 0; i < n && !ret; i++) {
		ret = wse_session_compute(s, &r);
		ret = ret ? ret : wse_session_commit(s, &r);
	}
	return ret ? ret : wse_memx_finish(s->memx);
}

/* does a session that takes its weights from the folder have these? */
static int same(const char *folder, const char *set, const struct state *want)
{
	struct wse_session s;
	struct state m;
	int ret;

	open_session(&s, set);
	ret = wse_session_load(&s, folder, WSE_CKPT_MODEL);
	m = state_of(s.memx);
	ret = !ret && !memcmp(m.params, want->params, m.table->params * sizeof(*m.params));
	state_free(&m);
	wse_session_close(&s);
	return ret;
}

/* files of a folder: how many, and whether each is at most `most`, or of one tensor */
static int sizes(const char *folder, uint64_t most, uint32_t want)
{
	struct wse_st_file f;
	int good = !wse_st_open(folder, &f);

	if (!good)
		return 0;
	good = (f.nshards ? f.nshards : 1) == want;
	for (uint32_t i = 0; i < f.nshards; i++) {
		uint64_t n = 0;

		for (uint32_t k = 0; k < f.shards[i].nviews; k++)
			n += f.shards[i].views[k].bytes;
		good &= n <= most || f.shards[i].nviews == 1;
	}
	wse_st_close(&f);
	return good;
}

static void families(void)
{
	static const uint64_t most[] = {1, 1200, 5000, 1u << 30};
	char folder[300];

	for (uint32_t m = 0; m < sizeof(models) / sizeof(*models); m++) {
		struct wse_session s;
		struct state now;
		uint32_t files = 0, last = UINT32_MAX;
		int good = 1;

		open_session(&s, models[m]);
		good &= !steps(&s, 1);
		now = state_of(s.memx);
		snprintf(folder, sizeof(folder), "%s/family-%u", dir, m);
		for (uint32_t i = 0; i < 4 && good; i++) {
			good &= !wse_session_export(&s, folder, most[i], 0, &files);
			good &= sizes(folder, most[i], files) && same(folder, models[m], &now);
			good &= files < last && (i || files > 20) && (i < 3 || files == 1);
			last = files;
			if (!good)
				printf("# %llu bytes: %u files: %s\n", (unsigned long long)most[i],
				       files, wse_error());
		}
		ok(good, "model %u: files of 1 byte to 1 GiB, read back bit for bit", m);
		state_free(&now);
		wse_session_close(&s);
	}
}

/* BLOOM's names, queries, keys and values head by head, and a model by its config.json */
static void bloom(void)
{
	enum { H = 16, D = 8 };
	static const char qkv[] = "transformer.h.1.self_attention.query_key_value.weight";
	static float file[3 * H * H], mine[3 * H * H];
	char folder[300], set[400];
	const struct wse_st_view *v = NULL;
	struct wse_st_file f = {0};
	struct wse_session s;
	struct wse_config c;
	const char *sets[] = {set};
	uint32_t files, wrong = 0;
	int ret;

	snprintf(folder, sizeof(folder), "%s/bloom", dir);
	open_session(&s, models[4]);
	ret = wse_session_export(&s, folder, 1u << 30, 0, &files);
	ret = ret ? ret : wse_st_open(folder, &f);
	ok(!ret && wse_st_view(&f, "transformer.word_embeddings.weight") &&
		   wse_st_view(&f, "transformer.word_embeddings_layernorm.bias") &&
		   wse_st_view(&f, "transformer.h.0.input_layernorm.weight") &&
		   wse_st_view(&f, "transformer.h.0.self_attention.dense.bias") &&
		   wse_st_view(&f, "transformer.h.1.post_attention_layernorm.weight") &&
		   wse_st_view(&f, "transformer.h.1.mlp.dense_h_to_4h.weight") &&
		   wse_st_view(&f, "transformer.h.1.mlp.dense_4h_to_h.bias") &&
		   wse_st_view(&f, "transformer.ln_f.bias") && f.nviews == 1 + 2 + 2 * 12 + 2,
	   "BLOOM's names: %u tensors %s", f.nviews, ret ? wse_error() : "");
	v = ret ? NULL : wse_st_view(&f, qkv);
	ret = v ? wse_st_pread(v, 0, sizeof(file), file) : -ENOENT;
	for (uint32_t i = 0; i < s.table->n && !ret; i++)
		if (!strcmp(s.table->t[i].name, qkv))
			ret = wse_memx_read(s.memx, WSE_MEMX_P, i, 0, 3 * H * H, mine);
	for (uint32_t row = 0; row < 3 * H; row++) {
		uint32_t head = row / (3 * D), part = row / D % 3, at = row % D;

		wrong += memcmp(file + row * H, mine + (part * H + head * D + at) * H,
				H * sizeof(*file)) != 0;
	}
	ok(!ret && !wrong && mine[0] != 0.0f, "query_key_value is [head][3][d]: %u rows are not",
	   wrong);
	wse_st_close(&f);
	wse_session_close(&s);
	snprintf(set, sizeof(set), "model={config: %s}", folder);
	ret = read_cfg(&c, sets, 1);
	ok(!ret && wse_gpt(&c.model)->alibi && wse_gpt(&c.model)->embed_norm &&
		   wse_gpt(&c.model)->filter == 64 && wse_gpt(&c.model)->tied &&
		   !wse_hf_config_check(folder, &c.model),
	   "a model by its config.json %s", ret ? wse_error() : "");
}

/* ---- with moments ---- */

/* does a session that goes on from the folder have these parameters and moments? */
static int same_state(const char *folder, const char *set, const struct state *want)
{
	struct wse_session s;
	struct state m;
	size_t bytes;
	int ret;

	open_session(&s, set);
	ret = wse_session_load(&s, folder, WSE_CKPT_ALL);
	m = state_of(s.memx);
	bytes = m.table->params * sizeof(float); /* that of `want` may be gone */
	ret = !ret && !memcmp(m.params, want->params, bytes) && !memcmp(m.m, want->m, bytes) &&
	      !memcmp(m.v, want->v, bytes);
	state_free(&m);
	wse_session_close(&s);
	return ret;
}

static const char sparse[] = "sparsity=0.5";

/* a folder of a whole state is the checkpoint of one file: its hash, and the run that goes on */
static void whole_states(void)
{
	static const uint64_t most[] = {1, 1200, 5000, 1u << 30};
	char folder[300], one[300], hash[2][65];

	for (uint32_t m = 0; m < 7; m++) {
		const char *set = m < 6 ? models[m] : sparse;
		uint32_t files = 0, last = UINT32_MAX;
		struct wse_session s;
		struct state now;
		int good = 1;

		open_session(&s, set);
		good &= !steps(&s, 2);
		now = state_of(s.memx);
		snprintf(one, sizeof(one), "%s/one-%u.safetensors", dir, m);
		snprintf(folder, sizeof(folder), "%s/whole-%u", dir, m);
		good &= !wse_session_save(&s, one, NULL) && !wse_ckpt_hash(one, hash[0]);
		for (uint32_t i = 0; i < 4 && good; i++) {
			good &= !wse_session_export(&s, folder, most[i], 1, &files);
			good &= sizes(folder, most[i], files) && same_state(folder, set, &now);
			good &= same(folder, set, &now);
			good &= !wse_ckpt_hash(folder, hash[1]) && !strcmp(hash[0], hash[1]);
			good &= files < last && (i || files > 60) && (i < 3 || files == 1);
			last = files;
			if (!good)
				printf("# %llu bytes: %u files: %s\n", (unsigned long long)most[i],
				       files, wse_error());
		}
		ok(good, "model %u with moments: files of 1 byte to 1 GiB, the hash of one file",
		   m);
		state_free(&now);
		wse_session_close(&s);
	}
}

/* two steps, a folder, and two more from it: those of a run that did not stop */
static void goes_on(void)
{
	char folder[300], hash[2][65];
	struct wse_session s;
	uint32_t files;
	int ret;

	snprintf(folder, sizeof(folder), "%s/on", dir);
	open_session(&s, NULL);
	ret = steps(&s, 2);
	ret = ret ? ret : wse_session_export(&s, folder, 3000, 1, &files);
	ret = ret ? ret : steps(&s, 2);
	ret = ret ? ret : wse_session_save(&s, in_dir("four.safetensors"), NULL);
	ret = ret ? ret : wse_ckpt_hash(in_dir("four.safetensors"), hash[0]);
	wse_session_close(&s);
	open_session(&s, NULL);
	ret = ret ? ret : wse_session_load(&s, folder, WSE_CKPT_ALL);
	ret = ret ? ret : steps(&s, 2);
	ret = ret ? ret : wse_session_save(&s, in_dir("four.safetensors"), NULL);
	ret = ret ? ret : wse_ckpt_hash(in_dir("four.safetensors"), hash[1]);
	ok(!ret && files > 3 && !strcmp(hash[0], hash[1]),
	   "a run goes on from %u files, to the hash of one that did not stop %s", files,
	   ret ? wse_error() : "");
	wse_session_close(&s);
}

/* a file of another step, which has the same tensors; an export of the weights alone */
static void mixed(void)
{
	char folder[300], other[300], cmd[1400];
	struct wse_session s;
	uint32_t files[2];
	int ret;

	snprintf(folder, sizeof(folder), "%s/mixed", dir);
	snprintf(other, sizeof(other), "%s/mixed-2", dir);
	open_session(&s, NULL);
	ret = steps(&s, 1);
	ret = ret ? ret : wse_session_export(&s, folder, 5000, 1, &files[0]);
	ret = ret ? ret : steps(&s, 1);
	ret = ret ? ret : wse_session_export(&s, other, 5000, 1, &files[1]);
	snprintf(cmd, sizeof(cmd), "cp %s/model-00002-of-%05u.safetensors %s", other, files[1],
		 folder);
	ok(!ret && files[0] == files[1] && !system(cmd) &&
		   wse_session_load(&s, folder, WSE_CKPT_ALL) == -EBADMSG &&
		   strstr(wse_error(), "are of two checkpoints: their metadata differs"),
	   "a file of another step: %s", wse_error());
	ret = wse_session_export(&s, folder, 5000, 0, &files[0]);
	ok(!ret && wse_session_load(&s, folder, WSE_CKPT_ALL) == -EINVAL &&
		   strstr(wse_error(), "it is no checkpoint of a run"),
	   "weights alone: %s", wse_error());
	wse_session_close(&s);
}

/* ---- a kill, a full disk, other files ---- */

/* exports of two states in turns, with moments or without, until the parent ends it */
static void export_on(const char *folder, int whole)
{
	uint32_t files;
	struct wse_session s;

	open_session(&s, NULL);
	while (!wse_session_export(&s, folder, 1500, whole, &files))
		if (steps(&s, 1) || wse_session_export(&s, folder, 3000, whole, &files) ||
		    wse_session_load(&s, in_dir("start.safetensors"), WSE_CKPT_ALL))
			break;
	fprintf(stderr, "# %s\n", wse_error());
	_exit(1);
}

static void killed(int whole)
{
	struct wse_session s;
	struct state one, two;
	char folder[300];
	int good = 0, states[2] = {0}, status;

	snprintf(folder, sizeof(folder), "%s/killed-%d", dir, whole);
	open_session(&s, NULL);
	one = state_of(s.memx);
	good = !wse_session_save(&s, in_dir("start.safetensors"), NULL) && !steps(&s, 1);
	two = state_of(s.memx);
	wse_session_close(&s);
	for (int i = 0; i < 12 && good; i++) {
		pid_t pid = fork();
		struct stat sb;

		if (!pid)
			export_on(folder, whole);
		for (int w = 0; w < 2000 && stat(folder, &sb); w++)
			usleep(5000);
		usleep(17000 * (unsigned int)i + 500);
		kill(pid, SIGKILL);
		good &= waitpid(pid, &status, 0) == pid && WIFSIGNALED(status);
		if ((whole ? same_state : same)(folder, NULL, &one))
			states[0]++;
		else if ((whole ? same_state : same)(folder, NULL, &two))
			states[1]++;
		else
			good = 0;
	}
	ok(good && states[0] + states[1] == 12,
	   "12 kills%s: the export is a whole one, %d and %d%s", whole ? ", with moments" : "",
	   states[0], states[1], good ? "" : wse_error());
	state_free(&one);
	state_free(&two);
}

static void refused(void)
{
	const struct rlimit small = {2000, RLIM_INFINITY}, all = {RLIM_INFINITY, RLIM_INFINITY};
	struct wse_session s;
	struct state one;
	char folder[300], tmp[310];
	uint32_t files;
	struct stat sb;
	FILE *f;
	int ret;

	signal(SIGXFSZ, SIG_IGN);
	snprintf(folder, sizeof(folder), "%s/full", dir);
	snprintf(tmp, sizeof(tmp), "%s.tmp", folder);
	open_session(&s, NULL);
	one = state_of(s.memx);
	ret = wse_session_export(&s, folder, 1500, 0, &files);
	ret = ret ? ret : steps(&s, 1);
	setrlimit(RLIMIT_FSIZE, &small);
	ok(!ret && wse_session_export(&s, folder, 1500, 0, &files) == -EFBIG &&
		   strstr(wse_error(), "/full: "),
	   "no room: %s", wse_error());
	setrlimit(RLIMIT_FSIZE, &all);
	ok(same(folder, NULL, &one) && stat(tmp, &sb), "the old export stays, nothing else does");
	snprintf(tmp, sizeof(tmp), "%s/mine.txt", folder);
	f = fopen(tmp, "w");
	fclose(f);
	ok(wse_session_export(&s, folder, 1500, 0, &files) == -EEXIST &&
		   strstr(wse_error(), "mine.txt, which is no export's") && !stat(tmp, &sb) &&
		   same(folder, NULL, &one),
	   "%s", wse_error());
	state_free(&one);
	wse_session_close(&s);
}

/* the folder is a link to one elsewhere: that one is replaced, now and the next time */
static void linked(void)
{
	struct wse_session s;
	struct state now;
	char folder[300], far[300], tmp[310];
	uint32_t files;
	struct stat sb;
	int ret = 0;

	snprintf(folder, sizeof(folder), "%s/link", dir);
	snprintf(far, sizeof(far), "%s/far", dir);
	snprintf(tmp, sizeof(tmp), "%s.tmp", folder);
	open_session(&s, NULL);
	ok(!symlink("far", folder) && wse_session_export(&s, folder, 1u << 30, 0, &files) &&
		   strstr(wse_error(), "leads to no folder"),
	   "%s", wse_error());
	ret = mkdir(far, 0777);
	for (int i = 0; i < 3 && !ret; i++) {
		ret = steps(&s, 1);
		ret = ret ? ret : wse_session_export(&s, folder, 1u << 30, 0, &files);
	}
	now = state_of(s.memx);
	ok(!ret && !lstat(folder, &sb) && S_ISLNK(sb.st_mode) && same(far, NULL, &now),
	   "three exports by a link: it stays, and the folder has the last one");
	ok(lstat(tmp, &sb), "nothing is left beside the link");
	snprintf(folder, sizeof(folder), "%s/beside", dir);
	snprintf(tmp, sizeof(tmp), "%s.tmp", folder);
	ok(!symlink("far", tmp) &&
		   wse_session_export(&s, folder, 1u << 30, 0, &files) == -ENOTDIR &&
		   strstr(wse_error(), "beside.tmp is a symbolic link: remove it") &&
		   same(far, NULL, &now),
	   "%s", wse_error());
	state_free(&now);
	wse_session_close(&s);
}

/* ---- runs ---- */

static void line(void *ctx, enum wse_log_level level, const char *text)
{
	(void)level;
	if (strstr(text, "| Exported"))
		snprintf(ctx, 300, "%s", text);
}

struct job {
	char said[300];
	const char *name, *model;
	int whole;
	struct wse_run_result res;
};

static void *one_rank(void *arg)
{
	struct rank *me = arg;
	struct job *j = me->arg;
	const char *sets[] = {"checkpoint.max_shard_size=2KB",
			      j->whole ? "checkpoint.shard_checkpoint_states=all" : "seed=1",
			      j->model};
	char none[300];
	struct wse_run_ops ops = {.line = line, .line_ctx = me->rank ? none : j->said};
	struct wse_run run = {.mode = WSE_MODE_TRAIN, .uris = &uri, .nuris = 1};
	struct wse_run_result res;

	me->ret = read_cfg(&run.cfg, sets, 2 + !!j->model);
	snprintf(run.cfg.model_dir, sizeof(run.cfg.model_dir), "%s/%s", dir, j->name);
	if (!me->ret && me->ranks > 1)
		me->ret = wse_hosts_open(me->link, &run.hosts);
	else
		me->link->ops->close(me->link);
	me->ret = me->ret ? me->ret : wse_run(&run, &ops, me->rank ? &res : &j->res);
	snprintf(me->why, sizeof(me->why), "%s", wse_error());
	return NULL;
}

static void runs(void)
{
	struct rank r[RANKS_MAX];
	char cmd[900];

	for (uint32_t m = 0; m < 3; m += 2)
		for (uint32_t ranks = 1; ranks <= 3; ranks++) {
			char name[40];
			struct job j = {.name = name, .model = models[m], .whole = m == 0};
			char hash[65] = "";
			int bad;

			snprintf(name, sizeof(name), "run-%u-%u", m, ranks);
			bad = all_ranks(ranks, one_rank, &j, r);
			snprintf(cmd, sizeof(cmd), "diff -r %s/run-%u-1/model %s/%s/model", dir, m,
				 dir, name);
			ok(!bad && !system(cmd) && strstr(j.said, "/model: "), "%u ranks: %s",
			   ranks, j.said);
			if (!j.whole)
				continue;
			snprintf(cmd, sizeof(cmd), "%s/%s/model", dir, name);
			ok(!wse_ckpt_hash(cmd, hash) && !strcmp(hash, j.res.hash),
			   "%u ranks: the folder has the run's hash", ranks);
		}
}

static void size(const char *text, int good, uint64_t bytes)
{
	static struct wse_config c;
	char set[100];
	const char *sets[] = {set};
	int ret;

	snprintf(set, sizeof(set), "checkpoint.max_shard_size=%s", text);
	ret = read_cfg(&c, sets, 1);
	ok(good ? !ret && c.max_shard == bytes : ret == -EINVAL && strstr(wse_error(), "such as"),
	   "max_shard_size %s: %s", text, ret ? wse_error() : "");
}

int main(void)
{
	static struct wse_config c;
	const char *mlp[] = {"model={name: mlp, window: 8, embedding_size: 8, hidden_sizes: [32],"
			     " nonlinearity: gelu}",
			     "checkpoint.max_shard_size=1GB"};
	FILE *f;

	if (!mkdtemp(dir))
		return 1;
	f = fopen(in_dir("text"), "w");
	for (int i = 0; i < 900; i++)
		fprintf(f, "%d green bottles\n", i * i);
	fclose(f);
	size("5GB", 1, 5000000000);
	size("2GiB", 1, 2147483648);
	size("300KB", 1, 300000);
	size("4096", 1, 4096);
	size("1TiB", 1, 1ull << 40);
	size("5 GB", 0, 0);
	size("5gigabytes", 0, 0);
	size("-5GB", 0, 0);
	size("0GB", 0, 0);
	size("99999999999999TB", 0, 0);
	size("[5GB]", 0, 0);
	ok(read_cfg(&c, mlp, 2) == -EINVAL && strstr(wse_error(), "transformers has"), "%s",
	   wse_error());
	families();
	whole_states();
	goes_on();
	mixed();
	bloom();
	refused();
	linked();
	killed(0);
	killed(1);
	runs();
	ok(!dir_remove(), "cleaned up");
	return tap_end();
}
