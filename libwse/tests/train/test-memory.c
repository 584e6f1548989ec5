// SPDX-License-Identifier: MIT
/* The memory that --plan says against the peak of a run: within a tenth. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "ranks.h"
#include "ref/gpt_shards.h"
#include "tap.h"
#include "model/mlp.h"
#include "train/memory.h"
#include "train/network.h"
#include "train/plan_sparse.h"
#include "train/ranks.h"
#include "train/session.h"

#define GPT(shape, held)                                                               \
	"trainer:\n"                                                                   \
	"  init:\n"                                                                    \
	"    model: {name: gpt2, " shape "}\n"                                         \
	"    optimizer: {AdamW: {betas: [0.9, 0.95]}}\n"                               \
	"    schedulers: [{ConstantLR: {learning_rate: 3.0e-3}}]\n"                    \
	"    loop: {max_steps: 1, eval_frequency: 0}\n"                                \
	"    sampling: {bytes: 0}\n"                                                   \
	"  fit:\n"                                                                     \
	"    train_dataloader: {batch_size: 1, micro_batch_size: 1, data_dir: TEXT}\n" \
	"    val_dataloader: {held_out_bytes: " #held "}\n"
#define LAYERS(n, tokens)                                                  \
	GPT("hidden_size: 384, num_hidden_layers: " #n ", num_heads: 16, " \
	    "max_position_embeddings: " #tokens,                           \
	    512)
/*
 * Most of the memory is weights, so few tokens do; where it is not, more. On two ranks a sparse one
 * of four layers stays in memory.
 */
static const char gpt[] = LAYERS(4, 32), longer[] = LAYERS(4, 64), deeper[] = LAYERS(6, 64);

/* of four micro-batches two sums wait while the last is made */
static const char four[] = "train_dataloader.batch_size=4";

/* weights that are left out, and their moments, take no memory */
static const char sparse[] = "sparsity={sparsity: 0.75}";
static const char sparse_four[] = "both";
/* dense images lie as they are sent; with four micro-batches */
static const char order[] = "backend.image_order=linear", order_four[] = "order, and both";
static const char rigl[] =
	"sparsity={sparsity: 0.75, algorithm: rigl, drop_fraction: 0.3, update: {freq: 1}}";

/*
 * a block whose feed-forward network goes by chunks, so that two matrices' gradients are open at
 * once, and three images are taken by turns
 */
static const char chunks[] =
	"trainer:\n"
	"  init:\n"
	"    model: {name: gpt2, hidden_size: 1536, num_hidden_layers: 1, num_heads: 12,\n"
	"            max_position_embeddings: 32}\n"
	"    optimizer: {SGD: {}}\n"
	"    schedulers: [{ConstantLR: {learning_rate: 3.0e-3}}]\n"
	"    loop: {max_steps: 1, eval_frequency: 0}\n"
	"    sampling: {bytes: 0}\n"
	"  fit:\n"
	"    train_dataloader: {batch_size: 1, micro_batch_size: 1, data_dir: TEXT}\n"
	"    val_dataloader: {held_out_bytes: 512}\n";

/* blocks of the form of `make big`, on many cores, which keep what they decoded of their program */
#define BLOCK(hidden, heads)                                                          \
	GPT("hidden_size: " #hidden ", num_hidden_layers: 1, num_heads: " #heads ", " \
	    "max_position_embeddings: 128, nonlinearity: gelu",                       \
	    2048)
static const char block_64[] = BLOCK(64, 4), block_512[] = BLOCK(512, 8),
		  block_1024[] = BLOCK(1024, 16);

/* the weights of a large model, micro-batches of a small one */
static const char mlp[] =
	"trainer:\n"
	"  init:\n"
	"    model: {name: mlp, window: 8, embedding_size: 32, hidden_sizes: [1024, 2048, 2048]}\n"
	"    optimizer: {SGD: {momentum: 0.9}}\n"
	"    schedulers: [{ConstantLR: {learning_rate: 3.0e-3}}]\n"
	"    loop: {max_steps: 1, eval_frequency: 0}\n"
	"    sampling: {bytes: 0}\n"
	"  fit:\n"
	"    train_dataloader: {batch_size: 256, micro_batch_size: 64, data_dir: TEXT}\n"
	"    val_dataloader: {held_out_bytes: 1024}\n";

