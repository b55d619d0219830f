/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that do nothing but multiply-adds, or nothing but reading: what a core can reach at most. */
#ifndef RY_KERNELS_CPU_PEAK_H
#define RY_KERNELS_CPU_PEAK_H

#include "base/cpuid.h"
#include "base/isa_family.h"

typedef struct ry_peak {
    /* Does `rounds` rounds of independent multiply-adds; returns the operations done. *sink receives a value that depends on all of them. */
    double (*f32)(size_t rounds, float *sink);
    /* Reads `count` floats (a multiple of RY_PEAK_BLOCK) `rounds` times; returns the bytes read. */
    double (*read)(const float *data, size_t count, size_t rounds, float *sink);
} ry_peak;

/* Rounds of independent products of bfloat16 pairs, summed in float32; returns the operations done. */
typedef double (*ry_peak_bf16)(size_t rounds, float *sink);

double ry_peak_bf16_generic(size_t rounds, float *sink);
double ry_peak_tiles_generic(size_t rounds, float *sink); /* by tiles; of no use but for tests */
#if defined(RY_FAMILY_X86)
double ry_peak_bf16_avx512_bf16(size_t rounds, float *sink);
double ry_peak_tiles_amx(size_t rounds, float *sink);
#endif

#define RY_PEAK_BLOCK 256

/* For the best instruction set of this build that is at most `isa`. */
const ry_peak *ry_peak_of(ry_isa isa);
ry_peak_bf16 ry_peak_bf16_of(ry_isa isa);

#endif
