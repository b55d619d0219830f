/* SPDX-License-Identifier: Apache-2.0 */
/* Gives each file of -i to an input, and makes a tensor of its dtype and shape from it. */
#include "run_inputs.h"

#include "file_names.h"
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
    size_t used = (size_t)snprintf(
        text, size, "%s", inputs->count ? "the model's inputs: " : "the model has no input");
    for (size_t i = 0; i < inputs->count && used < size; i++) {
        const rynd_value_info *info = &inputs->items[i].info;
        used += (size_t)snprintf(text + used, size - used, "%s%s %s %s", i ? ", " : "", info->name,
                                 rynd_dtype_name(info->dtype), cli_shape_of_value(info).text);
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

/* By the name of an array in an archive: the input's own, or the one that it would have as an
 * output. */
static cli_input *find_archived(const cli_inputs *inputs, const char *name)
{
    cli_input *input = find_input(inputs, name, strlen(name));
    for (size_t i = 0; !input && i < inputs->count; i++) {
        input = strcmp(inputs->plain[i], name) == 0 ? &inputs->items[i] : NULL;
    }
    return input;
}

static bool make_plain_names(cli_inputs *inputs, cli_failure *failure)
{
    const char **names = calloc(inputs->count + 1, sizeof *names);
    for (size_t i = 0; names && i < inputs->count; i++) {
        names[i] = inputs->items[i].info.name;
    }
    inputs->plain = names ? cli_plain_names(names, inputs->count) : NULL;
    free(names);
    return inputs->plain ? true : cli_fail_memory(failure);
}

void cli_input_dims(const rynd_value_info *info, const cli_common *common, int64_t *want)
{
    for (int d = 0; d < info->rank; d++) {
        want[d] = info->dim[d];
        for (size_t i = 0; want[d] < 0 && i < common->dims.count; i++) {
            if (strcmp(common->dims.items[i].symbol, info->symbol[d]) == 0) {
                want[d] = common->dims.items[i].value;
            }
        }
        if (want[d] < 0 && d == 0 && common->batch > 0) {
            want[d] = common->batch;
        }
    }
}

static bool is_standard_input(const char *file)
{
    return strcmp(file, "-") == 0;
}

/* Splits "NAME=FILE"; NULL when it fails. A '=' may be part of a file's name, or of an input's: an
 * input that exists decides. */
static cli_input *choose_input(const cli_inputs *inputs, const char *text, const char **file,
                               cli_failure *failure)
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
        cli_fail_usage(failure, "--input %s: no input is called '%.*s'; %s", text,
                       (int)strcspn(text, "="), text, list_inputs(inputs, list, sizeof list));
        return NULL;
    }
    for (size_t i = 0; i < inputs->count; i++) {
        if (!inputs->items[i].file) {
            return &inputs->items[i];
        }
    }
    if (inputs->count != 1) {
        cli_fail_usage(failure, "--input %s: every input has a file already; %s", text,
                       list_inputs(inputs, list, sizeof list));
        return NULL;
    }
    return inputs->items;
}

/* One file being read: its option, and the target of the current array. */
typedef struct delivery {
    const cli_inputs *inputs;
    cli_input *named, *to;
    const char *file;
    const cli_common *common;
    size_t taken;
} delivery;

/* The arrays of an archive go to the inputs of their names; a single one needs no name. */
static bool wants(void *user, const char *name)
{
    delivery *d = user;
    d->to = name ? find_archived(d->inputs, name) : d->named;
    if (!d->to) {
        cli_note(d->common, "'%s': no input is called '%s'; this array is not used", d->file, name);
    }
    return d->to != NULL;
}

/* What the input is, with --dim and --batch put in. */
static rynd_value_info wanted_of(const cli_input *input)
{
    rynd_value_info wanted = input->info;
    memcpy(wanted.dim, input->want, sizeof wanted.dim);
    return wanted;
}

static bool fits(void *user, const rynd_tensor *head, cli_failure *failure)
{
    const delivery *d = user;
    const rynd_value_info wanted = wanted_of(d->to);
    if (d->to->tensor.view.dtype != RYND_DTYPE_NONE) {
        return cli_fail_usage(failure, "input '%s' is given twice, by '%s' and by '%s'",
                              wanted.name, d->to->file, d->file);
    }
    bool same = wanted.rank < 0 || wanted.rank == head->rank;
    for (int i = 0; same && i < wanted.rank; i++) {
        same = wanted.dim[i] < 0 || wanted.dim[i] == head->dim[i];
    }
    return same ? true
                : cli_fail(failure,
                           "'%s' has shape %s, but input '%s' is %s; give a tensor of that shape",
                           d->file, cli_shape_of_tensor(head).text, wanted.name,
                           cli_shape_of_value(&wanted).text);
}

