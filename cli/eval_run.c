/* SPDX-License-Identifier: Apache-2.0 */
/* Goes through the data once: reads pictures, asks the models, adds their answers. */
#include "eval_run.h"

#include "files.h"
#include "notes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Some pictures or rows that are read, answered and added together. */
typedef struct portion {
    size_t room, count;
    cli_task_picture *pictures; /* without images for an archive */
    size_t *places;             /* index of each in the data */
    cli_answer *answers[2];     /* per model */
} portion;

static bool make_portion(const cli_evaluating *e, portion *p, cli_failure *failure)
{
    for (size_t m = 0; m < e->model_count; m++) {
        const size_t batch = cli_eval_batch(&e->models[m], &e->data);
        p->room = batch > p->room ? batch : p->room;
    }
    p->pictures = calloc(p->room, sizeof *p->pictures);
    p->places = calloc(p->room, sizeof *p->places);
    p->answers[0] = calloc(p->room, sizeof **p->answers);
    p->answers[1] = calloc(p->room, sizeof **p->answers);
    return (p->pictures && p->places && p->answers[0] && p->answers[1]) || cli_fail_memory(failure);
}

static void empty_portion(portion *p)
{
    for (size_t i = 0; p->pictures && i < p->room; i++) {
        cli_image_free(&p->pictures[i].image);
        p->pictures[i] = (cli_task_picture){.file = NULL};
    }
    for (int m = 0; m < 2; m++) {
        for (size_t i = 0; p->answers[m] && i < p->room; i++) {
            cli_answer_free(&p->answers[m][i]);
        }
    }
    p->count = 0;
}

static void free_portion(portion *p)
{
    empty_portion(p);
    free(p->pictures);
    free(p->places);
    free(p->answers[0]);
    free(p->answers[1]);
}

/* Reads the next pictures. Notes and leaves out the unreadable ones, unless there is only one. */
static bool read_portion(cli_evaluating *e, portion *p, size_t *next, size_t end,
                         cli_failure *failure)
{
    for (; p->count < p->room && *next < end; ++*next) {
        cli_task_picture *picture = &p->pictures[p->count];
        picture->file = e->data.files ? e->data.files[*next] : e->data.path;
        cli_progress_show(&e->progress, picture->file, 0.02 + 0.98 * (double)*next / (double)end);
        if (!e->data.files || cli_image_read(picture->file, NULL, &picture->image, failure)) {
            p->places[p->count++] = *next;
            continue;
        }
        if (end == 1) {
            return false;
        }
        cli_progress_end(&e->progress);
        cli_note(&e->settings->run.common, "%s; it is left out", failure->text);
        *failure = (cli_failure){.exit_code = 0};
        e->left_out++;
    }
    return true;
}

/* The sizes of a picture and its mask, or of a result and its target, must agree. */
static bool check_size(const cli_evaluating *e, const cli_truth *truth, const cli_answer *answer,
                       const char *model, cli_failure *failure)
{
    if (e->data.task == RYND_TASK_CLASSIFY || e->data.task == RYND_TASK_DETECT) {
        return true;
    }
    const rynd_tensor picture = cli_image_view(&answer->image), *grid = &truth->grid;
    const bool mask = e->data.task == RYND_TASK_SEGMENT;
    const rynd_tensor *found = mask ? &answer->map.view : &picture;
    if (found->dim[0] != grid->dim[0] || found->dim[1] != grid->dim[1]) {
        return cli_fail(failure,
                        "%s is %" PRId64 "x%" PRId64 " (height x width), but %s is %" PRId64
                        "x%" PRId64,
                        truth->name, grid->dim[0], grid->dim[1],
                        mask ? "its picture" : "the model's result", found->dim[0], found->dim[1]);
    }
    return mask || found->dim[2] == grid->dim[2]
               ? true
               : cli_fail(failure,
                          "%s has %" PRId64 " channels, but the result of '%s' has %" PRId64,
                          truth->name, grid->dim[2], model, found->dim[2]);
}

static bool add_one(cli_evaluating *e, const portion *p, size_t i, cli_failure *failure)
{
    cli_truth truth;
    bool done = cli_truth_get(&e->data, p->places[i], e->settings->ignore, &truth, failure);
    for (size_t m = 0; done && m < e->model_count; m++) {
        const cli_answer *answer = &p->answers[m][i];
        done = check_size(e, &truth, answer, e->models[m].file, failure) &&
               cli_eval_add(&e->models[m], &e->data, &truth, answer, failure);
    }
    cli_truth_free(&truth);
    return done;
}

/* Do both models mean the same by a class? */
static bool are_comparable(const cli_evaluating *e)
{
    const cli_eval_model *a = &e->models[0], *b = &e->models[1];
    if (e->model_count < 2 || a->classes != b->classes || !a->labels != !b->labels) {
        return false;
    }
    return !a->labels || memcmp(a->labels, b->labels, e->data.class_count * sizeof *a->labels) == 0;
}

static bool add_all(cli_evaluating *e, const portion *p, cli_failure *failure)
{
    for (size_t i = 0; i < p->count; i++) {
        if (!add_one(e, p, i, failure)) {
            return false;
        }
        if (are_comparable(e) && !cli_eval_compare(&e->agreement, &e->models[1], &e->data,
                                                   &p->answers[1][i], &p->answers[0][i], failure)) {
            return false;
        }
    }
    return true;
}

static bool answer_all(cli_evaluating *e, const portion *p, cli_failure *failure)
{
    for (size_t m = 0; p->count > 0 && m < e->model_count; m++) {
        cli_eval_model *model = &e->models[m];
        if (!(e->data.archive.kind ? cli_eval_answer_rows(model, &e->data, p->places[0], p->count,
                                                          p->answers[m], failure)
                                   : cli_eval_answer(model, &e->data, p->pictures, p->count,
                                                     p->answers[m], failure))) {
            return false;
        }
    }
    return true;
}

bool cli_eval_go(cli_evaluating *e, cli_failure *failure)
{
    const double begin = cli_now();
    const size_t wanted = (size_t)e->settings->examples,
                 end = wanted && wanted < e->data.count ? wanted : e->data.count;
    portion p = {.count = 0};
    bool done = make_portion(e, &p, failure);
    for (size_t next = 0; done && next < end;) {
        done = read_portion(e, &p, &next, end, failure) && answer_all(e, &p, failure) &&
               add_all(e, &p, failure);
        empty_portion(&p);
    }
    free_portion(&p);
    e->seconds = cli_now() - begin;
    return done && (e->models[0].evaluation ||
                    cli_fail(failure, "none of the %zu pictures could be read", end));
}
