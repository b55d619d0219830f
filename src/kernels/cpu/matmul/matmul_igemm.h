/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products by the implicit GEMM, as the convolutions of one tap that they are. */
#ifndef RY_KERNELS_CPU_MATMUL_MATMUL_IGEMM_H
#define RY_KERNELS_CPU_MATMUL_MATMUL_IGEMM_H

#include "kernels/cpu/matmul/matmul_as_conv.h"

bool matmul_igemm_takes(const ry_problem *problem);
void matmul_igemm_values(const ry_query *query, int knob, ry_knob_values *values);
rynd_status matmul_igemm_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
void matmul_igemm_initialise(const ry_query *query, const ry_prepared *prepared, void *state);

/* The convolution's launch, whose problem is put into `conv`. */
ry_cpu_launch matmul_igemm_launch(const ry_cpu_launch *launch, matmul_as_conv *conv);

#endif
