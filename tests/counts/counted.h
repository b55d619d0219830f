/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on vectors that kernels do, counted by kind by the instrumented vocabulary
 * (kernels/cpu/simd/simd.h in this folder). */
#ifndef COUNTED_H
#define COUNTED_H

enum {
    COUNTED_PRODUCT, /* multiply-adds */
    COUNTED_ADD,     /* other arithmetic */
    COUNTED_DIVIDE,
    COUNTED_LOAD,
    COUNTED_SPREAD, /* a number to all lanes */
    COUNTED_STORE,
    COUNTED_PERMUTE,
    COUNTED_CONVERT,
    COUNTED_KINDS
};

/* By the calling thread. While it is held, nothing counts. */
extern _Thread_local double counted[COUNTED_KINDS];
extern _Thread_local int counted_held;

void count_operations(int kind, double operations);

#endif
