/* SPDX-License-Identifier: Apache-2.0 */
/* The list of kernels made from kernels.inc, and the walk through those that take a problem. */
#include "kernels/each_isa.h"
#include "kernels/kernel.h"
#include "kernels/refusals.h"
#include "machine/machine.h"

#include <string.h>

/* A kernel made for an instruction set is in the list of those builds that have its family. */
#define RY_KERNEL(symbol)          extern const ry_kernel ry_##symbol;
#define RY_KERNEL_ISA(symbol, isa) RY_FOR_ISA_##isa(RY_KERNEL(symbol##_##isa))
#include "kernels/kernels.inc"
#undef RY_KERNEL

#define RY_KERNEL(symbol) &ry_##symbol,
const ry_kernel *const ry_kernels[] = {
#include "kernels/kernels.inc"
    NULL};
#undef RY_KERNEL
#undef RY_KERNEL_ISA

const size_t ry_kernel_count = sizeof ry_kernels / sizeof *ry_kernels - 1;

static bool would_take(const ry_kernel *kernel, const ry_problem *problem, const ry_target *target)
{
    return kernel->op == problem->op && kernel->device == target->device &&
           ry_isa_includes(target->isa, kernel->isa) && kernel->accuracy <= problem->accuracy &&
           (!kernel->matrix_units || target->machine->matrix_units) &&
           kernel->applicable(problem) &&
           (!kernel->runs_on || kernel->runs_on(problem, target->machine));
}

bool ry_kernel_takes(const ry_kernel *kernel, const ry_problem *problem, const ry_target *target)
{
    return would_take(kernel, problem, target) && !ry_refusals_have(target->refusals, kernel);
}

const ry_kernel *ry_kernel_refused(const ry_problem *problem, const ry_target *target)
{
    for (int i = 0; target->refusals && i < target->refusals->count; i++) {
        if (would_take(target->refusals->kernel[i], problem, target)) {
            return target->refusals->kernel[i];
        }
    }
    return NULL;
}

const ry_kernel *ry_kernel_better(size_t index, const ry_target *target)
{
    const ry_kernel *kernel = ry_kernels[index], *best = NULL;
    while (index-- > 0 && strcmp(ry_kernels[index]->family, kernel->family) == 0) {
        if (ry_isa_includes(target->isa, ry_kernels[index]->isa)) {
            best = ry_kernels[index];
        }
    }
    return best;
}

const ry_kernel *ry_kernel_next(const ry_problem *problem, const ry_target *target, size_t *at)
{
    const bool first = *at == 0;
    for (size_t i; *at < ry_kernel_count;) {
        const ry_kernel *kernel = ry_kernels[i = (*at)++];
        /* the cheap questions first: `applicable` reads the whole problem */
        if (!kernel->reference && kernel->op == problem->op && !ry_kernel_better(i, target) &&
            ry_kernel_takes(kernel, problem, target)) {
            return kernel;
        }
    }
    for (size_t i = 0; first && i < ry_kernel_count; i++) {
        if (ry_kernels[i]->reference && ry_kernel_takes(ry_kernels[i], problem, target)) {
            return ry_kernels[i];
        }
    }
    return NULL;
}

const ry_kernel *ry_kernel_find(const char *name)
{
    for (size_t i = 0; i < ry_kernel_count; i++) {
        if (strcmp(ry_kernels[i]->name, name) == 0) {
            return ry_kernels[i];
        }
    }
    return NULL;
}
