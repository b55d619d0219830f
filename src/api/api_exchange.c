/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges over MPI. */
#include "api/api_check.h"
#include "api/api_status.h"
#include "api/handles.h"
#include "exchange/mpi_load.h"
#include "exchange/ring.h"

#include <stdatomic.h>

/* MPI begins and ends once a process. */
static struct {
    const ry_mpi_module *module;
    ry_ring ring;
    atomic_flag opened;
} mpi = {.opened = ATOMIC_FLAG_INIT};

int rynd_mpi_ranks(void)
{
    return ry_mpi_ranks();
}

static rynd_status open_mpi(rynd_exchange *exchange, ry_error *error)
{
    int rank, ranks, local_ranks;
    RY_TRY(ry_mpi_load(&mpi.module, error));
    const char *wrong = mpi.module->open(&rank, &ranks, &local_ranks);
    if (wrong) {
        return ry_fail(error, RYND_ERROR_UNSUPPORTED, "%s", wrong);
    }
    const int started = ry_mpi_ranks();
    if (started > 1 && started != ranks) {
        return ry_fail(error, RYND_ERROR_UNSUPPORTED,
                       "%d processes were started, and the MPI that librynd_mpi.so was built with "
                       "knows of %d: start them with its own mpirun",
                       started, ranks);
    }
    mpi.ring = (ry_ring){.rank = rank,
                         .ranks = ranks,
                         .shift = mpi.module->shift,
                         .allocator = &ry_system_allocator};
    const rynd_exchange all =
        RYND_SIZED(rynd_exchange, .rank = rank, .ranks = ranks, .all_reduce = ry_ring_all_reduce,
                   .user = &mpi.ring, .local_ranks = local_ranks);
    return ry_api_info(exchange, &all, sizeof all, "rynd_exchange", error);
}

rynd_status rynd_mpi_open(rynd_exchange *exchange)
{
    RY_API_REQUIRE(exchange);
    ry_error error = {""};
    if (atomic_flag_test_and_set(&mpi.opened)) {
        return ry_api_end(
            ry_fail(&error, RYND_ERROR_ARGUMENT,
                    "rynd_mpi_open: MPI begins once a process, and was opened before"),
            &error);
    }
    const rynd_status status = open_mpi(exchange, &error);
    if (status != RYND_OK && mpi.ring.ranks == 0) {
        atomic_flag_clear(&mpi.opened); /* nothing began */
    }
    return ry_api_end(status, &error);
}

static bool is_mpi(const rynd_exchange *exchange)
{
    return exchange && exchange->user == &mpi.ring && mpi.ring.ranks > 0;
}

void rynd_mpi_close(rynd_exchange *exchange)
{
    if (is_mpi(exchange)) {
        mpi.module->close();
        ry_ring_free(&mpi.ring);
        mpi.ring = (ry_ring){0};
        exchange->all_reduce = NULL;
    }
}

void rynd_mpi_abort(const rynd_exchange *exchange, int code)
{
    if (is_mpi(exchange)) {
        mpi.module->abort(code);
    }
}
