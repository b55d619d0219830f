/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of operators that read between the positions of a grid. */
#include "graph/infer_table.h"

ry_infer_result ry_infer_op_grid_sample(ry_infer *infer)
{
    RY_INFER_TRY(ry_infer_check_rank(infer, 0, 3, RY_MAX_RANK));
    const ry_shape *x = &ry_infer_in(infer, 0)->shape;
    RY_INFER_TRY(ry_infer_check_rank(infer, 1, x->rank, x->rank));
    if (!ry_dtype_is_float(ry_infer_in(infer, 1)->dtype)) {
        return ry_infer_bad(infer, 1, "must have a float type: it has positions from -1 to 1");
    }
    const ry_shape *grid = &ry_infer_in(infer, 1)->shape;
    RY_INFER_TRY(ry_infer_check_dim(infer, 1, 0, x->dim[0], "batch of the input"));
    RY_INFER_TRY(
        ry_infer_check_dim(infer, 1, x->rank - 1, x->rank - 2, "one coordinate a spatial dim"));
    ry_shape out = *x;
    for (int d = 2; d < x->rank; d++) {
        out.dim[d] = grid->dim[d - 1];
    }
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &out);
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_affine_grid(ry_infer *infer)
{
    RY_INFER_TRY(ry_infer_check_rank(infer, 0, 3, 3));
    const ry_shape *theta = &ry_infer_in(infer, 0)->shape;
    ry_ints size;
    ry_infer_result result = ry_infer_ints(infer, 1, &size);
    RY_INFER_TRY(result);
    int64_t count = result == RY_INFER_DONE                  ? size.count
                    : ry_infer_in(infer, 1)->shape.rank == 1 ? ry_infer_in(infer, 1)->shape.dim[0]
                                                             : -1;
    if (count >= 0 && count != 4 && count != 5) {
        return ry_infer_bad(infer, 1, "has %lld numbers, expected 4 (N,C,H,W) or 5 (N,C,D,H,W)",
                            (long long)count);
    }
    ry_shape out = ry_infer_unknown(infer, (int)count);
    if (count > 0) {
        RY_INFER_TRY(ry_infer_check_dim(infer, 0, 1, count - 2, "spatial dims"));
        RY_INFER_TRY(ry_infer_check_dim(infer, 0, 2, count - 1, "spatial dims + 1"));
        out.dim[0] = theta->dim[0];
        out.dim[count - 1] = count - 2;
    }
    if (result == RY_INFER_DONE) {
        for (int d = 0; d < size.count; d++) {
            if (size.at[d] < 0) {
                return ry_infer_bad(infer, 1, "has the negative number %lld",
                                    (long long)size.at[d]);
            }
        }
        RY_INFER_TRY(ry_infer_check_dim(infer, 0, 0, size.at[0], "batch of `size`"));
        out.dim[0] = size.at[0];
        for (int d = 2; d < size.count; d++) {
            out.dim[d - 1] = size.at[d];
        }
    }
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &out);
    return result;
}

ry_infer_result ry_infer_op_roi_align(ry_infer *infer)
{
    const ry_roi_align_attrs *a = &infer->node->attrs.roi_align;
    RY_INFER_TRY(ry_infer_check_rank(infer, 0, 4, 4));
    RY_INFER_TRY(ry_infer_check_rank(infer, 1, 2, 2));
    RY_INFER_TRY(ry_infer_check_rank(infer, 2, 1, 1));
    RY_INFER_TRY(ry_infer_check_same_type(infer, 1, 0));
    RY_INFER_TRY(ry_infer_check_integer(infer, 2));
    RY_INFER_TRY(ry_infer_check_dim(infer, 1, 1, 4, "x1, y1, x2, y2"));
    const ry_shape *x = &ry_infer_in(infer, 0)->shape, *rois = &ry_infer_in(infer, 1)->shape;
    RY_INFER_TRY(ry_infer_check_dim(infer, 2, 0, rois->dim[0], "number of rois"));
    if (a->output_height < 1 || a->output_width < 1) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE,
                             "output_height and output_width must be at least 1");
    }
    ry_shape out = {.rank = 4, .dim = {rois->dim[0], x->dim[1], a->output_height, a->output_width}};
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &out);
    return RY_INFER_DONE;
}
