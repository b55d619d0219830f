/* SPDX-License-Identifier: Apache-2.0 */
/* rynd eval: figures of a model on data with known answers. */
#include "commands.h"
#include "eval_run.h"
#include "file_names.h"
#include "output_file.h"

#include <string.h>
#include <strings.h>

#define OFFSET(field) offsetof(cli_eval_settings, field)

/* clang-format off */
static const cli_option options[] = {
    CLI_TITLE("data"),
    {"data", 0, CLI_TEXT, "DIR|FILE", NULL, 0, 0, OFFSET(data),
     "DIR: a folder of pictures per class; images and masks; images and labels (boxes in YOLO's "
     "form); inputs and targets; or pictures for --boxes. FILE: a .json of COCO beside its pictures, "
     "or arrays x, or one per input, and y: classes of rows or of pixels, or pictures"},
    {"boxes", 0, CLI_TEXT, "FILE.json", NULL, 0, 0, OFFSET(boxes),
     "true objects of the pictures in DIR, as a COCO annotation file"},
    {"ignore", 0, CLI_INTEGER, "CLASS", NULL, -1, 65535, OFFSET(ignore),
     "masks: leave out pixels of this class (default 255; -1: none)"},
    {"range", 0, CLI_NUMBER, "R", NULL, 1e-9, 1e9, OFFSET(range),
     "pictures in FILE.npz: largest minus smallest possible value of y (default 255 for integers of "
     "8 bits, 65535 for 16, 1 for floats)"},
    {"examples", 0, CLI_INTEGER, "N", NULL, 1, 1e9, OFFSET(examples),
     "use the first N pictures or rows (default all)"},
    CLI_TITLE("comparison"),
    {"against", 0, CLI_TEXT, "OTHER", NULL, 0, 0, OFFSET(against),
     "evaluate this model, too, and print the differences"},
    {"against-accuracy", 0, CLI_CHOICE, "CLASS", "strict|near32|tf32|bf16|int8", 0, 0,
     OFFSET(against_accuracy), "loosest arithmetic of the other model (default that of --accuracy); "
     "without --against the other model is MODEL itself"},
    {"confusion", 0, CLI_TEXT, "FILE.svg", NULL, 0, 0, OFFSET(confusion),
     "draw the confusion matrix of MODEL's classes"},
    CLI_TITLE("answers"),
    {"labels", 0, CLI_TEXT, "FILE", NULL, 0, 0, OFFSET(run.labels),
     "names of the model's classes: line i of the file, counted from 0, names class i; or coco, voc, "
     "face (default: the names in the model's metadata, or what the task expects)"},
    {"head", 0, CLI_TEXT, "NAME", NULL, 0, 0, OFFSET(run.head),
     "boxes: how the model codes them (default: found by names and shapes; docs/tasks.md lists "
     "heads)"},
    {"score", 0, CLI_NUMBER, "S", NULL, 1e-6, 1, OFFSET(run.score),
     "boxes: least score of a box (default 0.001)"},
    {"overlap", 0, CLI_NUMBER, "I", NULL, 1e-6, 1, OFFSET(run.overlap),
     "boxes: most overlap of two boxes of one class (default: the head's)"},
    {"fit", 0, CLI_CHOICE, "HOW", "stretch|letterbox|corner|crop", 0, 0, OFFSET(run.fit),
     "how a picture gets the input's size (default: by task and head)"},
    {"tile", 0, CLI_INTEGER, "N", NULL, 0, 65535, OFFSET(run.tile),
     "targets: cut a larger picture into tiles of the input's size that overlap by N pixels"},
    {"output-scale", 0, CLI_NUMBER, "S", NULL, 1e-9, 1e9, OFFSET(run.output_scale),
     "targets: multiply values by S before they become pixels (default one over --scale)"},
    CLI_PREPROCESS_OPTIONS(OFFSET(run.preprocess)),
    {0},
};
/* clang-format on */

