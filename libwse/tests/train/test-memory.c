// SPDX-License-Identifier: MIT
/* The memory that --plan says against the peak of a run: within a tenth. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "tap.h"
#include "train/memory.h"
#include "train/session.h"

static const char gpt[] =
	"trainer:\n"
	"  init:\n"
	"    model: {name: gpt2, hidden_size: 384, num_hidden_layers: 6, num_heads: 16,\n"
	"            max_position_embeddings: 64}\n"
	"    optimizer: {AdamW: {betas: [0.9, 0.95]}}\n"
	"    schedulers: [{ConstantLR: {learning_rate: 3.0e-3}}]\n"
	"    loop: {max_steps: 1, eval_frequency: 0}\n"
	"    sampling: {bytes: 0}\n"
	"  fit:\n"
	"    train_dataloader: {batch_size: 1, micro_batch_size: 1, data_dir: TEXT}\n"
	"    val_dataloader: {held_out_bytes: 1024}\n";

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

static char text[] = "/tmp/wse-memory-XXXXXX";

#ifdef __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

/* in a process of its own: what it planned goes into *m */
static int run(const char *yaml, const char *uri, uint32_t devices, struct wse_memory *m)
{
	struct wse_config_source src = {
		.name = "test", .text = yaml, .size = strlen(yaml), .data = text};
	const char *uris[] = {uri, uri};
	struct wse_step_result r;
	struct wse_faults faults;
	struct wse_config cfg;
	struct wse_session s;
	int ret = wse_config_read(&src, &cfg, &faults);

	ret = ret ? ret : wse_session_open(&s, &cfg, uris, devices, NULL);
	if (ret)
		return ret;
	for (int i = 0; i < 2 && !ret; i++) {
		ret = wse_session_compute(&s, &r);
		ret = ret ? ret : wse_session_commit(&s, &r);
	}
	wse_memx_finish(s.memx);
	ret = ret ? ret : wse_memory_of(&cfg, &s.plan, uri, devices, m);
	wse_session_close(&s);
	return ret;
}

static void peak(const char *what, const char *yaml, const char *uri, uint32_t devices)
{
	struct wse_memory m = {0};
	struct rusage use = {0};
	int fd[2], status = 1;
	double off, planned;
	pid_t pid;

	fflush(stdout);
	if (pipe(fd))
		return;
	pid = fork();
	if (!pid) {
		int ret = run(yaml, uri, devices, &m);

		if (ret)
			printf("# %s\n", wse_error());
		fflush(stdout);
		_exit(ret || write(fd[1], &m, sizeof(m)) != sizeof(m));
	}
	close(fd[1]);
	if (pid < 0 || read(fd[0], &m, sizeof(m)) != sizeof(m))
		status = 1;
	close(fd[0]);
	if (pid > 0)
		wait4(pid, &status, 0, &use);
	planned = (double)wse_memory_sum(&m, 0);
	off = planned / ((double)use.ru_maxrss * 1024) - 1;
	ok(!status && off < 0.1 && off > -0.1,
	   "%s: %.1f MB planned (%.1f state, %.1f images, %.1f gradients, %.1f twin), %.1f taken, "
	   "%+.1f %%",
	   what, planned / 1e6, (double)m.state / 1e6, (double)m.images / 1e6,
	   (double)m.grads / 1e6, (double)m.cores / 1e6, (double)use.ru_maxrss * 1.024e-3,
	   100 * off);
}

int main(void)
{
	int fd = mkstemp(text);
	FILE *f = fdopen(fd, "w");

	if (!f)
		return 1;
	for (uint32_t i = 0, x = 1; i < 20000; i++) {
		x = x * 1664525 + 1013904223;
		fputc((int)(i * 7 % 40 + (x >> 24) % 24), f);
	}
	fclose(f);
	if (SANITIZED) {
		tap_skip("sanitizers take memory of their own", "peaks of runs");
	} else {
		peak("a GPT of 10.7 M, one micro-batch", gpt, "sim:func,rows=8,cols=16", 1);
		peak("an MLP of 7.1 M, four micro-batches", mlp, "sim:func,rows=4,cols=16", 1);
		peak("on two devices", mlp, "sim:func,rows=4,cols=16", 2);
	}
	unlink(text);
	return tap_end();
}
