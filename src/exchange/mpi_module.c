/* SPDX-License-Identifier: Apache-2.0 */
/* librynd_mpi.so: messages between neighbours of a ring, by MPI.
 *
 * Who waits sleeps between looks: MPI's own waiting spins, and would take the core that the
 * backward pass runs on. One thread talks at a time, not always the same one. */
#define _GNU_SOURCE /* nanosleep, sched_yield */
#include "exchange/mpi_module.h"

#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <stdbool.h>
#include <time.h>

enum {
    TAG = 0x72,
    EAGER_LOOKS = 16, /* polls that only yield the core: a message in flight arrives within them */
    NAP = 20000,      /* nanoseconds of the sleeps behind them; Linux adds some 50 microseconds */
};

static struct ring {
    MPI_Comm comm;
    int rank, ranks;
} ring;

static const char *open(int *rank, int *ranks, int *local_ranks)
{
    int begun = 0, provided = MPI_THREAD_SINGLE;
    MPI_Comm local;
    MPI_Initialized(&begun);
    if (begun) {
        MPI_Query_thread(&provided);
    } else if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS) {
        return "MPI does not begin: is the process started by its mpirun?";
    }
    if (provided < MPI_THREAD_SERIALIZED) {
        return "this MPI is for one thread only, and MPI_THREAD_SERIALIZED is needed";
    }
    if (MPI_Comm_dup(MPI_COMM_WORLD, &ring.comm) != MPI_SUCCESS ||
        MPI_Comm_set_errhandler(ring.comm, MPI_ERRORS_RETURN) != MPI_SUCCESS ||
        MPI_Comm_rank(ring.comm, &ring.rank) != MPI_SUCCESS ||
        MPI_Comm_size(ring.comm, &ring.ranks) != MPI_SUCCESS) {
        return "MPI has no communicator of all ranks";
    }
    *rank = ring.rank;
    *ranks = ring.ranks;
    *local_ranks = 0;
    if (MPI_Comm_split_type(ring.comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local) ==
        MPI_SUCCESS) {
        MPI_Comm_size(local, local_ranks);
        MPI_Comm_free(&local);
    }
    return NULL;
}

static int wait_for(MPI_Request requests[2])
{
    const struct timespec nap = {0, NAP};
    for (int looks = 0;; looks++) {
        int done = 0;
        if (MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE) != MPI_SUCCESS) {
            return -1;
        }
        if (done) {
            return 0;
        }
        if (looks < EAGER_LOOKS) {
            sched_yield();
        } else {
            nanosleep(&nap, NULL);
        }
    }
}

/* A message has at most INT_MAX elements. */
static int shift(void *user, const float *send, size_t sent, float *receive, size_t received)
{
    const int next = (ring.rank + 1) % ring.ranks,
              before = (ring.rank + ring.ranks - 1) % ring.ranks;
    const size_t most = INT_MAX;
    (void)user;
    while (sent || received) {
        const size_t out = sent < most ? sent : most, in = received < most ? received : most;
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        if (in && MPI_Irecv(receive, (int)in, MPI_FLOAT, before, TAG, ring.comm, &requests[0]) !=
                      MPI_SUCCESS) {
            return -1;
        }
        if (out && MPI_Isend(send, (int)out, MPI_FLOAT, next, TAG, ring.comm, &requests[1]) !=
                       MPI_SUCCESS) {
            return -1;
        }
        if (wait_for(requests) != 0) {
            return -1;
        }
        send += out;
        receive += in;
        sent -= out;
        received -= in;
    }
    return 0;
}

static void abort_all(int code)
{
    MPI_Abort(ring.comm, code);
}

static void close(void)
{
    int ended = 0;
    MPI_Comm_free(&ring.comm);
    MPI_Finalized(&ended);
    if (!ended) {
        MPI_Finalize();
    }
}

__attribute__((visibility("default"))) extern const ry_mpi_module ry_mpi_functions;
const ry_mpi_module ry_mpi_functions = {RY_MPI_MODULE_VERSION, open, shift, abort_all, close};
