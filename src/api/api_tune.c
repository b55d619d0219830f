/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of a tuning: measures one, and describes it. */
#include "api/api_check.h"
#include "api/api_status.h"
#include "api/api_tune_model.h"
#include "api/op_handle.h"
#include "kernels/form.h"
#include "predict/predict.h"

#include <string.h>

/* bytes of all racing candidates of a problem */
static const size_t TUNE_MEMORY = (size_t)1 << 30;

ry_tuning_entry *ry_api_entry_of(const rynd_tuning *tuning, const char *text, unsigned constants,
                                 size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (tuning->entries[i].constants == constants &&
            strcmp(tuning->entries[i].text, text) == 0) {
            return &tuning->entries[i];
        }
    }
    return NULL;
}

rynd_tuning *ry_api_tuning_create(rynd_context *context)
{
    rynd_tuning *tuning = ry_allocate_array(&context->allocator, 1, sizeof *tuning);
    if (tuning) {
        tuning->context = context;
        tuning->info.ratio = 1;
        ry_arena_init(&tuning->arena, &context->allocator);
    }
    return tuning;
}

void rynd_tuning_destroy(rynd_tuning *tuning)
{
    if (tuning) {
        const ry_allocator allocator = tuning->context->allocator;
        ry_arena_free(&tuning->arena);
        ry_release(&allocator, tuning);
    }
}

rynd_status ry_api_check_tune_options(const rynd_context *context, const rynd_tune_options *options,
                                      ry_error *error)
{
    if (!(options->budget >= 0)) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "budget is %g: give seconds, or 0",
                       options->budget);
    }
    if ((unsigned)options->weights > RYND_TUNE_WEIGHTS_WARM) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "weights %d is none of rynd_tune_weights",
                       (int)options->weights);
    }
    RY_TRY(ry_api_check_accuracy(options->accuracy, error));
    if (context->frozen) {
        return ry_fail(error, RYND_ERROR_UNSUPPORTED,
                       "the context is frozen (RYND_FREEZE=1, or its options): nothing is "
                       "measured; tune without");
    }
    return ry_api_check_runs(context->device, error);
}

/* What the caller hears of an entry. */
typedef struct listener {
    const rynd_tuning *tuning;
    const rynd_tune_options *options;
    const ry_tuning_entry *entry;
    size_t all;
    double before; /* seconds spent on other entries */
} listener;

bool ry_api_tune_ends(const rynd_tune_options *options, const rynd_tune_progress *tuning)
{
    enum { PARTS = 1000 };
    const double share = tuning->budget > 0 ? tuning->spent / tuning->budget : 0;
    const rynd_progress progress =
        RYND_SIZED(rynd_progress, .done = (size_t)(share < 1 ? share * PARTS : PARTS), .all = PARTS,
                   .tuning = tuning);
    return options->progress && options->progress(options->progress_user, &progress) != 0;
}

static bool listen(void *user, const ry_tune_news *news)
{
    const listener *l = user;
    char knobs[RY_FORM_TEXT];
    ry_form_print(news->best->prepared.kernel, &news->best->prepared.form, knobs);
    const rynd_tune_progress tuning_progress =
        RYND_SIZED(rynd_tune_progress, .problem = l->entry->text, .index = l->tuning->count,
                   .count = l->all, .looked = (size_t)news->looked, .forms = (size_t)news->count,
                   .left = (size_t)news->left, .kernel = news->best->prepared.kernel->name,
                   .knobs = knobs, .ratio = news->ratio, .spent = l->before + news->spent,
                   .budget = l->tuning->info.budget, .saved = l->tuning->saved);
    return ry_api_tune_ends(l->options, &tuning_progress);
}

static size_t tasks_of(const ry_prepared *prepared)
{
    size_t tasks = 0;
    for (int i = 0; i < prepared->phases; i++) {
        tasks += prepared->tasks[i];
    }
    return tasks;
}

static rynd_status describe_forms(rynd_tuning *tuning, ry_tuning_entry *e, ry_error *error)
{
    static const rynd_tuned_verdict words[] = {
        [RY_VERDICT_UNTRIED] = RYND_TUNED_UNTRIED, [RY_VERDICT_REJECTED] = RYND_TUNED_REJECTED,
        [RY_VERDICT_SLOWER] = RYND_TUNED_SLOWER,   [RY_VERDICT_EQUAL] = RYND_TUNED_EQUAL,
        [RY_VERDICT_TAKEN] = RYND_TUNED_TAKEN,
    };
    e->forms = RY_TAKE(&tuning->arena, rynd_tuned_form, e->tuned.count);
    for (int i = 0; e->forms && i < e->tuned.count; i++) {
        const ry_measured_form *form = &e->tuned.forms[i];
        const ry_prepared *prepared = &form->prepared;
        char knobs[RY_FORM_TEXT];
        ry_form_print(prepared->kernel, &prepared->form, knobs);
        e->forms[i] = RYND_SIZED(
            rynd_tuned_form, .kernel = prepared->kernel->name,
            .knobs = ry_arena_string(&tuning->arena, knobs, strlen(knobs)),
            .verdict = words[form->verdict], .reason = form->reason, .predicted = form->predicted,
            .n = (size_t)form->time.n, .mean = form->time.mean, .variance = form->time.variance,
            .median = form->time.median, .min = form->time.min, .max = form->time.max,
            .flop = prepared->counts.flop, .bytes = prepared->counts.bytes,
            .tasks = tasks_of(prepared), .packed = ry_prepared_packed(prepared),
            .workspace = ry_prepared_workspace(prepared) +
                         prepared->scratch * tuning->context->device->workers,
            .joule = form->joule);
        if (!e->forms[i].knobs) {
            return ry_fail_memory(error);
        }
    }
    return e->forms ? RYND_OK : ry_fail_memory(error);
}

