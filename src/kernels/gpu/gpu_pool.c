/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling on a GPU: maximum and average, of one to three spatial dims and any strides in memory. */
#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/gpu/gpu_define.h"
#include "kernels/gpu/gpu_group.h"
#include "kernels/gpu/gpu_kernel.h"
#include "kernels/gpu/gpu_texts.h"
#include "problem/window.h"

#include <stdio.h>

enum { AXES = 3 };

static bool is_ordinary(const ry_window *window)
{
    for (int i = 0; i < window->rank; i++) {
        const ry_window_axis *axis = &window->axis[i];
        const int64_t last = (axis->out - 1) * axis->stride + ry_window_reach(axis);
        if (axis->pad < 0 || axis->pad_end < 0 ||
            axis->in + axis->pad + axis->pad_end > INT32_MAX || last > INT32_MAX) {
            return false;
        }
    }
    return true;
}

static bool applicable(const ry_problem *problem)
{
    const ry_pool_attrs *a = &problem->attrs.pool;
    if (!ry_problem_has_input(problem, 0) || !ry_problem_has_output(problem, 0) ||
        ry_problem_has_output(problem, 1) || a->kind == RY_pool_kind_lp) {
        return false;
    }
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    if (x->rank < 3 || x->rank > 2 + AXES || a->kernel.count != x->rank - 2 ||
        x->dtype != y->dtype || !ry_gpu_is_float(x) || ry_tensor_count(x) == 0 ||
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

static void define_axis(ry_text *text, const char *name, int axis, int64_t number)
{
    char full[32];
    snprintf(full, sizeof full, "%s_%d", name, axis);
    ry_gpu_define(text, full, number);
}

static void define(const ry_query *query, const ry_prepared *prepared, ry_text *text)
{
    const ry_problem *problem = query->problem;
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    const ry_window window = ry_window_of(problem);
    ry_gpu_define_types(text, problem, ry_gpu_is_wide(problem));
    ry_gpu_group_define(prepared, text);
    ry_gpu_define(text, "MAXIMUM", problem->attrs.pool.kind == RY_pool_kind_max);
    ry_gpu_define(text, "COUNT_PAD", problem->attrs.pool.count_include_pad != 0);
    ry_gpu_define(text, "IMAGES", x->dim[0]);
    ry_gpu_define(text, "CHANNELS", x->dim[1]);
    ry_gpu_define(text, "X_IMAGE", x->stride[0]);
    ry_gpu_define(text, "X_CHANNEL", x->stride[1]);
    ry_gpu_define(text, "Y_IMAGE", y->stride[0]);
    ry_gpu_define(text, "Y_CHANNEL", y->stride[1]);
    ry_gpu_define(text, "Y_ALONG_CHANNELS", y->stride[1] < y->stride[y->rank - 1]);
    for (int i = 0; i < AXES; i++) {
        const int own = i - (AXES - window.rank);
        const ry_window_axis axis = own < 0 ? RY_WINDOW_UNIT : window.axis[own];
        define_axis(text, "IN", i, axis.in);
        define_axis(text, "OUT", i, axis.out);
        define_axis(text, "TAPS", i, axis.taps);
        define_axis(text, "STRIDE", i, axis.stride);
        define_axis(text, "DILATION", i, axis.dilation);
        define_axis(text, "PAD", i, axis.pad);
        define_axis(text, "PAD_END", i, axis.pad_end);
        define_axis(text, "X_STEP", i, own < 0 ? 0 : x->stride[own + 2]);
        define_axis(text, "Y_STEP", i, own < 0 ? 0 : y->stride[own + 2]);
    }
}

static const char *const entries[] = {"run"};
static const ry_gpu_kernel gpu = {ry_gpu_text_pool, entries, 1, define};

RY_GPU_KERNEL(pool_gpu, pool, strict, RY_GPU_GROUP_KNOB_FIELDS, .applicable = applicable,
              .prepare = prepare, .gpu = &gpu);
