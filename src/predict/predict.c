/* SPDX-License-Identifier: Apache-2.0 */
/* Time as the larger of arithmetic and memory (the roofline of Williams, Waterman and Patterson, 2009), at rates that processors of an instruction set reach at least. */
#include "predict/predict.h"

typedef struct rates {
    double flop, bytes; /* a second */
} rates;

static const rates of_isa[RY_ISAS] = {
    [RY_ISA_generic] = {8e9, 10e9},
#if defined(__x86_64__) || defined(_M_X64)
    [RY_ISA_avx2] = {50e9, 15e9},
    [RY_ISA_avx512] = {80e9, 15e9},
#endif
};

void ry_predict_phases(const ry_kernel *kernel, const ry_problem *problem, const ry_prepared *prepared, double seconds[RY_MAX_PHASES])
{
    const ry_counts counts =
        kernel->counts ? kernel->counts(problem, prepared) : (ry_counts){ry_problem_flop(problem), ry_problem_bytes(problem)};
    const double arithmetic = counts.flop / of_isa[kernel->isa].flop, memory = counts.bytes / of_isa[kernel->isa].bytes;
    for (int i = 0; i < prepared->phases; i++) {
        seconds[i] = (arithmetic > memory ? arithmetic : memory) / prepared->phases;
    }
}
