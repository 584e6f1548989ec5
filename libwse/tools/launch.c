// SPDX-License-Identifier: MIT
/*
 * A launcher ends all ranks when one is gone, so going on cannot be done from inside: this process
 * starts it again.
 */
#include "launch.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOPPED 130
#define WRONG	2 /* the caller's fault: it would be the same again */

static volatile sig_atomic_t child, asked;

static void pass_on(int sig)
{
	if (sig != SIGUSR1)
		asked = 1;
	if (child > 0)
		kill((pid_t)child, sig);
}

/* a terminal sends its SIGINT to the launcher as well */
static void take_note(int sig)
{
	(void)sig;
	asked = 1;
}

/* the step of the last checkpoint there, -1: none */
static long long last_step(const char *model_dir)
{
	DIR *d = model_dir ? opendir(model_dir) : NULL;
	long long last = -1, step;
	struct dirent *e;
	int end;

	while (d && (e = readdir(d))) {
		end = 0;
		if (sscanf(e->d_name, "checkpoint_%lld.safetensors%n", &step, &end) == 1 && end &&
		    !e->d_name[end] && step > last)
			last = step;
	}
	if (d)
		closedir(d);
	return last;
}

/* launcher, this program, its arguments; again: from the last checkpoint. words is cut up */
static char **command(char *words, int argc, char **argv, int again)
{
	static char self[4096];
	char **c = calloc(strlen(words) + (size_t)argc + 8, sizeof(*c)), *save;
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int n = 0;

	if (!c)
		return NULL;
	for (char *w = strtok_r(words, " \t", &save); w; w = strtok_r(NULL, " \t", &save))
		c[n++] = w;
	c[n++] = len > 0 ? self : argv[0];
	for (int i = 1; i < argc; i++)
		if (argv[i]) /* else an option of this process */
			c[n++] = argv[i];
	if (again) {
		c[n++] = "--checkpoint_path";
		c[n++] = "auto";
		/* of the run itself: not what it took out of the file that it began with */
		c[n++] = "--set";
		c[n++] = "checkpoint.load_checkpoint_states=all";
	}
	return c;
}

/* the exit status; 128 + signal for one that was killed */
static int run_once(const char *launcher, int argc, char **argv, int again)
{
	char *words = strdup(launcher), **c = words ? command(words, argc, argv, again) : NULL;
	int status = 0, ret = 1;
	pid_t pid;

	if (!c) {
		fprintf(stderr, "wse-train: no memory\n");
		goto out;
	}
	fflush(NULL);
	pid = fork();
	if (!pid) {
		execvp(c[0], c);
		fprintf(stderr, "wse-train: --launch %s: %s\n", c[0], strerror(errno));
		_exit(WRONG);
	}
	if (pid < 0) {
		fprintf(stderr, "wse-train: --launch: %s\n", strerror(errno));
		goto out;
	}
	child = pid;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	child = 0;
	ret = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
out:
	free(c);
	free(words);
	return ret;
}

int launch(const char *launcher, uint32_t restarts, const char *model_dir, int argc, char **argv)
{
	struct sigaction pass = {.sa_handler = pass_on}, note = {.sa_handler = take_note};
	uint32_t again = 0;
	int status;

	sigaction(SIGINT, &note, NULL);
	sigaction(SIGTERM, &pass, NULL);
	sigaction(SIGUSR1, &pass, NULL);
	for (;;) {
		long long before = last_step(model_dir), after;

		status = run_once(launcher, argc, argv, again > 0);
		if (!status || status == WRONG || status == STOPPED || asked || !restarts)
			return status;
		after = last_step(model_dir);
		if (again == restarts) {
			fprintf(stderr,
				"wse-train: ended with status %d; restarted %u times already\n",
				status, again);
			return status;
		}
		if (after <= before) {
			fprintf(stderr,
				"wse-train: ended with status %d and no newer checkpoint in %s: "
				"not started again\n",
				status, model_dir);
			return status;
		}
		again++;
		fprintf(stderr,
			"wse-train: ended with status %d: restart %u of %u, from step %lld\n",
			status, again, restarts, after);
	}
}
