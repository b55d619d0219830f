/* SPDX-License-Identifier: Apache-2.0 */
/* Resize's coordinate maps and filter weights. */
#include "kernels/common/resize_map.h"

/* A region of interest comes from the model: positions stay where integers are exact and
 * convertible. */
#define FARTHEST 0x1p40
/* Distance from a half within which a position of float32 counts as halfway. */
#define NEARLY 1e-6

/* Does the scale stand for out / in? A float32 scale does if the quotient rounds to it: 1/3 must
 * map 3 input pixels to exactly 1. */
static bool is_quotient(double scale, int64_t in, int64_t out)
{
    return (float)scale == (float)((double)out / (double)in);
}

static ry_resize_attrs forward_attrs(const ry_problem *problem)
{
    const ry_resize_grad_attrs *grad = &problem->attrs.resize_grad;
    if (problem->op == RY_OP_resize) {
        return problem->attrs.resize;
    }
    return (ry_resize_attrs){.mode = grad->mode,
                             .coordinates = grad->coordinates,
                             .nearest = grad->nearest,
                             .cubic_a = grad->cubic_a,
                             .exclude_outside = grad->exclude_outside,
                             .antialias = grad->antialias,
                             .scales = grad->scales,
                             .roi = grad->roi};
}

/* Does an axis that keeps its size keep its elements, too, whatever its scale is (9 * 1.1 is 9)?
 * ONNX Runtime and PyTorch agree in these cases only. */
static bool is_kept(const ry_resize_attrs *attrs, const ry_tensor *from, const ry_tensor *to, int d)
{
    if (attrs->coordinates == RY_resize_coordinates_tf_crop_and_resize) {
        return false;
    }
    bool whole = attrs->mode != RY_resize_mode_cubic;
    for (int i = 0; i < from->rank; i++) {
        whole = whole && from->dim[i] == to->dim[i];
    }
    return from->dim[d] == to->dim[d] && (whole || attrs->antialias);
}

static void make(const ry_resize_attrs *attrs, const ry_tensor *from, const ry_tensor *to, int dim,
                 ry_resize_axis *axis)
{
    const int64_t in = from->dim[dim], out = to->dim[dim];
    const bool given = dim < attrs->scales.count && in && !is_kept(attrs, from, to, dim),
               region = attrs->roi.count == 2 * from->rank,
               nearest = attrs->mode == RY_resize_mode_nearest,
               crops = attrs->coordinates == RY_resize_coordinates_tf_crop_and_resize;
    const double quotient = in ? (double)out / (double)in : 1,
                 scale = given ? attrs->scales.at[dim] : quotient;
    /* Runtimes place nearest pixels by float32 scales in float32. Quotients of sizes are exact. */
    const bool rounded = nearest && (crops || scale == (double)(float)scale);
    const bool exact = !rounded && is_quotient(scale, in ? in : 1, in ? out : 1);
    *axis = (ry_resize_axis){.in = in,
                             .out = out,
                             .scale = exact ? quotient : scale,
                             .quotient = exact,
                             .rounded = rounded,
                             .start = region ? attrs->roi.at[dim] : 0,
                             .end = region ? attrs->roi.at[from->rank + dim] : 1,
                             .mode = attrs->mode,
                             .coordinates = attrs->coordinates,
                             .nearest = attrs->nearest,
                             .cubic_a = attrs->cubic_a,
                             .exclude_outside = attrs->exclude_outside != 0,
                             .antialias = attrs->antialias != 0 && !nearest};
}

void ry_resize_axis_make(const ry_problem *problem, int dim, ry_resize_axis *axis)
{
    const ry_resize_attrs attrs = forward_attrs(problem);
    const bool forward = problem->op == RY_OP_resize;
    make(&attrs, forward ? &problem->in[0] : &problem->out[0],
         forward ? &problem->out[0] : &problem->in[0], dim, axis);
}

bool ry_resize_axis_is_identity(const ry_resize_axis *axis)
{
    if (axis->in != axis->out || axis->scale != 1) {
        return false;
    }
    return axis->coordinates != RY_resize_coordinates_tf_crop_and_resize ||
           (axis->start == 0 && axis->end == 1);
}

typedef double (*coordinate_map)(const ry_resize_axis *axis, double out);

/* The result of one operation, as precise as the axis has it. */
static double result(const ry_resize_axis *axis, double value)
{
    return axis->rounded ? (double)(float)value : value;
}

static double by_scale(const ry_resize_axis *axis, double out)
{
    return axis->quotient ? out * (double)axis->in / (double)axis->out : out / axis->scale;
}

static double half_pixel(const ry_resize_axis *axis, double out)
{
    return result(axis, result(axis, by_scale(axis, out + 0.5)) - 0.5);
}

