/* SPDX-License-Identifier: Apache-2.0 */
/* Records measured again: how far what was true once is true now. */
#include "api/api_tune_plans.h"
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

enum { COUNT = 20, MIN_SAMPLES = 5, MAX_SAMPLES = 10000 };
static const double SECONDS = 0.1;

/* An operator in the form of a record, with memory for what it reads and writes. */
typedef struct subject {
    rynd_op *op;
    const void **in;
    void **out;
    ry_arena arena; /* of all of it */
} subject;

/* SplitMix64 (Steele, Lea, Flood, 2014): the same numbers in every run. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Floats from -1 to 1; other elements are 0 or 1, and so good as indices and lengths. */
static void fill(const rynd_tensor *tensor, size_t bytes, uint64_t seed)
{
    const size_t size = ry_dtype_size((ry_dtype)tensor->dtype);
    uint8_t *at = tensor->data;
    memset(at, 0, bytes);
    for (size_t i = 0; i + size <= bytes; i += size) {
        const uint64_t random = next_random(&seed);
        const float value = (float)(random >> 40) * 0x1p-23f - 1;
        if (tensor->dtype == RYND_DTYPE_F32) {
            memcpy(at + i, &value, sizeof value);
        } else if (tensor->dtype == RYND_DTYPE_F64) {
            const double wide = value;
            memcpy(at + i, &wide, sizeof wide);
        } else if (tensor->dtype == RYND_DTYPE_F16 || tensor->dtype == RYND_DTYPE_BF16) {
            /* 0.5 in either format, with bits of the fraction: the last of the exponent is clear */
            const uint16_t half = (uint16_t)((tensor->dtype == RYND_DTYPE_F16 ? 0x3800 : 0x3f00) |
                                             (random & 0x7f) | (random >> 8 & 0x8000));
            memcpy(at + i, &half, sizeof half);
        } else if (random & 1) {
            at[i] = 1;
        }
    }
}

static rynd_status take_tensor(subject *s, rynd_tensor *tensor, bool input, uint64_t seed,
                               ry_error *error)
{
    if (tensor->dtype == RYND_DTYPE_NONE) {
        return RYND_OK;
    }
    const size_t bytes = ry_tensor_span(tensor);
    if (bytes == 0 && ry_tensor_count(tensor) > 0) {
        return ry_fail(error, RYND_ERROR_UNSUPPORTED, "an operand has a negative stride");
    }
    tensor->data = ry_arena_take_aligned(&s->arena, bytes ? bytes : 1);
    if (!tensor->data) {
        return ry_fail_memory(error);
    }
    if (input) {
        fill(tensor, bytes, seed);
    }
    return RYND_OK;
}

/* Functions of the library keep their message for the thread. */
static rynd_status failed(rynd_status status, ry_error *error)
{
    ry_error_write(error, "%s", rynd_last_error());
    return status;
}

static rynd_status create_op(rynd_context *context, const ry_wisdom_row *row,
                             const rynd_setting *settings, size_t count, const rynd_tensor *inputs,
                             rynd_op **op, ry_error *error)
{
    const rynd_op_options options = {.size = sizeof options,
                                     .inputs = inputs,
                                     .constants = inputs ? 0 : row->key.constants,
                                     .settings = settings,
                                     .setting_count = count};
    const rynd_status status = rynd_op_create(context, row->key.problem, &options, op);
    return status == RYND_OK ? RYND_OK : failed(status, error);
}

