/* SPDX-License-Identifier: Apache-2.0 */
/* What a convolution's geometry says about packed weights (packing.h). */
#ifndef RY_KERNELS_CPU_PARTS_CONV_PACKING_H
#define RY_KERNELS_CPU_PARTS_CONV_PACKING_H

#include "kernels/cpu/parts/conv_geometry.h"

/* Adds the channels, the window and the steps of the weights; `taps` (NULL: they follow from the
 * window): where each tap's weight is. */
void ry_conv_packing_add(const ry_conv_geometry *geometry, const ry_conv_tap *taps, ry_text *key);

#endif
