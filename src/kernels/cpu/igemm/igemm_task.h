/* SPDX-License-Identifier: Apache-2.0 */
/* State of a running task of the implicit GEMM; a task has one for each phase of its fused group. */
#ifndef RY_KERNELS_CPU_IGEMM_IGEMM_TASK_H
#define RY_KERNELS_CPU_IGEMM_IGEMM_TASK_H

#include "kernels/cpu/igemm/gather_program.h"
#include "kernels/cpu/igemm/igemm_padding.h"
#include "kernels/cpu/parts/epilogue.h"
#include "kernels/cpu/parts/tile.h"
#include "kernels/cpu/simd/isa.h"

typedef struct igemm_task {
    const igemm_plan *plan;
    const igemm_phase *phase;
    const ry_cpu_launch *launch;
    const ry_tile_pairs *pairs;         /* NULL: products are of the elements themselves */
    int64_t group, image, first, count; /* pixels */
    int64_t oc_block, oc_blocks;
    int64_t channel, channels; /* output channels, in the group */
    bool integer;
    ry_activation_of activation;
    float low, high;
    bool ends;   /* tiles store finished sums by the operands' own end */
    bool bounds; /* the activation is these bounds, and the tiles apply them */
    const float *packed;
    float *panel, *block, *transposed, *interleaved_row, *bias; /* panel: of the k block at hand */
    /* the panels of all k blocks, one after another; NULL: gathered by the task */
    const float *shared;
    /* floats between rows of the block of sums; its first channel */
    int64_t block_step, block_channel;
    igemm_segment *segment;
    igemm_entry *program;
    epilogue_run *run; /* the pixels in memory */
    int64_t segments, runs;
    igemm_k_range k_range; /* the k blocks that the block needs */
    char *y;               /* direct only: the first channel of x's image 0 */
    const char *residual;  /* direct only: moves with y */
} igemm_task;

/* A task of the pixels of a block: its ranges of images, groups and pixels. */
void RY_ISA_SYMBOL(igemm_set_block)(const igemm_plan *plan, const igemm_phase *p,
                                    const ry_cpu_launch *launch, const ry_cut_range *block,
                                    char *scratch, igemm_task *task);
/* The task of a fused group's first phase. */
void RY_ISA_SYMBOL(igemm_decode)(const igemm_plan *plan, const ry_cpu_launch *launch, int64_t index,
                                 char *scratch, igemm_task *task);
/* The channels' bias as the tile's elements, zeros without one and behind the last channel. */
void RY_ISA_SYMBOL(igemm_read_bias)(igemm_task *task);
/* Places the pixels of a direct task in y and the residual, from the task's first channel on. */
void RY_ISA_SYMBOL(igemm_place_direct)(igemm_task *task);

/* Writes the task's pixels to `run`, as they are in y and the residual (interleaved: with those of
 * the phases beside it), and counts them in `runs`. */
void RY_ISA_SYMBOL(igemm_find_runs)(igemm_task *task);

/* Copies what task `index` of the copying phase stands for (igemm_copy.h). */
void RY_ISA_SYMBOL(igemm_copy)(const igemm_plan *plan, const ry_cpu_launch *launch, float *copy,
                               int64_t index);

/* Stores the finished sums of an oc block to y, for a phase that is not direct. The states of
 * phases interleaved with it follow `task`. */
void RY_ISA_SYMBOL(igemm_epilogue_oc_block)(const igemm_task *task, int64_t oc_block);

#endif
