/* SPDX-License-Identifier: Apache-2.0 */
/* Shape of Resize: output sizes from scales or sizes, for all dims or some axes, and the canonical
 * scales and roi of every dim. */
#include "base/number.h"
#include "graph/infer_table.h"

#include <math.h>

typedef struct resizing {
    ry_ints axes;    /* which dims the lists speak of, in their order */
    ry_floats roi;   /* canonical: 2 * rank */
    ry_floats scale; /* canonical: rank */
    ry_shape out;
    bool known; /* every scale */
} resizing;

/* An optional list that the model gives as absent or as an empty tensor. */
static bool given(const ry_infer *infer, int i)
{
    return ry_infer_has(infer, i) &&
           !(ry_infer_in(infer, i)->shape.rank == 1 && ry_infer_in(infer, i)->shape.dim[0] == 0);
}

/* Is the optional list given, and known not to be empty? */
static bool certain(const ry_infer *infer, int i)
{
    return ry_infer_has(infer, i) && ry_infer_known(&ry_infer_in(infer, i)->shape) &&
           ry_shape_elements(&ry_infer_in(infer, i)->shape) > 0;
}

static ry_infer_result check_count(ry_infer *infer, int i, int count, int wanted)
{
    return count == wanted ? RY_INFER_DONE
                           : ry_infer_bad(infer, i, "has %d numbers, expected %d", count, wanted);
}

/* The roi counts only for tf_crop_and_resize; elsewhere it is the whole image. */
static ry_infer_result read_roi(ry_infer *infer, resizing *r)
{
    const ry_resize_attrs *a = &infer->node->attrs.resize;
    int rank = r->out.rank;
    ry_floats numbers = {.count = 0};
    r->roi.count = 2 * rank;
    for (int d = 0; d < rank; d++) {
        r->roi.at[d] = 0;
        r->roi.at[rank + d] = 1;
    }
    if (a->coordinates != RY_resize_coordinates_tf_crop_and_resize) {
        return RY_INFER_DONE;
    }
    if (!given(infer, 1)) {
        if (a->roi.count == 2 * rank) {
            r->roi = a->roi;
            return RY_INFER_DONE;
        }
        return ry_infer_fail(infer, RYND_ERROR_SHAPE, "tf_crop_and_resize needs the roi input");
    }
    ry_infer_result result = ry_infer_floats(infer, 1, &numbers);
    if (result != RY_INFER_DONE) {
        return result;
    }
    RY_INFER_TRY(check_count(infer, 1, numbers.count, 2 * r->axes.count));
    for (int i = 0; i < r->axes.count; i++) {
        r->roi.at[r->axes.at[i]] = numbers.at[i];
        r->roi.at[rank + r->axes.at[i]] = numbers.at[r->axes.count + i];
    }
    return RY_INFER_DONE;
}

/* floor(size * scale), in float32 as the specification's own inference and the common runtimes
 * compute it: in float64 a scale like 1.6666666f would lose the last pixel. The roi is no factor,
 * whatever the specification's text says: for its inference, its evaluator and the runtimes it
 * decides only which part of the input is sampled. */
static int64_t scaled_dim(ry_infer *infer, const resizing *r, int d, double scale)
{
    int64_t in = r->out.dim[d];
    double inverse = 1 / scale;
    if (scale == floor(scale) && scale < 0x1p31) {
        return ry_dim_mul(infer->graph, in, (int64_t)scale);
    }
    if (inverse == floor(inverse) && inverse < 0x1p31) {
        return ry_dim_floor_div(infer->graph, in, (int64_t)inverse);
    }
    if (in < 0) {
        return ry_dim_unknown(infer->graph);
    }
    double exact = (double)in * scale, whole = rint(exact);
    if (fabs(exact - whole) <= whole * 0x1p-50 && whole < 0x1p62) {
        return (int64_t)whole; /* a canonical scale, which is a quotient of sizes */
    }
    float size = floorf((float)in * (float)scale);
    return size >= 0 && size < 0x1p62f ? (int64_t)size : RY_DIM_ERROR;
}

static ry_infer_result apply_scales(ry_infer *infer, resizing *r, const ry_floats *scales)
{
    for (int i = 0; i < scales->count; i++) {
        int d = (int)r->axes.at[i];
        double scale = scales->at[i];
        if (!(scale > 0) || isinf(scale)) {
            char text[RY_NUMBER_SIZE];
            ry_number_print(scale, text);
            return ry_infer_fail(infer, RYND_ERROR_SHAPE,
                                 "the scale of dim %d is %s, expected a positive number", d, text);
        }
        r->out.dim[d] = scaled_dim(infer, r, d, scale);
        r->scale.at[d] = scale;
    }
    return RY_INFER_DONE;
}

