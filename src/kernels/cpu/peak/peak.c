/* SPDX-License-Identifier: Apache-2.0 */
/* The peak loops of each instruction set that this build has. */
#include "kernels/cpu/peak/peak.h"

extern const ry_peak ry_peak_generic;
#if defined(RY_FAMILY_X86)
extern const ry_peak ry_peak_avx2, ry_peak_avx512;
#elif defined(RY_FAMILY_ARM)
extern const ry_peak ry_peak_neon;
#endif

static const ry_peak *peak_of(ry_isa isa)
{
#if defined(RY_FAMILY_X86)
    if (isa >= RY_ISA_avx512) {
        return &ry_peak_avx512;
    }
    if (isa >= RY_ISA_avx2) {
        return &ry_peak_avx2;
    }
#elif defined(RY_FAMILY_ARM)
    if (isa == RY_ISA_neon) {
        return &ry_peak_neon;
    }
#endif
    (void)isa;
    return &ry_peak_generic;
}

static ry_peak_bf16 bf16_of(ry_isa isa)
{
#if defined(RY_FAMILY_X86)
    if (isa >= RY_ISA_amx) {
        return ry_peak_tiles_amx;
    }
    if (isa >= RY_ISA_avx512_bf16) {
        return ry_peak_bf16_avx512_bf16;
    }
#endif
    (void)isa;
    return ry_peak_bf16_generic;
}

ry_machine_loops ry_peak_loops(ry_isa isa)
{
    const ry_peak *peak = peak_of(isa);
    return (ry_machine_loops){.f32 = peak->f32, .bf16 = bf16_of(isa), .read = peak->read};
}
