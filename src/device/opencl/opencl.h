/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL's library, opened at run time: a build and a machine may be without it.
 *
 *   const ry_opencl *cl;
 *   RY_TRY(ry_opencl_load(&cl, error));
 *   const cl_int code = cl->Finish(queue);
 *   if (code) return ry_opencl_fail(error, code, "waiting for the device"); */
#ifndef RY_DEVICE_OPENCL_OPENCL_H
#define RY_DEVICE_OPENCL_OPENCL_H

#include "base/status.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

typedef struct ry_opencl {
#define RY_CL(name) __typeof__(&cl##name) name;
#include "device/opencl/opencl_functions.inc"
#undef RY_CL
} ry_opencl;

/* Opens the library, once in a process. Fails with DEVICE (what is missing, and what to install).
 * Any thread. */
rynd_status ry_opencl_load(const ry_opencl **cl, ry_error *error);

/* DEVICE, or OUT_OF_MEMORY where the code says that: "OpenCL: waiting for the device failed with
 * CL_OUT_OF_RESOURCES (-5)". */
rynd_status ry_opencl_fail(ry_error *error, cl_int code, const char *what);

/* "CL_OUT_OF_RESOURCES"; of others "an unknown code". */
const char *ry_opencl_code_name(cl_int code);

#endif
