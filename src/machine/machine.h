/* SPDX-License-Identifier: Apache-2.0 */
/* What a device offers, as kernels, predict/ and plan/ are given it; <rynd/machine.h> has the
 * struct. */
#ifndef RY_MACHINE_MACHINE_H
#define RY_MACHINE_MACHINE_H

#include "base/cpuid.h"
#include "base/status.h"

#include <rynd/machine.h>

typedef rynd_machine ry_machine;

/* "l1", "l2", "l3", "dram". */
const char *ry_level_name(rynd_level level);

/* The public data of a processor's micro-architecture, or where that is unknown of its instruction
 * set: caches and cores are those that `cpu` has. */
void ry_machine_built_in(const ry_cpu_info *cpu, ry_isa isa, ry_machine *machine);

/* The same for one core of an architecture's first row ("Zen 4"), which has caches of every level.
 */
void ry_machine_reference(const char *architecture, ry_isa isa, ry_machine *machine);

/* The rate of so many threads, if it grows evenly from one thread to all cores. */
double ry_machine_rate(const rynd_rate *rate, const ry_machine *machine, unsigned threads);

/* How many tasks so many cores work at at once: of a GPU's compute units several each. */
unsigned ry_machine_slots(const ry_machine *machine, unsigned cores);

/* Bytes of all caches of a level; 0: no such cache, or unknown size. */
size_t ry_machine_level_bytes(const ry_machine *machine, rynd_level level);

/* Bytes that stay near the cores from one step of a network to the next: the cores' own caches, or
 * a quarter of the shared one, which is others' too; 0: not known. */
size_t ry_machine_kept_bytes(const ry_machine *machine);

/* Do so many bytes, each read once from one step to the next, come from memory? */
bool ry_machine_exceeds_cache(const ry_machine *machine, double bytes);

/* What one core has of a level's caches, in bytes; where nothing is known of the first two, what
 * every processor has. */
int64_t ry_machine_core_bytes(const ry_machine *machine, rynd_level level);

/* A share of that. */
static inline int64_t ry_machine_core_share(const ry_machine *machine, rynd_level level,
                                            double share)
{
    return (int64_t)(share * (double)ry_machine_core_bytes(machine, level));
}

/* Share that a cache of `cache` bytes still holds of data read again after `around` bytes, itself
 * included: all if `around` fits, none from twice the cache on. */
static inline double ry_machine_kept_share(double around, double cache)
{
    return around <= cache ? 1 : around >= 2 * cache ? 0 : 2 - around / cache;
}

/* Products with their sums that take a core `times` as long as taking a task does, at its peak. */
int64_t ry_machine_task_products(const ry_machine *machine, double times);

/* Bytes of a task, if a kernel reads or writes `bytes` about once. A task's bytes fit a core's own
 * cache, handing it out costs little of its time, and every core gets some tasks if these bounds
 * allow. */
int64_t ry_machine_task_bytes(const ry_machine *machine, double bytes);

#endif
