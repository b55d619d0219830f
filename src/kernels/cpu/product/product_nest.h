/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions in every direction, transposed convolutions and matrix products as one nest of loops:
 *
 *   y[g, i, j] = sum over k of x[g, i, k] * w[g, j, k]
 *
 * g, i, j and k each stand for some dims. x is the first input, w the second one: weights, dy of a
 * weight gradient, b. Elements of x may lie in its padding, where they are 0.
 *
 *              g        i                 j               k
 *   conv       groups   image, position   output channel  input channel, tap
 *   convt      groups   image, position   output channel  input channel, tap
 *   gradient   groups   input channel,    output channel  image, position
 *   of weights          tap
 *   matmul     batch    batch, row        column          depth
 *
 * Positions of a transposed convolution that are a multiple of the strides apart are a phase, which
 * is a nest of its own. */
#ifndef RY_KERNELS_CPU_PRODUCT_PRODUCT_NEST_H
#define RY_KERNELS_CPU_PRODUCT_PRODUCT_NEST_H

#include "kernels/kernel.h"
#include "problem/window.h"

/* bias: also c of matmul, and db of a weight gradient, which is written */
typedef enum product_operand {
    PRODUCT_X,
    PRODUCT_W,
    PRODUCT_Y,
    PRODUCT_BIAS,
    PRODUCT_RESIDUAL,
    PRODUCT_OPERANDS
} product_operand;

typedef enum product_lists {
    PRODUCT_GROUPS,
    PRODUCT_XS, /* i */
    PRODUCT_WS, /* j */
    PRODUCT_DEPTH,
    PRODUCT_LISTS
} product_lists;

enum { PRODUCT_AXES = RY_MAX_RANK - 2 };

typedef struct product_dim {
    int64_t count;
    int64_t step[PRODUCT_OPERANDS]; /* elements */
    int axis;                       /* spatial axis of x; -1: none */
    int64_t at;                     /* by how much */
} product_dim;

typedef struct product_list {
    int rank;
    product_dim dim[RY_MAX_RANK];
} product_list;

typedef struct product_nest {
    product_list list[PRODUCT_LISTS];
    int64_t base[PRODUCT_OPERANDS]; /* elements in front of the first */
    /* axes of x with padding: its extent, and the place of the nest's first element */
    int axes;
    int64_t in[PRODUCT_AXES], at[PRODUCT_AXES];
    int64_t depth_before; /* steps of k of all earlier phases */
    bool channels_last;   /* channels are the innermost steps of k */
} product_nest;

/* A run of consecutive indices of a list: elements `step` apart, which move along one axis. Its
 * first element is a point. */
typedef struct product_run {
    int64_t first, count, step;
    int axis; /* -1: none */
    int64_t at_step;
} product_run;

/* Phases of the problem: 1 but for transposed convolutions. */
int64_t ry_product_phases(const ry_problem *problem);
/* Steps of k of all phases together. */
int64_t ry_product_depth(const ry_problem *problem);
/* phase < 0: the extents of the largest phase, with all taps, in a time that does not grow with the
 * problem's sizes; for plans. */
void ry_product_nest(const ry_problem *problem, int64_t phase, product_nest *nest);

int64_t ry_product_count(const product_list *list);
/* Adds the offsets of an index of a list to offset[PRODUCT_OPERANDS]. */
void ry_product_offsets(const product_list *list, int64_t index, int64_t *offset);

/* int64_t per point: its offset, then its place along each axis. */
static inline int64_t product_point_size(const product_nest *nest, product_operand operand)
{
    return operand == PRODUCT_X ? 1 + nest->axes : 1;
}

/* Points of `count` indices of a list from `first` on, without the nest's own base and place. */
void ry_product_points(const product_nest *nest, product_lists list, product_operand operand,
                       int64_t first, int64_t count, int64_t *points);
/* The same indices as runs; a point each. Returns how many. */
int64_t ry_product_runs(const product_nest *nest, product_lists list, product_operand operand,
                        int64_t first, int64_t count, product_run *runs, int64_t *points);

#endif
