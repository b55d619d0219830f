/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that do nothing but multiply-adds, or nothing but reading: what a core can reach at most.
 */
#ifndef RY_KERNELS_CPU_PEAK_PEAK_H
#define RY_KERNELS_CPU_PEAK_PEAK_H

#include "base/isa_family.h"
#include "machine/measure.h"

/* Rounds and reads of one instruction set, as ry_machine_loops has them. */
typedef struct ry_peak {
    double (*f32)(size_t rounds, float *sink);
    double (*read)(const float *data, size_t count, size_t rounds, float *sink);
} ry_peak;

/* A loop for each kind of operation of one instruction set. */
typedef struct ry_kind_loops {
    double (*loop[RYND_KINDS])(size_t rounds, float *data, float *sink);
} ry_kind_loops;

/* Rounds of independent products of bfloat16 pairs, summed in float32; returns the operations done.
 */
typedef double (*ry_peak_bf16)(size_t rounds, float *sink);

double ry_peak_bf16_generic(size_t rounds, float *sink);
double ry_peak_tiles_generic(size_t rounds, float *sink); /* by tiles; of no use but for tests */
#if defined(RY_FAMILY_X86)
double ry_peak_bf16_avx512_bf16(size_t rounds, float *sink);
double ry_peak_tiles_amx(size_t rounds, float *sink);
#endif

/* For the best instruction set of this build that is at most `isa`. */
ry_machine_loops ry_peak_loops(ry_isa isa);

#endif
