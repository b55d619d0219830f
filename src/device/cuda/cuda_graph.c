/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings are CUDA graphs: what is launched between begin and end is kept by the driver instead
 * of run, and launched as one thing (CUDA Programming Guide, "CUDA Graphs"). */
#include "device/cuda/cuda_state.h"

#include <stdlib.h>
#include <string.h>

/* CUstreamCaptureMode: calls of other threads do not disturb a capture. */
enum { THREAD_LOCAL = 1 };

struct ry_recording {
    void *executable;
};

bool ry_cuda_wants_graphs(const ry_cuda *cu)
{
    const char *wish = getenv("RYND_CUDA_GRAPHS");
    return cu->graphs && !(wish && strcmp(wish, "0") == 0);
}

bool ry_cuda_records(ry_device *device)
{
    return ry_cuda_state_of(device)->graphs;
}

rynd_status ry_cuda_record_begin(ry_stream *stream, ry_error *error)
{
    const ry_cuda_state *device = stream->device;
    RY_TRY(ry_cuda_enter(device, error));
    const int code = device->cu->StreamBeginCapture(stream->stream, THREAD_LOCAL);
    ry_cuda_leave(device);
    return code == RY_CUDA_OK ? RYND_OK
                              : ry_cuda_fail_on(device, "cuStreamBeginCapture", code, error);
}

static rynd_status instantiate(const ry_cuda_state *device, void *graph, ry_recording **recording,
                               ry_error *error)
{
    ry_recording *made = ry_allocate_array(device->gpu.base.allocator, 1, sizeof *made);
    if (!made) {
        return ry_fail_memory(error);
    }
    const int code = device->cu->GraphInstantiate(&made->executable, graph, 0);
    if (code != RY_CUDA_OK) {
        ry_release(device->gpu.base.allocator, made);
        return ry_cuda_fail_on(device, "cuGraphInstantiate", code, error);
    }
    *recording = made;
    return RYND_OK;
}

rynd_status ry_cuda_record_end(ry_stream *stream, ry_recording **recording, ry_error *error)
{
    const ry_cuda_state *device = stream->device;
    void *graph = NULL;
    RY_TRY(ry_cuda_enter(device, error));
    const int code = device->cu->StreamEndCapture(stream->stream, &graph);
    rynd_status status = code == RY_CUDA_OK && graph
                             ? instantiate(device, graph, recording, error)
                             : ry_cuda_fail_on(device, "cuStreamEndCapture", code, error);
    if (graph) {
        device->cu->GraphDestroy(graph);
    }
    ry_cuda_leave(device);
    return status;
}

rynd_status ry_cuda_replay(ry_stream *stream, const ry_recording *recording,
                           const ry_pointer *pointers, int count, ry_error *error)
{
    ry_cuda_state *device = stream->device;
    RY_TRY(ry_cuda_enter(device, error));
    ry_gpu_begin_use(&device->gpu, &stream->gpu, pointers, count);
    const int code = device->cu->GraphLaunch(recording->executable, stream->stream);
    ry_cuda_leave(device);
    return code == RY_CUDA_OK ? RYND_OK : ry_cuda_fail_on(device, "cuGraphLaunch", code, error);
}

void ry_cuda_recording_destroy(ry_device *base, ry_recording *recording)
{
    const ry_cuda_state *device = ry_cuda_state_of(base);
    if (recording && ry_cuda_enter(device, NULL) == RYND_OK) {
        device->cu->GraphExecDestroy(recording->executable);
        ry_cuda_leave(device);
    }
    ry_release(base->allocator, recording);
}
