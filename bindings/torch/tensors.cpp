// SPDX-License-Identifier: Apache-2.0
// Making, viewing, copying and reading tensors.
#include <ATen/EmptyTensor.h>
#include <ATen/ops/_local_scalar_dense_native.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/resize_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <torch/library.h>

#include "memory.h"
#include "problem.h"
#include "tensors.h"

namespace rynd_torch
{

at::Tensor on_host(const at::Tensor &tensor)
{
    if (!tensor.is_privateuseone()) {
        return tensor;
    }
    at::Tensor host = at::from_blob(
        tensor.data_ptr(), tensor.sizes(), tensor.strides(), [tensor](void *) {},
        tensor.options().device(at::kCPU));
    if (tensor.is_conj()) {
        host._set_conj(true);
    }
    if (tensor.is_neg()) {
        host._set_neg(true);
    }
    return host;
}

at::Tensor written_on_host(const at::Tensor &tensor)
{
    written(*tensor.storage().unsafeGetStorageImpl());
    return on_host(tensor);
}

namespace
{

at::Tensor empty(at::IntArrayRef sizes, std::optional<at::ScalarType> dtype,
                 std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>,
                 std::optional<at::MemoryFormat> format)
{
    const auto type = dtype.value_or(c10::get_default_dtype_as_scalartype());
    return at::detail::empty_generic(
        sizes, &allocator(), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), type, format);
}

at::Tensor empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides,
                         std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                         std::optional<at::Device>, std::optional<bool>)
{
    const auto type = dtype.value_or(c10::get_default_dtype_as_scalartype());
    return at::detail::empty_strided_generic(
        sizes, strides, &allocator(), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), type);
}

// Copies between the device and the host, strides and dtypes as they are.
at::Tensor copy_from(const at::Tensor &self, const at::Tensor &to, bool)
{
    if (self.numel() == 0) {
        return to;
    }
    const bool plain = self.device() == to.device() && has_dtype(self.scalar_type()) &&
                       has_dtype(to.scalar_type()) && self.sizes() == to.sizes() &&
                       self.dim() > 0 && !self.is_conj() && !self.is_neg() && !to.is_neg() &&
                       to.is_non_overlapping_and_dense();
    if (plain && self.scalar_type() == to.scalar_type()) {
        Problem("copy").in(self).out(to).run();
    } else {
        written_on_host(to).copy_(on_host(self));
    }
    return to;
}

at::Tensor copy_from_and_resize(const at::Tensor &self, const at::Tensor &to)
{
    at::native::resize_(to, self.sizes());
    return copy_from(self, to, false);
}

at::Scalar local_scalar_dense(const at::Tensor &self)
{
    return at::_local_scalar_dense(on_host(self));
}

at::Tensor &set_storage(at::Tensor &self, at::Storage source, int64_t offset, at::IntArrayRef sizes,
                        at::IntArrayRef strides)
{
    return at::native::set_storage_cpu_(self, std::move(source), offset, sizes, strides);
}

at::Tensor &set_whole_storage(at::Tensor &self, at::Storage source)
{
    const int64_t count = int64_t(source.nbytes() / self.dtype().itemsize());
    return at::native::set_storage_cpu_(self, std::move(source), 0, {count}, {});
}

at::Tensor &zero(at::Tensor &self)
{
    written_on_host(self).zero_();
    return self;
}

at::Tensor &fill(at::Tensor &self, const at::Scalar &value)
{
    written_on_host(self).fill_(value);
    return self;
}

at::Tensor &fill_of(at::Tensor &self, const at::Tensor &value)
{
    written_on_host(self).fill_(on_host(value));
    return self;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library)
{
    library.impl("empty.memory_format", empty);
    library.impl("empty_strided", empty_strided);
    library.impl("as_strided", at::native::as_strided_tensorimpl);
    library.impl("_reshape_alias",
                 static_cast<at::Tensor (*)(const at::Tensor &, at::IntArrayRef, at::IntArrayRef)>(
                     at::native::_reshape_alias));
    library.impl(
        "view", static_cast<at::Tensor (*)(const at::Tensor &, at::IntArrayRef)>(at::native::view));
    library.impl("resize_", static_cast<const at::Tensor &(*)(const at::Tensor &, at::IntArrayRef,
                                                              std::optional<at::MemoryFormat>)>(
                                at::native::resize_));
    library.impl("_copy_from", copy_from);
    library.impl("_copy_from_and_resize", copy_from_and_resize);
    library.impl("_local_scalar_dense", local_scalar_dense);
    library.impl("set_.source_Storage_storage_offset", set_storage);
    library.impl("set_.source_Storage", set_whole_storage);
    library.impl("unfold", at::native::unfold);
    library.impl("view_as_complex", at::native::view_as_complex);
    library.impl("view_as_real", at::native::view_as_real);
    library.impl("zero_", zero);
    library.impl("fill_.Tensor", fill_of);
    library.impl("fill_.Scalar", fill);
}

// A copy reads conjugated and negated views itself: without these it would ask for a copy of them.
TORCH_LIBRARY_IMPL(aten, Conjugate, library)
{
    library.impl("_copy_from", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(aten, Negative, library)
{
    library.impl("_copy_from", torch::CppFunction::makeFallthrough());
}

} // namespace
} // namespace rynd_torch
