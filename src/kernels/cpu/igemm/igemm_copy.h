/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of x with its channels innermost, made by tasks of an earlier phase of the implicit GEMM:
 * for x whose pixels are next to each other, where a gathered vector of pixels would take many
 * loads (strides, small images, dilations), and where one of channels takes one. */
#ifndef RY_KERNELS_CPU_IGEMM_IGEMM_COPY_H
#define RY_KERNELS_CPU_IGEMM_IGEMM_COPY_H

#include "kernels/cpu/igemm/igemm_plan.h"

/* Is x of a type, and does it are stored so, that it can be copied, and is it worth a thought? */
bool ry_igemm_copy_suits(const igemm_plan *plan, ry_dtype dtype);

/* Makes the plan's geometry, and its taps' offsets, those of the copy, or of x as it is stored. */
void ry_igemm_copy_set(igemm_plan *plan, ry_conv_tap *tap, bool copied);

/* Cuts the copy into tasks. */
void ry_igemm_copy_tasks(igemm_plan *plan);

#endif
