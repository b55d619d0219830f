/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of OpenCL's devices. */
#ifndef RY_DEVICE_OPENCL_OPENCL_LIST_H
#define RY_DEVICE_OPENCL_OPENCL_LIST_H

#include "device/opencl/opencl.h"
#include "device/opencl/opencl_info.h"

typedef struct ry_opencl_id {
    cl_platform_id platform;
    cl_device_id device;
} ry_opencl_id;

rynd_status ry_opencl_find(const ry_opencl *cl, unsigned index, ry_opencl_id *id, ry_error *error);
void ry_opencl_describe(const ry_opencl *cl, ry_opencl_id id, ry_opencl_info *info);

#endif
