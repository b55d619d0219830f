/* SPDX-License-Identifier: Apache-2.0 */
/* The coefficients as they were fitted. */
#include "kernels/costs.h"

#define RY_COSTS(family) .family = {
#define RY_COSTS_END(family) \
    }                        \
    ,

static const ry_costs columns[RY_COST_COLUMNS] = {
    {
#define RY_COST(name, parts, lines, intel) .name = parts,
#include "kernels/costs.inc"
#undef RY_COST
    },
    {
#define RY_COST(name, parts, lines, intel) .name = lines,
#include "kernels/costs.inc"
#undef RY_COST
    },
    {
#define RY_COST(name, parts, lines, intel) .name = intel,
#include "kernels/costs.inc"
#undef RY_COST
    },
};

const ry_costs *ry_costs_fitted(ry_cost_column column)
{
    return &columns[column];
}