/* The middle of the output is that of the input, also where a scale gives a fractional size. */
static double half_pixel_symmetric(const ry_resize_axis *axis, double out)
{
    if (axis->quotient) {
        return half_pixel(axis, out);
    }
    const double in = (double)axis->in, length = result(axis, axis->scale * in),
                 missing = result(axis, 1 - result(axis, (double)axis->out / length)),
                 offset = result(axis, in / 2 * missing);
    return result(axis, offset + by_scale(axis, out + 0.5) - 0.5);
}

static double pytorch_half_pixel(const ry_resize_axis *axis, double out)
{
    return axis->out > 1 ? half_pixel(axis, out) : 0;
}

/* The last output is the last input, whatever fractional size a scale gives. */
static double align_corners(const ry_resize_axis *axis, double out)
{
    return axis->out > 1
               ? result(axis, result(axis, out * (double)(axis->in - 1)) / (double)(axis->out - 1))
               : 0;
}

static double asymmetric(const ry_resize_axis *axis, double out)
{
    return result(axis, by_scale(axis, out));
}

static double tf_half_pixel_for_nn(const ry_resize_axis *axis, double out)
{
    return result(axis, by_scale(axis, out + 0.5));
}

static double tf_crop_and_resize(const ry_resize_axis *axis, double out)
{
    const double last = (double)(axis->in - 1);
    if (axis->out <= 1) {
        return result(axis, 0.5 * result(axis, axis->start + axis->end) * last);
    }
    const double part = result(axis, out * result(axis, axis->end - axis->start)),
                 from = result(axis, axis->start * last);
    return result(axis, from + result(axis, result(axis, part * last) / (double)(axis->out - 1)));
}

/* clang-format off */
static const coordinate_map maps[RY_resize_coordinates_count] = {
    [RY_resize_coordinates_half_pixel] = half_pixel,
    [RY_resize_coordinates_half_pixel_symmetric] = half_pixel_symmetric,
    [RY_resize_coordinates_pytorch_half_pixel] = pytorch_half_pixel,
    [RY_resize_coordinates_align_corners] = align_corners,
    [RY_resize_coordinates_asymmetric] = asymmetric,
    [RY_resize_coordinates_tf_half_pixel_for_nn] = tf_half_pixel_for_nn,
    [RY_resize_coordinates_tf_crop_and_resize] = tf_crop_and_resize,
};
/* clang-format on */

double ry_resize_coordinate(const ry_resize_axis *axis, int64_t out)
{
    if (ry_resize_axis_is_identity(axis)) {
        return (double)out;
    }
    double x = maps[axis->coordinates](axis, (double)out);
    return fmin(fmax(x, -FARTHEST), FARTHEST);
}

/* TensorFlow and ONNX Runtime compare positions of float32: a region's end is not beyond itself. */
bool ry_resize_is_outside(const ry_resize_axis *axis, int64_t out)
{
    if (axis->coordinates != RY_resize_coordinates_tf_crop_and_resize) {
        return false;
    }
    ry_resize_axis single = *axis;
    single.rounded = true;
    const double x = ry_resize_coordinate(&single, out);
    return !(x >= 0 && x <= (double)(axis->in - 1));
}

/* Does the output lie before (side 0) or behind (side 1) the image, as positions go? */
static bool is_beside(const ry_resize_axis *axis, int64_t out, int side)
{
    ry_resize_axis single = *axis;
    single.rounded = true;
    const double x = ry_resize_coordinate(&single, out), last = (double)(axis->in - 1);
    const bool rising = axis->end >= axis->start;
    return side == 0 ? !(rising ? x >= 0 : x <= last) : (rising ? x > last : x < 0);
}