/* With a policy, one scale serves all axes: the smallest (not_larger) or largest (not_smaller) of
 * those that the sizes ask for. */
static ry_infer_result apply_sizes(ry_infer *infer, resizing *r, const ry_ints *sizes)
{
    const ry_shape in = r->out;
    ry_resize_policy policy = infer->node->attrs.resize.policy;
    double common = policy == RY_resize_policy_not_larger ? INFINITY : 0;
    for (int i = 0; i < sizes->count; i++) {
        int d = (int)r->axes.at[i];
        int64_t size = sizes->at[i];
        if (size < 0 || (in.dim[d] == 0 && size > 0)) {
            return ry_infer_bad(infer, 3, "asks for %lld in dim %d, which has %lld",
                                (long long)size, d, (long long)in.dim[d]);
        }
        r->known = r->known && in.dim[d] >= 0;
        r->out.dim[d] = size;
        r->scale.at[d] = in.dim[d] > 0 ? (double)size / (double)in.dim[d] : 1;
        common = policy == RY_resize_policy_not_larger ? fmin(common, r->scale.at[d])
                                                       : fmax(common, r->scale.at[d]);
    }
    for (int i = 0; policy != RY_resize_policy_stretch && i < sizes->count; i++) {
        int d = (int)r->axes.at[i];
        bool fits = common * (double)in.dim[d] < 0x1p62;
        r->scale.at[d] = common;
        r->out.dim[d] = !r->known ? ry_dim_unknown(infer->graph)
                        : fits    ? (int64_t)floor(common * (double)in.dim[d] + 0.5)
                                  : RY_DIM_ERROR;
    }
    return RY_INFER_DONE;
}

/* The lists of the inputs, or scales as attributes (Upsample, and what this function made
 * canonical). */
static ry_infer_result resize_dims(ry_infer *infer, resizing *r)
{
    const ry_resize_attrs *a = &infer->node->attrs.resize;
    if (certain(infer, 2) && certain(infer, 3)) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE,
                             "both scales and sizes are given, expected one of them");
    }
    if (given(infer, 3)) {
        ry_ints sizes;
        ry_infer_result result = ry_infer_ints(infer, 3, &sizes);
        if (result != RY_INFER_DONE) {
            return result;
        }
        RY_INFER_TRY(check_count(infer, 3, sizes.count, r->axes.count));
        return apply_sizes(infer, r, &sizes);
    }
    ry_floats scales = a->scales;
    if (given(infer, 2)) {
        ry_infer_result result = ry_infer_floats(infer, 2, &scales);
        if (result != RY_INFER_DONE) {
            return result;
        }
        RY_INFER_TRY(check_count(infer, 2, scales.count, r->axes.count));
        return apply_scales(infer, r, &scales);
    }
    if (scales.count != r->out.rank) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE,
                             "neither sizes nor a scale for each of the %d dims are given",
                             r->out.rank);
    }
    for (int d = 0; d < r->out.rank; d++) {
        r->axes.at[d] = d;
    }
    return apply_scales(infer, r, &scales);
}

ry_infer_result ry_infer_op_resize(ry_infer *infer)
{
    ry_resize_attrs *a = &infer->node->attrs.resize;
    const ry_value *x = ry_infer_in(infer, 0);
    resizing r = {.axes = a->axes, .out = x->shape, .known = true};
    RY_INFER_TRY(ry_infer_axes(infer, &r.axes, x->shape.rank));
    if (r.axes.count == 0) {
        r.axes.count = x->shape.rank;
        for (int d = 0; d < x->shape.rank; d++) {
            r.axes.at[d] = d;
        }
    }
    r.scale.count = x->shape.rank;
    for (int d = 0; d < x->shape.rank; d++) {
        r.scale.at[d] = 1;
    }
    ry_ints spoken_of = r.axes;
    ry_infer_result result = read_roi(infer, &r);
    if (result == RY_INFER_DONE) {
        result = resize_dims(infer, &r);
    }
    RY_INFER_TRY(result);
    if (result == RY_INFER_LATER) {
        for (int i = 0; i < spoken_of.count; i++) {
            r.out.dim[spoken_of.at[i]] = ry_dim_unknown(infer->graph);
        }
    } else if (r.known) {
        a->axes = a->axes.count ? spoken_of : a->axes;
        a->scales = r.scale;
        a->roi = r.roi;
    }
    ry_infer_set(infer, 0, x->dtype, &r.out);
    return result;
}
