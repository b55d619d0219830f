// SPDX-License-Identifier: Apache-2.0
// Operators along one axis that move elements or add them up: gather, cumulative sums, flips, pads.
#include <ATen/WrapDimUtilsMulti.h>
#include <ATen/native/Resize.h>
#include <algorithm>
#include <torch/library.h>

#include "problem.h"
#include "tensors.h"

namespace rynd_torch
{
namespace
{

// Tensors without dims have one element: rynd's axes need a dim.
at::Tensor with_dim(const at::Tensor &tensor)
{
    return tensor.dim() == 0 ? tensor.reshape({1}) : tensor;
}

at::Tensor &gather_out(const at::Tensor &self, int64_t dim, const at::Tensor &index, bool,
                       at::Tensor &out)
{
    at::native::resize_output(out, index.sizes());
    if (out.numel() > 0) {
        const at::Tensor x = with_dim(self);
        Problem("gather_elements")
            .in(x.contiguous())
            .in(with_dim(index).contiguous())
            .out(with_dim(out))
            .with("axis", at::maybe_wrap_dim(dim, x.dim()))
            .run();
    }
    return out;
}

void accumulate(const at::Tensor &self, int64_t dim, bool product, const at::Tensor &out)
{
    at::native::resize_output(out, self.sizes());
    if (out.numel() > 0) {
        const at::Tensor x = with_dim(self);
        Problem("cumsum")
            .in(x.to(out.scalar_type()).contiguous())
            .out(with_dim(out))
            .with("axis", at::maybe_wrap_dim(dim, x.dim()))
            .with("product", int64_t(product))
            .run();
    }
}

at::Tensor &cumsum_out(const at::Tensor &self, int64_t dim, std::optional<at::ScalarType>,
                       at::Tensor &out)
{
    accumulate(self, dim, false, out);
    return out;
}

at::Tensor &cumprod_out(const at::Tensor &self, int64_t dim, std::optional<at::ScalarType>,
                        at::Tensor &out)
{
    accumulate(self, dim, true, out);
    return out;
}

at::Tensor flip(const at::Tensor &self, at::IntArrayRef dims)
{
    const auto flipped = at::dim_list_to_bitset(dims, size_t(self.dim()));
    at::Tensor out = at::empty_like(self);
    std::vector<int64_t> starts, steps;
    for (int64_t dim = 0; dim < self.dim(); dim++) {
        starts.push_back(flipped[size_t(dim)] ? self.size(dim) - 1 : 0);
        steps.push_back(flipped[size_t(dim)] ? -1 : 1);
    }
    if (self.dim() == 0 || self.numel() == 0) {
        return out.copy_(self);
    }
    Problem("slice")
        .in(self.contiguous())
        .out(out)
        .with("starts", starts)
        .with("steps", steps)
        .run();
    return out;
}

// PyTorch's pads begin with the last dim: left, right, top, bottom, ...
void pad(const char *mode, const at::Tensor &self, at::IntArrayRef padding, const at::Tensor &out)
{
    std::vector<int64_t> pads(size_t(self.dim()) * 2, 0);
    for (size_t i = 0; i < padding.size() / 2; i++) {
        const size_t dim = size_t(self.dim()) - 1 - i;
        pads[dim] = padding[2 * i];
        pads[size_t(self.dim()) + dim] = padding[2 * i + 1];
    }
    if (*std::min_element(padding.begin(), padding.end()) <
        0) { // PyTorch repeats also what it crops
        written_on_host(out).copy_(
            at::pad(on_host(self), padding, mode[0] == 'e' ? "replicate" : mode));
    } else if (out.numel() > 0) {
        Problem("pad").in(self.contiguous()).out(out).with("mode", mode).with("pads", pads).run();
    }
}

at::Tensor &reflect_out(const at::Tensor &self, at::IntArrayRef padding, at::Tensor &out)
{
    pad("reflect", self, padding, out);
    return out;
}

at::Tensor reflect_2d(const at::Tensor &self, at::IntArrayRef padding)
{
    TORCH_CHECK(padding.size() == 4 && self.dim() >= 3, "rynd: reflection_pad2d of ", self.sizes(),
                " with ", padding, ": give 4 pads");
    std::vector<int64_t> sizes = self.sizes().vec();
    for (size_t i = 0; i < 2; i++) {
        const size_t axis = sizes.size() - 1 - i;
        TORCH_CHECK(padding[2 * i] < sizes[axis] && padding[2 * i + 1] < sizes[axis],
                    "rynd: reflection_pad2d of ", self.sizes(), " with ", padding,
                    ": a pad is smaller than its dim");
        sizes[axis] += padding[2 * i] + padding[2 * i + 1];
    }
    at::Tensor out = at::empty(sizes, self.options());
    pad("reflect", self, padding, out);
    return out;
}

at::Tensor &replicate_out(const at::Tensor &self, at::IntArrayRef padding, at::Tensor &out)
{
    pad("edge", self, padding, out);
    return out;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library)
{
    library.impl("gather.out", gather_out);
    library.impl("cumsum.out", cumsum_out);
    library.impl("cumprod.out", cumprod_out);
    library.impl("flip", flip);
    library.impl("reflection_pad1d.out", reflect_out);
    library.impl("reflection_pad2d", reflect_2d);
    library.impl("reflection_pad3d.out", reflect_out);
    library.impl("replication_pad1d.out", replicate_out);
    library.impl("replication_pad2d.out", replicate_out);
    library.impl("replication_pad3d.out", replicate_out);
}

} // namespace
} // namespace rynd_torch
