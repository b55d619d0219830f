/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of batches, and their content. */
#include "train_batch.h"

#include "resample.h"
#include "train_batch_boxes.h"
#include "wording.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool fail_picture(const cli_batch_wish *wish, const rynd_value_info *value, const char *what,
                         cli_failure *failure)
{
    return cli_fail(
        failure,
        "'%s' has pictures, but %s '%s' %s has no dimension of 1 or 3 channels; give an .npz "
        "of x and y",
        wish->set->path, what, value->name, cli_shape_of_value(value).text);
}

/* Returns the extent of a picture in x: 0 while unknown. */
static cli_extent extent_of(const cli_batch_wish *wish, const cli_picture_layout *layout)
{
    const cli_preprocess *p = wish->preprocess;
    cli_extent to = {wish->inputs->dim[layout->height], wish->inputs->dim[layout->width]};
    const cli_extent said = p->crop.width ? p->crop : p->size.height ? p->size : (cli_extent){0};
    to.height = to.height > 0 ? to.height : said.height;
    to.width = to.width > 0 ? to.width : said.width;
    return to;
}

/* As a picture is when it is put, without anything at random. */
static bool plain_extent(const cli_batch_wish *wish, cli_sample *sample, int channels,
                         cli_extent *to, cli_failure *failure)
{
    char did[128] = "";
    cli_image *image = &sample->picture;
    if (!wish->set->pairs && !cli_preprocess_apply(wish->preprocess, image, channels,
                                                   wish->set->path, did, sizeof did, failure)) {
        return false;
    }
    to->height = to->height > 0 ? to->height : image->height;
    to->width = to->width > 0 ? to->width : image->width;
    return true;
}

/* Row-major of a layout. */
static rynd_tensor picture_tensor(const cli_picture_layout *layout, int rank, rynd_dtype dtype,
                                  int64_t batch, int64_t height, int64_t width)
{
    int64_t dim[RYND_MAX_RANK] = {0};
    dim[layout->height] = height;
    dim[layout->width] = width;
    if (layout->channel >= 0) {
        dim[layout->channel] = layout->channels;
    }
    if (layout->batch >= 0) {
        dim[layout->batch] = batch;
    }
    return rynd_tensor_of(NULL, dtype, rank, dim);
}

/* Maps of classes, of the output's size where the model says it. */
static bool form_masks(cli_batch_form *form, cli_failure *failure)
{
    const rynd_value_info *out = form->wish.output;
    if (out->rank != 4) {
        return cli_fail(failure,
                        "'%s' has masks, but output '%s' %s is not [N, classes, height, width]",
                        form->wish.set->path, out->name, cli_shape_of_value(out).text);
    }
    const int64_t dim[] = {form->wish.batch, out->dim[2] > 0 ? out->dim[2] : form->to.height,
                           out->dim[3] > 0 ? out->dim[3] : form->to.width};
    form->y = rynd_tensor_of(NULL, RYND_DTYPE_I64, 3, dim);
    return true;
}

static bool form_pictures(cli_batch_form *form, cli_sample *sample, cli_failure *failure)
{
    static const int64_t open[4] = {-1, -1, -1, -1};
    const cli_batch_wish *wish = &form->wish;
    const rynd_value_info *in = wish->inputs, *out = wish->output;
    const int rank = in->rank < 0 ? 4 : in->rank;
    const int64_t factor = wish->set->pairs ? sample->target.height / sample->picture.height : 1;
    if (!cli_picture_layout_of(rank, in->rank < 0 ? open : in->dim, sample->picture.channels,
                               &form->x_layout) ||
        form->x_layout.batch < 0) {
        return fail_picture(wish, in, "input", failure);
    }
    form->to = extent_of(wish, &form->x_layout);
    const bool known = form->to.height > 0 && form->to.width > 0;
    if (!known && wish->augment && wish->augment->area > 0) {
        return cli_fail_usage(failure,
                              "--random-area: input '%s' %s takes pictures of any size: say with "
                              "--crop HxW to which parts are resized",
                              in->name, cli_shape_of_value(in).text);
    }
    if (!known && !plain_extent(wish, sample, form->x_layout.channels, &form->to, failure)) {
        return false;
    }
    if (wish->augment && wish->augment->turn && form->to.height != form->to.width) {
        return cli_fail_usage(failure,
                              "--turn: a quarter turn of %" PRId64 "x%" PRId64
                              " (height x width) does not fit input '%s'; give a square --crop",
                              form->to.height, form->to.width, in->name);
    }
    form->x[0] = picture_tensor(&form->x_layout, rank, in->dtype, wish->batch, form->to.height,
                                form->to.width);
    if (wish->set->masks) {
        return form_masks(form, failure);
    }
    if (wish->set->pairs) {
        const int out_rank = out->rank < 0 ? 4 : out->rank;
        if (!cli_picture_layout_of(out_rank, out->rank < 0 ? open : out->dim,
                                   sample->target.channels, &form->y_layout) ||
            form->y_layout.batch < 0) {
            return fail_picture(wish, out, "output", failure);
        }
        form->y = picture_tensor(&form->y_layout, out_rank, out->dtype, wish->batch,
                                 form->to.height * factor, form->to.width * factor);
    }
    return true;
}

