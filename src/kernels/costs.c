/* SPDX-License-Identifier: Apache-2.0 */
/* The coefficients as they were fitted. */
#include "kernels/costs.h"

#include "kernels/cpu/parts/tile_lines.h"

#define RY_COSTS(family) .family = {
#define RY_COSTS_END(family) \
    }                        \
    ,

static const ry_costs of_parts = {
#define RY_COST(name, part, line) .name = part,
#include "kernels/costs.inc"
#undef RY_COST
};

static const ry_costs of_lines = {
#define RY_COST(name, part, line) .name = line,
#include "kernels/costs.inc"
#undef RY_COST
};

const ry_costs *ry_costs_of(int64_t width)
{
    return width < RY_LINE_FLOATS ? &of_parts : &of_lines;
}
