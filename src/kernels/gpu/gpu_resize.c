/* SPDX-License-Identifier: Apache-2.0 */
/* Resize on a GPU: along up to three axes, of any strides in memory.
 *
 * The positions of an axis in the input are (a * o + b) / d in whole numbers, exact where scales
 * are quotients of sizes, so that devices without doubles find the pixels that common/resize_map.h
 * finds. Scales whose float32 positions no line gives are left to the CPU. */
#include "base/integer.h"
#include "kernels/common/resize_map.h"
#include "kernels/common/work.h"
#include "kernels/gpu/gpu_define.h"
#include "kernels/gpu/gpu_group.h"
#include "kernels/gpu/gpu_kernel.h"
#include "kernels/gpu/gpu_offset.h"
#include "kernels/gpu/gpu_texts.h"
#include "problem/resize_dyadic.h"

#include <math.h>
#include <stdio.h>

enum { AXES = 3, FRACTION_BITS = 36, MAX_SIZE = 1 << 23, MAX_TAPS = 256 };

typedef struct resize_axis {
    ry_resize_axis map;
    int dim; /* -1: there are not so many */
    int64_t a, b, d, low, high;
    double stretch;
    bool crops;
} resize_axis;

typedef struct resize_plan {
    resize_axis axis[AXES]; /* the last ones, where there are fewer */
    int64_t taps;
    bool wide; /* positions have 64 bits */
} resize_plan;

/* Where the scale is a quotient of sizes: all positions, times 2 * out. */
static bool make_exact(const ry_resize_axis *map, resize_axis *axis)
{
    const int64_t in = map->in, out = map->out;
    if (!map->quotient) {
        return false;
    }
    axis->d = 2 * out;
    switch (map->coordinates) {
    case RY_resize_coordinates_half_pixel:
    case RY_resize_coordinates_half_pixel_symmetric: axis->a = 2 * in, axis->b = in - out; break;
    case RY_resize_coordinates_pytorch_half_pixel:
        axis->a = out > 1 ? 2 * in : 0, axis->b = out > 1 ? in - out : 0;
        break;
    case RY_resize_coordinates_align_corners:
        axis->a = out > 1 ? in - 1 : 0, axis->b = 0, axis->d = out > 1 ? out - 1 : 1;
        break;
    case RY_resize_coordinates_asymmetric: axis->a = 2 * in, axis->b = 0; break;
    case RY_resize_coordinates_tf_half_pixel_for_nn: axis->a = 2 * in, axis->b = in; break;
    default: return false;
    }
    return true;
}

/* Every map is affine: two of its positions tell it. */
static bool make_nearly(const ry_resize_axis *map, resize_axis *axis)
{
    const double first = ry_resize_coordinate(map, 0),
                 last = ry_resize_coordinate(map, map->out - 1);
    if (fabs(first) > MAX_SIZE || fabs(last) > MAX_SIZE) {
        return false;
    }
    axis->d = (int64_t)1 << FRACTION_BITS;
    axis->b = llrint(ldexp(first, FRACTION_BITS));
    axis->a =
        map->out > 1 ? llrint(ldexp((last - first) / (double)(map->out - 1), FRACTION_BITS)) : 0;
    return true;
}

/* Rounded down, it is the nearest position. */
static void round_down(resize_axis *axis)
{
    const int64_t d = axis->d;
    if (axis->map.nearest == RY_resize_nearest_ceil) {
        axis->b += d - 1;
    } else if (axis->map.nearest != RY_resize_nearest_floor) {
        axis->a *= 2, axis->b *= 2, axis->d *= 2;
        axis->b += axis->map.nearest == RY_resize_nearest_round_prefer_ceil ? d : d - 1;
    }
}

static int64_t floor_of(int64_t n, int64_t d)
{
    return n >= 0 ? n / d : -((d - 1 - n) / d);
}

/* Does output o find its place? */
static bool agrees(const resize_axis *axis, int64_t o)
{
    const int64_t n = axis->a * o + axis->b, whole = floor_of(n, axis->d), in = axis->map.in;
    const double x = ry_resize_coordinate(&axis->map, o);
    if (axis->crops && (n < 0 || n > (in - 1) * axis->d) != ry_resize_is_outside(&axis->map, o)) {
        return false;
    }
    if (axis->map.mode != RY_resize_mode_nearest) {
        return fabs((double)whole + (double)(n - whole * axis->d) / (double)axis->d - x) < 1e-6;
    }
    int64_t first;
    double one;
    return ry_resize_taps(&axis->map, o, &first, &one) == 0 || first == ry_clamp(whole, 0, in - 1);
}

