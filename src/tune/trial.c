/* SPDX-License-Identifier: Apache-2.0 */
/* Makes trials and measures them. */
#include "tune/trial.h"

#include "base/cache_flush.h"
#include "base/clock.h"
#include "base/integer.h"
#include "predict/predict.h"
#include "tune/sample_statistics.h"

#include <math.h>

enum { FLUSH_BYTES = 1 << 16, MAX_RUNS = 64, MOST_MEASUREMENTS = 64 };

/* What a measurement takes at least: reading the clock takes 25 ns, two of the device's events take
 * microseconds. */
static const double LEAST_SECONDS = 50e-6, LEAST_EVENT_SECONDS = 2e-3;

/* How much of each argument of the launch is flushed, and by how many tasks. */
typedef struct ry_flushed {
    int count;
    size_t bytes[];
} ry_flushed;

/* On the device's threads, so that helpers that slept while the caller flushed do not make the run
 * behind it wait. */
static void flush_task(const void *call, void *const *arguments, int phase, size_t task,
                       unsigned worker)
{
    const ry_flushed *flushed = call;
    (void)phase;
    (void)worker;
    for (int i = 0; i < flushed->count; i++) {
        const size_t tasks = (flushed->bytes[i] + FLUSH_BYTES - 1) / FLUSH_BYTES;
        if (task < tasks) {
            const size_t begin = task * FLUSH_BYTES, left = flushed->bytes[i] - begin;
            ry_cache_flush((const char *)arguments[i] + begin,
                           left < FLUSH_BYTES ? left : FLUSH_BYTES);
            return;
        }
        task -= tasks;
    }
}

/* Packed weights, and constants that are read as they are. */
static rynd_status plan_flush(ry_trial *t, unsigned constants, ry_error *error)
{
    const ry_problem *problem = t->prepared.problem;
    const unsigned packs =
        ry_kernel_packs(t->prepared.kernel, problem) & ~t->prepared.kernel->kept_inputs;
    const int room = problem->inputs + 1;
    ry_pointer *pointers = RY_TAKE(&t->arena, ry_pointer, room);
    void **resolved = RY_TAKE(&t->arena, void *, room);
    t->flushed = ry_arena_take(&t->arena, 1, sizeof *t->flushed + (size_t)room * sizeof(size_t));
    if (!pointers || !resolved || !t->flushed) {
        return ry_fail_memory(error);
    }
    int count = 0;
    for (int i = 0; i < problem->inputs && i < 32; i++) {
        const bool read = !(packs >> i & 1u) || t->prepared.packs;
        if (read && (constants >> i & 1u) && t->operands->pointer[i].buffer) {
            pointers[count] = t->operands->pointer[i];
            t->flushed->bytes[count++] = ry_tensor_span(&problem->in[i]);
        }
    }
    if (t->packed) {
        pointers[count] = (ry_pointer){t->packed, 0};
        t->flushed->bytes[count++] = ry_prepared_packed(&t->prepared);
    }
    for (int i = 0; i < count; i++) {
        t->flush_tasks += (t->flushed->bytes[i] + FLUSH_BYTES - 1) / FLUSH_BYTES;
    }
    t->flushed->count = count;
    t->flush = (ry_launch){.call = t->flushed,
                           .program = {.cpu = flush_task},
                           .phases = 1,
                           .tasks = &t->flush_tasks,
                           .argument_count = count,
                           .arguments = pointers,
                           .resolved = resolved};
    return RYND_OK;
}

static rynd_status work_size(const ry_trial *t, size_t *size, ry_error *error)
{
    size_t scratches;
    const bool fits =
        ry_mul_size(t->prepared.scratch, t->operands->device->workers, &scratches) &&
        ry_add_size(ry_aligned(ry_prepared_workspace(&t->prepared)), scratches, size) &&
        ry_add_size(*size, RY_ALIGNMENT, size);
    return fits ? RYND_OK : ry_fail_memory(error);
}

static rynd_status make_memory(ry_trial *t, ry_error *error)
{
    ry_device *device = t->operands->device;
    const size_t packed = ry_prepared_packed(&t->prepared);
    size_t work;
    RY_TRY(work_size(t, &work, error));
    RY_TRY(device->table->buffer_create(device, work, &t->work, error));
    if (packed) {
        RY_TRY(device->table->buffer_create(device, packed, &t->packed, error));
        RY_TRY(ry_prepared_pack(&t->prepared, device, t->operands->stream,
                                (const void *const *)t->operands->in, (ry_pointer){t->packed, 0},
                                &t->arena, error));
    }
    ry_bound_set_memory(&t->bound, (ry_pointer){t->packed, 0}, (ry_pointer){t->work, 0},
                        (ry_pointer){t->work, ry_aligned(ry_prepared_workspace(&t->prepared))});
    if (device->table->kind == RY_DEVICE_cpu) {
        return RYND_OK;
    }
    RY_TRY(device->table->event_create(device, &t->from, error));
    RY_TRY(device->table->event_create(device, &t->to, error));
    RY_TRY(device->table->buffer_create(device, sizeof(ry_fault), &t->fault, error));
    ry_bound_set_fault(&t->bound, (ry_pointer){t->fault, 0});
    return RYND_OK;
}

unsigned ry_trial_constants(const ry_problem *problem)
{
    const bool has = problem->op == RY_OP_conv || problem->op == RY_OP_convt ||
                     problem->op == RY_OP_qconv || problem->op == RY_OP_matmul;
    return has ? ((1u << problem->inputs) - 1) & ~1u : 0;
}

