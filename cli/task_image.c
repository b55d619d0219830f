/* SPDX-License-Identifier: Apache-2.0 */
/* --task image: pictures from pictures, in tiles where the input is smaller; colours through a
 * network of one channel by luma and chroma. */
#include "task_kinds.h"
#include "task_prepare.h"
#include "wording.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* How the output lies over the input: output = scale * (input without `margin` on each side). */
typedef struct geometry {
    int64_t input[2], output[2]; /* height, width */
    int64_t scale, margin[2];
    int channels;
} geometry;

static bool open(cli_task *task, cli_failure *failure)
{
    const cli_preprocess *p = &task->settings->preprocess;
    /* values as they are: what a network of pictures takes cannot be seen */
    const rynd_preparation plain = {.size = sizeof plain, .fit = RYND_FIT_STRETCH, .scale = 1};
    if (task->output_count < 1) {
        return cli_fail(failure, "the model has no output");
    }
    if (task->settings->tile >= 0 && p->size.width) {
        return cli_fail_usage(failure, "--tile and --size exclude each other");
    }
    cli_task_take_preparation(task, &plain);
    return true;
}

/* The smallest whole factor that leaves no more output than input, and the rest as margins. */
static bool find_geometry(const cli_task *task, geometry *g, cli_picture_layout *at,
                          cli_failure *failure)
{
    const rynd_tensor *output = &task->outputs[0];
    if (!cli_picture_layout_of(output->rank, output->dim, 1, at)) {
        return cli_fail(failure, "output '%s' %s is not a picture of 1 or 3 channels",
                        task->names[0], cli_shape_of_tensor(output).text);
    }
    *g = (geometry){.input = {task->height, task->width},
                    .output = {output->dim[at->height], output->dim[at->width]},
                    .scale = 1,
                    .channels = at->channels};
    while (g->output[0] > g->input[0] * g->scale || g->output[1] > g->input[1] * g->scale ||
           g->output[0] % g->scale || g->output[1] % g->scale) {
        g->scale++;
        if (g->scale > 16) {
            return cli_fail(
                failure, "output '%s' %s is no whole multiple of the input of %" PRId64 "x%" PRId64,
                task->names[0], cli_shape_of_tensor(output).text, task->height, task->width);
        }
    }
    for (int side = 0; side < 2; side++) {
        g->margin[side] = (g->input[side] - g->output[side] / g->scale) / 2;
    }
    return true;
}

/* The part of a picture that a tile reads; beyond its edges the last pixels are repeated. */
static bool cut(const cli_image *photo, const int64_t from[2], const int64_t size[2],
                cli_image *part, cli_failure *failure)
{
    if (!cli_image_make(part, size[0], size[1], photo->channels, "tile", failure)) {
        return false;
    }
    float *to = part->pixels;
    for (int64_t y = 0; y < size[0]; y++) {
        const int64_t v = from[0] + y, row = v < 0 ? 0 : v < photo->height ? v : photo->height - 1;
        for (int64_t x = 0; x < size[1]; x++, to += photo->channels) {
            const int64_t u = from[1] + x, column = u < 0              ? 0
                                                    : u < photo->width ? u
                                                                       : photo->width - 1;
            memcpy(to, photo->pixels + (row * photo->width + column) * photo->channels,
                   (size_t)photo->channels * sizeof *to);
        }
    }
    return true;
}

/* Weight of a place in a tile: rises over the overlap, so that tiles fade into each other. */
static float weight_of(int64_t place, int64_t size, int64_t overlap)
{
    const int64_t edge = place < size - 1 - place ? place : size - 1 - place;
    return edge >= overlap ? 1 : ((float)edge + 0.5f) / (float)overlap;
}

/* Sums of tiles, and of their weights. */
typedef struct canvas {
    cli_image sum, weight;
} canvas;

static void add_tile(canvas *on, const cli_image *tile, const int64_t at[2], int64_t overlap)
{
    for (int64_t y = 0; y < tile->height; y++) {
        for (int64_t x = 0; x < tile->width; x++) {
            const int64_t v = at[0] + y, u = at[1] + x;
            if (v < 0 || u < 0 || v >= on->sum.height || u >= on->sum.width) {
                continue;
            }
            const float weight =
                weight_of(y, tile->height, overlap) * weight_of(x, tile->width, overlap);
            const int64_t place = v * on->sum.width + u;
            on->weight.pixels[place] += weight;
            for (int c = 0; c < tile->channels; c++) {
                on->sum.pixels[place * tile->channels + c] +=
                    weight * tile->pixels[(y * tile->width + x) * tile->channels + c];
            }
        }
    }
}