/* Positions rise or fall along the axis: the inner ones lie together. */
void ry_resize_inside(const ry_resize_axis *axis, int64_t *begin, int64_t *end)
{
    int64_t bound[2] = {0, axis->out};
    const bool crops = axis->coordinates == RY_resize_coordinates_tf_crop_and_resize;
    for (int side = 0; crops && side < 2; side++) {
        int64_t low = 0, high = axis->out;
        while (low < high) {
            const int64_t middle = low + (high - low) / 2;
            if (is_beside(axis, middle, side) == (side == 1)) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        bound[side] = low;
    }
    *begin = bound[0] < bound[1] ? bound[0] : bound[1];
    *end = bound[1];
}

static int64_t clamp_index(double position, int64_t in)
{
    return position <= 0 ? 0 : position >= (double)(in - 1) ? in - 1 : (int64_t)position;
}

/* Halfway positions that float32 misses by NEARLY are ties nevertheless, as in ONNX Runtime. */
static int64_t nearest_index(const ry_resize_axis *axis, double x)
{
    const double below = floor(x), part = x - below,
                 half = axis->rounded && fabs(part - 0.5) <= NEARLY ? 0.5 : part;
    switch (axis->nearest) {
    case RY_resize_nearest_round_prefer_ceil: x = below + (half >= 0.5); break;
    case RY_resize_nearest_floor: x = below; break;
    case RY_resize_nearest_ceil: x = ceil(x); break;
    default: x = below + (half > 0.5); break;
    }
    return clamp_index(x, axis->in);
}

/* The filter stretches with the input's pixels when antialiasing a reduction; never beyond twice
 * the input, which is one output pixel (rounded up from a half). */
static double stretch(const ry_resize_axis *axis)
{
    return axis->antialias && axis->scale < 1 ? fmax(axis->scale, 0.5 / (double)axis->in) : 1;
}

static double support(const ry_resize_axis *axis)
{
    return (axis->mode == RY_resize_mode_cubic ? 2 : 1) / stretch(axis);
}

/* The triangle, or Keys' cubic convolution kernel (IEEE Trans. ASSP 29, 1981) of parameter a. */
static double filter(const ry_resize_axis *axis, double distance)
{
    double d = fabs(distance), a = axis->cubic_a;
    if (axis->mode == RY_resize_mode_linear) {
        return d < 1 ? 1 - d : 0;
    }
    if (d <= 1) {
        return ((a + 2) * d - (a + 3)) * d * d + 1;
    }
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

int64_t ry_resize_max_taps(const ry_resize_axis *axis)
{
    double taps = axis->mode == RY_resize_mode_nearest ? 1 : ceil(2 * support(axis)) + 1;
    return taps < (double)axis->in ? (int64_t)taps : axis->in > 1 ? axis->in : 1;
}

/* What filter_taps gives of the triangle over two positions: the same operations without loops. */
static int64_t linear_taps(const ry_resize_axis *axis, double x, int64_t *first, double *weights)
{
    const double low = floor(x), above = x - low;
    const int64_t a = clamp_index(low, axis->in),
                  b = above > 0 ? clamp_index(low + 1, axis->in) : a;
    const double one = 1 - above, other = above > 0 ? 1 - (low + 1 - x) : 0;
    *first = a;
    weights[0] = a == b ? one + other : one;
    if (a != b) {
        weights[1] = other;
    }
    return a == b ? 1 : 2;
}

static int64_t filter_taps(const ry_resize_axis *axis, double x, int64_t *first, double *weights)
{
    if (axis->mode == RY_resize_mode_linear && !axis->antialias && !axis->exclude_outside) {
        return linear_taps(axis, x, first, weights);
    }
    double low = floor(x - support(axis)) + 1, high = ceil(x + support(axis)) - 1;
    *first = clamp_index(low, axis->in);
    int64_t count = clamp_index(high, axis->in) - *first + 1;
    for (int64_t j = 0; j < count; j++) {
        weights[j] = 0;
    }
    double total = 0;
    for (double i = low; i <= high; i++) {
        if (axis->exclude_outside && (i < 0 || i > (double)(axis->in - 1))) {
            continue;
        }
        double weight = filter(axis, (i - x) * stretch(axis));
        weights[clamp_index(i, axis->in) - *first] += weight;
        total += weight;
    }
    if ((axis->antialias || axis->exclude_outside) && total != 0) {
        for (int64_t j = 0; j < count; j++) {
            weights[j] /= total;
        }
    }
    return count;
}

int64_t ry_resize_taps(const ry_resize_axis *axis, int64_t out, int64_t *first, double *weights)
{
    double x = ry_resize_coordinate(axis, out);
    *first = 0;
    if (ry_resize_is_outside(axis, out)) {
        return 0;
    }
    if (axis->mode != RY_resize_mode_nearest && !ry_resize_axis_is_identity(axis)) {
        return filter_taps(axis, x, first, weights);
    }
    *first = ry_resize_axis_is_identity(axis) ? out : nearest_index(axis, x);
    weights[0] = 1;
    return 1;
}

int64_t ry_resize_find_readers(const ry_resize_axis *axis, ry_resize_readers *readers, double *row)
{
    for (int64_t i = 0; i < axis->in; i++) {
        readers[i] = (ry_resize_readers){0};
    }
    for (int64_t o = 0; o < axis->out; o++) {
        int64_t first;
        const int64_t count = ry_resize_taps(axis, o, &first, row);
        for (int64_t i = first; i < first + count; i++) {
            readers[i].first = readers[i].count ? readers[i].first : o;
            readers[i].count = o + 1 - readers[i].first;
        }
    }
    int64_t weights = 0;
    for (int64_t i = 0; i < axis->in; i++) {
        readers[i].weight = weights;
        weights += readers[i].count;
    }
    return weights;
}

/* Outputs between two readers of a position may read others only: their weights stay 0. */
void ry_resize_transpose(const ry_resize_axis *axis, const ry_resize_readers *readers, double *row,
                         double *weights)
{
    for (int64_t i = 0; i < axis->in; i++) {
        for (int64_t j = 0; j < readers[i].count; j++) {
            weights[readers[i].weight + j] = 0;
        }
    }
    for (int64_t o = 0; o < axis->out; o++) {
        int64_t first;
        const int64_t count = ry_resize_taps(axis, o, &first, row);
        for (int64_t j = 0; j < count; j++) {
            const ry_resize_readers *r = &readers[first + j];
            weights[r->weight + o - r->first] = row[j];
        }
    }
}
