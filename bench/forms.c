/* SPDX-License-Identifier: Apache-2.0 */
/* Times every form of every kernel that takes a problem, with what was predicted of it:
 *
 *   forms THREADS SECONDS [VARIANTS [TIMES]] < PROBLEMS
 *
 * PROBLEMS: a problem's text a line. VARIANTS: so many more of each form, with a random value of
 * one knob that it leaves to the kernel. For each, SECONDS are spent: its forms take turns on the
 * same data, those that take three times as long as the best drop out after a first look, and those
 * predicted to take TIMES (8) as long are not tried; 0: only the chosen form is. RYND_DEVICE takes a device; of one whose
 * memory is its own, times are its events', without copies, and TIMES is of each kernel's least.
 * Prints a line of JSON for each form: problem, kernel, family, knobs, chosen (the one that is
 * taken without a word), predicted (seconds), least and median (seconds), n. bench/regret makes
 * problems, calls this and sums up. */
#include "api/handles.h"
#include "base/clock.h"
#include "forms_device.h"
#include "graph/infer.h"
#include "kernels/form.h"
#include "predict/predict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FORMS = 256, MAX_TIMES = 64, MAX_OPERANDS = 8, LOOK = 2, MAX_TEXT = 1024 };

static const double DROPPED = 3; /* times the best, at the first look */
/* Times the least prediction: their memory is not worth it. */
static const double LEFT_OUT = 8;

typedef struct candidate {
    const ry_kernel *kernel;
    char knobs[RY_FORM_TEXT];
    rynd_op *op;      /* where memory is shared */
    device_form form; /* elsewhere */
    double predicted, time[MAX_TIMES];
    int count;
    bool chosen;
} candidate;

