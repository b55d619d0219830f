// SPDX-License-Identifier: Apache-2.0
// What Python's rynd.torch calls.
#include <torch/extension.h>

#include "contexts.h"
#include "host.h"
#include "memory.h"
#include "problem.h"
#include "tensors.h"

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module)
{
    module.def("device_count", rynd_torch::device_count);
    module.def("device_name", rynd_torch::device_name);
    module.def("current_device", rynd_torch::current_device);
    module.def("set_current_device", rynd_torch::set_current_device);
    module.def("synchronize", rynd_torch::synchronize);
    module.def("host_calls", [] {
        std::map<std::string, std::pair<int64_t, double>> all;
        for (const auto &[name, calls] : rynd_torch::host_calls()) {
            all[name] = {calls.count, calls.seconds};
        }
        return all;
    });
    module.def("memory", [](int index) {
        const auto figures = rynd_torch::memory_figures(index);
        return std::make_tuple(figures.used, figures.peak, figures.held);
    });
    module.def("reset_peak", rynd_torch::reset_peak);
    module.def("empty_cache", rynd_torch::empty_cache);
    module.def("operators", [] {
        const auto figures = rynd_torch::cache_figures();
        return std::make_tuple(figures.operators, figures.made, figures.bytes);
    });
    module.def("clear_operators", rynd_torch::clear_cache);
    module.def("set_threads", rynd_torch::set_threads);
    module.def("on_host", [](const at::Tensor &tensor) {
        return tensor.is_privateuseone() ? rynd_torch::written_on_host(tensor) : tensor;
    });
    module.def("generator", [] {
        return at::globalContext().defaultGenerator(at::Device(c10::DeviceType::PrivateUse1, 0));
    });
}