/* inputs of 4096, so that those of 64 micro-batches and their gradients would take 100 MB */
static const char broad[] =
	"trainer:\n"
	"  init:\n"
	"    model: {name: mlp, window: 8, embedding_size: 512, hidden_sizes: [64]}\n"
	"    optimizer: {SGD: {momentum: 0.9}}\n"
	"    schedulers: [{ConstantLR: {learning_rate: 3.0e-3}}]\n"
	"    loop: {max_steps: 1, eval_frequency: 0}\n"
	"    sampling: {bytes: 0}\n"
	"  fit:\n"
	"    train_dataloader: {batch_size: 64, micro_batch_size: 64, data_dir: TEXT}\n"
	"    val_dataloader: {held_out_bytes: 1024}\n";

static char text[] = "/tmp/wse-memory-XXXXXX";

struct how {
	const char *yaml, *set, *uri;
	uint32_t devices, ranks;
	const char *weights; /* to evaluate, and not to train; NULL: training */
	enum wse_memory_files files;
	int own; /* as a model of one's own has it: dense gradients, the caller's thread */
};

struct job {
	const struct how *how;
	uint64_t limit; /* of memory; 0: none */
	int steps;
	struct wse_memory m[RANKS_MAX]; /* as planned */
	/* bytes out of a rank and into it of the second step, and as planned */
	uint64_t out[RANKS_MAX], in[RANKS_MAX], planned_out, planned_in;
	double norm;
	uint64_t held[RANKS_MAX];  /* gradients in memory at once, where they are in a file */
	uint64_t reads[RANKS_MAX]; /* images that came from a file */
};

static int read_config(const struct how *h, struct wse_config *cfg)
{
	const int both = h->set == sparse_four || h->set == order_four;
	const char *sets[] = {h->set == sparse_four  ? sparse
			      : h->set == order_four ? order
						     : h->set,
			      four};
	struct wse_config_source src = {.name = "test",
					.text = h->yaml,
					.size = strlen(h->yaml),
					.sets = sets,
					.nsets = (h->set != NULL) + (uint32_t)both,
					.data = text};
	struct wse_faults faults;

	return wse_config_read(&src, cfg, &faults);
}

static pthread_t caller;
static int others; /* calls by another thread */

static void own_gather(const struct wse_model *m, const struct wse_graph *g,
		       const struct wse_input *in, const uint16_t *const *samples,
		       struct wse_micro_batch *job)
{
	others += !pthread_equal(pthread_self(), caller);
	wse_family_mlp.gather(m, g, in, samples, job);
}

static void own_scatter(const struct wse_model *m, const struct wse_graph *g,
			const struct wse_micro_batch *job, const uint16_t *const *samples,
			float *const *grad)
{
	uint32_t t_all = wse_graph_tokens(g), win = wse_mlp(m)->window, e = wse_mlp(m)->embed;
	const float *dx = wse_span_ptr(job->out[1]);

	others += !pthread_equal(pthread_self(), caller);
	for (uint32_t t = 0; t < t_all; t++)
		for (uint32_t i = 0; i < win * e; i++)
			grad[0][samples[t][(int)(i / e) - (int)win] * e + i % e] +=
				dx[(size_t)i * t_all + t];
}

/* what --plan says, without a session */
static int plan_alone(const struct how *h, struct wse_memory *m)
{
	struct wse_exec_info info;
	struct wse_plan p = {0};
	struct wse_config cfg;
	int ret = read_config(h, &cfg);

	ret = ret ? ret : wse_exec_info(h->uri, &info);
	ret = ret ? ret : wse_plan_make(&cfg.model, &info.tile, cfg.batch, cfg.micro_batch, &p);
	ret = ret ? ret : wse_plan_images(&cfg, &p);
	ret = ret ? ret : wse_memory_of(&cfg, &p, h->uri, h->devices, h->ranks, m);
	wse_plan_fini(&p);
	return ret;
}

