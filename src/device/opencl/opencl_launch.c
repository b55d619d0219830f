/* SPDX-License-Identifier: Apache-2.0 */
/* Launches: arguments, then one range of work-items a phase. */
#include "device/opencl/opencl_state.h"

/* Drivers may wait for more before they hand launches to the device: they are told to, first at
 * once, so that it has something to do, and then every so many. */
enum { FLUSH_EVERY = 16 };

static cl_int set_arguments(const ry_opencl *cl, cl_kernel kernel, const ry_launch *launch)
{
    cl_int code = CL_SUCCESS;
    for (int i = 0; i < launch->argument_count && code == CL_SUCCESS; i++) {
        const ry_pointer *pointer = &launch->arguments[i];
        const cl_ulong offset = pointer->buffer ? pointer->offset : 0;
        const cl_mem memory = pointer->buffer ? pointer->buffer->memory.object : NULL;
        code = cl->SetKernelArg(kernel, 2 * (cl_uint)i, sizeof memory, memory ? &memory : NULL);
        if (code == CL_SUCCESS) {
            code = cl->SetKernelArg(kernel, 2 * (cl_uint)i + 1, sizeof offset, &offset);
        }
    }
    return code;
}

/* from: number of the first item. */
static cl_int enqueue(ry_stream *stream, cl_kernel kernel, size_t from, size_t items, size_t group)
{
    cl_int code;
    do {
        code = stream->device->cl->EnqueueNDRangeKernel(
            stream->queue, kernel, 1, from > 0 ? &from : NULL, &items, &group, 0, NULL, NULL);
    } while (code == CL_MEM_OBJECT_ALLOCATION_FAILURE && ry_gpu_relieve(&stream->device->gpu));
    return code;
}

/* The groups of a phase, in parts that a watchdog does not end. */
static cl_int enqueue_phase(ry_stream *stream, cl_kernel kernel, const ry_launch *launch, int phase)
{
    const size_t group = launch->group[phase], groups = launch->tasks[phase],
                 part = ry_gpu_part(&stream->device->gpu, launch, phase);
    cl_int code = CL_SUCCESS;
    for (size_t from = 0; from < groups && code == CL_SUCCESS; from += part) {
        const size_t count = part < groups - from ? part : groups - from;
        code = enqueue(stream, kernel, from * group, count * group, group);
        if (part < groups && code == CL_SUCCESS) {
            code = stream->device->cl->Flush(stream->queue);
        }
    }
    return code;
}

static rynd_status launch_phase(ry_stream *stream, ry_gpu_program *program, const ry_launch *launch,
                                int phase, ry_error *error)
{
    const ry_opencl *cl = stream->device->cl;
    const int number = launch->first_entry + phase;
    if (number < 0 || number >= program->entry_count) {
        return ry_fail(error, RYND_ERROR_DEVICE, "kernel '%s' has %d entries, and not number %d",
                       program->name, program->entry_count, number);
    }
    const struct ry_gpu_entry *entry = &program->entry[number];
    if (entry->arguments != 2 * (unsigned)launch->argument_count) {
        return ry_fail(error, RYND_ERROR_DEVICE,
                       "entry %d of kernel '%s' has %u parameters, two for each of %d arguments "
                       "are expected",
                       number, program->name, entry->arguments, launch->argument_count);
    }
    cl_int code = set_arguments(cl, entry->function, launch);
    if (code == CL_SUCCESS) {
        code = enqueue_phase(stream, entry->function, launch, phase);
    }
    if (code != CL_SUCCESS) {
        const rynd_status status = ry_opencl_fail(error, code, "a launch");
        ry_error_prefix(error, "kernel '%s', entry %d, %zu groups of %u: ", program->name, number,
                        launch->tasks[phase], launch->group[phase]);
        return status;
    }
    return RYND_OK;
}

rynd_status ry_opencl_launch(ry_stream *stream, const ry_launch *launch, ry_error *error)
{
    ry_gpu_program *program = (ry_gpu_program *)(uintptr_t)launch->program.gpu;
    rynd_status status = RYND_OK;
    ry_gpu_begin_use(&stream->device->gpu, &stream->gpu, launch->arguments, launch->argument_count);
    pthread_mutex_lock(&program->lock);
    for (int phase = 0; phase < launch->phases && status == RYND_OK; phase++) {
        if (launch->tasks[phase] > 0) {
            status = launch_phase(stream, program, launch, phase, error);
        }
    }
    pthread_mutex_unlock(&program->lock);
    if (stream->unflushed++ % FLUSH_EVERY == 0 && status == RYND_OK) {
        const cl_int code = stream->device->cl->Flush(stream->queue);
        status = code == CL_SUCCESS ? RYND_OK : ry_opencl_fail(error, code, "a launch");
    }
    return status;
}

rynd_status ry_opencl_synchronize(ry_stream *stream, ry_error *error)
{
    const cl_int code = stream->device->cl->Finish(stream->queue);
    if (code != CL_SUCCESS) {
        return ry_opencl_fail(error, code, "waiting for the device");
    }
    ry_gpu_set_idle(&stream->gpu);
    stream->unflushed = 0;
    return RYND_OK;
}
