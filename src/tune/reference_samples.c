/* SPDX-License-Identifier: Apache-2.0 */
/* Samples the reference. */
#include "tune/reference_samples.h"

#include "base/clock.h"
#include "kernels/prepared.h"
#include "tune/shuffle.h"

#include <string.h>

enum { VALUE = 8, TASKS = 256, LEAST_SAMPLES = 64, COARSER = 16, UNWRITTEN = 0xa5 };

/* Time budget of sampling in seconds, after the first samples. */
static const double SECONDS = 0.02;

/* A reference kernel with memory. */
typedef struct reference {
    ry_prepared prepared;
    ry_bound bound;
    void **out;
    void *workspace, *scratch;
    ry_arena arena;
} reference;

static const ry_kernel *find_reference(const ry_problem *problem, const ry_target *host)
{
    for (size_t i = 0; i < ry_kernel_count; i++) {
        if (ry_kernels[i]->reference && ry_kernel_takes(ry_kernels[i], problem, host)) {
            return ry_kernels[i];
        }
    }
    return NULL;
}

static rynd_status make_outputs(reference *r, const ry_problem *problem, ry_error *error)
{
    r->out = RY_TAKE(&r->arena, void *, problem->outputs);
    for (int i = 0; r->out && i < problem->outputs; i++) {
        const size_t bytes = ry_tensor_span(&problem->out[i]);
        if (ry_tensor_present(&problem->out[i]) && bytes) {
            r->out[i] = ry_arena_take_aligned(&r->arena, bytes);
            if (!r->out[i]) {
                return ry_fail_memory(error);
            }
            memset(r->out[i], UNWRITTEN, bytes);
        }
    }
    return r->out ? RYND_OK : ry_fail_memory(error);
}

static rynd_status prepare(reference *r, const ry_kernel *kernel, const ry_operands *operands,
                           const ry_target *host, ry_error *error)
{
    const ry_problem *problem = operands->problem;
    const ry_query query = {kernel, problem, host, NULL};
    RY_TRY(ry_prepare(&query, 0, &r->prepared, error));
    RY_TRY(ry_prepared_initialise(&r->prepared, NULL, host, &r->arena, error));
    RY_TRY(make_outputs(r, problem, error));
    int64_t(*actual)[RY_MAX_RANK] =
        ry_arena_take(&r->arena, (size_t)problem->outputs, sizeof *actual);
    const size_t workspace = ry_prepared_workspace(&r->prepared);
    r->workspace = ry_arena_take_aligned(&r->arena, workspace);
    r->scratch = ry_arena_take_aligned(&r->arena, r->prepared.scratch);
    if (!actual || !r->workspace || !r->scratch) {
        return ry_fail_memory(error);
    }
    RY_TRY(ry_bind(&r->prepared, NULL, actual, &r->arena, &r->bound, error));
    void **argument = r->bound.launch.resolved;
    for (int i = 0; i < problem->inputs; i++) {
        *argument++ = operands->in[i];
    }
    for (int i = 0; i < problem->outputs; i++) {
        *argument++ = r->out[i];
    }
    argument[1] = workspace ? r->workspace : NULL;
    argument[2] = r->prepared.scratch ? r->scratch : NULL;
    return RYND_OK;
}

static void run_task(reference *r, int phase, size_t task)
{
    const ry_launch *launch = &r->bound.launch;
    launch->program.cpu(launch->call, launch->resolved, phase, task, 0);
}

/* Runs the first task of a phase, the last, and random others until time is up. */
static void run_some(reference *r, int phase, size_t tasks, uint64_t *random)
{
    const double end = ry_clock_seconds() + SECONDS;
    r->prepared.tasks[phase] = tasks;
    for (size_t i = 0; i < TASKS && i < tasks; i++) {
        if (i >= LEAST_SAMPLES && ry_clock_seconds() > end) {
            return;
        }
        run_task(r, phase,
                 tasks <= TASKS ? i
                 : i == 0       ? 0
                 : i == 1       ? tasks - 1
                                : ry_random_below(random, tasks));
    }
}

static void run_all(reference *r)
{
    for (int phase = 0; phase < r->bound.launch.phases; phase++) {
        for (size_t task = 0; task < r->bound.launch.tasks[phase]; task++) {
            run_task(r, phase, task);
        }
    }
}

static bool is_written(const unsigned char *element, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (element[i] != UNWRITTEN) {
            return true;
        }
    }
    return false;
}

/* Counts the elements that were written; stores them if `truth` has room. */
static size_t collect(const ry_problem *problem, void *const *out, bool all,
                      ry_reference_samples *truth)
{
    size_t count = 0;
    for (int o = 0; o < problem->outputs; o++) {
        const size_t size = ry_dtype_size((ry_dtype)problem->out[o].dtype);
        const size_t elements = out[o] ? ry_tensor_span(&problem->out[o]) / size : 0;
        const unsigned char *at = out[o];
        for (size_t i = 0; i < elements; i++, at += size) {
            if (!all && !is_written(at, size)) {
                continue;
            }
            if (truth->samples) {
                truth->samples[count] = (ry_reference_sample){o, i};
                memcpy(truth->values + count * VALUE, at, size);
            }
            count++;
        }
    }
    return count;
}