/* alone: link NULL */
static int use(struct job *j, struct wse_link *link, uint32_t rank)
{
	const struct how *h = j->how;
	const char *uris[] = {h->uri, h->uri};
	struct wse_hosts *hosts = NULL;
	struct wse_network n;
	struct wse_step_result r;
	struct wse_model_family own = wse_family_mlp;
	struct wse_config cfg;
	struct wse_session s;
	char path[sizeof(text) + 20];
	uint64_t samples;
	double loss;
	int ret = read_config(h, &cfg);

	if (h->own) {
		own.leaf = NULL;
		own.gather = own_gather;
		own.scatter = own_scatter;
		cfg.model.family = &own;
		caller = pthread_self();
	}
	cfg.forward = h->weights != NULL;
	cfg.memory_limit = j->limit;
	snprintf(cfg.model_dir, sizeof(cfg.model_dir), "/tmp");
	if (!ret && link)
		ret = wse_hosts_open(link, &hosts);
	ret = ret ? ret
		  : wse_session_open_part(&s, &cfg, uris, h->devices, NULL, rank,
					  hosts ? h->ranks : 0);
	if (!ret && hosts)
		ret = wse_ranks_join(&s, hosts, 0);
	if (ret)
		return ret;
	if (h->weights) {
		ret = wse_session_load(&s, h->weights, WSE_CKPT_EVAL);
		ret = ret ? ret : wse_session_eval(&s, 0, 1, &loss, &samples);
	}
	for (int i = 0; i < j->steps && !ret && !h->weights; i++) {
		uint64_t out = 0, in = 0;

		if (hosts)
			wse_ranks_carried(s.ranks, &out, &in);
		ret = wse_session_compute(&s, &r);
		ret = ret ? ret : wse_session_commit(&s, &r);
		ret = ret ? ret : wse_memx_finish(s.memx);
		j->norm = r.norm;
		if (hosts)
			wse_ranks_carried(s.ranks, &j->out[rank], &j->in[rank]);
		j->out[rank] -= out;
		j->in[rank] -= in;
	}
	if (!ret && !h->weights && !h->own) {
		/* a checkpoint takes memory of its own, more of state that is far */
		snprintf(path, sizeof(path), "%s.%d", text, getpid());
		ret = wse_session_save(&s, path, NULL);
		if (!rank)
			unlink(path);
	}
	if (!ret && !rank)
		ret = wse_network_of(&cfg, &s.plan, h->ranks, NULL, &n);
	if (!ret && !rank) {
		j->planned_out = wse_carried_sum(&n.out);
		j->planned_in = wse_carried_sum(&n.in);
	}
	ret = ret ? ret : wse_memx_finish(s.memx);
	ret = ret ? ret : wse_memory_of(&cfg, &s.plan, h->uri, h->devices, h->ranks, &j->m[rank]);
	j->held[rank] = wse_swarm_grads_held(s.swarm);
	j->reads[rank] = wse_memx_image_reads(s.memx);
	wse_session_close(&s);
	return ret;
}

static void *one_rank(void *arg)
{
	struct rank *me = arg;

	me->ret = use(me->arg, me->link, me->rank);
	snprintf(me->why, sizeof(me->why), "%s", wse_error());
	return NULL;
}

/* of a process of its own: what it planned of a rank, and most that one had and read */
struct answer {
	struct wse_memory m;
	uint64_t held, reads;
};

static int run(const struct how *h, uint64_t limit, int steps, struct answer *a)
{
	struct job j = {.how = h, .limit = limit, .steps = steps};
	struct rank r[RANKS_MAX];
	int ret = 0;

	if (!steps) {
		ret = plan_alone(h, &j.m[0]);
	} else if (h->ranks == 1) {
		ret = use(&j, NULL, 0);
	} else {
		on_ranks(h->ranks, one_rank, &j, r);
		for (uint32_t i = 0; i < h->ranks; i++) {
			ret = ret ? ret : r[i].ret;
			if (r[i].ret)
				printf("# rank %u: %s\n", i, r[i].why);
		}
	}
	a->m = j.m[0];
	for (uint32_t i = 0; i < h->ranks; i++) {
		a->held = j.held[i] > a->held ? j.held[i] : a->held;
		a->reads = j.reads[i] > a->reads ? j.reads[i] : a->reads;
	}
	return ret;
}

/* the child's exit status, what it says and what it used; no steps: it plans; -1: no child */
static int child(const struct how *h, uint64_t limit, int steps, struct answer *a,
		 struct rusage *use)
{
	int fd[2], status = 1;
	pid_t pid;

	fflush(stdout);
	if (pipe(fd))
		return -1;
	pid = fork();
	if (!pid) {
		int ret = run(h, limit, steps, a);

		if (ret)
			printf("# %s\n", wse_error());
		fflush(stdout);
		_exit(ret || write(fd[1], a, sizeof(*a)) != sizeof(*a));
	}
	close(fd[1]);
	if (pid < 0 || read(fd[0], a, sizeof(*a)) != sizeof(*a))
		status = -1;
	close(fd[0]);
	if (pid > 0 && wait4(pid, &status, 0, use) != pid)
		status = -1;
	return status;
}

