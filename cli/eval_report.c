/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what an evaluation found: figures, speed, classes, as text or JSON. */
#include "eval_run.h"
#include "json_out.h"
#include "table.h"
#include "wording.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CLASSES = 30, WORST_CLASSES = 20 };

/* How fast a model was: pictures a second, seconds a picture. */
typedef struct speed {
    double rate, median, late; /* late: nine of ten pictures took less */
} speed;

static speed speed_of(cli_eval_model *model)
{
    const size_t count = model->times.count;
    if (count == 0) {
        const double each = model->first_seconds / (double)model->first_pictures;
        return (speed){1 / each, each, each};
    }
    const cli_statistics s = cli_samples_statistics(&model->times); /* sorts */
    return (speed){(double)model->pictures / model->seconds, s.median,
                   model->times.seconds[(count - 1) * 9 / 10]};
}

static bool get_figure(const cli_eval_model *model, size_t index, rynd_figure *figure,
                       cli_failure *failure)
{
    *figure = RYND_SIZED(rynd_figure);
    return rynd_evaluation_get_figure(model->evaluation, index, figure) == RYND_OK ||
           cli_fail_library(failure);
}

static bool get_class(const cli_eval_model *model, int64_t label, rynd_class_figures *figures,
                      cli_failure *failure)
{
    *figures = RYND_SIZED(rynd_class_figures);
    return rynd_evaluation_get_class(model->evaluation, label, figures) == RYND_OK ||
           cli_fail_library(failure);
}

/* The number by which classes are compared. */
static double main_of(const cli_evaluating *e, const rynd_class_figures *f)
{
    return e->data.task == RYND_TASK_CLASSIFY ? f->recall
           : e->data.task == RYND_TASK_DETECT ? f->ap
                                              : f->iou;
}

static bool agreement_of(const cli_evaluating *e, double *value, cli_failure *failure)
{
    /* by rynd_task: top1, map50, pixel_accuracy, psnr */
    static const size_t index[] = {0, 1, 1, 0};
    rynd_figure figure = RYND_SIZED(rynd_figure);
    if (rynd_evaluation_get_figure(e->agreement, index[e->data.task], &figure) != RYND_OK) {
        return cli_fail_library(failure);
    }
    *value = figure.value;
    return true;
}

/* Heading of a model's column: the end of its name, or its accuracy class. */
static const char *heading_of(const cli_evaluating *e, size_t m, char text[40])
{
    static const char *const classes[] = {"strict", "near32", "tf32", "bf16", "int8"};
    const int accuracy = e->models[m].settings.common.accuracy;
    const char *slash = strrchr(e->models[m].file, '/'),
               *name = slash ? slash + 1 : e->models[m].file;
    const size_t length = strlen(name);
    if (e->model_count == 2 && !e->settings->against) {
        snprintf(text, 40, "%s", classes[accuracy ? accuracy - 1 : 1]);
    } else {
        snprintf(text, 40, "%s", length > 24 ? name + length - 24 : name);
    }
    return text;
}

/* A row of the first table: the values of the models and their difference. */
static void add_row(const cli_evaluating *e, cli_table *table, const char *name, char texts[2][32],
                    const char *difference)
{
    cli_table_add(table, "%s", name);
    for (size_t m = 0; m < e->model_count; m++) {
        cli_table_add(table, "%s", texts[m]);
    }
    if (e->model_count == 2) {
        cli_table_add(table, "%s", difference);
    }
}

/* Writes a number with some decimals, or "-" for NaN. sign: also a plus. */
static void write_number(char text[32], double value, int decimals, bool sign)
{
    if (isnan(value)) {
        snprintf(text, 32, "-");
    } else if (sign) {
        snprintf(text, 32, "%+.*f", decimals, value);
    } else {
        snprintf(text, 32, "%.*f", decimals, value);
    }
}

static void add_number(const cli_evaluating *e, cli_table *table, const rynd_figure figures[2])
{
    char texts[2][32] = {"", ""}, difference[32], name[40];
    const bool decibel = *figures[0].unit != 0;
    const int decimals = decibel ? 2 : 4;
    for (size_t m = 0; m < e->model_count; m++) {
        write_number(texts[m], figures[m].value, decimals, false);
    }
    write_number(difference, figures[1].value - figures[0].value, decimals, true);
    snprintf(name, sizeof name, "%s%s%s", figures[0].name, decibel ? " " : "", figures[0].unit);
    add_row(e, table, name, texts, difference);
}

static void add_speed(cli_evaluating *e, cli_table *table)
{
    static const char *const names[] = {"pictures/s", "median time", "90% of times below"};
    char texts[3][2][32] = {{"", ""}}, ratios[3][32];
    double values[3][2] = {{0}};
    for (size_t m = 0; m < e->model_count; m++) {
        const speed s = speed_of(&e->models[m]);
        const double each[] = {s.rate, s.median, s.late};
        snprintf(texts[0][m], sizeof texts[0][m], "%.1f", s.rate);
        snprintf(texts[1][m], sizeof texts[1][m], "%s", cli_word_seconds(s.median).text);
        snprintf(texts[2][m], sizeof texts[2][m], "%s", cli_word_seconds(s.late).text);
        for (int i = 0; i < 3; i++) {
            values[i][m] = each[i];
        }
    }
    for (int i = 0; i < 3; i++) {
        snprintf(ratios[i], sizeof ratios[i], "x%.2f", values[i][1] / values[i][0]);
        add_row(e, table, names[i], texts[i], ratios[i]);
    }
}

