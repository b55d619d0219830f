// SPDX-License-Identifier: Apache-2.0
#ifndef RYND_TORCH_POINTWISE_H
#define RYND_TORCH_POINTWISE_H

#include <ATen/ATen.h>

namespace rynd_torch
{

// Computes `program` into `out`: $i in it is values[i], a tensor of the device, a tensor of the CPU without dims, or a number.
void pointwise(const char *program, const std::vector<c10::IValue> &values, const at::Tensor &out);

} // namespace rynd_torch

#endif
