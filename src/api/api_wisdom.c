/* SPDX-License-Identifier: Apache-2.0 */
/* The wisdom of a context: which file it is, and what plans learn of it. */
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
    context->adviser = (ry_adviser){advise, context};
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
