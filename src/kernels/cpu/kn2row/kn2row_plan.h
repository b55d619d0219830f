/* SPDX-License-Identifier: Apache-2.0 */
/* How a convolution to few output channels is computed products first ("kn2row": Vasudevan,
 * Anderson, Gregg, Parallel Multi Channel Convolution using General Matrix Multiplication, 2017):
 * every pixel of x meets the weights of all taps in one matrix product, which has as many columns
 * as there are taps and output channels; then each output is the sum of one product for each of its
 * taps, read where the tap reads x.
 *
 *     products: [image][group][tap][output channel][pixel of x]    T[t][k][i] = sum over c of
 *         x[c][i] w[k][c][t]
 *     y[k][q] = sum over t of T[t][k][q + t.at]
 *
 * x is read once whatever the window, and rows of any length fill vectors. The price is the
 * products' way through the caches, one for each pixel, tap and output channel. The matrix product
 * is the implicit GEMM's of a 1x1 convolution.
 *
 * Where the products of a row block of rows (or slices) fit the second-level cache, a task makes
 * them in scratch and sums them there; what two row blocks read is multiplied twice. Else they are
 * all made by an earlier phase, in the workspace, and tasks of sums take rows of one slice of one
 * image. Plain data, kept in a kernel's state. */
#ifndef RY_KERNELS_CPU_KN2ROW_KN2ROW_PLAN_H
#define RY_KERNELS_CPU_KN2ROW_KN2ROW_PLAN_H

#include "kernels/common/task_cut.h"
#include "kernels/cpu/igemm/igemm_plan.h"

/* A row block: positions along an axis of the output grid, of one group of one image. */
typedef struct kn2row_row_block {
    int axis;
    int64_t out;     /* positions of the grid; 0: all products are made before all sums */
    int64_t low, in; /* where its first position reads; positions of x, at most */
} kn2row_row_block;

/* What a form sets, in the order of the kernel's knobs: those between are the matrix product's. */
typedef enum kn2row_knob {
    /* positions of the output grid; 0: all products are made before all sums */
    KN2ROW_KNOB_ROW_BLOCK,
    KN2ROW_KNOB_MODE,
    KN2ROW_KNOB_INPUT,
    KN2ROW_KNOB_SHARED,
    KN2ROW_KNOB_APART,
    KN2ROW_KNOB_PIXEL_BLOCKS,
    KN2ROW_KNOB_CHANNEL_BLOCKS,
    KN2ROW_KNOB_ROWS, /* that are summed at a time, at most */
    KN2ROW_KNOBS
} kn2row_knob;

/* What a plan takes from the machine. */
typedef struct kn2row_sizes {
    int64_t tasks;     /* wanted on all cores, as far as rows suffice */
    int64_t l1;        /* bytes of products that stay in a core's second-level cache */
    int64_t sums;      /* bytes of sums at a time, about */
    int64_t positions; /* that are summed at a time, about */
    int64_t kept;      /* bytes that stay in the caches from step to step */
    int64_t threads;
} kn2row_sizes;

typedef struct kn2row_plan {
    ry_conv_geometry geometry;
    ry_form form; /* complete */
    kn2row_sizes sizes;
    kn2row_row_block row_block;
    int64_t grid[RY_SPACE];   /* grid of the largest phase */
    int64_t pixels;           /* pixels of a plane of products */
    int64_t rows, row_blocks; /* rows summed at a time; blocks of them */
    /* tasks that sum: images, groups, slices, rows; with row blocks: images, groups, the row
     * blocks' axis */
    ry_task_cut tasks;
    ry_task_cut packs;        /* groups, oc blocks of the product */
    int64_t pitch, positions; /* layout of the sums (out_rows.h) */
    int64_t interleave;       /* phases that write to a row of y in turn; 1: none */
    size_t products; /* bytes of the products (a row block's, or all) at the workspace's start */
    ry_work work;    /* work of the sums in vector multiply-adds; with row blocks, of their products
                        too */
    /* byte offsets in a worker's scratch: with row blocks, their products and the shared packing of
     * the matrix product; the matrix product's own scratch */
    size_t sums, bias, runs, interleaved_row, sources, row_block_products, row_block_shared,
        multiply, scratch;
    /* ry_conv_phase[], ry_conv_tap[], igemm_plan: bytes from the plan's start */
    size_t phases, taps, product;
} kn2row_plan;

/* The 1x1 convolution that makes products: of a row block, or all. */
typedef struct kn2row_product {
    ry_tensor in[2], out;
    ry_problem problem; /* points into these tensors: do not copy */
} kn2row_product;

void ry_kn2row_product_of(const ry_problem *problem, const kn2row_plan *plan,
                          kn2row_product *product);

bool ry_kn2row_is_possible(const ry_problem *problem);

/* Bytes of the plan. */
size_t ry_kn2row_plan_size(const ry_problem *problem);

/* The plan of a query whose form is complete, its knobs in the order of kn2row_knob. */
void ry_kn2row_plan_make(const ry_query *query, kn2row_plan *plan);

/* The same where the form leaves something open: by least count of cycles. False: what it sets does
 * not go together. */
bool ry_kn2row_plan_choose(const ry_query *query, kn2row_plan *plan);

/* The legal values of a knob. `room` is for a plan. */
void ry_kn2row_list_values(const ry_query *query, kn2row_knob knob, kn2row_plan *room,
                           ry_knob_values *values);

static inline const igemm_plan *kn2row_product_plan(const kn2row_plan *plan)
{
    return (const igemm_plan *)(const void *)((const char *)plan + plan->product);
}

/* Columns of the matrix product of one group. */
static inline int64_t kn2row_columns(const ry_conv_geometry *geometry)
{
    return geometry->taps * geometry->channels_out;
}

#endif
