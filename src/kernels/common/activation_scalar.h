/* SPDX-License-Identifier: Apache-2.0 */
/* Activations (problem/activations.inc) of one number, by their definition in float64. */
#ifndef RY_KERNELS_COMMON_ACTIVATION_SCALAR_H
#define RY_KERNELS_COMMON_ACTIVATION_SCALAR_H

#include "problem/attrs.h"

/* a, b: act_alpha and act_beta of the attributes. */
double ry_activation_scalar(ry_activation activation, double a, double b, double x);

#endif