static rynd_tensor batch_of(const rynd_tensor *row, int64_t batch)
{
    int64_t dim[RYND_MAX_RANK] = {batch};
    const int rank = row->rank < RYND_MAX_RANK ? row->rank : RYND_MAX_RANK - 1;
    memcpy(dim + 1, row->dim, (size_t)rank * sizeof *dim);
    return rynd_tensor_of(NULL, row->dtype, rank + 1, dim);
}

/* The model's input takes it? */
static bool check_input(const cli_batch_form *form, size_t input, cli_failure *failure)
{
    const rynd_value_info *in = &form->wish.inputs[input];
    const rynd_tensor *x = &form->x[input];
    bool same = in->rank < 0 || in->rank == x->rank;
    for (int i = 0; same && i < in->rank; i++) {
        same = in->dim[i] < 0 || in->dim[i] == x->dim[i];
    }
    return same ? true
                : cli_fail(failure, "'%s': batches are %s, but input '%s' is %s%s",
                           form->wish.set->path, cli_shape_of_tensor(x).text, in->name,
                           cli_shape_of_value(in).text,
                           in->rank > 0 && in->dim[0] > 0 && in->dim[0] != x->dim[0]
                               ? ": give its first dimension as --batch"
                               : "");
}

static bool check_inputs(const cli_batch_form *form, cli_failure *failure)
{
    for (size_t i = 0; i < form->wish.input_count; i++) {
        if (!check_input(form, i, failure)) {
            return false;
        }
    }
    return true;
}

/* The first sample that can be read; the others are found out later. */
static bool first_sample(const cli_dataset *set, cli_sample *sample, cli_failure *failure)
{
    for (size_t i = 0; i < set->count; i++) {
        cli_failure broken = {0};
        if (set->kind->read(set, i, sample, &broken)) {
            return true;
        }
        if (i + 1 == set->count) {
            *failure = broken;
            return cli_fail_prefix(
                failure, "none of the %zu samples of '%s' can be read: ", set->count, set->path);
        }
    }
    return false;
}

static rynd_tensor target_of_classes(const cli_batch_wish *wish)
{
    const int64_t dim[2] = {wish->batch, wish->class_shares};
    return wish->class_shares ? rynd_tensor_of(NULL, RYND_DTYPE_F32, 2, dim)
                              : rynd_tensor_of(NULL, RYND_DTYPE_I64, 1, dim);
}

bool cli_batch_form_of(const cli_batch_wish *wish, cli_batch_form *form, cli_failure *failure)
{
    cli_sample sample;
    *form = (cli_batch_form){.wish = *wish};
    if (!first_sample(wish->set, &sample, failure)) {
        return false;
    }
    form->pictures = sample.picture.pixels != NULL;
    bool good = true;
    if (wish->boxes) {
        good = cli_boxes_form(form, &sample, failure);
    } else if (form->pictures) {
        good = form_pictures(form, &sample, failure);
    } else {
        for (size_t i = 0; i < wish->input_count; i++) {
            form->x[i] = batch_of(&sample.x[i], wish->batch);
        }
        form->y = batch_of(&sample.y, wish->batch);
    }
    if (form->pictures && !wish->set->pairs && !wish->set->masks && !wish->boxes) {
        form->y = target_of_classes(wish);
    }
    cli_sample_free(&sample);
    return good && check_inputs(form, failure);
}

/* cli_augment_picture, or cli_augment_mask. */
typedef bool (*augment_function)(const cli_augment *augment, const cli_draw *draw, cli_extent to,
                                 cli_image *image, const char *name, cli_failure *failure);

static bool check_extent(const cli_batch_form *form, const cli_image *image, cli_failure *failure)
{
    const cli_extent to = form->to;
    if (image->height == to.height && image->width == to.width) {
        return true;
    }
    return cli_fail(failure,
                    "'%s' has a picture of %" PRId64 "x%" PRId64 " (height x width) where %" PRId64
                    "x%" PRId64 " is wanted: give --size %" PRId64 "x%" PRId64
                    ", or --size N and --crop %" PRId64 "x%" PRId64,
                    form->wish.set->path, image->height, image->width, to.height, to.width,
                    to.height, to.width, to.height, to.width);
}

/* Size and place: by the preparation's size and crop, or in their place at random. */
static bool place_picture(const cli_batch_form *form, const cli_draw *draw, augment_function apply,
                          cli_image *image, cli_failure *failure)
{
    const cli_augment *augment = form->wish.augment;
    const char *path = form->wish.set->path;
    cli_preprocess place = *form->wish.preprocess;
    char did[128] = "";
    if (augment) {
        place.size = augment->area > 0 ? (cli_extent){0} : place.size;
        place.crop = augment->area > 0 || augment->pad >= 0 ? (cli_extent){0} : place.crop;
    }
    return cli_preprocess_place(&place, image, path, did, sizeof did, failure) &&
           (!augment || apply(augment, draw, form->to, image, path, failure));
}

