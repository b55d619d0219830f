/* SPDX-License-Identifier: Apache-2.0 */
/* What this CPU can do. */
#ifndef RY_BASE_CPUID_H
#define RY_BASE_CPUID_H

#include <stdbool.h>
#include <stddef.h>

typedef enum ry_isa {
#define RY_ISA(name) RY_ISA_##name,
#include "base/isas.inc"
#undef RY_ISA
    RY_ISAS
} ry_isa;

typedef struct ry_cpu_info {
    char vendor[16]; /* "AuthenticAMD"; "" when not known */
    char name[64];
    int family, model, stepping;   /* on Arm: implementer, part, revision */
    unsigned cores;                /* cores this process may use */
    unsigned machine_cores;        /* cores of the machine */
    size_t l1d, l2, l3;            /* bytes of one; 0 when not known */
    unsigned l2_shared, l3_shared; /* how many of the machine's cores share one; at least 1 */
    unsigned line;                 /* bytes of a cache line */
    size_t huge_page;              /* bytes of a transparent huge page; 0: not available */
    ry_isa isa;                    /* the best */
    /* amx_bf16 (and bytes): whether or not the system lets this process use it */
    bool vnni, avx_vnni, avx512_bf16, amx_bf16;
} ry_cpu_info;

/* Asks the system for the use of AMX's tiles where the CPU has them, for the whole process, which
 * it gives or not; asking again changes nothing. */
void ry_cpu_detect(ry_cpu_info *info);
const char *ry_isa_name(ry_isa isa);

/* Does a CPU whose best is `best` run code for `isa`, of the same family? Processors with AVX-512
 * need not have AVX-VNNI, and have no use for it. */
static inline bool ry_isa_includes(ry_isa best, ry_isa isa)
{
    return isa <= best && (isa != RY_ISA_avx_vnni || best == RY_ISA_avx_vnni);
}

/* The best instruction set that both include. */
static inline ry_isa ry_isa_common(ry_isa a, ry_isa b)
{
    const ry_isa least = a < b ? a : b;
    return least == RY_ISA_avx_vnni && a != b ? RY_ISA_avx2 : least;
}

/* Can code for the instruction set run on this CPU, of whichever family it is? */
bool ry_cpu_has(const ry_cpu_info *info, ry_isa isa);
bool ry_isa_parse(const char *name, ry_isa *isa);

#endif
