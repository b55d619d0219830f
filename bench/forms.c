/* SPDX-License-Identifier: Apache-2.0 */
/* Times every form of every kernel that takes a problem, with what was predicted of it:
 *
 *   forms THREADS SECONDS [VARIANTS] < PROBLEMS
 *
 * PROBLEMS: a problem's text a line. VARIANTS: so many more of each form, with a random value of
 * one knob that it leaves to the kernel. For each, SECONDS are spent: its forms take turns on the
 * same data, those that take three times as long as the best drop out after a first look, and those
 * predicted to take eight times as long are not tried. Prints a line of JSON for each form:
 * problem, kernel, family, knobs, chosen (the one that is taken without a word), predicted
 * (seconds), least and median (seconds), n. bench/regret makes problems, calls this and sums up. */
#include "api/handles.h"
#include "base/clock.h"
#include "graph/infer.h"
#include "kernels/form.h"
#include "predict/predict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FORMS = 256, MAX_TIMES = 64, MAX_OPERANDS = 8, LOOK = 2, MAX_TEXT = 1024 };

static const double DROPPED = 3;  /* times the best, at the first look */
static const double LEFT_OUT = 8; /* times the least prediction: their memory is not worth it */

typedef struct candidate {
    const ry_kernel *kernel;
    char knobs[RY_FORM_TEXT];
    rynd_op *op;
    double predicted, time[MAX_TIMES];
    int count;
    bool chosen;
} candidate;

typedef struct bench {
    rynd_context *context;
    unsigned threads;
    int variants;
    const char *text;
    void *in[MAX_OPERANDS], *out[MAX_OPERANDS];
    rynd_tensor inputs[MAX_OPERANDS];
    candidate all[MAX_FORMS];
    int count;
} bench;

static void fail(const char *what)
{
    fprintf(stderr, "forms: %s: %s\n", what, rynd_last_error());
    exit(1);
}

static size_t bytes_of(const rynd_tensor *tensor)
{
    size_t count = 1;
    for (int i = 0; i < tensor->rank; i++) {
        count *= (size_t)tensor->dim[i];
    }
    return count * ry_dtype_size((ry_dtype)tensor->dtype);
}

/* Floats of -0.5 to 0.5; integers are 0, a legal index of any axis. */
static void *random_data(const rynd_tensor *tensor)
{
    static uint32_t seed = 1;
    const size_t bytes = bytes_of(tensor);
    void *data = ry_allocate(&ry_system_allocator, bytes);
    if (!data) {
        fail("memory");
    }
    for (size_t i = 0; i < bytes / ry_dtype_size((ry_dtype)tensor->dtype); i++) {
        seed = seed * 1664525u + 1013904223u;
        ry_set_f64((ry_dtype)tensor->dtype, data, (int64_t)i, (double)(seed >> 8) / 0x1p24 - 0.5);
    }
    return data;
}

/* All inputs but the first are constant. */
static void make_operands(bench *b)
{
    rynd_op *op;
    if (rynd_op_create(b->context, b->text, NULL, &op) != RYND_OK) {
        fail(b->text);
    }
    for (size_t i = 0; i < rynd_op_input_count(op); i++) {
        rynd_op_input(op, i, &b->inputs[i]);
        if (b->inputs[i].dtype != RYND_DTYPE_NONE) {
            b->in[i] = random_data(&b->inputs[i]);
            b->inputs[i].data = i ? b->in[i] : NULL;
        }
    }
    for (size_t i = 0; i < rynd_op_output_count(op); i++) {
        rynd_tensor output;
        rynd_op_output(op, i, &output);
        b->out[i] = random_data(&output);
    }
    rynd_op_destroy(op);
}

/* As settings of the kernel and of each knob. */
static size_t settings_of(const candidate *c, char *text, rynd_setting *settings)
{
    size_t count = 0;
    settings[count++] = (rynd_setting){NULL, "kernel", c->kernel->name};
    snprintf(text, RY_FORM_TEXT, "%s", c->knobs);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        char *equals = strchr(word, '=');
        *equals = 0;
        settings[count++] = (rynd_setting){NULL, word, equals + 1};
    }
    return count;
}

