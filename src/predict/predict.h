/* SPDX-License-Identifier: Apache-2.0 */
/* How long a kernel takes, from what it counts. */
#ifndef RY_PREDICT_PREDICT_H
#define RY_PREDICT_PREDICT_H

#include "kernels/kernel.h"
#include "wisdom/profile.h"

/* Seconds of each phase of a kernel on one worker. */
void ry_predict_phases(const ry_kernel *kernel, const ry_problem *problem, const ry_prepared *prepared, const ry_profile *profile,
                       double seconds[RY_MAX_PHASES]);

#endif
