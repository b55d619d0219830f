/* SPDX-License-Identifier: Apache-2.0 */
/* How long references take. */
#ifndef RY_KERNELS_REF_REF_COSTS_H
#define RY_KERNELS_REF_REF_COSTS_H

#include "problem/problem.h"

/* Seconds of a problem's reference on one thread. */
double ry_ref_seconds(const ry_problem *problem);

#endif
