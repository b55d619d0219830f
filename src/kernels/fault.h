/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel found wrong in the content of its inputs: an index outside its axis, a length
 * beyond its sequence.
 *
 * A launch carries a record that is zero before it. A kernel that meets such a number notes it
 * there and goes on with a harmless one, so that nothing outside a tensor is touched; what it
 * writes is then of no use. Whoever ran the kernel looks at the record when the launch is done, and
 * fails. Of several such numbers the first of its input, in row-major order, stays: the same at any
 * number of threads. The record is plain data without pointers, so that it may be in a device's
 * memory. */
#ifndef RY_KERNELS_FAULT_H
#define RY_KERNELS_FAULT_H

#include "problem/problem.h"

typedef struct ry_fault {
    /* 1 + the number's position in its input, in row-major order; 0: nothing was found */
    uint64_t found;
    int64_t value;       /* an unsigned number's bits, where the input's type is u64 */
    int64_t least, most; /* legal bounds, inclusive */
    int32_t input;       /* the problem's input that stores the number */
    int32_t axis;        /* the axis of the problem's first input that the bounds belong to; -1: its
                            elements */
    uint32_t busy;       /* 1 while a thread writes the record */
} ry_fault;

/* Any number of threads at once. `fault` may be NULL: nobody asks. */
void ry_fault_note(ry_fault *fault, const ry_fault *bad);

/* RYND_OK when nothing was found, else RYND_ERROR_SHAPE: "input 1, at [0, 2], is 7, expected -5 to
 * 4 (axis 0 of input 0)". When the launch is done. */
rynd_status ry_fault_check(const ry_fault *fault, const ry_problem *problem, ry_error *error);

#endif
