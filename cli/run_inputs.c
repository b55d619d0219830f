/* SPDX-License-Identifier: Apache-2.0 */
/* Gives each file of -i to an input, and makes a tensor of its dtype and shape from it. */
#include "run_inputs.h"

#include "files.h"
#include "notes.h"
#include "picture_layout.h"
#include "wording.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "the model's inputs: x f32 [1, 3, 224, 224], mask bool [N]" */
static const char *list_inputs(const cli_inputs *inputs, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%s", inputs->count ? "the model's inputs: " : "the model has no input");
    for (size_t i = 0; i < inputs->count && used < size; i++) {
        const rynd_value_info *info = &inputs->items[i].info;
        used += (size_t)snprintf(text + used, size - used, "%s%s %s %s", i ? ", " : "", info->name, rynd_dtype_name(info->dtype),
                                 cli_shape_of_value(info).text);
    }
    return text;
}

static cli_input *find_input(const cli_inputs *inputs, const char *name, size_t length)
{
    for (size_t i = 0; i < inputs->count; i++) {
        const char *have = inputs->items[i].info.name;
        if (strlen(have) == length && memcmp(have, name, length) == 0) {
            return &inputs->items[i];
        }
    }
    return NULL;
}

static void settle_dims(cli_input *input, const cli_common *common)
{
    for (int d = 0; d < input->info.rank; d++) {
        int64_t *want = &input->want[d];
        *want = input->info.dim[d];
        for (size_t i = 0; *want < 0 && i < common->dims.count; i++) {
            if (strcmp(common->dims.items[i].symbol, input->info.symbol[d]) == 0) {
                *want = common->dims.items[i].value;
            }
        }
        if (*want < 0 && d == 0 && common->batch > 0) {
            *want = common->batch;
        }
    }
}

/* Splits "NAME=FILE"; NULL when it fails. A '=' may be part of a file's name, or of an input's: an input that exists decides. */
static cli_input *choose_input(const cli_inputs *inputs, const char *text, const char **file, cli_failure *failure)
{
    char list[1024];
    for (const char *equals = strchr(text, '='); equals; equals = strchr(equals + 1, '=')) {
        cli_input *input = find_input(inputs, text, (size_t)(equals - text));
        if (input) {
            *file = equals + 1;
            return input;
        }
    }
    *file = text;
    if (strchr(text, '=') && access(text, F_OK) != 0) {
        cli_fail_usage(failure, "--input %s: no input is called '%.*s'; %s", text, (int)strcspn(text, "="), text,
                       list_inputs(inputs, list, sizeof list));
        return NULL;
    }
    for (size_t i = 0; i < inputs->count; i++) {
        if (!inputs->items[i].file) {
            return &inputs->items[i];
        }
    }
    if (inputs->count != 1) {
        cli_fail_usage(failure, "--input %s: there is no input left for this file; %s", text, list_inputs(inputs, list, sizeof list));
        return NULL;
    }
    return inputs->items;
}

/* A file whose dtype is another's is converted when nothing is lost by it. */
static bool take_tensor(cli_input *input, cli_tensor *tensor, const char *file, const cli_common *common, cli_failure *failure)
{
    rynd_dtype from = tensor->view.dtype, to = input->info.dtype;
    cli_conversion done;
    if (input->tensor.view.dtype != RYND_DTYPE_NONE) {
        return cli_fail_usage(failure, "input '%s' is given twice, by '%s' and by '%s'", input->info.name, input->file, file);
    }
    if (!cli_tensor_convert(tensor, to, &done, failure)) {
        return cli_fail_prefix(failure, "'%s' holds %s, but input '%s' is %s: ", file, rynd_dtype_name(from), input->info.name,
                               rynd_dtype_name(to));
    }
    if (done != CLI_CONVERSION_NONE) {
        snprintf(input->did, sizeof input->did, "%s to %s", rynd_dtype_name(from), rynd_dtype_name(to));
    }
    if (done == CLI_CONVERSION_ROUNDED) {
        cli_note(common, "'%s' holds %s; its values are rounded to %s for input '%s'", file, rynd_dtype_name(from), rynd_dtype_name(to),
                 input->info.name);
    }
    bool fits = input->info.rank < 0 || input->info.rank == tensor->view.rank;
    for (int d = 1; fits && d < input->info.rank; d++) {
        fits = input->want[d] < 0 || input->want[d] == tensor->view.dim[d];
    }
    if (!fits) {
        return cli_fail(failure, "'%s' has shape %s, but input '%s' is %s; give a tensor of that shape", file,
                        cli_shape_of_tensor(&tensor->view).text, input->info.name, cli_shape_of_value(&input->info).text);
    }
    input->file = file;
    input->tensor = *tensor;
    *tensor = (cli_tensor){0};
    return true;
}

