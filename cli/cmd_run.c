/* SPDX-License-Identifier: Apache-2.0 */
/* rynd run: a model, once, on files. */
#include "commands.h"
#include "files.h"
#include "json_out.h"
#include "model_facts.h"
#include "progress.h"
#include "run_inputs.h"
#include "run_outputs.h"
#include "statistics.h"
#include "table.h"
#include "task_run.h"
#include "wording.h"

#include <stdio.h>

#define OFFSET(field) offsetof(cli_run_settings, field)

/* clang-format off */
static const cli_option options[] = {
    CLI_TITLE("files"),
    {"input", 'i', CLI_LIST, "[NAME=]FILE", NULL, 0, 0, OFFSET(inputs),
     ".npy, .npz or .pb file, a picture (" CLI_PICTURES_IN "), or - for an .npy from standard input; "
     "repeat for more inputs, or for the pictures of a batch; with --task also a folder"},
    {"output", 'o', CLI_TEXT, "FILE|DIR", NULL, 0, 0, OFFSET(output),
     "write .npy, .npz, .pb, .png or .jpg, or a folder with one .npy per output; with --task the "
     "pictures with what was found"},
    {"task", 0, CLI_CHOICE, "TASK", "classify|detect|segment|image", 0, 0, OFFSET(task),
     "name pictures, draw boxes, colour classes of pixels, or make pictures"},
    {"head", 0, CLI_TEXT, "NAME", NULL, 0, 0, OFFSET(head),
     "detect: how the model codes its boxes (default: found by names and shapes; docs/tasks.md "
     "lists them)"},
    {"score", 0, CLI_NUMBER, "S", NULL, 1e-6, 1, OFFSET(score),
     "detect: least score of a box (default: the head's)"},
    {"overlap", 0, CLI_NUMBER, "I", NULL, 1e-6, 1, OFFSET(overlap),
     "detect: most overlap of two boxes of one class (intersection over union; default: the "
     "head's)"},
    {"fit", 0, CLI_CHOICE, "HOW", "stretch|letterbox|corner|crop", 0, 0, OFFSET(fit),
     "with --task: how a picture gets the input's size (default: by task and head)"},
    {"opacity", 0, CLI_NUMBER, "A", NULL, 1e-6, 1, OFFSET(opacity),
     "segment: of the colours over the picture (default 0.5)"},
    {"tile", 0, CLI_INTEGER, "N", NULL, 0, 65535, OFFSET(tile),
     "image: cut a larger picture into tiles of the input's size that overlap by N pixels"},
    {"top", 0, CLI_INTEGER, "K", NULL, 1, 1e6, OFFSET(top),
     "list the K largest values of each row of the outputs; classify: the K best classes (default "
     "5)"},
    {"labels", 0, CLI_TEXT, "FILE", NULL, 0, 0, OFFSET(labels),
     "names of classes: line i of the file, counted from 0, names class i; or coco, voc, face "
     "(default: the names in the model's metadata, or what the task expects)"},
    CLI_PREPROCESS_OPTIONS(OFFSET(preprocess)),
    {"output-scale", 0, CLI_NUMBER, "S", NULL, 1e-9, 1e9, OFFSET(output_scale),
     "multiply values by S before they become pixels of a .png (default 1; 255 for values of 0 to "
     "1)"},
    {0},
};
/* clang-format on */

typedef struct work {
    cli_setup setup;
    cli_inputs inputs;
    cli_outputs outputs;
    rynd_session *session;
    cli_progress progress;
    double time; /* seconds of the run */
} work;

static bool prepare(work *w, cli_run_settings *settings, cli_failure *failure)
{
    cli_progress_show(&w->progress, "loading the model", 0.05);
    if (!cli_setup_context(&w->setup, &settings->common, failure) ||
        !cli_setup_model(&w->setup, settings->common.arguments.items[0], failure) ||
        !cli_facts_preprocess(w->setup.model, &settings->common, &settings->preprocess, failure)) {
        return false;
    }
    cli_preprocess_settle(&settings->preprocess);
    cli_progress_show(&w->progress, "reading inputs", 0.2);
    if (!cli_outputs_open(&w->outputs, &w->setup, settings, failure) ||
        !cli_inputs_open(&w->inputs, &w->setup, settings, failure)) {
        return false;
    }
    cli_progress_show(&w->progress, "planning", 0.4);
    if (!cli_setup_plan(&w->setup, &settings->common, w->inputs.views, false, failure)) {
        return false;
    }
    if (rynd_session_create(w->setup.plan, &w->session) != RYND_OK) {
        w->session = NULL;
        return cli_fail_library(failure);
    }
    for (size_t i = 0; i < w->inputs.count; i++) {
        if (rynd_session_bind_input(w->session, i, &w->inputs.views[i]) != RYND_OK) {
            return cli_fail_library(failure);
        }
    }
    return true;
}

