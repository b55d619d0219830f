/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of OpenCL: compiled from source or taken from what was, and their entries. */
#include "device/opencl/opencl_state.h"

#include <stdio.h>
#include <stdlib.h>

extern const char ry_opencl_dialect[];

bool ry_opencl_programs_init(ry_opencl_state *device)
{
    const ry_opencl_info *info = &device->info;
    const char *more = getenv("RYND_OPENCL_OPTIONS");
    snprintf(device->options, sizeof device->options, "-cl-std=CL1.2%s%s%s%s%s",
             info->rounds_divisions ? " -cl-fp32-correctly-rounded-divide-sqrt" : "",
             device->large ? " -cl-intel-greater-than-4GB-buffer-required -DLARGE_BUFFERS" : "",
             info->dots_bytes ? "" : " -DNO_DOT_PRODUCTS", more && *more ? " " : "",
             more ? more : "");
    const char *const depends[] = {info->platform, info->name, info->vendor, info->driver,
                                   device->options};
    /* PoCL compiles each entry once more for a binary, used or not: for groups of any size. */
    return ry_gpu_programs_init(&device->gpu, info->keeps_programs ? NULL : "opencl",
                                ry_opencl_dialect, depends, sizeof depends / sizeof *depends);
}

void ry_opencl_unload(ry_gpu_device *base, ry_gpu_program *program)
{
    const ry_opencl *cl = ((ry_opencl_state *)base)->cl;
    for (int i = 0; i < program->entry_count; i++) {
        if (program->entry[i].function) {
            cl->ReleaseKernel(program->entry[i].function);
            program->entry[i].function = NULL;
        }
    }
    if (program->module) {
        cl->ReleaseProgram(program->module);
        program->module = NULL;
    }
}

static rynd_status fail_build(ry_opencl_state *device, const ry_gpu_program *program, cl_int code,
                              ry_error *error)
{
    const cl_device_id id = device->id.device;
    const ry_allocator *allocator = device->gpu.base.allocator;
    size_t size = 0;
    device->cl->GetProgramBuildInfo(program->module, id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
    char *log = size ? ry_allocate_array(allocator, size + 1, 1) : NULL;
    if (log && device->cl->GetProgramBuildInfo(program->module, id, CL_PROGRAM_BUILD_LOG, size, log,
                                               NULL) != CL_SUCCESS) {
        log[0] = 0;
    }
    const rynd_status status =
        ry_gpu_fail_build(&device->gpu, program, ry_opencl_code_name(code), log, error);
    ry_release(allocator, log);
    return status;
}

/* 0 where the driver does not say. */
static unsigned items_of(const ry_opencl_state *device, cl_kernel kernel)
{
    size_t items = 0;
    const cl_int code = device->cl->GetKernelWorkGroupInfo(
        kernel, device->id.device, CL_KERNEL_WORK_GROUP_SIZE, sizeof items, &items, NULL);
    return code == CL_SUCCESS ? (unsigned)items : 0;
}

/* Links the program and finds its entries. */
static rynd_status finish(ry_opencl_state *device, const ry_gpu_source *source,
                          ry_gpu_program *program, ry_error *error)
{
    const ry_opencl *cl = device->cl;
    cl_int code =
        cl->BuildProgram(program->module, 1, &device->id.device, device->options, NULL, NULL);
    if (code != CL_SUCCESS) {
        return fail_build(device, program, code, error);
    }
    for (int i = 0; i < program->entry_count; i++) {
        struct ry_gpu_entry *entry = &program->entry[i];
        entry->function = cl->CreateKernel(program->module, source->entries[i], &code);
        if (code == CL_SUCCESS) {
            cl_uint arguments = 0;
            code = cl->GetKernelInfo(entry->function, CL_KERNEL_NUM_ARGS, sizeof arguments,
                                     &arguments, NULL);
            entry->arguments = arguments;
            entry->items = items_of(device, entry->function);
        }
        if (code != CL_SUCCESS) {
            return ry_fail(error, RYND_ERROR_DEVICE, "kernel '%s' has no entry '%s' on %s: %s (%d)",
                           program->name, source->entries[i], device->gpu.base.name,
                           ry_opencl_code_name(code), code);
        }
    }
    return RYND_OK;
}

rynd_status ry_opencl_load_binary(ry_gpu_device *base, const ry_gpu_source *source,
                                  const ry_gpu_binary *binary, ry_gpu_program *program,
                                  ry_error *error)
{
    ry_opencl_state *device = (ry_opencl_state *)base;
    const unsigned char *at = binary->data;
    cl_int code, loaded = CL_SUCCESS;
    program->module = device->cl->CreateProgramWithBinary(device->context, 1, &device->id.device,
                                                          &binary->size, &at, &loaded, &code);
    code = code != CL_SUCCESS ? code : loaded;
    return code != CL_SUCCESS ? ry_opencl_fail(error, code, "loading a program")
                              : finish(device, source, program, error);
}

/* The driver's binary of the program; empty if the driver has none. */
static ry_gpu_binary binary_of(const ry_opencl_state *device, const ry_gpu_program *program)
{
    const ry_opencl *cl = device->cl;
    const ry_allocator *allocator = device->gpu.base.allocator;
    ry_gpu_binary binary = {0};
    if (cl->GetProgramInfo(program->module, CL_PROGRAM_BINARY_SIZES, sizeof binary.size,
                           &binary.size, NULL) != CL_SUCCESS ||
        binary.size == 0) {
        return (ry_gpu_binary){0};
    }
    unsigned char *data = ry_allocate(allocator, binary.size);
    if (data && cl->GetProgramInfo(program->module, CL_PROGRAM_BINARIES, sizeof data, &data,
                                   NULL) == CL_SUCCESS) {
        binary.data = data;
        return binary;
    }
    ry_release(allocator, data);
    return (ry_gpu_binary){0};
}

rynd_status ry_opencl_compile(ry_gpu_device *base, const ry_gpu_source *source,
                              const ry_gpu_text *text, ry_gpu_program *program,
                              ry_gpu_binary *binary, ry_error *error)
{
    ry_opencl_state *device = (ry_opencl_state *)base;
    const char *part[RY_GPU_PARTS];
    cl_int code;
    for (int i = 0; i < RY_GPU_PARTS; i++) {
        part[i] = text->part[i];
    }
    program->module =
        device->cl->CreateProgramWithSource(device->context, RY_GPU_PARTS, part, NULL, &code);
    if (code != CL_SUCCESS) {
        return ry_opencl_fail(error, code, "making a program");
    }
    RY_TRY(finish(device, source, program, error));
    if (binary) {
        *binary = binary_of(device, program);
    }
    return RYND_OK;
}
