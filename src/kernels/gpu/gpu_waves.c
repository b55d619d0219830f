/* SPDX-License-Identifier: Apache-2.0 */
/* Phases in waves. A kernel that states no registers has few: it moves elements. */
#include "kernels/gpu/gpu_waves.h"

#include "kernels/gpu/gpu_costs.h"
#include "machine/occupancy.h"

#include <math.h>

/* Registers of an item of simple kernels. */
enum { FEW_REGISTERS = 40 };

bool ry_gpu_in_waves(const ry_prepared *prepared, const ry_machine *machine)
{
    return prepared->kernel->device == RY_DEVICE_gpu && ry_machine_has_waves(machine);
}

unsigned ry_gpu_resident(const ry_prepared *prepared, const ry_machine *machine, int phase)
{
    const ry_gpu_use *use = &prepared->use[phase];
    const ry_group_needs needs = {prepared->group[phase],
                                  use->registers ? use->registers : FEW_REGISTERS, use->local};
    return ry_machine_unit_groups(machine, &needs);
}

static bool counts_work(const ry_prepared *prepared)
{
    bool counts = false;
    for (int i = 0; i < prepared->phases; i++) {
        counts = counts || prepared->work[i].all > 0;
    }
    return counts;
}

/* Seconds of the second cache's traffic: few groups reach their own units' rates only. */
static double near_seconds(const ry_gpu_use *use, const ry_machine *machine, double count)
{
    const rynd_rate *near = &machine->level[RYND_LEVEL_L2].bandwidth;
    const double places = ry_machine_group_places(machine),
                 share = ry_gpu_costs_of(machine)->wave_near,
                 rate = share * near->all * fmin(count, places) / places;
    return rate > 0 ? use->near / rate : 0;
}

/* Groups at once on a unit that begin instructions at its full rate. */
static double full_groups(const ry_prepared *prepared, const ry_machine *machine, int phase)
{
    const ry_gpu_costs *cost = ry_gpu_costs_of(machine);
    const double warps = prepared->use[phase].many_sums ? cost->tile_warps : cost->wave_warps;
    return warps / ry_machine_warps(machine, prepared->group[phase]);
}

double ry_gpu_phase_seconds(const ry_prepared *prepared, const ry_machine *machine, int phase)
{
    const ry_gpu_use *use = &prepared->use[phase];
    const ry_gpu_costs *cost = ry_gpu_costs_of(machine);
    const double work = counts_work(prepared) ? prepared->work[phase].all
                        : phase == 0          ? prepared->counts.flop / cost->wave_reached
                                              : 0;
    if (prepared->tasks[phase] == 0) {
        return 0;
    }
    const double count = (double)prepared->tasks[phase],
                 place = machine->f32.all / ry_machine_group_places(machine);
    const ry_groups groups = {count, work / count / place,
                              use->latency > 0
                                  ? use->latency
                                  : cost->wave_waits * machine->level[RYND_LEVEL_DRAM].latency.one,
                              full_groups(prepared, machine, phase)};
    return fmax(ry_machine_waves(machine, &groups, ry_gpu_resident(prepared, machine, phase)),
                near_seconds(use, machine, count));
}

double ry_gpu_kept_bytes(const ry_machine *machine)
{
    return ry_gpu_costs_of(machine)->wave_kept *
           (double)ry_machine_level_bytes(machine, RYND_LEVEL_L2);
}

double ry_gpu_form_seconds(const ry_prepared *prepared, const ry_machine *machine, bool recorded)
{
    const double far = machine->level[RYND_LEVEL_DRAM].bandwidth.all,
                 kept = ry_machine_kept_share(prepared->counts.bytes, ry_gpu_kept_bytes(machine)),
                 memory = far > 0 ? prepared->counts.bytes * (1 - kept) / far : 0;
    double seconds = 0;
    for (int i = 0; i < prepared->phases; i++) {
        seconds += ry_gpu_phase_seconds(prepared, machine, i);
    }
    return fmax(seconds, memory) + RY_GPU_EXPOSED * fmin(seconds, memory) +
           prepared->phases * ry_machine_launch(machine, recorded);
}
