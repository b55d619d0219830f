// SPDX-License-Identifier: Apache-2.0
#ifndef RYND_TORCH_TENSORS_H
#define RYND_TORCH_TENSORS_H

#include <ATen/ATen.h>

namespace rynd_torch
{

// A tensor of the CPU on the same memory, which lives as long; a tensor that is not on the device as it is.
at::Tensor on_host(const at::Tensor &tensor);

// The same to write to.
at::Tensor written_on_host(const at::Tensor &tensor);

} // namespace rynd_torch

#endif
