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
    COUNTED_MOVED,   /* bytes of operands that loops in plain C read and write (memory.c) */
    COUNTED_COPIES,  /* their calls of memcpy */
    COUNTED_WRITTEN, /* bytes written to outputs and scratch */
    COUNTED_WEIGHTS, /* bytes read of packed constants */
    COUNTED_KINDS
};

/* By the calling thread. While it is held, nothing counts. */
extern _Thread_local double counted[COUNTED_KINDS];
extern _Thread_local int counted_held;

/* Memory of an operand, of a task's scratch, or of packed constants. */
enum { COUNTED_RANGES = 34 };
typedef enum counted_memory { COUNTED_OPERAND, COUNTED_SCRATCH, COUNTED_PACKED } counted_memory;
typedef struct counted_range {
    const char *from, *to;
    counted_memory of;
} counted_range;
extern _Thread_local counted_range counted_ranges[COUNTED_RANGES];

void count_operations(int kind, double operations);

#endif
