// SPDX-License-Identifier: MIT
/* The reduction tree against its definition, and devices that fail. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "model/mlp.h"
#include "num/num.h"
#include "base/error.h"
#include "swarmx/reduce.h"
#include "swarmx/row_sum.h"
#include "swarmx/swarmx.h"
#include "heap.h"
#include "tap.h"
#include "tree.h"

enum { COUNT = 37 };

static float leaf(uint32_t m, size_t i)
{
	return (float)(wse_rng_uniform(1, m, i) - 0.5) * (m % 5 == 0 ? 1e4f : 1.0f);
}

static void reduction(void)
{
	uint32_t worst_nodes = 0;
	int bad = 0, errors = 0;
	struct wse_shared_buf stray;

	for (uint32_t leaves = 1; leaves <= 70; leaves += leaves < 20 ? 1 : 7) {
		for (uint32_t devices = 1; devices <= 4; devices++) {
			struct wse_reduce r;
			const float *sum;

			wse_reduce_init(&r, &heap, COUNT);
			errors += feed_all(&r, leaves, devices);
			sum = wse_reduce_take(&r);
			/* the next step begins, and the sum stays */
			wse_reduce_begin(&r, 1);
			feed(&(struct feeder){&r, 0, 1});
			for (uint32_t i = 0; i < COUNT; i++)
				bad += !sum || sum[i] != tree(0, leaves, i);
			sum = wse_reduce_take(&r);
			for (uint32_t i = 0; i < COUNT; i++)
				bad += !sum || sum[i] != leaf(0, i);
			bad += wse_reduce_take(&r) != NULL;
			if (devices == 1 && leaves >= 64)
				worst_nodes = r.nodes > worst_nodes ? r.nodes : worst_nodes;
			if (leaves == 5 && devices == 1)
				errors += wse_reduce_put(&r, 0, &stray) != -EINVAL;
			wse_reduce_fini(&r);
		}
	}
	ok(!bad && !errors, "1 to 70 gradients from 1 to 4 threads: the documented tree, and it "
			    "stays until the next is taken");
	ok(worst_nodes <= 8, "a stream of 69 gradients needs %u buffers", worst_nodes);
}

/* memory of a step of one gradient whose sum is given back, and of one whose sum is held */
static void given_back(void)
{
	struct wse_reduce r;
	uint32_t nodes[2];

	wse_reduce_init(&r, &heap, COUNT);
	for (int held = 0; held < 2; held++) {
		for (int step = 0; step < 3; step++) {
			wse_reduce_begin(&r, 1);
			feed(&(struct feeder){&r, 0, 1});
			wse_reduce_take(&r);
			if (!held)
				wse_reduce_give_back(&r);
		}
		nodes[held] = r.nodes;
	}
	ok(nodes[0] == 1 && nodes[1] == 2, "steps whose sums are given back need %u buffer, not %u",
	   nodes[0], nodes[1]);
	wse_reduce_fini(&r);
}

/* ---- rows ---- */

enum { ROWS = 9, WIDTH = 3, TOKENS = 5 };

/* which row token t of micro-batch m read, and its gradient [width][token] */
static uint32_t row_of(uint32_t m, uint32_t t)
{
	return (uint32_t)(wse_rng_u64(2, m, t) % ROWS);
}

static float dx_of(uint32_t m, uint32_t t, uint32_t j)
{
	return leaf(m, 1000 + t * WIDTH + j);
}

static int rows_of(uint32_t m, struct wse_rows *r)
{
	float dx[WIDTH * TOKENS];
	uint32_t of[TOKENS];

	for (uint32_t t = 0; t < TOKENS; t++) {
		of[t] = row_of(m, t);
		for (uint32_t j = 0; j < WIDTH; j++)
			dx[j * TOKENS + t] = dx_of(m, t, j);
	}
	return wse_rows_make(r, of, dx, TOKENS, 1, WIDTH);
}

/* element (row, j) of the tree over leaves a ... b - 1; 0: no token of them reads the row */
static int row_tree(uint32_t a, uint32_t b, uint32_t row, uint32_t j, float *sum)
{
	uint32_t h = 1;
	int has = 0, right;
	float r;

	*sum = 0;
	if (b - a == 1) {
		for (uint32_t t = 0; t < TOKENS; t++)
			if (row_of(a, t) == row) {
				*sum += dx_of(a, t, j);
				has = 1;
			}
		return has;
	}
	while (2 * h < b - a)
		h *= 2;
	has = row_tree(a, a + h, row, j, sum);
	right = row_tree(a + h, b, row, j, &r);
	if (has && right)
		*sum = *sum + r;
	else if (right)
		*sum = r;
	return has || right;
}

