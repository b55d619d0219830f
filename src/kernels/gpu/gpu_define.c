/* SPDX-License-Identifier: Apache-2.0 */
/* Writes numbers, types and activations for texts of GPUs. */
#include "kernels/gpu/gpu_define.h"

bool ry_gpu_is_float(const ry_tensor *tensor)
{
    const ry_dtype dtype = (ry_dtype)tensor->dtype;
    return dtype == RY_f32 || dtype == RY_f16 || dtype == RY_bf16;
}

int64_t ry_gpu_span(const ry_tensor *tensor)
{
    int64_t last = 0;
    for (int i = 0; i < tensor->rank; i++) {
        last += (tensor->dim[i] - 1) * tensor->stride[i];
    }
    return last + 1;
}

bool ry_gpu_is_wide(const ry_problem *problem)
{
    /* room for what steps over padding reach beyond the ends */
    const int64_t most = INT32_MAX / 2;
    bool wide = ry_gpu_span(&problem->out[0]) > most;
    for (int i = 0; i < problem->inputs; i++) {
        wide = wide || (ry_problem_has_input(problem, i) && ry_gpu_span(&problem->in[i]) > most);
    }
    return wide;
}

void ry_gpu_define(ry_text *text, const char *name, int64_t number)
{
    ry_text_add(text, "#define %s (%lld)\n", name, (long long)number);
}

static const char *type_of(const ry_tensor *tensor)
{
    return (ry_dtype)tensor->dtype == RY_f32 ? "float" : "ushort";
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

/* In the order of activations.inc. Where x is NaN the bounds keep it. */
static const char *const activations[] = {
    [RY_activation_none] = "x",
    [RY_activation_relu] = "x < 0.0f ? 0.0f : x",
    [RY_activation_leaky_relu] = "x < 0.0f ? x * A : x",
    [RY_activation_clip] = "at_most(at_least(x, A), B)",
    [RY_activation_sigmoid] = "1.0f / (1.0f + exp(-x))",
    [RY_activation_tanh] = "tanh(x)",
    [RY_activation_silu] = "x / (1.0f + exp(-x))",
    [RY_activation_hard_sigmoid] = "at_most(at_least(x * A + B, 0.0f), 1.0f)",
    [RY_activation_hard_swish] = "x * at_most(at_least(x * A + B, 0.0f), 1.0f)",
    [RY_activation_gelu] = "0.5f * x * (1.0f + erf(x * 0.70710678118654752f))",
    [RY_activation_gelu_tanh] =
        "0.5f * x * (1.0f + tanh(0.79788456080286536f * (x + 0.044715f * x * x * x)))",
    [RY_activation_mish] = "x * tanh(x > 30.0f ? x : log1p(exp(x)))",
};

void ry_gpu_define_activation(ry_text *text, ry_activation activation, double a, double b)
{
    ry_text_add(text,
                "#define A ((float)%.17g)\n#define B ((float)%.17g)\n"
                "FUNCTION float at_least(float x, float low) { return x < low ? low : x; }\n"
                "FUNCTION float at_most(float x, float high) { return x > high ? high : x; }\n"
                "FUNCTION float activation(float x) { return %s; }\n#undef A\n#undef B\n",
                a, b, activations[activation]);
}
