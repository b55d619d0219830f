/* SPDX-License-Identifier: Apache-2.0 */
/* CPU features by the compiler's builtins (which check the operating system's support too), caches by sysconf. */
#define _GNU_SOURCE /* sched_getaffinity, _SC_LEVEL1_DCACHE_SIZE */
#include "base/cpuid.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

static const char *const isa_names[RY_ISAS] = {
#define RY_ISA(name) #name,
#include "base/isas.inc"
#undef RY_ISA
};

const char *ry_isa_name(ry_isa isa)
{
    return isa_names[isa];
}

bool ry_isa_parse(const char *name, ry_isa *isa)
{
    for (int i = 0; i < RY_ISAS; i++) {
        if (strcmp(name, isa_names[i]) == 0) {
            *isa = (ry_isa)i;
            return true;
        }
    }
    return false;
}

static size_t cache_size(int which)
{
    long size = sysconf(which);
    return size > 0 ? (size_t)size : 0;
}

#if defined(__x86_64__)
static void detect_x86(ry_cpu_info *info)
{
    unsigned a, b, c, d;
    if (__get_cpuid(1, &a, &b, &c, &d)) {
        info->stepping = (int)(a & 15u);
        info->model = (int)((a >> 4 & 15u) | (a >> 12 & 0xf0u));
        info->family = (int)((a >> 8 & 15u) + (a >> 20 & 255u));
    }
    for (unsigned leaf = 0; leaf < 3 && __get_cpuid(0x80000002u + leaf, &a, &b, &c, &d); leaf++) {
        unsigned part[4] = {a, b, c, d};
        memcpy(info->name + 16 * leaf, part, sizeof part);
    }
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
    info->isa = avx512 ? RY_ISA_avx512 : avx2 ? RY_ISA_avx2 : RY_ISA_generic;
    info->vnni = avx512 && __builtin_cpu_supports("avx512vnni");
    if (__get_cpuid_count(7, 1, &a, &b, &c, &d)) {
        info->avx512_bf16 = avx512 && (a >> 5 & 1u);
    }
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
        info->amx_bf16 = avx512 && (d >> 22 & 1u) && (d >> 24 & 1u);
    }
}
#endif

void ry_cpu_detect(ry_cpu_info *info)
{
    *info = (ry_cpu_info){.isa = RY_ISA_generic, .cores = 1};
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) {
        info->cores = (unsigned)CPU_COUNT(&set);
    }
    info->l1d = cache_size(_SC_LEVEL1_DCACHE_SIZE);
    info->l2 = cache_size(_SC_LEVEL2_CACHE_SIZE);
    info->l3 = cache_size(_SC_LEVEL3_CACHE_SIZE);
#if defined(__x86_64__)
    detect_x86(info);
#endif
    if (!info->name[0]) {
        strcpy(info->name, "unknown CPU");
    }
}