/* Runs a part of the photo that begins at `from` and has the input's size. */
static bool run_part(cli_task *task, const cli_image *photo, const int64_t from[2],
                     cli_failure *failure)
{
    const int64_t size[] = {task->height, task->width};
    cli_image part;
    if (!cut(photo, from, size, &part, failure)) {
        return false;
    }
    const rynd_tensor view = cli_image_view(&part);
    const bool done = rynd_picture_prepare(task->setup.context, &view, &task->preparation,
                                           &task->tensor.view, 0, NULL) == RYND_OK
                          ? cli_task_infer(task, failure)
                          : cli_fail_library(failure);
    cli_image_free(&part);
    return done;
}

static bool take_output(const cli_task *task, const cli_picture_layout *at, cli_image *image,
                        cli_failure *failure)
{
    const double scale = task->settings->output_scale != 0 ? task->settings->output_scale
                                                           : 1 / task->preparation.scale;
    return cli_picture_get(&task->outputs[0], at, scale, task->preparation.bgr != 0, image,
                           failure);
}

/* All tiles of one row of tiles. */
static bool run_row(cli_task *task, const cli_image *photo, const geometry *g, int64_t top,
                    const cli_picture_layout *at, canvas *on, cli_failure *failure)
{
    const int64_t overlap = task->settings->tile > 0 ? task->settings->tile : 0,
                  core = g->input[1] - 2 * g->margin[1], step = core - overlap;
    for (int64_t left = -g->margin[1];; left += step) {
        const int64_t last = photo->width + g->margin[1] - g->input[1];
        left = left > last ? (last > -g->margin[1] ? last : -g->margin[1]) : left;
        const int64_t from[] = {top, left},
                      to[] = {(top + g->margin[0]) * g->scale, (left + g->margin[1]) * g->scale};
        cli_image tile;
        if (!run_part(task, photo, from, failure) || !take_output(task, at, &tile, failure)) {
            return false;
        }
        add_tile(on, &tile, to, overlap * g->scale);
        cli_image_free(&tile);
        if (left + g->margin[1] + core >= photo->width) {
            return true;
        }
    }
}

static bool run_rows(cli_task *task, const cli_image *photo, const geometry *g,
                     const cli_picture_layout *at, canvas *on, cli_failure *failure)
{
    const int64_t overlap = task->settings->tile > 0 ? task->settings->tile : 0,
                  core = g->input[0] - 2 * g->margin[0], step = core - overlap;
    if (step < 1 || g->input[1] - 2 * g->margin[1] - overlap < 1) {
        return cli_fail_usage(
            failure, "--tile %" PRId64 ": a tile shows %" PRId64 "x%" PRId64 " pixels; give less",
            overlap, core, g->input[1] - 2 * g->margin[1]);
    }
    for (int64_t top = -g->margin[0];; top += step) {
        const int64_t last = photo->height + g->margin[0] - g->input[0];
        top = top > last ? (last > -g->margin[0] ? last : -g->margin[0]) : top;
        if (!run_row(task, photo, g, top, at, on, failure)) {
            return false;
        }
        if (top + g->margin[0] + core >= photo->height) {
            return true;
        }
    }
}

static void divide(canvas *on)
{
    for (int64_t i = 0; i < on->sum.height * on->sum.width; i++) {
        for (int c = 0; c < on->sum.channels; c++) {
            on->sum.pixels[i * on->sum.channels + c] /= on->weight.pixels[i];
        }
    }
}

