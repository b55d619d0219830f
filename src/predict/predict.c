/* SPDX-License-Identifier: Apache-2.0 */
/* Time as arithmetic and memory, which mostly hide each other (the roofline of Williams, Waterman and Patterson, 2009), at the rates of the machine. */
#include "predict/predict.h"

/* Of the peak, what a kernel reaches that does not count its own work: loads, stores and edges share its time. */
static const double EFFICIENCY = 0.75;

/* Of either, what a reference reaches, a plain loop over elements. */
static const double REFERENCE_EFFICIENCY = 0.01;

/* Written and read back from the cache behind: half the rate of reading alone. */
static const double READ_SHARE = 0.5;

/* Of the shorter of arithmetic and memory, what the longer does not hide. */
static const double EXPOSED = 0.125;

/* Of a core, where so many of them work. */
static double per_core(rynd_rate rate, const ry_machine *machine, unsigned threads)
{
    return threads > 1 && rate.all > 0 && machine->cores > 0 ? rate.all / machine->cores : rate.one;
}

/* Of the cache behind the cores' own, or of memory, for all threads together. */
static double memory_rate(const ry_machine *machine, unsigned threads)
{
    const rynd_rate near = machine->level[RYND_LEVEL_L3].bandwidth, far = machine->level[RYND_LEVEL_DRAM].bandwidth;
    return near.one > 0 ? per_core(near, machine, threads) * READ_SHARE * threads : per_core(far, machine, threads) * threads;
}

static double overlapped(double arithmetic, double memory)
{
    return arithmetic > memory ? arithmetic + EXPOSED * memory : memory + EXPOSED * arithmetic;
}

/* How much longer the arithmetic of a phase takes on so many threads than an even share: the last round of tasks leaves some idle. */
static double unevenness(size_t tasks, unsigned threads)
{
    const size_t rounds = (tasks + threads - 1) / threads;
    return tasks ? (double)(rounds * threads) / (double)tasks : 1;
}

static double run_seconds(const ry_prepared *prepared, const ry_machine *machine, unsigned threads)
{
    const double work = prepared->work > 0 ? prepared->work : prepared->counts.flop / EFFICIENCY;
    double uneven = 0;
    for (int i = 0; i < prepared->phases; i++) {
        uneven += unevenness(prepared->tasks[i], threads) / prepared->phases;
    }
    const double arithmetic = work * uneven / (per_core(machine->f32, machine, threads) * threads);
    const double seconds = overlapped(arithmetic, prepared->counts.bytes / memory_rate(machine, threads));
    return prepared->kernel->reference ? seconds / REFERENCE_EFFICIENCY : seconds;
}

static double pack_seconds(const ry_prepared *prepared, const ry_machine *machine, unsigned threads)
{
    double bytes = (double)prepared->packed;
    const unsigned packs = ry_kernel_packs(prepared->kernel, prepared->problem);
    for (int i = 0; packs >> i; i++) {
        bytes += packs >> i & 1u ? (double)ry_tensor_bytes(&prepared->problem->in[i]) : 0;
    }
    const double arithmetic =
        prepared->pack_work * unevenness(prepared->pack_tasks, threads) / (per_core(machine->f32, machine, threads) * threads);
    return prepared->packs ? overlapped(arithmetic, bytes / memory_rate(machine, threads)) : 0;
}

double ry_predict_seconds(const ry_prepared *prepared, const ry_machine *machine)
{
    return pack_seconds(prepared, machine, 1) + run_seconds(prepared, machine, 1);
}

double ry_predict_time(const ry_prepared *prepared, const ry_machine *machine, unsigned threads)
{
    const int phases = prepared->phases + prepared->packs;
    const double regions = threads > 1 ? machine->region_seconds * phases : 0;
    return pack_seconds(prepared, machine, threads) + run_seconds(prepared, machine, threads) + regions;
}

void ry_predict_phases(const ry_prepared *prepared, const ry_machine *machine, double seconds[RY_MAX_PHASES + 1])
{
    const double each = run_seconds(prepared, machine, 1) / prepared->phases;
    seconds[0] = pack_seconds(prepared, machine, 1);
    for (int i = 0; i < prepared->phases; i++) {
        seconds[i + prepared->packs] = each;
    }
}
