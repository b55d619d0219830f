/* SPDX-License-Identifier: Apache-2.0 */
/* The fitted coefficients that kernels count their work with, beside what follows from the problem
 * and the machine (costs.inc). */
#ifndef RY_KERNELS_COSTS_H
#define RY_KERNELS_COSTS_H

#include "kernels/kernel.h"
#include "machine/machine.h"

/* The columns of the tables: whose vectors and cores a coefficient was fitted for. Work is in
 * multiply-adds, of which Intel's cores begin two of a line in a cycle, but move no more lines
 * meanwhile than those that begin one. */
typedef enum ry_cost_column {
    RY_COSTS_PARTS, /* vectors shorter than a cache line, and what has none */
    RY_COSTS_LINES, /* vectors that are lines */
    RY_COSTS_INTEL, /* the same, on Intel's cores */
    RY_COST_COLUMNS
} ry_cost_column;

typedef struct ry_costs {
#define RY_COSTS(family)                   struct ry_##family##_costs {
#define RY_COST(name, parts, lines, intel) double name;
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

/* The cost column for vectors of `width` floats (0: no vectors) on the machine. */
ry_cost_column ry_cost_column_of(const ry_machine *machine, int64_t width);

/* The costs of a column. bench/fit substitutes tables that it changes. The address depends on the
 * column alone, so that a compiler may ask once in a function. */
__attribute__((const)) const ry_costs *ry_costs_of(ry_cost_column column);

static inline const ry_costs *ry_costs_on(const ry_machine *machine, int64_t width)
{
    return ry_costs_of(ry_cost_column_of(machine, width));
}

/* What blocks are cut for (cpu/block_costs.inc). */
static inline const struct ry_blocks_costs *ry_blocks_of(ry_cost_column column)
{
    return &ry_costs_of(column)->blocks;
}

static inline const ry_costs *ry_costs_asked(const ry_query *query)
{
    return ry_costs_on(query->target->machine, query->kernel->simd.width);
}

#endif
