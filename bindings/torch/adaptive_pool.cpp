// SPDX-License-Identifier: Apache-2.0
// Adaptive pools of images and volumes, to any size, and their gradients.
#include <torch/library.h>

#include "problem.h"
#include "tensors.h"

namespace rynd_torch
{
namespace
{

// An image (2 axes) or volume (3) without a batch as a batch of one.
template <size_t AXES> at::Tensor with_batch(const at::Tensor &tensor)
{
    return size_t(tensor.dim()) == AXES + 1 ? tensor.unsqueeze(0) : tensor;
}

// rynd has no adaptive gradients of float64.
bool has_adaptive_gradient(const at::Tensor &x)
{
    return x.scalar_type() != at::kDouble;
}

template <size_t AXES> at::Tensor adaptive_average(const at::Tensor &self, at::IntArrayRef size)
{
    const at::Tensor x = with_batch<AXES>(self);
    TORCH_CHECK(size.size() == AXES, "rynd: adaptive_avg_pool", AXES, "d to ", size, ": give ",
                AXES, " sizes");
    std::vector<int64_t> sizes = {x.size(0), x.size(1)};
    sizes.insert(sizes.end(), size.begin(), size.end());
    at::Tensor y = at::empty(sizes, x.options().memory_format(x.suggest_memory_format()));
    if (y.numel() > 0) {
        Problem("pool").in(x).out(y).with("kind", "average").with("output", size).run();
    }
    return x.dim() == self.dim() ? y : y.squeeze(0);
}

// The average's gradient reads dy alone, the maximum's also x.
template <size_t AXES>
void adaptive_gradient(const char *kind, const at::Tensor &dy, const at::Tensor *x,
                       const at::Tensor &dx)
{
    if (dy.numel() == 0) {
        dx.zero_();
        return;
    }
    const at::Tensor to = with_batch<AXES>(dx);
    Problem problem("pool_grad");
    problem.in(with_batch<AXES>(dy));
    if (x) {
        problem.in(with_batch<AXES>(*x));
    }
    problem.out(to)
        .with("kind", kind)
        .with("image", to.sizes().slice(2))
        .with("adaptive", int64_t(1))
        .run();
}

template <size_t AXES>
at::Tensor adaptive_average_backward(const at::Tensor &dy, const at::Tensor &x)
{
    at::Tensor dx = at::empty_like(x);
    if (has_adaptive_gradient(x)) {
        adaptive_gradient<AXES>("average", dy, nullptr, dx);
    } else {
        written_on_host(dx).copy_(AXES == 2
                                      ? at::_adaptive_avg_pool2d_backward(on_host(dy), on_host(x))
                                      : at::_adaptive_avg_pool3d_backward(on_host(dy), on_host(x)));
    }
    return dx;
}

template <size_t AXES>
std::tuple<at::Tensor &, at::Tensor &>
adaptive_max_out(const at::Tensor &self, at::IntArrayRef size, at::Tensor &out, at::Tensor &indices)
{
    if (out.numel() > 0) {
        Problem("pool")
            .in(with_batch<AXES>(self))
            .out(with_batch<AXES>(out))
            .out(with_batch<AXES>(indices))
            .with("output", size)
            .with("plane_indices", int64_t(1))
            .run();
    }
    return {out, indices};
}

template <size_t AXES>
at::Tensor &adaptive_max_backward_out(const at::Tensor &dy, const at::Tensor &x,
                                      const at::Tensor &indices, at::Tensor &dx)
{
    if (has_adaptive_gradient(x)) {
        adaptive_gradient<AXES>("max", dy, &x, dx);
    } else {
        written_on_host(dx).copy_(
            AXES == 2
                ? at::adaptive_max_pool2d_backward(on_host(dy), on_host(x), on_host(indices))
                : at::adaptive_max_pool3d_backward(on_host(dy), on_host(x), on_host(indices)));
    }
    return dx;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library)
{
    library.impl("_adaptive_avg_pool2d", adaptive_average<2>);
    library.impl("_adaptive_avg_pool3d", adaptive_average<3>);
    library.impl("_adaptive_avg_pool2d_backward", adaptive_average_backward<2>);
    library.impl("_adaptive_avg_pool3d_backward", adaptive_average_backward<3>);
    library.impl("adaptive_max_pool2d.out", adaptive_max_out<2>);
    library.impl("adaptive_max_pool3d.out", adaptive_max_out<3>);
    library.impl("adaptive_max_pool2d_backward.grad_input", adaptive_max_backward_out<2>);
    library.impl("adaptive_max_pool3d_backward.grad_input", adaptive_max_backward_out<3>);
}

} // namespace
} // namespace rynd_torch