static int rows_are_right(const struct wse_rows *r, uint32_t leaves)
{
	uint32_t k = 0;
	int bad = !r;

	for (uint32_t row = 0; row < ROWS && !bad; row++) {
		int has = 0;

		for (uint32_t j = 0; j < WIDTH && !bad; j++) {
			float want;

			has = row_tree(0, leaves, row, j, &want);
			bad += has && (k >= r->n || r->row[k] != row ||
				       wse_f2u(r->data[k * WIDTH + j]) != wse_f2u(want));
		}
		k += has != 0;
	}
	return !bad && k == r->n;
}

/* tokens that read three rows each, a row twice among them, against a dense gradient */
static void row_makers(void)
{
	enum { T = 7, READS = 3, N = 6, W = 2 };
	float dx[READS * W * T], dense[N * W] = {0}, want[N * W], none[N * W] = {0};
	struct wse_rows made, found;
	uint32_t of[T * READS];
	int bad, left_out;

	for (uint32_t i = 0; i < T * READS; i++) {
		of[i] = i % 5 ? (uint32_t)(wse_rng_u64(3, 0, i) % (N - 1)) : 1;
		for (uint32_t j = 0; j < W; j++)
			dx[(i % READS * W + j) * T + i / READS] = leaf(i, j);
	}
	for (uint32_t i = 0; i < T * READS; i++)
		for (uint32_t j = 0; j < W; j++)
			dense[of[i] * W + j] += dx[(i % READS * W + j) * T + i / READS];
	memcpy(want, dense, sizeof(want));
	bad = wse_rows_make(&made, of, dx, T, READS, W) || wse_rows_collect(&found, dense, N, W);
	ok(!bad && made.n == found.n && !memcmp(made.row, found.row, made.n * sizeof(*made.row)) &&
		   !memcmp(made.data, found.data, sizeof(float) * made.n * W) &&
		   !memcmp(made.data, want + made.row[0] * W, sizeof(float) * W),
	   "rows of tokens that read several: as a dense gradient has them, in token order");
	left_out = made.n < N && !memcmp(dense, none, sizeof(none));
	wse_rows_fini(&made);
	wse_rows_fini(&found);
	dense[3 * W + 1] = -0.0f;
	bad = wse_rows_collect(&found, dense, N, W);
	ok(!bad && left_out && found.n == 1 && found.row[0] == 3 && signbit(found.data[1]) &&
		   !memcmp(dense, none, sizeof(none)),
	   "rows without a bit set are none, one of -0 is; the dense gradient is 0 again");
	wse_rows_fini(&found);
}

/* numbers of one to four bytes, that differ in any one of them */
static void row_numbers(void)
{
	static const uint32_t of[] = {0x01020304, 3, 0x304, 0x20304, 0x01020303, 0x01020404,
				      0x304,	  0, 3,	    0xff,    0xff000000, 3};
	enum { T = sizeof(of) / sizeof(of[0]) };
	float dx[T];
	struct wse_rows r;
	int bad;

	for (uint32_t t = 0; t < T; t++)
		dx[t] = (float)(1u << t);
	bad = wse_rows_make(&r, of, dx, T, 1, 1);
	for (uint32_t i = 0; i < r.n && !bad; i++) {
		float want = 0;

		for (uint32_t t = 0; t < T; t++)
			want += of[t] == r.row[i] ? dx[t] : 0;
		bad = (i && r.row[i] <= r.row[i - 1]) || r.data[i] != want;
	}
	ok(!bad && r.n == 9, "rows of large numbers: ascending, each with its sum");
	wse_rows_fini(&r);
}

