// SPDX-License-Identifier: MIT
/*
 * A run's live socket: what it says against the device's counters, read beside the trainer, and
 * against the steps' results; peers that do not read; sockets that cannot be.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <wse/wse.h>

#include "own_twin.h"
#include "tap.h"

#define ROOM (1u << 16)

static const char mlp[] =
	"trainer:\n"
	"  init:\n"
	"    model: {name: mlp, window: 8, embedding_size: 32, hidden_size: 32,\n"
	"            num_hidden_layers: 1}\n"
	"    optimizer: {AdamW: {betas: [0.9, 0.95]}}\n"
	"    schedulers: [{ConstantLR: {learning_rate: 3.0e-3}}]\n"
	"    loop: {max_steps: 10, eval_frequency: 0}\n"
	"    sampling: {bytes: 0}\n"
	"  fit:\n"
	"    train_dataloader: {batch_size: 64, micro_batch_size: 64, data_dir: TEXT}\n"
	"    val_dataloader: {held_out_bytes: 512}\n";

static char dir[] = "/tmp/wse-live-XXXXXX", at[120], other[120];

static int is(int ret, int want, const char *words)
{
	if (ret == want && strstr(wse_error(), words))
		return 1;
	printf("# %d \"%s\"; expected %d \"%s\"\n", ret, wse_error(), want, words);
	return 0;
}

static int meet(const char *path)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&un, sizeof(un))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* the picture, text [ROOM]; its length, 0: none */
static size_t look(char *text)
{
	int fd = meet(at);
	size_t size = 0;
	ssize_t n;

	while (fd >= 0 && size + 1 < ROOM && (n = read(fd, text + size, ROOM - 1 - size)) > 0)
		size += (size_t)n;
	text[size] = 0;
	if (fd >= 0)
		close(fd);
	return size;
}

/* the words behind a line's key, or "" */
static const char *words(const char *text, const char *key)
{
	char want[40];
	const char *p;

	snprintf(want, sizeof(want), "\n%s ", key);
	p = strstr(text, want);
	return p ? p + strlen(want) : "";
}

static struct wse_trainer *open_trainer(void)
{
	static const char *const uris[] = {"sim:func,rows=2,cols=2"};
	char path[120], text[120];
	struct wse_override over = {.data = text};
	struct wse_trainer *t = NULL;
	struct wse_params *p = NULL;
	FILE *f;
	int ret;

	snprintf(path, sizeof(path), "%s/mlp.yaml", dir);
	snprintf(text, sizeof(text), "%s/text", dir);
	f = fopen(path, "w");
	fputs(mlp, f);
	fclose(f);
	f = fopen(text, "w");
	for (int i = 0; i < 4000; i++)
		fputs(i % 7 ? "ab " : "cd.\n", f);
	fclose(f);
	ret = wse_params_create(&p);
	ret = ret ? ret : wse_params_read(p, path, &over);
	for (uint32_t i = 0; p && wse_params_fault(p, i); i++)
		printf("# %s\n", wse_params_fault(p, i));
	ret = ret ? ret : wse_trainer_open(p, uris, 1, NULL, NULL, &t);
	if (ret)
		printf("# %s\n", wse_error());
	wse_params_destroy(p);
	return t;
}

/* one counter of an object as a picture has it, against the device's */
static int same(const char **text, uint32_t scope, uint32_t object, const char *name)
{
	const struct wse_counter *c;
	uint64_t v[64], said;
	uint32_t n, i;
	char *end;

	for (i = 0; (c = wse_counter(scope, i)) && strcmp(c->name, name); i++)
		;
	said = strtoull(*text, &end, 10);
	if (!c || end == *text || wse_device_counters(twin, scope, object, v, 64, &n) || i >= n)
		return 0;
	*text = end;
	if (said == v[i])
		return 1;
	printf("# %s of %u: said %" PRIu64 ", counted %" PRIu64 "\n", name, object, said, v[i]);
	return 0;
}

static int same_map(const char *text, const char *name, uint32_t scope, uint32_t n)
{
	char key[20];
	const char *p;
	int good = 1;

	snprintf(key, sizeof(key), "map %s", name);
	p = words(text, key);
	for (uint32_t i = 0; i < n; i++)
		good &= same(&p, scope, i, name);
	return good && *p == '\n';
}

