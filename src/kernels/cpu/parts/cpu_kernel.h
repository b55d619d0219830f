/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the kernels' list that are made once for each instruction set. */
#ifndef RY_KERNELS_CPU_PARTS_CPU_KERNEL_H
#define RY_KERNELS_CPU_PARTS_CPU_KERNEL_H

#include "kernels/cpu/simd/isa.h"
#include "kernels/kernel.h"

/* The kernel SYMBOL_ISA of the family SYMBOL, for one operator and class of accuracy; then come the
 * other fields of ry_kernel. */
#define RY_CPU_KERNEL(symbol, operator, class, ...)                           \
    const ry_kernel RY_ISA_SYMBOL(symbol) = {.name = #symbol "_" RY_ISA_TEXT, \
                                             .family = #symbol,               \
                                             .file = RY_KERNEL_FILE,          \
                                             .op = RY_OP_##operator,          \
                                             .device = RY_DEVICE_cpu,         \
                                             .isa = RY_ISA_ID,                \
                                             .accuracy = RY_ACCURACY_##class, \
                                             __VA_ARGS__}

#endif
