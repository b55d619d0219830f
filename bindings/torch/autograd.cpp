// SPDX-License-Identifier: Apache-2.0
// Gradients that need less than PyTorch's own keep: max_pool2d without indices, and hardtanh_ (relu6) without a copy of its input.
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace rynd_torch
{
namespace
{

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// The derivative depends on the result alone: 1 between the bounds, else 0.
struct HardtanhInPlace : Function<HardtanhInPlace> {
    static at::Tensor forward(AutogradContext *context, at::Tensor self, const at::Scalar &low,
                              const at::Scalar &high)
    {
        const at::AutoDispatchBelowADInplaceOrView below;
        at::hardtanh_(self, low, high);
        context->mark_dirty({self});
        context->save_for_backward({self});
        context->saved_data["low"] = low;
        context->saved_data["high"] = high;
        return self;
    }

    static variable_list backward(AutogradContext *context, const variable_list &dy)
    {
        return {at::hardtanh_backward(dy[0], context->get_saved_variables()[0],
                                      context->saved_data["low"].toScalar(),
                                      context->saved_data["high"].toScalar()),
                at::Tensor(), at::Tensor()};
    }
};

at::Tensor &hardtanh_in_place(at::Tensor &self, const at::Scalar &low, const at::Scalar &high)
{
    HardtanhInPlace::apply(self, low, high);
    return self;
}

struct MaxPool : Function<MaxPool> {
    using Lists = std::array<std::vector<int64_t>, 4>; // kernel, stride, padding, dilation

    static at::Tensor forward(AutogradContext *context, const at::Tensor &x, const Lists &window,
                              bool ceil_mode)
    {
        const at::AutoDispatchBelowADInplaceOrView below;
        context->save_for_backward({x});
        context->saved_data["kernel"] = window[0];
        context->saved_data["stride"] = window[1];
        context->saved_data["padding"] = window[2];
        context->saved_data["dilation"] = window[3];
        context->saved_data["ceil_mode"] = ceil_mode;
        return at::max_pool2d(x, window[0], window[1], window[2], window[3], ceil_mode);
    }

    // The device's gradient reads x. Only a second derivative reads indices.
    static variable_list backward(AutogradContext *context, const variable_list &dy)
    {
        const at::Tensor x = context->get_saved_variables()[0];
        auto list = [context](const char *name) { return context->saved_data[name].toIntVector(); };
        const auto kernel = list("kernel"), stride = list("stride"), padding = list("padding"),
                   dilation = list("dilation");
        const bool ceil_mode = context->saved_data["ceil_mode"].toBool();
        const at::Tensor indices =
            at::GradMode::is_enabled()
                ? std::get<1>(
                      at::max_pool2d_with_indices(x, kernel, stride, padding, dilation, ceil_mode))
                : at::zeros({1}, x.options().dtype(at::kLong)).expand(dy[0].sizes());
        return {at::max_pool2d_with_indices_backward(dy[0], x, kernel, stride, padding, dilation,
                                                     ceil_mode, indices),
                at::Tensor(), at::Tensor()};
    }
};

at::Tensor max_pool(const at::Tensor &x, at::IntArrayRef kernel, at::IntArrayRef stride,
                    at::IntArrayRef padding, at::IntArrayRef dilation, bool ceil_mode)
{
    return MaxPool::apply(
        x, MaxPool::Lists{kernel.vec(), stride.vec(), padding.vec(), dilation.vec()}, ceil_mode);
}

TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, library)
{
    library.impl("hardtanh_", hardtanh_in_place);
    library.impl("max_pool2d", max_pool);
}

} // namespace
} // namespace rynd_torch