/* bytes that it took; *plan gets what was planned of a rank, unless it is NULL */
static double peak(const char *what, const struct how *h, struct wse_memory *plan)
{
	/* the first step has the peak, but where weights change places behind it */
	const int steps = h->set == rigl || h->yaml == chunks ? 2 : 1;
	/* packed ones are planned by the density, and a column may have more than that */
	const uint64_t more = h->set == sparse_four ? 2 : 0;
	struct answer a = {0};
	struct wse_memory m;
	struct rusage use = {0};
	uint64_t limit = 0, made;
	double off, planned;
	int status = 0;

	if (h->files) {
		status = child(h, 0, 0, &a, &use);
		limit = wse_memory_sum(&a.m, h->files);
	}
	status = status ? status : child(h, limit, steps, &a, &use);
	m = a.m;
	made = h->files >= WSE_FILES_IMAGES ? m.made_take : m.made_file;
	if (plan)
		*plan = m;
	/* ranks are threads here: they share the process itself */
	planned = (double)(h->ranks * (wse_memory_sum(&m, h->files) - m.rest) + m.rest);
	if (!h->files) /* and rank 0 alone writes a checkpoint */
		planned -= (double)((h->ranks - 1) * m.saved);
	off = planned / ((double)use.ru_maxrss * 1024) - 1;
	ok(!status && wse_memory_file(&m, limit) == (int)h->files && off > -0.1 && off < 0.1,
	   "%s: %.1f MB planned (%.1f state, %.1f images, %.1f gradients, %.1f twin), %.1f taken, "
	   "%+.1f %%",
	   what, planned / 1e6, (double)(h->files ? m.state_file : m.state) / 1e6,
	   (double)(h->files >= WSE_FILES_IMAGES ? m.images_file : m.images) / 1e6,
	   (double)(h->files >= WSE_FILES_IMAGES  ? m.grads_take
		    : h->files >= WSE_FILES_GRADS ? m.grads_file
						  : m.grads) /
		   1e6,
	   (double)m.cores / 1e6, (double)use.ru_maxrss * 1.024e-3, 100 * off);
	/* the four forward, four transposed, and the first one again where chunks are made again */
	if (h->yaml == chunks)
		ok(a.reads && a.reads <= 2 * 9, "%s: %llu images read in two steps", what,
		   (unsigned long long)a.reads);
	if (h->files >= WSE_FILES_GRADS)
		ok(a.held && a.held <= made + made / 100 * more && 2 * a.held > made,
		   "%s: %.1f MB of gradients at once, of %.1f", what, (double)a.held / 1e6,
		   (double)made / 1e6);
	return (double)use.ru_maxrss * 1024;
}

/* a step of 64 micro-batches takes the memory of a step of one, also of a model of one's own */
static void batches(const char *uri)
{
	struct how h = {broad, "train_dataloader.batch_size=4096", uri, 1, 1, NULL, WSE_FILES_NONE,
			0};
	struct answer a[2] = {0};
	struct rusage of[2];
	double more;
	int bad = 0;

	for (h.own = 0; h.own < 2; h.own++) {
		h.set = "train_dataloader.batch_size=4096";
		bad = child(&h, 0, 1, &a[1], &of[1]);
		h.set = NULL;
		bad |= child(&h, 0, 1, &a[0], &of[0]);
		more = 1024e-6 * (double)(of[1].ru_maxrss - of[0].ru_maxrss);
		ok(!bad && more < 64.0 && a[0].m.slots <= a[1].m.slots && a[1].m.slots < 10000000,
		   "an MLP%s, batch 4096: %.1f MB, %.1f more than batch 64, of it slots %.1f",
		   h.own ? " by callbacks" : "", 1024e-6 * (double)of[1].ru_maxrss, more,
		   1e-6 * (double)(a[1].m.slots - a[0].m.slots));
	}
}

