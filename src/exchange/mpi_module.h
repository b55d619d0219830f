/* SPDX-License-Identifier: Apache-2.0 */
/* What librynd_mpi.so offers: the only part that is compiled against an MPI, and so of its binary
 * interface, which differs between implementations. The library opens it when asked to. */
#ifndef RY_EXCHANGE_MPI_MODULE_H
#define RY_EXCHANGE_MPI_MODULE_H

#include <stddef.h>

enum { RY_MPI_MODULE_VERSION = 1 };
#define RY_MPI_MODULE_SYMBOL "ry_mpi_functions"

typedef struct ry_mpi_module {
    int version;
    /* Begins MPI. NULL: done; else what went wrong. Once a process. */
    const char *(*open)(int *rank, int *ranks, int *local_ranks);
    /* As ry_shift; user is not looked at. */
    int (*shift)(void *user, const float *send, size_t sent, float *receive, size_t received);
    void (*abort)(int code); /* ends all ranks */
    void (*close)(void);     /* every rank: waits for the others */
} ry_mpi_module;

#endif
