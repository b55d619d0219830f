/* SPDX-License-Identifier: Apache-2.0 */
/* The peak loops of each instruction set that this build has. */
#include "kernels/cpu/peak/peak.h"

#include "kernels/each_isa.h"

#define RY_KERNEL_ISA(symbol, isa) RY_FOR_ISA_##isa(extern const ry_peak ry_##symbol##_##isa;)
RY_EVERY_ISA(peak)
#undef RY_KERNEL_ISA
#define RY_KERNEL_ISA(symbol, isa) RY_FOR_ISA_##isa(extern const ry_kind_loops ry_##symbol##_##isa;)
RY_EVERY_ISA(peak_kinds)
#undef RY_KERNEL_ISA

typedef struct isa_peak {
    ry_isa isa;
    const ry_peak *peak;
    const ry_kind_loops *kinds;
} isa_peak;

/* The best first, plain C last. */
static const isa_peak peaks[] = {
#define RY_KERNEL_ISA(symbol, isa) \
    RY_FOR_ISA_##isa({RY_ISA_##isa, &ry_##symbol##_##isa, &ry_##symbol##_kinds_##isa}, )
    RY_EVERY_ISA(peak)
#undef RY_KERNEL_ISA
};

static const isa_peak *peak_of(ry_isa isa)
{
    const isa_peak *row = peaks;
    while (row->isa > isa) {
        row++;
    }
    return row;
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
    const isa_peak *row = peak_of(isa);
    return (ry_machine_loops){.f32 = row->peak->f32,
                              .bf16 = bf16_of(isa),
                              .read = row->peak->read,
                              .kind = row->kinds->loop};
}
