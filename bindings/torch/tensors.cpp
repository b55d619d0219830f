// SPDX-License-Identifier: Apache-2.0
// Making, viewing, copying and reading tensors.
#include <ATen/EmptyTensor.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_local_scalar_dense_native.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <torch/library.h>

#include "buffers.h"
#include "memory.h"
#include "pointwise.h"
#include "problem.h"
#include "tensors.h"

namespace rynd_torch
{
namespace
{

at::Tensor host_view(const at::Tensor &tensor, bool is_written)
{
    if (!tensor.is_privateuseone()) {
        return tensor;
    }
    at::Tensor host = tensor.device().index() > 0
                          ? mirrored(tensor, is_written)
                          : at::from_blob(
                                tensor.data_ptr(), tensor.sizes(), tensor.strides(),
                                [tensor](void *) {}, tensor.options().device(at::kCPU));
    if (tensor.is_conj()) {
        host._set_conj(true);
    }
    if (tensor.is_neg()) {
        host._set_neg(true);
    }
    return host;
}

} // namespace

at::Tensor on_host(const at::Tensor &tensor)
{
    return host_view(tensor, false);
}

at::Tensor written_on_host(const at::Tensor &tensor)
{
    written(*tensor.storage().unsafeGetStorageImpl());
    return host_view(tensor, true);
}

namespace
{

at::Tensor empty(at::IntArrayRef sizes, std::optional<at::ScalarType> dtype,
                 std::optional<at::Layout>, std::optional<at::Device> device, std::optional<bool>,
                 std::optional<at::MemoryFormat> format)
{
    const c10::OptionalDeviceGuard guard(device);
    const auto type = dtype.value_or(c10::get_default_dtype_as_scalartype());
    return at::detail::empty_generic(
        sizes, &allocator(), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), type, format);
}

at::Tensor empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides,
                         std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                         std::optional<at::Device> device, std::optional<bool>)
{
    const c10::OptionalDeviceGuard guard(device);
    const auto type = dtype.value_or(c10::get_default_dtype_as_scalartype());
    return at::detail::empty_strided_generic(
        sizes, strides, &allocator(), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), type);
}

// The index of a device whose memory the host cannot read; 0: it can.
int apart(const at::Tensor &tensor)
{
    return tensor.is_privateuseone() ? tensor.device().index() : 0;
}

size_t bytes_of(const at::Tensor &tensor)
{
    return size_t(tensor.numel()) * tensor.itemsize();
}

// Whole rows in one direction are one transfer; else the host has the storage for a while.
void transfer(const at::Tensor &self, const at::Tensor &to)
{
    const bool plain_bytes = !self.is_conj() && !self.is_neg() && !to.is_neg() && !to.is_conj();
    if (apart(to) && !apart(self) && to.is_contiguous() && plain_bytes) {
        const at::Tensor from = on_host(self).to(to.scalar_type()).expand(to.sizes()).contiguous();
        write_buffer(apart(to), to.data_ptr(), from.const_data_ptr(), bytes_of(to));
    } else if (apart(self) && !apart(to) && self.is_contiguous() && plain_bytes) {
        const at::Tensor read = at::empty(self.sizes(), self.options().device(at::kCPU));
        read_buffer(apart(self), self.const_data_ptr(), read.data_ptr(), bytes_of(self));
        written_on_host(to).copy_(read);
    } else {
        written_on_host(to).copy_(on_host(self));
    }
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
    } else if (apart(self) || apart(to)) {
        if (plain) {
            pointwise("$0", {self}, to);
        } else {
            transfer(self, to);
        }
    } else {
        written_on_host(to).copy_(on_host(self));
    }
    return to;
}

const at::Tensor &resize_memory(const at::Tensor &self, at::IntArrayRef sizes,
                                std::optional<at::MemoryFormat> format)
{
    if (self.sizes() != sizes) {
        c10::TensorImpl *impl = self.unsafeGetTensorImpl();
        const size_t size = at::detail::computeStorageNbytesContiguous(
            sizes, self.itemsize(), size_t(self.storage_offset()));
        if (size > self.storage().nbytes()) {
            at::native::resize_bytes_nocuda(self.storage(), size);
        }
        impl->set_sizes_contiguous(sizes);
    }
    if (format) {
        self.unsafeGetTensorImpl()->empty_tensor_restride(*format);
    }
    return self;
}

at::Tensor copy_from_and_resize(const at::Tensor &self, const at::Tensor &to)
{
    resize_memory(to, self.sizes(), {});
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

at::Tensor &fill(at::Tensor &self, const at::Scalar &value)
{
    if (apart(self) && self.is_non_overlapping_and_dense() && self.itemsize() <= 8) {
        const at::Tensor one = at::full({}, value, self.options().device(at::kCPU));
        if (self.numel() > 0) {
            fill_buffer(apart(self), self.data_ptr(), bytes_of(self), one.const_data_ptr(),
                        self.itemsize());
        }
    } else {
        written_on_host(self).fill_(value);
    }
    return self;
}

at::Tensor &zero(at::Tensor &self)
{
    return fill(self, 0);
}

at::Tensor &fill_of(at::Tensor &self, const at::Tensor &value)
{
    return fill(self, on_host(value).item());
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
    library.impl("resize_", resize_memory);
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
