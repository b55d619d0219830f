/* SPDX-License-Identifier: Apache-2.0 */
/* Where a contiguous run of sums goes: what the epilogue reads, and plans make room for. */
#ifndef RY_KERNELS_CPU_PARTS_EPILOGUE_RUN_H
#define RY_KERNELS_CPU_PARTS_EPILOGUE_RUN_H

#include <stdint.h>

/* A run of columns of a row of sums in memory, or of pixels of a task: from `column` on, `length`
 * of them; the first one's element of y and of the residual, and the step to the next one's. */
typedef struct epilogue_run {
    int64_t column, length, y, y_step, r, r_step;
} epilogue_run;

#endif
