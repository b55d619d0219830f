/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks, sums, dot products and activations of the reference kernels. */
#include "kernels/ref/ref_common.h"

#include "kernels/common/activation_scalar.h"

/* Enough tasks to balance any number of threads that runs a reference kernel, few enough to cost
 * nothing. */
enum { MAX_TASKS = 64 };

size_t ry_ref_tasks(int64_t elements)
{
    return (size_t)(elements < MAX_TASKS ? elements : MAX_TASKS);
}

void ry_ref_prepare(ry_prepared *prepared, int64_t elements)
{
    *prepared = (ry_prepared){.phases = 1, .tasks = {ry_ref_tasks(elements)}};
}

static int64_t product(int rank, const int64_t *dim)
{
    int64_t count = 1;
    for (int i = 0; i < rank; i++) {
        count *= dim[i];
    }
    return count;
}

/* count * part / parts without overflow. */
static int64_t share(int64_t count, size_t part, size_t parts)
{
    int64_t each = count / (int64_t)parts, rest = count % (int64_t)parts;
    return each * (int64_t)part + rest * (int64_t)part / (int64_t)parts;
}

void ry_ref_each(const ry_cpu_launch *launch, int rank, const int64_t *dim, size_t tasks,
                 size_t task, ry_ref_element element)
{
    int64_t count = product(rank, dim);
    int64_t begin = share(count, task, tasks), end = share(count, task + 1, tasks);
    if (begin == end) {
        return; /* a dim may be 0 */
    }
    int64_t index[RY_MAX_RANK] = {0};
    int64_t rest = begin;
    for (int i = rank - 1; i >= 0; i--) {
        index[i] = rest % dim[i];
        rest /= dim[i];
    }
    for (int64_t n = begin; n < end; n++) {
        element(launch, index);
        ry_index_next(rank, dim, index);
    }
}

rynd_status ry_ref_prepare_elements(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *problem = query->problem;
    (void)error;
    ry_ref_prepare(prepared, ry_tensor_count(&problem->out[0]));
    return RYND_OK;
}

void ry_ref_each_output(const ry_cpu_launch *launch, size_t task, ry_ref_element element)
{
    const ry_tensor *y = &launch->problem->out[0];
    ry_ref_each(launch, y->rank, y->dim, launch->prepared->tasks[0], task, element);
}

static void lane_dims(const ry_tensor *x, int begin, int end, int64_t *dim)
{
    for (int i = 0; i < RY_MAX_RANK; i++) {
        dim[i] = i >= x->rank || (i >= begin && i < end) ? 1 : x->dim[i];
    }
}

void ry_ref_prepare_lanes(const ry_problem *problem, ry_prepared *prepared, int begin, int end)
{
    int64_t dim[RY_MAX_RANK];
    lane_dims(&problem->in[0], begin, end, dim);
    bool empty = product(end - begin, problem->in[0].dim + begin) == 0;
    ry_ref_prepare(prepared, empty ? 0 : product(problem->in[0].rank, dim));
}

void ry_ref_each_lane(const ry_cpu_launch *launch, size_t task, int begin, int end,
                      ry_ref_element lane)
{
    int64_t dim[RY_MAX_RANK];
    lane_dims(&launch->problem->in[0], begin, end, dim);
    ry_ref_each(launch, launch->problem->in[0].rank, dim, launch->prepared->tasks[0], task, lane);
}

/* The first input and output are there, and every operand that is there passes `test`. */
static bool all_operands(const ry_problem *problem, bool (*test)(ry_dtype dtype))
{
    if (!ry_problem_has_input(problem, 0) || !ry_problem_has_output(problem, 0)) {
        return false;
    }
    for (int i = 0; i < problem->inputs + problem->outputs; i++) {
        const ry_tensor *t =
            i < problem->inputs ? &problem->in[i] : &problem->out[i - problem->inputs];
        if (ry_tensor_present(t) && !test(ry_ref_dtype(t))) {
            return false;
        }
    }
    return true;
}

static bool is_number(ry_dtype dtype)
{
    return dtype != RY_bool;
}

static bool is_integer(ry_dtype dtype)
{
    return !ry_dtype_is_float(dtype);
}

bool ry_ref_numeric(const ry_problem *problem)
{
    return all_operands(problem, is_number);
}

bool ry_ref_floats(const ry_problem *problem)
{
    return ry_ref_numeric(problem) && ry_dtype_is_float(ry_ref_dtype(&problem->in[0])) &&
           ry_dtype_is_float(ry_ref_dtype(&problem->out[0]));
}

bool ry_ref_integers(const ry_problem *problem)
{
    return all_operands(problem, is_integer);
}

void ry_ref_copy_element(ry_dtype dtype, void *to, int64_t to_index, const void *from,
                         int64_t from_index)
{
    size_t size = ry_dtype_size(dtype);
    memcpy((char *)to + to_index * (int64_t)size, (const char *)from + from_index * (int64_t)size,
           size);
}

