/* SPDX-License-Identifier: Apache-2.0 */
/* Errors for devices that do not exist. */
#ifndef RY_DEVICE_GPU_GPU_LIST_H
#define RY_DEVICE_GPU_GPU_LIST_H

#include "base/status.h"

enum { RY_GPU_NAME = 64 };

/* The devices of a kind. */
typedef struct ry_gpu_list {
    const char *kind; /* "opencl" */
    const char *none; /* what to do where there is none */
    unsigned count;
    void (*name)(const void *context, unsigned index, char name[RY_GPU_NAME]);
    const void *context;
} ry_gpu_list;

/* NOT_FOUND: "there is no device opencl:7: this machine has opencl:0 (NAME) and opencl:1 (NAME)";
 * of none: "there is no device opencl:7, nor another of its kind: install ...". */
rynd_status ry_gpu_fail_index(const ry_gpu_list *list, unsigned index, ry_error *error);

#endif
