/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that mpirun started to train together. Started alone, a process is rank 0 of 1, and
 * nothing of MPI is opened. */
#ifndef CLI_TRAIN_RANKS_H
#define CLI_TRAIN_RANKS_H

#include "failure.h"

#include <rynd/exchange.h>
#include <stdint.h>

typedef struct cli_ranks {
    int rank, ranks;
    rynd_exchange exchange; /* all_reduce NULL: there are no others */
} cli_ranks;

bool cli_ranks_open(cli_ranks *ranks, cli_failure *failure);
/* Waits for the others. */
void cli_ranks_close(cli_ranks *ranks);
/* NULL: there are no others. */
const rynd_exchange *cli_ranks_exchange(const cli_ranks *ranks);
/* Returns this rank's number of threads: its share of the machine's cores, within its affinity
 * mask. */
unsigned cli_ranks_threads(const cli_ranks *ranks);

/* Each value becomes its sum over the ranks, added up in their order: the same bits on all. Every
 * rank calls it, for as many. */
bool cli_ranks_sum(const cli_ranks *ranks, double *values, int count, cli_failure *failure);

/* How many of `count` things any rank has marked. Likewise. */
bool cli_ranks_count(const cli_ranks *ranks, const unsigned char *marks, size_t count,
                     size_t *marked, cli_failure *failure);

/* Ends all ranks, with the failure's message and exit code; of several that fail alike rank 0 has
 * the word. Returns only where there are no others. */
void cli_ranks_fail(const cli_ranks *ranks, const cli_failure *failure);

#endif
