/* SPDX-License-Identifier: Apache-2.0 */
/* --task classify: the best classes of each picture. */
#include "json_out.h"
#include "table.h"
#include "task_kinds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static bool open(cli_task *task, cli_failure *failure)
{
    return task->output_count > 0 ? true : cli_fail(failure, "the model has no output");
}

static bool print_classes(const cli_task *task, const rynd_class *classes, size_t count,
                          cli_failure *failure)
{
    static const char *const head[] = {"class", "index", "probability"};
    cli_table table;
    cli_table_begin(&table, "lrr", head);
    for (size_t i = 0; i < count; i++) {
        const char *name = cli_label_of(&task->labels, classes[i].label);
        cli_table_add(&table, "%s", name ? name : "");
        cli_table_add(&table, "%" PRId64, classes[i].label);
        cli_table_add(&table, "%.4f", (double)classes[i].score);
    }
    return cli_table_print(&table, stdout) ? true : cli_fail_memory(failure);
}

static void add_json(const cli_task *task, cJSON *object, const rynd_class *classes, size_t count)
{
    cJSON *list = cJSON_AddArrayToObject(object, "classes");
    for (size_t i = 0; i < count; i++) {
        cJSON *item = cli_json_object_in(list);
        cli_json_number(item, "label", (double)classes[i].label);
        cli_json_text(item, "name", cli_label_of(&task->labels, classes[i].label));
        cli_json_number(item, "score", (double)classes[i].score);
    }
}

static bool report(const cli_task *task, cli_task_picture *picture, const rynd_class *classes,
                   size_t count, cli_failure *failure)
{
    if (picture->json) {
        add_json(task, picture->json, classes, count);
        return true;
    }
    for (size_t i = 0; i < count && i < 3; i++) {
        const char *name = cli_label_of(&task->labels, classes[i].label);
        cli_task_say(picture, "%s%.60s%s%" PRId64 " %.3f", i ? ", " : "", name ? name : "",
                     name ? " " : "", classes[i].label, (double)classes[i].score);
    }
    return task->file_count > 1 || print_classes(task, classes, count, failure);
}

bool cli_task_find_classes(const cli_task *task, const cli_task_picture *picture,
                           rynd_class *classes, size_t *count, cli_failure *failure)
{
    if (rynd_classify(task->setup.context, &task->outputs[0], picture->index, classes, count) ==
        RYND_OK) {
        return true;
    }
    cli_fail_library(failure);
    return cli_fail_prefix(failure, "output '%s': ", task->names[0]);
}

static bool finish(cli_task *task, cli_task_picture *picture, cli_failure *failure)
{
    size_t count = task->settings->top > 0 ? (size_t)task->settings->top : 5;
    rynd_class *classes = malloc(count * sizeof *classes);
    bool done = classes ? cli_task_find_classes(task, picture, classes, &count, failure)
                        : cli_fail_memory(failure);
    cli_progress_end(&task->progress);
    done = done && report(task, picture, classes, count, failure);
    free(classes);
    return done;
}

const cli_task_kind cli_task_classify = {
    .name = "classify",
    .fit = RYND_FIT_CROP,
    .usual = 224,
    .open = open,
    .finish = finish,
};
