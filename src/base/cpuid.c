/* SPDX-License-Identifier: Apache-2.0 */
/* CPU features by the compiler's builtins (which check the operating system's support too), caches
 * by /sys and sysconf. */
#define _GNU_SOURCE /* sched_getaffinity, _SC_LEVEL1_DCACHE_SIZE, syscall */
#include "base/cpuid.h"

#include "base/isa_family.h"
#include "base/machine_cores.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
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

/* Those between plain C and NEON are of the other family. */
bool ry_cpu_has(const ry_cpu_info *info, ry_isa isa)
{
#if defined(__aarch64__)
    return isa == RY_ISA_generic || (isa >= RY_ISA_neon && isa <= info->isa);
#else
    return ry_isa_includes(info->isa, isa) || (isa == RY_ISA_avx_vnni && info->avx_vnni);
#endif
}

/* The first word of a file of the system; "" when there is none. */
static void read_word(const char *path, char *word, size_t size)
{
    word[0] = 0;
    FILE *file = fopen(path, "r");
    if (file) {
        if (fgets(word, (int)size, file)) {
            word[strcspn(word, " \n")] = 0;
        }
        fclose(file);
    }
}

static void read_cache_word(int index, const char *name, char *word, size_t size)
{
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
    read_word(path, word, size);
}

/* What the kernel says of cpu0's data or unified cache of a level, "1024K"; 0 when it does not. */
static size_t kernel_cache_size(int level, unsigned *shared)
{
    enum { MAX_CACHES = 8 };
    for (int index = 0; index < MAX_CACHES; index++) {
        char found[16], type[16], size[16], list[256];
        read_cache_word(index, "level", found, sizeof found);
        read_cache_word(index, "type", type, sizeof type);
        read_cache_word(index, "size", size, sizeof size);
        if (strtol(found, NULL, 10) == level && strcmp(type, "Instruction") != 0) {
            read_cache_word(index, "shared_cpu_list", list, sizeof list);
            const unsigned count = ry_count_cores(list);
            *shared = count ? count : *shared;
            return (size_t)strtoul(size, NULL, 10) << 10;
        }
    }
    return 0;
}

/* The C library's figure comes second: it counts the caches of other sockets in on some virtual
 * machines. */
static size_t cache_size(int level, int which, unsigned *shared)
{
    size_t size = kernel_cache_size(level, shared);
    long other = size ? 0 : sysconf(which);
    return other > 0 ? (size_t)other : size;
}

#if defined(__x86_64__)
/* Linux enables the tiles of a process that asks for them (Documentation/arch/x86/xstate.rst,
 * since 5.16): their state is large, and signals must have room for it on their stack. */
static bool may_use_tiles(void)
{
    enum {
        REQUEST_PERMISSION = 0x1023,
        TILE_DATA = 18
    };                              /* ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA */
    const unsigned both = 3u << 17; /* XCR0: the system saves the tiles' configuration and data */
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1u)) {
        return false;
    }
    __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    return (a & both) == both && syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

static void detect_x86(ry_cpu_info *info)
{
    unsigned a, b, c, d;
    if (__get_cpuid(0, &a, &b, &c, &d)) {
        const unsigned part[3] = {b, d, c};
        memcpy(info->vendor, part, sizeof part);
    }
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
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    info->vnni = avx512 && __builtin_cpu_supports("avx512vnni");
    if (__get_cpuid_count(7, 1, &a, &b, &c, &d)) {
        info->avx512_bf16 = avx512 && (a >> 5 & 1u);
        info->avx_vnni = avx2 && (a >> 4 & 1u);
    }
    info->isa = info->avx512_bf16 && info->vnni ? RY_ISA_avx512_bf16
                : info->vnni                    ? RY_ISA_avx512_vnni
                : avx512                        ? RY_ISA_avx512
                : info->avx_vnni                ? RY_ISA_avx_vnni
                : avx2                          ? RY_ISA_avx2
                                                : RY_ISA_generic;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
        info->amx_bf16 = avx512 && (d >> 22 & 1u) && (d >> 24 & 1u) && (d >> 25 & 1u);
    }
    if (info->isa == RY_ISA_avx512_bf16 && info->amx_bf16 && may_use_tiles()) {
        info->isa = RY_ISA_amx;
    }
}
#endif

static unsigned line_size(void)
{
    const long line = sysconf(_SC_LEVEL1_DCACHE_LINESIZE);
    return line > 0 ? (unsigned)line : 64;
}

/* Bytes of a transparent huge page if a program may ask for one ("[always]" or "[madvise]"), else
 * 0. */
static size_t huge_page_size(void)
{
    char text[32];
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    const bool usable = file && fgets(text, sizeof text, file) && !strstr(text, "[never]");
    if (file) {
        fclose(file);
    }
    read_word("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", text, sizeof text);
    return usable ? (size_t)strtoul(text, NULL, 10) : 0;
}

#if defined(__aarch64__)
/* MIDR_EL1: implementer, part and revision. */
static void detect_arm(ry_cpu_info *info)
{
    char text[32];
    read_word("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", text, sizeof text);
    const unsigned long long id = strtoull(text, NULL, 16);
    info->family = (int)(id >> 24 & 0xff);
    info->model = (int)(id >> 4 & 0xfff);
    info->stepping = (int)(id & 0xf);
    if (info->family == 0x41) {
        strcpy(info->vendor, "Arm");
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
    unsigned own = 1;
    info->l2_shared = 1;
    info->machine_cores = ry_machine_cores();
    info->l3_shared = info->machine_cores; /* where the system does not say */
    info->l1d = cache_size(1, _SC_LEVEL1_DCACHE_SIZE, &own);
    info->l2 = cache_size(2, _SC_LEVEL2_CACHE_SIZE, &info->l2_shared);
    info->l3 = cache_size(3, _SC_LEVEL3_CACHE_SIZE, &info->l3_shared);
    info->line = line_size();
    info->huge_page = huge_page_size();
#if defined(__x86_64__)
    detect_x86(info);
#elif defined(__aarch64__)
    detect_arm(info);
    /* Linux on 64-bit Arm requires NEON */
    info->isa = getauxval(AT_HWCAP) & HWCAP_ASIMDDP ? RY_ISA_neon_dot : RY_ISA_neon;
#endif
#if !defined(RY_FAMILY_X86) && !defined(RY_FAMILY_ARM)
    info->isa = RY_ISA_generic;
#endif
    if (!info->name[0]) {
        strcpy(info->name, "unknown CPU");
    }
}
