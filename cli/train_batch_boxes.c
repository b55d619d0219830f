/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures with boxes into batches. */
#include "train_batch_boxes.h"

#include "wording.h"

#include <string.h>

/* USUAL: side of an input that the model leaves open, as of detection in `rynd run`. */
enum { USUAL = 640, NUMBERS = 5 };

bool cli_boxes_form(cli_batch_form *form, const cli_sample *sample, cli_failure *failure)
{
    const cli_batch_wish *wish = &form->wish;
    const rynd_value_info *in = wish->inputs;
    const int64_t asked = wish->preprocess->size.width, usual = asked ? asked : USUAL;
    int64_t dim[RYND_MAX_RANK];
    if (in->rank != 4 ||
        !cli_picture_layout_of(in->rank, in->dim, sample->picture.channels, &form->x_layout)) {
        return cli_fail(failure,
                        "'%s' has pictures with boxes, but input '%s' %s is no batch of pictures "
                        "of 1 or 3 channels",
                        wish->set->path, in->name, cli_shape_of_value(in).text);
    }
    memcpy(dim, in->dim, sizeof dim);
    dim[form->x_layout.batch] = wish->batch;
    dim[form->x_layout.channel] = form->x_layout.channels;
    int64_t *const sides[] = {&dim[form->x_layout.height], &dim[form->x_layout.width]};
    for (int i = 0; i < 2; i++) {
        *sides[i] = *sides[i] > 0 ? *sides[i] : usual;
    }
    form->to = (cli_extent){*sides[0], *sides[1]};
    form->x[0] = rynd_tensor_of(NULL, in->dtype, in->rank, dim);
    form->y =
        rynd_tensor_of(NULL, RYND_DTYPE_F32, 3, (int64_t[]){wish->batch, wish->boxes, NUMBERS});
    return true;
}

static float within(double value, int64_t side)
{
    return (float)(value > 0 ? (value < (double)side ? value : (double)side) : 0);
}

static void put_boxes(const cli_sample *sample, const rynd_frame *frame, cli_extent size,
                      float *row)
{
    for (size_t i = 0; i < sample->object_count; i++) {
        const rynd_object *o = &sample->objects[i];
        const float box[4] = {
            within(o->left * frame->scale_x + frame->offset_x, size.width),
            within(o->top * frame->scale_y + frame->offset_y, size.height),
            within((o->left + o->width) * frame->scale_x + frame->offset_x, size.width),
            within((o->top + o->height) * frame->scale_y + frame->offset_y, size.height)};
        if (box[0] < box[2] && box[1] < box[3]) {
            *row = (float)o->label;
            memcpy(row + 1, box, sizeof box);
            row += NUMBERS;
        }
    }
}

bool cli_boxes_put(const cli_batch_form *form, const cli_draw *draw, cli_sample *sample,
                   const rynd_tensor *x, const rynd_tensor *y, int64_t at, cli_failure *failure)
{
    const int64_t rows = form->wish.boxes;
    float *to = (float *)y->data + at * rows * NUMBERS;
    rynd_frame frame;
    if (form->wish.augment) {
        cli_augment_boxes(form->wish.augment, draw, sample);
    }
    const rynd_tensor photo = cli_image_view(&sample->picture);
    if (rynd_picture_prepare(NULL, &photo, form->wish.preparation, x, at, &frame) != RYND_OK) {
        cli_fail_library(failure);
        return cli_fail_prefix(failure, "'%s': ", sample->name);
    }
    memset(to, 0, (size_t)(rows * NUMBERS) * sizeof *to);
    for (int64_t row = 0; row < rows; row++) {
        to[row * NUMBERS] = -1;
    }
    put_boxes(sample, &frame, form->to, to);
    return true;
}
