/* SPDX-License-Identifier: Apache-2.0 */
/* A problem's operands, in the host's memory and in the device's, for all candidates alike. */
#ifndef RY_TUNE_OPERANDS_H
#define RY_TUNE_OPERANDS_H

#include "device/device.h"
#include "problem/problem.h"

typedef struct ry_operands {
    ry_device *device;
    ry_stream *stream;
    const ry_problem *problem;
    int64_t range;       /* range of integers */
    void **in;           /* the host's; NULL where absent */
    void *out;           /* the host's room for any one output of a device with memory of its own */
    ry_pointer *pointer; /* the device's: inputs, then outputs */
} ry_operands;

/* Floats are random, from -1 to 1; integers from -reach (0 if they are unsigned) to reach - 1, or
 * all 0, a legal index of any axis, if reach is 0. Arrays are in `arena`, which must outlive the
 * operands, as must the problem. Operands with a negative stride are UNSUPPORTED. To be freed also
 * where this fails. */
rynd_status ry_operands_make(ry_operands *operands, ry_device *device, const ry_problem *problem,
                             uint64_t seed, int64_t range, ry_arena *arena, ry_error *error);
void ry_operands_free(ry_operands *operands);

/* Sets all bytes of the outputs to 0: what a kernel does not write is then not what the one before
 * it wrote. */
rynd_status ry_operands_clear(ry_operands *operands, ry_error *error);

/* The content of an output, until the next call. */
rynd_status ry_operands_output(ry_operands *operands, int output, const void **data,
                               ry_error *error);

#endif
