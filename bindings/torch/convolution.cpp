// SPDX-License-Identifier: Apache-2.0
// Convolutions of any rank, transposed ones, and their gradients.
#include <torch/library.h>

#include "problem.h"

namespace rynd_torch
{
namespace
{

struct Window {
    at::IntArrayRef stride, padding, dilation;
    bool transposed;
    at::IntArrayRef output_padding;
    int64_t groups;
    at::IntArrayRef end_padding = {}; // empty: as padding
};

int64_t at_axis(at::IntArrayRef list, size_t axis)
{
    return list.size() == 1 ? list[0] : list[axis];
}

std::vector<int64_t> per_axis(at::IntArrayRef list, size_t axes)
{
    std::vector<int64_t> all;
    for (size_t axis = 0; axis < axes; axis++) {
        all.push_back(at_axis(list, axis));
    }
    return all;
}

std::vector<int64_t> conv_pads(const Window &window, size_t axes)
{
    std::vector<int64_t> pads = per_axis(window.padding, axes);
    const auto end =
        per_axis(window.end_padding.empty() ? window.padding : window.end_padding, axes);
    pads.insert(pads.end(), end.begin(), end.end());
    return pads;
}

// The extent of a window along an axis, with its dilation.
int64_t extent(const at::Tensor &weight, const Window &window, size_t axis)
{
    return at_axis(window.dilation, axis) * (weight.size(int64_t(axis) + 2) - 1) + 1;
}

std::vector<int64_t> output_sizes(const at::Tensor &x, const at::Tensor &weight,
                                  const Window &window)
{
    std::vector<int64_t> sizes = {x.size(0), window.transposed ? weight.size(1) * window.groups
                                                               : weight.size(0)};
    for (size_t axis = 0; axis + 2 < size_t(x.dim()); axis++) {
        const int64_t size = x.size(int64_t(axis) + 2), stride = at_axis(window.stride, axis),
                      pad = 2 * at_axis(window.padding, axis);
        sizes.push_back(window.transposed
                            ? (size - 1) * stride - pad + extent(weight, window, axis) +
                                  at_axis(window.output_padding, axis)
                            : (size + pad - extent(weight, window, axis)) / stride + 1);
    }
    return sizes;
}

at::MemoryFormat format_of(const at::Tensor &x, const at::Tensor &weight)
{
    const at::MemoryFormat own = x.suggest_memory_format();
    return own == at::MemoryFormat::Contiguous ? weight.suggest_memory_format() : own;
}

Problem &with_conv_window(Problem &problem, const Window &window, size_t axes)
{
    return problem.with("stride", per_axis(window.stride, axes))
        .with("dilation", per_axis(window.dilation, axes))
        .with("pads", conv_pads(window, axes))
        .with("groups", window.groups);
}

void convolve(const at::Tensor &x, const at::Tensor &weight, const std::optional<at::Tensor> &bias,
              const Window &window, const at::Tensor &y)
{
    const size_t axes = size_t(x.dim()) - 2;
    Problem problem(window.transposed ? "convt" : "conv");
    problem.in(x).in_constant(weight);
    if (bias && bias->defined()) {
        problem.in(*bias);
    }
    problem.out(y);
    with_conv_window(problem, window, axes);
    if (window.transposed) {
        problem.with("output_padding", per_axis(window.output_padding, axes));
    }
    problem.run();
}

at::Tensor convolution(const at::Tensor &x, const at::Tensor &weight,
                       const std::optional<at::Tensor> &bias, at::IntArrayRef stride,
                       at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
                       at::IntArrayRef output_padding, int64_t groups)
{
    TORCH_CHECK(x.dim() == weight.dim() && x.dim() >= 3, "rynd: a convolution of ", x.sizes(),
                " with weights ", weight.sizes());
    const Window window = {stride, padding, dilation, transposed, output_padding, groups};
    const auto sizes = output_sizes(x, weight, window);
    at::Tensor y = at::empty(sizes, x.options().memory_format(format_of(x, weight)));
    if (y.numel() > 0) {
        convolve(x, weight, bias, window, y);
    }
    return y;
}

// The plain convolution whose reverse is a transposed one: from `y` to the positions of `x`. output_padding shortens its padding at the end.
// A larger output_padding leaves rows of `y` that no window reads: they are cut off.
struct Reverse {
    at::Tensor y;
    std::vector<int64_t> end_padding;

