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

double ry_predict_seconds(const ry_kernel *kernel, const ry_problem *problem, const ry_prepared *prepared, const ry_machine *machine)
{
    const ry_counts counts =
        kernel->counts ? kernel->counts(problem, prepared) : (ry_counts){ry_problem_flop(problem), ry_problem_bytes(problem)};
    const double work = prepared->work > 0 ? prepared->work : counts.flop / EFFICIENCY;
    const double near = machine->level[RYND_LEVEL_L3].bandwidth.one;
    const double rate = near > 0 ? near * READ_SHARE : machine->level[RYND_LEVEL_DRAM].bandwidth.one;
    const double arithmetic = work / machine->f32.one, memory = counts.bytes / rate;
    const double seconds = arithmetic > memory ? arithmetic + EXPOSED * memory : memory + EXPOSED * arithmetic;
    return kernel->rank > 0 ? seconds : seconds / REFERENCE_EFFICIENCY;
}

void ry_predict_phases(const ry_kernel *kernel, const ry_problem *problem, const ry_prepared *prepared, const ry_machine *machine,
                       double seconds[RY_MAX_PHASES])
{
    const double all = ry_predict_seconds(kernel, problem, prepared, machine);
    for (int i = 0; i < prepared->phases; i++) {
        seconds[i] = all / prepared->phases;
    }
}
