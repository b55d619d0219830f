/* SPDX-License-Identifier: Apache-2.0 */
/* Reference grid sampling: any number of spatial dims, linear, nearest or cubic, with zeros, the
 * border or reflection outside. */
#include "base/integer.h"
#include "kernels/ref/ref_common.h"

/* From [-1, 1] to pixels. Nearest rounds what float arithmetic gives, as every other implementation
 * does: a tie must fall the same way. */
static double to_pixels(const ry_grid_sample_attrs *attrs, ry_dtype dtype, double normal,
                        int64_t size)
{
    if (attrs->mode == RY_grid_mode_nearest && dtype != RY_f64) {
        float n = (float)normal, length = (float)size;
        return attrs->align_corners ? (n + 1) / 2 * (length - 1) : ((n + 1) * length - 1) / 2;
    }
    double length = (double)size;
    return attrs->align_corners ? (normal + 1) / 2 * (length - 1) : ((normal + 1) * length - 1) / 2;
}

/* Mirrors x at low and high until it is between. */
static double reflect(double x, double low, double high)
{
    double range = high - low;
    if (range <= 0) {
        return low;
    }
    double distance = fmod(fabs(x - low), 2 * range);
    return low + (distance > range ? 2 * range - distance : distance);
}

/* Where the padding rule puts x; positions inside stay. */
static double fold(const ry_grid_sample_attrs *attrs, double x, int64_t size)
{
    double low = attrs->align_corners ? 0 : -0.5,
           high = (double)size - (attrs->align_corners ? 1 : 0.5);
    if (x >= low && x <= high) {
        return x;
    }
    switch (attrs->padding) {
    case RY_grid_padding_border: return fmin(fmax(x, 0), (double)(size - 1));
    case RY_grid_padding_reflection: return reflect(x, low, high);
    default: return x;
    }
}

/* Weights of the taps around a position whose fraction is t: two, or the four of Keys' kernel with
 * a = -0.75. */
static void weights_of(ry_grid_mode mode, double t, double *w)
{
    const double a = -0.75;
    double s = 1 - t;
    if (mode == RY_grid_mode_linear) {
        w[0] = s;
        w[1] = t;
        return;
    }
    w[0] = ((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a;
    w[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
    w[2] = ((a + 2) * s - (a + 3)) * s * s + 1;
    w[3] = ((a * (s + 1) - 5 * a) * (s + 1) + 8 * a) * (s + 1) - 4 * a;
}

/* A cubic position stays where it is, and the padding rule moves its taps: PyTorch and ONNX Runtime
 * do so, and models are trained so. ONNX's reference would move the position first. */
static ry_ref_taps taps_at(const ry_grid_sample_attrs *attrs, double x, int64_t size)
{
    /* keeps an infinite or huge coordinate convertible; NaN becomes -far */
    const double far = 0x1p31;
    ry_ref_taps taps = {0};
    if (attrs->mode != RY_grid_mode_cubic) {
        x = fold(attrs, attrs->mode == RY_grid_mode_nearest ? rint(x) : x, size);
    }
    x = fmin(fmax(x, -far), far);
    int count = attrs->mode == RY_grid_mode_nearest  ? 1
                : attrs->mode == RY_grid_mode_linear ? 2
                                                     : 4;
    int64_t first = (int64_t)floor(x) - (count == 4);
    double weight[4] = {1};
    if (count > 1) {
        weights_of(attrs->mode, x - floor(x), weight);
    }
    for (int j = 0; j < count; j++) {
        int64_t i = first + j;
        if (i < 0 || i >= size) {
            if (attrs->padding == RY_grid_padding_zeros || size == 0) {
                continue;
            }
            i = ry_clamp((int64_t)fold(attrs, (double)i, size), 0, size - 1);
        }
        taps.index[taps.count] = i;
        taps.weight[taps.count++] = weight[j];
    }
    return taps;
}

/* An element as it is, also an integer that no double holds; outside: 0. */
static void copy_nearest(const ry_cpu_launch *launch, int rank, const ry_ref_taps *taps,
                         int64_t from, int64_t to)
{
    const ry_tensor *x = &launch->problem->in[0];
    bool inside = true;
    for (int i = 0; i < rank; i++) {
        inside = inside && taps[i].count > 0;
        from += taps[i].index[0] * x->stride[i + 2];
    }
    if (inside) {
        ry_ref_copy_element(ry_ref_dtype(x), launch->out[0], to, launch->in[0], from);
    } else {
        ry_set_f64(ry_ref_dtype(x), launch->out[0], to, 0);
    }
}

static void element(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_tensor *x = &p->in[0], *grid = &p->in[1], *y = &p->out[0];
    int rank = x->rank - 2;
    int64_t base = index[0] * grid->stride[0];
    for (int i = 0; i < rank; i++) {
        base += index[i + 2] * grid->stride[i + 1];
    }
    ry_ref_taps taps[RY_MAX_RANK];
    for (int i = 0; i < rank; i++) { /* a grid names the last dim first */
        double normal = ry_ref_get(ry_ref_dtype(grid), launch->in[1],
                                   base + (rank - 1 - i) * grid->stride[rank + 1]);
        taps[i] =
            taps_at(&p->attrs.grid_sample,
                    to_pixels(&p->attrs.grid_sample, ry_ref_dtype(grid), normal, x->dim[i + 2]),
                    x->dim[i + 2]);
    }
    const int64_t from = index[0] * x->stride[0] + index[1] * x->stride[1],
                  to = ry_index_offset(y, index);
    if (p->attrs.grid_sample.mode == RY_grid_mode_nearest) {
        copy_nearest(launch, rank, taps, from, to);
        return;
    }
    const double value =
        ry_ref_interpolate(ry_ref_dtype(x), launch->in[0], from, rank, taps, x->stride + 2);
    ry_ref_store_interpolated(ry_ref_dtype(y), launch->out[0], to, value);
}

static bool applicable(const ry_problem *problem)
{
    return ry_ref_numeric(problem) && ry_problem_has_input(problem, 1) && problem->in[0].rank > 2 &&
           problem->in[1].rank == problem->in[0].rank &&
           problem->in[0].dtype == problem->out[0].dtype;
}

RY_REF_ELEMENTS(grid_sample, applicable, element)
