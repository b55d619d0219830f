/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of pooling, of its inverse and of Col2Im. */
#include "graph/infer_window.h"

#include <string.h>

ry_infer_result ry_infer_op_pool(ry_infer *infer)
{
    ry_pool_attrs *a = &infer->node->attrs.pool;
    RY_INFER_TRY(ry_infer_check_rank(infer, 0, 3, RY_MAX_RANK));
    const ry_shape *x = &ry_infer_in(infer, 0)->shape;
    ry_shape out = {.rank = x->rank, .dim = {x->dim[0], x->dim[1]}};
    if (a->output.count) {
        RY_INFER_TRY(ry_infer_list(infer, "output", &a->output, x->rank - 2, 1));
        RY_INFER_TRY(ry_infer_adaptive(infer, x->dim + 2, a->output.at, x->rank - 2, &a->kernel));
        memcpy(out.dim + 2, a->output.at, (size_t)(x->rank - 2) * sizeof *out.dim);
        ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &out);
        ry_infer_set(infer, 1, RY_i64, &out);
        return RY_INFER_DONE;
    }
    if (a->kernel.count != x->rank - 2) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE, "kernel_shape has %d numbers, expected %d",
                             a->kernel.count, x->rank - 2);
    }
    RY_INFER_TRY(ry_infer_list(infer, "kernel_shape", &a->kernel, x->rank - 2, 1));
    RY_INFER_TRY(ry_infer_window_outs(infer, a->kernel.at, &out));
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &out);
    ry_infer_set(infer, 1, RY_i64, &out);
    return RY_INFER_DONE;
}

/* The output's shape as input 2 gives it: that of the pooled tensor, to which the indices belong,
 * or larger in its spatial dims. */
static ry_infer_result unpooled_shape(ry_infer *infer, ry_shape *out)
{
    ry_ints sizes;
    ry_infer_result result = ry_infer_ints(infer, 2, &sizes);
    RY_INFER_TRY(result);
    if (result == RY_INFER_LATER) {
        *out = ry_infer_unknown(infer, out->rank);
        return result;
    }
    if (sizes.count != out->rank) {
        return ry_infer_bad(infer, 2, "has %d numbers, expected %d", sizes.count, out->rank);
    }
    for (int d = 0; d < out->rank; d++) {
        if (sizes.at[d] < 0 || (out->dim[d] >= 0 &&
                                (d < 2 ? sizes.at[d] != out->dim[d] : sizes.at[d] < out->dim[d]))) {
            return ry_infer_bad(infer, 2, "has %lld for dim %d, expected %s%lld",
                                (long long)sizes.at[d], d, d < 2 ? "" : "at least ",
                                (long long)(out->dim[d] < 0 ? 0 : out->dim[d]));
        }
        out->dim[d] = sizes.at[d];
    }
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_max_unpool(ry_infer *infer)
{
    ry_max_unpool_attrs *a = &infer->node->attrs.max_unpool;
    RY_INFER_TRY(ry_infer_check_rank(infer, 0, 3, RY_MAX_RANK));
    const ry_shape *x = &ry_infer_in(infer, 0)->shape;
    RY_INFER_TRY(ry_infer_check_integer(infer, 1));
    RY_INFER_TRY(ry_infer_check_rank(infer, 1, x->rank, x->rank));
    for (int d = 0; d < x->rank; d++) {
        RY_INFER_TRY(ry_infer_check_dim(infer, 1, d, x->dim[d], "indices have the input's shape"));
    }
    if (a->kernel.count != x->rank - 2) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE, "kernel_shape has %d numbers, expected %d",
                             a->kernel.count, x->rank - 2);
    }
    ry_window w;
    RY_INFER_TRY(ry_infer_window(infer, x->rank - 2, NULL, x->dim + 2, a->kernel.at, &w));
    ry_shape out = *x;
    for (int i = 0; i < w.rank; i++) {
        out.dim[2 + i] = ry_dim_affine(infer->graph, ry_infer_covered(infer->graph, &w.axis[i]),
                                       -(w.axis[i].pad + w.axis[i].pad_end), 1);
    }
    ry_infer_result result = RY_INFER_DONE;
    if (ry_infer_has(infer, 2)) {
        result = unpooled_shape(infer, &out);
        RY_INFER_TRY(result);
    }
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &out);
    return result;
}

ry_infer_result ry_infer_op_col2im(ry_infer *infer)
{
    ry_col2im_attrs *a = &infer->node->attrs.col2im;
    ry_graph *graph = infer->graph;
    RY_INFER_TRY(ry_infer_check_rank(infer, 0, 3, 3));
    const ry_shape *x = &ry_infer_in(infer, 0)->shape;
    ry_ints image, block;
    ry_infer_result have_image = ry_infer_ints(infer, 1, &image),
                    have_block = ry_infer_ints(infer, 2, &block);
    if (have_image == RY_INFER_FAILED || have_block == RY_INFER_FAILED) {
        return RY_INFER_FAILED;
    }
    if (have_image == RY_INFER_LATER || have_block == RY_INFER_LATER) {
        int64_t spatial =
            ry_infer_in(infer, 1)->shape.rank == 1 ? ry_infer_in(infer, 1)->shape.dim[0] : -1;
        ry_shape out = ry_infer_unknown(
            infer, spatial < 0 || spatial > RY_MAX_RANK - 2 ? -1 : 2 + (int)spatial);
        ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &out);
        return RY_INFER_LATER;
    }
    if (image.count != block.count || image.count < 1 || image.count > RY_MAX_RANK - 2) {
        return ry_infer_fail(
            infer, RYND_ERROR_SHAPE,
            "image_shape has %d numbers and block_shape %d, expected 1 to %d of both", image.count,
            block.count, RY_MAX_RANK - 2);
    }
    int64_t points = 1, positions = 1;
    ry_window w;
    RY_INFER_TRY(ry_infer_list(infer, "block_shape", &block, block.count, 1));
    RY_INFER_TRY(ry_infer_list(infer, "image_shape", &image, image.count, 0));
    RY_INFER_TRY(ry_infer_window(infer, image.count, image.at, NULL, block.at, &w));
    ry_shape out = {.rank = 2 + image.count, .dim = {x->dim[0]}};
    for (int i = 0; i < image.count; i++) {
        out.dim[2 + i] = image.at[i];
        points = ry_dim_mul(graph, points, block.at[i]);
        positions = ry_dim_mul(graph, positions, ry_max(ry_window_positions(&w.axis[i], false), 0));
    }
    RY_INFER_TRY(ry_infer_check_dim(infer, 0, 2, positions, "positions of the block in the image"));
    if (x->dim[1] >= 0 && x->dim[1] % points != 0) {
        return ry_infer_bad(infer, 0,
                            "has %lld in dim 1, expected a multiple of the block's %lld points",
                            (long long)x->dim[1], (long long)points);
    }
    out.dim[1] = ry_dim_floor_div(graph, x->dim[1], points);
    a->image = image;
    a->block = block;
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &out);
    return RY_INFER_DONE;
}
