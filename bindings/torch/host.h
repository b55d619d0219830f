// SPDX-License-Identifier: Apache-2.0
#ifndef RYND_TORCH_HOST_H
#define RYND_TORCH_HOST_H

#include <ATen/core/dispatch/Dispatcher.h>

namespace rynd_torch
{

// Runs an operator by PyTorch's loops for the CPU on the device's memory: operands are not copied, results without a tensor are.
void run_on_host(const c10::OperatorHandle &op, torch::jit::Stack *stack);

} // namespace rynd_torch

#endif
