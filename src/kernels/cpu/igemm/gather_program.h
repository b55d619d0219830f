/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of masked loads that gather the pixels of a task into a panel (igemm_plan.h). */
#ifndef RY_KERNELS_CPU_IGEMM_GATHER_PROGRAM_H
#define RY_KERNELS_CPU_IGEMM_GATHER_PROGRAM_H

#include "kernels/cpu/igemm/igemm_k_block.h"

/* A piece of a vector's lanes whose pixels are in one row of the output grid. */
typedef struct igemm_segment {
    int64_t base;        /* where lane 0 would read at tap offset 0, in elements of x */
    int64_t q[RY_SPACE]; /* position of the first lane */
    int32_t vector, lane, length;
} igemm_segment;

/* Strides up to this are gathered by permutations of two vectors that are next to each other. */
enum { IGEMM_MAX_PICK = 15 };

/* One load of a gathered vector; `more`: the next entry is of the same vector. Where pixels are a
 * step apart that permutations bridge, it is two vectors from `offset` on, of whose elements
 * `reads` are read; lane i takes element i * step - shift. Else lane 0 would read at `offset`. */
typedef struct igemm_entry {
    int64_t offset;
    uint32_t reads;
    uint16_t mask;
    uint8_t shift;
    uint8_t more;
} igemm_entry;

/* Lanes that one entry fills if pixels are `step` elements apart; 0: no permutation. */
static inline int64_t igemm_permute_lanes(int64_t step, int64_t width)
{
    return step < 2 || step > IGEMM_MAX_PICK ? 0 : (2 * width - 1) / step + 1;
}

/* Elements of x between the pixels of neighbouring lanes. */
static inline int64_t igemm_lane_step(const ry_conv_geometry *g)
{
    return g->stride[RY_SPACE - 1] * g->x_step[RY_SPACE - 1];
}

/* Cuts the pixels [first, first + count) of a range (in image `image` where ranges are images) into
 * segments; returns their number. */
int64_t ry_igemm_cut_segments(const igemm_plan *plan, const igemm_phase *phase, int64_t image,
                              int64_t first, int64_t count, igemm_segment *segment);

/* The program that gathers `taps` taps from `tap` on: entries ordered as
 * [micro-panel][tap][vector]; micro-panels of `micropanel` vectors. */
void ry_igemm_write_program(const igemm_plan *plan, const igemm_phase *phase,
                            const igemm_segment *segment, int64_t segments, int64_t vectors,
                            int64_t micropanel, int64_t first_tap, int64_t taps,
                            igemm_entry *program);

#endif