static void row_sums(void)
{
	struct wse_row_sum s;
	struct wse_rows r;
	int bad = 0;

	wse_row_sum_init(&s);
	for (uint32_t leaves = 1; leaves <= 40; leaves++) {
		wse_row_sum_begin(&s, leaves);
		if (leaves > 2 && !rows_of(1, &r)) /* a step that is given up */
			bad += wse_row_sum_put(&s, 1, &r) != 0;
		wse_row_sum_begin(&s, leaves);
		for (uint32_t i = 0; i < leaves; i++) {
			uint32_t m = leaves % 7 ? i * 7 % leaves : leaves - 1 - i;

			bad += wse_row_sum_take(&s) != NULL || rows_of(m, &r) ||
			       wse_row_sum_put(&s, m, &r);
		}
		bad += !rows_are_right(wse_row_sum_take(&s), leaves);
	}
	ok(!bad, "gradients of some rows, 1 to 40 in any order: the documented tree");
	wse_row_sum_begin(&s, 1);
	ok(!rows_of(0, &r) && wse_row_sum_put(&s, 1, &r) == -EINVAL && !r.row,
	   "one of another step is refused");
	wse_row_sum_fini(&s);
}

/* a part of one reducer goes to another, as a message would bring it */
static int give(struct wse_reduce *to, const struct wse_node *n)
{
	struct wse_shared_buf *buf;

	if (wse_reduce_get(to, &buf))
		return 1;
	memcpy(buf->ptr, n->buf->ptr, COUNT * sizeof(float));
	return wse_reduce_put_node(to, n->level, n->pos, buf);
}

/* cut [ranks + 1]: the leaves dealt; the parts come in another order with each `turn`. 1: wrong */
static int deal(uint32_t leaves, const uint32_t *cut, uint32_t ranks, uint32_t turn, uint32_t *most)
{
	struct wse_reduce r[4], owner;
	struct wse_node *left[4 * WSE_REDUCE_PARTS];
	struct wse_part parts[WSE_REDUCE_PARTS];
	uint32_t n = 0, k;
	int bad = 0;
	const float *sum;

	wse_reduce_init(&owner, &heap, COUNT);
	wse_reduce_begin(&owner, leaves);
	for (uint32_t i = 0; i < ranks; i++) {
		wse_reduce_init(&r[i], &heap, COUNT);
		wse_reduce_begin(&r[i], leaves);
		bad |= feed(&(struct feeder){&r[i], cut[i], cut[i + 1]}) != NULL;
		k = wse_reduce_left(&r[i], left + n);
		bad |= k != wse_reduce_parts(leaves, cut[i], cut[i + 1], parts);
		for (uint32_t j = 0; j < k; j++)
			bad |= left[n + j]->level != parts[j].level ||
			       left[n + j]->pos != parts[j].pos;
		*most = k > *most ? k : *most;
		n += k;
	}
	for (uint32_t j = 0; j < n; j++)
		bad |= give(&owner, left[turn & 1 ? (j + turn) % n : n - 1 - j]);
	bad |= give(&owner, left[0]) != -EINVAL; /* twice */
	sum = wse_reduce_take(&owner);
	for (uint32_t i = 0; i < COUNT; i++)
		bad |= !sum || sum[i] != tree(0, leaves, i);
	for (uint32_t i = 0; i < ranks; i++)
		wse_reduce_fini(&r[i]);
	wse_reduce_fini(&owner);
	return bad;
}

static void dealt(void)
{
	uint32_t cut[5], most = 0, cases = 0, idle = 0;
	struct wse_shared_buf *buf;
	struct wse_reduce r;
	int bad = 0;

	for (uint32_t leaves = 1; leaves <= 30; leaves++) {
		for (uint32_t ranks = 1; ranks <= 4; ranks++) {
			for (uint32_t i = 0; i <= ranks; i++)
				cut[i] = i * leaves / ranks;
			idle += ranks > leaves;
			bad += deal(leaves, cut, ranks, leaves, &most);
			/* any other cut, ranks without a leaf included */
			for (uint32_t i = 1; i < ranks; i++)
				cut[i] = cut[i - 1] + (i * 5 + leaves) % (leaves - cut[i - 1] + 1);
			bad += deal(leaves, cut, ranks, 1, &most);
			cases += 2;
		}
	}
	ok(!bad && idle,
	   "%u deals of 1 to 30 leaves to 1 to 4 reducers, %u with idle ones: the bits "
	   "of one; at most %u subtrees each",
	   cases, idle, most);
	wse_reduce_init(&r, &heap, COUNT);
	wse_reduce_begin(&r, 5);
	bad = wse_reduce_get(&r, &buf) || wse_reduce_put_node(&r, 0, 5, buf) != -EINVAL ||
	      wse_reduce_put_node(&r, 3, 1, buf) != -EINVAL ||
	      wse_reduce_put_node(&r, 32, 0, buf) != -EINVAL || wse_reduce_put_node(&r, 2, 1, buf);
	ok(!bad, "a subtree that the step does not have is refused");
	wse_reduce_fini(&r);
}

