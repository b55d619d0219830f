/* SPDX-License-Identifier: Apache-2.0 */
/* The list of kernels made from kernels.inc: finding, choosing, and running one on the calling thread. */
#include "base/isa_family.h"
#include "kernels/kernel.h"

#include <string.h>

/* A kernel made for an instruction set is in the list of those builds that have its family. */
#if defined(RY_FAMILY_X86)
#define FOR_ISA_avx2(row)        row
#define FOR_ISA_avx512(row)      row
#define FOR_ISA_avx512_bf16(row) row
#define FOR_ISA_amx(row)         row
#else
#define FOR_ISA_avx2(row)
#define FOR_ISA_avx512(row)
#define FOR_ISA_avx512_bf16(row)
#define FOR_ISA_amx(row)
#endif
#if defined(RY_FAMILY_ARM)
#define FOR_ISA_neon(row) row
#else
#define FOR_ISA_neon(row)
#endif
#define FOR_ISA_generic(row) row

#define RY_KERNEL(symbol)          extern const ry_kernel symbol;
#define RY_KERNEL_ISA(symbol, isa) FOR_ISA_##isa(RY_KERNEL(symbol##_##isa))
#include "kernels/kernels.inc"
#undef RY_KERNEL

#define RY_KERNEL(symbol) &symbol,
const ry_kernel *const ry_kernels[] = {
#include "kernels/kernels.inc"
    NULL};
#undef RY_KERNEL
#undef RY_KERNEL_ISA

const size_t ry_kernel_count = sizeof ry_kernels / sizeof *ry_kernels - 1;

/* An absent input is as good as a constant one. */
static unsigned missing_constants(const ry_kernel *kernel, const ry_problem *problem, unsigned constants)
{
    unsigned missing = kernel->constant_inputs & ~constants;
    for (int i = 0; missing >> i; i++) {
        if (!ry_problem_has_input(problem, i)) {
            missing &= ~(1u << i);
        }
    }
    return missing;
}

bool ry_kernel_takes(const ry_kernel *kernel, const ry_problem *problem, ry_isa isa, unsigned constants)
{
    return kernel->op == problem->op && kernel->isa <= isa && kernel->accuracy <= problem->accuracy &&
           !missing_constants(kernel, problem, constants) && kernel->applicable(problem);
}

const ry_kernel *ry_kernel_choose(const ry_problem *problem, ry_isa isa, unsigned constants)
{
    const ry_kernel *best = NULL;
    for (size_t i = 0; i < ry_kernel_count; i++) {
        if ((!best || ry_kernels[i]->rank > best->rank) && ry_kernel_takes(ry_kernels[i], problem, isa, constants)) {
            best = ry_kernels[i];
        }
    }
    return best;
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

/* size bytes, aligned for a kernel; NULL where size is 0. */
static bool take(const ry_allocator *allocator, size_t size, void **memory)
{
    *memory = size ? ry_allocate(allocator, size) : NULL;
    return *memory || !size;
}

static void pack_constants(const ry_kernel *kernel, ry_cpu_launch *launch, const void **constant_in)
{
    const void *const *in = launch->in;
    for (int i = 0; i < launch->problem->inputs; i++) {
        constant_in[i] = i < 32 && kernel->constant_inputs >> i & 1u ? in[i] : NULL;
    }
    launch->in = constant_in;
    for (size_t task = 0; task < launch->prepared->pack_tasks; task++) {
        kernel->pack(launch, task);
    }
    launch->in = in;
}

rynd_status ry_kernel_execute(const ry_kernel *kernel, const ry_problem *problem, const void *const *in, void *const *out,
                              int64_t (*actual)[RY_MAX_RANK], const ry_allocator *allocator, ry_error *error)
{
    ry_prepared prepared = {0};
    RY_TRY(kernel->prepare(problem, &prepared, error));
    void *state = NULL, *packed = NULL, *workspace = NULL, *scratch = NULL;
    _Alignas(RY_ALIGNMENT) char nothing;
    ry_fault fault = {0};
    const void **constant_in = ry_allocate_array(allocator, (size_t)problem->inputs + 1, sizeof *constant_in);
    rynd_status status = RYND_OK;
    if (!constant_in || !take(allocator, prepared.state, &state) || !take(allocator, prepared.packed, &packed) ||
        !take(allocator, prepared.workspace, &workspace) || !take(allocator, prepared.scratch, &scratch)) {
        status = ry_fail_memory(error);
        goto done;
    }
    if (kernel->initialise && state) {
        kernel->initialise(problem, &prepared, state);
    }
    ry_cpu_launch launch = {.problem = problem,
                            .prepared = &prepared,
                            .state = state,
                            .in = in,
                            .out = out,
                            .packed = packed,
                            .packed_out = packed,
                            .workspace = workspace,
                            .scratch = scratch ? scratch : &nothing,
                            .actual = actual,
                            .fault = &fault};
    if (kernel->pack && prepared.pack_tasks) {
        pack_constants(kernel, &launch, constant_in);
    }
    for (int phase = 0; phase < prepared.phases; phase++) {
        for (size_t task = 0; task < prepared.tasks[phase]; task++) {
            kernel->run(&launch, phase, task, 0);
        }
    }
    status = ry_fault_check(&fault, problem, error);
done:
    ry_release(allocator, scratch);
    ry_release(allocator, workspace);
    ry_release(allocator, packed);
    ry_release(allocator, state);
    ry_release(allocator, constant_in);
    return status;
}
