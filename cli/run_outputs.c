/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and lists outputs. */
#include "run_outputs.h"

#include "file_names.h"
#include "files.h"
#include "json_out.h"
#include "line.h"
#include "notes.h"
#include "picture_layout.h"
#include "table.h"
#include "top_values.h"
#include "wording.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <rynd/tasks.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool names_folder(const char *output)
{
    size_t length = strlen(output);
    return output[length - 1] == '/' || cli_is_folder(output);
}

/* A missing last folder is made; what is above must be there. */
static bool make_folder(const char *path, cli_failure *failure)
{
    if (cli_is_folder(path) || mkdir(path, 0777) == 0) {
        return true;
    }
    return cli_fail(failure, "cannot make the folder '%s': %s", path, strerror(errno));
}

static bool check_output(const cli_outputs *outputs, const cli_run_settings *settings,
                         cli_failure *failure)
{
    const char *output = settings->output;
    if (!output) {
        return settings->output_scale == 0
                   ? true
                   : cli_fail_usage(failure, "--output-scale needs --output FILE.png");
    }
    if (names_folder(output)) {
        return make_folder(output, failure);
    }
    if (cli_output_kind(output) == CLI_FILE_NONE) {
        return cli_fail_usage(
            failure,
            "--output %s: rynd writes .npy, .npz, .pb, .png and .jpg, or into a folder "
            "(a name that ends with '/')",
            output);
    }
    if (outputs->count > 1 && !cli_output_takes_many(output)) {
        return cli_fail_usage(failure,
                              "--output %s takes one output, but the model has %zu; give a folder "
                              "(a name that ends with '/') or an .npz",
                              output, outputs->count);
    }
    const char *slash = strrchr(output, '/');
    char folder[4096];
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - output) : 1,
             slash ? output : ".");
    if (*folder && !cli_is_folder(folder)) {
        return cli_fail(failure, "cannot write '%s': there is no folder '%s'; make it first",
                        output, folder);
    }
    return true;
}

bool cli_outputs_open(cli_outputs *outputs, const cli_setup *setup,
                      const cli_run_settings *settings, cli_failure *failure)
{
    size_t count = rynd_model_output_count(setup->model);
    *outputs = (cli_outputs){
        .count = count,
        .tensors = calloc(count + 1, sizeof *outputs->tensors),
        .names = calloc(count + 1, sizeof *outputs->names),
        .files = calloc(count + 1, sizeof *outputs->files),
    };
    if (!outputs->tensors || !outputs->names || !outputs->files) {
        outputs->count = 0;
        return cli_fail_memory(failure);
    }
    for (size_t i = 0; i < count; i++) {
        rynd_value_info info = RYND_SIZED(rynd_value_info);
        if (rynd_model_get_output(setup->model, i, &info) != RYND_OK) {
            return cli_fail_library(failure);
        }
        outputs->names[i] = info.name;
    }
    outputs->plain = cli_plain_names(outputs->names, count);
    if (!outputs->plain) {
        return cli_fail_memory(failure);
    }
    if (settings->labels && settings->top == 0) {
        return cli_fail_usage(failure, "--labels needs --top K");
    }
    return check_output(outputs, settings, failure) &&
           (settings->labels ? cli_labels_open(&outputs->labels, settings->labels, failure)
                             : cli_labels_of_model(&outputs->labels, setup->model, failure));
}

bool cli_outputs_collect(cli_outputs *outputs, const rynd_session *session, cli_failure *failure)
{
    for (size_t i = 0; i < outputs->count; i++) {
        if (rynd_session_get_output(session, i, &outputs->tensors[i]) != RYND_OK) {
            return cli_fail_library(failure);
        }
    }
    return true;
}

/* What would fit an output that is boxes, scores or a map; NULL: it may be a picture. */
static const char *better_task(const rynd_model *model, const rynd_tensor *tensor)
{
    rynd_head head = RYND_SIZED(rynd_head);
    rynd_value_info input = RYND_SIZED(rynd_value_info);
    const int64_t *dim = tensor->dim;
    if (rynd_model_get_input(model, 0, &input) != RYND_OK || input.rank != 4) {
        return NULL; /* pictures go in by four dims */
    }
    return rynd_model_get_head(model, NULL, &head) == RYND_OK  ? "detect"
           : tensor->rank == 2 && (dim[0] == 1 || dim[1] == 1) ? "classify"
           : tensor->rank == 4 && dim[2] == 1 && dim[3] == 1   ? "classify"
           : tensor->rank == 4 && dim[1] != 1 && dim[1] != 3 && dim[3] != 1 && dim[3] != 3
               ? "segment"
               : NULL;
}

