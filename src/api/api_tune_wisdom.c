/* SPDX-License-Identifier: Apache-2.0 */
/* What was measured, as records of wisdom. */
#include "api/api_tune_plans.h"
#include "api/api_wisdom.h"
#include "base/clock.h"
#include "kernels/kernel_source.h"

#include <math.h>
#include <string.h>

static ry_wisdom *wisdom_of(const rynd_tuning *tuning, const rynd_tune_options *options)
{
    return options->without_wisdom ? NULL : tuning->context->wisdom;
}

static ry_wisdom_key key_of(const rynd_tuning *tuning, const ry_tuning_entry *entry)
{
    return (ry_wisdom_key){.problem = entry->text,
                           .constants = entry->constants,
                           .threads = ry_threads_count(tuning->context->threads),
                           .machine = tuning->context->fingerprint};
}

static ry_wisdom_key plan_key(const rynd_tuning *tuning)
{
    return (ry_wisdom_key){.problem = tuning->plans->network,
                           .threads = ry_threads_count(tuning->context->threads),
                           .machine = tuning->context->fingerprint};
}

static bool claim(const rynd_tuning *tuning, const rynd_tune_options *options,
                  const ry_wisdom_key *key, double budget)
{
    enum { GRACE = 60, MOST = 1000000 };
    return ry_wisdom_claim(wisdom_of(tuning, options), key, GRACE + (int64_t)fmin(MOST, budget));
}

/* A lease ends by itself some time after the budget is spent. */
bool ry_api_tuned_claim(const rynd_tuning *tuning, const rynd_tune_options *options,
                        const ry_tuning_entry *entry, double budget)
{
    const ry_wisdom_key key = key_of(tuning, entry);
    return claim(tuning, options, &key, budget);
}

void ry_api_tuned_disclaim(const rynd_tuning *tuning, const rynd_tune_options *options,
                           const ry_tuning_entry *entry)
{
    const ry_wisdom_key key = key_of(tuning, entry);
    ry_wisdom_disclaim(wisdom_of(tuning, options), &key);
}

/* Wisdom takes the least median. Of forms that are equal within noise, or were only looked at, that
 * would be chance's choice: none has less than the one that is taken. */
static ry_wisdom_record record_of(const rynd_tuned_form *form, const ry_prepared *prepared,
                                  bool cold, double least, int64_t now)
{
    const bool wrong = form->verdict == RYND_TUNED_REJECTED;
    return (ry_wisdom_record){
        .kernel = form->kernel,
        .form = form->knobs,
        .source = ry_kernel_source(prepared->kernel),
        .rejected = wrong ? form->reason : NULL,
        .samples = (int64_t)form->n,
        .mean = form->mean,
        .variance = form->variance,
        .median = fmax(form->median, wrong ? 0 : least),
        .min = form->min,
        .max = fmax(form->max, wrong ? 0 : least),
        .predicted = form->predicted,
        .time = now,
        .cold = cold,
    };
}

/* What could not be made for want of memory may be made another time. */
static bool is_worth_keeping(const rynd_tuned_form *form)
{
    return form->n > 0 || (form->verdict == RYND_TUNED_REJECTED &&
                           strncmp(form->reason, "wrong: ", strlen("wrong: ")) == 0);
}

/* Lists each kernel of the entry's forms once, so that earlier records of these kernels are
 * dropped. Empty if the budget ended before all forms were tried: then earlier records stay. */
static size_t list_kernels(const ry_tuning_entry *entry, ry_wisdom_kernel *kernels)
{
    size_t count = 0;
    for (int i = 0; i < entry->tuned.count; i++) {
        const ry_kernel *kernel = entry->tuned.forms[i].prepared.kernel;
        bool listed = false;
        if (entry->forms[i].verdict == RYND_TUNED_UNTRIED) {
            return 0;
        }
        for (size_t k = 0; k < count && !listed; k++) {
            listed = strcmp(kernels[k].kernel, kernel->name) == 0;
        }
        if (!listed) {
            kernels[count++] = (ry_wisdom_kernel){kernel->name, ry_kernel_source(kernel)};
        }
    }
    return count;
}

rynd_status ry_api_tuned_keep(const rynd_tuning *tuning, const rynd_tune_options *options,
                              const ry_tuning_entry *entry, int taken, ry_error *error)
{
    const ry_wisdom_key key = key_of(tuning, entry);
    ry_wisdom *wisdom = wisdom_of(tuning, options);
    ry_arena arena;
    ry_arena_init(&arena, &tuning->context->allocator);
    ry_wisdom_record *records = RY_TAKE(&arena, ry_wisdom_record, entry->tuned.count);
    ry_wisdom_kernel *kernels = RY_TAKE(&arena, ry_wisdom_kernel, entry->tuned.count);
    const double least = entry->tuned.count ? entry->forms[taken].median : 0;
    const int64_t now = ry_clock_calendar_seconds();
    size_t count = 0;
    for (int i = 0; records && kernels && i < entry->tuned.count; i++) {
        const rynd_tuned_form *form = &entry->forms[i];
        if (is_worth_keeping(form)) {
            records[count++] = record_of(form, &entry->tuned.forms[i].prepared, entry->cold,
                                         i == taken ? least : least * (1 + 1e-6), now);
        }
    }
    const rynd_status status =
        !records || !kernels ? ry_fail_memory(error)
        : wisdom && count ? ry_wisdom_replace(wisdom, &key, kernels, list_kernels(entry, kernels),
                                              records, count, error)
                          : RYND_OK;
    ry_arena_free(&arena);
    return status;
}

bool ry_api_plans_claim(const rynd_tuning *tuning, const rynd_tune_options *options, double budget)
{
    const ry_wisdom_key key = plan_key(tuning);
    return claim(tuning, options, &key, budget);
}

void ry_api_plans_disclaim(const rynd_tuning *tuning, const rynd_tune_options *options)
{
    const ry_wisdom_key key = plan_key(tuning);
    ry_wisdom_disclaim(wisdom_of(tuning, options), &key);
}

rynd_status ry_api_plans_keep(const rynd_tuning *tuning, const rynd_tune_options *options,
                              size_t taken, ry_error *error)
{
    const ry_tuned_plans *plans = tuning->plans;
    const ry_wisdom_key key = plan_key(tuning);
    const ry_wisdom_kernel plan = {RY_PLAN_KERNEL, 0};
    ry_wisdom *wisdom = wisdom_of(tuning, options);
    ry_arena arena;
    ry_arena_init(&arena, &tuning->context->allocator);
    ry_wisdom_record *records = RY_TAKE(&arena, ry_wisdom_record, plans->count);
    const double least = plans->items[taken].median;
    const int64_t now = ry_clock_calendar_seconds();
    size_t count = 0;
    for (size_t i = 0; records && i < plans->count; i++) {
        const rynd_tuned_plan *item = &plans->items[i];
        const double floor = i == taken ? least : least * (1 + 1e-6);
        if (item->n > 0) {
            records[count++] = (ry_wisdom_record){
                .kernel = RY_PLAN_KERNEL,
                .form = item->knobs,
                .source = plans->steps[i],
                .samples = (int64_t)item->n,
                .mean = item->mean,
                .variance = item->variance,
                .median = fmax(item->median, floor),
                .min = item->min,
                .max = fmax(item->max, floor),
                .predicted = item->predicted,
                .time = now,
            };
        }
    }
    const rynd_status status =
        !records          ? ry_fail_memory(error)
        : wisdom && count ? ry_wisdom_replace(wisdom, &key, &plan, 1, records, count, error)
                          : RYND_OK;
    ry_arena_free(&arena);
    return status;
}
