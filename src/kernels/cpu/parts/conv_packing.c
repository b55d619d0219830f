/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/parts/conv_packing.h"

#include "kernels/packing.h"

void ry_conv_packing_add(const ry_conv_geometry *g, const ry_conv_tap *taps, ry_text *key)
{
    RY_PACKING_NUMBERS(key, g->groups, g->channels_in, g->channels_out, g->w_in, g->w_out,
                       g->w_group, g->w_first, g->phases, g->taps);
    ry_packing_add_numbers(key, g->kernel, RY_SPACE);
    ry_packing_add_numbers(key, g->w_step, RY_SPACE);
    for (int64_t t = 0; taps && t < g->taps; t++) {
        ry_packing_add_numbers(key, &taps[t].weight, 1);
    }
}
