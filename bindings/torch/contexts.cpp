// SPDX-License-Identifier: Apache-2.0
#include "contexts.h"

#include <c10/util/Exception.h>
#include <map>
#include <memory>
#include <vector>

namespace rynd_torch
{
namespace
{

// Names in the order of indices. The processor is first.
const std::vector<std::string> &names()
{
    static const std::vector<std::string> all = [] {
        std::vector<std::string> found;
        for (size_t i = 0; i < rynd_device_count(); i++) {
            char name[16];
            check(rynd_device_get_name(i, name, sizeof name));
            found.emplace_back(name);
        }
        return found;
    }();
    return all;
}

struct Queues {
    std::mutex mutex;
    std::map<int, std::unique_ptr<Queue>> by_index;
};

Queues &queues()
{
    static Queues *const only = new Queues; // never destroyed: tensors may outlive it
    return *only;
}

thread_local int current = 0;

} // namespace

int device_count()
{
    return int(names().size());
}

std::string device_name(int index)
{
    TORCH_CHECK(index >= 0 && index < device_count(), "rynd:", index,
                " is not there: the last is rynd:", device_count() - 1);
    return names()[size_t(index)];
}

int current_device()
{
    return current;
}

void set_current_device(int index)
{
    if (index >= 0) {
        device_name(index);
        current = index;
    }
}

void check(rynd_status status)
{
    TORCH_CHECK(status == RYND_OK, "rynd: ", rynd_last_error());
}

rynd_context *make_context(int index, int threads)
{
    const std::string name = device_name(index);
    rynd_context_options options = {};
    options.size = sizeof options;
    options.device = name.c_str();
    options.threads = unsigned(threads);
    rynd_context *context = nullptr;
    check(rynd_context_create(&options, &context));
    return context;
}

Queue &queue_of(int index)
{
    Queues &all = queues();
    const std::lock_guard<std::mutex> lock(all.mutex);
    std::unique_ptr<Queue> &queue = all.by_index[index];
    if (!queue) {
        auto made = std::make_unique<Queue>();
        made->context = make_context(index, 0);
        check(rynd_stream_create(made->context, &made->stream));
        queue = std::move(made);
    }
    return *queue;
}

bool has_queue(int index)
{
    Queues &all = queues();
    const std::lock_guard<std::mutex> lock(all.mutex);
    return all.by_index[index] != nullptr;
}

void synchronize(int index)
{
    if (index > 0 && has_queue(index)) {
        Queue &queue = queue_of(index);
        const std::lock_guard<std::mutex> lock(queue.mutex);
        check(rynd_stream_synchronize(queue.stream));
    }
}

} // namespace rynd_torch