/* a device that takes tokens' targets for gradients; fails as told */
struct fake {
	struct wse_exec base;
	int fail_at, error, keep, runs;
	int no_graph;		       /* the error of the next one */
	const struct wse_graph *graph; /* that it was given last */
	int gone;		       /* it makes and shares no memory */
};

static int fake_prepare(struct wse_exec *e, const struct wse_graph *g)
{
	struct fake *f = (struct fake *)e;

	f->graph = f->no_graph ? NULL : g;
	return f->no_graph;
}

static int fake_run(struct wse_exec *e, const struct wse_micro_batch *jobs, uint32_t n,
		    const struct wse_micro_ops *ops, void *ctx)
{
	struct fake *f = (struct fake *)e;

	for (uint32_t i = 0; i < n; i++) {
		struct wse_shared_buf *buf;
		int ret = ops->unit_ready(ctx, 0);

		ret = ret ? ret : ops->begin(ctx, jobs[i].index);
		ret = ret ? ret : ops->grad_get(ctx, jobs[i].index, 0, &buf);
		if (ret)
			return ret;
		for (size_t j = 0; j < buf->size / 4; j++)
			((float *)buf->ptr)[j] = leaf(jobs[i].index, (uint32_t)j);
		if (f->fail_at && ++f->runs == f->fail_at)
			return f->error; /* with a borrowed buffer */
		if (f->keep)
			continue;
		ret = ops->grad_put(ctx, jobs[i].index, 0, buf);
		ret = ret ? ret : ops->done(ctx, jobs[i].index);
		if (ret)
			return ret;
	}
	return 0;
}

static int fake_alloc(struct wse_exec *e, size_t size, struct wse_shared_buf *buf)
{
	if (((struct fake *)e)->gone)
		return -ENODEV;
	buf->ptr = malloc(size);
	buf->size = size;
	buf->owner = e;
	buf->view[e->id] = buf->ptr;
	return buf->ptr ? 0 : -ENOMEM;
}

static void fake_free(struct wse_exec *e, struct wse_shared_buf *buf)
{
	(void)e;
	free(buf->ptr);
}

static int fake_map(struct wse_exec *e, struct wse_shared_buf *buf)
{
	(void)buf;
	return ((struct fake *)e)->gone ? -ENODEV : 0;
}

static void fake_unmap(struct wse_exec *e, struct wse_shared_buf *buf)
{
	(void)e;
	(void)buf;
}

static void fake_close(struct wse_exec *e)
{
	free(e);
}

static const struct wse_exec_ops fake_ops = {
	.prepare = fake_prepare,
	.run = fake_run,
	.alloc = fake_alloc,
	.free = fake_free,
	.map = fake_map,
	.unmap = fake_unmap,
	.close = fake_close,
};

enum { UNIT = 8 * 4 + 8 }; /* floats of the one layer's gradient */

/* the host doubles element 0 of a gradient before it is a leaf, and has rows of its own */
static const struct wse_swarm_host *with; /* of the steps below */
static pthread_t caller;
static unsigned int by_caller, by_others;
static int gone; /* the device that fails in a step below is */

static void count_thread(void)
{
	__atomic_add_fetch(pthread_equal(pthread_self(), caller) ? &by_caller : &by_others, 1,
			   __ATOMIC_RELAXED);
}

static int host_begin(void *ctx, uint32_t device, uint32_t index)
{
	unsigned char *begun = ctx;

	count_thread();
	begun[index] = (unsigned char)(device + 1);
	return 0;
}

static int host_done(void *ctx, uint32_t index, float *parked, struct wse_rows *rows)
{
	unsigned char *begun = ctx;

	count_thread();
	if (!begun[index] || !parked || !rows)
		return -EPROTO;
	parked[0] += parked[0];
	return rows_of(index, rows);
}

