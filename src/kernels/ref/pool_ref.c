/* SPDX-License-Identifier: Apache-2.0 */
/* Reference pooling: maximum with indices, average, Lp; any rank. */
#include "kernels/ref/ref_common.h"
#include "problem/window.h"

/* The part of a window that is in the input: input positions first[i] + j * dilation[i] for j <
 * count[i]. */
typedef struct field {
    int64_t first[RY_MAX_RANK], count[RY_MAX_RANK], elements;
} field;

static field field_of(const ry_window *win, const int64_t *index)
{
    field r = {.elements = 1};
    for (int i = 0; i < win->rank; i++) {
        const ry_window_range taps = ry_window_taps(&win->axis[i], index[i + 2]);
        r.first[i] = ry_window_at(&win->axis[i], index[i + 2], taps.begin);
        r.count[i] = taps.end - taps.begin;
        r.elements *= r.count[i];
    }
    return r;
}

/* The number of `at` in the whole tensor or in its plane; ONNX's storage_order 1 numbers the spatial
 * dims of a channel in column-major order. */
static int64_t flat_index(const ry_problem *p, const int64_t *at)
{
    const ry_tensor *x = &p->in[0];
    int64_t flat = p->attrs.pool.plane_indices ? 0 : at[0] * x->dim[1] + at[1];
    for (int i = 2; i < x->rank; i++) {
        int d = p->attrs.pool.storage_order ? x->rank + 1 - i : i;
        flat = flat * x->dim[d] + at[d];
    }
    return flat;
}

/* What the maximum of nothing is. */
static void store_lowest(const ry_tensor *y, void *data, int64_t at)
{
    ry_dtype dtype = ry_ref_dtype(y);
    if (ry_dtype_is_float(dtype)) {
        ry_set_f64(dtype, data, at, -INFINITY);
    } else {
        bool is_signed = ry_dtype_get_kind(dtype) == RY_KIND_SIGNED;
        ry_set_i64(dtype, data, at,
                   is_signed ? -(INT64_MAX >> (64 - 8 * ry_dtype_size(dtype))) - 1 : 0);
    }
}

static void maximum(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_tensor *x = &p->in[0], *y = &p->out[0];
    ry_window win = ry_window_of(p);
    field r = field_of(&win, index);
    int64_t out = ry_index_offset(y, index), best = 0, flat = 0;
    if (r.elements == 0) {
        store_lowest(y, launch->out[0], out);
    } else {
        int64_t step[RY_MAX_RANK] = {0}, at[RY_MAX_RANK] = {index[0], index[1]};
        bool found = false;
        do {
            for (int i = 0; i < win.rank; i++) {
                at[i + 2] = r.first[i] + step[i] * win.axis[i].dilation;
            }
            int64_t offset = ry_index_offset(x, at);
            if (!found || ry_ref_compare(ry_ref_dtype(x), launch->in[0], offset, best) > 0) {
                best = offset;
                flat = flat_index(p, at);
                found = true;
            }
        } while (ry_index_next(win.rank, r.count, step));
        ry_ref_copy_element(ry_ref_dtype(y), launch->out[0], out, launch->in[0], best);
    }
    if (ry_problem_has_output(p, 1)) {
        ry_set_i64(ry_ref_dtype(&p->out[1]), launch->out[1], ry_index_offset(&p->out[1], index),
                   flat);
    }
}

/* The window's positions that count: those inside the input, or inside the padded input. */
static int64_t divisor(const ry_problem *p, const ry_window *win, const field *r,
                       const int64_t *index)
{
    if (!p->attrs.pool.count_include_pad) {
        return r->elements;
    }
    int64_t count = 1;
    for (int i = 0; i < win->rank; i++) {
        const ry_window_range taps = ry_window_padded_taps(&win->axis[i], index[i + 2]);
        count *= taps.end - taps.begin;
    }
    return count;
}

/* Average and Lp: a sum over the window. */
static void summed(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_tensor *x = &p->in[0], *y = &p->out[0];
    bool lp = p->attrs.pool.kind == RY_pool_kind_lp;
    double power = (double)p->attrs.pool.p, sum = 0;
    ry_window win = ry_window_of(p);
    field r = field_of(&win, index);
    int64_t step[RY_MAX_RANK] = {0}, at[RY_MAX_RANK] = {index[0], index[1]};
    for (bool more = r.elements > 0; more; more = ry_index_next(win.rank, r.count, step)) {
        for (int i = 0; i < win.rank; i++) {
            at[i + 2] = r.first[i] + step[i] * win.axis[i].dilation;
        }
        double value = ry_ref_get(ry_ref_dtype(x), launch->in[0], ry_index_offset(x, at));
        sum += lp ? pow(fabs(value), power) : value;
    }
    if (lp) {
        sum = pow(sum, 1 / power);
    } else {
        int64_t count = divisor(p, &win, &r, index);
        sum = count > 0 ? sum / (double)count : 0;
    }
    ry_set_f64(ry_ref_dtype(y), launch->out[0], ry_index_offset(y, index), sum);
}

static bool applicable(const ry_problem *problem)
{
    return ry_ref_numeric(problem) && problem->in[0].dtype == problem->out[0].dtype &&
           problem->in[0].rank >= 2 && ry_window_has_sizes(problem);
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    ry_ref_each_output(launch, task,
                       launch->problem->attrs.pool.kind == RY_pool_kind_max ? maximum : summed);
}

RY_REF_KERNEL(pool, applicable, ry_ref_prepare_elements, .run = run);
