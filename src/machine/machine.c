/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from a machine's numbers. */
#include "machine/machine.h"

#include "base/integer.h"

#include <math.h>

const char *ry_level_name(rynd_level level)
{
    static const char *const names[RYND_LEVELS] = {"l1", "l2", "l3", "dram"};
    return names[level];
}

double ry_machine_rate(const rynd_rate *rate, const ry_machine *machine, unsigned threads)
{
    const unsigned cores = machine->cores, used = threads < cores ? threads : cores;
    return cores > 1 && used > 1 ? rate->one + (rate->all - rate->one) * (used - 1) / (cores - 1)
                                 : rate->one;
}

unsigned ry_machine_slots(const ry_machine *machine, unsigned cores)
{
    return cores * (machine->unit_groups ? machine->unit_groups : 1);
}

size_t ry_machine_level_bytes(const ry_machine *machine, rynd_level level)
{
    const rynd_memory_level *l = &machine->level[level];
    return l->shared_by ? l->bytes * ((machine->cores + l->shared_by - 1) / l->shared_by) : 0;
}

size_t ry_machine_kept_bytes(const ry_machine *machine)
{
    const size_t own = ry_machine_level_bytes(machine, RYND_LEVEL_L2),
                 shared = ry_machine_level_bytes(machine, RYND_LEVEL_L3) / 4;
    return own > shared ? own : shared;
}

bool ry_machine_exceeds_cache(const ry_machine *machine, double bytes)
{
    return bytes > (double)ry_machine_kept_bytes(machine);
}

int64_t ry_machine_core_bytes(const ry_machine *machine, rynd_level level)
{
    static const int64_t least[RYND_LEVELS] = {
        [RYND_LEVEL_L1] = 32 << 10, [RYND_LEVEL_L2] = 256 << 10};
    const rynd_memory_level *l = &machine->level[level];
    return l->bytes > 0 && l->shared_by > 0 ? (int64_t)l->bytes / l->shared_by : least[level];
}

int64_t ry_machine_task_products(const ry_machine *machine, double times)
{
    const double products = times * machine->task_seconds * machine->f32.one / 2;
    return ry_max(1, (int64_t)fmin(products, 0x1p40));
}

/* A task's share of the second-level cache (1/16), tasks for each core, and a task's least time in
 * units of task_seconds. */
enum { TASK_SHARE = 16, TASKS_EACH = 4, TASK_TIMES = 8 };

int64_t ry_machine_task_bytes(const ry_machine *machine, double bytes)
{
    const rynd_memory_level *l2 = &machine->level[RYND_LEVEL_L2];
    const double each = bytes / (TASKS_EACH * (machine->cores > 0 ? machine->cores : 1));
    const int64_t most = ry_machine_core_bytes(machine, RYND_LEVEL_L2) / TASK_SHARE;
    const int64_t cheap = (int64_t)(TASK_TIMES * machine->task_seconds * l2->bandwidth.one);
    const int64_t least = ry_max(cheap, ry_machine_core_bytes(machine, RYND_LEVEL_L1));
    return ry_max(least, each < (double)most ? (int64_t)each : most);
}