/* The photo in tiles, the result as large as the photo times the scale. */
static bool run_tiles(cli_task *task, const cli_image *photo, cli_image *result, int64_t *scale,
                      cli_failure *failure)
{
    const int64_t origin[] = {0, 0};
    cli_picture_layout at;
    geometry g;
    canvas on = {{0}, {0}};
    if (!run_part(task, photo, origin, failure) || !find_geometry(task, &g, &at, failure)) {
        return false;
    }
    *scale = g.scale;
    bool done = cli_image_make(&on.sum, photo->height * g.scale, photo->width * g.scale, g.channels,
                               "result", failure) &&
                cli_image_make(&on.weight, on.sum.height, on.sum.width, 1, "result", failure) &&
                run_rows(task, photo, &g, &at, &on, failure);
    if (done) {
        divide(&on);
        *result = on.sum;
        on.sum = (cli_image){0};
    }
    cli_image_free(&on.sum);
    cli_image_free(&on.weight);
    return done;
}

static bool run_whole(cli_task *task, const cli_image *photo, cli_image *result, int64_t *scale,
                      cli_failure *failure)
{
    const rynd_tensor view = cli_image_view(photo);
    cli_picture_layout at;
    geometry g;
    *scale = 1;
    if (rynd_picture_prepare(task->setup.context, &view, &task->preparation, &task->tensor.view, 0,
                             NULL) != RYND_OK) {
        return cli_fail_library(failure);
    }
    if (!cli_task_infer(task, failure) || !find_geometry(task, &g, &at, failure)) {
        return false;
    }
    *scale = g.scale;
    return take_output(task, &at, result, failure);
}

/* Luma from the network, colour differences from the photo (ITU-R BT.601, as JPEG). */
static bool join_colours(cli_task *task, const cli_image *photo, cli_image *luma,
                         cli_failure *failure)
{
    cli_image colours;
    if (!cli_image_make(&colours, luma->height, luma->width, 3, "result", failure)) {
        return false;
    }
    const rynd_tensor from = cli_image_view(photo), to = cli_image_view(&colours);
    if (rynd_picture_resize(task->setup.context, &from, &to, 1) != RYND_OK) {
        cli_image_free(&colours);
        return cli_fail_library(failure);
    }
    for (int64_t i = 0; i < luma->height * luma->width; i++) {
        float *pixel = colours.pixels + 3 * i;
        const float grey = 0.299f * pixel[0] + 0.587f * pixel[1] + 0.114f * pixel[2];
        for (int c = 0; c < 3; c++) {
            pixel[c] += luma->pixels[i] - grey;
        }
    }
    cli_image_free(luma);
    *luma = colours;
    return true;
}

/* Tiles are wanted, or the size must fit. */
static bool check_size(const cli_task *task, const cli_image *photo, cli_failure *failure)
{
    if (task->settings->tile >= 0 || task->settings->preprocess.size.width || task->settings->fit ||
        (photo->height == task->height && photo->width == task->width)) {
        return true;
    }
    return cli_fail(failure,
                    "the picture is %" PRId64 "x%" PRId64 " (height x width), but input '%s' is "
                    "%s: cut it into tiles with --tile 16, or resize it with --fit stretch",
                    photo->height, photo->width, task->input.name,
                    cli_shape_of_value(&task->input).text);
}

static bool run(cli_task *task, cli_task_picture *picture, cli_failure *failure)
{
    const cli_image *photo = &picture->image;
    cli_image result = {0};
    int64_t height, width, scale = 1;
    cli_task_input_size(task, photo, &height, &width);
    if (!cli_task_plan(task, 1, height, width, failure) || !check_size(task, photo, failure)) {
        return false;
    }
    const bool tiles =
        task->settings->tile >= 0 && (photo->height != height || photo->width != width);
    bool done = (tiles ? run_tiles : run_whole)(task, photo, &result, &scale, failure);
    /* super-resolution on luma; at scale 1 the network draws something else, such as edges */
    if (done && scale > 1 && result.channels == 1 && photo->channels == 3) {
        done = join_colours(task, photo, &result, failure);
    }
    if (done) {
        cli_image_free(&picture->image);
        picture->image = result;
    }
    return done;
}

static bool finish(cli_task *task, cli_task_picture *picture, cli_failure *failure)
{
    const cli_image *image = &picture->image;
    cli_task_say(picture, "%" PRId64 "x%" PRId64, image->height, image->width);
    return cli_task_write(task, picture, "", failure);
}

const cli_task_kind cli_task_image = {
    .name = "image",
    .fit = RYND_FIT_STRETCH,
    .writes = true,
    .open = open,
    .finish = finish,
    .run = run,
};