static bool put_picture(const cli_batch_form *form, const cli_draw *draw, cli_image *image,
                        const rynd_tensor *x, int64_t at, cli_failure *failure)
{
    char did[128] = "";
    if (!place_picture(form, draw, cli_augment_picture, image, failure) ||
        !cli_preprocess_values(form->wish.preprocess, image, form->x_layout.channels, did,
                               sizeof did, failure) ||
        !check_extent(form, image, failure)) {
        return false;
    }
    cli_picture_put(x, &form->x_layout, at, image);
    return true;
}

static bool put_pair(const cli_batch_form *form, const cli_draw *draw, cli_sample *sample,
                     const rynd_tensor *x, const rynd_tensor *y, int64_t at, cli_failure *failure)
{
    static const cli_augment nothing = CLI_AUGMENT_DEFAULTS;
    const cli_augment *augment = form->wish.augment;
    const char *path = form->wish.set->path;
    const cli_preprocess *values = form->wish.preprocess;
    char did[128] = "";
    const int64_t factor = form->y.dim[form->y_layout.height] / form->to.height;
    if (sample->target.height != sample->picture.height * factor) {
        return cli_fail(failure,
                        "'%s': the large pictures are not all %" PRId64 " times as large as the "
                        "small ones",
                        path, factor);
    }
    if (!cli_augment_pair(augment ? augment : &nothing, augment ? draw : NULL, form->to, sample,
                          path, failure) ||
        !cli_preprocess_values(values, &sample->picture, form->x_layout.channels, did, sizeof did,
                               failure) ||
        !cli_preprocess_values(values, &sample->target, form->y_layout.channels, did, sizeof did,
                               failure)) {
        return false;
    }
    cli_picture_put(x, &form->x_layout, at, &sample->picture);
    cli_picture_put(y, &form->y_layout, at, &sample->target);
    return true;
}

static void put_row(const rynd_tensor *batch, int64_t at, const rynd_tensor *row)
{
    const size_t size = (size_t)rynd_tensor_elements(row) * rynd_dtype_size(row->dtype);
    memcpy((char *)batch->data + (size_t)at * size, row->data, size);
}

/* Numbers of classes, checked against the model's. */
static bool put_classes(const cli_batch_form *form, const cli_sample *sample, int64_t *to,
                        cli_failure *failure)
{
    const cli_image *mask = &sample->target;
    const int64_t classes = form->wish.output->dim[1];
    for (int64_t i = 0; i < mask->height * mask->width; i++) {
        to[i] = (int64_t)mask->pixels[i];
        if (classes > 0 && to[i] >= classes && to[i] != form->wish.ignored) {
            return cli_fail(failure,
                            "'%s' has the class %" PRId64 ", but output '%s' %s has room for "
                            "%" PRId64 "; --ignore-label N leaves a class out",
                            sample->name, to[i], form->wish.output->name,
                            cli_shape_of_value(form->wish.output).text, classes);
        }
    }
    return true;
}

/* The mask goes where its picture goes, and gets the output's size. */
static bool put_mask(const cli_batch_form *form, const cli_draw *draw, cli_sample *sample,
                     const rynd_tensor *y, int64_t at, cli_failure *failure)
{
    cli_image *mask = &sample->target;
    mask->beside = (float)form->wish.ignored;
    return place_picture(form, draw, cli_augment_mask, mask, failure) &&
           check_extent(form, mask, failure) &&
           cli_image_resize(mask, y->dim[1], y->dim[2], failure) &&
           put_classes(form, sample, (int64_t *)y->data + at * y->dim[1] * y->dim[2], failure);
}

static void put_label(const cli_batch_form *form, int64_t label, const rynd_tensor *y, int64_t at)
{
    const int64_t classes = form->wish.class_shares;
    if (classes) {
        float *row = (float *)y->data + at * classes;
        memset(row, 0, (size_t)classes * sizeof *row);
        row[label] = 1;
    } else {
        ((int64_t *)y->data)[at] = label;
    }
}

bool cli_batch_put(const cli_batch_form *form, const cli_draw *draw, cli_sample *sample,
                   const rynd_tensor *x, const rynd_tensor *y, int64_t at, cli_failure *failure)
{
    if (!form->pictures) {
        for (size_t i = 0; i < form->wish.input_count; i++) {
            put_row(&x[i], at, &sample->x[i]);
        }
        put_row(y, at, &sample->y);
        return true;
    }
    if (form->wish.boxes) {
        return cli_boxes_put(form, draw, sample, x, y, at, failure);
    }
    if (form->wish.set->pairs) {
        return put_pair(form, draw, sample, x, y, at, failure);
    }
    if (form->wish.set->masks) {
        return put_picture(form, draw, &sample->picture, x, at, failure) &&
               put_mask(form, draw, sample, y, at, failure);
    }
    put_label(form, sample->label, y, at);
    return put_picture(form, draw, &sample->picture, x, at, failure);
}