static bool check_size(const cli_input *input, const cli_picture_layout *layout, const cli_image *image, const char *file,
                       cli_failure *failure)
{
    int64_t height = input->info.rank < 0 ? -1 : input->want[layout->height],
            width = input->info.rank < 0 ? -1 : input->want[layout->width];
    if ((height < 0 || height == image->height) && (width < 0 || width == image->width)) {
        return true;
    }
    int64_t h = height < 0 ? image->height : height, w = width < 0 ? image->width : width;
    const char *cut =
        h <= image->height && w <= image->width ? "cut the middle out with --crop" : "enlarge it, then cut with --size N --crop";
    return cli_fail(failure,
                    "'%s' is a picture of %" PRId64 "x%" PRId64 " (height x width), but input '%s' is %s: resize it with --size %" PRId64
                    "x%" PRId64 ", or %s %" PRId64 "x%" PRId64,
                    file, image->height, image->width, input->info.name, cli_shape_of_value(&input->info).text, h, w, cut, h, w);
}

/* A tensor of one more picture than before, with the old ones in it. */
static bool grow_batch(cli_input *input, const cli_picture_layout *layout, const cli_image *image, const char *file, cli_failure *failure)
{
    int rank = input->info.rank < 0 ? 4 : input->info.rank;
    int64_t dim[RYND_MAX_RANK] = {0};
    if (input->pictures > 0 && layout->batch < 0) {
        return cli_fail_usage(failure, "input '%s' %s takes one picture, but '%s' is another one", input->info.name,
                              cli_shape_of_value(&input->info).text, file);
    }
    const rynd_tensor *old = &input->tensor.view;
    if (input->pictures > 0 && (old->dim[layout->height] != image->height || old->dim[layout->width] != image->width)) {
        return cli_fail(failure,
                        "'%s' is a picture of %" PRId64 "x%" PRId64 " (height x width), but '%s' before it is of %" PRId64 "x%" PRId64
                        "; pictures of one batch need one size: give --size HxW",
                        file, image->height, image->width, input->file, old->dim[layout->height], old->dim[layout->width]);
    }
    dim[layout->height] = image->height;
    dim[layout->width] = image->width;
    if (layout->channel >= 0) {
        dim[layout->channel] = layout->channels;
    }
    if (layout->batch >= 0) {
        dim[layout->batch] = input->pictures + 1;
    }
    cli_tensor grown;
    if (!cli_tensor_make(&grown, input->info.dtype, rank, dim, failure)) {
        return false;
    }
    if (input->pictures > 0) {
        memcpy(grown.view.data, old->data, (size_t)rynd_tensor_elements(old) * rynd_dtype_size(old->dtype));
        cli_tensor_free(&input->tensor);
    }
    input->tensor = grown;
    return true;
}

static bool take_picture(cli_input *input, cli_image *image, const char *file, const cli_run_settings *settings, cli_failure *failure)
{
    static const int64_t any[4] = {-1, -1, -1, -1};
    cli_picture_layout layout;
    bool known = input->info.rank >= 0;
    if (!cli_picture_layout_of(known ? input->info.rank : 4, known ? input->want : any, image->channels, &layout)) {
        return cli_fail(
            failure, "'%s' is a picture, but input '%s' %s is not: it has no dimension of 1 or 3 channels; give a tensor (.npy, .npz, .pb)",
            file, input->info.name, cli_shape_of_value(&input->info).text);
    }
    if (input->tensor.view.dtype != RYND_DTYPE_NONE && input->pictures == 0) {
        return cli_fail_usage(failure, "input '%s' is given twice, by '%s' and by '%s'", input->info.name, input->file, file);
    }
    if (image->dropped_alpha) {
        cli_note(&settings->common, "'%s' has transparency, which is ignored", file);
    }
    cli_detail(&settings->common, "'%s': %" PRId64 "x%" PRId64 " (height x width), %d channels of %d bits", file, image->height,
               image->width, image->channels, image->bits);
    if (input->pictures > 0) {
        input->did[0] = 0;
    }
    if (!cli_preprocess_apply(&settings->preprocess, image, layout.channels, file, input->did, sizeof input->did, failure) ||
        !check_size(input, &layout, image, file, failure) || !grow_batch(input, &layout, image, file, failure)) {
        return false;
    }
    cli_picture_put(&input->tensor.view, &layout, input->pictures, image);
    input->file = input->file ? input->file : file;
    input->pictures++;
    return true;
}

