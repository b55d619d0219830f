/* SPDX-License-Identifier: Apache-2.0 */
/* Writes numbers and types for texts of GPUs. */
#include "kernels/gpu/gpu_define.h"

#include <math.h>
#include <stdio.h>

bool ry_gpu_is_float(const ry_tensor *tensor)
{
    const ry_dtype dtype = (ry_dtype)tensor->dtype;
    return dtype == RY_f32 || dtype == RY_f16 || dtype == RY_bf16;
}

/* Elements, gaps among them. */
static int64_t span(const ry_tensor *tensor)
{
    return (int64_t)(ry_tensor_span(tensor) / ry_dtype_size((ry_dtype)tensor->dtype));
}

bool ry_gpu_is_wide(const ry_problem *problem)
{
    /* room for what steps over padding reach beyond the ends */
    const int64_t most = INT32_MAX / 2;
    bool wide = false;
    for (int i = 0; i < problem->outputs; i++) {
        wide = wide || (ry_problem_has_output(problem, i) && span(&problem->out[i]) > most);
    }
    for (int i = 0; i < problem->inputs; i++) {
        wide = wide || (ry_problem_has_input(problem, i) && span(&problem->in[i]) > most);
    }
    return wide;
}

void ry_gpu_define(ry_text *text, const char *name, int64_t number)
{
    ry_text_add(text, "#define %s (%lld)\n", name, (long long)number);
}

void ry_gpu_float(double number, char literal[RY_GPU_FLOAT])
{
    const float held = (float)number;
    if (isfinite(held)) {
        snprintf(literal, RY_GPU_FLOAT, "(%af)", (double)held);
    } else {
        snprintf(literal, RY_GPU_FLOAT, "%s",
                 isnan(held) ? "(INFINITY - INFINITY)"
                 : held < 0  ? "(-INFINITY)"
                             : "INFINITY");
    }
}

void ry_gpu_define_float(ry_text *text, const char *name, double number)
{
    char literal[RY_GPU_FLOAT];
    ry_gpu_float(number, literal);
    ry_text_add(text, "#define %s %s\n", name, literal);
}

static const char *type_of(const ry_tensor *tensor)
{
    static const char *const integers[RY_DTYPES] = {
        [RY_u8] = "uint8_t", [RY_i8] = "int8_t", [RY_i32] = "int32_t"};
    const ry_dtype dtype = (ry_dtype)tensor->dtype;
    return dtype == RY_f32 ? "float" : integers[dtype] ? integers[dtype] : "ushort";
}

void ry_gpu_define_types(ry_text *text, const ry_problem *problem, bool wide)
{
    ry_text_add(text, "#define INDEX %s\n", wide ? "long" : "int");
    for (int i = 0; i < problem->inputs; i++) {
        if (ry_problem_has_input(problem, i)) {
            const ry_tensor *t = &problem->in[i];
            ry_text_add(text, "#define TYPE_%d %s\n#define LOAD_%d(p, at) LOAD_%s(p, at)\n", i,
                        type_of(t), i, ry_dtype_name((ry_dtype)t->dtype));
        }
    }
    const ry_tensor *y = &problem->out[0];
    ry_text_add(text, "#define TYPE_Y %s\n#define STORE(p, at, v) STORE_%s(p, at, v)\n", type_of(y),
                ry_dtype_name((ry_dtype)y->dtype));
}

void ry_gpu_define_outputs(ry_text *text, const ry_problem *problem)
{
    for (int i = 0; i < problem->outputs; i++) {
        const bool there = ry_problem_has_output(problem, i);
        ry_text_add(text, "#define HAS_OUT_%d %d\n", i, there);
        if (there && i > 0) {
            const ry_tensor *y = &problem->out[i];
            ry_text_add(text,
                        "#define TYPE_Y_%d %s\n#define STORE_%d(p, at, v) STORE_%s(p, at, v)\n", i,
                        type_of(y), i, ry_dtype_name((ry_dtype)y->dtype));
        }
    }
}

void ry_gpu_define_axis(ry_text *text, const char *name, int axis, int64_t number)
{
    ry_text_add(text, "#define %s_%d (%lld)\n", name, axis, (long long)number);
}

bool ry_gpu_is_along_channels(const ry_tensor *tensor)
{
    int64_t least = INT64_MAX;
    for (int i = 2; i < tensor->rank; i++) {
        least = tensor->dim[i] > 1 && tensor->stride[i] < least ? tensor->stride[i] : least;
    }
    return tensor->dim[1] > 1 && tensor->stride[1] < least;
}
