/* SPDX-License-Identifier: Apache-2.0 */
/* Layer and group normalisation as one grid: [rows, groups, channels, positions], in row-major
 * order of x's elements. A row and group share mean and deviation. A group and channel share a
 * scale; in a layer normalisation, a position does. */
#ifndef RY_PROBLEM_NORM_ROWS_H
#define RY_PROBLEM_NORM_ROWS_H

#include "problem/attrs.h"

enum { RY_NORM_DIMS = 4 };

typedef struct ry_norm_rows {
    int64_t dim[RY_NORM_DIMS];
    bool statistic[RY_NORM_DIMS]; /* dims of a mean */
    bool scale[RY_NORM_DIMS];     /* dims of a scale */
} ry_norm_rows;

/* `op`: layer_norm_grad or group_norm_grad, of an x of this shape. */
static inline ry_norm_rows ry_norm_rows_of(ry_op op, const ry_attrs *attrs, int rank,
                                           const int64_t *dim)
{
    const bool layers = op == RY_OP_layer_norm_grad;
    const int given = layers ? (int)attrs->layer_norm_grad.axis : 2,
              axis = given < 0 ? given + rank : given;
    ry_norm_rows r = {.dim = {1, 1, 1, 1},
                      .statistic = {true, true, false, false},
                      .scale = {false, !layers, !layers, layers}};
    for (int d = 0; d < rank; d++) {
        if (layers || d != 1) {
            r.dim[d >= axis ? 3 : 0] *= dim[d];
        }
    }
    if (!layers) {
        r.dim[1] = attrs->group_norm_grad.groups;
        r.dim[2] = dim[1] / r.dim[1];
    }
    return r;
}

#endif
