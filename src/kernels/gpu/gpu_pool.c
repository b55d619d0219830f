/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling on a GPU, and its gradient: maximum and average, of one to three spatial dims and any
 * strides in memory. */
#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/gpu/gpu_costs.h"
#include "kernels/gpu/gpu_define.h"
#include "kernels/gpu/gpu_group.h"
#include "kernels/gpu/gpu_kernel.h"
#include "kernels/gpu/gpu_texts.h"
#include "problem/window.h"

#include <math.h>

enum { AXES = 3 };

static bool is_ordinary(const ry_window *window)
{
    for (int i = 0; i < window->rank; i++) {
        const ry_window_axis *axis = &window->axis[i];
        const int64_t last = (axis->out - 1) * axis->stride + ry_window_field(axis);
        if (axis->adaptive && (axis->in + 2) * (axis->out + 2) > INT32_MAX) {
            return false;
        }
        if (axis->pad < 0 || axis->pad_end < 0 ||
            axis->in + axis->pad + axis->pad_end > INT32_MAX || last > INT32_MAX) {
            return false;
        }
    }
    return true;
}

/* Maxima of bytes are exact as floats. */
static bool takes_type(const ry_problem *problem)
{
    const ry_dtype dtype = (ry_dtype)problem->in[0].dtype;
    return ry_gpu_is_float(&problem->in[0]) ||
           ((dtype == RY_u8 || dtype == RY_i8) && problem->attrs.pool.kind == RY_pool_kind_max);
}

static bool applicable(const ry_problem *problem)
{
    const ry_pool_attrs *a = &problem->attrs.pool;
    if (!ry_problem_has_input(problem, 0) || !ry_problem_has_output(problem, 0) ||
        (ry_problem_has_output(problem, 1) && a->kind != RY_pool_kind_max) ||
        a->kind == RY_pool_kind_lp) {
        return false;
    }
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    if (x->rank < 3 || x->rank > 2 + AXES || !ry_window_has_sizes(problem) ||
        x->dtype != y->dtype || !takes_type(problem) || ry_tensor_count(x) == 0 ||
        ry_tensor_count(y) == 0) {
        return false;
    }
    const ry_window window = ry_window_of(problem);
    return is_ordinary(&window);
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *problem = query->problem;
    const ry_window window = ry_window_of(problem);
    const int64_t group = ry_gpu_group_size(query, 128);
    const int64_t outputs = ry_tensor_count(&problem->out[0]);
    double taps = 1;
    (void)error;
    for (int i = 0; i < window.rank; i++) {
        taps *= (double)window.axis[i].taps;
    }
    ry_gpu_group_prepare(group, ry_ceil_div(outputs, group), prepared);
    /* a load, its address and the comparison or sum */
    ry_count_work((double)ry_round_up(outputs, group) * (4 * taps + 30), ry_problem_bytes(problem),
                  prepared);
    return RYND_OK;
}

/* NAME_IMAGE, NAME_CHANNEL and NAME_STEP_axis. */
static void define_steps(ry_text *text, const char *name, const ry_tensor *tensor)
{
    ry_text_add(text, "#define %s_IMAGE (%lld)\n#define %s_CHANNEL (%lld)\n", name,
                (long long)tensor->stride[0], name, (long long)tensor->stride[1]);
    for (int i = 0; i < AXES; i++) {
        const int own = i - (AXES + 2 - tensor->rank);
        ry_text_add(text, "#define %s_STEP_%d (%lld)\n", name, i,
                    (long long)(own < 0 ? 0 : tensor->stride[own + 2]));
    }
}

static void define_window(const ry_query *query, const ry_prepared *prepared, ry_text *text)
{
    const ry_problem *problem = query->problem;
    const ry_window window = ry_window_of(problem);
    const ry_tensor *image = &problem->in[0];
    ry_gpu_define_types(text, problem, ry_gpu_is_wide(problem));
    ry_gpu_group_define(prepared, text);
    ry_gpu_define(text, "ADAPTIVE", window.axis[0].adaptive);
    ry_gpu_define(text, "IMAGES", image->dim[0]);
    ry_gpu_define(text, "CHANNELS", image->dim[1]);
    for (int i = 0; i < AXES; i++) {
        const int own = i - (AXES - window.rank);
        const ry_window_axis axis = own < 0 ? RY_WINDOW_UNIT : window.axis[own];
        ry_gpu_define_axis(text, "IN", i, axis.in);
        ry_gpu_define_axis(text, "OUT", i, axis.out);
        ry_gpu_define_axis(text, "TAPS", i, axis.taps);
        ry_gpu_define_axis(text, "STRIDE", i, axis.stride);
        ry_gpu_define_axis(text, "DILATION", i, axis.dilation);
        ry_gpu_define_axis(text, "PAD", i, axis.pad);
        ry_gpu_define_axis(text, "PAD_END", i, axis.pad_end);
    }
}

