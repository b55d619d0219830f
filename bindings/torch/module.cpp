// SPDX-License-Identifier: Apache-2.0
// What Python's rynd.torch calls, as torch.ops.rynd: no interface of Python is needed, so one library serves every version of it.
#include <torch/library.h>

#include "contexts.h"
#include "host.h"
#include "memory.h"
#include "problem.h"
#include "tensors.h"

namespace rynd_torch
{

// Which PyTorch and which sources this library was made for: torch_shim.py looks for the text in the file before it loads it.
extern "C" __attribute__((visibility("default"), used)) const char rynd_torch_identity[] =
    "rynd_torch_identity=" RYND_TORCH_IDENTITY;

namespace
{

std::tuple<std::vector<std::string>, std::vector<int64_t>, std::vector<double>> host_call_lists()
{
    std::tuple<std::vector<std::string>, std::vector<int64_t>, std::vector<double>> lists;
    auto &[names, counts, seconds] = lists;
    for (const auto &[name, calls] : host_calls()) {
        names.push_back(name);
        counts.push_back(calls.count);
        seconds.push_back(calls.seconds);
    }
    return lists;
}

std::tuple<int64_t, int64_t, int64_t> memory_list(int64_t index)
{
    const auto figures = memory_figures(int(index));
    return {figures.used, figures.peak, figures.held};
}

std::tuple<int64_t, int64_t, int64_t> operator_list()
{
    const auto figures = cache_figures();
    return {figures.operators, figures.made, figures.bytes};
}

TORCH_LIBRARY(rynd, library)
{
    library.def("device_count() -> int", [] { return int64_t(device_count()); });
    library.def("device_name(int index) -> str",
                [](int64_t index) { return device_name(int(index)); });
    library.def("current_device() -> int", [] { return int64_t(current_device()); });
    library.def("set_current_device(int index) -> ()",
                [](int64_t index) { set_current_device(int(index)); });
    library.def("synchronize(int index) -> ()", [](int64_t index) { synchronize(int(index)); });
    library.def("host_calls() -> (str[] names, int[] counts, float[] seconds)", host_call_lists);
    library.def("memory(int index) -> (int used, int peak, int held)", memory_list);
    library.def("reset_peak(int index) -> ()", [](int64_t index) { reset_peak(int(index)); });
    library.def("empty_cache() -> ()", [] { empty_cache(); });
    library.def("operators() -> (int operators, int made, int bytes)", operator_list);
    library.def("clear_operators() -> ()", [] { clear_cache(); });
    library.def("set_threads(int count) -> ()", [](int64_t count) { set_threads(int(count)); });
    library.def("on_host(Tensor tensor) -> Tensor", [](const at::Tensor &tensor) {
        return tensor.is_privateuseone() ? written_on_host(tensor) : tensor;
    });
}

} // namespace
} // namespace rynd_torch