static void add(bench *b, const ry_prepared *prepared, const ry_form *set, double predicted)
{
    candidate *c = &b->all[b->count];
    char text[RY_FORM_TEXT];
    rynd_setting settings[RY_MAX_KNOBS + 1];
    *c = (candidate){.kernel = prepared->kernel, .predicted = predicted};
    ry_form_print(prepared->kernel, set, c->knobs);
    const size_t count = settings_of(c, text, settings);
    const rynd_op_options options = {
        .size = sizeof options, .inputs = b->inputs, .settings = settings, .setting_count = count};
    if (rynd_op_create(b->context, b->text, &options, &c->op) != RYND_OK) {
        return; /* knobs that do not go together */
    }
    ry_form_print(prepared->kernel, &prepared->form, c->knobs);
    b->count++;
}

static bool is_there(const bench *b, const ry_prepared *prepared)
{
    char knobs[RY_FORM_TEXT];
    ry_form_print(prepared->kernel, &prepared->form, knobs);
    for (int i = 0; i < b->count; i++) {
        if (b->all[i].kernel == prepared->kernel && strcmp(b->all[i].knobs, knobs) == 0) {
            return true;
        }
    }
    return false;
}

static void consider(bench *b, const ry_query *query, double least)
{
    ry_prepared prepared;
    ry_error error;
    if (b->count < MAX_FORMS && ry_form_check(query, &error) == RYND_OK &&
        ry_prepare(query, ~0u, &prepared, &error) == RYND_OK && !is_there(b, &prepared)) {
        const double predicted = ry_predict_time(&prepared, query->target->machine, b->threads);
        if (predicted <= LEFT_OUT * least) {
            add(b, &prepared, query->form, predicted);
        }
    }
}

/* The form with another value of one of its free knobs. */
static void consider_variant(bench *b, const ry_query *query, double least)
{
    ry_form form = *query->form;
    const ry_query variant = {query->kernel, query->problem, query->target, &form};
    const int knob = query->kernel->knob_count > 0 ? rand() % query->kernel->knob_count : 0;
    ry_knob_values values = {0};
    if (query->kernel->knob_count == 0 || query->kernel->knobs[knob].main) {
        return;
    }
    query->kernel->values(query, knob, &values);
    if (values.count > 1) {
        form.value[knob] = values.value[rand() % values.count];
        consider(b, &variant, least);
    }
}

/* The form that the kernel takes by itself first, then all others. */
static void list_forms(bench *b, const ry_kernel *kernel, const ry_problem *problem,
                       const ry_target *target, double least)
{
    ry_form form = ry_form_free();
    const ry_query any = {kernel, problem, target, NULL};
    for (size_t index = 0;; index++) {
        const ry_query query = {kernel, problem, target, &form};
        consider(b, &query, least);
        for (int i = 0; i < b->variants; i++) {
            consider_variant(b, &query, least);
        }
        if (!ry_form_at(&any, index, &form)) {
            return;
        }
    }
}

static void list_candidates(bench *b)
{
    ry_arena arena;
    ry_error error = {""};
    ry_problem problem;
    ry_arena_init(&arena, &ry_system_allocator);
    if (ry_problem_parse(b->text, &arena, &problem, &error) != RYND_OK ||
        ry_problem_check(&problem, &ry_system_allocator, &error) != RYND_OK) {
        fprintf(stderr, "forms: %s: %s\n", b->text, error.text);
        exit(1);
    }
    const ry_target target = ry_target_of(b->context->device);
    ry_choice choice;
    if (ry_predict_choose(&problem, &target, ~0u, NULL, &choice, &error) != RYND_OK) {
        fail(b->text);
    }
    size_t at = 0;
    for (const ry_kernel *kernel; (kernel = ry_kernel_next(&problem, &target, &at)) != NULL;) {
        list_forms(b, kernel, &problem, &target, choice.seconds);
    }
    char knobs[RY_FORM_TEXT];
    ry_form_print(choice.prepared.kernel, &choice.prepared.form, knobs);
    for (int i = 0; i < b->count; i++) {
        b->all[i].chosen =
            b->all[i].kernel == choice.prepared.kernel && strcmp(b->all[i].knobs, knobs) == 0;
    }
    ry_arena_free(&arena);
}

