/* SPDX-License-Identifier: Apache-2.0 */
/* The coefficients as they were fitted. */
#include "kernels/costs.h"

static const ry_costs columns[RY_COST_COLUMNS] =
#include "kernels/cost_columns.inc"
    ;

const ry_costs *ry_costs_fitted(ry_cost_column column)
{
    return &columns[column];
}
