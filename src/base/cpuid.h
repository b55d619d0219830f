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
    /* amx_bf16: whether or not the system lets this process use it */
    bool vnni, avx512_bf16, amx_bf16;
} ry_cpu_info;

/* Asks the system for the use of AMX's tiles where the CPU has them, for the whole process, which
 * it gives or not; asking again changes nothing. */
void ry_cpu_detect(ry_cpu_info *info);
const char *ry_isa_name(ry_isa isa);
bool ry_isa_parse(const char *name, ry_isa *isa);

#endif
