/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of the kernels whose one text is for forward and for transposed convolutions. */
#ifndef RY_KERNELS_CPU_CONV_CONV_KERNEL_H
#define RY_KERNELS_CPU_CONV_CONV_KERNEL_H

#include "kernels/cpu/common/isa.h"

#define RY_CONV_KERNEL(symbol, operator, preference, ...)                                \
    const ry_kernel RY_ISA_SYMBOL(symbol) = {.name = #symbol "_" RY_ISA_TEXT,            \
                                             .op = RY_OP_##operator,                     \
                                             .device = "cpu",                            \
                                             .isa = RY_ISA_ID,                           \
                                             .accuracy = RY_ACCURACY_strict,             \
                                             .rank = (preference) + 10 * (int)RY_ISA_ID, \
                                             __VA_ARGS__}

/* conv_fwd_f32_NAME and convt_fwd_f32_NAME, of class strict; behind the rank come the other fields of ry_kernel. */
#define RY_CONV_KERNELS(name, preference, ...)                          \
    RY_CONV_KERNEL(conv_fwd_f32_##name, conv, preference, __VA_ARGS__); \
    RY_CONV_KERNEL(convt_fwd_f32_##name, convt, preference, __VA_ARGS__)

#endif