static bool print_figures(cli_evaluating *e, cli_failure *failure)
{
    char headings[2][40];
    const char *head[] = {"figure", heading_of(e, 0, headings[0]),
                          e->model_count == 2 ? heading_of(e, 1, headings[1]) : "", "difference"};
    cli_table table;
    cli_table_begin(&table, e->model_count == 2 ? "lrrr" : "lr", head);
    bool done = true;
    for (size_t i = 0; done && i < rynd_evaluation_figure_count(e->models[0].evaluation); i++) {
        rynd_figure figures[2] = {RYND_SIZED(rynd_figure), RYND_SIZED(rynd_figure)};
        for (size_t m = 0; done && m < e->model_count; m++) {
            done = get_figure(&e->models[m], i, &figures[m], failure);
        }
        if (done) {
            add_number(e, &table, figures);
        }
    }
    add_speed(e, &table);
    if (!cli_table_print(&table, done ? stdout : NULL)) {
        return cli_fail_memory(failure);
    }
    return done;
}

static bool print_agreement(const cli_evaluating *e, cli_failure *failure)
{
    static const char *const about[] = {
        "of the pictures get the same class from both",
        "map50 of the second model, with the first one's boxes as the truth",
        "of the pixels get the same class from both", "dB between both models' pictures"};
    double value = 0;
    if (!e->agreement) {
        return true;
    }
    if (!agreement_of(e, &value, failure)) {
        return false;
    }
    printf("\nagreement %.4f: %s\n", value, about[e->data.task]);
    return true;
}

/* A class and its numbers. */
typedef struct ranked {
    int64_t label;
    double value;
    rynd_class_figures figures, other;
} ranked;

/* Worst first. */
static int by_value(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return x->value != y->value ? (x->value < y->value ? -1 : 1)
                                : (x->label > y->label) - (x->label < y->label);
}

/* The classes that occur; NULL after a failure. */
static ranked *rank_classes(const cli_evaluating *e, size_t *count, cli_failure *failure)
{
    ranked *all = calloc((size_t)e->models[0].classes + 1, sizeof *all);
    *count = 0;
    if (!all) {
        cli_fail_memory(failure);
        return NULL;
    }
    for (int64_t label = 0; label < e->models[0].classes; label++) {
        ranked *to = &all[*count];
        to->label = label;
        if (!get_class(&e->models[0], label, &to->figures, failure) ||
            (e->agreement && !get_class(&e->models[1], label, &to->other, failure))) {
            free(all);
            return NULL;
        }
        to->value = main_of(e, &to->figures);
        *count += to->figures.count > 0 && !isnan(to->value);
    }
    return all;
}

static void add_value(cli_table *table, double value, bool sign)
{
    char text[32];
    write_number(text, value, 4, sign);
    cli_table_add(table, "%s", text);
}

static void add_class(const cli_evaluating *e, cli_table *table, const ranked *c)
{
    char number[24];
    cli_table_add(table, "%.40s", cli_eval_class_name(&e->models[0], c->label, number));
    cli_table_add(table, "%" PRId64, c->label);
    cli_table_add(table, "%" PRId64, c->figures.count);
    if (e->data.task == RYND_TASK_DETECT) {
        add_value(table, c->figures.ap, false);
        add_value(table, c->figures.ap50, false);
    } else {
        add_value(table, c->figures.recall, false);
        add_value(table, c->figures.precision, false);
    }
    if (e->data.task == RYND_TASK_SEGMENT) {
        add_value(table, c->figures.iou, false);
    }
    if (e->agreement) {
        const double other = main_of(e, &c->other);
        add_value(table, other, false);
        add_value(table, other - c->value, true);
    }
}

static void begin_classes(const cli_evaluating *e, cli_table *table)
{
    static const char *const names[][3] = {
        {"recall", "precision"}, {"ap", "ap50"}, {"recall", "precision", "iou"}};
    static const char *const mains[] = {"other recall", "other ap", "other iou"};
    static const char *const aligns[] = {"lrrrr", "lrrrrr", "lrrrrrr", "lrrrrrrr"};
    const char *head[8] = {"class", "index", "count"};
    size_t columns = 3;
    for (int i = 0; i < 3 && names[e->data.task][i]; i++) {
        head[columns++] = names[e->data.task][i];
    }
    if (e->agreement) {
        head[columns++] = mains[e->data.task];
        head[columns++] = "difference";
    }
    cli_table_begin(table, aligns[columns - 5], head);
}

