/* SPDX-License-Identifier: MIT */
/*
 * What the launcher knows of ranks that have ended while the others still wait for them in
 * MPI_Init(), which never says so. By PMIx, which mpirun and srun --mpi=pmix speak; what they do
 * not answer is not known.
 *
 * open() and close() come in pairs, in one thread. ended() may be called at any time by any thread
 * and does not wait for the launcher.
 */
#ifndef WSE_PLUGINS_ENDED_PMIX_H
#define WSE_PLUGINS_ENDED_PMIX_H

#include <stddef.h>

#ifdef WSE_PMIX
void wse_pmix_open(void);
void wse_pmix_close(void);
/*
 * 1: a rank has ended, and who it is, "rank 2 (its host)"; the ranks on other hosts, whose part of
 * the launcher does not see that one, are told so, too. 0: none, as far as is known.
 */
int wse_pmix_ended(char *who, size_t size);
#else
static inline void wse_pmix_open(void) {}
static inline void wse_pmix_close(void) {}
static inline int wse_pmix_ended(char *who, size_t size)
{
	(void)who;
	(void)size;
	return 0;
}
#endif

#endif
