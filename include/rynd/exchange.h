/* SPDX-License-Identifier: Apache-2.0 */
/** @file exchange.h
 *  @brief Experimental (see <rynd/rynd.h>): sums over several training processes, also by MPI.
 *
 * Each process is a *rank*, 0 to ranks - 1. A trainer with an exchange
 * (rynd_trainer_options.exchange) takes its rank's part of each batch, and adds its gradients to
 * the other ranks', in buckets, during the backward pass. An exchange may use sockets, NCCL or
 * threads of one process. MPI's is here: the library opens it at run time, and is built without
 * MPI. */
#ifndef RYND_EXCHANGE_H
#define RYND_EXCHANGE_H

#include <rynd/status.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Replaces data[0 .. count-1] by the sums over all ranks, with the same bits on each rank and in
 * each repetition. Every rank calls it equally often, with the same counts in the same order. One
 * thread at a time, but not always the same one; it may block. Any result but 0 is a failure, which
 * fails the trainer's step. */
typedef int (*rynd_all_reduce_function)(void *user, float *data, size_t count);

/** One rank's connection to the others. */
typedef struct rynd_exchange {
    size_t size;
    int rank;  /**< 0 to ranks - 1 */
    int ranks; /**< at least 1 */
    rynd_all_reduce_function all_reduce;
    void *user;
    int local_ranks; /**< number of ranks on the local machine; 0: unknown */
} rynd_exchange;

/** Number of processes that a launcher started (Open MPI's mpirun, or PMI), by the environment; 1
 * for a process alone. Opens nothing. */
RYND_API int rynd_mpi_ranks(void);

/** Starts MPI, and fills an exchange over all its processes. Sums go round a ring (reduce-scatter,
 * then all-gather), so their order depends on the number of ranks only. Waiting ranks sleep. Once
 * per process.
 *
 * Fails with UNSUPPORTED if librynd_mpi.so or MPI is missing (the message says what to install), or
 * another MPI's launcher started the processes; with ARGUMENT if MPI was opened before. */
RYND_API rynd_status rynd_mpi_open(rynd_exchange *exchange);

/** Ends MPI; each rank calls it last. The exchange must not be used again. Does nothing for another
 * exchange. */
RYND_API void rynd_mpi_close(rynd_exchange *exchange);

/** Ends all ranks, this one too, with that exit code: for a rank that failed while others wait for
 * it. Returns only if `exchange` is NULL or not MPI's. */
RYND_API void rynd_mpi_abort(const rynd_exchange *exchange, int code);

#ifdef __cplusplus
}
#endif
#endif