static bool print_classes(const cli_evaluating *e, cli_failure *failure)
{
    size_t count;
    ranked *all = e->data.task == RYND_TASK_IMAGE ? NULL : rank_classes(e, &count, failure);
    if (!all) {
        return e->data.task == RYND_TASK_IMAGE;
    }
    const bool few = count <= MOST_CLASSES;
    if (!few) {
        qsort(all, count, sizeof *all, by_value);
        printf("\nthe %d worst of %zu classes\n", WORST_CLASSES, count);
    } else {
        putchar('\n');
    }
    cli_table table;
    begin_classes(e, &table);
    for (size_t i = 0; i < count && (few || i < WORST_CLASSES); i++) {
        add_class(e, &table, &all[i]);
    }
    free(all);
    return cli_table_print(&table, stdout) || cli_fail_memory(failure);
}

static bool print_text(cli_evaluating *e, cli_failure *failure)
{
    const size_t done = e->models[0].pictures + e->models[0].first_pictures;
    printf("%zu %s, %s\n", done, e->data.kind, cli_word_seconds(e->seconds).text);
    putchar('\n');
    return print_figures(e, failure) && print_agreement(e, failure) && print_classes(e, failure) &&
           cli_eval_print_confusion(&e->models[0], failure);
}

static bool add_json_classes(const cli_evaluating *e, const cli_eval_model *model, cJSON *object,
                             cli_failure *failure)
{
    cJSON *list = cJSON_AddArrayToObject(object, "classes");
    for (int64_t label = 0; label < model->classes; label++) {
        rynd_class_figures f;
        if (!get_class(model, label, &f, failure)) {
            return false;
        }
        if (f.count == 0 && f.found == 0) {
            continue;
        }
        cJSON *item = cli_json_object_in(list);
        cli_json_number(item, "label", (double)label);
        cli_json_text(item, "name", cli_label_of(&model->task.labels, label));
        cli_json_number(item, "count", (double)f.count);
        if (e->data.task == RYND_TASK_DETECT) {
            cli_json_number(item, "ap", f.ap);
            cli_json_number(item, "ap50", f.ap50);
            continue;
        }
        cli_json_number(item, "found", (double)f.found);
        cli_json_number(item, "recall", f.recall);
        cli_json_number(item, "precision", f.precision);
        if (e->data.task == RYND_TASK_SEGMENT) {
            cli_json_number(item, "iou", f.iou);
        }
    }
    return true;
}

/* The pairs of true and found classes that occur. */
static void add_json_confusion(const cli_eval_model *model, cJSON *object)
{
    const int64_t *counts;
    int64_t classes;
    if (rynd_evaluation_get_confusion(model->evaluation, &counts, &classes) != RYND_OK) {
        return;
    }
    cJSON *list = cJSON_AddArrayToObject(object, "confusion");
    for (int64_t i = 0; i < classes * classes; i++) {
        if (counts[i] > 0) {
            cJSON *item = cli_json_object_in(list);
            cli_json_number(item, "true", (double)(i / classes));
            cli_json_number(item, "found", (double)(i % classes));
            cli_json_number(item, "count", (double)counts[i]);
        }
    }
}

static bool add_json(cli_evaluating *e, size_t m, cJSON *results, cli_failure *failure)
{
    cli_eval_model *model = &e->models[m];
    cJSON *object = cli_json_object_in(results);
    const speed s = speed_of(model);
    cli_json_text(object, "name", model->file);
    cli_json_text(object, "data", e->data.path);
    cli_json_text(object, "kind", e->data.kind);
    cli_json_number(object, "pictures", (double)(model->pictures + model->first_pictures));
    cli_json_number(object, "left_out", (double)e->left_out);
    cJSON *figures = cJSON_AddObjectToObject(object, "figures");
    for (size_t i = 0; i < rynd_evaluation_figure_count(model->evaluation); i++) {
        rynd_figure f;
        if (!get_figure(model, i, &f, failure)) {
            return false;
        }
        cli_json_number(figures, f.name, f.value);
    }
    cJSON *times = cJSON_AddObjectToObject(object, "speed");
    cli_json_number(times, "pictures_per_second", s.rate);
    cli_json_number(times, "median", s.median);
    cli_json_number(times, "quantile90", s.late);
    if (m == 1 && e->agreement) {
        double value = 0;
        if (!agreement_of(e, &value, failure)) {
            return false;
        }
        cli_json_number(object, "agreement", value);
    }
    add_json_confusion(model, object);
    return e->data.task == RYND_TASK_IMAGE || add_json_classes(e, model, object, failure);
}

static bool print_json(cli_evaluating *e, cli_failure *failure)
{
    cJSON *results, *document = cli_json_begin("eval", &results);
    for (size_t m = 0; m < e->model_count; m++) {
        if (!add_json(e, m, results, failure)) {
            cJSON_Delete(document);
            return false;
        }
    }
    return cli_json_print(document, failure);
}

bool cli_eval_report(cli_evaluating *e, cli_failure *failure)
{
    return (e->settings->run.common.json ? print_json : print_text)(e, failure);
}