int ry_ref_compare(ry_dtype dtype, const void *data, int64_t a, int64_t b)
{
    if (ry_dtype_is_float(dtype)) {
        double x = ry_ref_get(dtype, data, a), y = ry_ref_get(dtype, data, b);
        return isnan(x) || isnan(y) ? isnan(x) - isnan(y) : (x > y) - (x < y);
    }
    int64_t x = ry_get_i64(dtype, data, a), y = ry_get_i64(dtype, data, b);
    if (dtype == RY_u64) {
        return ((uint64_t)x > (uint64_t)y) - ((uint64_t)x < (uint64_t)y);
    }
    return (x > y) - (x < y);
}

int64_t ry_ref_broadcast_offset(const ry_tensor *tensor, const int64_t *index, int rank)
{
    int64_t offset = 0;
    for (int i = 1; i <= tensor->rank && i <= rank; i++) {
        if (tensor->dim[tensor->rank - i] != 1) {
            offset += index[rank - i] * tensor->stride[tensor->rank - i];
        }
    }
    return offset;
}

void ry_ref_add(ry_ref_sum *sum, ry_dtype dtype, const void *data, int64_t index)
{
    if (sum->integer) {
        sum->i += (uint64_t)ry_get_i64(dtype, data, index);
    } else {
        sum->f += ry_ref_get(dtype, data, index);
    }
}

void ry_ref_store(const ry_ref_sum *sum, ry_dtype dtype, void *data, int64_t index)
{
    if (sum->integer) {
        ry_set_i64(dtype, data, index, (int64_t)sum->i);
    } else {
        ry_set_f64(dtype, data, index, sum->f);
    }
}

/* One run along the innermost dimension. */
static void dot_row(ry_ref_sum *sum, int64_t count, const ry_ref_operand *a, int64_t ia, int64_t sa,
                    const ry_ref_operand *b, int64_t ib, int64_t sb)
{
    if (sum->integer) {
        for (int64_t j = 0; j < count; j++) {
            uint64_t x = (uint64_t)ry_get_i64(a->dtype, a->data, ia + j * sa);
            sum->i += b ? x * (uint64_t)ry_get_i64(b->dtype, b->data, ib + j * sb) : x;
        }
    } else if (!b) {
        for (int64_t j = 0; j < count; j++) {
            sum->f += ry_ref_get(a->dtype, a->data, ia + j * sa);
        }
    } else if (a->dtype == RY_f32 && b->dtype == RY_f32) {
        const float *x = (const float *)a->data + ia, *y = (const float *)b->data + ib;
        double f = sum->f;
        for (int64_t j = 0; j < count; j++) {
            f += (double)x[j * sa] * (double)y[j * sb];
        }
        sum->f = f;
    } else {
        for (int64_t j = 0; j < count; j++) {
            sum->f += ry_get_f64(a->dtype, a->data, ia + j * sa) *
                      ry_get_f64(b->dtype, b->data, ib + j * sb);
        }
    }
}

static int64_t position(const ry_ref_operand *operand, int rank, const int64_t *index)
{
    int64_t offset = operand->offset;
    for (int i = 0; i < rank; i++) {
        offset += index[i] * operand->step[i];
    }
    return offset;
}

void ry_ref_dot(ry_ref_sum *sum, int rank, const int64_t *count, const ry_ref_operand *a,
                const ry_ref_operand *b)
{
    if (product(rank, count) == 0) {
        return;
    }
    int outer = rank > 0 ? rank - 1 : 0;
    int64_t row = rank > 0 ? count[outer] : 1;
    int64_t index[RY_MAX_RANK] = {0};
    do {
        dot_row(sum, row, a, position(a, outer, index), rank > 0 ? a->step[outer] : 0, b,
                b ? position(b, outer, index) : 0, rank > 0 && b ? b->step[outer] : 0);
    } while (ry_index_next(outer, count, index));
}

void ry_ref_store_interpolated(ry_dtype dtype, void *data, int64_t index, double value)
{
    if (!ry_dtype_is_float(dtype)) {
        const double bits = 8 * (double)ry_dtype_size(dtype);
        const bool is_signed = ry_dtype_get_kind(dtype) == RY_KIND_SIGNED;
        const double high = is_signed ? exp2(bits - 1) - 1 : exp2(bits) - 1,
                     low = is_signed ? -exp2(bits - 1) : 0;
        value = fmin(fmax(rint(value), low), high);
    }
    ry_set_f64(dtype, data, index, value);
}

void ry_ref_activate(ry_ref_sum *sum, ry_activation activation, double a, double b)
{
    if (activation == RY_activation_none) {
        return;
    }
    if (sum->integer) {
        sum->i = (uint64_t)(int64_t)ry_activation_scalar(activation, a, b, (double)(int64_t)sum->i);
    } else {
        sum->f = ry_activation_scalar(activation, a, b, sum->f);
    }
}

double ry_ref_interpolate(ry_dtype dtype, const void *data, int64_t offset, int rank,
                          const ry_ref_taps *taps, const int64_t *stride)
{
    if (rank == 0) {
        return ry_ref_get(dtype, data, offset);
    }
    double sum = 0;
    for (int j = 0; j < taps->count; j++) {
        sum +=
            taps->weight[j] * ry_ref_interpolate(dtype, data, offset + taps->index[j] * stride[0],
                                                 rank - 1, taps + 1, stride + 1);
    }
    return sum;
}
