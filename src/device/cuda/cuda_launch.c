/* SPDX-License-Identifier: Apache-2.0 */
/* Launches: the arguments' addresses, one behind the other as the entries take them, then one grid
 * of groups a phase. */
#include "device/cuda/cuda_state.h"

#include <string.h>

#define MOST_GROUPS 0x7fffffff

/* Parameters that fit the 4096 bytes of an entry (CUDA C++ Programming Guide). */
enum { MOST_PARAMETERS = 4096 / sizeof(void *) };

/* How the driver is told that the arguments are a block of memory (CU_LAUNCH_PARAM_...). */
enum { END = 0, BLOCK = 1, BLOCK_SIZE = 2 };

static void *marker(uintptr_t number)
{
    return (void *)number;
}

/* The parameters of an entry are pointers: as many as the launch has arguments. */
static void set_arguments(const ry_launch *launch)
{
    for (int i = 0; i < launch->argument_count; i++) {
        const ry_pointer *pointer = &launch->arguments[i];
        launch->resolved[i] =
            pointer->buffer ? marker((uintptr_t)(pointer->buffer->memory.address + pointer->offset))
                            : NULL;
    }
}

/* Behind the pointers, entries of programs in parts are told the number of the first group. */
static int enqueue(ry_stream *stream, const ry_launch *launch, int phase, size_t from,
                   size_t groups)
{
    const ry_cuda_state *device = stream->device;
    const ry_gpu_program *program = launch->program.gpu;
    const struct ry_gpu_entry *entry = &program->entry[launch->first_entry + phase];
    const unsigned group = launch->group[phase];
    const size_t pointers = (size_t)launch->argument_count;
    void *own[MOST_PARAMETERS + 1], **values = launch->resolved;
    if (program->in_parts) {
        memcpy(own, values, pointers * sizeof *own);
        own[pointers] = marker(from);
        values = own;
    }
    size_t size = (pointers + program->in_parts) * sizeof *values;
    void *block[] = {marker(BLOCK), values, marker(BLOCK_SIZE), &size, marker(END)};
    int code;
    do { /* a driver that loads code at its first launch may need memory for it */
        code = device->cu->LaunchKernel(entry->function, (unsigned)groups, 1, 1, group, 1, 1,
                                        entry->given, stream->stream, NULL, block);
    } while (code == RY_CUDA_OUT_OF_MEMORY && ry_gpu_relieve(&stream->device->gpu));
    return code;
}

static rynd_status launch_phase(ry_stream *stream, const ry_launch *launch, int phase,
                                ry_error *error)
{
    const ry_cuda_state *device = stream->device;
    const ry_gpu_program *program = launch->program.gpu;
    const int number = launch->first_entry + phase;
    const size_t groups = launch->tasks[phase], part = ry_gpu_part(&device->gpu, launch, phase);
    if (number < 0 || number >= program->entry_count) {
        return ry_fail(error, RYND_ERROR_DEVICE, "kernel '%s' has %d entries, and not number %d",
                       program->name, program->entry_count, number);
    }
    if (launch->argument_count > MOST_PARAMETERS) {
        return ry_fail(error, RYND_ERROR_DEVICE,
                       "kernel '%s' has %d arguments: CUDA takes %d at most", program->name,
                       launch->argument_count, MOST_PARAMETERS);
    }
    if (groups > MOST_GROUPS) {
        return ry_fail(error, RYND_ERROR_DEVICE,
                       "kernel '%s', entry %d, has %zu groups: CUDA takes %d at most",
                       program->name, number, groups, MOST_GROUPS);
    }
    int code = RY_CUDA_OK;
    for (size_t from = 0; from < groups && code == RY_CUDA_OK; from += part) {
        code = enqueue(stream, launch, phase, from, part < groups - from ? part : groups - from);
    }
    if (code != RY_CUDA_OK) {
        const rynd_status status = ry_cuda_fail_on(device, "cuLaunchKernel", code, error);
        ry_error_prefix(error, "kernel '%s', entry %d, %zu groups of %u: ", program->name, number,
                        groups, launch->group[phase]);
        return status;
    }
    return RYND_OK;
}

rynd_status ry_cuda_launch(ry_stream *stream, const ry_launch *launch, ry_error *error)
{
    rynd_status status = ry_cuda_enter(stream->device, error);
    if (status != RYND_OK) {
        return status;
    }
    ry_gpu_begin_use(&stream->device->gpu, &stream->gpu, launch->arguments, launch->argument_count);
    set_arguments(launch);
    for (int phase = 0; phase < launch->phases && status == RYND_OK; phase++) {
        if (launch->tasks[phase] > 0) {
            status = launch_phase(stream, launch, phase, error);
        }
    }
    ry_cuda_leave(stream->device);
    return status;
}
