/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the OpenCL device share. */
#ifndef RY_DEVICE_OPENCL_OPENCL_STATE_H
#define RY_DEVICE_OPENCL_OPENCL_STATE_H

#include "device/gpu/gpu_device.h"
#include "device/opencl/opencl_list.h"

typedef struct ry_opencl_state {
    ry_gpu_device gpu;
    const ry_opencl *cl;
    ry_opencl_id id;
    ry_opencl_info info;
    bool large; /* buffers may be as large as the device's memory */
    cl_context context;
    cl_command_queue queue;      /* for copies that belong to no stream */
    char options[256];           /* compiler options */
    struct ry_opencl_host *host; /* memory that was taken, with the pool's lock (opencl_copy.c) */
} ry_opencl_state;

struct ry_stream {
    ry_gpu_stream gpu;
    ry_opencl_state *device;
    cl_command_queue queue;
    bool timed;         /* events of the queue have the device's time */
    unsigned unflushed; /* launches */
};

static inline cl_mem ry_opencl_memory(const ry_buffer *buffer)
{
    return buffer->memory.object;
}

static inline ry_opencl_state *ry_opencl_state_of(ry_device *device)
{
    return (ry_opencl_state *)device;
}

/* opencl_program.c: functions of a ry_gpu_driver. */
bool ry_opencl_programs_init(ry_opencl_state *device);
rynd_status ry_opencl_compile(ry_gpu_device *device, const ry_gpu_source *source,
                              const ry_gpu_text *text, ry_gpu_program *program,
                              ry_gpu_binary *binary, ry_error *error);
rynd_status ry_opencl_load_binary(ry_gpu_device *device, const ry_gpu_source *source,
                                  const ry_gpu_binary *binary, ry_gpu_program *program,
                                  ry_error *error);
void ry_opencl_unload(ry_gpu_device *device, ry_gpu_program *program);

/* opencl_launch.c */
rynd_status ry_opencl_launch(ry_stream *stream, const ry_launch *launch, ry_error *error);
rynd_status ry_opencl_synchronize(ry_stream *stream, ry_error *error);

/* opencl_copy.c */
/* A function of a ry_gpu_driver. */
rynd_status ry_opencl_fill(ry_gpu_device *device, ry_buffer *buffer, const void *host,
                           ry_error *error);
rynd_status ry_opencl_upload(ry_stream *stream, ry_pointer to, const void *host, size_t size,
                             ry_error *error);
rynd_status ry_opencl_download(ry_stream *stream, void *host, ry_pointer from, size_t size,
                               ry_error *error);
rynd_status ry_opencl_copy(ry_stream *stream, ry_pointer to, ry_pointer from, size_t size,
                           ry_error *error);
rynd_status ry_opencl_repeat(ry_stream *stream, ry_pointer to, ry_pattern pattern, size_t size,
                             ry_error *error);
rynd_status ry_opencl_host_take(ry_device *device, size_t size, void **memory, ry_error *error);
void ry_opencl_host_give_back(ry_device *device, void *memory);

/* opencl_event.c */
rynd_status ry_opencl_event_create(ry_device *device, ry_event **event, ry_error *error);
void ry_opencl_event_destroy(ry_device *device, ry_event *event);
rynd_status ry_opencl_event_record(ry_stream *stream, ry_event *event, ry_error *error);
rynd_status ry_opencl_event_await(ry_stream *stream, const ry_event *event, ry_error *error);
rynd_status ry_opencl_event_synchronize(const ry_event *event, ry_error *error);
rynd_status ry_opencl_event_done(const ry_event *event, bool *done, ry_error *error);
rynd_status ry_opencl_event_elapsed(const ry_event *from, const ry_event *to, double *seconds,
                                    ry_error *error);

#endif