rynd_status ry_api_tune_entry(rynd_tuning *tuning, const rynd_tune_options *options, size_t all,
                              double budget, ry_error *error)
{
    ry_device *device = tuning->context->device;
    ry_tuning_entry *e = &tuning->entries[tuning->count];
    ry_target target = ry_target_of(device);
    const ry_target host = ry_target_here(device->host);
    target.network_bytes = e->network_bytes;
    listener l = {tuning, options, e, all, tuning->info.used};
    ry_meter meter;
    const bool metered =
        options->energy && device->table->kind == RY_DEVICE_cpu && ry_meter_open(NULL, &meter);
    ry_tune_options internal = {
        .budget = budget,
        .seed = options->seed,
        .cold = e->cold,
        .memory = TUNE_MEMORY,
        .energy = metered ? &meter : NULL,
        .listen = options->progress ? listen : NULL,
        .listen_user = &l,
    };
    e->elsewhere = !ry_api_tuned_claim(tuning, options, e, budget);
    if (e->elsewhere) {
        internal.budget = 0;
        ry_api_log(tuning->context, 1, "another process tunes '%.200s'", e->text);
    }
    rynd_status status = ry_tune_problem(&e->problem, e->constants, device, &target, &host,
                                         &internal, &tuning->arena, &e->tuned, error);
    status = status == RYND_OK ? describe_forms(tuning, e, error) : status;
    if (status == RYND_OK && !e->elsewhere) {
        status = ry_api_tuned_keep(tuning, options, e, e->tuned.taken, error);
    }
    if (!e->elsewhere) {
        ry_api_tuned_disclaim(tuning, options, e);
    }
    if (status != RYND_OK) {
        ry_error_prefix(error, "tuning '%.200s': ", e->text);
        return status;
    }
    if (e->tuned.taken) {
        tuning->saved += (double)e->steps * (e->forms[0].median - e->forms[e->tuned.taken].median);
    }
    tuning->info.used += e->tuned.seconds;
    tuning->info.ended |= e->tuned.stopped;
    tuning->info.problems = ++tuning->count;
    return RYND_OK;
}

rynd_status rynd_tuning_get_info(const rynd_tuning *tuning, rynd_tuning_info *info)
{
    RY_API_REQUIRE(tuning, info);
    ry_error error = {""};
    return ry_api_end(ry_api_info(info, &tuning->info, sizeof *info, "rynd_tuning_info", &error),
                      &error);
}

static rynd_status check_index(const rynd_tuning *tuning, size_t index, ry_error *error)
{
    return index < tuning->count ? RYND_OK
                                 : ry_fail(error, RYND_ERROR_ARGUMENT,
                                           "problem %zu: the tuning has %zu", index, tuning->count);
}

rynd_status rynd_tuning_get_problem(const rynd_tuning *tuning, size_t index,
                                    rynd_tuned_problem *problem)
{
    RY_API_REQUIRE(tuning, problem);
    ry_error error = {""};
    rynd_status status = check_index(tuning, index, &error);
    if (status != RYND_OK) {
        return ry_api_end(status, &error);
    }
    const ry_tuning_entry *e = &tuning->entries[index];
    const rynd_tuned_problem all = RYND_SIZED(
        rynd_tuned_problem, .problem = e->text, .constants = e->constants, .steps = e->steps,
        .forms = (size_t)e->tuned.count, .taken = (size_t)e->tuned.taken, .ratio = e->tuned.ratio,
        .rounds = (size_t)e->tuned.rounds, .disturbed = (size_t)e->tuned.disturbed,
        .left_out = (size_t)e->tuned.left_out, .seconds = e->tuned.seconds, .cold = e->cold,
        .elsewhere = e->elsewhere, .network_ratio = e->network_ratio,
        .disturbance = e->tuned.disturbance);
    return ry_api_end(ry_api_info(problem, &all, sizeof all, "rynd_tuned_problem", &error), &error);
}

rynd_status rynd_tuning_get_form(const rynd_tuning *tuning, size_t problem, size_t form,
                                 rynd_tuned_form *info)
{
    RY_API_REQUIRE(tuning, info);
    ry_error error = {""};
    rynd_status status = check_index(tuning, problem, &error);
    if (status == RYND_OK && form >= (size_t)tuning->entries[problem].tuned.count) {
        status = ry_fail(&error, RYND_ERROR_ARGUMENT, "form %zu: the problem has %d", form,
                         tuning->entries[problem].tuned.count);
    }
    if (status == RYND_OK) {
        status = ry_api_info(info, &tuning->entries[problem].forms[form], sizeof *info,
                             "rynd_tuned_form", &error);
    }
    return ry_api_end(status, &error);
}

const char *rynd_tuned_verdict_text(rynd_tuned_verdict verdict)
{
    static const char *const words[] = {
        [RYND_TUNED_UNTRIED] = "untried", [RYND_TUNED_REJECTED] = "rejected",
        [RYND_TUNED_SLOWER] = "slower",   [RYND_TUNED_EQUAL] = "equal",
        [RYND_TUNED_TAKEN] = "taken",
    };
    return (unsigned)verdict < sizeof words / sizeof *words ? words[verdict] : "unknown";
}
