/* SPDX-License-Identifier: Apache-2.0 */
/* The state of rynd run --task, and what its tasks share: plans, runs, results. */
#ifndef CLI_TASK_PLAN_H
#define CLI_TASK_PLAN_H

#include "class_labels.h"
#include "held_tensor.h"
#include "image.h"
#include "line.h"
#include "picture_layout.h"
#include "progress.h"
#include "run_settings.h"
#include "setup.h"

#include <cjson/cJSON.h>
#include <rynd/tasks.h>

struct cli_task_kind;

typedef struct cli_task {
    const cli_run_settings *settings;
    const struct cli_task_kind *kind;
    char **files; /* the pictures */
    size_t file_count, left_out;
    cli_setup setup;
    cli_progress progress;
    rynd_value_info input;
    int64_t want[RYND_MAX_RANK]; /* dims of the input; -1: open */
    cli_picture_layout layout;
    rynd_preparation preparation;
    rynd_head head; /* for detect */
    cli_labels labels;
    cli_preprocess facts; /* the preparation in the model's metadata; zeros: none */
    /* the current plan */
    rynd_session *session;
    cli_tensor tensor; /* the input */
    int64_t batch, height, width;
    const char **names; /* names of outputs */
    rynd_tensor *outputs;
    size_t output_count;
    double seconds, all_seconds; /* the last run, all runs */
    /* results */
    cJSON *results;
    char **used; /* names of written files in a folder */
    size_t used_count;
} cli_task;

typedef struct cli_task_picture {
    const char *file;
    cli_image image; /* the photo; afterwards what is written */
    rynd_frame frame;
    int64_t index; /* in the batch */
    cJSON *json;   /* NULL: results are printed */
    char line[256];
} cli_task_picture;

typedef struct cli_task_kind {
    const char *name;
    rynd_fit fit;
    int64_t usual;   /* side of an open input; 0: the picture's */
    int64_t shorter; /* most pixels of an open input's shorter side; 0: any */
    bool writes;     /* pictures, with -o */
    /* Chooses the preparation, and checks the model. */
    bool (*open)(cli_task *task, cli_failure *failure);
    /* Adds the result to picture->json, or its summary to picture->line, and draws it. */
    bool (*finish)(cli_task *task, cli_task_picture *picture, cli_failure *failure);
    /* For a task that runs as often as it wants for a picture; NULL: pictures go in batches. */
    bool (*run)(cli_task *task, cli_task_picture *picture, cli_failure *failure);
} cli_task_kind;

/* The parts that a task with a `run` of its own uses: a plan for an input size, and one run. */
bool cli_task_plan(cli_task *task, int64_t batch, int64_t height, int64_t width,
                   cli_failure *failure);
bool cli_task_infer(cli_task *task, cli_failure *failure);
/* Adds to a summary. */
void cli_task_say(cli_task_picture *picture, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Writes a file's picture where -o says. Adds its name to the result. */
bool cli_task_write(cli_task *task, cli_task_picture *picture, const char *suffix,
                    cli_failure *failure);

#endif
