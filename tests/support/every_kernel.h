/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of the library, and those in plain C that only tests link (kernels/cpu/emulated.inc).
 */
#ifndef EVERY_KERNEL_H
#define EVERY_KERNEL_H

#include "kernels/prepared.h"

size_t every_kernel_count(void);
const ry_kernel *every_kernel(size_t index);
const ry_kernel *every_kernel_find(const char *name); /* NULL: there is none */

/* A CPU with that instruction set: its caches and rates are those that are built in for it. It
 * lives as long as the program. Not for several threads at once. */
const ry_target *every_kernel_target(ry_isa isa);

/* The first kernel that takes a problem, as folding has it. */
const ry_kernel *every_kernel_first(const ry_problem *problem, ry_isa isa);

/* What a kernel is asked before it runs, on a CPU of its own instruction set, any form: ry_prepare,
 * with constant weights; filling the state, for which the caller has prepared->state_size bytes,
 * where there are any; and running it at once (ry_kernel_execute). */
rynd_status every_kernel_prepare(const ry_kernel *kernel, const ry_problem *problem,
                                 ry_prepared *prepared, ry_error *error);
void every_kernel_initialise(ry_prepared *prepared, void *state);

/* Runs a task of a phase; the launch's scratch is that of all workers. */
void every_kernel_run(const ry_cpu_launch *launch, int phase, size_t task, unsigned worker);
rynd_status every_kernel_execute(const ry_kernel *kernel, const ry_problem *problem,
                                 const void *const *in, void *const *out,
                                 int64_t (*actual)[RY_MAX_RANK], const ry_allocator *allocator,
                                 ry_error *error);

#endif
