// SPDX-License-Identifier: Apache-2.0
// Operators by PyTorch's own loops in the host's memory: a list of names, and the fallback of all others.
#include "host.h"

#include <ATen/ATen.h>
#include <ATen/native/Resize.h>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <torch/library.h>

#include "tensors.h"

namespace rynd_torch
{
namespace
{

// Operators that run by PyTorch's loops, also under RYND_TORCH_STRICT=1: they search, sort, count or write to places that data decide, or are rare.
const char *const host_names[] = {
#include "host_operators.inc"
};

bool is_written(const c10::Argument &argument)
{
    return argument.alias_info() && argument.alias_info()->isWrite();
}

// The operator makes its `out` anew: it may have another size than the caller's.
bool is_open(const c10::Argument &argument, const at::Tensor &tensor)
{
    return argument.kwarg_only() && is_written(argument) && tensor.defined();
}

at::Tensor host_tensor(const c10::Argument &argument, const at::Tensor &tensor)
{
    if (!tensor.defined() || !tensor.is_privateuseone()) {
        return tensor;
    }
    if (is_open(argument, tensor)) {
        return at::empty({0}, tensor.options().device(at::kCPU));
    }
    return is_written(argument) ? written_on_host(tensor) : on_host(tensor);
}

c10::IValue host_value(const c10::Argument &argument, const c10::IValue &value)
{
    if (value.isTensor()) {
        return host_tensor(argument, value.toTensor());
    }
    if (value.isTensorList()) {
        c10::List<at::Tensor> list;
        for (const at::Tensor &tensor : value.toTensorVector()) {
            list.push_back(host_tensor(argument, tensor));
        }
        return list;
    }
    if (value.isOptionalTensorList()) {
        c10::List<std::optional<at::Tensor>> list;
        for (const std::optional<at::Tensor> &tensor : value.toOptionalTensorVector()) {
            list.push_back(tensor ? std::optional(host_tensor(argument, *tensor)) : std::nullopt);
        }
        return list;
    }
    return value.isDevice() ? c10::IValue(c10::Device(c10::DeviceType::CPU)) : value;
}

at::Tensor device_tensor(const at::Tensor &tensor)
{
    if (!tensor.defined() || !tensor.is_cpu()) {
        return tensor;
    }
    at::Tensor copy =
        at::empty_like(tensor, tensor.options().device(at::kPrivateUse1)); // the current device
    written_on_host(copy).copy_(tensor);
    return copy;
}

c10::IValue device_value(const c10::IValue &value)
{
    if (value.isTensor()) {
        return device_tensor(value.toTensor());
    }
    if (value.isTensorList()) {
        c10::List<at::Tensor> list;
        for (const at::Tensor &tensor : value.toTensorVector()) {
            list.push_back(device_tensor(tensor));
        }
        return list;
    }
    return value;
}

// The argument that a result is: its index, or the number of arguments.
size_t returned_argument(const c10::FunctionSchema &schema, const c10::Argument &result)
{
    const auto &arguments = schema.arguments();
    size_t i = 0;
    while (i < arguments.size() && !(result.alias_info() && is_written(arguments[i]) &&
                                     *arguments[i].alias_info() == *result.alias_info())) {
        i++;
    }
    return i;
}

void fall_back(const c10::OperatorHandle &op, torch::jit::Stack *stack)
{
    warn_of_fallback(c10::toString(op.operator_name()));
    run_on_host(op, stack);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library)
{
    for (const char *name : host_names) {
        library.impl(name, torch::CppFunction::makeFromBoxedFunction<&run_on_host>());
    }
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, library)
{
    library.fallback(torch::CppFunction::makeFromBoxedFunction<&fall_back>());
}

} // namespace

namespace
{

// The device of the arguments: of a tensor, or one that is named.
std::optional<c10::Device> device_of_given(const std::vector<c10::IValue> &values)
{
    for (const c10::IValue &value : values) {
        if (value.isTensor() && value.toTensor().defined() && value.toTensor().is_privateuseone()) {
            return value.toTensor().device();
        }
        if (value.isTensorList()) {
            for (const at::Tensor &tensor : value.toTensorVector()) {
                if (tensor.is_privateuseone()) {
                    return tensor.device();
                }
            }
        }
        if (value.isDevice()) {
            return value.toDevice();
        }
    }
    return {};
}

struct Counts {
    std::mutex mutex;
    std::map<std::string, HostCalls> by_name;
};

Counts &counts()
{
    static Counts only;
    return only;
}

} // namespace

HostCall::HostCall(std::string name)
    : name(std::move(name)), begin(std::chrono::steady_clock::now())
{
}

HostCall::~HostCall()
{
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    const std::lock_guard<std::mutex> lock(counts().mutex);
    HostCalls &calls = counts().by_name[name];
    calls.count++;
    calls.seconds += time.count();
}

void warn_of_fallback(const std::string &name)
{
    static std::mutex mutex;
    static std::set<std::string> warned;
    const char *strict = std::getenv("RYND_TORCH_STRICT");
    TORCH_CHECK_NOT_IMPLEMENTED(!(strict && *strict == '1'), "rynd has no kernel for ", name,
                                " (RYND_TORCH_STRICT=1 forbids the CPU's)");
    const std::lock_guard<std::mutex> lock(mutex);
    if (warned.insert(name).second) {
        TORCH_WARN("rynd has no kernel for ", name, ": it runs on the CPU");
    }
}

std::map<std::string, HostCalls> host_calls()
{
    const std::lock_guard<std::mutex> lock(counts().mutex);
    return counts().by_name;
}

void run_on_host(const c10::OperatorHandle &op, torch::jit::Stack *stack)
{
    const HostCall call(c10::toString(op.operator_name()));
    const auto &schema = op.schema();
    const auto &arguments = schema.arguments();
    const size_t argument_count = arguments.size();
    const auto last = torch::jit::last(*stack, argument_count);
    const std::vector<c10::IValue> given(last.begin(), last.end());
    torch::jit::drop(*stack, argument_count);
    const c10::OptionalDeviceGuard guard(device_of_given(given));
    for (size_t i = 0; i < argument_count; i++) {
        stack->push_back(host_value(arguments[i], given[i]));
    }
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);

    const size_t first = stack->size() - schema.returns().size();
    for (size_t i = 0; i < schema.returns().size(); i++) {
        c10::IValue &result = (*stack)[first + i];
        const size_t argument = returned_argument(schema, schema.returns()[i]);
        if (argument == argument_count) {
            result = device_value(result);
            continue;
        }
        if (result.isTensor() && is_open(arguments[argument], given[argument].toTensor())) {
            const at::Tensor made = result.toTensor(), &out = given[argument].toTensor();
            at::native::resize_output(out, made.sizes());
            written_on_host(out).copy_(made);
        }
        result = given[argument];
    }
}

} // namespace rynd_torch
