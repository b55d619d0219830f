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
    cl_context context;
    cl_command_queue queue; /* for copies that belong to no stream */
    char options[256];      /* of the compiler */
} ry_opencl_state;

struct ry_stream {
    ry_gpu_stream gpu;
    ry_opencl_state *device;
    cl_command_queue queue;
    unsigned unflushed; /* launches */
};

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

#endif
