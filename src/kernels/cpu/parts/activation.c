/* SPDX-License-Identifier: Apache-2.0 */
/* Which activations are bounds. */
#include "kernels/cpu/parts/conv_geometry.h"

#include <math.h>

bool ry_activation_bounds(ry_activation_of activation, float *low, float *high)
{
    *low = -INFINITY;
    *high = INFINITY;
    if (activation.kind == RY_activation_relu) {
        *low = 0;
    } else if (activation.kind == RY_activation_clip) {
        *low = activation.alpha;
        *high = activation.beta;
    }
    return activation.kind == RY_activation_none || activation.kind == RY_activation_relu ||
           activation.kind == RY_activation_clip;
}