/* Refuses to write boxes, scores or class maps as a picture. */
static bool check_picture(const cli_outputs *outputs, size_t index, const char *path,
                          const rynd_model *model, cli_failure *failure)
{
    const rynd_tensor *tensor = &outputs->tensors[index];
    const char *task = better_task(model, tensor);
    return task ? cli_fail(failure,
                           "output '%s' %s is not a picture, so '%s' cannot be written; give "
                           "--task %s, or an .npy",
                           outputs->names[index], cli_shape_of_tensor(tensor).text, path, task)
                : true;
}

static bool write_picture(const cli_outputs *outputs, size_t index, const char *path,
                          const cli_run_settings *settings, cli_failure *failure)
{
    const rynd_tensor *tensor = &outputs->tensors[index];
    cli_picture_layout layout;
    cli_image image = {0};
    if (rynd_tensor_elements(tensor) == 0 ||
        !cli_picture_layout_of(tensor->rank, tensor->dim, 1, &layout) ||
        (layout.batch >= 0 && tensor->dim[layout.batch] != 1)) {
        return cli_fail(failure,
                        "output '%s' %s is not one picture with 1 or 3 channels, so '%s' cannot be "
                        "written; give an .npy",
                        outputs->names[index], cli_shape_of_tensor(tensor).text, path);
    }
    double scale = settings->output_scale != 0 ? settings->output_scale : 1;
    bool done = cli_picture_get(tensor, &layout, scale, settings->preprocess.order == CLI_ORDER_BGR,
                                &image, failure);
    int64_t outside = 0, count = done ? image.height * image.width * image.channels : 0;
    for (int64_t i = 0; i < count; i++) {
        outside += !(image.pixels[i] >= -0.5f && image.pixels[i] <= 255.5f);
    }
    if (outside > 0) {
        cli_detail(&settings->common,
                   "'%s': %" PRId64 " of %" PRId64 " values lie outside 0 to 255 and are clamped",
                   path, outside, count);
    }
    done = done && cli_image_write(path, &image, failure);
    cli_image_free(&image);
    return done;
}

static char *file_in_folder(const cli_outputs *outputs, size_t index, const char *folder)
{
    const char *name = outputs->plain[index], *slash = folder[strlen(folder) - 1] == '/' ? "" : "/";
    const size_t room = strlen(folder) + strlen(name) + 8;
    char *path = malloc(room);
    if (path) {
        snprintf(path, room, "%s%s%s.npy", folder, slash, name);
    }
    return path;
}

bool cli_outputs_write(cli_outputs *outputs, const cli_setup *setup,
                       const cli_run_settings *settings, cli_failure *failure)
{
    const char *output = settings->output;
    if (!output) {
        return true;
    }
    bool folder = names_folder(output);
    for (size_t i = 0; i < outputs->count; i++) {
        outputs->files[i] = folder ? file_in_folder(outputs, i, output) : strdup(output);
        if (!outputs->files[i]) {
            return cli_fail_memory(failure);
        }
        if (folder && !cli_tensors_write(setup->context, outputs->files[i], &outputs->tensors[i],
                                         &outputs->names[i], 1, failure)) {
            return false;
        }
    }
    if (folder) {
        return true;
    }
    if (cli_output_kind(output) == CLI_FILE_IMAGE) {
        return check_picture(outputs, 0, output, setup->model, failure) &&
               write_picture(outputs, 0, output, settings, failure);
    }
    const char *const *names =
        cli_output_takes_many(output) ? (const char *const *)outputs->plain : outputs->names;
    return cli_tensors_write(setup->context, output, outputs->tensors, names, outputs->count,
                             failure);
}

static void add_number(cli_table *table, double value)
{
    char text[32] = ""; /* nothing for a tensor without finite elements */
    if (!isnan(value)) {
        snprintf(text, sizeof text, "%.6g", value);
    }
    cli_table_add(table, "%s", text);
}

