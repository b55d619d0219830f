/* SPDX-License-Identifier: Apache-2.0 */
/* What the activations of a problem's outputs take. */
#ifndef RY_PREDICT_ACTIVATION_PRICE_H
#define RY_PREDICT_ACTIVATION_PRICE_H

#include "kernels/costs.h"

/* Operations at a core's peak, all threads together. Every method that stores the outputs pays for
 * them, so they decide no choice. 0: the operator has no activation, or a bound. */
double ry_activation_work(const ry_problem *problem, ry_cost_column column);

#endif
