/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that measure one rate each. */
#ifndef RY_MACHINE_MEASURE_LOOPS_H
#define RY_MACHINE_MEASURE_LOOPS_H

#include <stddef.h>

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

#endif
