/* SPDX-License-Identifier: Apache-2.0 */
/* Measures what a cache line costs that another core wrote. */
#ifndef RY_MACHINE_MEASURE_TRANSFER_H
#define RY_MACHINE_MEASURE_TRANSFER_H

#include "base/threads.h"
#include "machine/machine.h"
#include "machine/measure_loops.h"

/* Seconds that a core takes longer to read a line, in order, if another core's own cache holds it.
 * 0: one thread, or the threads did not run at once. Takes some milliseconds. */
rynd_status ry_machine_measure_transfer(const ry_allocator *allocator, ry_threads *threads,
                                        const ry_machine_loops *loops, ry_machine *machine,
                                        ry_error *error);

#endif