/* A file whose dtype is another's is converted when nothing is lost by it. */
static bool take_tensor(void *user, cli_tensor *tensor, cli_failure *failure)
{
    delivery *d = user;
    cli_input *input = d->to;
    rynd_dtype from = tensor->view.dtype, to = input->info.dtype;
    cli_conversion done;
    if (!cli_tensor_convert(tensor, to, &done, failure)) {
        return cli_fail_prefix(failure, "'%s' holds %s, but input '%s' is %s: ", d->file,
                               rynd_dtype_name(from), input->info.name, rynd_dtype_name(to));
    }
    if (done != CLI_CONVERSION_NONE) {
        snprintf(input->did, sizeof input->did, "%s to %s", rynd_dtype_name(from),
                 rynd_dtype_name(to));
    }
    if (done == CLI_CONVERSION_ROUNDED) {
        cli_note(d->common, "'%s' holds %s; its values are rounded to %s for input '%s'", d->file,
                 rynd_dtype_name(from), rynd_dtype_name(to), input->info.name);
    }
    input->file = d->file;
    input->tensor = *tensor;
    *tensor = (cli_tensor){0};
    d->taken++;
    return true;
}

/* Elements of the largest tensor that an input takes; -1: any. */
static int64_t elements_of(const cli_input *input)
{
    int64_t elements = input->info.rank < 0 ? -1 : 1;
    for (int i = 0; elements >= 0 && i < input->info.rank; i++) {
        if (input->want[i] < 0 || __builtin_mul_overflow(elements, input->want[i], &elements)) {
            elements = -1;
        }
    }
    return elements;
}

static bool take_tensors(delivery *d, const cli_setup *setup, cli_failure *failure)
{
    char list[1024];
    const cli_receiver receiver = {.user = d,
                                   .wants = wants,
                                   .fits = fits,
                                   .take = take_tensor,
                                   .elements = elements_of(d->named)};
    d->to = d->named;
    if (is_standard_input(d->file)) {
        return cli_tensor_read_standard_input(&receiver, failure);
    }
    if (!cli_tensors_read(setup->context, d->file, &receiver, failure)) {
        return false;
    }
    return d->taken ? true
                    : cli_fail(failure, "'%s': no array has the name of an input; %s", d->file,
                               list_inputs(d->inputs, list, sizeof list));
}

static bool check_size(const cli_input *input, const cli_picture_layout *layout,
                       const cli_image *image, const char *file, cli_failure *failure)
{
    int64_t height = input->info.rank < 0 ? -1 : input->want[layout->height],
            width = input->info.rank < 0 ? -1 : input->want[layout->width];
    if ((height < 0 || height == image->height) && (width < 0 || width == image->width)) {
        return true;
    }
    int64_t h = height < 0 ? image->height : height, w = width < 0 ? image->width : width;
    const char *cut = h <= image->height && w <= image->width
                          ? "cut the middle out with --crop"
                          : "enlarge it, then cut with --size N --crop";
    return cli_fail(failure,
                    "'%s' is a picture of %" PRId64 "x%" PRId64
                    " (height x width), but input '%s' is %s: resize it with --size %" PRId64
                    "x%" PRId64 ", or %s %" PRId64 "x%" PRId64,
                    file, image->height, image->width, input->info.name,
                    cli_shape_of_value(&input->info).text, h, w, cut, h, w);
}

/* A tensor of one more picture than before, with the old ones in it. */
static bool grow_batch(cli_input *input, const cli_picture_layout *layout, const cli_image *image,
                       const char *file, cli_failure *failure)
{
    int rank = input->info.rank < 0 ? 4 : input->info.rank;
    int64_t dim[RYND_MAX_RANK] = {0};
    if (input->pictures > 0 && layout->batch < 0) {
        return cli_fail_usage(failure, "input '%s' %s takes one picture, but '%s' is another one",
                              input->info.name, cli_shape_of_value(&input->info).text, file);
    }
    const rynd_tensor *old = &input->tensor.view;
    if (input->pictures > 0 &&
        (old->dim[layout->height] != image->height || old->dim[layout->width] != image->width)) {
        return cli_fail(failure,
                        "'%s' is a picture of %" PRId64 "x%" PRId64
                        " (height x width), but '%s' before it is of %" PRId64 "x%" PRId64
                        "; pictures of one batch need one size: give --size HxW",
                        file, image->height, image->width, input->file, old->dim[layout->height],
                        old->dim[layout->width]);
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
        memcpy(grown.view.data, old->data,
               (size_t)rynd_tensor_elements(old) * rynd_dtype_size(old->dtype));
        cli_tensor_free(&input->tensor);
    }
    input->tensor = grown;
    return true;
}

/* One picture being read. */
typedef struct picture_check {
    cli_input *input;
    const char *file;
    const cli_preprocess *preprocess;
    cli_picture_layout layout;
} picture_check;

/* A picture that nothing resizes or cuts must have the input's size already. */
static bool picture_fits(void *user, const cli_image *head, cli_failure *failure)
{
    static const int64_t any[4] = {-1, -1, -1, -1};
    picture_check *check = user;
    cli_input *input = check->input;
    bool known = input->info.rank >= 0;
    if (!cli_picture_layout_of(known ? input->info.rank : 4, known ? input->want : any,
                               head->channels, &check->layout)) {
        return cli_fail(failure,
                        "'%s' is a picture, but input '%s' %s is not: it has no dimension of 1 or "
                        "3 channels; give a tensor (.npy, .npz, .pb)",
                        check->file, input->info.name, cli_shape_of_value(&input->info).text);
    }
    if (input->tensor.view.dtype != RYND_DTYPE_NONE && input->pictures == 0) {
        return cli_fail_usage(failure, "input '%s' is given twice, by '%s' and by '%s'",
                              input->info.name, input->file, check->file);
    }
    const bool kept = !check->preprocess->size.width && !check->preprocess->crop.width;
    return !kept || check_size(input, &check->layout, head, check->file, failure);
}

