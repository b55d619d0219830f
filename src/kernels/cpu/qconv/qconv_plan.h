/* SPDX-License-Identifier: Apache-2.0 */
/* The quantised convolution by the implicit GEMM of cpu/igemm/: four neighbouring channels of x are
 * one element of 32 bits, a quad, and a multiply-add of a lane is four products of bytes. Or two
 * channels, 16 bits each, are a pair.
 *
 * x whose channels are innermost is read as it is, if each group's channels are whole quads. Other
 * x is copied first, each group's channels filled up with zeros; so is any x for pairs.
 *
 * Packed: the weights of the implicit GEMM; then each output channel's start of the sum, bias -
 * x_zero * (sum of its weights), in i32; then its scale in f32. Padding holds x_zero, and so adds
 * nothing. */
#ifndef RY_KERNELS_CPU_QCONV_QCONV_PLAN_H
#define RY_KERNELS_CPU_QCONV_QCONV_PLAN_H

#include "base/integer.h"
#include "kernels/cpu/igemm/igemm_plan.h"

enum { QCONV_QUAD = 4, QCONV_PAIR = 2, QCONV_INPUTS = 4 };
/* Channels of a group from which on a pixel's are copied together. */
enum { QCONV_PIXEL = 16 };

/* Kernel state; the implicit GEMM's plan follows. */
typedef struct qconv_plan {
    /* the convolution of quads: x, w, bias, residual -> y. Its tensors' addresses are not kept */
    ry_problem conv;
    ry_tensor in[QCONV_INPUTS], out[1];
    int64_t lane;         /* channels of an element: QCONV_QUAD or QCONV_PAIR */
    int64_t offset;       /* what products take off each number of x */
    bool copied;          /* x is copied */
    bool whole_pixels;    /* a pixel's channels are copied together */
    bool rows;            /* y is bytes, and so is a residual: channels innermost */
    int64_t group_quads;  /* elements of a group's input channels */
    int64_t copy_rows;    /* rows of x (its last spatial dim) of all images */
    int64_t rows_of_task; /* rows that a copying task takes */
    size_t copy;          /* bytes of x's copy, before the implicit GEMM's workspace */
    size_t starts;        /* bytes from the start of packed memory to the sums' starts */
    size_t scales;        /* the same to the scales */
} qconv_plan;

static inline const igemm_plan *qconv_igemm(const qconv_plan *plan)
{
    return (const igemm_plan *)(const void *)((const char *)plan + ry_aligned(sizeof *plan));
}

bool ry_qconv_takes(const ry_problem *problem);
void ry_qconv_values(const ry_query *query, int knob, ry_knob_values *values);
rynd_status ry_qconv_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
void ry_qconv_initialise(const ry_query *query, void *state);
void ry_qconv_packing(const ry_prepared *prepared, ry_text *key);
/* Packs an oc block of a group: weights, starts and scales. */
void ry_qconv_pack(const ry_cpu_launch *launch, size_t task);

/* The launch of the convolution of quads, whose problem is put into `conv`. */
ry_cpu_launch ry_qconv_launch(const ry_cpu_launch *launch, ry_problem *conv);

#endif
