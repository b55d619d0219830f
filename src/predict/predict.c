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

static double overlapped(double work, double bytes, const ry_machine *machine)
{
    const double near = machine->level[RYND_LEVEL_L3].bandwidth.one;
    const double rate = near > 0 ? near * READ_SHARE : machine->level[RYND_LEVEL_DRAM].bandwidth.one;
    const double arithmetic = work / machine->f32.one, memory = bytes / rate;
    return arithmetic > memory ? arithmetic + EXPOSED * memory : memory + EXPOSED * arithmetic;
}

static double run_seconds(const ry_prepared *prepared, const ry_machine *machine)
{
    const double work = prepared->work > 0 ? prepared->work : prepared->counts.flop / EFFICIENCY;
    const double seconds = overlapped(work, prepared->counts.bytes, machine);
    return prepared->kernel->reference ? seconds / REFERENCE_EFFICIENCY : seconds;
}

static double pack_seconds(const ry_prepared *prepared, const ry_machine *machine)
{
    double bytes = (double)prepared->packed;
    const unsigned packs = ry_kernel_packs(prepared->kernel, prepared->problem);
    for (int i = 0; packs >> i; i++) {
        bytes += packs >> i & 1u ? (double)ry_tensor_bytes(&prepared->problem->in[i]) : 0;
    }
    return prepared->packs ? overlapped(prepared->pack_work, bytes, machine) : 0;
}

double ry_predict_seconds(const ry_prepared *prepared, const ry_machine *machine)
{
    return pack_seconds(prepared, machine) + run_seconds(prepared, machine);
}

void ry_predict_phases(const ry_prepared *prepared, const ry_machine *machine, double seconds[RY_MAX_PHASES + 1])
{
    const double each = run_seconds(prepared, machine) / prepared->phases;
    seconds[0] = pack_seconds(prepared, machine);
    for (int i = 0; i < prepared->phases; i++) {
        seconds[i + prepared->packs] = each;
    }
}
