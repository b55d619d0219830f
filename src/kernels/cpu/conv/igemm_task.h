/* SPDX-License-Identifier: Apache-2.0 */
/* A task of the implicit GEMM while it runs: one of these for each phase of its bundle. */
#ifndef RY_KERNELS_CPU_CONV_IGEMM_TASK_H
#define RY_KERNELS_CPU_CONV_IGEMM_TASK_H

#include "kernels/cpu/common/isa.h"
#include "kernels/cpu/conv/finish.h"
#include "kernels/cpu/conv/gather_program.h"
#include "kernels/cpu/conv/igemm_alive.h"
#include "kernels/cpu/conv/tile.h"

typedef struct igemm_task {
    const igemm_plan *plan;
    const igemm_phase *phase;
    const ry_cpu_launch *launch;
    const ry_tile_pairs *pairs;         /* NULL: products are of the elements themselves */
    int64_t group, image, first, count; /* pixels */
    int64_t unit, units;
    int64_t channel, channels; /* output channels, in the group */
    bool integer;
    ry_activation_of activation;
    float low, high;
    bool bounds; /* the activation is these bounds, and the tiles apply them */
    const float *packed;
    float *panel, *block, *turned, *woven_row, *bias; /* panel: of the chunk at hand */
    const float *shared;                              /* the panels of all chunks, one after another; NULL: gathered by the task */
    int64_t block_step, block_channel;                /* of the block of sums: from row to row, and its first channel */
    igemm_segment *segment;
    igemm_entry *program;
    igemm_run *run; /* the pixels in memory */
    int64_t segments, runs;
    igemm_live live;      /* the chunks that the block needs */
    char *y;              /* direct only: the first channel of x's image 0 */
    const char *residual; /* direct only: moves with y */
} igemm_task;

/* Writes the task's pixels to `run`, as they lie in y and the residual (woven: with those of the phases beside it), and counts them in `runs`. */
void RY_ISA_SYMBOL(igemm_find_runs)(igemm_task *task);

/* Copies what task `index` of the copying phase stands for (igemm_copy.h). */
void RY_ISA_SYMBOL(igemm_copy)(const igemm_plan *plan, const ry_cpu_launch *launch, float *copy, int64_t index);

/* Brings the finished sums of one unit to y: `task` is a phase's that is not direct, with those behind it that are woven with it. */
void RY_ISA_SYMBOL(igemm_finish_unit)(const igemm_task *task, int64_t unit);

#endif
