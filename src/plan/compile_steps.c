/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles programs in parallel: a device's programs are shared by content, and a second request
 * waits for the first one's compiler. */
#include "plan/compile_steps.h"

#include <string.h>

typedef struct job {
    const ry_plan_builder *b;
    const ry_compiled *compiled;
} job;

static bool has_program(const ry_step *step)
{
    return step->prepared.kernel->gpu != NULL;
}

static void compile_step(const void *call, void *const *arguments, int phase, size_t task,
                         unsigned worker)
{
    const job *j = call;
    const ry_step *step = &j->b->steps[task];
    ry_prepared *made = &j->compiled->made[task];
    (void)arguments;
    (void)phase;
    (void)worker;
    if (!has_program(step)) {
        return;
    }
    *made = step->prepared;
    const ry_target *target = ry_choices_target(&j->b->choices, made->kernel);
    if (ry_prepared_initialise(made, j->compiled->device, target, NULL, NULL) != RYND_OK) {
        *made = (ry_prepared){0};
    }
}

void ry_plan_compile_steps(const ry_plan_builder *b, ry_compiled *compiled)
{
    ry_device *device = b->plan->device, *host = device->host;
    const size_t count = b->plan->step_count;
    *compiled = (ry_compiled){.device = device, .count = count};
    if (device == host || host->workers < 2 || count < 2) {
        return;
    }
    ry_stream *stream = NULL;
    compiled->made = ry_allocate_array(device->allocator, count, sizeof *compiled->made);
    if (compiled->made && host->table->stream_create(host, &stream, NULL) == RYND_OK) {
        const job j = {b, compiled};
        const ry_launch launch = {
            .call = &j, .program = {.cpu = compile_step}, .phases = 1, .tasks = &compiled->count};
        (void)host->table->launch(stream, &launch, NULL);
        host->table->stream_destroy(host, stream);
    }
}

void ry_plan_release_compiled(ry_compiled *compiled)
{
    for (size_t i = 0; compiled->made && i < compiled->count; i++) {
        ry_prepared_release(&compiled->made[i], compiled->device);
    }
    ry_release(compiled->device->allocator, compiled->made);
    compiled->made = NULL;
}
