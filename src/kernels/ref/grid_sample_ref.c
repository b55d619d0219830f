/* SPDX-License-Identifier: Apache-2.0 */
/* Reference grid sampling: any number of spatial dims, linear, nearest or cubic, with zeros, the
 * border or reflection outside. */
#include "kernels/common/grid_map.h"
#include "kernels/ref/ref_common.h"

/* A cubic position stays where it is, and the padding rule moves its taps: PyTorch and ONNX Runtime
 * do so, and models are trained so. ONNX's reference would move the position first. */
static ry_ref_taps taps_at(const ry_grid_sample_attrs *attrs, double x, int64_t size)
{
    /* keeps an infinite or huge coordinate convertible; NaN becomes -far */
    const double far = 0x1p31;
    ry_ref_taps taps = {0};
    if (attrs->mode != RY_grid_mode_cubic) {
        x = ry_grid_fold(attrs, attrs->mode == RY_grid_mode_nearest ? rint(x) : x, size);
    }
    x = fmin(fmax(x, -far), far);
    int count = ry_grid_tap_count(attrs->mode);
    int64_t first = (int64_t)floor(x) - (count == 4);
    double weight[4] = {1};
    if (count > 1) {
        ry_grid_weights_of(attrs->mode, x - floor(x), weight);
    }
    for (int j = 0; j < count; j++) {
        int64_t i = first + j;
        if (i < 0 || i >= size) {
            if (attrs->padding == RY_grid_padding_zeros || size == 0) {
                continue;
            }
            i = ry_clamp((int64_t)ry_grid_fold(attrs, (double)i, size), 0, size - 1);
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
        taps[i] = taps_at(
            &p->attrs.grid_sample,
            ry_grid_to_pixels(&p->attrs.grid_sample, ry_ref_dtype(grid), normal, x->dim[i + 2]),
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
    return ry_problem_has_input(problem, 0) && ry_problem_has_input(problem, 1) &&
           ry_problem_has_output(problem, 0) && problem->in[0].rank > 2 &&
           problem->in[1].rank == problem->in[0].rank && problem->in[1].dtype != RYND_DTYPE_BOOL &&
           problem->in[0].dtype == problem->out[0].dtype &&
           (problem->attrs.grid_sample.mode == RY_grid_mode_nearest ||
            problem->in[0].dtype != RYND_DTYPE_BOOL);
}

RY_REF_ELEMENTS(grid_sample, applicable, element)
