/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the kernels' list that are a GPU's. */
#ifndef RY_KERNELS_GPU_GPU_KERNEL_H
#define RY_KERNELS_GPU_GPU_KERNEL_H

#include "kernels/kernel.h"

/* The kernel SYMBOL, a family of its own, for one operator and class of accuracy; then come the
 * other fields of ry_kernel. */
#define RY_GPU_KERNEL(symbol, operator, class, ...)                 \
    const ry_kernel ry_##symbol = {.name = #symbol,                 \
                                   .family = #symbol,               \
                                   .file = RY_KERNEL_FILE,          \
                                   .op = RY_OP_##operator,          \
                                   .device = RY_DEVICE_gpu,         \
                                   .isa = RY_ISA_generic,           \
                                   .accuracy = RY_ACCURACY_##class, \
                                   __VA_ARGS__}

#endif