/* callbacks give the bits of the ready-made model, and only the caller's thread makes them */
static void own_bits(void)
{
	struct how h = {broad,
			"train_dataloader.batch_size=320",
			"oracle:rows=4,cols=16",
			2,
			1,
			NULL,
			WSE_FILES_NONE,
			0};
	struct job j[2] = {{.how = &h, .steps = 2}, {.how = &h, .steps = 2}};
	int bad = use(&j[0], NULL, 0);

	others = 0;
	h.own = 1;
	bad |= use(&j[1], NULL, 0);
	ok(!bad && j[0].norm == j[1].norm && j[0].norm > 0.0 && !others,
	   "callbacks on two devices, the ready-made model: norm %a and %a", j[1].norm, j[0].norm);
}

/* two depths of one model: what a parameter takes of a session that trains nothing */
static void forward(const char *type)
{
	static const char *const sets[] = {"model.num_hidden_layers=12",
					   "model.num_hidden_layers=30"};
	char dir[] = "/tmp/wse-memory-XXXXXX", cmd[100], what[100];
	double bytes[2], params[2];

	if (!mkdtemp(dir))
		return;
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	for (int i = 0; i < 2; i++) {
		struct how h = {gpt, sets[i], "sim:func,rows=4,cols=16", 1, 1, dir, WSE_FILES_NONE,
				0};
		struct wse_tensor_table tab = {0};
		struct wse_config cfg;

		if (read_config(&h, &cfg) || cfg.model.family->tensors(&cfg.model, &tab) ||
		    gpt_shards_write(&cfg.model, 1, dir, type, 20000000))
			return;
		params[i] = (double)tab.params;
		snprintf(what, sizeof(what), "%.1f M evaluated from files of %s", params[i] / 1e6,
			 type);
		wse_tensor_table_fini(&tab);
		bytes[i] = peak(what, &h, NULL);
	}
	bytes[1] = (bytes[1] - bytes[0]) / (params[1] - params[0]);
	ok(bytes[1] < 2.2, "%.3f bytes a parameter more", bytes[1]);
	if (system(cmd))
		ok(0, "%s", cmd);
}

/* what the network carries, against what the plan says of the rank with most */
static void network(const char *what, const char *yaml, const char *set, const char *uri,
		    uint32_t ranks)
{
	struct how h = {yaml, set, uri, 1, ranks, NULL, WSE_FILES_NONE, 0};
	struct job j = {.how = &h, .steps = 2};
	uint64_t out = 0, in = 0;
	struct rank r[RANKS_MAX];
	int ret = 0;

	on_ranks(ranks, one_rank, &j, r);
	for (uint32_t i = 0; i < ranks; i++) {
		ret |= r[i].ret;
		if (r[i].ret)
			printf("# rank %u: %s\n", i, r[i].why);
		out = j.out[i] > out ? j.out[i] : out;
		in = j.in[i] > in ? j.in[i] : in;
	}
	ok(!ret && out > j.planned_out / 100 * 98 && out < j.planned_out / 100 * 102 &&
		   in > j.planned_in / 100 * 98 && in < j.planned_in / 100 * 102,
	   "%s, %u ranks: %.2f MB out and %.2f in planned, %.2f and %.2f carried", what, ranks,
	   (double)j.planned_out / 1e6, (double)j.planned_in / 1e6, (double)out / 1e6,
	   (double)in / 1e6);
}

