/* SPDX-License-Identifier: Apache-2.0 */
/* Time as the larger of arithmetic and memory (the roofline of Williams, Waterman and Patterson, 2009), at the rates of the machine's profile. */
#include "predict/predict.h"

/* Of the peak, what a step reaches that shares its time with loads, stores and edges. */
static const double efficiency = 0.6;

/* Written and read back from the cache behind: half the rate of reading alone. */
static const double read_share = 0.5;

void ry_predict_phases(const ry_kernel *kernel, const ry_problem *problem, const ry_prepared *prepared, const ry_profile *profile,
                       double seconds[RY_MAX_PHASES])
{
    const ry_counts counts =
        kernel->counts ? kernel->counts(problem, prepared) : (ry_counts){ry_problem_flop(problem), ry_problem_bytes(problem)};
    const double arithmetic = counts.flop / (profile->f32.one * efficiency);
    const double memory = counts.bytes / (profile->read[RY_LEVEL_L3].one > 0 ? profile->read[RY_LEVEL_L3].one * read_share
                                                                             : profile->read[RY_LEVEL_DRAM].one);
    for (int i = 0; i < prepared->phases; i++) {
        seconds[i] = (arithmetic > memory ? arithmetic : memory) / prepared->phases;
    }
}
