// SPDX-License-Identifier: MIT
/*
 * wse-mpi.so: the link of mpirun and srun, by MPI. libwse opens it when it runs under a launcher,
 * so that nothing else needs MPI. MPI is begun once in a process and ended at its exit; after a
 * failure it is not ended, since that may wait for ranks that are gone.
 */
#include <errno.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugins/ended_pmix.h"
#include "swarmx/link.h"
#include "wse_release.h"

struct mpi_link {
	struct wse_link base;
	MPI_Comm comm;
	int started;
};

struct request {
	MPI_Request mpi;
	size_t bytes; /* of a receiver */
	int sends;
};

/*
 * from the first rank's begin to the last one's: programs are loaded meanwhile, nothing else. MPI
 * waits for a rank that ends in it where the launcher lets the others go on
 * (mpirun --enable-recovery) and does not say that it has
 */
#define PATIENCE 60.0

/*
 * Open MPI's MPI_Finalize() begins with a barrier of all processes, which sometimes does not end
 * when one is killed meanwhile (mpirun --enable-recovery of 4.1.4: in 1 of 60 runs), and does not
 * while one is stopped. It is there for messages under way, of which ranks that have parted have
 * none (hosts_serve.c); with this parameter it is left out.
 */
#define NO_BARRIER "OMPI_MCA_async_mpi_finalize"

/* MPI_Finalize would wait for what is gone where a run of this process failed, or never began */
static atomic_int failed, met;

static void end_mpi(void)
{
	int over = 1;

	MPI_Finalized(&over);
	if (!met || over || failed)
		return;
	fflush(NULL); /* it may wait for all processes, and stdio is flushed after it */
	MPI_Finalize();
}

/* returns when all ranks have come here */
static int meet(struct mpi_link *ml)
{
	int begun = 0, level = 0;

	MPI_Initialized(&begun);
	if (!begun) {
		setenv(NO_BARRIER, "1", 0); /* the caller waits for this thread meanwhile */
		if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS)
			return -EIO;
		atexit(end_mpi);
	} else if (MPI_Query_thread(&level) != MPI_SUCCESS) {
		return -EIO;
	}
	if (level < MPI_THREAD_SERIALIZED)
		return -ENOTSUP;
	if (MPI_Comm_dup(MPI_COMM_WORLD, &ml->comm) != MPI_SUCCESS)
		return -EIO;
	met = 1;
	return 0;
}

/* errors come back instead of ending the process */
static int start(struct wse_link *l)
{
	struct mpi_link *ml = (struct mpi_link *)l;
	int rank, ranks, ret;

	wse_pmix_open();
	ret = meet(ml);
	wse_pmix_close();
	if (ret)
		return ret;
	MPI_Comm_set_errhandler(ml->comm, MPI_ERRORS_RETURN);
	ml->started = 1;
	if (MPI_Comm_rank(ml->comm, &rank) != MPI_SUCCESS ||
	    MPI_Comm_size(ml->comm, &ranks) != MPI_SUCCESS)
		return -EIO;
	if (ranks > WSE_LINK_RANKS)
		return -E2BIG;
	l->rank = (uint32_t)rank;
	l->ranks = (uint32_t)ranks;
	l->processes = 1; /* MPI_Comm_dup() is a call of all ranks */
	if (gethostname(l->host, sizeof(l->host) - 1))
		l->host[0] = 0;
	return 0;
}

static int ended(struct wse_link *l, char *who, size_t size)
{
	(void)l;
	if (!wse_pmix_ended(who, size))
		return 0;
	failed = 1;
	return 1;
}

static int begin(struct wse_link *l, int sends, uint32_t rank, uint32_t tag, void *buf,
		 size_t bytes, void **req)
{
	struct mpi_link *ml = (struct mpi_link *)l;
	struct request *r = calloc(1, sizeof(*r));
	int ret;

	if (!r)
		return -ENOMEM;
	r->bytes = bytes;
	r->sends = sends;
	ret = sends ? MPI_Isend(buf, (int)bytes, MPI_BYTE, (int)rank, (int)tag, ml->comm, &r->mpi)
		    : MPI_Irecv(buf, (int)bytes, MPI_BYTE, (int)rank, (int)tag, ml->comm, &r->mpi);
	if (ret != MPI_SUCCESS) {
		free(r);
		return -EIO;
	}
	*req = r;
	return 0;
}

static int mpi_send(struct wse_link *l, uint32_t to, uint32_t tag, const void *buf, size_t bytes,
		    void **req)
{
	return begin(l, 1, to, tag, (void *)buf, bytes, req);
}

static int mpi_recv(struct wse_link *l, uint32_t from, uint32_t tag, void *buf, size_t bytes,
		    void **req)
{
	return begin(l, 0, from, tag, buf, bytes, req);
}

static int mpi_test(struct wse_link *l, void **req)
{
	struct request *r = *req;
	int done = 0, count = 0, ret, err;
	MPI_Status st;

	(void)l;
	ret = MPI_Test(&r->mpi, &done, &st);
	if (ret == MPI_SUCCESS && !done)
		return 0;
	if (ret != MPI_SUCCESS)
		err = MPI_Error_class(ret, &count) == MPI_SUCCESS && count == MPI_ERR_TRUNCATE
			      ? -EMSGSIZE
			      : -EIO;
	else if (r->sends)
		err = 1;
	else
		err = MPI_Get_count(&st, MPI_BYTE, &count) == MPI_SUCCESS &&
				      (size_t)count == r->bytes
			      ? 1
			      : -EMSGSIZE;
	free(r);
	*req = NULL;
	return err;
}

static void mpi_abort(struct wse_link *l)
{
	(void)l;
	failed = 1;
}

static void mpi_close(struct wse_link *l)
{
	struct mpi_link *ml = (struct mpi_link *)l;

	if (ml->started && !failed)
		MPI_Comm_free(&ml->comm);
	free(ml);
}

static const struct wse_link_ops ops = {
	start, ended, mpi_send, mpi_recv, mpi_test, mpi_abort, mpi_close,
};

__attribute__((visibility("default"))) int wse_link_mpi(const char *release, struct wse_link **link)
{
	struct mpi_link *ml;

	if (strcmp(release, WSE_RELEASE))
		return -EPROTONOSUPPORT;
	ml = calloc(1, sizeof(*ml));
	if (!ml)
		return -ENOMEM;
	ml->base.ops = &ops;
	ml->base.patience = PATIENCE;
	*link = &ml->base;
	return 0;
}
