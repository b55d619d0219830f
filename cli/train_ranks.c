/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks, and their messages besides gradients. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "train_ranks.h"

#include "line.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A double as three floats. */
enum { FLOATS = 3 };

bool cli_ranks_open(cli_ranks *ranks, cli_failure *failure)
{
    *ranks = (cli_ranks){.ranks = 1, .exchange = RYND_SIZED(rynd_exchange)};
    if (rynd_mpi_ranks() == 1) {
        return true;
    }
    if (rynd_mpi_open(&ranks->exchange) != RYND_OK) {
        return cli_fail_library(failure);
    }
    ranks->rank = ranks->exchange.rank;
    ranks->ranks = ranks->exchange.ranks;
    return true;
}

void cli_ranks_close(cli_ranks *ranks)
{
    rynd_mpi_close(&ranks->exchange);
}

const rynd_exchange *cli_ranks_exchange(const cli_ranks *ranks)
{
    return ranks->exchange.all_reduce ? &ranks->exchange : NULL;
}

unsigned cli_ranks_threads(const cli_ranks *ranks)
{
    const long online = sysconf(_SC_NPROCESSORS_ONLN), cores = online > 0 ? online : 1;
    const int here = ranks->exchange.local_ranks > 0 ? ranks->exchange.local_ranks : 1;
    const long share = cores / here > 0 ? cores / here : 1;
    cpu_set_t set;
    const bool known = sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0;
    return (unsigned)(known && CPU_COUNT(&set) < share ? CPU_COUNT(&set) : share);
}

static bool fail_exchange(cli_failure *failure)
{
    return cli_fail(failure, "the exchange with the other ranks failed");
}

static void split(double value, float *parts)
{
    double rest = value;
    for (int i = 0; i < FLOATS; i++) {
        parts[i] = (float)rest;
        rest = isfinite(parts[i]) ? rest - (double)parts[i] : 0;
    }
}

static double join(const float *parts)
{
    double value = (double)parts[FLOATS - 1];
    for (int i = FLOATS - 1; i-- > 0;) {
        value += (double)parts[i];
    }
    return value;
}

/* Every rank has a place of its own in what is added up, and zeros in the others', so that what is
 * exchanged in floats arrives as it was. */
bool cli_ranks_sum(const cli_ranks *ranks, double *values, int count, cli_failure *failure)
{
    const size_t own = (size_t)count * FLOATS, all = own * (size_t)ranks->ranks;
    if (!cli_ranks_exchange(ranks)) {
        return true;
    }
    float *places = calloc(all, sizeof *places);
    if (!places) {
        return cli_fail_memory(failure);
    }
    for (int i = 0; i < count; i++) {
        split(values[i], places + own * (size_t)ranks->rank + (size_t)i * FLOATS);
    }
    const int status = ranks->exchange.all_reduce(ranks->exchange.user, places, all);
    for (int i = 0; i < count; i++) {
        values[i] = 0;
        for (size_t r = 0; r < (size_t)ranks->ranks; r++) {
            values[i] += join(places + own * r + (size_t)i * FLOATS);
        }
    }
    free(places);
    return status == 0 || fail_exchange(failure);
}

bool cli_ranks_count(const cli_ranks *ranks, const unsigned char *marks, size_t count,
                     size_t *marked, cli_failure *failure)
{
    float *sums = calloc(count, sizeof *sums);
    int status = 0;
    if (!sums) {
        return cli_fail_memory(failure);
    }
    for (size_t i = 0; i < count; i++) {
        sums[i] = marks[i];
    }
    if (cli_ranks_exchange(ranks)) {
        status = ranks->exchange.all_reduce(ranks->exchange.user, sums, count);
    }
    *marked = 0;
    for (size_t i = 0; i < count; i++) {
        *marked += sums[i] > 0;
    }
    free(sums);
    return status == 0 || fail_exchange(failure);
}

void cli_ranks_fail(const cli_ranks *ranks, const cli_failure *failure)
{
    const struct timespec wait = {5, 0}; /* on a busy machine the end takes seconds to come */
    if (!cli_ranks_exchange(ranks)) {
        return;
    }
    /* What fails everywhere is told by rank 0, whose end of all comes as a signal. */
    if (ranks->rank == 0 || nanosleep(&wait, NULL) == 0) {
        cli_line(stderr, "rynd: rank %d of %d: %s", ranks->rank, ranks->ranks, failure->text);
        fflush(stderr);
    }
    rynd_mpi_abort(&ranks->exchange, failure->exit_code);
}
