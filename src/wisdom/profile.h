/* SPDX-License-Identifier: Apache-2.0 */
/* The machine profile: what `rynd devices` measured, kept in a file, or built-in rates where nothing was measured.
 *
 * The file is RYND_PROFILE, or rynd/profile-CPU-ISA-CORES.txt under XDG_CACHE_HOME or HOME/.cache; RYND_PROFILE=off: none. It is text, written whole or not at
 * all, and counts only for the processor, instruction set and number of cores that it names. */
#ifndef RY_WISDOM_PROFILE_H
#define RY_WISDOM_PROFILE_H

#include "base/cpuid.h"
#include "base/status.h"

typedef enum ry_level { RY_LEVEL_L1, RY_LEVEL_L2, RY_LEVEL_L3, RY_LEVEL_DRAM, RY_LEVELS } ry_level;

/* On one core and on all: operations, or bytes, a second. 0: not known. */
typedef struct ry_rate {
    double one, all;
} ry_rate;

/* Declared in device/device.h too, which carries it. */
typedef struct ry_profile {
    char cpu[64];
    ry_isa isa;
    unsigned cores;
    bool measured; /* else built-in */
    ry_rate f32, bf16;
    ry_rate read[RY_LEVELS];
    size_t cache; /* bytes that stay near the cores from one step to the next; 0: not known */
} ry_profile;

enum { RY_PROFILE_PATH = 1024 };

/* The built-in rates of this machine's instruction set. */
void ry_profile_built_in(const ry_cpu_info *cpu, ry_isa isa, ry_profile *profile);

/* Where the profile of this machine is; false: nowhere. */
bool ry_profile_path(const ry_cpu_info *cpu, ry_isa isa, char path[RY_PROFILE_PATH]);

/* What the file has, or the built-in rates where there is none, or one that cannot be read, is damaged or another machine's: false then. */
bool ry_profile_load(const ry_cpu_info *cpu, ry_isa isa, ry_profile *profile);

rynd_status ry_profile_save(const ry_profile *profile, const char *path, ry_error *error);

const char *ry_level_name(ry_level level);

#endif