typedef struct bench {
    rynd_context *context;
    unsigned threads;
    int variants;
    double left_out;
    const char *text;
    void *in[MAX_OPERANDS], *out[MAX_OPERANDS];
    rynd_tensor inputs[MAX_OPERANDS];
    ry_arena arena; /* holds the problem */
    ry_problem problem;
    device_operands operands; /* used if the device has its own memory */
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
        rynd_op_get_input(op, i, &b->inputs[i]);
        if (b->inputs[i].dtype != RYND_DTYPE_NONE) {
            b->in[i] = random_data(&b->inputs[i]);
            b->inputs[i].data = i ? b->in[i] : NULL;
        }
    }
    for (size_t i = 0; i < rynd_op_output_count(op); i++) {
        rynd_tensor output;
        rynd_op_get_output(op, i, &output);
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

static bool has_own_memory(const bench *b)
{
    return !b->context->device->host_memory;
}

static void add_to_device(bench *b, candidate *c, const ry_query *query)
{
    ry_error error = {""};
    if (device_form_make(&c->form, &b->operands, query, &error) != RYND_OK) {
        fprintf(stderr, "forms: %s %s: %s\n", b->text, c->knobs, error.text);
        exit(1);
    }
    b->count++;
}

static void add(bench *b, const ry_prepared *prepared, const ry_query *query, double predicted)
{
    const ry_form *set = query->form;
    candidate *c = &b->all[b->count];
    char text[RY_FORM_TEXT];
    rynd_setting settings[RY_MAX_KNOBS + 1];
    *c = (candidate){.kernel = prepared->kernel, .predicted = predicted};
    if (has_own_memory(b)) {
        ry_form_print(prepared->kernel, &prepared->form, c->knobs);
        add_to_device(b, c, query);
        return;
    }
    ry_form_print(prepared->kernel, set, c->knobs);
    const size_t count = settings_of(c, text, settings);
    const rynd_op_options options = RYND_SIZED(rynd_op_options, .inputs = b->inputs,
                                               .settings = settings, .setting_count = count);
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
        if (predicted <= b->left_out * least) {
            add(b, &prepared, query, predicted);
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

/* What other forms of a kernel are compared with. */
static double least_of(const bench *b, const ry_query *any, const ry_choice *choice)
{
    ry_prepared prepared;
    ry_error error;
    return has_own_memory(b) && ry_prepare(any, ~0u, &prepared, &error) == RYND_OK
               ? ry_predict_time(&prepared, any->target->machine, b->threads)
               : choice->seconds;
}

static void list_candidates(bench *b)
{
    ry_error error = {""};
    ry_arena_init(&b->arena, &ry_system_allocator);
    if (ry_problem_parse(b->text, &b->arena, &b->problem, &error) != RYND_OK ||
        ry_problem_check(&b->problem, &ry_system_allocator, &error) != RYND_OK ||
        (has_own_memory(b) &&
         device_operands_make(&b->operands, b->context->device, &b->problem,
                              (const void *const *)b->in, &error) != RYND_OK)) {
        fprintf(stderr, "forms: %s: %s\n", b->text, error.text);
        exit(1);
    }
    const ry_target target = ry_target_of(b->context->device);
    ry_choice choice;
    if (ry_predict_choose(&b->problem, &target, ~0u, NULL, &choice, &error) != RYND_OK) {
        fail(b->text);
    }
    size_t at = 0;
    for (const ry_kernel *kernel;
         b->left_out > 0 && (kernel = ry_kernel_next(&b->problem, &target, &at)) != NULL;) {
        const ry_query any = {kernel, &b->problem, &target, NULL};
        list_forms(b, kernel, &b->problem, &target, least_of(b, &any, &choice));
    }
    if (b->left_out == 0) {
        const ry_query chosen = {choice.prepared.kernel, &b->problem, &target,
                                 &choice.prepared.form};
        add(b, &choice.prepared, &chosen, choice.seconds);
    }
    char knobs[RY_FORM_TEXT];
    ry_form_print(choice.prepared.kernel, &choice.prepared.form, knobs);
    for (int i = 0; i < b->count; i++) {
        b->all[i].chosen =
            b->all[i].kernel == choice.prepared.kernel && strcmp(b->all[i].knobs, knobs) == 0;
    }
}

/* The mean of so many runs. */
static double run(bench *b, candidate *c, int runs)
{
    if (has_own_memory(b)) {
        ry_error error = {""};
        double seconds;
        if (device_form_run(&c->form, &b->operands, runs, &seconds, &error) != RYND_OK) {
            fprintf(stderr, "forms: %s %s: %s\n", b->text, c->knobs, error.text);
            exit(1);
        }
        return seconds;
    }
    const double start = ry_clock_seconds();
    for (int i = 0; i < runs; i++) {
        if (rynd_op_execute(c->op, (const void *const *)b->in, b->out) != RYND_OK) {
            fail(c->knobs);
        }
    }
    return (ry_clock_seconds() - start) / runs;
}

/* A short run is repeated: the clock and the caller take part of it. */
static void measure(bench *b, candidate *c)
{
    const double each = c->count ? c->time[0] : run(b, c, 1),
                 least = has_own_memory(b) ? 2e-3 : 50e-6;
    c->time[c->count++] = run(b, c, each < least ? 1 + (int)(least / (each + 1e-9)) : 1);
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
        if (has_own_memory(b)) {
            device_form_free(&c->form, &b->operands);
        } else {
            rynd_op_destroy(c->op);
        }
    }
    if (has_own_memory(b)) {
        device_operands_free(&b->operands);
    }
    ry_arena_free(&b->arena);
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
    if (argc < 3 || argc > 5 || atoi(argv[1]) < 1) {
        fprintf(stderr, "usage: forms THREADS SECONDS [VARIANTS [TIMES]] < PROBLEMS\n");
        return 2;
    }
    b.threads = (unsigned)atoi(argv[1]);
    b.variants = argc > 3 ? atoi(argv[3]) : 0;
    b.left_out = argc > 4 ? atof(argv[4]) : LEFT_OUT;
    const rynd_context_options options = RYND_SIZED(rynd_context_options, .threads = b.threads);
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
