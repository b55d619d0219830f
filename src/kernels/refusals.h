/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels that are not used on a device, because a check found them wrong or unsteady there
 * (tune/check_kernels.h). */
#ifndef RY_KERNELS_REFUSALS_H
#define RY_KERNELS_REFUSALS_H

#include "kernels/kernel.h"

enum { RY_MAX_REFUSALS = 512 };

typedef struct ry_refusals {
    int count;
    const ry_kernel *kernel[RY_MAX_REFUSALS];
} ry_refusals;

/* refusals NULL: none. */
bool ry_refusals_have(const ry_refusals *refusals, const ry_kernel *kernel);

/* Adds a kernel, once. */
void ry_refusals_add(ry_refusals *refusals, const ry_kernel *kernel);

#endif
