/* SPDX-License-Identifier: Apache-2.0 */
/* GridSample: finds the taps of a block of positions, axis by axis, then reads by them. */
#include "kernels/cpu/sample/sample_plan.h"

#include "kernels/common/grid_map.h"
#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/sample/points.h"
#include "kernels/cpu/simd/simd.h"

/* A run of positions along the last dim, coordinate by coordinate. */
typedef struct run_of {
    const void *grid;
    ry_dtype dtype;
    int64_t at, step, count; /* the first element, elements from position to position */
} run_of;

/* Positions in pixels. */
static void read_positions(const ry_grid_sample_attrs *attrs, const run_of *run, int64_t size,
                           double *restrict x)
{
    if (run->dtype == RY_f32) {
        const float *grid = (const float *)run->grid + run->at;
        for (int64_t i = 0; i < run->count; i++) {
            x[i] = ry_grid_to_pixels(attrs, RY_f32, grid[i * run->step], size);
        }
        return;
    }
    for (int64_t i = 0; i < run->count; i++) {
        x[i] = ry_grid_to_pixels(attrs, run->dtype,
                                 ry_get_f64(run->dtype, run->grid, run->at + i * run->step), size);
    }
}

/* Puts positions beyond the edges where the padding rule wants them; NaN becomes the least. */
static void fold_positions(const ry_grid_sample_attrs *attrs, int64_t count, int64_t size,
                           double *restrict x)
{
    const double low = attrs->align_corners ? 0 : -0.5,
                 high = (double)size - (attrs->align_corners ? 1 : 0.5), last = (double)(size - 1);
    if (attrs->padding == RY_grid_padding_border) {
        for (int64_t i = 0; i < count; i++) {
            const double raised = x[i] > 0 ? x[i] : 0, bounded = raised < last ? raised : last;
            x[i] = x[i] >= low && x[i] <= high ? x[i] : bounded;
        }
    } else if (attrs->padding == RY_grid_padding_reflection) {
        for (int64_t i = 0; i < count; i++) {
            if (!(x[i] >= low && x[i] <= high)) {
                x[i] = ry_grid_fold(attrs, x[i], size);
            }
        }
    }
}

/* Where tap `j` of each position is, from entry `to` on. */
static void place_taps(const ry_grid_sample_attrs *attrs, int64_t count, int64_t size, double j,
                       const double *restrict low, const ry_points_axis *axis, int64_t to)
{
    void *index = axis->index;
    const bool far = axis->far;
    const double last = (double)(size - 1);
    const bool zeros = attrs->padding == RY_grid_padding_zeros;
    for (int64_t i = 0; i < count; i++) {
        const double at = low[i] + j, raised = at > 0 ? at : 0,
                     bounded = raised < last ? raised : last;
        ry_points_set_double(index, far, to + i, zeros && at != bounded ? -1 : bounded);
    }
    for (int64_t i = 0; attrs->padding == RY_grid_padding_reflection && i < count; i++) {
        const double at = low[i] + j;
        if (!(at >= 0 && at <= last)) {
            ry_points_set(index, far, to + i,
                          ry_clamp((int64_t)ry_grid_fold(attrs, at, size), 0, size - 1));
        }
    }
}

/* Fills the taps of one axis, of a run, from entry `to` on. */
static void locate(const ry_grid_sample_attrs *attrs, const run_of *run, int64_t size,
                   const ry_points_axis *axis, int64_t pitch, int64_t to)
{
    /* keeps an infinite coordinate convertible */
    const double far = fmax(0x1p31, 2 * (double)size);
    double x[RY_POINTS_BLOCK], low[RY_POINTS_BLOCK];
    const int64_t n = run->count;
    read_positions(attrs, run, size, x);
    for (int64_t i = 0; attrs->mode == RY_grid_mode_nearest && i < n; i++) {
        x[i] = rint(x[i]);
    }
    if (attrs->mode != RY_grid_mode_cubic) {
        fold_positions(attrs, n, size, x);
    }
    for (int64_t i = 0; i < n; i++) {
        x[i] = x[i] > -far ? x[i] : -far;
        x[i] = x[i] < far ? x[i] : far;
        low[i] = floor(x[i]);
    }
    for (int64_t k = 0; k < axis->taps; k++) {
        place_taps(attrs, n, size, (double)(k - (axis->taps == 4)), low, axis, k * pitch + to);
    }
    double *w = axis->weight + to;
    for (int64_t i = 0; axis->taps == 1 && i < n; i++) {
        w[i] = 1;
    }
    for (int64_t i = 0; axis->taps == 2 && i < n; i++) {
        w[i] = 1 - (x[i] - low[i]);
        w[pitch + i] = x[i] - low[i];
    }
    for (int64_t i = 0; axis->taps == 4 && i < n; i++) {
        double four[4];
        ry_grid_weights_of(RY_grid_mode_cubic, x[i] - low[i], four);
        w[i] = four[0];
        w[pitch + i] = four[1];
        w[2 * pitch + i] = four[2];
        w[3 * pitch + i] = four[3];
    }
}

/* A grid names the last dim first. */
static void locate_run(const ry_cpu_launch *launch, run_of run, int64_t to, ry_points_axis *axis)
{
    const ry_points_plan *s = launch->state;
    const ry_tensor *grid = &launch->problem->in[1];
    const int64_t base = run.at;
    for (int a = 0; a < s->rank; a++) {
        run.at = base + (s->rank - 1 - a) * grid->stride[s->rank + 1];
        locate(&launch->problem->attrs.grid_sample, &run, s->size[a], &axis[a], s->axis_length, to);
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const ry_points_plan *s = launch->state;
    const ry_tensor *grid = &launch->problem->in[1];
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&s->cut, task, range);
    const int64_t image = range[0].first, first = range[1].first;
    ry_points_axis axis[RY_MAX_RANK];
    for (int a = 0; a < s->rank; a++) {
        axis[a] = ry_points_axis_of(s, launch->scratch, a);
    }
    ry_points_line line = {.count = 0};
    while (ry_points_next(s, grid->dim + 1, first, range[1].end, &line)) {
        run_of run = {launch->in[1], (ry_dtype)grid->dtype, image * grid->stride[0],
                      grid->stride[s->rank], line.count};
        for (int a = 0; a < s->rank; a++) {
            run.at += line.index[a] * grid->stride[a + 1];
        }
        locate_run(launch, run, line.to, axis);
    }
    const ry_points_memory memory =
        ry_points_memory_of(s, launch->in[0], image, launch->out[0], image, first);
    RY_ISA_SYMBOL(points_run)(s, axis, range[1].count, &memory, launch->scratch);
}

RY_CPU_KERNEL(grid_sample, grid_sample, strict, .simd = RY_SIMD,
              .applicable = ry_grid_sample_applicable, .prepare = ry_grid_sample_prepare,
              .initialise = ry_grid_sample_initialise, .run = run);