static bool all_agree(const resize_axis *axis)
{
    bool same = true;
    for (int64_t o = 0; o < axis->map.out && same; o++) {
        same = agrees(axis, o);
    }
    return same;
}

/* Positions of float32 fall to either side of a pixel's border that they miss by rounding: a line
 * moved by a few millionths of a pixel may fall to the same side everywhere. */
static bool fit(resize_axis *axis)
{
    enum { MILLIONTHS = 19 }; /* as a power of two: 2^-19 pixels */
    static const int moves[] = {0, 1, -1};
    const int64_t b = axis->b, step = axis->map.rounded ? axis->d >> MILLIONTHS : 0;
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
        axis->b = b + moves[i] * step;
        if (all_agree(axis)) {
            return true;
        }
    }
    return false;
}

static bool make_axis(const ry_problem *problem, int dim, resize_axis *axis)
{
    ry_resize_axis_make(problem, dim, &axis->map);
    const ry_resize_axis *map = &axis->map;
    axis->dim = dim;
    axis->crops = map->coordinates == RY_resize_coordinates_tf_crop_and_resize;
    if (map->in > MAX_SIZE || map->out > MAX_SIZE ||
        (!make_exact(map, axis) && !make_nearly(map, axis))) {
        return false;
    }
    const bool cubic = map->mode == RY_resize_mode_cubic;
    axis->stretch = map->antialias && map->scale < 1 ? fmax(map->scale, 0.5 / (double)map->in) : 1;
    const int64_t field = (int64_t)ceil((cubic ? 2 : 1) / axis->stretch);
    axis->low = 1 - field, axis->high = field;
    if (map->mode == RY_resize_mode_nearest) {
        round_down(axis);
    }
    return fit(axis);
}

/* Stands for a missing axis: position 0 of one. */
static resize_axis unit_axis(void)
{
    return (resize_axis){.map = {.in = 1, .out = 1}, .dim = -1, .d = 1, .stretch = 1};
}

static bool plan_of(const ry_problem *problem, resize_plan *p)
{
    const int rank = problem->in[0].rank;
    int count = AXES;
    p->taps = 1;
    p->wide = false;
    for (int d = rank - 1; d >= 0; d--) {
        ry_resize_axis map;
        ry_resize_axis_make(problem, d, &map);
        if (ry_resize_axis_is_identity(&map)) {
            continue;
        }
        if (count == 0 || !make_axis(problem, d, &p->axis[--count])) {
            return false;
        }
        const resize_axis *axis = &p->axis[count];
        p->taps *=
            problem->attrs.resize.mode == RY_resize_mode_nearest ? 1 : axis->high - axis->low + 1;
        const double farthest = (double)axis->a * (double)axis->map.out + fabs((double)axis->b) +
                                2 * (double)axis->d * (double)axis->map.in;
        p->wide = p->wide || farthest > INT32_MAX / 2;
        if (axis->high - axis->low >= MAX_TAPS) {
            return false;
        }
    }
    while (count > 0) {
        p->axis[--count] = unit_axis();
    }
    return true;
}

static bool applicable(const ry_problem *problem)
{
    if (!ry_problem_has_input(problem, 0) || !ry_problem_has_output(problem, 0)) {
        return false;
    }
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    const ry_resize_attrs *attrs = &problem->attrs.resize;
    const bool nearest = attrs->mode == RY_resize_mode_nearest;
    resize_plan p;
    return x->dtype == y->dtype && x->rank == y->rank && ry_tensor_count(x) > 0 &&
           ry_tensor_count(y) > 0 && isfinite((float)attrs->cubic_a) &&
           isfinite((float)attrs->extrapolation) &&
           (ry_gpu_is_float(x) ||
            ((ry_dtype)x->dtype == RY_u8 && ry_resize_is_dyadic(attrs, x->rank, x->dim, y->dim)) ||
            (nearest && attrs->coordinates != RY_resize_coordinates_tf_crop_and_resize)) &&
           plan_of(problem, &p);
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    enum { PLACES = 60, TAP = 12 }; /* operations */
    const int64_t group = ry_gpu_group_size(query, 128),
                  outputs = ry_tensor_count(&query->problem->out[0]);
    resize_plan p;
    (void)error;
    plan_of(query->problem, &p); /* as applicable found it */
    ry_gpu_group_prepare(group, ry_ceil_div(outputs, group), prepared);
    ry_count_work((double)outputs * (PLACES + TAP * (double)p.taps),
                  ry_problem_bytes(query->problem), prepared);
    return RYND_OK;
}

