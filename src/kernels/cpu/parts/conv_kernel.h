/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the kernels whose one text is for forward and for transposed convolutions. */
#ifndef RY_KERNELS_CPU_PARTS_CONV_KERNEL_H
#define RY_KERNELS_CPU_PARTS_CONV_KERNEL_H

#include "kernels/cpu/parts/cpu_kernel.h"

/* conv_fwd_NAME and convt_fwd_NAME, of one class of accuracy; then come the other fields of
 * ry_kernel. */
#define RY_CONV_KERNELS_OF(name, class, ...)                  \
    RY_CPU_KERNEL(conv_fwd_##name, conv, class, __VA_ARGS__); \
    RY_CPU_KERNEL(convt_fwd_##name, convt, class, __VA_ARGS__)

/* The same of float32, strict, with the text's vectors. */
#define RY_CONV_KERNELS(name, ...) \
    RY_CONV_KERNELS_OF(f32_##name, strict, .simd = RY_SIMD, __VA_ARGS__)

#endif
