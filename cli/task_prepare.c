/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses how pictures are prepared: by the head or the layout, and by options. */
#include "task_prepare.h"

#include "preparation.h"
#include "run_inputs.h"
#include "wording.h"

#include <inttypes.h>
#include <string.h>

bool cli_task_open_input(cli_task *task, cli_failure *failure)
{
    static const int64_t any[4] = {-1, -1, -1, -1};
    const size_t count = rynd_model_input_count(task->setup.model);
    task->input = RYND_SIZED(rynd_value_info);
    if (count != 1) {
        return cli_fail(
            failure,
            "pictures need a model with one input, but this one has %zu; give it tensors: a "
            "file per input without --task, or for eval an .npz",
            count);
    }
    if (rynd_model_get_input(task->setup.model, 0, &task->input) != RYND_OK) {
        return cli_fail_library(failure);
    }
    cli_input_dims(&task->input, &task->settings->common, task->want);
    const bool known = task->input.rank >= 0;
    if (!cli_picture_layout_of(known ? task->input.rank : 4, known ? task->want : any, 3,
                               &task->layout)) {
        return cli_fail(failure,
                        "input '%s' %s takes no picture: it has no dimension of 1 or 3 channels",
                        task->input.name, cli_shape_of_value(&task->input).text);
    }
    const cli_extent *size = &task->settings->preprocess.size;
    const int64_t height = known ? task->want[task->layout.height] : -1,
                  width = known ? task->want[task->layout.width] : -1;
    const int64_t asked = size->height ? size->height : size->width;
    if (size->width && ((height >= 0 && height != asked) || (width >= 0 && width != size->width))) {
        return cli_fail_usage(
            failure, "--size: input '%s' is %s, and pictures are fitted to it; leave --size out",
            task->input.name, cli_shape_of_value(&task->input).text);
    }
    return task->settings->preprocess.crop.width
               ? cli_fail_usage(failure,
                                "--crop: pictures are fitted to the input; give --fit crop")
               : true;
}

void cli_task_take_preparation(cli_task *task, const rynd_preparation *preparation)
{
    const cli_run_settings *settings = task->settings;
    task->preparation = *preparation;
    cli_preparation_change(&task->preparation, &settings->preprocess, &task->facts);
    if (settings->fit) {
        task->preparation.fit = (rynd_fit)(settings->fit - 1);
    }
}

bool cli_task_open_preparation(cli_task *task, cli_failure *failure)
{
    /* torchvision's transforms for ImageNet: 224 of 256 pixels */
    const rynd_preparation imagenet = {.size = sizeof imagenet,
                                       .fit = task->kind->fit,
                                       .share = 224.0 / 256,
                                       .scale = 1.0 / 255,
                                       .mean = {0.485, 0.456, 0.406},
                                       .deviation = {0.229, 0.224, 0.225}};
    /* channels last come from TensorFlow, whose networks take -1 to 1 */
    const rynd_preparation signed_values = {.size = sizeof signed_values,
                                            .fit = task->kind->fit,
                                            .share = 224.0 / 256,
                                            .scale = 1 / 127.5,
                                            .mean = {1, 1, 1}};
    /* Caffe's: blue first, 0 to 255 without the data set's mean */
    const rynd_preparation caffe = {.size = sizeof caffe,
                                    .fit = task->kind->fit,
                                    .share = 224.0 / 256,
                                    .bgr = 1,
                                    .scale = 1,
                                    .mean = {104, 117, 123}};
    rynd_model_info info = RYND_SIZED(rynd_model_info);
    if (rynd_model_get_info(task->setup.model, &info) != RYND_OK) {
        return cli_fail_library(failure);
    }
    const bool last = task->layout.channel > task->layout.width;
    cli_task_take_preparation(task, strstr(info.producer, "caffe") ? &caffe
                                    : last                         ? &signed_values
                                                                   : &imagenet);
    return true;
}

int64_t cli_task_batch(const cli_task *task)
{
    enum { MOST = 8 }; /* more pictures at once take memory, and save hardly any time */
    const int batch = task->layout.batch;
    const int64_t files = (int64_t)task->file_count, few = files < MOST ? files : MOST;
    return batch < 0                                         ? 1
           : task->input.rank >= 0 && task->want[batch] >= 0 ? task->want[batch]
           : task->settings->common.batch > 0                ? task->settings->common.batch
                                                             : few;
}

/* The side of an input that leaves it open. Reduced sides are whole blocks of 32 pixels, which
 * networks reduce by. */
static int64_t usual_side(const cli_task *task, int64_t side, const cli_image *image)
{
    const int64_t shorter = image->height < image->width ? image->height : image->width,
                  most = task->kind->shorter;
    if (task->kind->usual > 0 || most == 0) {
        return task->kind->usual > 0 ? task->kind->usual : side;
    }
    const double ratio = shorter > most ? (double)most / (double)shorter : 1;
    return ((int64_t)((double)side * ratio) + 31) / 32 * 32;
}

void cli_task_input_size(const cli_task *task, const cli_image *image, int64_t *height,
                         int64_t *width)
{
    const cli_preprocess *facts = &task->facts;
    const cli_extent *size = task->settings->preprocess.size.width
                                 ? &task->settings->preprocess.size
                             : facts->crop.width ? &facts->crop
                                                 : &facts->size;
    const bool known = task->input.rank >= 0;
    *height = known ? task->want[task->layout.height] : -1;
    *width = known ? task->want[task->layout.width] : -1;
    if (*height < 0) {
        *height = size->height  ? size->height
                  : size->width ? size->width
                                : usual_side(task, image->height, image);
    }
    if (*width < 0) {
        *width = size->width ? size->width : usual_side(task, image->width, image);
    }
}

bool cli_task_colours(const cli_task *task, cli_task_picture *picture, cli_failure *failure)
{
    cli_image *image = &picture->image, colours;
    if (!task->kind->writes || image->channels == 3) {
        return true;
    }
    if (!cli_image_make(&colours, image->height, image->width, 3, picture->file, failure)) {
        return false;
    }
    for (int64_t i = 0; i < image->height * image->width; i++) {
        float *to = colours.pixels + 3 * i;
        to[0] = to[1] = to[2] = image->pixels[i];
    }
    cli_image_free(image);
    *image = colours;
    return true;
}

bool cli_task_place(cli_task *task, cli_task_picture *picture, int64_t index, cli_failure *failure)
{
    picture->index = index;
    if (!cli_task_colours(task, picture, failure)) {
        return false;
    }
    const rynd_tensor photo = cli_image_view(&picture->image);
    if (rynd_picture_prepare(task->setup.context, &photo, &task->preparation, &task->tensor.view,
                             index, &picture->frame) != RYND_OK) {
        cli_fail_library(failure);
        return cli_fail_prefix(failure, "'%s': ", picture->file);
    }
    return true;
}
