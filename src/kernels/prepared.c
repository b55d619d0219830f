/* SPDX-License-Identifier: Apache-2.0 */
/* Makes, packs, binds and launches prepared kernels. */
#include "kernels/prepared.h"

#include "kernels/form.h"
#include "kernels/gpu/gpu_program.h"
#include "kernels/ref/ref_costs.h"
#include "machine/machine.h"

#include <string.h>

enum { MEMORY_ARGUMENTS = 4 }; /* packed, workspace, scratch, fault */

static int argument_count(const ry_prepared *prepared)
{
    return prepared->problem->inputs + prepared->problem->outputs + MEMORY_ARGUMENTS;
}

/* What runs a kernel: a CPU's functions, or what was compiled. */
static ry_program run_program(const ry_prepared *prepared)
{
    return prepared->kernel->gpu ? prepared->program : (ry_program){.cpu = ry_kernel_cpu_program};
}

static ry_program pack_program(const ry_prepared *prepared)
{
    return prepared->kernel->gpu ? prepared->program
                                 : (ry_program){.cpu = ry_kernel_cpu_pack_program};
}

rynd_status ry_prepare(const ry_query *query, unsigned constants, ry_prepared *prepared,
                       ry_error *error)
{
    RY_TRY(ry_form_check(query, error));
    *prepared = (ry_prepared){0};
    RY_TRY(query->kernel->prepare(query, prepared, error));
    if (prepared->counts.flop == 0 && prepared->counts.bytes == 0) {
        prepared->counts =
            (ry_counts){ry_problem_flop(query->problem), ry_problem_bytes(query->problem)};
    }
    if (query->kernel->reference) { /* measured, not counted */
        prepared->work[0] =
            (ry_work){ry_ref_seconds(query->problem) * query->target->machine->f32.one, 0};
    }
    prepared->kernel = query->kernel;
    prepared->problem = query->problem;
    prepared->packs = prepared->pack_tasks > 0 &&
                      (ry_kernel_packs(query->kernel, query->problem) & ~constants) != 0;
    return RYND_OK;
}

/* Finds the form of least work with such groups; false if no form has them. */
static bool find_smaller(const ry_prepared *prepared, const ry_target *target, ry_prepared *smaller)
{
    const ry_kernel *kernel = prepared->kernel;
    const ry_query query = {kernel, prepared->problem, target, NULL};
    const unsigned constants = prepared->packs ? 0 : ~0u;
    return (!kernel->runs_on || kernel->runs_on(prepared->problem, target->machine)) &&
           ry_prepare(&query, constants, smaller, NULL) == RYND_OK;
}

/* free: another form may be taken. */
static rynd_status make_program(ry_prepared *prepared, ry_device *device, const ry_target *target,
                                bool free, ry_error *error)
{
    ry_machine machine = *target->machine;
    ry_target own = *target;
    unsigned admitted;
    RY_TRY(ry_gpu_program_make(prepared, device, target, &admitted, error));
    own.machine = &machine;
    while (free && admitted && admitted < machine.group_items) {
        ry_prepared smaller;
        machine.group_items = admitted;
        if (!find_smaller(prepared, &own, &smaller)) {
            return RYND_OK;
        }
        ry_prepared_release(prepared, device);
        *prepared = smaller;
        RY_TRY(ry_gpu_program_make(prepared, device, &own, &admitted, error));
    }
    return RYND_OK;
}

static rynd_status initialise(ry_prepared *prepared, ry_device *device, const ry_target *target,
                              bool free, ry_arena *arena, ry_error *error)
{
    const ry_kernel *kernel = prepared->kernel;
    if (kernel->gpu) {
        return make_program(prepared, device, target, free, error);
    }
    if (!kernel->initialise || prepared->state_size == 0) {
        return RYND_OK;
    }
    void *state = ry_arena_take_aligned(arena, prepared->state_size);
    if (!state) {
        return ry_fail_memory(error);
    }
    const ry_query query = {kernel, prepared->problem, target, &prepared->form};
    kernel->initialise(&query, state);
    prepared->state = state;
    return RYND_OK;
}

