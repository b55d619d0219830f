/* SPDX-License-Identifier: Apache-2.0 */
/* Measures a machine by loops that do nothing else. */
#ifndef RY_MACHINE_MEASURE_H
#define RY_MACHINE_MEASURE_H

#include "base/competition.h"
#include "base/threads.h"
#include "machine/machine.h"
#include "machine/measure_loops.h"

/* `machine` comes as the built-in one, whose caches and cores are kept, and gets measured rates,
 * latencies and costs; int8 keeps its ratio to f32. Rounds are repeated while machine->disturbance
 * is above its limit and there is time. */
rynd_status ry_machine_measure(const ry_allocator *allocator, ry_threads *threads,
                               const ry_machine_loops *loops, const rynd_measure_options *options,
                               ry_machine *machine, ry_error *error);

/* Begins to watch how much of the machine others take, for ry_disturbance_since. Zeros, as if the
 * system did not tell, for a device that is no processor: others' threads do not slow it down, and
 * its canary shows who does. */
ry_competition ry_machine_competition(const ry_machine *machine);

#endif
