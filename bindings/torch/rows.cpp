// SPDX-License-Identifier: Apache-2.0
// Reductions, softmax, losses and concatenation.
#include <ATen/WrapDimUtils.h>
#include <ATen/native/Resize.h>
#include <numeric>
#include <torch/library.h>

#include "pointwise.h"
#include "problem.h"
#include "tensors.h"

namespace rynd_torch
{
namespace
{

// --- reductions ---

// The result of no elements is `of_none`.
void reduce(const char *program, const at::Tensor &self, at::OptionalIntArrayRef dims, bool keep,
            const at::Tensor &out, double of_none = 0)
{
    std::vector<int64_t> axes;
    for (int64_t dim : dims ? *dims : at::IntArrayRef()) {
        axes.push_back(at::maybe_wrap_dim(dim, self.dim()));
    }
    if (axes.empty()) {
        axes.resize(size_t(self.dim()));
        std::iota(axes.begin(), axes.end(), 0);
    }
    std::sort(axes.begin(), axes.end());
    std::vector<int64_t> sizes;
    for (int64_t dim = 0; dim < self.dim(); dim++) {
        const bool reduced = std::binary_search(axes.begin(), axes.end(), dim);
        if (!reduced || keep) {
            sizes.push_back(reduced ? 1 : self.size(dim));
        }
    }
    at::native::resize_output(out, sizes);
    if (self.numel() == 0) {
        out.fill_(of_none);
        return;
    }
    const at::Tensor x =
        self.scalar_type() == out.scalar_type() ? self : self.to(out.scalar_type());
    if (self.dim() == 0) {
        out.copy_(x);
        return;
    }
    Problem("expr")
        .in(x)
        .out(out)
        .program(program)
        .with("axes", axes)
        .with("keepdims", int64_t(keep))
        .run();
}

at::Tensor &sum_out(const at::Tensor &self, at::OptionalIntArrayRef dims, bool keep,
                    std::optional<at::ScalarType>, at::Tensor &out)
{
    reduce("sum(x0)", self, dims, keep, out);
    return out;
}

at::Tensor &mean_out(const at::Tensor &self, at::OptionalIntArrayRef dims, bool keep,
                     std::optional<at::ScalarType>, at::Tensor &out)
{
    reduce("mean(x0)", self, dims, keep, out, std::nan(""));
    return out;
}

at::Tensor &amax_out(const at::Tensor &self, at::IntArrayRef dims, bool keep, at::Tensor &out)
{
    reduce("max(x0)", self, dims, keep, out);
    return out;
}

at::Tensor &amin_out(const at::Tensor &self, at::IntArrayRef dims, bool keep, at::Tensor &out)
{
    reduce("min(x0)", self, dims, keep, out);
    return out;
}

at::Tensor max_of_all(const at::Tensor &self)
{
    at::Tensor out = at::empty({}, self.options().memory_format(at::MemoryFormat::Contiguous));
    reduce("max(x0)", self, {}, false, out);
    return out;
}

at::Tensor min_of_all(const at::Tensor &self)
{
    at::Tensor out = at::empty({}, self.options().memory_format(at::MemoryFormat::Contiguous));
    reduce("min(x0)", self, {}, false, out);
    return out;
}

at::Tensor &argmax_out(const at::Tensor &self, std::optional<int64_t> dim, bool keep,
                       at::Tensor &out)
{
    const at::Tensor x = dim && self.dim() > 0 ? self : self.reshape({-1});
    if (self.dim() == 0) {
        return out.zero_();
    }
    Problem("arg_reduce")
        .in(x.contiguous())
        .out(dim ? out : out.reshape({}))
        .with("axis", dim ? at::maybe_wrap_dim(*dim, x.dim()) : 0)
        .with("keepdims", int64_t(keep && dim))
        .run();
    return out;
}

// --- softmax ---

void softmax(const char *kind, const at::Tensor &self, int64_t dim, const at::Tensor &out)
{
    at::native::resize_output(out, self.sizes());
    if (self.numel() > 0 && self.dim() > 0) {
        Problem("softmax")
            .in(self)
            .out(out)
            .with("kind", kind)
            .with("axis", at::maybe_wrap_dim(dim, self.dim()))
            .run();
    } else if (self.dim() == 0) {
        out.fill_(kind[0] == 's' ? 1 : 0);
    }
}

at::Tensor &softmax_out(const at::Tensor &self, int64_t dim, bool, at::Tensor &out)
{
    softmax("softmax", self, dim, out);
    return out;
}

at::Tensor &log_softmax_out(const at::Tensor &self, int64_t dim, bool, at::Tensor &out)
{
    softmax("log_softmax", self, dim, out);
    return out;
}

void softmax_backward(const char *kind, const at::Tensor &dy, const at::Tensor &y, int64_t dim,
                      const at::Tensor &dx)
{
    at::native::resize_output(dx, y.sizes());
    if (y.numel() == 0) {
        return;
    }
    const bool scalar = y.dim() == 0, dense = dx.is_contiguous();
    const at::Tensor to = dense ? dx : at::empty(y.sizes(), y.options());
    Problem("softmax_grad")
        .in(scalar ? dy.reshape({1}) : dy.contiguous())
        .in(scalar ? y.reshape({1}) : y.contiguous())
        .out(scalar ? to.view({1}) : to)
        .with("kind", kind)
        .with("axis", at::maybe_wrap_dim(dim, y.dim()))
        .run();
    if (!dense) {
        dx.copy_(to);
    }
}

at::Tensor &softmax_backward_out(const at::Tensor &dy, const at::Tensor &y, int64_t dim,
                                 at::ScalarType, at::Tensor &dx)
{
    softmax_backward("softmax", dy, y, dim, dx);
    return dx;
}

at::Tensor &log_softmax_backward_out(const at::Tensor &dy, const at::Tensor &y, int64_t dim,
                                     at::ScalarType, at::Tensor &dx)
{
    softmax_backward("log_softmax", dy, y, dim, dx);
    return dx;
}

// --- negative log likelihood ---

// [N, C], [N] of a batch, [1, C], [1] without one.
at::Tensor matrix(const at::Tensor &x)
{
    return x.dim() == 1 ? x.unsqueeze(0) : x;
}
at::Tensor column(const at::Tensor &target)
{
    return target.reshape({-1, 1});
}

// Each sample's weight, [N, 1]: 0 if its target is ignored.
at::Tensor sample_weights(const at::Tensor &x, const at::Tensor &target, const at::Tensor &classes,
                          int64_t ignored)
{
    const at::Tensor ones = at::ones({target.size(0), 1}, x.options());
    const at::Tensor weights =
        classes.defined()
            ? classes.index_select(0, at::clamp(target, 0).reshape({-1})).reshape({-1, 1})
            : ones;
    return at::where(at::ne(target, at::Scalar(ignored)), weights, at::zeros_like(weights));
}

std::tuple<at::Tensor &, at::Tensor &> nll_loss_out(const at::Tensor &self,
                                                    const at::Tensor &target_,
                                                    const std::optional<at::Tensor> &classes_,
                                                    int64_t reduction, int64_t ignored,
                                                    at::Tensor &loss, at::Tensor &total)
{
    const at::Tensor x = matrix(self), target = column(target_),
                     classes = classes_.has_value() ? *classes_ : at::Tensor();
    const at::Tensor weights = sample_weights(x, target, classes, ignored);
    const at::Tensor index =
        at::where(at::ne(target, at::Scalar(ignored)), target, at::zeros_like(target));
    at::Tensor picked = at::empty({x.size(0), 1}, x.options());
    Problem("gather_elements")
        .in(x.contiguous())
        .in(index)
        .out(picked)
        .with("axis", int64_t(1))
        .run();
    at::Tensor losses = at::empty_like(picked);
    pointwise("-$0 * $1", {picked, weights}, losses);
    if (reduction == at::Reduction::None) {
        loss.copy_(losses.reshape(loss.sizes()));
        total.zero_();
        return {loss, total};
    }
    total.copy_(at::sum(weights));
    pointwise(reduction == at::Reduction::Mean ? "$0 / $1" : "$0",
              reduction == at::Reduction::Mean ? std::vector<c10::IValue>{at::sum(losses), total}
                                               : std::vector<c10::IValue>{at::sum(losses)},
              loss);
    return {loss, total};
}

at::Tensor &nll_loss_backward_out(const at::Tensor &dy, const at::Tensor &self,
                                  const at::Tensor &target_,
                                  const std::optional<at::Tensor> &classes_, int64_t reduction,
                                  int64_t ignored, const at::Tensor &total, at::Tensor &dx)
{
    const at::Tensor x = matrix(self), target = column(target_),
                     classes = classes_.has_value() ? *classes_ : at::Tensor();
    const at::Tensor weights = sample_weights(x, target, classes, ignored);
    const at::Tensor numbers =
        at::arange(x.size(1), at::TensorOptions().dtype(at::kLong)).to(x.device()).reshape({1, -1});
    const at::Tensor scale = at::empty_like(weights),
                     hit = at::empty({x.size(0), x.size(1)}, x.options().dtype(at::kBool));
    const at::Tensor grad = dy.dim() == 0 ? dy : dy.reshape({-1, 1});
    if (reduction == at::Reduction::Mean) {
        pointwise("-$0 * $1 / $2", {grad, weights, total}, scale);
    } else {
        pointwise("-$0 * $1", {grad, weights}, scale);
    }
    pointwise("$0 == $1", {numbers, target}, hit);
    pointwise("select($0, $1, $2)", {hit, scale, at::Scalar(0.0)}, matrix(dx));
    return dx;
}

// --- others ---

at::Tensor &cat_out(const at::ITensorListRef &tensors, int64_t dim, at::Tensor &out)
{
    Problem problem("concat");
    for (const at::Tensor &tensor : tensors) {
        if (tensor.numel() > 0) {
            problem.in(tensor.scalar_type() == out.scalar_type() ? tensor
                                                                 : tensor.to(out.scalar_type()));
        }
    }
    if (out.numel() > 0) {
        problem.out(out).with("axis", at::maybe_wrap_dim(dim, out.dim())).run();
    }
    return out;
}

at::Tensor index_select(const at::Tensor &self, int64_t dim, const at::Tensor &index)
{
    if (self.dim() == 0) { // one element, which an index of 0 selects
        return at::index_select(self.reshape({1}), 0, index.reshape({-1})).reshape({});
    }
    dim = at::maybe_wrap_dim(dim, self.dim());
    std::vector<int64_t> sizes = self.sizes().vec();
    sizes[size_t(dim)] = index.numel();
    at::Tensor out = at::empty(sizes, self.options());
    if (out.numel() > 0) {
        Problem("gather")
            .in(self.contiguous())
            .in(index.reshape({-1}).contiguous())
            .out(out)
            .with("axis", dim)
            .run();
    }
    return out;
}

// The number of elements depends on data: PyTorch's loop counts them.
at::Tensor masked_select(const at::Tensor &self, const at::Tensor &mask)
{
    const at::Tensor picked = at::masked_select(on_host(self), on_host(mask));
    at::Tensor out =
        at::empty(picked.sizes(), self.options().memory_format(at::MemoryFormat::Contiguous));
    written_on_host(out).copy_(picked);
    return out;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library)
{
    library.impl("sum.IntList_out", sum_out);
    library.impl("mean.out", mean_out);
    library.impl("amax.out", amax_out);
    library.impl("amin.out", amin_out);
    library.impl("max", max_of_all);
    library.impl("min", min_of_all);
    library.impl("argmax.out", argmax_out);
    library.impl("_softmax.out", softmax_out);
    library.impl("_log_softmax.out", log_softmax_out);
    library.impl("_softmax_backward_data.out", softmax_backward_out);
    library.impl("_log_softmax_backward_data.out", log_softmax_backward_out);
    library.impl("nll_loss_forward.output", nll_loss_out);
    library.impl("nll_loss_backward.grad_input", nll_loss_backward_out);
    library.impl("cat.out", cat_out);
    library.impl("index_select", index_select);
    library.impl("masked_select", masked_select);
}

} // namespace
} // namespace rynd_torch