static double run_once(bench *b, candidate *c)
{
    const double start = ry_clock_seconds();
    if (rynd_op_execute(c->op, (const void *const *)b->in, b->out) != RYND_OK) {
        fail(c->knobs);
    }
    return ry_clock_seconds() - start;
}

/* A short run is repeated: the clock and the caller take part of it. */
static void measure(bench *b, candidate *c)
{
    const double each = c->count ? c->time[0] : run_once(b, c);
    const int repeats = each < 50e-6 ? 1 + (int)(50e-6 / (each + 1e-9)) : 1;
    double sum = 0;
    for (int i = 0; i < repeats; i++) {
        sum += run_once(b, c);
    }
    c->time[c->count++] = sum / repeats;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void take_turns(bench *b, double seconds)
{
    double best = INFINITY;
    for (int turn = 0; turn < LOOK; turn++) {
        for (int i = 0; i < b->count; i++) {
            measure(b, &b->all[i]);
            best = fmin(best, b->all[i].time[turn]);
        }
    }
    const double end = ry_clock_seconds() + seconds;
    for (int turn = LOOK; turn < MAX_TIMES && ry_clock_seconds() < end; turn++) {
        for (int i = 0; i < b->count; i++) {
            if (b->all[i].chosen || fmin(b->all[i].time[0], b->all[i].time[1]) <= DROPPED * best) {
                measure(b, &b->all[i]);
            }
        }
    }
}

static void print(bench *b)
{
    for (int i = 0; i < b->count; i++) {
        candidate *c = &b->all[i];
        qsort(c->time, (size_t)c->count, sizeof *c->time, by_size);
        printf("{\"problem\": \"%s\", \"kernel\": \"%s\", \"family\": \"%s\", \"knobs\": \"%s\", "
               "\"chosen\": %s, \"predicted\": %.9g, "
               "\"least\": %.9g, \"median\": %.9g, \"n\": %d}\n",
               b->text, c->kernel->name, c->kernel->family, c->knobs, c->chosen ? "true" : "false",
               c->predicted, c->time[0], c->time[c->count / 2], c->count);
        rynd_op_destroy(c->op);
    }
    fflush(stdout);
    for (int i = 0; i < MAX_OPERANDS; i++) {
        ry_release(&ry_system_allocator, b->in[i]);
        ry_release(&ry_system_allocator, b->out[i]);
        b->in[i] = b->out[i] = NULL;
    }
    b->count = 0;
}

int main(int argc, char **argv)
{
    static bench b;
    static char text[MAX_TEXT];
    if (argc < 3 || argc > 4 || atoi(argv[1]) < 1) {
        fprintf(stderr, "usage: forms THREADS SECONDS [VARIANTS] < PROBLEMS\n");
        return 2;
    }
    b.threads = (unsigned)atoi(argv[1]);
    b.variants = argc > 3 ? atoi(argv[3]) : 0;
    const rynd_context_options options = {.size = sizeof options, .threads = b.threads};
    if (rynd_context_create(&options, &b.context) != RYND_OK) {
        fail("context");
    }
    while (fgets(text, sizeof text, stdin)) {
        text[strcspn(text, "\n")] = 0;
        b.text = text;
        memset(b.inputs, 0, sizeof b.inputs);
        make_operands(&b);
        list_candidates(&b);
        take_turns(&b, atof(argv[2]));
        print(&b);
    }
    rynd_context_destroy(b.context);
    return 0;
}