int main(int argc, char **argv)
{
	int fd;
	FILE *f;

	/* huge pages for malloc take more than what is in them, and no plan knows of them */
	if (argc && getenv("GLIBC_TUNABLES") && !unsetenv("GLIBC_TUNABLES"))
		execv("/proc/self/exe", argv);
	fd = mkstemp(text);
	f = fdopen(fd, "w");
	if (!f)
		return 1;
	for (uint32_t i = 0, x = 1; i < 20000; i++) {
		x = x * 1664525 + 1013904223;
		fputc((int)(i * 7 % 40 + (x >> 24) % 24), f);
	}
	fclose(f);
	if (TAP_SANITIZED) {
		tap_skip("sanitizers take memory of their own", "peaks of runs");
	} else {
		static const char tile[] = "sim:func,rows=4,cols=16",
				  wide[] = "sim:func,rows=8,cols=16",
				  many[] = "sim:func,rows=16,cols=16";
		static const struct {
			const char *what;
			struct how how;
		} of[] = {
			{"a GPT of 7.2 M, one micro-batch",
			 {gpt, NULL, tile, 1, 1, NULL, WSE_FILES_NONE, 0}},
			{"weights in a file", {gpt, NULL, tile, 1, 1, NULL, WSE_FILES_STATE, 0}},
			{"four micro-batches", {gpt, four, tile, 1, 1, NULL, WSE_FILES_NONE, 0}},
			{"weights in a file", {gpt, four, tile, 1, 1, NULL, WSE_FILES_STATE, 0}},
			{"gradients, too", {gpt, four, tile, 1, 1, NULL, WSE_FILES_GRADS, 0}},
			{"on two devices", {gpt, four, tile, 2, 1, NULL, WSE_FILES_GRADS, 0}},
			{"images, too", {longer, four, wide, 1, 1, NULL, WSE_FILES_IMAGES, 0}},
			{"images, too, on two devices",
			 {longer, four, wide, 2, 1, NULL, WSE_FILES_IMAGES, 0}},
			{"chunks of a feed-forward network, images, too",
			 {chunks, NULL, "sim:func,rows=4,cols=12", 1, 1, NULL, WSE_FILES_IMAGES,
			  0}},
			{"images, too, on two ranks",
			 {longer, four, wide, 1, 2, NULL, WSE_FILES_IMAGES, 0}},
			{"three quarters left out",
			 {gpt, sparse, tile, 1, 1, NULL, WSE_FILES_NONE, 0}},
			{"three quarters, which change places",
			 {longer, rigl, wide, 1, 1, NULL, WSE_FILES_NONE, 0}},
			{"three quarters left out, on two ranks",
			 {gpt, sparse, tile, 1, 2, NULL, WSE_FILES_NONE, 0}},
			{"three quarters left out, weights in a file",
			 {gpt, sparse, tile, 1, 1, NULL, WSE_FILES_STATE, 0}},
			{"three quarters left out, gradients and images, too",
			 {longer, sparse_four, wide, 1, 1, NULL, WSE_FILES_IMAGES, 0}},
			{"three quarters left out, so on two devices",
			 {longer, sparse_four, wide, 2, 1, NULL, WSE_FILES_IMAGES, 0}},
			{"three quarters left out, so on two ranks",
			 {deeper, sparse_four, wide, 1, 2, NULL, WSE_FILES_IMAGES, 0}},
			{"images in order", {gpt, order, tile, 1, 1, NULL, WSE_FILES_NONE, 0}},
			{"images in order, and in a file with all else",
			 {longer, order_four, wide, 1, 1, NULL, WSE_FILES_IMAGES, 0}},
			{"images in order, so on two ranks",
			 {longer, order_four, wide, 1, 2, NULL, WSE_FILES_IMAGES, 0}},
			{"a block of 64 on a quarter of the columns",
			 {block_64, NULL, "sim:func,rows=16,cols=64", 1, 1, NULL, WSE_FILES_NONE,
			  0}},
			{"a block of 512", {block_512, NULL, many, 1, 1, NULL, WSE_FILES_NONE, 0}},
			{"a block of 1024",
			 {block_1024, NULL, "sim:func,rows=16,cols=32", 1, 1, NULL, WSE_FILES_NONE,
			  0}},
			{"an MLP of 7.1 M on two devices",
			 {mlp, NULL, tile, 2, 1, NULL, WSE_FILES_NONE, 0}},
			{"on four ranks", {mlp, NULL, tile, 1, 4, NULL, WSE_FILES_NONE, 0}},
		};
		struct wse_memory one, part;

		for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
			peak(of[i].what, &of[i].how, NULL);
		peak("an MLP of 7.1 M, four micro-batches",
		     &(struct how){mlp, NULL, tile, 1, 1, NULL, WSE_FILES_NONE, 0}, &one);
		peak("on two ranks", &(struct how){mlp, NULL, tile, 1, 2, NULL, WSE_FILES_NONE, 0},
		     &part);
		ok(part.state > one.state * 45 / 100 && part.state < one.state * 60 / 100,
		   "a rank of two keeps %.0f %% of parameters and moments",
		   100.0 * (double)part.state / (double)one.state);
		batches(tile);
		forward("F32");
		forward("BF16");
	}
	own_bits();
	for (uint32_t ranks = 2; ranks <= (TAP_SANITIZED ? 2 : 4); ranks++)
		network("the MLP", mlp, NULL, "sim:func,rows=4,cols=16", ranks);
	network("the GPT, images in order", gpt, order, "sim:func,rows=4,cols=16", 2);
	network("the GPT, three quarters left out", gpt, sparse, "sim:func,rows=4,cols=16", 2);
	unlink(text);
	return tap_end();
}
