/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a context's wisdom, and advises plans from its records. */
#include "api/api_wisdom.h"

#include "api/api_status.h"
#include "api/handles.h"
#include "kernels/form.h"
#include "kernels/kernel_source.h"

#include <stdlib.h>
#include <string.h>

typedef struct question {
    const ry_problem *problem;
    const ry_target *target;
    ry_advice *advice;
} question;

/* Has this build the record's kernel as it was measured, and does it take the problem in that form?
 */
static bool is_known(void *user, const ry_wisdom_record *record)
{
    const question *q = user;
    const ry_kernel *kernel = ry_kernel_find(record->kernel);
    if (!kernel || ry_kernel_source(kernel) != record->source ||
        !ry_kernel_takes(kernel, q->problem, q->target)) {
        return false;
    }
    const ry_query query = {kernel, q->problem, q->target, NULL};
    *q->advice = (ry_advice){.kernel = kernel, .seconds = record->median};
    return ry_form_parse(&query, record->form, &q->advice->form, NULL) == RYND_OK &&
           ry_form_is_complete(kernel, &q->advice->form);
}

const char *ry_api_fingerprint(const rynd_context *context, const ry_machine *machine)
{
    return machine == &context->host_machine ? context->host_fingerprint : context->fingerprint;
}

/* Memory that is out is no reason to fail here: nothing is known then. */
static bool advise(void *user, const ry_problem *problem, unsigned constants,
                   const ry_target *target, ry_advice *advice)
{
    rynd_context *context = user;
    question q = {problem, target, advice};
    ry_arena arena;
    ry_wisdom_record record;
    ry_arena_init(&arena, &context->allocator);
    const ry_wisdom_key key = {.problem = ry_problem_print(problem, &arena),
                               .constants = constants,
                               .threads = ry_threads_count(context->threads),
                               .machine = ry_api_fingerprint(context, target->machine)};
    const bool found =
        key.problem && ry_wisdom_best(context->wisdom, &key, is_known, &q, &arena, &record);
    ry_arena_free(&arena);
    return found;
}

/* Knows this build the knobs? Whether they make the steps that were measured, the plan will see. */
static bool is_known_plan(void *user, const ry_wisdom_record *record)
{
    ry_plan_form form;
    ry_plan_advice *advice = user;
    if (strcmp(record->kernel, RY_PLAN_KERNEL) != 0 || !ry_plan_form_parse(record->form, &form)) {
        return false;
    }
    *advice = (ry_plan_advice){.steps = record->source, .seconds = record->median};
    ry_plan_form_print(&form, advice->form);
    return true;
}

static bool advise_plan(void *user, const char *network, const ry_target *target,
                        ry_plan_advice *advice)
{
    rynd_context *context = user;
    ry_arena arena;
    ry_wisdom_record record;
    ry_arena_init(&arena, &context->allocator);
    const ry_wisdom_key key = {.problem = network,
                               .threads = ry_threads_count(context->threads),
                               .machine = ry_api_fingerprint(context, target->machine)};
    const bool found =
        ry_wisdom_best(context->wisdom, &key, is_known_plan, advice, &arena, &record);
    ry_arena_free(&arena);
    return found;
}

typedef struct form_question {
    const ry_kernel *kernel;
    char form[RY_FORM_TEXT];
} form_question;

static bool is_form(void *user, const ry_wisdom_record *record)
{
    const form_question *q = user;
    return strcmp(record->kernel, q->kernel->name) == 0 &&
           record->source == ry_kernel_source(q->kernel) && strcmp(record->form, q->form) == 0;
}

double ry_api_measured(const rynd_context *context, const ry_prepared *prepared, unsigned constants,
                       const ry_machine *machine)
{
    form_question q = {.kernel = prepared->kernel};
    ry_arena arena;
    ry_wisdom_record record = {.median = 0};
    if (!context->wisdom) {
        return 0;
    }
    ry_form_print(prepared->kernel, &prepared->form, q.form);
    ry_arena_init(&arena, &context->allocator);
    const ry_wisdom_key key = {.problem = ry_problem_print(prepared->problem, &arena),
                               .constants = constants,
                               .threads = ry_threads_count(context->threads),
                               .machine = ry_api_fingerprint(context, machine)};
    const bool found =
        key.problem && ry_wisdom_best(context->wisdom, &key, is_form, &q, &arena, &record);
    ry_arena_free(&arena);
    return found ? record.median : 0;
}

const ry_adviser *ry_api_adviser(const rynd_context *context)
{
    return context->wisdom ? &context->adviser : NULL;
}

static void warn(void *user, const char *message)
{
    ry_api_log(user, 0, "%s", message);
}

static rynd_status is_frozen(int given, bool *frozen, ry_error *error)
{
    const char *text = getenv("RYND_FREEZE");
    *frozen = given == 1 || (text && strcmp(text, "1") == 0);
    if (given != 0 && given != 1) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "rynd_context_options: frozen is %d: give 0 or 1", given);
    }
    if (text && *text && strcmp(text, "0") != 0 && strcmp(text, "1") != 0) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "RYND_FREEZE is '%.100s': give 0 or 1", text);
    }
    return RYND_OK;
}

rynd_status ry_api_open_wisdom(rynd_context *context, const rynd_context_options *options,
                               ry_error *error)
{
    RY_TRY(is_frozen(options->frozen, &context->frozen, error));
    ry_wisdom_fingerprint(&context->machine, context->fingerprint);
    ry_wisdom_fingerprint(context->device == context->host ? &context->machine
                                                           : &context->host_machine,
                          context->host_fingerprint);
    context->adviser = (ry_adviser){advise, context, advise_plan};
    if (!ry_wisdom_path(options->wisdom, context->wisdom_path)) {
        return RYND_OK;
    }
    RY_TRY(ry_wisdom_open(context->wisdom_path, context->frozen, &context->allocator,
                          &context->wisdom, error));
    ry_wisdom_on_warning(context->wisdom, warn, context);
    if (context->frozen) {
        ry_wisdom_load(context->wisdom);
    }
    return RYND_OK;
}
