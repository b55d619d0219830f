/* SPDX-License-Identifier: Apache-2.0 */
/* A short list of kernels. */
#include "kernels/refusals.h"

bool ry_refusals_have(const ry_refusals *refusals, const ry_kernel *kernel)
{
    for (int i = 0; refusals && i < refusals->count; i++) {
        if (refusals->kernel[i] == kernel) {
            return true;
        }
    }
    return false;
}

void ry_refusals_add(ry_refusals *refusals, const ry_kernel *kernel)
{
    if (refusals->count < RY_MAX_REFUSALS && !ry_refusals_have(refusals, kernel)) {
        refusals->kernel[refusals->count++] = kernel;
    }
}
