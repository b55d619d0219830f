/* SPDX-License-Identifier: Apache-2.0 */
/* How long choosing a kernel takes, for each convolution of bench/layers.txt:
 *
 *   choices LAYERS [ROUNDS]
 *
 * new: no choice was made before; again: the same problem in the same plan; wisdom: a lookup of
 * what was measured, the record found and its form read. Prints medians of ROUNDS (200) in
 * microseconds, then the median, the 95th percentile and the largest over all layers. */
#include "predict/choices.h"
#include "api/api_wisdom.h"
#include "api/handles.h"
#include "base/clock.h"
#include "kernels/form.h"
#include "kernels/kernel_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LAYERS = 256, MAX_ROUNDS = 10000, MAX_LINE = 512, WAYS = 3, CONSTANTS = 6 };
static const char *const ways[WAYS] = {"new", "again", "wisdom"};

typedef struct bench {
    rynd_context *context;
    ry_target target;
    int rounds;
    double seconds[MAX_ROUNDS];
    double median[WAYS][MAX_LAYERS]; /* microseconds */
    int layers;
} bench;

static void fail(const char *what)
{
    fprintf(stderr, "choices: %s: %s\n", what, rynd_last_error());
    exit(1);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(double *values, int count, double share)
{
    qsort(values, (size_t)count, sizeof *values, by_size);
    return values[(int)(share * (count - 1) + 0.5)];
}

static void time_new(bench *b, const ry_problem *problem)
{
    ry_choice choice;
    ry_error error;
    for (int i = 0; i < b->rounds; i++) {
        const double begin = ry_clock_seconds();
        if (ry_predict_choose(problem, &b->target, CONSTANTS, NULL, &choice, &error) != RYND_OK) {
            fail("a choice");
        }
        b->seconds[i] = ry_clock_seconds() - begin;
    }
}

static void time_again(bench *b, const ry_problem *problem)
{
    ry_choices choices;
    ry_choice choice;
    ry_error error;
    ry_choices_init(&choices, &ry_system_allocator, &b->target, NULL);
    (void)ry_choices_find(&choices, problem, CONSTANTS, NULL, &choice, &error);
    for (int i = 0; i < b->rounds; i++) {
        const double begin = ry_clock_seconds();
        (void)ry_choices_find(&choices, problem, CONSTANTS, NULL, &choice, &error);
        b->seconds[i] = ry_clock_seconds() - begin;
    }
    ry_choices_free(&choices);
}

/* What was chosen is kept as if it had been measured; then the context's adviser is asked. */
static void time_wisdom(bench *b, const ry_problem *problem)
{
    ry_choice choice;
    ry_error error;
    ry_arena arena;
    ry_advice advice;
    char form[RY_FORM_TEXT];
    ry_arena_init(&arena, &ry_system_allocator);
    (void)ry_predict_choose(problem, &b->target, CONSTANTS, NULL, &choice, &error);
    ry_form_print(choice.prepared.kernel, &choice.prepared.form, form);
    const ry_wisdom_key key = {ry_problem_print(problem, &arena), CONSTANTS,
                               ry_threads_count(b->context->threads), b->context->fingerprint};
    const ry_wisdom_record record = {.kernel = choice.prepared.kernel->name,
                                     .form = form,
                                     .source = ry_kernel_source(choice.prepared.kernel),
                                     .samples = 1,
                                     .mean = 1,
                                     .median = 1,
                                     .min = 1,
                                     .max = 1,
                                     .time = 1};
    if (ry_wisdom_put(b->context->wisdom, &key, &record, 1, &error) != RYND_OK) {
        fail(error.text);
    }
    const ry_adviser *adviser = ry_api_adviser(b->context);
    for (int i = 0; i < b->rounds; i++) {
        const double begin = ry_clock_seconds();
        if (!adviser->advise(adviser->user, problem, CONSTANTS, &b->target, &advice)) {
            fail("the record is not found");
        }
        b->seconds[i] = ry_clock_seconds() - begin;
    }
    ry_arena_free(&arena);
}

static void time_layer(bench *b, const char *name, const char *text)
{
    static void (*const functions[WAYS])(bench *, const ry_problem *) = {time_new, time_again,
                                                                         time_wisdom};
    ry_arena arena;
    ry_problem problem;
    ry_error error;
    ry_arena_init(&arena, &ry_system_allocator);
    if (ry_problem_parse(text, &arena, &problem, &error) != RYND_OK) {
        fprintf(stderr, "choices: %s: %s\n", text, error.text);
        exit(1);
    }
    printf("%-20s", name);
    for (int way = 0; way < WAYS; way++) {
        functions[way](b, &problem);
        b->median[way][b->layers] = 1e6 * quantile(b->seconds, b->rounds, 0.5);
        printf(" %9.2f", b->median[way][b->layers]);
    }
    printf("\n");
    b->layers++;
    ry_arena_free(&arena);
}

static void read_layers(bench *b, const char *path)
{
    char line[MAX_LINE], name[64];
    int begin;
    FILE *file = fopen(path, "r");
    if (!file) {
        fprintf(stderr, "choices: %s cannot be read\n", path);
        exit(1);
    }
    while (b->layers < MAX_LAYERS && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        if (line[0] != '#' && sscanf(line, "%63s %n", name, &begin) == 1) {
            time_layer(b, name, line + begin);
        }
    }
    fclose(file);
}

int main(int argc, char **argv)
{
    static bench b = {.rounds = 200};
    char path[] = "/tmp/rynd_choices_XXXXXX";
    if (argc < 2 || argc > 3 ||
        (argc == 3 && ((b.rounds = atoi(argv[2])) < 1 || b.rounds > MAX_ROUNDS))) {
        fprintf(stderr, "usage: choices LAYERS [ROUNDS]\n");
        return 2;
    }
    if (!mkdtemp(path)) {
        return 1;
    }
    char file[64], other[64];
    snprintf(file, sizeof file, "%s/wisdom.db", path);
    const rynd_context_options options = RYND_SIZED(rynd_context_options, .wisdom = file);
    if (rynd_context_create(&options, &b.context) != RYND_OK) {
        fail("a context");
    }
    b.target = ry_target_of(b.context->device);
    printf("%-20s %9s %9s %9s  us\n", "layer", ways[0], ways[1], ways[2]);
    read_layers(&b, argv[1]);
    static const double shares[] = {0.5, 0.95, 1};
    static const char *const names[] = {"median", "95th percentile", "largest"};
    for (int s = 0; s < 3; s++) {
        printf("%-20s", names[s]);
        for (int way = 0; way < WAYS; way++) {
            printf(" %9.2f", quantile(b.median[way], b.layers, shares[s]));
        }
        printf("\n");
    }
    rynd_context_destroy(b.context);
    static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(other, sizeof other, "%s%s", file, ends[i]);
        remove(other);
    }
    remove(path);
    return 0;
}