/* a step of 11 micro-batches on n devices, device `which` as given; its sums go to grads [UNIT] */
static int swarm_step(uint32_t n, uint32_t which, int fail_at, int error, int keep, float *grads,
		      uint32_t *alive)
{
	const struct wse_rows *rows = NULL;
	struct wse_exec *execs[4];
	struct wse_micro_batch jobs[11] = {0};
	struct wse_swarm *s;
	const struct wse_tile tile = {.rows = 1, .cols = 1, .lanes = 8, .sram = 1u << 20};
	struct wse_graph g;
	struct wse_model m;
	float *sum = NULL;
	struct wse_swarm_step step = {
		.graph = &g, .jobs = jobs, .n = 11, .grads = &sum, .host = with, .rows = &rows};
	int ret;

	wse_mlp_init(&m, 1, 4, 8, NULL, 0, WSE_RELU);
	if (m.family->graph(&m, &tile, 8, 0, &g) || wse_unit_grad_floats(&g, &g.units[0]) != UNIT) {
		printf("Bail out! no graph\n");
		exit(1);
	}
	memset(grads, 0, UNIT * sizeof(float));
	for (uint32_t i = 0; i < n; i++) {
		struct fake *f = calloc(1, sizeof(*f));

		f->base.ops = &fake_ops;
		if (i == which || which == 99)
			*f = (struct fake){f->base, fail_at, error, keep, 0, 0, NULL, gone};
		execs[i] = &f->base;
	}
	for (uint32_t i = 0; i < 11; i++)
		jobs[i] = (struct wse_micro_batch){.index = i, .backward = 1};
	wse_swarm_open(execs, n, NULL, &s);
	ret = wse_swarm_start(s, &step);
	ret = ret ? ret : wse_swarm_wait(s);
	*alive = wse_swarm_alive(s);
	if (!ret && with && with->nrows && !rows_are_right(rows, 11))
		ret = -EBADMSG;
	if (!ret)
		memcpy(grads, sum, UNIT * sizeof(float));
	wse_swarm_close(s);
	wse_graph_fini(&g);
	return ret;
}

static void devices(void)
{
	float one[UNIT], many[UNIT];
	uint32_t alive;
	int same = 1;

	ok(!swarm_step(1, 9, 0, 0, 0, one, &alive) && one[0] == tree(0, 11, 0) &&
		   one[UNIT - 1] == tree(0, 11, UNIT - 1),
	   "one device: the tree over 11 micro-batches");
	for (uint32_t n = 2; n <= 4; n++)
		same &= !swarm_step(n, 9, 0, 0, 0, many, &alive) && !memcmp(one, many, sizeof(one));
	ok(same, "2, 3, 4 devices: the same bits");
	same = 1;
	for (int at = 1; at <= 3; at++)
		same &= !swarm_step(3, 1, at, -ENODEV, 0, many, &alive) && alive == 2 &&
			!memcmp(one, many, sizeof(one));
	ok(same, "a device dies: the step is repeated on the rest with the same bits");
	ok(!swarm_step(2, 0, 1, -ETIMEDOUT, 0, many, &alive) && alive == 1 &&
		   !memcmp(one, many, sizeof(one)),
	   "the first device dies");
	same = gone = 1;
	for (uint32_t n = 2; n <= 4; n++)
		for (uint32_t which = 0; which < n; which++)
			same &= !swarm_step(n, which, 1, -ENODEV, 0, many, &alive) &&
				alive == n - 1 && !memcmp(one, many, sizeof(one));
	ok(same, "one that is gone before the first gradient has memory takes no other with it");
	ok(swarm_step(2, 99, 1, -ENODEV, 0, many, &alive) == -ENODEV && !alive, "all are gone");
	gone = 0;
	ok(swarm_step(2, 99, 2, -EIO, 0, many, &alive) == -EIO && !alive,
	   "all devices die: the error comes back");
	ok(swarm_step(2, 0, 0, 0, 1, many, &alive) == -EPROTO,
	   "a device that keeps its gradients is found out");
}

static char said[512]; /* warnings of the swarm, a line each */

static void note(void *ctx, enum wse_log_level level, const char *line)
{
	size_t len = strlen(said);

	(void)ctx;
	if (level == WSE_LOG_WARN)
		snprintf(said + len, sizeof(said) - len, "%s\n", line);
}

