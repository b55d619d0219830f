/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of the library, and those in plain C that only tests link. */
#include "every_kernel.h"

#include "machine/machine.h"

#include <string.h>

#define RY_KERNEL_ISA(symbol, isa) extern const ry_kernel ry_##symbol##_##isa;
#include "kernels/cpu/emulated.inc"
#undef RY_KERNEL_ISA

#define RY_KERNEL_ISA(symbol, isa) &ry_##symbol##_##isa,
static const ry_kernel *const emulated[] = {
#include "kernels/cpu/emulated.inc"
};
#undef RY_KERNEL_ISA

enum { EMULATED = sizeof emulated / sizeof *emulated };

size_t every_kernel_count(void)
{
    return ry_kernel_count + EMULATED;
}

const ry_kernel *every_kernel(size_t index)
{
    return index < ry_kernel_count ? ry_kernels[index] : emulated[index - ry_kernel_count];
}

const ry_kernel *every_kernel_find(const char *name)
{
    for (size_t i = 0; i < every_kernel_count(); i++) {
        if (strcmp(every_kernel(i)->name, name) == 0) {
            return every_kernel(i);
        }
    }
    return NULL;
}

const ry_target *every_kernel_target(ry_isa isa)
{
    static ry_machine machines[RY_ISAS];
    static ry_target targets[RY_ISAS];
    if (!targets[isa].machine) {
        ry_cpu_info cpu;
        ry_cpu_detect(&cpu);
        ry_machine_built_in(&cpu, isa, &machines[isa]);
        targets[isa] = (ry_target){RY_DEVICE_cpu, isa, &machines[isa], 0, NULL};
    }
    return &targets[isa];
}

const ry_kernel *every_kernel_first(const ry_problem *problem, ry_isa isa)
{
    size_t at = 0;
    return ry_kernel_next(problem, every_kernel_target(isa), &at);
}

rynd_status every_kernel_prepare(const ry_kernel *kernel, const ry_problem *problem,
                                 ry_prepared *prepared, ry_error *error)
{
    const ry_query query = {kernel, problem, every_kernel_target(kernel->isa), NULL};
    return ry_prepare(&query, ~0u, prepared, error);
}

void every_kernel_initialise(ry_prepared *prepared, void *state)
{
    const ry_kernel *kernel = prepared->kernel;
    const ry_query query = {kernel, prepared->problem, every_kernel_target(kernel->isa),
                            &prepared->form};
    if (kernel->initialise && prepared->state_size) {
        kernel->initialise(&query, state);
        prepared->state = state;
    }
}

rynd_status every_kernel_execute(const ry_kernel *kernel, const ry_problem *problem,
                                 const void *const *in, void *const *out,
                                 int64_t (*actual)[RY_MAX_RANK], const ry_allocator *allocator,
                                 ry_error *error)
{
    const ry_query query = {kernel, problem, every_kernel_target(kernel->isa), NULL};
    return ry_kernel_execute(&query, in, out, actual, allocator, error);
}

void every_kernel_run(const ry_cpu_launch *launch, int phase, size_t task, unsigned worker)
{
    ry_cpu_launch own = *launch;
    own.scratch = launch->prepared->scratch
                      ? (char *)launch->scratch + worker * launch->prepared->scratch
                      : launch->scratch;
    own.phase = phase;
    launch->prepared->kernel->run(&own, task);
}
