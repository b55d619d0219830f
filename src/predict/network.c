/* SPDX-License-Identifier: Apache-2.0 */
/* In a network nothing is used twice in a row: tensors of a step were written by other cores, and
 * the arena gives outputs memory that others had. So less is near than where a problem runs again
 * and again, and less is hidden. */
#include "predict/network.h"

#include "kernels/gpu/gpu_waves.h"
#include "machine/occupancy.h"

#include <string.h>

static const struct {
#define RY_NETWORK_COST(name, value) double name;
#include "predict/network_costs.inc"
#undef RY_NETWORK_COST
} cost = {
#define RY_NETWORK_COST(name, value) .name = value,
#include "predict/network_costs.inc"
#undef RY_NETWORK_COST
};

/* `other` replaces an unknown value. */
static double known(double value, double other)
{
    return value > 0 ? value : other;
}

/* GPUs, by hand: a launch's cost is all that a step takes beside its groups. */
static const ry_network_fit gpu_fit = {
    .step = 0, .kept = 0.5, .exposed = RY_GPU_EXPOSED, .rate = 1, .region = 1};

ry_network_fit ry_network_fit_of(const ry_machine *machine)
{
    if (ry_machine_has_waves(machine)) {
        return (ry_network_fit){known(machine->network_step, gpu_fit.step),
                                known(machine->network_kept, gpu_fit.kept),
                                known(machine->network_exposed, gpu_fit.exposed),
                                known(machine->network_rate, gpu_fit.rate), gpu_fit.region};
    }
    return (ry_network_fit){
        known(machine->network_step, cost.lines * machine->level[RYND_LEVEL_DRAM].latency.one),
        known(machine->network_kept, cost.own), known(machine->network_exposed, cost.exposed),
        known(machine->network_rate, cost.rate), known(machine->network_region, cost.region)};
}

/* Shares of data that still are in the cores' own caches, in the shared cache, and in memory. */
typedef struct shares {
    double own, shared, far;
} shares;

/* Finds data that comes again after `around` bytes. */
static shares find(const ry_machine *machine, const ry_network_fit *fit, double around)
{
    const double l2 = fit->kept * (double)ry_machine_level_bytes(machine, RYND_LEVEL_L2),
                 l3 = (double)ry_machine_level_bytes(machine, RYND_LEVEL_L3),
                 limit = cost.shared * 0x1p20 * (machine->cores > 0 ? machine->cores : 1);
    const double own = ry_machine_kept_share(around, l2),
                 shared = l3 > 0
                              ? ry_machine_kept_share(around, l3 < limit ? l3 : limit) * (1 - own)
                              : 0;
    return (shares){own, shared, 1 - own - shared};
}

/* Adds the seconds and bytes of data that comes again after `around` bytes. */
static void move(const ry_machine *machine, const ry_network_fit *fit, unsigned threads,
                 double bytes, double around, ry_time *time)
{
    const shares in = find(machine, fit, around);
    const double near = ry_machine_rate(&machine->level[RYND_LEVEL_L3].bandwidth, machine, threads),
                 far =
                     ry_machine_rate(&machine->level[RYND_LEVEL_DRAM].bandwidth, machine, threads);
    time->memory += (near > 0 ? bytes * in.shared * (1 - cost.near) / near : 0) +
                    (far > 0 ? bytes * in.far / (far * fit->rate) : 0);
    time->does[RYND_ENERGY_CACHE] += bytes * in.shared;
    time->does[RYND_ENERGY_MEMORY] += bytes * in.far;
}

/* Tensors: `own` bytes in all. Bytes that were touched since their last use compete for the caches.
 */
static void move_tensors(const ry_parts *parts, const ry_machine *machine,
                         const ry_network_fit *fit, unsigned threads, double own, ry_time *time)
{
    const double around = cost.around * parts->bytes;
    for (int i = 0; i < parts->reused_count && own > 0; i++) {
        const ry_reused *t = &parts->reused[i];
        const double bytes = t->bytes < own ? t->bytes : own;
        move(machine, fit, threads, bytes, around + t->since, time);
        own -= bytes;
    }
    move(machine, fit, threads, own, around, time);
}

/* The fit's start is that of a step whose code and tables come from memory. Where a run touches less
 * than the caches hold, they come from there, so much sooner. */
static double start_seconds(const ry_machine *machine, const ry_network_fit *fit, double around)
{
    const shares in = find(machine, fit, around);
    const double far = machine->level[RYND_LEVEL_DRAM].latency.one,
                 own = known(machine->level[RYND_LEVEL_L2].latency.one, far),
                 shared = known(machine->level[RYND_LEVEL_L3].latency.one, far);
    return far > 0 ? fit->step * (in.own * own + in.shared * shared + in.far * far) / far
                   : fit->step;
}

ry_time ry_predict_in_network(const ry_parts *parts, const ry_machine *machine, unsigned threads,
                              double factor, double network_bytes)
{
    const double own = parts->bytes > parts->raw ? parts->bytes - parts->raw : 0,
                 again = network_bytes > parts->bytes ? network_bytes : parts->bytes;
    const ry_network_fit fit = ry_network_fit_of(machine);
    ry_time time = {
        .arithmetic = parts->arithmetic * factor,
        .overhead = parts->overhead * fit.region + start_seconds(machine, &fit, again),
    };
    memcpy(time.does, parts->does, sizeof time.does);
    move_tensors(parts, machine, &fit, threads, own, &time);
    move(machine, &fit, threads, parts->packed, cost.around * parts->packed, &time);
    move(machine, &fit, threads, parts->read, again, &time);
    const double longer = time.arithmetic > time.memory ? time.arithmetic : time.memory,
                 shorter = time.arithmetic > time.memory ? time.memory : time.arithmetic;
    time.all = parts->pack + longer + fit.exposed * shorter + time.overhead;
    return time;
}
