/* SPDX-License-Identifier: Apache-2.0 */
/* The energy roofline (Choi, Bedard, Fowler and Vuduc, 2013): joules of operations and of bytes are
 * added, as they do not hide each other, and static power is paid for all of the time. */
#include "predict/energy.h"

#include <math.h>

/* Standard deviations to each side that hold the coverage of a normal distribution. */
static const double SIDES = 1.645;

double ry_energy_watts(const ry_machine *machine, unsigned threads, const ry_time *time)
{
    const double arithmetic = ry_machine_rate(&machine->watts, machine, threads),
                 memory = machine->memory_watts.one > 0
                              ? ry_machine_rate(&machine->memory_watts, machine, threads)
                              : arithmetic;
    const double both = time->arithmetic + time->memory, share = both > 0 ? time->memory / both : 0;
    return arithmetic + share * (memory - arithmetic);
}

ry_joules ry_energy_predict(const ry_machine *machine, unsigned threads, const ry_time *time,
                            const ry_forecast *forecast)
{
    if (machine->energy_spread <= 0) {
        const double watts = ry_energy_watts(machine, threads, time);
        return (ry_joules){watts * forecast->median, watts * forecast->low, watts * forecast->high};
    }
    const double watts = ry_machine_rate(&machine->static_watts, machine, threads);
    double work = 0;
    for (int i = 0; i < RYND_ENERGY_KINDS; i++) {
        work += machine->energy[i] * time->does[i];
    }
    const double median = watts * forecast->median + work;
    if (median <= 0) {
        return (ry_joules){0};
    }
    /* errors of time and of energy are independent */
    const double off = SIDES * machine->energy_spread,
                 low = hypot(off, log(median / (watts * forecast->low + work))),
                 high = hypot(off, log((watts * forecast->high + work) / median));
    return (ry_joules){median, median * exp(-low), median * exp(high)};
}