static bool take_picture(cli_input *input, const char *file, const cli_run_settings *settings,
                         cli_image *image, cli_failure *failure)
{
    picture_check check = {.input = input, .file = file, .preprocess = &settings->preprocess};
    if (!cli_image_read(file, &(cli_image_check){&check, picture_fits}, image, failure)) {
        return false;
    }
    if (image->dropped_alpha) {
        cli_note(&settings->common, "'%s' has transparency, which is ignored", file);
    }
    cli_detail(&settings->common,
               "'%s': %" PRId64 "x%" PRId64 " (height x width), %d channels of %d bits", file,
               image->height, image->width, image->channels, image->bits);
    if (input->pictures > 0) {
        input->did[0] = 0;
    }
    const cli_picture_layout *layout = &check.layout;
    if (!cli_preprocess_apply(&settings->preprocess, image, layout->channels, file, input->did,
                              sizeof input->did, failure) ||
        !check_size(input, layout, image, file, failure) ||
        !grow_batch(input, layout, image, file, failure)) {
        return false;
    }
    cli_picture_put(&input->tensor.view, layout, input->pictures, image);
    input->file = input->file ? input->file : file;
    input->pictures++;
    return true;
}

static bool take_file(const cli_inputs *inputs, const cli_setup *setup, const char *text,
                      const cli_run_settings *settings, cli_failure *failure)
{
    const char *file;
    cli_input *input = choose_input(inputs, text, &file, failure);
    if (!input) {
        return false;
    }
    cli_file_kind kind = is_standard_input(file) ? CLI_FILE_TENSORS : cli_input_kind(file);
    if (kind == CLI_FILE_NONE) {
        return cli_fail_usage(failure,
                              "--input %s: '%s' is not a file that rynd reads; give .npy, .npz, "
                              ".pb or a picture (" CLI_PICTURES_IN "), or - for an .npy from "
                              "standard input",
                              text, file);
    }
    if (kind == CLI_FILE_IMAGE) {
        cli_image image = {0};
        const bool done = take_picture(input, file, settings, &image, failure);
        cli_image_free(&image);
        return done;
    }
    delivery d = {.inputs = inputs, .named = input, .file = file, .common = &settings->common};
    return take_tensors(&d, setup, failure);
}

static bool check_input(const cli_inputs *inputs, cli_input *input, const cli_common *common,
                        cli_failure *failure)
{
    char list[1024];
    const rynd_tensor *view = &input->tensor.view;
    if (view->dtype == RYND_DTYPE_NONE) {
        return cli_fail_usage(
            failure,
            "no file for input '%s': give --input %s=FILE (.npy, .npz, .pb, or a picture); %s",
            input->info.name, input->info.name, list_inputs(inputs, list, sizeof list));
    }
    if (input->pictures > 0 && common->batch > 0 && view->rank == 4 && input->info.dim[0] < 0 &&
        input->pictures != common->batch) {
        return cli_fail_usage(failure,
                              "--batch %" PRId64
                              " needs as many pictures for input '%s', but %" PRId64
                              " given; repeat --input FILE",
                              common->batch, input->info.name, input->pictures);
    }
    if (cli_dtype_is_float(view->dtype) && common->level >= CLI_INFO) {
        cli_summary summary = cli_tensor_summary(view);
        if (summary.nans + summary.infinities > 0) {
            cli_detail(common, "input '%s' holds %" PRId64 " NaN and %" PRId64 " infinite values",
                       input->info.name, summary.nans, summary.infinities);
        }
    }
    return true;
}

bool cli_inputs_open(cli_inputs *inputs, const cli_setup *setup, const cli_run_settings *settings,
                     cli_failure *failure)
{
    size_t count = rynd_model_input_count(setup->model);
    *inputs = (cli_inputs){.items = calloc(count + 1, sizeof *inputs->items),
                           .views = calloc(count + 1, sizeof *inputs->views)};
    if (!inputs->items || !inputs->views) {
        return cli_fail_memory(failure);
    }
    inputs->count = count;
    for (size_t i = 0; i < count; i++) {
        cli_input *input = &inputs->items[i];
        input->info = RYND_SIZED(rynd_value_info);
        if (rynd_model_get_input(setup->model, i, &input->info) != RYND_OK) {
            return cli_fail_library(failure);
        }
        cli_input_dims(&input->info, &settings->common, input->want);
    }
    if (!make_plain_names(inputs, failure)) {
        return false;
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
    cli_plain_names_free(inputs->plain, inputs->count);
    free(inputs->items);
    free(inputs->views);
    *inputs = (cli_inputs){0};
}