static bool print_top(const cli_outputs *outputs, size_t index, int64_t top, cli_failure *failure)
{
    cli_top_values values;
    if (!cli_top_values_make(&values, &outputs->tensors[index], top, failure)) {
        return false;
    }
    static const char *const head[] = {"row", "index", "value", "label"};
    cli_table table;
    cli_table_begin(&table, "rrrl", head);
    for (int64_t r = 0; r < values.rows; r++) {
        for (int64_t k = 0; k < values.top; k++) {
            const cli_top_value *v = &values.items[r * values.top + k];
            cli_table_add(&table, "%" PRId64, r);
            cli_table_add(&table, "%" PRId64, v->index);
            cli_table_add(&table, "%.6g", v->value);
            const char *label = cli_label_of(&outputs->labels, v->index);
            cli_table_add(&table, "%s", label ? label : "");
        }
    }
    putchar('\n');
    cli_line(stdout, "%s: the %" PRId64 " largest of %" PRId64, outputs->names[index], values.top,
             values.row);
    cli_top_values_free(&values);
    return cli_table_print(&table, stdout) ? true : cli_fail_memory(failure);
}

bool cli_outputs_print(const cli_outputs *outputs, const cli_run_settings *settings,
                       cli_failure *failure)
{
    static const char *const head[] = {"output", "shape", "dtype", "min", "mean", "max", "file"};
    cli_table table;
    cli_table_begin(&table, "lllrrrl", head);
    for (size_t i = 0; i < outputs->count; i++) {
        const rynd_tensor *tensor = &outputs->tensors[i];
        cli_summary summary = cli_tensor_summary(tensor);
        cli_table_add(&table, "%s", outputs->names[i]);
        cli_table_add(&table, "%s", cli_shape_of_tensor(tensor).text);
        cli_table_add(&table, "%s", rynd_dtype_name(tensor->dtype));
        add_number(&table, summary.min);
        add_number(&table, summary.mean);
        add_number(&table, summary.max);
        cli_table_add(&table, "%s", outputs->files[i] ? outputs->files[i] : "");
        if (summary.nans + summary.infinities > 0) {
            cli_note(&settings->common,
                     "output '%s' holds %" PRId64 " NaN and %" PRId64 " infinite values",
                     outputs->names[i], summary.nans, summary.infinities);
        }
    }
    bool done = cli_table_print(&table, stdout) ? true : cli_fail_memory(failure);
    for (size_t i = 0; done && settings->top > 0 && i < outputs->count; i++) {
        done = print_top(outputs, i, settings->top, failure);
    }
    return done;
}

static bool add_top(const cli_outputs *outputs, size_t index, int64_t top, cJSON *object,
                    cli_failure *failure)
{
    cli_top_values values;
    if (!cli_top_values_make(&values, &outputs->tensors[index], top, failure)) {
        return false;
    }
    cJSON *rows = cJSON_AddArrayToObject(object, "top");
    for (int64_t r = 0; r < values.rows; r++) {
        cJSON *row = cJSON_CreateArray();
        cJSON_AddItemToArray(rows, row);
        for (int64_t k = 0; k < values.top; k++) {
            const cli_top_value *v = &values.items[r * values.top + k];
            cJSON *item = cli_json_object_in(row);
            cli_json_number(item, "index", (double)v->index);
            cli_json_number(item, "value", v->value);
            cli_json_text(item, "label", cli_label_of(&outputs->labels, v->index));
        }
    }
    cli_top_values_free(&values);
    return true;
}

bool cli_outputs_json(const cli_outputs *outputs, const cli_run_settings *settings, cJSON *result,
                      cli_failure *failure)
{
    cJSON *array = cJSON_AddArrayToObject(result, "outputs");
    for (size_t i = 0; i < outputs->count; i++) {
        const rynd_tensor *tensor = &outputs->tensors[i];
        cli_summary summary = cli_tensor_summary(tensor);
        cJSON *object = cli_json_object_in(array);
        cli_json_text(object, "name", outputs->names[i]);
        cli_json_shape(object, tensor);
        cli_json_text(object, "dtype", rynd_dtype_name(tensor->dtype));
        cli_json_text(object, "file", outputs->files[i]);
        cli_json_number(object, "min", summary.min);
        cli_json_number(object, "mean", summary.mean);
        cli_json_number(object, "max", summary.max);
        if (settings->top > 0 && !add_top(outputs, i, settings->top, object, failure)) {
            return false;
        }
    }
    return true;
}

void cli_outputs_free(cli_outputs *outputs)
{
    for (size_t i = 0; i < outputs->count; i++) {
        free(outputs->files[i]);
    }
    cli_plain_names_free(outputs->plain, outputs->count);
    free(outputs->tensors);
    free(outputs->names);
    free(outputs->files);
    cli_labels_free(&outputs->labels);
    *outputs = (cli_outputs){0};
}
