/* SPDX-License-Identifier: Apache-2.0 */
/* Coefficients at a machine's rates. A coefficient counts multiply-adds of the machine that it was
 * fitted on; another machine may take more or fewer of its own for the same moves. */
#include "kernels/costs.h"

#include "kernels/cpu/parts/tile_lines.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* The machine of each column's measurements in bench/results/: of all families but quantised layers,
 * and of these. */
typedef struct fit_machine {
    const char *architecture;
    ry_isa isa;
} fit_machine;

enum { OTHERS, QUANTISED, FITS };

static const fit_machine fitted_on[FITS][RY_COST_COLUMNS] = {
    [OTHERS] = {{"Zen 4", RY_ISA_avx2},
                {"Zen 4", RY_ISA_avx512},
                {"Sapphire Rapids", RY_ISA_avx512}},
    [QUANTISED] = {{"Zen 5", RY_ISA_avx2},
                   {"Zen 5", RY_ISA_avx512},
                   {"Sapphire Rapids", RY_ISA_avx512}},
};

/* clang-format off */
static const struct {
    size_t offset; /* in ry_costs */
    int kind;
} rows[] = {
#define RY_COST_KIND(family, row, kind) {offsetof(ry_costs, family.row), kind},
#include "kernels/cost_kinds.inc"
#undef RY_COST_KIND
};
/* clang-format on */

/* What a column's scales depend on. */
typedef struct rates {
    unsigned vector_bytes;
    rynd_rate f32, kind[RYND_KINDS];
    rynd_memory_level level[RYND_LEVELS];
} rates;

/* A cache of one machine a thread: the same machine gives the same costs. */
static _Thread_local struct {
    bool filled, same; /* same: all scales are 1 */
    rates of;
    ry_costs costs;
} scaled[RY_COST_COLUMNS];

static _Thread_local struct {
    int kind;
    double factor;
} weighed = {-1, 1};

void ry_costs_weigh(int kind, double factor)
{
    weighed.kind = kind;
    weighed.factor = factor;
    ry_costs_changed();
}

double ry_cost_weight(int kind)
{
    return kind == weighed.kind ? weighed.factor : 1;
}

/* Does an operation of the kind take a whole vector? */
static bool is_of_vectors(int kind)
{
    return kind < RYND_KINDS && kind != RYND_KIND_GATHER && kind != RYND_KIND_SCALAR &&
           kind != RYND_KIND_CALL;
}

/* Floating-point operations at the peak in the time of an operation of the kind, of one of its
 * lanes, or of a byte; 0: unknown. */
static double flops_of(const ry_machine *machine, int kind)
{
    const double rate = kind < RYND_KINDS
                            ? machine->kind[kind].one
                            : machine->level[RYND_LEVEL_L2 + kind - RY_COST_L2].bandwidth.one,
                 lanes = is_of_vectors(kind) ? machine->vector_bytes / 4.0 : 1;
    return rate > 0 && lanes > 0 ? machine->f32.one / (rate * lanes) : 0;
}

static double scale_from(const fit_machine *fit, const ry_machine *machine, int kind)
{
    const double steps = 32, most = 2;
    ry_machine reference;
    ry_machine_reference(fit->architecture, fit->isa, &reference);
    const double own = flops_of(machine, kind), fitted = flops_of(&reference, kind);
    if (own <= 0 || fitted <= 0) {
        return 1;
    }
    const double octaves = log2(own / fitted);
    return exp2(fmax(-most, fmin(most, round(octaves * steps) / steps)));
}

double ry_cost_scale(const ry_machine *machine, ry_cost_column column, int kind)
{
    return scale_from(&fitted_on[OTHERS][column], machine, kind);
}

static bool is_quantised(size_t offset)
{
    return offset >= offsetof(ry_costs, qconv) &&
           offset < offsetof(ry_costs, qconv) + sizeof(struct ry_qconv_costs);
}

static ry_cost_column fitted_column(const ry_machine *machine, int64_t width)
{
    return width < RY_LINE_FLOATS                         ? RY_COSTS_PARTS
           : strcmp(machine->vendor, "GenuineIntel") == 0 ? RY_COSTS_INTEL
                                                          : RY_COSTS_LINES;
}

static bool has_rates(const ry_machine *machine)
{
    return machine->kind[RYND_KIND_SCALAR].one > 0;
}

static void fill(const ry_machine *machine, ry_cost_column column)
{
    double scale[FITS][RY_COST_KINDS];
    scaled[column].costs = *ry_costs_fitted(column);
    scaled[column].same = true;
    for (int i = 0; i < FITS * RY_COST_KINDS; i++) {
        const int fit = i / RY_COST_KINDS, kind = i % RY_COST_KINDS;
        const double rate =
            has_rates(machine) ? scale_from(&fitted_on[fit][column], machine, kind) : 1;
        scale[fit][kind] = rate * ry_cost_weight(kind);
        scaled[column].same = scaled[column].same && scale[fit][kind] == 1;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double value;
        char *at = (char *)&scaled[column].costs + rows[i].offset;
        memcpy(&value, at, sizeof value);
        value *= scale[is_quantised(rows[i].offset) ? QUANTISED : OTHERS][rows[i].kind];
        memcpy(at, &value, sizeof value);
    }
}

static bool is_filled_for(const ry_machine *machine, ry_cost_column column)
{
    const rates *of = &scaled[column].of;
    return scaled[column].filled && of->vector_bytes == machine->vector_bytes &&
           memcmp(&of->f32, &machine->f32, sizeof of->f32) == 0 &&
           memcmp(of->kind, machine->kind, sizeof of->kind) == 0 &&
           memcmp(of->level, machine->level, sizeof of->level) == 0;
}

ry_cost_column ry_cost_column_of(const ry_machine *machine, int64_t width)
{
    const ry_cost_column column = fitted_column(machine, width);
    if (!has_rates(machine) && weighed.kind < 0) {
        return column;
    }
    if (!is_filled_for(machine, column)) {
        rates *of = &scaled[column].of;
        of->vector_bytes = machine->vector_bytes;
        of->f32 = machine->f32;
        memcpy(of->kind, machine->kind, sizeof of->kind);
        memcpy(of->level, machine->level, sizeof of->level);
        fill(machine, column);
        scaled[column].filled = true;
    }
    return scaled[column].same ? column : (ry_cost_column)(RY_COST_COLUMNS + column);
}

const ry_costs *ry_costs_of(ry_cost_column column)
{
    return column < RY_COST_COLUMNS ? ry_costs_fitted(column)
                                    : &scaled[column - RY_COST_COLUMNS].costs;
}

void ry_costs_changed(void)
{
    for (int i = 0; i < RY_COST_COLUMNS; i++) {
        scaled[i].filled = false;
    }
}
