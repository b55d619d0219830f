/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of the kernels whose one text is for forward and for transposed convolutions. */
#ifndef RY_KERNELS_CPU_CONV_CONV_KERNEL_H
#define RY_KERNELS_CPU_CONV_CONV_KERNEL_H

#include "kernels/cpu/common/isa.h"

#define RY_CONV_KERNEL(symbol, operator, ...)                                 \
    const ry_kernel RY_ISA_SYMBOL(symbol) = {.name = #symbol "_" RY_ISA_TEXT, \
                                             .family = #symbol,               \
                                             .op = RY_OP_##operator,          \
                                             .device = RY_DEVICE_cpu,         \
                                             .isa = RY_ISA_ID,                \
                                             .accuracy = RY_ACCURACY_strict,  \
                                             .simd = RY_SIMD,                 \
                                             __VA_ARGS__}

/* conv_fwd_f32_NAME and convt_fwd_f32_NAME, of class strict; then come the other fields of ry_kernel. */
#define RY_CONV_KERNELS(name, ...)                          \
    RY_CONV_KERNEL(conv_fwd_f32_##name, conv, __VA_ARGS__); \
    RY_CONV_KERNEL(convt_fwd_f32_##name, convt, __VA_ARGS__)

#endif