static bool check(const cli_eval_settings *s, cli_failure *failure)
{
    if (!s->data) {
        return cli_fail_usage(failure, "eval: --data DIR|FILE.npz is missing: pictures with known "
                                       "answers");
    }
    if (s->boxes && cli_eval_is_archive(s->data)) {
        return cli_fail_usage(failure, "--boxes needs a folder of pictures as --data");
    }
    if (s->range != 0 && !cli_eval_is_archive(s->data)) {
        return cli_fail_usage(failure,
                              "--range is for pictures in an .npz; those of files have 255");
    }
    if (s->confusion && strcasecmp(cli_extension(s->confusion), "svg") != 0) {
        return cli_fail_usage(failure, "--confusion %s: give a file .svg", s->confusion);
    }
    return cli_check_device(&s->run.common, failure) &&
           (!s->confusion || cli_file_check_writable(s->confusion, failure));
}

/* Two models, or one model in two accuracy classes. */
static void name_models(cli_evaluating *e)
{
    const cli_eval_settings *s = e->settings;
    const char *file = s->run.common.arguments.items[0];
    e->model_count = s->against || s->against_accuracy ? 2 : 1;
    for (size_t m = 0; m < e->model_count; m++) {
        e->models[m].settings = s->run;
        e->models[m].file = m && s->against ? s->against : file;
    }
    if (s->against_accuracy) {
        e->models[1].settings.common.accuracy = s->against_accuracy;
    }
}

static bool open_archive(cli_evaluating *e, cli_failure *failure)
{
    for (size_t m = 0; m < e->model_count; m++) {
        if (!cli_eval_model_load(&e->models[m], failure)) {
            return false;
        }
    }
    return cli_eval_data_open_archive(&e->data, e->settings, e->models[0].task.setup.model,
                                      failure);
}

static bool open_pictures(cli_evaluating *e, cli_failure *failure)
{
    if (!cli_eval_data_open(&e->data, e->settings, failure)) {
        return false;
    }
    for (size_t m = 0; m < e->model_count; m++) {
        if (!cli_eval_model_open(&e->models[m], &e->data, failure)) {
            return false;
        }
    }
    return true;
}

static bool open_all(cli_evaluating *e, cli_failure *failure)
{
    cli_progress_show(&e->progress, "loading the model", 0.01);
    if (!(cli_eval_is_archive(e->settings->data) ? open_archive : open_pictures)(e, failure)) {
        return false;
    }
    return !e->settings->confusion || e->data.task == RYND_TASK_CLASSIFY ||
           e->data.task == RYND_TASK_SEGMENT ||
           cli_fail_usage(failure, "--confusion is for classes of pictures and of pixels");
}

static bool run(void *settings, cli_failure *failure)
{
    cli_evaluating e = {.settings = settings};
    if (!check(e.settings, failure)) {
        return false;
    }
    name_models(&e);
    cli_progress_begin(&e.progress, &e.settings->run.common);
    bool done = open_all(&e, failure) && cli_eval_go(&e, failure);
    cli_progress_end(&e.progress);
    done = done && cli_eval_report(&e, failure) &&
           (!e.settings->confusion ||
            cli_eval_draw_confusion(&e.models[0], e.settings->confusion, failure));
    if (done && e.left_out > 0) {
        done = cli_fail(failure, "%zu of %zu pictures could not be read", e.left_out, e.data.count);
    }
    rynd_evaluation_destroy(e.agreement);
    for (size_t m = 0; m < e.model_count; m++) {
        cli_eval_model_close(&e.models[m]);
    }
    cli_eval_data_close(&e.data);
    return done;
}

const cli_command cli_command_eval = {
    .name = "eval",
    .arguments = "MODEL",
    .least = 1,
    .most = 1,
    .help = "measure a model on data with known answers: accuracy, IoU, average precision, PSNR",
    .text = "Pictures become tensors as in `rynd run --task`. The data decides about the figures: "
            "folders of classes top-1 and top-5; masks the mean intersection over union; --boxes "
            "COCO's average precision and recall; targets and pictures in arrays PSNR and SSIM.",
    .examples = "rynd eval classifier.onnx --data photos --confusion mistakes.svg\n"
                "rynd eval yolov8n.onnx --data val2017 --boxes instances_val2017.json\n"
                "rynd eval classifier.onnx --data photos --against int8.onnx",
    .options = options,
    .uses = CLI_USE_ALL,
    .settings_size = sizeof(cli_eval_settings),
    .defaults = &(const cli_eval_settings){.run = {.tile = -1, .score = 0.001}, .ignore = 255},
    .run = run,
};
