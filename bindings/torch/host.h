// SPDX-License-Identifier: Apache-2.0
#ifndef RYND_TORCH_HOST_H
#define RYND_TORCH_HOST_H

#include <ATen/core/dispatch/Dispatcher.h>
#include <chrono>
#include <map>
#include <string>

namespace rynd_torch
{

// Runs an operator by PyTorch's loops for the CPU on the device's memory: operands are not copied, results without a tensor are.
void run_on_host(const c10::OperatorHandle &op, torch::jit::Stack *stack);

// What has no kernel: one warning for each name, or an error if RYND_TORCH_STRICT=1.
void warn_of_fallback(const std::string &name);

// Calls on the host, and their seconds.
struct HostCalls {
    int64_t count = 0;
    double seconds = 0;
};

// Counts a call, from here to the end of the scope, by its operator's name.
class HostCall
{
  public:
    explicit HostCall(std::string name);
    HostCall(const HostCall &) = delete;
    ~HostCall();

  private:
    const std::string name;
    const std::chrono::steady_clock::time_point begin;
};

// Calls of run_on_host, and problems that a device has no kernel for, since the start, by operator.
std::map<std::string, HostCalls> host_calls();

} // namespace rynd_torch

#endif