/* steps, until one has a picture: counters may be read for 0.5 % of the time */
static void test_values(struct wse_trainer *t)
{
	static char text[ROOM];
	struct wse_step_result r = {0};
	unsigned long long step = 0, shown = 0;
	const char *p;
	int ret = 0, good = 1;

	ok(look(text) && !strncmp(text, "wse-live 1\n", 11) && strstr(text, "\nstep 0 0\n") &&
		   strstr(text, "\nend\n"),
	   "a picture before the first step");
	do {
		ret = wse_trainer_step(t, &r);
		step++;
		if (!ret && look(text))
			shown = strtoull(words(text, "step"), NULL, 10);
	} while (!ret && step < 5000 && shown != step);
	ok(!ret && shown == step && strtod(words(text, "loss"), NULL) == r.loss,
	   "a picture of step %llu, with its loss", step);
	for (uint32_t q = 0; q < 4; q++) {
		p = q ? p : words(text, "queues");
		good &= same(&p, DRM_WSE_SCOPE_QUEUE, q, "cmds");
	}
	ok(good && strtoull(words(text, "queues"), NULL, 10), "the queues' commands");
	ok(same_map(text, "mac", DRM_WSE_SCOPE_CORE, 4) &&
		   same_map(text, "lwait", DRM_WSE_SCOPE_CORE, 4) &&
		   same_map(text, "instret", DRM_WSE_SCOPE_CORE, 4) &&
		   same_map(text, "link", DRM_WSE_SCOPE_LINK, 16) &&
		   strtoull(words(text, "map mac"), NULL, 10),
	   "maps of cores and links are what the device has counted");
	do {
		ret = wse_trainer_step(t, NULL);
	} while (!ret && look(text) && strtod(words(text, "time"), NULL) < 10.0 &&
		 (strtod(words(text, "time"), NULL) < 1.0 ||
		  strtod(words(text, "spent"), NULL) >= 0.01 * strtod(words(text, "time"), NULL)));
	ok(!ret && strtod(words(text, "spent"), NULL) < 0.01 * strtod(words(text, "time"), NULL) &&
		   strtod(words(text, "spent"), NULL) > 0.0,
	   "less than 1 %% of the time: %.6f s of %.3f", strtod(words(text, "spent"), NULL),
	   strtod(words(text, "time"), NULL));
}

static void test_peers(struct wse_trainer *t)
{
	static char text[ROOM];
	struct stat st;
	int fd[20], good = 1;

	/* more than the queue of the socket has room for; none reads, some go at once */
	for (int i = 0; i < 8; i++)
		fd[i] = meet(at);
	for (int i = 0; i < 8; i += 2)
		close(fd[i]);
	ok(!wse_trainer_step(t, NULL) && look(text) && strstr(text, "\nend\n"),
	   "peers that do not read, or are gone, hold neither steps nor others");
	for (int i = 1; i < 8; i += 2) {
		good &= send(fd[i], "\33[2Jgarbage", 11, MSG_NOSIGNAL) != 0;
		close(fd[i]);
	}
	ok(good && look(text) && !stat(at, &st) && (st.st_mode & 0777) == 0600,
	   "peers that talk; it is the user's alone");
}

static void test_paths(struct wse_trainer *t)
{
	struct wse_trainer *two = open_trainer();
	char *longer = malloc(200);
	struct stat st;
	FILE *f;

	memset(longer, 'x', 199);
	longer[199] = 0;
	snprintf(other, sizeof(other), "%s/file", dir);
	f = fopen(other, "w");
	fclose(f);
	ok(is(wse_trainer_live(t, at), -EBUSY, "close it first"), "one socket a trainer");
	ok(is(wse_trainer_live(two, at), -EADDRINUSE, "another process listens there"),
	   "another run's");
	ok(is(wse_trainer_live(two, other), -EEXIST, "a file is there") && !stat(other, &st),
	   "a file stays");
	ok(is(wse_trainer_live(two, longer), -ENAMETOOLONG, "107 bytes") &&
		   is(wse_trainer_live(two, ""), -EINVAL, "1 to 107 bytes") &&
		   is(wse_trainer_live(two, "/nowhere/live"), -ENOENT, "/nowhere/live"),
	   "paths that are none");
	ok(is(wse_trainer_live(two, NULL), -EINVAL, "no live socket"), "none to close");
	ok(!wse_trainer_live(t, NULL) && stat(at, &st) && meet(at) < 0, "it is gone when closed");
	/* as a killed run leaves it */
	if (!wse_trainer_live(t, at) && !rename(at, other) && !wse_trainer_live(t, NULL))
		ok(!stat(other, &st) && meet(other) < 0 && !wse_trainer_live(two, other) &&
			   close(meet(other)) == 0,
		   "a socket that is left behind is replaced");
	ok(!wse_trainer_close(two) && stat(other, &st), "and goes with its trainer");
	free(longer);
}

int main(void)
{
	struct wse_trainer *t;
	char command[64];

	if (!mkdtemp(dir))
		return 1;
	snprintf(at, sizeof(at), "%s/live", dir);
	t = open_trainer();
	if (!t || wse_trainer_live(t, at)) {
		printf("# %s\n", wse_error());
		ok(0, "a trainer with a live socket");
		return tap_end();
	}
	test_values(t);
	test_peers(t);
	test_paths(t);
	wse_trainer_close(t);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (system(command))
		printf("# %s stays\n", dir);
	return tap_end();
}