/* the graph before may be freed when another one is prepared, whatever became of that */
static void another_graph(void)
{
	static const struct wse_tile tile = {.rows = 1, .cols = 1, .lanes = 8, .sram = 1u << 20};
	struct wse_micro_batch jobs[3] = {{.index = 0, .backward = 1},
					  {.index = 1, .backward = 1},
					  {.index = 2, .backward = 1}};
	struct wse_swarm_step step = {.jobs = jobs, .n = 3};
	struct wse_graph g, other = {0};
	struct wse_exec_cfg log = {.log = note};
	struct wse_exec *execs[3];
	struct fake *f[3];
	struct wse_swarm *s;
	struct wse_model m;
	float *sum = NULL;
	int ret;

	wse_mlp_init(&m, 1, 4, 8, NULL, 0, WSE_RELU);
	ret = m.family->graph(&m, &tile, 8, 0, &g);
	step.graph = &g;
	step.grads = &sum;
	for (uint32_t i = 0; i < 3; i++) {
		f[i] = calloc(1, sizeof(*f[i]));
		f[i]->base.ops = &fake_ops;
		execs[i] = &f[i]->base;
	}
	f[1]->fail_at = 1;
	f[1]->error = -ENODEV;
	wse_swarm_open(execs, 3, &log, &s);
	ret = ret ? ret : wse_swarm_prepare(s, &g);
	ret = ret ? ret : wse_swarm_start(s, &step);
	ret = ret ? ret : wse_swarm_wait(s);
	ok(!ret && wse_swarm_alive(s) == 2 && f[0]->graph == &g && f[1]->graph == &g &&
		   f[2]->graph == &g,
	   "a device of three dies with its graph");
	ok(strstr(said, "device 1 is lost (") &&
		   strstr(said, " is repeated on the remaining 2\n") && !strstr(said, "step"),
	   "in work that is no step, and that is not said to be one");
	f[0]->no_graph = -ENOMEM;
	ok(wse_swarm_prepare(s, &other) == -ENOMEM && !f[0]->graph && !f[1]->graph &&
		   f[2]->graph == &other,
	   "no device keeps it, though the first one has no memory for the next");
	f[0]->no_graph = -ENODEV;
	ok(!wse_swarm_prepare(s, &g) && wse_swarm_alive(s) == 1 && !f[0]->graph &&
		   f[2]->graph == &g,
	   "one that is gone by then is lost, and the last one has the graph");
	f[2]->no_graph = -ENODEV;
	ok(wse_swarm_prepare(s, &other) == -ENODEV && !f[2]->graph,
	   "until that is gone, too, which is an error");
	wse_swarm_close(s);
	wse_graph_fini(&g);
}

static void hosts_part(void)
{
	unsigned char begun[11] = {0};
	struct wse_swarm_host host = {host_begin, host_done, begun, 0, 1, 0};
	float one[UNIT], many[UNIT], plain[UNIT];
	uint32_t alive;
	int same = 1;

	swarm_step(1, 9, 0, 0, 0, plain, &alive);
	with = &host;
	ok(!swarm_step(1, 9, 0, 0, 0, one, &alive) && one[0] == 2 * plain[0] &&
		   !memcmp(one + 1, plain + 1, sizeof(one) - sizeof(*one)),
	   "what the host adds is in the leaves, and its rows are summed");
	for (uint32_t n = 2; n <= 4; n++)
		same &= !swarm_step(n, 9, 0, 0, 0, many, &alive) && !memcmp(one, many, sizeof(one));
	ok(same && begun[0] == 1 && begun[10] == 4, "2, 3, 4 devices: the same bits");
	same = 1;
	for (int at = 1; at <= 3; at++)
		same &= !swarm_step(3, 1, at, -ENODEV, 0, many, &alive) && alive == 2 &&
			!memcmp(one, many, sizeof(one));
	ok(same && begun[5] == 3, "a device dies: the host begins again with the same bits");
	same = by_others > 0 && !by_caller;
	host.by_caller = 1;
	by_others = 0;
	for (uint32_t n = 1; n <= 4; n++)
		same &= !swarm_step(n, 9, 0, 0, 0, many, &alive) && !memcmp(one, many, sizeof(one));
	same &= by_caller == 4 * 2 * 11;
	for (int at = 1; at <= 3; at++)
		same &= !swarm_step(3, 1, at, -ENODEV, 0, many, &alive) && alive == 2 &&
			!memcmp(one, many, sizeof(one));
	same &= swarm_step(2, 99, 2, -EIO, 0, many, &alive) == -EIO;
	ok(same && by_caller > 4 * 2 * 11 && !by_others,
	   "by the caller's thread alone, if it is to be: the same bits, also when devices die");
	with = NULL;
}

int main(void)
{
	caller = pthread_self();
	reduction();
	given_back();
	row_makers();
	row_numbers();
	row_sums();
	dealt();
	devices();
	another_graph();
	hosts_part();
	return tap_end();
}