static rynd_status keep(ry_reference_samples *truth, const ry_problem *problem, void *const *out,
                        bool all, ry_arena *arena, ry_error *error)
{
    truth->samples = NULL;
    truth->count = collect(problem, out, all, truth);
    truth->samples = RY_TAKE(arena, ry_reference_sample, truth->count);
    truth->values = ry_arena_take(arena, truth->count, VALUE);
    if (!truth->samples || !truth->values) {
        return ry_fail_memory(error);
    }
    collect(problem, out, all, truth);
    return RYND_OK;
}

/* Cuts each phase into tasks of one element, or larger tasks if most are empty because a kernel
 * computes several elements together. A phase of one task reads all earlier phases and runs whole.
 */
static void run_samples(reference *r, const ry_problem *problem, uint64_t random)
{
    ry_reference_samples counted = {0};
    for (int phase = 0; phase < r->prepared.phases; phase++) {
        const size_t own = r->prepared.tasks[phase];
        size_t tasks = 0;
        for (int o = 0; o < problem->outputs && own > 1; o++) {
            tasks += r->out[o] ? (size_t)ry_tensor_count(&problem->out[o]) : 0;
        }
        const size_t before = collect(problem, r->out, false, &counted);
        for (; tasks > own; tasks /= COARSER) {
            run_some(r, phase, tasks, &random);
            if (collect(problem, r->out, false, &counted) >= before + LEAST_SAMPLES) {
                break;
            }
        }
        if (tasks <= own) {
            run_some(r, phase, own, &random);
        }
        r->prepared.tasks[phase] = own;
    }
}

static rynd_status sample(ry_reference_samples *truth, reference *r, const ry_operands *operands,
                          const ry_target *host, uint64_t seed, ry_arena *arena, ry_error *error)
{
    RY_TRY(prepare(r, truth->reference, operands, host, error));
    if (ry_op_get_class(truth->problem->op) == RY_CLASS_BOUNDED) {
        run_all(r);
    } else {
        run_samples(r, truth->problem, seed);
    }
    RY_TRY(ry_bound_check(&r->bound, error));
    return keep(truth, truth->problem, r->out, false, arena, error);
}

rynd_status ry_reference_samples_make(ry_reference_samples *truth, const ry_operands *operands,
                                      const ry_target *host, uint64_t seed, ry_arena *arena,
                                      ry_error *error)
{
    *truth = (ry_reference_samples){.problem = operands->problem,
                                    .reference = find_reference(operands->problem, host)};
    if (!truth->reference) {
        return RYND_OK;
    }
    reference r = {0};
    ry_arena_init(&r.arena, arena->allocator);
    const rynd_status status = sample(truth, &r, operands, host, seed, arena, error);
    ry_arena_free(&r.arena);
    return status;
}

rynd_status ry_reference_samples_whole(ry_reference_samples *truth, const ry_operands *operands,
                                       const ry_target *host, ry_arena *arena, ry_error *error)
{
    const ry_problem *problem = operands->problem;
    const ry_kernel *definition = find_reference(problem, host);
    size_t at = 0;
    const ry_query query = {definition ? definition : ry_kernel_next(problem, host, &at), problem,
                            host, NULL};
    *truth = (ry_reference_samples){.problem = problem, .reference = query.kernel};
    void **out = RY_TAKE(arena, void *, problem->outputs);
    if (!out) {
        return ry_fail_memory(error);
    }
    if (!query.kernel) {
        return ry_fail(error, RYND_ERROR_UNSUPPORTED, "no kernel of the CPU takes it");
    }
    for (int o = 0; o < problem->outputs; o++) {
        if (ry_tensor_present(&problem->out[o])) {
            out[o] = ry_arena_take_aligned(arena, ry_tensor_span(&problem->out[o]));
            if (!out[o]) {
                return ry_fail_memory(error);
            }
        }
    }
    RY_TRY(ry_kernel_execute(&query, (const void *const *)operands->in, out, NULL, arena->allocator,
                             error));
    return keep(truth, problem, out, true, arena, error);
}

rynd_status ry_reference_samples_take(ry_reference_samples *truth, ry_operands *operands,
                                      ry_arena *arena, ry_error *error)
{
    const ry_problem *problem = truth->problem;
    void **out = RY_TAKE(arena, void *, problem->outputs);
    if (!out) {
        return ry_fail_memory(error);
    }
    for (int o = 0; o < problem->outputs; o++) {
        const void *data;
        const size_t bytes = ry_tensor_span(&problem->out[o]);
        RY_TRY(ry_operands_output(operands, o, &data, error));
        out[o] = data ? ry_arena_take(arena, 1, bytes) : NULL;
        if (data && !out[o]) {
            return ry_fail_memory(error);
        }
        if (data) {
            memcpy(out[o], data, bytes);
        }
    }
    return keep(truth, problem, out, true, arena, error);
}
