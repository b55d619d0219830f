// SPDX-License-Identifier: Apache-2.0
// Interpolation and its gradient: rows of PyTorch's names, read by the names of their arguments.
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include "problem.h"

namespace rynd_torch
{
namespace
{

struct ResizeRow {
    const char *name, *mode, *coordinates; // coordinates without align_corners
    const char *nearest = "floor";
};

const ResizeRow resize_rows[] = {
    {"upsample_nearest1d", "nearest", "asymmetric"},
    {"upsample_nearest2d", "nearest", "asymmetric"},
    {"upsample_nearest3d", "nearest", "asymmetric"},
    {"_upsample_nearest_exact1d", "nearest", "half_pixel", "round_prefer_ceil"},
    {"_upsample_nearest_exact2d", "nearest", "half_pixel", "round_prefer_ceil"},
    {"_upsample_nearest_exact3d", "nearest", "half_pixel", "round_prefer_ceil"},
    {"upsample_linear1d", "linear", "half_pixel"},
    {"upsample_bilinear2d", "linear", "half_pixel"},
    {"upsample_trilinear3d", "linear", "half_pixel"},
    {"upsample_bicubic2d", "cubic", "half_pixel"},
};

// Arguments of a call, by name.
struct ResizeCall {
    const c10::FunctionSchema &schema;
    c10::ArrayRef<c10::IValue> values;

    const c10::IValue *find(const char *name) const
    {
        const auto index = schema.argumentIndexWithName(name);
        return index ? &values[size_t(*index)] : nullptr;
    }
};

// Output over input of each dim: the caller's factor, or that of the sizes.
std::vector<double> factors(const ResizeCall &call, at::IntArrayRef input, at::IntArrayRef output)
{
    std::vector<double> scales = {1, 1};
    const size_t axes = input.size() - 2;
    const char *const names[3][3] = {
        {"scales", "", ""}, {"scales_h", "scales_w", ""}, {"scales_d", "scales_h", "scales_w"}};
    for (size_t axis = 0; axis < axes; axis++) {
        const c10::IValue *given = call.find(names[axes - 1][axis]);
        scales.push_back(given && !given->isNone() && given->toDouble() > 0
                             ? given->toDouble()
                             : double(output[axis + 2]) / double(input[axis + 2]));
    }
    return scales;
}

void with_resize(Problem &problem, const ResizeRow &row, const ResizeCall &call,
                 const std::vector<double> &by)
{
    const c10::IValue *corners = call.find("align_corners");
    problem.with("mode", row.mode)
        .with("coordinates", corners && corners->toBool() ? "align_corners" : row.coordinates)
        .with("nearest", row.nearest)
        .with("scales", by);
}

struct ResizeKernel final : c10::OperatorKernel {
    explicit ResizeKernel(const ResizeRow &row) : row(row)
    {
    }

    void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet, torch::jit::Stack *stack)
    {
        const size_t count = op.schema().arguments().size();
        const auto last = torch::jit::last(*stack, count);
        const std::vector<c10::IValue> values(last.begin(), last.end());
        const ResizeCall call = {op.schema(), values};
        const c10::IValue *dy = call.find("grad_output");
        const at::Tensor out = values.back().toTensor();
        if (dy && out.numel() > 0) {
            Problem problem("resize_grad");
            problem.in(dy->toTensor()).out(out);
            with_resize(problem, row, call, factors(call, out.sizes(), dy->toTensor().sizes()));
            problem.with("image", out.sizes()).run();
        } else if (out.numel() > 0) {
            const at::Tensor x = call.find("self")->toTensor();
            Problem problem("resize");
            problem.in(x).out(out);
            with_resize(problem, row, call, factors(call, x.sizes(), out.sizes()));
            problem.run();
        }
        torch::jit::drop(*stack, count);
        torch::jit::push(*stack, out);
    }

    const ResizeRow row;
};

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library)
{
    for (const ResizeRow &row : resize_rows) {
        const std::string name = row.name;
        for (const std::string &whole : {name + ".out", name + "_backward.grad_input"}) {
            library.impl(whole.c_str(),
                         torch::CppFunction::makeFromBoxedKernel(c10::BoxedKernel::makeFromFunctor(
                             std::make_unique<ResizeKernel>(row))));
        }
    }
}

} // namespace
} // namespace rynd_torch
