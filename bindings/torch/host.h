// SPDX-License-Identifier: Apache-2.0
#ifndef RYND_TORCH_HOST_H
#define RYND_TORCH_HOST_H

#include <ATen/core/dispatch/Dispatcher.h>
#include <map>
#include <string>

namespace rynd_torch
{

// Runs an operator by PyTorch's loops for the CPU on the device's memory: operands are not copied, results without a tensor are.
void run_on_host(const c10::OperatorHandle &op, torch::jit::Stack *stack);

// What has no kernel: one warning for each name, or an error if RYND_TORCH_STRICT=1.
void warn_of_fallback(const std::string &name);

void count_on_host(const std::string &name);

// Calls of run_on_host, and problems that a device has no kernel for, since the start, by operator.
std::map<std::string, int64_t> host_calls();

} // namespace rynd_torch

#endif
