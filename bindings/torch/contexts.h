// SPDX-License-Identifier: Apache-2.0
// Devices: rynd:0 is the processor, rynd:1 and later those of OpenCL and CUDA, in the order of rynd_device_get_name.
#ifndef RYND_TORCH_CONTEXTS_H
#define RYND_TORCH_CONTEXTS_H

#include <mutex>
#include <rynd/copy.h>
#include <rynd/op_run.h>
#include <rynd/stream.h>
#include <string>

namespace rynd_torch
{

int device_count();
std::string device_name(int index); // "cpu", "opencl:0"
int current_device();               // this thread's
void set_current_device(int index); // below 0: nothing happens

// Throws c10::Error with rynd's message, unless `status` is RYND_OK.
void check(rynd_status status);

// A new context of a device; threads 0: as the environment says.
rynd_context *make_context(int index, int threads);

// The queue of a device behind rynd:0. All its work is in one stream, which one thread uses at a time: hold `mutex`.
struct Queue {
    rynd_context *context;
    rynd_stream *stream;
    std::mutex mutex;
};
Queue &queue_of(int index); // made at the first call
bool has_queue(int index);  // was it made?

// Waits for a device's work; the processor has none waiting.
void synchronize(int index);

} // namespace rynd_torch

#endif
