/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of launches that reach the driver of gpu_run's device. */
#ifndef GPU_LAUNCHES_H
#define GPU_LAUNCHES_H

#include <stdbool.h>
#include <stddef.h>

/* Can they be counted? Not behind CUDA's own driver. */
bool gpu_launches_known(void);

/* Counts from here on: of OpenCL flushes, of which each part has one. */
void gpu_launches_count(void);
size_t gpu_launches(void);

#endif
