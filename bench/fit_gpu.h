/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs' costs (kernels/gpu/gpu_costs.inc) in place of the library's, which bench/fit varies. */
#ifndef FIT_GPU_H
#define FIT_GPU_H

#include "kernels/gpu/gpu_costs.h"

/* Number i of a row's costs; NULL: there are fewer. */
const char *fit_gpu_name(int i);
double *fit_gpu_value(int row, int i);

/* Sets costs of a row: "tile_warps=3 tile_step=0.5". false: not such a text. */
bool fit_gpu_set(int row, const char *text);

#endif
