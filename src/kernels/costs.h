/* SPDX-License-Identifier: Apache-2.0 */
/* The fitted coefficients that kernels count their work with, beside what follows from the problem
 * and the machine (costs.inc). */
#ifndef RY_KERNELS_COSTS_H
#define RY_KERNELS_COSTS_H

#include <stdint.h>

typedef struct ry_costs {
#define RY_COSTS(family)          struct ry_##family##_costs {
#define RY_COST(name, part, line) double name;
#define RY_COSTS_END(family) \
    }                        \
    family;
/* clang-format off */
#include "kernels/costs.inc"
/* clang-format on */
#undef RY_COSTS
#undef RY_COST
#undef RY_COSTS_END
} ry_costs;

/* Those of vectors of `width` floats. bench/fit has its own, which it changes. */
const ry_costs *ry_costs_of(int64_t width);

#endif