rynd_status ry_trial_make(ry_trial *trial, const ry_prepared *candidate, unsigned constants,
                          bool cold, ry_operands *operands, const ry_target *target,
                          ry_error *error)
{
    *trial = (ry_trial){.prepared = *candidate, .operands = operands};
    const ry_problem *problem = candidate->problem;
    ry_device *device = operands->device;
    ry_arena_init(&trial->arena, device->allocator);
    ry_predict_phases(&trial->prepared, target->machine, trial->seconds);
    RY_TRY(ry_prepared_initialise(&trial->prepared, device, target, &trial->arena, error));
    trial->actual = ry_arena_take(&trial->arena, (size_t)problem->outputs, sizeof *trial->actual);
    if (!trial->actual) {
        return ry_fail_memory(error);
    }
    RY_TRY(ry_bind(&trial->prepared, trial->seconds, trial->actual, &trial->arena, &trial->bound,
                   error));
    for (int i = 0; i < problem->inputs + problem->outputs; i++) {
        trial->bound.arguments[i] = operands->pointer[i];
    }
    RY_TRY(make_memory(trial, error));
    return cold && device->table->kind == RY_DEVICE_cpu && ry_cache_can_flush()
               ? plan_flush(trial, constants, error)
               : RYND_OK;
}

void ry_trial_free(ry_trial *trial)
{
    if (!trial->operands) {
        return;
    }
    ry_device *device = trial->operands->device;
    device->table->buffer_destroy(device, trial->packed);
    device->table->buffer_destroy(device, trial->work);
    device->table->buffer_destroy(device, trial->fault);
    if (trial->from) {
        device->table->event_destroy(device, trial->from);
    }
    if (trial->to) {
        device->table->event_destroy(device, trial->to);
    }
    ry_prepared_release(&trial->prepared, device);
    ry_arena_free(&trial->arena);
    trial->operands = NULL;
}

size_t ry_trial_bytes(const ry_trial *trial)
{
    return ry_prepared_packed(&trial->prepared) + ry_prepared_workspace(&trial->prepared) +
           trial->prepared.scratch * trial->operands->device->workers + trial->arena.total;
}

rynd_status ry_trial_run(ry_trial *trial, ry_error *error)
{
    ry_operands *o = trial->operands;
    const ry_device_table *table = o->device->table;
    if (trial->fault) {
        RY_TRY(ry_device_clear(o->device, o->stream, (ry_pointer){trial->fault, 0},
                               sizeof(ry_fault), error));
    }
    RY_TRY(ry_bound_launch(&trial->bound, o->device, o->stream, error));
    if (trial->fault) {
        RY_TRY(table->download(o->stream, &trial->bound.fault, (ry_pointer){trial->fault, 0},
                               sizeof(ry_fault), error));
    }
    RY_TRY(table->synchronize(o->stream, error));
    return ry_bound_check(&trial->bound, error);
}

static rynd_status time_by_clock(ry_trial *t, double *seconds, ry_error *error)
{
    ry_operands *o = t->operands;
    *seconds = 0;
    for (int i = 0; i < t->runs; i++) {
        if (t->flush_tasks) {
            RY_TRY(o->device->table->launch(o->stream, &t->flush, error));
        }
        const double begin = ry_clock_seconds();
        RY_TRY(ry_bound_launch(&t->bound, o->device, o->stream, error));
        *seconds += ry_clock_seconds() - begin;
    }
    return RYND_OK;
}

static rynd_status time_by_events(ry_trial *t, double *seconds, ry_error *error)
{
    ry_operands *o = t->operands;
    const ry_device_table *table = o->device->table;
    RY_TRY(table->event_record(o->stream, t->from, error));
    for (int i = 0; i < t->runs; i++) {
        RY_TRY(ry_bound_launch(&t->bound, o->device, o->stream, error));
    }
    RY_TRY(table->event_record(o->stream, t->to, error));
    RY_TRY(table->synchronize(o->stream, error));
    return table->event_elapsed(t->from, t->to, seconds, error);
}

rynd_status ry_trial_measure(ry_trial *trial, double *seconds, ry_error *error)
{
    const bool events = trial->from != NULL;
    rynd_status (*const time)(ry_trial *, double *, ry_error *) =
        events ? time_by_events : time_by_clock;
    if (trial->runs == 0) {
        trial->runs = 1;
        RY_TRY(time(trial, seconds, error));
        const double least = events ? LEAST_EVENT_SECONDS : LEAST_SECONDS;
        trial->runs = (int)fmin(MAX_RUNS, ceil(least / fmax(*seconds, 1e-9)));
        if (trial->runs == 1) {
            return RYND_OK;
        }
    }
    RY_TRY(time(trial, seconds, error));
    *seconds /= trial->runs;
    return RYND_OK;
}

rynd_status ry_trial_median(ry_trial *trial, double seconds, double *median, ry_error *error)
{
    double times[MOST_MEASUREMENTS];
    const double end = ry_clock_seconds() + seconds;
    int count = 0;
    RY_TRY(ry_trial_run(trial, error));
    do {
        RY_TRY(ry_trial_measure(trial, &times[count++], error));
    } while (count < MOST_MEASUREMENTS && ry_clock_seconds() < end);
    *median = ry_median(times, count);
    return RYND_OK;
}
