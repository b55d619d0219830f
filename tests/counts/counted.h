/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on vectors that kernels do, counted by kind by the instrumented vocabulary
 * (kernels/cpu/simd/simd.h in this folder). */
#ifndef COUNTED_H
#define COUNTED_H

#include <stdbool.h>

enum {
    COUNTED_PRODUCT, /* multiply-adds */
    COUNTED_ADD,     /* other arithmetic */
    COUNTED_DIVIDE,
    COUNTED_LOAD,
    COUNTED_SPREAD, /* a number to all lanes */
    COUNTED_STORE,
    COUNTED_PERMUTE,
    COUNTED_CONVERT,
    COUNTED_MOVED,   /* bytes of operands that loops in plain C read and write (memory.c) */
    COUNTED_COPIES,  /* their calls of memcpy */
    COUNTED_WRITTEN, /* bytes written to outputs and scratch */
    COUNTED_KINDS
};

/* By the calling thread. While it is held, nothing counts. */
extern _Thread_local double counted[COUNTED_KINDS];
extern _Thread_local int counted_held;

/* Memory of an operand, or of a task's scratch. */
enum { COUNTED_RANGES = 33 };
typedef struct counted_range {
    const char *from, *to;
    bool scratch;
} counted_range;
extern _Thread_local counted_range counted_ranges[COUNTED_RANGES];

void count_operations(int kind, double operations);

#endif