rynd_status ry_prepared_initialise(ry_prepared *prepared, ry_device *device,
                                   const ry_target *target, ry_arena *arena, ry_error *error)
{
    return initialise(prepared, device, target, false, arena, error);
}

rynd_status ry_prepared_fit(ry_prepared *prepared, ry_device *device, const ry_target *target,
                            ry_arena *arena, ry_error *error)
{
    return initialise(prepared, device, target, true, arena, error);
}

void ry_prepared_release(ry_prepared *prepared, ry_device *device)
{
    if (prepared->kernel && prepared->kernel->gpu && prepared->program.gpu) {
        device->table->program_destroy(device, prepared->program);
        prepared->program.gpu = NULL;
    }
}

static rynd_status wrap_constants(const ry_prepared *prepared, ry_device *device,
                                  const void *const *constants, ry_pointer *pointers,
                                  ry_error *error)
{
    const unsigned packs = ry_kernel_packs(prepared->kernel, prepared->problem);
    for (int i = 0; packs >> i; i++) {
        if (packs >> i & 1u) {
            const size_t bytes = ry_tensor_bytes(&prepared->problem->in[i]);
            RY_TRY(device->table->buffer_wrap(device, constants[i], bytes, &pointers[i].buffer,
                                              error));
        }
    }
    return RYND_OK;
}

rynd_status ry_prepared_pack(const ry_prepared *prepared, ry_device *device, ry_stream *stream,
                             const void *const *constants, ry_pointer packed, ry_arena *scratch,
                             ry_error *error)
{
    const int inputs = prepared->problem->inputs,
              at = inputs + (prepared->kernel->gpu ? prepared->problem->outputs : 0);
    const int count = prepared->kernel->gpu ? argument_count(prepared) : inputs + 1;
    ry_pointer *pointers = RY_TAKE(scratch, ry_pointer, count);
    void **resolved = RY_TAKE(scratch, void *, count);
    if (!pointers || !resolved) {
        return ry_fail_memory(error);
    }
    pointers[at] = packed;
    const ry_kernel_call call = {.prepared = prepared};
    const ry_launch launch = {.call = &call,
                              .program = pack_program(prepared),
                              .phases = 1,
                              .tasks = &prepared->pack_tasks,
                              .group = &prepared->pack_group,
                              .argument_count = count,
                              .arguments = pointers,
                              .resolved = resolved};
    rynd_status status = wrap_constants(prepared, device, constants, pointers, error);
    if (status == RYND_OK) {
        status = device->table->launch(stream, &launch, error);
    }
    if (status == RYND_OK) {
        status = device->table->synchronize(stream, error);
    }
    for (int i = 0; i < inputs; i++) {
        device->table->buffer_destroy(device, pointers[i].buffer);
    }
    return status;
}

static void set_launch(ry_bound *bound, const double *seconds, void **resolved)
{
    const ry_prepared *prepared = bound->call.prepared;
    bound->tasks[0] = prepared->pack_tasks;
    bound->group[0] = prepared->pack_group;
    memcpy(bound->tasks + prepared->packs, prepared->tasks, sizeof prepared->tasks);
    memcpy(bound->group + prepared->packs, prepared->group, sizeof prepared->group);
    bound->launch = (ry_launch){.call = &bound->call,
                                .program = run_program(prepared),
                                .phases = prepared->phases + prepared->packs,
                                .tasks = bound->tasks,
                                .group = bound->group,
                                .first_entry = prepared->pack_tasks > 0 && !prepared->packs,
                                .seconds = seconds,
                                .argument_count = argument_count(prepared),
                                .arguments = bound->arguments,
                                .resolved = resolved};
}