    Reverse(const at::Tensor &whole, const at::Tensor &x, const at::Tensor &weight,
            const Window &window)
        : y(whole)
    {
        for (size_t axis = 0; axis + 2 < size_t(x.dim()); axis++) {
            const int64_t dim = int64_t(axis) + 2,
                          reached = (x.size(dim) - 1) * at_axis(window.stride, axis) +
                                    extent(weight, window, axis) - at_axis(window.padding, axis);
            end_padding.push_back(std::max<int64_t>(reached - y.size(dim), 0));
            y = y.narrow(dim, 0, std::min(std::max<int64_t>(reached, 0), y.size(dim)));
        }
    }
    Window window_of(const Window &window) const
    {
        return {window.stride, window.padding, window.dilation, false, {},
                window.groups, end_padding};
    }
};

// The convolution whose result is the gradient of x: of a transposed one a plain one, and the reverse.
at::Tensor data_gradient(const at::Tensor &dy, const at::Tensor &x, const at::Tensor &weight,
                         const Window &window)
{
    at::Tensor dx = at::empty(x.sizes(), x.options().memory_format(format_of(x, weight)));
    if (window.transposed) {
        const Reverse reverse(dy, x, weight, window);
        if (reverse.y.numel() == 0) {
            return dx.zero_();
        }
        convolve(reverse.y, weight, {}, reverse.window_of(window), dx);
        return dx;
    }
    std::vector<int64_t> missing; // rows behind the last window, which no output has read
    for (size_t axis = 0; axis + 2 < size_t(x.dim()); axis++) {
        const int64_t reached = (dy.size(int64_t(axis) + 2) - 1) * at_axis(window.stride, axis) -
                                2 * at_axis(window.padding, axis) + extent(weight, window, axis);
        missing.push_back(x.size(int64_t(axis) + 2) - reached);
    }
    const Window turned = {window.stride, window.padding, window.dilation,
                           true,          missing,        window.groups};
    convolve(dy, weight, {}, turned, dx);
    return dx;
}

at::Tensor weight_gradient(const at::Tensor &dy, const at::Tensor &x, const at::Tensor &weight,
                           const Window &window, at::Tensor *bias)
{
    at::Tensor dw = at::empty(weight.sizes(), weight.options());
    const size_t axes = size_t(x.dim()) - 2;
    Problem problem("conv");
    problem.with("dir", "bwd_weights");
    if (window.transposed) {
        const Reverse reverse(dy, x, weight, window);
        if (reverse.y.numel() == 0) {
            return dw.zero_();
        }
        problem.in(reverse.y).in(x).out(dw);
        with_conv_window(problem, reverse.window_of(window), axes).run();
        return dw;
    }
    problem.in(x).in(dy).out(dw);
    if (bias) {
        problem.out(*bias);
    }
    with_conv_window(problem, window, axes).run();
    return dw;
}

at::Tensor bias_gradient(const at::Tensor &dy, const at::Tensor &weight, const Window &window)
{
    const int64_t channels = window.transposed ? weight.size(1) * window.groups : weight.size(0);
    at::Tensor db = at::empty({channels}, dy.options().memory_format(at::MemoryFormat::Contiguous));
    std::vector<int64_t> axes = {0};
    for (int64_t axis = 2; axis < dy.dim(); axis++) {
        axes.push_back(axis);
    }
    Problem("expr")
        .in(dy)
        .out(db)
        .program("sum(x0)")
        .with("axes", axes)
        .with("keepdims", int64_t(0))
        .run();
    return db;
}

std::tuple<at::Tensor, at::Tensor, at::Tensor>
convolution_backward(const at::Tensor &dy, const at::Tensor &x, const at::Tensor &weight,
                     at::OptionalIntArrayRef, at::IntArrayRef stride, at::IntArrayRef padding,
                     at::IntArrayRef dilation, bool transposed, at::IntArrayRef output_padding,
                     int64_t groups, std::array<bool, 3> wanted)
{
    const Window window = {stride, padding, dilation, transposed, output_padding, groups};
    at::Tensor dx, dw, db;
    if (dy.numel() == 0 || x.numel() == 0) {
        return {wanted[0] ? at::zeros_like(x) : dx, wanted[1] ? at::zeros_like(weight) : dw,
                wanted[2] ? at::zeros({dy.size(1)}, dy.options()) : db};
    }
    if (wanted[0]) {
        dx = data_gradient(dy, x, weight, window);
    }
    const bool together = wanted[1] && wanted[2] && !transposed;
    if (together) {
        db = at::empty({weight.size(0)}, dy.options().memory_format(at::MemoryFormat::Contiguous));
    }
    if (wanted[1]) {
        dw = weight_gradient(dy, x, weight, window, together ? &db : nullptr);
    }
    if (wanted[2] && !together) {
        db = bias_gradient(dy, weight, window);
    }
    return {dx, dw, db};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library)
{
    library.impl("convolution", convolution);
    library.impl("convolution_overrideable", convolution);
    library.impl("convolution_backward", convolution_backward);
}

} // namespace
} // namespace rynd_torch
