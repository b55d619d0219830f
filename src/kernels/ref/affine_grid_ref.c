/* SPDX-License-Identifier: Apache-2.0 */
/* Reference affine grid: theta[N, rank, rank+1] applied to the normalised positions of an image of
 * `rank` dims. */
#include "kernels/common/grid_map.h"
#include "kernels/ref/ref_common.h"

/* index is [n, o.., coordinate]; coordinate 0 runs along the last dim. */
static void element(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_tensor *theta = &p->in[0], *y = &p->out[0];
    int rank = y->rank - 2;
    int64_t row = index[0] * theta->stride[0] + index[rank + 1] * theta->stride[1];
    double value = ry_ref_get(ry_ref_dtype(theta), launch->in[0], row + rank * theta->stride[2]);
    for (int j = 0; j < rank; j++) {
        double at = ry_grid_normal(index[rank - j], y->dim[rank - j],
                                   p->attrs.affine_grid.align_corners != 0);
        value += at * ry_ref_get(ry_ref_dtype(theta), launch->in[0], row + j * theta->stride[2]);
    }
    ry_set_f64(ry_ref_dtype(y), launch->out[0], ry_index_offset(y, index), value);
}

static bool applicable(const ry_problem *problem)
{
    return ry_ref_floats(problem) && problem->in[0].rank == 3 && problem->out[0].rank >= 3 &&
           problem->in[0].dim[2] == problem->out[0].rank - 1;
}

RY_REF_ELEMENTS(affine_grid, applicable, element)
