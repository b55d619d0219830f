/* SPDX-License-Identifier: Apache-2.0 */
/* The magnitudes of the finite points beside 0. With six points 5/8 and 3/2 halve the error of the
 * usual 1 and 2 (docs/accuracy.md). */
#ifndef RY_KERNELS_CPU_PARTS_WINOGRAD_POINTS_H
#define RY_KERNELS_CPU_PARTS_WINOGRAD_POINTS_H

#define WINOGRAD_MAX_POINTS 8 /* points of one axis */
#define WINOGRAD_MAX_OUTPUTS \
    6 /* outputs of one axis: seven save few products and cost dearer transforms */

#define WINOGRAD_6_A 0.625f
#define WINOGRAD_6_B 1.5f
#define WINOGRAD_8_A 1.0f
#define WINOGRAD_8_B 2.0f
#define WINOGRAD_8_C 0.5f

#endif
