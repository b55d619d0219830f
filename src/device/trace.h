/* SPDX-License-Identifier: Apache-2.0 */
/* Records when workers of the CPU ran tasks of launches. */
#ifndef RY_DEVICE_TRACE_H
#define RY_DEVICE_TRACE_H

#include <stddef.h>

/* From a worker's first task of a phase to its last, in seconds of ry_clock_seconds. */
typedef struct ry_span {
    size_t step;
    unsigned worker;
    size_t tasks;
    double begin, end;
} ry_span;

typedef struct ry_trace {
    ry_span *spans;
    size_t capacity, count;
    size_t step; /* number of the launching step, set by the session */
} ry_trace;

#endif
