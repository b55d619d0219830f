// SPDX-License-Identifier: Apache-2.0
// Batch normalisation, in training and evaluation, and its gradient.
#include <torch/library.h>

#include "pointwise.h"
#include "problem.h"

namespace rynd_torch
{
namespace
{

// The tensor of channels, or `value` for each channel if PyTorch gives no tensor.
at::Tensor channels_of(const std::optional<at::Tensor> &tensor, const at::Tensor &x, double value)
{
    const auto dtype = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    return tensor && tensor->defined()
               ? *tensor
               : at::full({x.size(1)}, value,
                          x.options().dtype(dtype).memory_format(at::MemoryFormat::Contiguous));
}

at::Tensor like_channels(const at::Tensor &scale)
{
    return at::empty({scale.size(0)}, scale.options());
}

// A tensor of [N, C] as [N, C, 1].
struct Spread {
    explicit Spread(const at::Tensor &tensor)
        : tensor(tensor.dim() == 2 ? tensor.unsqueeze(2) : tensor)
    {
    }
    at::Tensor tensor;
};

std::tuple<at::Tensor, at::Tensor, at::Tensor> native_batch_norm(
    const at::Tensor &x, const std::optional<at::Tensor> &weight,
    const std::optional<at::Tensor> &bias, const std::optional<at::Tensor> &running_mean,
    const std::optional<at::Tensor> &running_var, bool training, double momentum, double epsilon)
{
    const at::Tensor y = at::empty_like(x), scale = channels_of(weight, x, 1),
                     shift = channels_of(bias, x, 0);
    const at::Tensor mean = channels_of(running_mean, x, 0),
                     variance = channels_of(running_var, x, 1);
    const Spread from(x), to(y);
    if (!training && x.device().index() > 0) { // rynd has this kernel for processors only
        at::DimVector sizes(size_t(x.dim()), 1);
        sizes[1] = x.size(1);
        pointwise("($0 - $1) * ($2 / sqrt($3 + $4)) + $5",
                  {x, mean.view(sizes), scale.view(sizes), variance.view(sizes), epsilon,
                   shift.view(sizes)},
                  y);
        return {y, at::empty({0}, scale.options()), at::empty({0}, scale.options())};
    }
    if (!training) {
        Problem("batch_norm")
            .in(from.tensor)
            .in(scale)
            .in(shift)
            .in(mean)
            .in(variance)
            .out(to.tensor)
            .with("epsilon", epsilon)
            .run();
        return {y, at::empty({0}, scale.options()), at::empty({0}, scale.options())};
    }
    const at::Tensor batch_mean = like_channels(scale), deviation = like_channels(scale),
                     new_mean = like_channels(scale), new_variance = like_channels(scale);
    Problem("batch_norm_train")
        .in(from.tensor)
        .in(scale)
        .in(shift)
        .in(mean)
        .in(variance)
        .out(to.tensor)
        .out(batch_mean)
        .out(deviation)
        .out(new_mean)
        .out(new_variance)
        .with("epsilon", epsilon)
        .with("momentum", momentum)
        .run();
    if (running_mean && running_mean->defined()) {
        running_mean->copy_(new_mean);
        running_var->copy_(new_variance);
    }
    return {y, batch_mean, deviation};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> native_batch_norm_backward(
    const at::Tensor &dy, const at::Tensor &x, const std::optional<at::Tensor> &weight,
    const std::optional<at::Tensor> &running_mean, const std::optional<at::Tensor> &running_var,
    const std::optional<at::Tensor> &save_mean, const std::optional<at::Tensor> &save_deviation,
    bool training, double epsilon, std::array<bool, 3> wanted)
{
    const at::Tensor scale = channels_of(weight, x, 1), dx = at::empty_like(x),
                     dscale = like_channels(scale), dbias = like_channels(scale);
    at::Tensor mean, deviation;
    if (training) {
        mean = *save_mean;
        deviation = *save_deviation;
    } else {
        mean = channels_of(running_mean, x, 0);
        deviation = like_channels(scale);
        pointwise("1 / sqrt($0 + $1)", {channels_of(running_var, x, 1), at::Scalar(epsilon)},
                  deviation);
    }
    Problem("batch_norm_grad")
        .in(Spread(dy).tensor)
        .in(Spread(x).tensor)
        .in(scale)
        .in(mean)
        .in(deviation)
        .out(Spread(dx).tensor)
        .out(dscale)
        .out(dbias)
        .with("fixed", int64_t(!training))
        .run();
    return {wanted[0] ? dx : at::Tensor(), wanted[1] ? dscale : at::Tensor(),
            wanted[2] ? dbias : at::Tensor()};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library)
{
    library.impl("native_batch_norm", native_batch_norm);
    library.impl("native_batch_norm_backward", native_batch_norm_backward);
}

} // namespace
} // namespace rynd_torch