/* Numbers of elements in a plane, and the strides of the indices. */
static void define_indices(const ry_problem *problem, ry_text *text)
{
    const ry_window window = ry_window_of(problem);
    int64_t step[AXES] = {0}, next = 1;
    for (int k = 0; k < window.rank; k++) {
        const int own = problem->attrs.pool.storage_order ? k : window.rank - 1 - k;
        step[own + AXES - window.rank] = next;
        next *= window.axis[own].in;
    }
    ry_text_add(text,
                "#define NUMBER(a, b, c) ((int64_t)(a) * %lldl + (int64_t)(b) * %lldl + "
                "(int64_t)(c) * %lldl)\n",
                (long long)step[0], (long long)step[1], (long long)step[2]);
    ry_gpu_define(text, "WHOLE", !problem->attrs.pool.plane_indices);
    define_steps(text, "INDEX", &problem->out[1]);
}

static void define(const ry_query *query, const ry_prepared *prepared, ry_text *text)
{
    const ry_problem *problem = query->problem;
    define_window(query, prepared, text);
    ry_gpu_define(text, "MAXIMUM", problem->attrs.pool.kind == RY_pool_kind_max);
    ry_gpu_define_float(text, "LEAST",
                        (ry_dtype)problem->in[0].dtype == RY_u8   ? 0
                        : (ry_dtype)problem->in[0].dtype == RY_i8 ? INT8_MIN
                                                                  : -INFINITY);
    ry_gpu_define(text, "COUNT_PAD", problem->attrs.pool.count_include_pad != 0);
    define_steps(text, "X", &problem->in[0]);
    define_steps(text, "Y", &problem->out[0]);
    ry_gpu_define(text, "INDICES", ry_problem_has_output(problem, 1));
    if (ry_problem_has_output(problem, 1)) {
        define_indices(problem, text);
    }
    ry_gpu_define(text, "Y_ALONG_CHANNELS",
                  problem->out[0].stride[1] < problem->out[0].stride[problem->out[0].rank - 1]);
}

static const char *const entries[] = {"run"};
static const ry_gpu_kernel gpu = {ry_gpu_text_pool, entries, 1, define};

RY_GPU_KERNEL(pool_gpu, pool, strict, RY_GPU_GROUP_KNOB_FIELDS, .applicable = applicable,
              .prepare = prepare, .gpu = &gpu);

static bool takes_gradient(const ry_problem *problem)
{
    const ry_pool_grad_attrs *a = &problem->attrs.pool_grad;
    if (!ry_problem_has_input(problem, 0) || !ry_problem_has_output(problem, 0) ||
        (a->kind == RY_pool_kind_max && !ry_problem_has_input(problem, 1)) ||
        a->kind == RY_pool_kind_lp) {
        return false;
    }
    const ry_tensor *dy = &problem->in[0], *dx = &problem->out[0];
    if (dx->rank < 3 || dx->rank > 2 + AXES || !ry_window_has_sizes(problem) ||
        !ry_gpu_is_float(dy) || !ry_gpu_is_float(dx) || ry_tensor_count(dy) == 0 ||
        ry_tensor_count(dx) == 0 ||
        (a->kind == RY_pool_kind_max && !ry_gpu_is_float(&problem->in[1]))) {
        return false;
    }
    const ry_window window = ry_window_of(problem);
    return is_ordinary(&window);
}

/* Windows that an element is in, and what each costs: of a maximum all of its elements are looked
 * at. */
static rynd_status prepare_gradient(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *problem = query->problem;
    const ry_gpu_costs *cost = ry_gpu_costs_of(query->target->machine);
    const ry_window window = ry_window_of(problem);
    const int64_t group = ry_gpu_group_size(query, 128);
    const int64_t elements = ry_tensor_count(&problem->out[0]);
    double windows = 1, taps = 1;
    (void)error;
    for (int i = 0; i < window.rank; i++) {
        const ry_window_axis *axis = &window.axis[i];
        windows *= (double)ry_min(ry_ceil_div(ry_window_field(axis), axis->stride), axis->out);
        taps *= (double)axis->taps;
    }
    ry_gpu_group_prepare(group, ry_ceil_div(elements, group), prepared);
    taps = problem->attrs.pool_grad.kind == RY_pool_kind_max ? taps : 0;
    ry_count_work((double)ry_round_up(elements, group) *
                      (windows * (cost->pool_grad_tap * taps + cost->pool_grad_window) +
                       cost->pool_grad_output),
                  ry_problem_bytes(problem), prepared);
    return RYND_OK;
}

static void define_gradient(const ry_query *query, const ry_prepared *prepared, ry_text *text)
{
    const ry_problem *problem = query->problem;
    const ry_tensor *dx = &problem->out[0];
    const bool maximum = problem->attrs.pool_grad.kind == RY_pool_kind_max;
    define_window(query, prepared, text);
    ry_gpu_define(text, "MAXIMUM", maximum);
    ry_gpu_define(text, "COUNT_PAD", problem->attrs.pool_grad.count_include_pad != 0);
    define_steps(text, "DY", &problem->in[0]);
    define_steps(text, "DX", dx);
    if (maximum) {
        define_steps(text, "X", &problem->in[1]);
    }
    ry_gpu_define(text, "DX_ALONG_CHANNELS", dx->stride[1] < dx->stride[dx->rank - 1]);
}

static const ry_gpu_kernel gradient = {ry_gpu_text_pool_grad, entries, 1, define_gradient};

RY_GPU_KERNEL(pool_grad_gpu, pool_grad, strict, RY_GPU_GROUP_KNOB_FIELDS,
              .applicable = takes_gradient, .prepare = prepare_gradient, .gpu = &gradient);
