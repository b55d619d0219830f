/* SPDX-License-Identifier: Apache-2.0 */
/* Errors are products, so that their logarithms are added: a step's time is its prediction times a
 * factor of its kernel's family, times what this family is off on this problem, times what the
 * machine is off. */
#include "predict/forecast.h"

#include "kernels/cpu/parts/tile_lines.h"

#include <math.h>
#include <string.h>

typedef struct residual {
    const char *family; /* beginning of the names that it is for; "": all others */
    struct {
        double factor; /* measured over predicted, the geometric mean */
        double spread; /* standard deviation of its logarithm */
    } part, line;      /* where vectors are shorter than a cache line, and where they are lines */
} residual;

/* clang-format off */
static const residual residuals[] = {
#define RY_RESIDUAL(family, part_factor, part_spread, line_factor, line_spread) \
    {#family, {part_factor, part_spread}, {line_factor, line_spread}},
#define RY_OTHER_RESIDUAL(part_factor, part_spread, line_factor, line_spread) \
    {"", {part_factor, part_spread}, {line_factor, line_spread}},
#include "predict/residuals.inc"
#undef RY_RESIDUAL
#undef RY_OTHER_RESIDUAL
};
/* clang-format on */
#define RESIDUALS (sizeof residuals / sizeof *residuals)

/* What a machine is off from its figures: all steps together. */
static const double MACHINE_SPREAD = 0.04;
/* Of a family's spread (as a variance), what all its steps in one network have in common. */
static const double COMMON_SHARE = 0.3;
/* Standard deviations to each side that hold the coverage of a normal distribution. */
static const double SIDES = 1.645;

size_t ry_forecast_families(void)
{
    return RESIDUALS;
}

static size_t find(const ry_kernel *kernel)
{
    size_t i = 0;
    while (i + 1 < RESIDUALS &&
           strncmp(kernel->family, residuals[i].family, strlen(residuals[i].family)) != 0) {
        i++;
    }
    return i;
}

static double factor_of(const ry_kernel *kernel)
{
    const residual *r = &residuals[find(kernel)];
    return kernel->simd.width < RY_LINE_FLOATS ? r->part.factor : r->line.factor;
}

static double spread_of(const ry_kernel *kernel)
{
    const residual *r = &residuals[find(kernel)];
    return kernel->simd.width < RY_LINE_FLOATS ? r->part.spread : r->line.spread;
}

static ry_forecast around(double seconds, double spread)
{
    const double side = exp(SIDES * spread);
    return (ry_forecast){seconds, seconds / side, seconds * side};
}

ry_forecast ry_forecast_step(const ry_kernel *kernel, double seconds)
{
    return around(factor_of(kernel) * seconds, hypot(spread_of(kernel), MACHINE_SPREAD));
}

void ry_forecast_add(ry_forecast_sum *sum, const ry_kernel *kernel, double seconds)
{
    const double own = factor_of(kernel) * seconds, off = own * spread_of(kernel);
    sum->seconds += own;
    sum->variance += (1 - COMMON_SHARE) * off * off;
    sum->family[find(kernel)] += off;
}

ry_forecast ry_forecast_end(const ry_forecast_sum *sum)
{
    double variance = sum->variance;
    for (size_t i = 0; i < RESIDUALS; i++) {
        variance += COMMON_SHARE * sum->family[i] * sum->family[i];
    }
    const double spread = sum->seconds > 0 ? sqrt(variance) / sum->seconds : 0;
    return around(sum->seconds, hypot(spread, MACHINE_SPREAD));
}