/* The arrays of an archive go to the inputs of their names; a single one, or one for a named input, needs no name. */
static bool take_archive(const cli_inputs *inputs, cli_input *named, cli_tensor *tensors, size_t count, const char *file,
                         const cli_common *common, cli_failure *failure)
{
    char list[1024];
    size_t taken = 0;
    for (size_t i = 0; i < count; i++) {
        const char *name = tensors[i].name ? tensors[i].name : "";
        cli_input *input = count == 1 ? named : find_input(inputs, name, strlen(name));
        if (!input) {
            cli_note(common, "'%s': no input is called '%s'; this array is not used", file, name);
            continue;
        }
        if (!take_tensor(input, &tensors[i], file, common, failure)) {
            return false;
        }
        taken++;
    }
    return taken ? true : cli_fail(failure, "'%s': no array has the name of an input; %s", file, list_inputs(inputs, list, sizeof list));
}

static bool take_file(const cli_inputs *inputs, const cli_setup *setup, const char *text, const cli_run_settings *settings,
                      cli_failure *failure)
{
    const char *file;
    cli_input *input = choose_input(inputs, text, &file, failure);
    if (!input) {
        return false;
    }
    cli_file_kind kind = cli_input_kind(file);
    if (kind == CLI_FILE_NONE) {
        return cli_fail_usage(failure, "--input %s: '%s' is not a file that rynd reads; give .npy, .npz, .pb, .png or .jpg", text, file);
    }
    bool done;
    if (kind == CLI_FILE_IMAGE) {
        cli_image image = {0};
        done = cli_image_read(file, &image, failure) && take_picture(input, &image, file, settings, failure);
        cli_image_free(&image);
        return done;
    }
    cli_tensor *tensors = NULL;
    size_t count = 0;
    done = cli_tensors_read(setup->context, file, &tensors, &count, failure) &&
           take_archive(inputs, input, tensors, count, file, &settings->common, failure);
    for (size_t i = 0; i < count; i++) {
        cli_tensor_free(&tensors[i]);
    }
    free(tensors);
    return done;
}

static bool check_input(const cli_inputs *inputs, cli_input *input, const cli_common *common, cli_failure *failure)
{
    char list[1024];
    const rynd_tensor *view = &input->tensor.view;
    if (view->dtype == RYND_DTYPE_NONE) {
        return cli_fail_usage(failure, "no file for input '%s': give --input %s=FILE (.npy, .npz, .pb, .png, .jpg); %s", input->info.name,
                              input->info.name, list_inputs(inputs, list, sizeof list));
    }
    if (input->pictures > 0 && common->batch > 0 && view->rank == 4 && input->info.dim[0] < 0 && input->pictures != common->batch) {
        return cli_fail_usage(failure,
                              "--batch %" PRId64 " needs as many pictures for input '%s', but %" PRId64 " given; repeat --input FILE",
                              common->batch, input->info.name, input->pictures);
    }
    if (cli_dtype_is_float(view->dtype) && common->level >= CLI_INFO) {
        cli_summary summary = cli_tensor_summary(view);
        if (summary.nans + summary.infinities > 0) {
            cli_detail(common, "input '%s' holds %" PRId64 " NaN and %" PRId64 " infinite values", input->info.name, summary.nans,
                       summary.infinities);
        }
    }
    return true;
}

bool cli_inputs_open(cli_inputs *inputs, const cli_setup *setup, const cli_run_settings *settings, cli_failure *failure)
{
    size_t count = rynd_model_input_count(setup->model);
    *inputs = (cli_inputs){.items = calloc(count + 1, sizeof *inputs->items), .views = calloc(count + 1, sizeof *inputs->views)};
    if (!inputs->items || !inputs->views) {
        return cli_fail_memory(failure);
    }
    inputs->count = count;
    for (size_t i = 0; i < count; i++) {
        cli_input *input = &inputs->items[i];
        input->info.size = sizeof input->info;
        if (rynd_model_input(setup->model, i, &input->info) != RYND_OK) {
            return cli_fail_library(failure);
        }
        settle_dims(input, &settings->common);
    }
    for (size_t i = 0; i < settings->inputs.count; i++) {
        if (!take_file(inputs, setup, settings->inputs.items[i], settings, failure)) {
            return false;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (!check_input(inputs, &inputs->items[i], &settings->common, failure)) {
            return false;
        }
        inputs->views[i] = inputs->items[i].tensor.view;
    }
    return true;
}

void cli_inputs_free(cli_inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++) {
        cli_tensor_free(&inputs->items[i].tensor);
    }
    free(inputs->items);
    free(inputs->views);
    *inputs = (cli_inputs){0};
}
