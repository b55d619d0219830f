/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and opens librynd_mpi.so. */
#ifndef RY_EXCHANGE_MPI_LOAD_H
#define RY_EXCHANGE_MPI_LOAD_H

#include "base/status.h"
#include "exchange/mpi_module.h"

/* From the environment, without MPI: 1 where nobody started several. */
int ry_mpi_ranks(void);

/* It stays open. The file RYND_MPI_LIBRARY names; else beside the library, beside lib/ of the
 * program, or where the system's loader finds it. Fails with UNSUPPORTED. */
rynd_status ry_mpi_load(const ry_mpi_module **module, ry_error *error);

#endif