/* "mr=14 nr=32" as settings, after the kernel's: two of a word's places at least for each. */
static rynd_status make_settings(subject *s, const ry_wisdom_record *record,
                                 rynd_setting **settings, size_t *count, ry_error *error)
{
    char *form = ry_arena_string(&s->arena, record->form, strlen(record->form)), *rest = NULL;
    *settings = RY_TAKE(&s->arena, rynd_setting, strlen(record->form) / 2 + 2);
    if (!form || !*settings) {
        return ry_fail_memory(error);
    }
    *count = 0;
    (*settings)[(*count)++] = (rynd_setting){NULL, "kernel", record->kernel};
    for (char *word = strtok_r(form, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *equals = strchr(word, '=');
        if (!equals) {
            return ry_fail(error, RYND_ERROR_FORMAT, "form '%s' is no list of KNOB=VALUE",
                           record->form);
        }
        *equals = 0;
        (*settings)[(*count)++] = (rynd_setting){NULL, word, equals + 1};
    }
    return RYND_OK;
}

/* Memory for the operands of an operator that can only be looked at; *inputs are for the one that
 * runs: those that keep their values have their memory there. */
static rynd_status make_operands(subject *s, const ry_wisdom_row *row, rynd_tensor **inputs,
                                 ry_error *error)
{
    const size_t ins = rynd_op_input_count(s->op), outs = rynd_op_output_count(s->op);
    *inputs = RY_TAKE(&s->arena, rynd_tensor, ins + 1);
    s->in = RY_TAKE(&s->arena, const void *, ins + 1);
    s->out = RY_TAKE(&s->arena, void *, outs + 1);
    if (!*inputs || !s->in || !s->out) {
        return ry_fail_memory(error);
    }
    for (size_t i = 0; i < ins; i++) {
        rynd_tensor *tensor = &(*inputs)[i];
        const rynd_status status = rynd_op_input(s->op, i, tensor);
        RY_TRY(status == RYND_OK ? take_tensor(s, tensor, true, i + 1, error)
                                 : failed(status, error));
        s->in[i] = tensor->data;
        tensor->data = i < 32 && (row->key.constants >> i & 1u) ? tensor->data : NULL;
    }
    for (size_t i = 0; i < outs; i++) {
        rynd_tensor tensor;
        const rynd_status status = rynd_op_output(s->op, i, &tensor);
        RY_TRY(status == RYND_OK ? take_tensor(s, &tensor, false, 0, error)
                                 : failed(status, error));
        s->out[i] = tensor.data;
    }
    return RYND_OK;
}

/* Made twice: to learn the shapes, and with the values of the constants. */
static rynd_status open_subject(rynd_context *context, const ry_wisdom_row *row, subject *s,
                                ry_error *error)
{
    rynd_setting *settings;
    rynd_tensor *inputs;
    size_t count;
    RY_TRY(make_settings(s, &row->record, &settings, &count, error));
    RY_TRY(create_op(context, row, settings, count, NULL, &s->op, error));
    RY_TRY(make_operands(s, row, &inputs, error));
    rynd_op_destroy(s->op);
    return create_op(context, row, settings, count, inputs, &s->op, error);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static rynd_status time_subject(subject *s, double least, rynd_wisdom_drift *drift, ry_error *error)
{
    size_t count = 0;
    double total = 0, *seconds = RY_TAKE(&s->arena, double, MAX_SAMPLES);
    if (!seconds) {
        return ry_fail_memory(error);
    }
    for (int warm = 2; count < MAX_SAMPLES && (count < MIN_SAMPLES || total < least);) {
        const double begin = ry_clock_seconds();
        const rynd_status status = rynd_op_execute(s->op, s->in, s->out);
        const double taken = ry_clock_seconds() - begin;
        if (status != RYND_OK) {
            return failed(status, error);
        }
        if (warm > 0) {
            warm--;
            continue;
        }
        seconds[count++] = taken;
        total += taken;
    }
    qsort(seconds, count, sizeof *seconds, by_size);
    drift->samples = (int64_t)count;
    drift->min = seconds[0];
    drift->max = seconds[count - 1];
    drift->median = (seconds[(count - 1) / 2] + seconds[count / 2]) / 2;
    return RYND_OK;
}

static rynd_status measure(rynd_context *context, const ry_wisdom_row *row, double least,
                           rynd_wisdom_drift *drift, ry_error *error)
{
    subject s = {0};
    ry_arena_init(&s.arena, &context->allocator);
    rynd_status status = open_subject(context, row, &s, error);
    status = status != RYND_OK ? status : time_subject(&s, least, drift, error);
    if (status != RYND_OK) {
        ry_error_prefix(error, "%s %s: %.200s: ", row->record.kernel, row->record.form,
                        row->key.problem);
    }
    rynd_op_destroy(s.op);
    ry_arena_free(&s.arena);
    return status;
}

/* Can the record be measured here, and say something? A plan's needs its network. */
static bool holds_here(const rynd_context *context, const ry_wisdom_row *row)
{
    rynd_wisdom_record shown;
    ry_api_wisdom_record(context, &row->key, &row->record, &shown);
    return shown.current && strcmp(row->record.kernel, RY_PLAN_KERNEL) != 0 &&
           !row->record.rejected && row->key.threads == ry_threads_count(context->threads) &&
           strcmp(row->key.machine, context->fingerprint) == 0;
}

/* The first `wanted` of a random order (Fisher and Yates), in the order of the file again. */
static size_t choose(size_t count, size_t wanted, uint64_t seed, bool *chosen, size_t *order)
{
    const size_t most = wanted < count ? wanted : count;
    for (size_t i = 0; i < count; i++) {
        order[i] = i;
    }
    for (size_t i = 0; i < most; i++) {
        const size_t other = i + (size_t)(next_random(&seed) % (count - i)), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
        chosen[order[i]] = true;
    }
    return most;
}

typedef struct visit {
    rynd_wisdom_drift_visitor function;
    void *user;
} visit;

static rynd_status measure_rows(rynd_context *context, const ry_wisdom_row *rows, size_t count,
                                const bool *chosen, size_t all, double least, const visit *visitor,
                                ry_error *error)
{
    size_t index = 0;
    for (size_t i = 0; i < count; i++) {
        if (!chosen[i]) {
            continue;
        }
        rynd_wisdom_record record;
        ry_api_wisdom_record(context, &rows[i].key, &rows[i].record, &record);
        rynd_wisdom_drift drift = {
            .size = sizeof drift, .record = &record, .index = index++, .count = all};
        RY_TRY(measure(context, &rows[i], least, &drift, error));
        drift.ratio = drift.median / record.median;
        if (visitor->function(visitor->user, &drift) != 0) {
            return ry_fail(error, RYND_ERROR_CANCELLED, "rynd_wisdom_check: ended by its visitor");
        }
    }
    return RYND_OK;
}

static rynd_status check(rynd_context *context, const ry_wisdom_filter *filter,
                         const rynd_wisdom_check_options *options, const visit *visitor,
                         ry_arena *arena, ry_error *error)
{
    ry_wisdom_row *rows;
    size_t read, count = 0;
    RY_TRY(ry_api_check_runs(context->device, error));
    RY_TRY(ry_api_wisdom_rows(context->wisdom, filter, arena, &rows, &read, error));
    for (size_t i = 0; i < read; i++) {
        if (holds_here(context, &rows[i])) {
            rows[count++] = rows[i];
        }
    }
    bool *chosen = RY_TAKE(arena, bool, count);
    size_t *order = RY_TAKE(arena, size_t, count);
    if (!chosen || !order) {
        return ry_fail_memory(error);
    }
    const size_t wanted = options->count ? options->count : COUNT;
    const size_t all = choose(count, wanted, options->seed, chosen, order);
    const double least = options->seconds > 0 ? options->seconds : SECONDS;
    return measure_rows(context, rows, count, chosen, all, least, visitor, error);
}

rynd_status rynd_wisdom_check(rynd_context *context, const rynd_wisdom_filter *given,
                              const rynd_wisdom_check_options *how,
                              rynd_wisdom_drift_visitor function, void *user)
{
    RY_API_REQUIRE(context);
    ry_error error = {""};
    ry_arena arena;
    ry_wisdom_filter filter;
    rynd_wisdom_check_options options;
    const visit visitor = {function, user};
    ry_arena_init(&arena, &context->allocator);
    rynd_status status =
        function ? RYND_OK
                 : ry_fail(&error, RYND_ERROR_ARGUMENT, "rynd_wisdom_check: visit is NULL");
    status = status != RYND_OK ? status : ry_api_wisdom_filter(given, &filter, &error);
    status = status != RYND_OK ? status
                               : ry_api_options(&options, sizeof options, how,
                                                "rynd_wisdom_check_options", &error);
    if (status == RYND_OK && !(options.seconds >= 0 && options.seconds <= 3600)) {
        status = ry_fail(&error, RYND_ERROR_ARGUMENT,
                         "rynd_wisdom_check_options: seconds is outside 0 to 3600");
    }
    status =
        status != RYND_OK ? status : check(context, &filter, &options, &visitor, &arena, &error);
    ry_arena_free(&arena);
    return ry_api_end(status, &error);
}