static bool execute(work *w, const cli_run_settings *settings, cli_failure *failure)
{
    cli_progress_show(&w->progress, "running", 0.6);
    double begin = cli_now();
    if (rynd_session_run(w->session) != RYND_OK) {
        return cli_fail_library(failure);
    }
    w->time = cli_now() - begin;
    cli_progress_show(&w->progress, "writing", 0.9);
    return cli_outputs_collect(&w->outputs, w->session, failure) &&
           cli_outputs_write(&w->outputs, &w->setup, settings, failure);
}

static bool print_inputs(const cli_inputs *inputs, cli_failure *failure)
{
    static const char *const head[] = {"input", "shape", "dtype", "file"};
    cli_table table;
    cli_table_begin(&table, "llll", head);
    for (size_t i = 0; i < inputs->count; i++) {
        const cli_input *input = &inputs->items[i];
        cli_table_add(&table, "%s", input->info.name);
        cli_table_add(&table, "%s", cli_shape_of_tensor(&input->tensor.view).text);
        cli_table_add(&table, "%s", rynd_dtype_name(input->tensor.view.dtype));
        cli_table_add(&table, "%s%s%s%s%s", input->file, input->pictures > 1 ? " and more" : "",
                      *input->did ? " (" : "", input->did, *input->did ? ")" : "");
    }
    bool done = cli_table_print(&table, stdout);
    putchar('\n');
    return done ? true : cli_fail_memory(failure);
}

static bool report(const work *w, const cli_run_settings *settings, cli_failure *failure)
{
    if (settings->common.json) {
        cJSON *results, *document = cli_json_begin("run", &results);
        cJSON *result = cli_json_object_in(results);
        cli_json_text(result, "name", settings->common.arguments.items[0]);
        if (!cli_outputs_json(&w->outputs, settings, result, failure)) {
            cJSON_Delete(document);
            return false;
        }
        cli_json_number(result, "time", w->time);
        cli_json_number(result, "peak_memory", cli_peak_memory());
        return cli_json_print(document, failure);
    }
    if ((w->inputs.count > 0 && !print_inputs(&w->inputs, failure)) ||
        !cli_outputs_print(&w->outputs, settings, failure)) {
        return false;
    }
    printf("\ntime %s, peak memory %s\n", cli_word_seconds(w->time).text,
           cli_word_bytes(cli_peak_memory()).text);
    return true;
}

/* Options that only a task has. */
static bool check_no_task(const cli_run_settings *settings, cli_failure *failure)
{
    const char *lone = settings->head           ? "--head"
                       : settings->score != 0   ? "--score"
                       : settings->overlap != 0 ? "--overlap"
                       : settings->fit          ? "--fit"
                       : settings->opacity != 0 ? "--opacity"
                       : settings->tile >= 0    ? "--tile"
                                                : NULL;
    return lone ? cli_fail_usage(failure, "%s needs --task", lone) : true;
}

static bool run(void *data, cli_failure *failure)
{
    cli_run_settings *settings = data;
    work w = {0};
    if (settings->task) {
        return cli_task_run(settings, failure);
    }
    if (!check_no_task(settings, failure)) {
        return false;
    }
    cli_progress_begin(&w.progress, &settings->common);
    bool done = prepare(&w, settings, failure) && execute(&w, settings, failure);
    cli_progress_end(&w.progress);
    done = done && report(&w, settings, failure);
    rynd_session_destroy(w.session);
    cli_outputs_free(&w.outputs);
    cli_inputs_free(&w.inputs);
    cli_setup_close(&w.setup);
    return done;
}

const cli_command cli_command_run = {
    .name = "run",
    .arguments = "MODEL",
    .least = 1,
    .most = 1,
    .help = "run an ONNX model on files",
    .text = "A picture becomes a tensor of the input's dtype and layout, [N,C,H,W] or [N,H,W,C]: "
            "grey for one channel, colour for three. Pixels are 0 to 255 unless --scale, --mean, "
            "--std or --preset change them. --preset imagenet is --size 256 --crop 224 --scale "
            "1/255 --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225.",
    .examples =
        "rynd run classifier.onnx -i photo.jpg --preset imagenet --top 5 --labels names.txt\n"
        "rynd run model.onnx -i x.npy -o y.npy",
    .options = options,
    .uses = CLI_USE_ALL,
    .settings_size = sizeof(cli_run_settings),
    .defaults = &(const cli_run_settings){.tile = -1},
    .run = run,
};
