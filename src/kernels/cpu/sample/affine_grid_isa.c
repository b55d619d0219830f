/* SPDX-License-Identifier: Apache-2.0 */
/* AffineGrid of any float type: along the last dim a coordinate is a multiple of the normalised
 * position, plus what the other dims give. */
#include "kernels/cpu/sample/sample_plan.h"

#include "kernels/common/grid_map.h"
#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/simd/half.h"
#include "kernels/cpu/simd/simd.h"

/* Coordinates along a line: begin[c] + step[c] * position. Inlined with a constant rank. */
RY_INLINE void fill_line(ry_dtype dtype, const int rank, int64_t n, bool align, const double *begin,
                         const double *step, void *y)
{
    for (int64_t i = 0; i < n; i++) {
        const double at = ry_grid_normal(i, n, align);
        for (int c = 0; c < rank; c++) {
            const double value = begin[c] + step[c] * at;
            if (dtype == RY_f32) {
                ((float *)y)[i * rank + c] = (float)value;
            } else {
                ry_set_f64(dtype, y, i * rank + c, value);
            }
        }
    }
}

static void line_of(ry_dtype dtype, int rank, int64_t n, bool align, const double *begin,
                    const double *step, void *y)
{
    if (dtype == RY_f32 && rank == 2) {
        fill_line(RY_f32, 2, n, align, begin, step, y);
    } else if (dtype == RY_f32 && rank == 3) {
        fill_line(RY_f32, 3, n, align, begin, step, y);
    } else {
        fill_line(dtype, rank, n, align, begin, step, y);
    }
}

/* Coordinate c of line `line`, which runs along the last dim. */
static void run(const ry_cpu_launch *launch, size_t task)
{
    const ry_problem *p = launch->problem;
    const ry_affine_grid_plan *s = launch->state;
    const ry_tensor *theta = &p->in[0], *y = &p->out[0];
    const int rank = y->rank - 2;
    const bool align = p->attrs.affine_grid.align_corners != 0;
    const ry_dtype dtype = (ry_dtype)y->dtype;
    const ry_cut_range lines = ry_cut_part(&s->lines, task);
    for (int64_t line = lines.first; line < lines.end; line++) {
        int64_t index[RY_MAX_RANK], rest = line;
        for (int d = rank - 1; d >= 0; d--) {
            index[d] = rest % y->dim[d];
            rest /= y->dim[d];
        }
        double begin[RY_MAX_RANK], step[RY_MAX_RANK];
        for (int c = 0; c < rank; c++) {
            const int64_t row = index[0] * theta->stride[0] + c * theta->stride[1];
            step[c] = ry_get_f64((ry_dtype)theta->dtype, launch->in[0], row);
            begin[c] =
                ry_get_f64((ry_dtype)theta->dtype, launch->in[0], row + rank * theta->stride[2]);
            for (int j = 1; j < rank; j++) {
                begin[c] +=
                    ry_grid_normal(index[rank - j], y->dim[rank - j], align) *
                    ry_get_f64((ry_dtype)theta->dtype, launch->in[0], row + j * theta->stride[2]);
            }
        }
        line_of(dtype, rank, y->dim[rank], align, begin, step,
                (char *)launch->out[0] +
                    line * y->dim[rank] * rank * (int64_t)ry_dtype_size(dtype));
    }
}

RY_CPU_KERNEL(affine_grid, affine_grid, strict, .simd = RY_SIMD,
              .applicable = ry_affine_grid_applicable, .prepare = ry_affine_grid_prepare,
              .initialise = ry_affine_grid_initialise, .run = run);
