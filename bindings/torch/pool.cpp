// SPDX-License-Identifier: Apache-2.0
// Pools with windows, and their gradients.
#include <ATen/native/Pool.h>
#include <torch/library.h>

#include "pointwise.h"
#include "problem.h"
#include "tensors.h"

namespace rynd_torch
{
namespace
{

using List = at::IntArrayRef;

std::vector<int64_t> pair(List list)
{
    return list.size() == 1 ? std::vector<int64_t>{list[0], list[0]} : list.vec();
}

std::vector<int64_t> pool_pads(List padding)
{
    std::vector<int64_t> pads = pair(padding);
    pads.insert(pads.end(), pads.begin(), pads.end());
    return pads;
}

// An image without a batch as a batch of one.
at::Tensor batched(const at::Tensor &tensor)
{
    return tensor.dim() == 3 ? tensor.unsqueeze(0) : tensor;
}

Problem &with_pool_window(Problem &problem, List kernel, List stride, List padding, bool ceil_mode)
{
    return problem.with("kernel", pair(kernel))
        .with("stride", pair(stride.empty() ? kernel : stride))
        .with("pads", pool_pads(padding))
        .with("ceil_mode", int64_t(ceil_mode));
}

std::tuple<at::Tensor &, at::Tensor &> max_pool_out(const at::Tensor &self, List kernel,
                                                    List stride, List padding, List dilation,
                                                    bool ceil_mode, at::Tensor &out,
                                                    at::Tensor &indices)
{
    const at::Tensor x = batched(self);
    Problem problem("pool");
    problem.in(x.contiguous(x.suggest_memory_format()))
        .out(batched(out))
        .out(batched(indices))
        .with("dilation", pair(dilation))
        .with("plane_indices", int64_t(1));
    with_pool_window(problem, kernel, stride, padding, ceil_mode).run();
    return {out, indices};
}

// The output's size along an axis.
int64_t pooled(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
               bool ceil_mode)
{
    return at::native::pooling_output_shape<int64_t>(size, kernel, padding, stride, dilation,
                                                     ceil_mode);
}

at::Tensor max_pool_alone(const at::Tensor &self, List kernel_, List stride_, List padding_,
                          List dilation_, bool ceil_mode)
{
    const auto kernel = pair(kernel_), stride = pair(stride_.empty() ? kernel_ : stride_),
               padding = pair(padding_), dilation = pair(dilation_);
    const at::Tensor x = batched(self);
    std::vector<int64_t> sizes = {x.size(0), x.size(1)};
    for (size_t axis = 0; axis < 2; axis++) {
        TORCH_CHECK(kernel[axis] > 0 && stride[axis] > 0 && 2 * padding[axis] <= kernel[axis],
                    "rynd: max_pool2d with kernel ", kernel, ", stride ", stride, ", padding ",
                    padding, " (at most half of the kernel)");
        sizes.push_back(pooled(x.size(int64_t(axis) + 2), kernel[axis], stride[axis], padding[axis],
                               dilation[axis], ceil_mode));
    }
    TORCH_CHECK(sizes[2] > 0 && sizes[3] > 0, "rynd: max_pool2d of ", x.sizes(),
                " has no output: the kernel is ", kernel);
    at::Tensor y = at::empty(sizes, x.options().memory_format(x.suggest_memory_format()));
    if (y.numel() > 0) {
        Problem problem("pool");
        problem.in(x).out(y).with("dilation", dilation);
        with_pool_window(problem, kernel, stride, padding, ceil_mode).run();
    }
    return self.dim() == 3 ? y.squeeze(0) : y;
}

at::Tensor &max_pool_backward_out(const at::Tensor &dy, const at::Tensor &self, List kernel,
                                  List stride, List padding, List dilation, bool ceil_mode,
                                  const at::Tensor &, at::Tensor &dx)
{
    const at::Tensor x = batched(self);
    Problem problem("pool_grad");
    problem.in(batched(dy))
        .in(x)
        .out(batched(dx))
        .with("image", List({x.size(2), x.size(3)}))
        .with("dilation", pair(dilation));
    with_pool_window(problem, kernel, stride, padding, ceil_mode).run();
    return dx;
}

at::Tensor &avg_pool_out(const at::Tensor &self, List kernel, List stride, List padding,
                         bool ceil_mode, bool count_pad, std::optional<int64_t> divisor,
                         at::Tensor &out)
{
    if (divisor && ceil_mode) { // windows over the edge are rare enough
        written_on_host(out).copy_(
            at::avg_pool2d(on_host(self), kernel, stride, padding, ceil_mode, count_pad, divisor));
        return out;
    }
    const at::Tensor x = batched(self);
    Problem problem("pool");
    problem.in(x)
        .out(batched(out))
        .with("kind", "average")
        .with("count_include_pad", int64_t(count_pad || divisor));
    with_pool_window(problem, kernel, stride, padding, ceil_mode).run();
    if (divisor) {
        const auto window = pair(kernel);
        pointwise("$0 * $1", {out, at::Scalar(double(window[0] * window[1]) / double(*divisor))},
                  out);
    }
    return out;
}

at::Tensor &avg_pool_backward_out(const at::Tensor &dy, const at::Tensor &self, List kernel,
                                  List stride, List padding, bool ceil_mode, bool count_pad,
                                  std::optional<int64_t> divisor, at::Tensor &dx)
{
    if (divisor && ceil_mode) {
        written_on_host(dx).copy_(at::avg_pool2d_backward(
            on_host(dy), on_host(self), kernel, stride, padding, ceil_mode, count_pad, divisor));
        return dx;
    }
    const at::Tensor x = batched(self);
    Problem problem("pool_grad");
    problem.in(batched(dy))
        .out(batched(dx))
        .with("kind", "average")
        .with("image", List({x.size(2), x.size(3)}))
        .with("count_include_pad", int64_t(count_pad || divisor));
    with_pool_window(problem, kernel, stride, padding, ceil_mode).run();
    if (divisor) {
        const auto window = pair(kernel);
        pointwise("$0 * $1", {dx, at::Scalar(double(window[0] * window[1]) / double(*divisor))},
                  dx);
    }
    return dx;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library)
{
    library.impl("max_pool2d", max_pool_alone);
    library.impl("max_pool2d_with_indices.out", max_pool_out);
    library.impl("max_pool2d_with_indices_backward.grad_input", max_pool_backward_out);
    library.impl("avg_pool2d.out", avg_pool_out);
    library.impl("avg_pool2d_backward.grad_input", avg_pool_backward_out);
}

} // namespace
} // namespace rynd_torch
