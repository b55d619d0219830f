/* SPDX-License-Identifier: Apache-2.0 */
/** @file exchange.h
 *  @brief Several processes that train one network: how they add up what each has, and MPI's way.
 *
 * Each process is a *rank*, 0 to ranks - 1. A trainer that is given an exchange takes its rank's
 * part of each batch and adds its gradients to the others' (rynd_trainer_options.exchange), in
 * buckets, while the backward pass goes on. An exchange may be anything: sockets, NCCL, threads of
 * one process. Over MPI it is here; the library is built without MPI and opens it when asked to. */
#ifndef RYND_EXCHANGE_H
#define RYND_EXCHANGE_H

#include <rynd/status.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One rank's way to all others. Set `size` to sizeof(rynd_exchange). */
typedef struct rynd_exchange {
    size_t size;
    int rank;  /**< 0 to ranks - 1 */
    int ranks; /**< at least 1 */
    /** Replaces data[0 .. count-1] by the sums over all ranks: the same bits on each of them, and
     * every time. Every rank calls it as often, with the same counts in the same order. Called by
     * one thread at a time, not always the same one; it may wait as long as it likes. 0: done; else
     * it failed, and so does the trainer's step. */
    int (*all_reduce)(void *user, float *data, size_t count);
    void *user;
    int local_ranks; /**< ranks on this rank's machine, which share its cores; 0: not known */
} rynd_exchange;

/** How many processes this one was started with, by what Open MPI's mpirun, or a launcher that
 * speaks PMI, leaves in the environment; 1 where it was started alone. Opens nothing. */
RYND_API int rynd_mpi_ranks(void);

/** Fills in an exchange over all processes that mpirun started, and begins MPI. Its sums are a
 * ring's: reduce-scatter, then all-gather, by messages between neighbours, so that the order of
 * additions depends on nothing but the number of ranks. A rank that waits sleeps. Once a process.
 * Fails with UNSUPPORTED where librynd_mpi.so is not beside the library, or MPI not there (the
 * message says what to install) or another's mpirun started the processes, ARGUMENT where it was
 * opened before. */
RYND_API rynd_status rynd_mpi_open(rynd_exchange *exchange);
/** Ends MPI; every rank does, at its end. The exchange must not be used any more. NULL, and one
 * that is not MPI's: nothing happens. */
RYND_API void rynd_mpi_close(rynd_exchange *exchange);
/** Ends all ranks with that exit code, this one, too: for a rank that failed while others wait for
 * it. Returns only where `exchange` is NULL or not MPI's. */
RYND_API void rynd_mpi_abort(const rynd_exchange *exchange, int code);

#ifdef __cplusplus
}
#endif
#endif
