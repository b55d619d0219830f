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
    /* RY_COST_COLUMNS + column: that column at the rates of the machine for which this thread last
     * asked ry_cost_column_of() */
} ry_cost_column;

/* Kinds of operations that a coefficient counts (cost_kinds.inc), beside multiply-adds: the
 * machine's own kinds, and bytes from a level of memory. */
typedef enum ry_cost_kind {
    RY_COST_L2 = RYND_KINDS,
    RY_COST_L3,
    RY_COST_DRAM,
    RY_COST_KINDS
} ry_cost_kind;

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

/* The cost column for vectors of `width` floats (0: no vectors) on the machine. A machine of other
 * rates of kinds than the column's gets a column at its own rates. A plan's functions ask for their
 * target's machine before they read costs. */
ry_cost_column ry_cost_column_of(const ry_machine *machine, int64_t width);

/* The costs of a column. The address depends on the column alone, so that a compiler may ask once
 * in a function. */
__attribute__((const)) const ry_costs *ry_costs_of(ry_cost_column column);

/* The costs of a column as they were fitted. bench/fit substitutes tables that it changes, and says
 * so by ry_costs_changed(). */
__attribute__((const)) const ry_costs *ry_costs_fitted(ry_cost_column column);
void ry_costs_changed(void);

/* How many of its multiply-adds `machine` makes in the time of an operation of a kind, over those of
 * the machine of the column's fit: in steps of a 32nd of an octave, from a quarter to four; 1 where
 * a rate is unknown. Quantised layers were fitted on another machine. */
double ry_cost_scale(const ry_machine *machine, ry_cost_column column, int kind);

/* Until the next call coefficients of a kind count `factor` times, for this thread: how much the work
 * of a prepared form grows is what the kind takes of it (predict/work_kinds.h). kind -1: none. */
void ry_costs_weigh(int kind, double factor);

/* The factor of a kind for what has no coefficient; 1 but for the weighed one. */
double ry_cost_weight(int kind);

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
