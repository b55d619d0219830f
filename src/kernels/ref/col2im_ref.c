/* SPDX-License-Identifier: Apache-2.0 */
/* Reference col2im: every image element is the sum of the column elements that a sliding block took
 * from it. */
#include "kernels/ref/ref_common.h"
#include "problem/window.h"

static void element(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_tensor *x = &p->in[0], *y = &p->out[0];
    ry_window win = ry_window_of(p);
    ry_ref_operand column = {.dtype = ry_ref_dtype(x), .data = launch->in[0]};
    int64_t count[RY_MAX_RANK] = {0}, taps = 1, positions = 1;
    for (int i = win.rank - 1; i >= 0; i--) {
        ry_window_readers readers = ry_window_readers_of(&win.axis[i], index[i + 2]);
        count[i] = readers.count;
        column.offset += readers.tap * taps * x->stride[1] + readers.out * positions * x->stride[2];
        column.step[i] =
            readers.tap_step * taps * x->stride[1] + readers.out_step * positions * x->stride[2];
        taps *= win.axis[i].taps;
        positions *= win.axis[i].out;
    }
    column.offset += index[0] * x->stride[0] + index[1] * taps * x->stride[1];
    ry_ref_sum sum = {.integer = ry_ref_integers(p)};
    ry_ref_dot(&sum, win.rank, count, &column, NULL);
    ry_ref_store(&sum, ry_ref_dtype(y), launch->out[0], ry_index_offset(y, index));
}

static bool applicable(const ry_problem *problem)
{
    return ry_ref_numeric(problem) && problem->in[0].rank == 3;
}

RY_REF_ELEMENTS(col2im, applicable, element)