rynd_status ry_bind(const ry_prepared *prepared, const double *seconds,
                    int64_t (*actual)[RY_MAX_RANK], ry_arena *arena, ry_bound *bound,
                    ry_error *error)
{
    void **resolved = RY_TAKE(arena, void *, argument_count(prepared));
    *bound = (ry_bound){.call = {prepared, actual, &bound->fault},
                        .arguments = RY_TAKE(arena, ry_pointer, argument_count(prepared))};
    if (!bound->arguments || !resolved) {
        return ry_fail_memory(error);
    }
    set_launch(bound, seconds, resolved);
    return RYND_OK;
}

void ry_bound_set_memory(ry_bound *bound, ry_pointer packed, ry_pointer workspace,
                         ry_pointer scratch)
{
    ry_pointer *memory = bound->arguments + bound->launch.argument_count - MEMORY_ARGUMENTS;
    const ry_prepared *prepared = bound->call.prepared;
    /* a CPU's kernels find it there themselves */
    memory[0] =
        prepared->packs && prepared->kernel->gpu
            ? (ry_pointer){workspace.buffer, workspace.offset + ry_prepared_own_packed(prepared)}
            : packed;
    memory[1] = workspace;
    memory[2] = scratch;
}

void ry_bound_set_fault(ry_bound *bound, ry_pointer fault)
{
    bound->arguments[bound->launch.argument_count - 1] = fault;
}

rynd_status ry_bound_launch(ry_bound *bound, ry_device *device, ry_stream *stream, ry_error *error)
{
    bound->fault = (ry_fault){0};
    return device->table->launch(stream, &bound->launch, error);
}

rynd_status ry_bound_check(const ry_bound *bound, ry_error *error)
{
    return ry_fault_check(&bound->fault, bound->call.prepared->problem, error);
}

/* Runs on the CPU in the calling thread. */
static void run_here(const ry_bound *bound)
{
    const ry_launch *launch = &bound->launch;
    for (int phase = 0; phase < launch->phases; phase++) {
        for (size_t task = 0; task < launch->tasks[phase]; task++) {
            launch->program.cpu(launch->call, launch->resolved, phase, task, 0);
        }
    }
}

static rynd_status execute(const ry_query *query, const void *const *in, void *const *out,
                           int64_t (*actual)[RY_MAX_RANK], ry_arena *arena, ry_error *error)
{
    ry_prepared prepared;
    ry_bound bound;
    RY_TRY(ry_prepare(query, 0, &prepared, error));
    prepared.packs = prepared.pack_tasks > 0; /* what no input changes, too */
    RY_TRY(ry_prepared_initialise(&prepared, NULL, query->target, arena, error));
    RY_TRY(ry_bind(&prepared, NULL, actual, arena, &bound, error));
    void **argument = bound.launch.resolved;
    for (int i = 0; i < query->problem->inputs; i++) {
        *argument++ = (void *)(uintptr_t)in[i];
    }
    for (int i = 0; i < query->problem->outputs; i++) {
        *argument++ = out[i];
    }
    const size_t workspace = ry_prepared_workspace(&prepared);
    void **memory = argument;
    memory[1] = workspace ? ry_allocate(arena->allocator, workspace) : NULL;
    memory[2] = prepared.scratch ? ry_allocate(arena->allocator, prepared.scratch) : NULL;
    rynd_status status = (workspace && !memory[1]) || (prepared.scratch && !memory[2])
                             ? ry_fail_memory(error)
                             : RYND_OK;
    if (status == RYND_OK) {
        run_here(&bound);
        status = ry_bound_check(&bound, error);
    }
    ry_release(arena->allocator, memory[1]);
    ry_release(arena->allocator, memory[2]);
    return status;
}

rynd_status ry_kernel_execute(const ry_query *query, const void *const *in, void *const *out,
                              int64_t (*actual)[RY_MAX_RANK], const ry_allocator *allocator,
                              ry_error *error)
{
    ry_arena arena;
    ry_arena_init(&arena, allocator);
    const rynd_status status = execute(query, in, out, actual, &arena, error);
    ry_arena_free(&arena);
    return status;
}
