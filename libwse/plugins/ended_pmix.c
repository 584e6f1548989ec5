// SPDX-License-Identifier: MIT
#include "plugins/ended_pmix.h"

#include <errno.h>
#include <pmix.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

/*
 * Open MPI's mpirun answers a rank with the states of all ranks on the host that mpirun itself runs
 * on, and of those on the rank's own host elsewhere; so the first to know writes it down where all
 * can read it.
 */
#define KEY	"wse.ended"
#define ASKS_NS 300000000 /* between two questions */

/*
 * A thread asks: mpirun itself can hang when a rank is killed while it makes itself known to it
 * (Open MPI 4.1.4), and no answer comes then.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t closes = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
static int opened, closing;
static char ended[96]; /* who; "": none */
static pmix_proc_t me;

static int was_told(char *who, size_t size)
{
	pmix_pdata_t *p;
	int told;

	PMIX_PDATA_CREATE(p, 1);
	if (!p)
		return 0;
	PMIX_LOAD_KEY(p->key, KEY);
	told = PMIx_Lookup(p, 1, NULL, 0) == PMIX_SUCCESS && p->value.type == PMIX_STRING &&
	       p->value.data.string;
	if (told)
		snprintf(who, size, "%s", p->value.data.string);
	PMIX_PDATA_FREE(p, 1);
	return told;
}

static void tell(const char *who)
{
	pmix_info_t *info;

	PMIX_INFO_CREATE(info, 1);
	if (!info)
		return;
	PMIX_INFO_LOAD(info, KEY, who, PMIX_STRING);
	PMIx_Publish(info, 1);
	PMIX_INFO_FREE(info, 1);
}

/* the standard has an array of PMIX_PROC_INFO; Open MPI 4 sends one of PMIX_INFO that hold them */
static const pmix_proc_info_t *proc(const pmix_data_array_t *table, size_t i)
{
	const pmix_info_t *info = table->array;

	if (table->type == PMIX_PROC_INFO)
		return (const pmix_proc_info_t *)table->array + i;
	if (table->type == PMIX_INFO && info[i].value.type == PMIX_PROC_INFO)
		return info[i].value.data.pinfo;
	return NULL;
}

static int names(const pmix_value_t *v, char *who, size_t size)
{
	const pmix_data_array_t *table = v->data.darray;

	if (v->type != PMIX_DATA_ARRAY || !table)
		return 0;
	for (size_t i = 0; i < table->size; i++) {
		const pmix_proc_info_t *p = proc(table, i);

		if (!p || p->state < PMIX_PROC_STATE_TERMINATED)
			continue;
		snprintf(who, size, p->hostname ? "rank %u (%s)" : "rank %u", p->proc.rank,
			 p->hostname);
		return 1;
	}
	return 0;
}

static int is_seen(char *who, size_t size)
{
	pmix_info_t *answers = NULL;
	pmix_query_t *q;
	pmix_status_t ret;
	size_t n = 0;
	int seen = 0;

	PMIX_QUERY_CREATE(q, 1);
	if (!q)
		return 0;
	PMIX_ARGV_APPEND(ret, q->keys, PMIX_QUERY_PROC_TABLE);
	if (ret == PMIX_SUCCESS) {
		PMIX_QUERY_QUALIFIERS_CREATE(q, 1);
		PMIX_INFO_LOAD(q->qualifiers, PMIX_NSPACE, me.nspace, PMIX_STRING);
		if (PMIx_Query_info(q, 1, &answers, &n) != PMIX_SUCCESS)
			n = 0;
	}
	for (size_t i = 0; i < n && !seen; i++)
		seen = names(&answers[i].value, who, size);
	if (answers)
		PMIX_INFO_FREE(answers, n);
	PMIX_QUERY_FREE(q, 1);
	return seen;
}

static void *ask(void *arg)
{
	char who[sizeof(ended)];
	struct timespec at;

	(void)arg;
	pthread_mutex_lock(&lock);
	while (!closing && !ended[0]) {
		pthread_mutex_unlock(&lock);
		/* in this order: a rank that tells ends thereafter, and is seen, too */
		if (!was_told(who, sizeof(who))) {
			if (is_seen(who, sizeof(who)))
				tell(who);
			else
				who[0] = 0;
		}
		clock_gettime(CLOCK_REALTIME, &at);
		at.tv_nsec += ASKS_NS;
		at.tv_sec += at.tv_nsec / 1000000000;
		at.tv_nsec %= 1000000000;
		pthread_mutex_lock(&lock);
		snprintf(ended, sizeof(ended), "%s", who);
		while (!closing && !ended[0] &&
		       pthread_cond_timedwait(&closes, &lock, &at) != ETIMEDOUT)
			;
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

void wse_pmix_open(void)
{
	if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS)
		return;
	closing = ended[0] = 0;
	opened = !pthread_create(&thread, NULL, ask, NULL);
	if (!opened)
		PMIx_Finalize(NULL, 0);
}

void wse_pmix_close(void)
{
	if (!opened)
		return;
	pthread_mutex_lock(&lock);
	closing = 1;
	pthread_cond_signal(&closes);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
	opened = 0;
	PMIx_Finalize(NULL, 0);
}

int wse_pmix_ended(char *who, size_t size)
{
	pthread_mutex_lock(&lock);
	snprintf(who, size, "%s", ended);
	pthread_mutex_unlock(&lock);
	return who[0] != 0;
}
