/* SPDX-License-Identifier: Apache-2.0 */
/* Errors are products, so that their logarithms are added: a step's time is its prediction, times
 * what its kernel's family is off on this problem, times what the machine is off. */
#include "predict/forecast.h"

#include <math.h>
#include <string.h>

typedef struct residual {
    const char *architecture; /* architecture of the measured machine; "": any other */
    const char *family;       /* beginning of the names that it is for; "": all others */
    double factor;            /* arithmetic measured over counted */
    double spread;            /* standard deviation of the logarithm of what is left then */
} residual;

/* clang-format off */
static const residual residuals[] = {
#define RY_RESIDUAL(architecture, family, factor, spread) {architecture, family, factor, spread},
#include "predict/residuals.inc"
#undef RY_RESIDUAL
};
/* clang-format on */
#define RESIDUALS (sizeof residuals / sizeof *residuals)

/* Both by hand; with them 88% of 43 networks' times were in their interval of 90%
 * (docs/notes/2026-11-25-prediction.md). What a machine is off from its figures: all steps
 * together.
 */
static const double MACHINE_SPREAD = 0.04;
/* Share of a family's variance that is common to all its steps in a network. */
static const double COMMON_SHARE = 0.3;
/* Standard deviations to each side that hold the coverage of a normal distribution. */
static const double SIDES = 1.645;

size_t ry_forecast_families(void)
{
    return RYND_MACHINE_FAMILIES + RESIDUALS;
}

/* The machine's own row for a family; NULL: it has none. */
static const rynd_family_error *calibrated(const ry_machine *machine, const ry_kernel *kernel)
{
    for (unsigned i = 0; i < machine->family_count; i++) {
        if (strcmp(machine->families[i].family, kernel->family) == 0) {
            return &machine->families[i];
        }
    }
    return NULL;
}

static bool is_for(const residual *r, const char *architecture, const char *family)
{
    return strcmp(r->architecture, architecture) == 0 &&
           strncmp(family, r->family, strlen(r->family)) == 0;
}

/* The first row for the machine's architecture and the family; without one that of any. */
static size_t find(const ry_machine *machine, const ry_kernel *kernel)
{
    const char *const architectures[] = {machine->architecture, ""};
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < RESIDUALS; i++) {
            if (is_for(&residuals[i], architectures[k], kernel->family)) {
                return i;
            }
        }
    }
    return RESIDUALS - 1;
}

/* `index` receives the row's number among ry_forecast_families(). */
static ry_residual row_of(const ry_machine *machine, const ry_kernel *kernel, size_t *index)
{
    const rynd_family_error *own = calibrated(machine, kernel);
    const size_t row = own ? 0 : find(machine, kernel);
    *index = own ? (size_t)(own - machine->families) : RYND_MACHINE_FAMILIES + row;
    return own ? (ry_residual){(double)own->factor, (double)own->spread}
               : (ry_residual){residuals[row].factor, residuals[row].spread};
}

ry_residual ry_forecast_residual(const ry_machine *machine, const ry_kernel *kernel)
{
    size_t index;
    return row_of(machine, kernel, &index);
}

double ry_forecast_calibrated(const ry_machine *machine, const ry_kernel *kernel)
{
    const rynd_family_error *own = calibrated(machine, kernel);
    return own ? (double)own->factor : 1;
}

static ry_forecast around(double seconds, double spread)
{
    const double side = exp(SIDES * spread);
    return (ry_forecast){seconds, seconds / side, seconds * side};
}

ry_forecast ry_forecast_step(const ry_machine *machine, const ry_kernel *kernel, double seconds)
{
    return around(seconds, hypot(ry_forecast_residual(machine, kernel).spread, MACHINE_SPREAD));
}

void ry_forecast_add(ry_forecast_sum *sum, const ry_machine *machine, const ry_kernel *kernel,
                     double seconds)
{
    size_t row;
    const double off = seconds * row_of(machine, kernel, &row).spread;
    sum->seconds += seconds;
    sum->variance += (1 - COMMON_SHARE) * off * off;
    sum->family[row] += off;
}

ry_forecast ry_forecast_end(const ry_forecast_sum *sum)
{
    double variance = sum->variance;
    for (size_t i = 0; i < ry_forecast_families(); i++) {
        variance += COMMON_SHARE * sum->family[i] * sum->family[i];
    }
    const double spread = sum->seconds > 0 ? sqrt(variance) / sum->seconds : 0;
    return around(sum->seconds, hypot(spread, MACHINE_SPREAD));
}
