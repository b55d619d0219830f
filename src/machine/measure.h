/* SPDX-License-Identifier: Apache-2.0 */
/* Measures a machine by loops that do nothing else. */
#ifndef RY_MACHINE_MEASURE_H
#define RY_MACHINE_MEASURE_H

#include "base/competition.h"
#include "base/threads.h"
#include "machine/machine.h"

#define RY_MACHINE_BLOCK 256

/* Floats of the buffer that a loop of a kind of operation works on; a first-level cache has room.
 */
#define RY_KIND_FLOATS 2048

/* Loops of one instruction set (kernels/cpu/peak/peak.h). *sink receives a value that depends on
 * all that was done. */
typedef struct ry_machine_loops {
    /* Rounds of independent multiply-adds; returns the operations done. */
    double (*f32)(size_t rounds, float *sink);
    /* Likewise of products of bfloat16, summed in float32. */
    double (*bf16)(size_t rounds, float *sink);
    /* Reads `count` floats (a multiple of RY_MACHINE_BLOCK) `rounds` times; returns the bytes read.
     */
    double (*read)(const float *data, size_t count, size_t rounds, float *sink);
    /* Rounds of one kind of operation on RY_KIND_FLOATS zeros, aligned to a cache line, left as
     * zeros; returns the operations done. */
    double (*const *kind)(size_t rounds, float *data, float *sink);
} ry_machine_loops;

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
