/* SPDX-License-Identifier: Apache-2.0 */
/* Occupancy from a machine's registers, work-items and local memory. */
#include "machine/occupancy.h"

#include <math.h>
#include <string.h>

/* Registers are handed out in eights (CUDA Occupancy Calculator; RDNA 2 ISA guide); an item has 255
 * at most. From 8.0 on CUDA keeps 1 KiB of local memory for itself in each group. */
enum { REGISTER_STEP = 8, MOST_REGISTERS = 255, CUDA_RESERVED = 1024 };
/* Schedulers of a unit: NVIDIA's from 5.0 on; SIMDs of AMD's. Intel's units are one each. */
enum { SCHEDULERS = 4 };

bool ry_machine_has_waves(const ry_machine *machine)
{
    return machine->step_items > 1 && machine->unit_items > 0 && machine->unit_registers > 0;
}

static double units_of_group(const ry_machine *machine)
{
    return machine->group_units > 0 ? machine->group_units : 1;
}

double ry_machine_group_places(const ry_machine *machine)
{
    return fmax(floor(machine->cores / units_of_group(machine)), 1);
}

static double rounded(double value, double step)
{
    return ceil(value / step) * step;
}

unsigned ry_machine_unit_groups(const ry_machine *machine, const ry_group_needs *needs)
{
    const double units = units_of_group(machine),
                 items = rounded(fmax(needs->items, 1), machine->step_items),
                 registers =
                     rounded(fmin(fmax(needs->registers, 1), MOST_REGISTERS), REGISTER_STEP),
                 local = (double)machine->level[RYND_LEVEL_L1].bytes,
                 reserved = strcmp(machine->isa, "cuda") == 0 ? CUDA_RESERVED : 0,
                 by_items = machine->unit_items * units / items,
                 by_registers = machine->unit_registers * units / (items * registers),
                 by_local = needs->local > 0 && local > 0
                                ? local / ((double)needs->local + reserved)
                                : INFINITY;
    return (unsigned)fmax(floor(fmin(fmin(by_items, by_registers), by_local)), 1);
}

/* So many groups at once on one unit, as if `full` at least. */
static double round_of(const ry_groups *groups, double together)
{
    return together > 0 ? fmax(fmax(together, groups->full) * groups->seconds, groups->latency) : 0;
}

double ry_machine_waves(const ry_machine *machine, const ry_groups *groups, unsigned resident)
{
    const double each = ceil(groups->count / ry_machine_group_places(machine)),
                 waves = floor(each / resident);
    return waves * round_of(groups, resident) + round_of(groups, each - waves * resident);
}

double ry_machine_warps(const ry_machine *machine, unsigned items)
{
    const double schedulers = machine->group_units > 0 ? machine->group_units : SCHEDULERS;
    return ceil(fmax(items, 1) / machine->step_items) / schedulers;
}

double ry_machine_launch(const ry_machine *machine, bool recorded)
{
    return recorded && machine->replay_seconds > 0 ? machine->replay_seconds
                                                   : machine->region_seconds;
}