/* The output's dims in the order of its memory: offsets of dims that keep their size, and the
 * positions along the others. */
static void define_offsets(const ry_problem *problem, const resize_plan *p, ry_text *text)
{
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    ry_gpu_dims to = {0}, from = {0}, position[AXES] = {{0}};
    int order[RY_MAX_RANK] = {0};
    for (int d = 0; d < y->rank; d++) {
        int at = d;
        for (; at > 0 && y->stride[order[at - 1]] < y->stride[d]; at--) {
            order[at] = order[at - 1];
        }
        order[at] = d;
    }
    for (int i = 0; i < y->rank; i++) {
        const int d = order[i];
        bool resized = false;
        for (int k = 0; k < AXES; k++) {
            resized = resized || p->axis[k].dim == d;
            ry_gpu_dims_add(&position[k], y->dim[d], p->axis[k].dim == d);
        }
        ry_gpu_dims_add(&to, y->dim[d], y->stride[d]);
        ry_gpu_dims_add(&from, y->dim[d], resized ? 0 : x->stride[d]);
    }
    ry_gpu_define_offset(text, "y_at", &to);
    ry_gpu_define_offset(text, "x_at", &from);
    for (int k = 0; k < AXES; k++) {
        char name[24];
        snprintf(name, sizeof name, "position_%d", k);
        ry_gpu_define_offset(text, name, &position[k]);
    }
}

static void define_axis(ry_text *text, const ry_tensor *x, const resize_axis *axis, int k)
{
    ry_text_add(text,
                "#define A_%d ((POSITION)%lldl)\n#define B_%d ((POSITION)%lldl)\n"
                "#define D_%d ((POSITION)%lldl)\n#define IN_%d ((POSITION)%lldl)\n"
                "#define LOW_%d (%lld)\n#define HIGH_%d (%lld)\n#define X_STEP_%d ((INDEX)%lldl)\n"
                "#define STRETCH_%d (%af)\n#define CROPS_%d %d\n",
                k, (long long)axis->a, k, (long long)axis->b, k, (long long)axis->d, k,
                (long long)axis->map.in, k, (long long)axis->low, k, (long long)axis->high, k,
                (long long)(axis->dim < 0 ? 0 : x->stride[axis->dim]), k,
                (double)(float)axis->stretch, k, axis->crops);
}

static void define(const ry_query *query, const ry_prepared *prepared, ry_text *text)
{
    static const char *const units[] = {[1] = "uchar", [2] = "ushort", [4] = "uint", [8] = "ulong"};
    const ry_problem *problem = query->problem;
    const ry_resize_attrs *attrs = &problem->attrs.resize;
    const ry_tensor *x = &problem->in[0];
    const bool crops = attrs->coordinates == RY_resize_coordinates_tf_crop_and_resize;
    resize_plan p;
    plan_of(problem, &p);
    ry_gpu_define_types(text, problem, ry_gpu_is_wide(problem));
    ry_gpu_group_define(prepared, text);
    ry_text_add(text, "#define POSITION %s\n#define UNIT %s\n", p.wide ? "long" : "int",
                units[ry_dtype_size((ry_dtype)x->dtype)]);
    ry_gpu_define(text, "NEAREST", attrs->mode == RY_resize_mode_nearest);
    ry_gpu_define(text, "CUBIC", attrs->mode == RY_resize_mode_cubic);
    ry_gpu_define(text, "EXCLUDE_OUTSIDE", attrs->exclude_outside != 0);
    ry_gpu_define(text, "NORMALISED", attrs->exclude_outside != 0 || attrs->antialias != 0);
    ry_gpu_define(text, "CROPS", crops);
    ry_gpu_define(text, "OUTPUTS_ALL", ry_tensor_count(&problem->out[0]));
    ry_gpu_define(text, "ROUNDED", !ry_gpu_is_float(x));
    ry_gpu_define_float(text, "CUBIC_A", attrs->cubic_a);
    ry_gpu_define_float(text, "EXTRAPOLATION", attrs->extrapolation);
    for (int k = 0; k < AXES; k++) {
        define_axis(text, x, &p.axis[k], k);
    }
    define_offsets(problem, &p, text);
}

static const char *const entries[] = {"run"};
static const ry_gpu_kernel gpu = {ry_gpu_text_resize, entries, 1, define};

RY_GPU_KERNEL(resize_gpu, resize, strict, RY_GPU_GROUP_KNOB_FIELDS, .applicable = applicable,
              .prepare = prepare, .gpu = &gpu);
