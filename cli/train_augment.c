/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of pictures, flips, colours and erased parts at random. */
#include "train_augment.h"

#include "picture_colours.h"
#include "rand_augment.h"
#include "resample.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Indices of a sample's random numbers. They are fixed, so that one option does not change the
 * numbers of another. Each try of a random area takes four. */
enum {
    FLIP,
    BRIGHTNESS,
    CONTRAST,
    SATURATION,
    PLACE_Y,
    PLACE_X,
    TURN,
    TRIES = 8,
    TRY = 4,
    MOST_TRIES = 10,
    CHANGES = TRIES + TRY * MOST_TRIES, /* two for each of CLI_MOST_CHANGES */
    ERASE = CHANGES + 2 * CLI_MOST_CHANGES
};
/* From ERASE on: whether, and what. */
enum { ERASE_AREA = 1, ERASE_SIDES, ERASE_Y, ERASE_X, ERASE_NUMBERS };
enum { NUMBERS = 64 };
_Static_assert(ERASE + ERASE_NUMBERS <= NUMBERS, "each number has an index of its own");

static void draw_numbers(const cli_draw *draw, float numbers[NUMBERS])
{
    const rynd_random random = {draw->seed, CLI_STREAM_AUGMENT, draw->epoch};
    rynd_random_uniform(&random, (uint64_t)draw->sample * NUMBERS, NUMBERS, numbers);
}

/* 0 to count-1. */
static int64_t place(float number, int64_t count)
{
    return (int64_t)((double)number * (double)count);
}

static void cut(cli_image *image, int64_t top, int64_t left, int64_t height, int64_t width)
{
    const size_t row = (size_t)width * (size_t)image->channels;
    for (int64_t y = 0; y < height; y++) {
        memmove(image->pixels + (size_t)y * row,
                image->pixels + ((top + y) * image->width + left) * image->channels,
                row * sizeof *image->pixels);
    }
    image->height = height;
    image->width = width;
}

/* Where a part begins. */
typedef struct part_place {
    int64_t top, left;
} part_place;

/* torchvision's RandomResizedCrop, but for the ratio of the sides, which is 1 + u/3 or its inverse:
 * no function of the C library's is needed that other machines have other bits of. */
static part_place cut_part(cli_image *image, double least, const float numbers[NUMBERS])
{
    const double area = (double)image->height * (double)image->width;
    for (int turn = 0; turn < MOST_TRIES; turn++) {
        const float *n = numbers + TRIES + turn * TRY;
        const double part = area * (least + (1 - least) * (double)n[0]);
        const double side = (double)n[1] * 2 - 1, longer = 1 + fabs(side) / 3;
        const double ratio = side < 0 ? 1 / longer : longer;
        const int64_t width = (int64_t)floor(sqrt(part * ratio) + 0.5);
        const int64_t height = (int64_t)floor(sqrt(part / ratio) + 0.5);
        if (width >= 1 && height >= 1 && width <= image->width && height <= image->height) {
            const part_place at = {place(n[2], image->height - height + 1),
                                   place(n[3], image->width - width + 1)};
            cut(image, at.top, at.left, height, width);
            return at;
        }
    }
    /* A very long picture: its middle, of the longest sides that the ratio allows. */
    const int64_t shorter = image->height < image->width ? image->height : image->width;
    const int64_t most = shorter * 4 / 3 > 0 ? shorter * 4 / 3 : 1;
    const int64_t height = image->height < most ? image->height : most,
                  width = image->width < most ? image->width : most;
    const part_place at = {(image->height - height) / 2, (image->width - width) / 2};
    cli_image_crop(image, height, width);
    return at;
}

static bool pad(cli_image *image, int64_t by, const char *name, cli_failure *failure)
{
    cli_image padded;
    if (by == 0) {
        return true;
    }
    if (!cli_image_make(&padded, image->height + 2 * by, image->width + 2 * by, image->channels,
                        name, failure)) {
        return false;
    }
    const size_t row = (size_t)image->width * (size_t)image->channels;
    for (int64_t i = 0; image->beside != 0 && i < padded.height * padded.width * padded.channels;
         i++) {
        padded.pixels[i] = image->beside;
    }
    for (int64_t y = 0; y < image->height; y++) {
        memcpy(padded.pixels + ((y + by) * padded.width + by) * padded.channels,
               image->pixels + (size_t)y * row, row * sizeof *padded.pixels);
    }
    padded.bits = image->bits;
    padded.classes = image->classes;
    padded.beside = image->beside;
    free(image->pixels);
    *image = padded;
    return true;
}

static bool fail_small(const cli_image *image, cli_extent to, const char *name,
                       cli_failure *failure)
{
    return cli_fail(failure,
                    "'%s' is a picture of %" PRId64 "x%" PRId64
                    " (height x width): no part of %" PRId64 "x%" PRId64
                    " can be cut out of it; enlarge it with --size",
                    name, image->height, image->width, to.height, to.width);
}

static void flip(cli_image *image)
{
    const int channels = image->channels;
    for (int64_t y = 0; y < image->height; y++) {
        float *row = image->pixels + y * image->width * channels;
        for (int64_t a = 0, b = image->width - 1; a < b; a++, b--) {
            for (int c = 0; c < channels; c++) {
                const float saved = row[a * channels + c];
                row[a * channels + c] = row[b * channels + c];
                row[b * channels + c] = saved;
            }
        }
    }
}

/* The places that a quarter turn to the left moves round: each to the one before it. */
static void move_round(const cli_image *image, int64_t y, int64_t x)
{
    const int channels = image->channels;
    const int64_t n = image->width, last = n - 1;
    float *const at[4] = {image->pixels + (y * n + x) * channels,
                          image->pixels + (x * n + last - y) * channels,
                          image->pixels + ((last - y) * n + last - x) * channels,
                          image->pixels + ((last - x) * n + y) * channels};
    for (int c = 0; c < channels; c++) {
        const float first = at[0][c];
        for (int i = 0; i < 3; i++) {
            at[i][c] = at[i + 1][c];
        }
        at[3][c] = first;
    }
}

/* A square, by none to three quarters. */
static void turn(cli_image *image, float number)
{
    const int64_t n = image->width;
    for (int64_t quarters = place(number, 4); quarters > 0; quarters--) {
        for (int64_t y = 0; y < n / 2; y++) {
            for (int64_t x = 0; x < (n + 1) / 2; x++) {
                move_round(image, y, x);
            }
        }
    }
}

/* Random factors of 1 - jitter to 1 + jitter. */
static void change_colours(cli_image *image, double jitter, const float numbers[NUMBERS])
{
    float factor[3];
    for (int i = 0; i < 3; i++) {
        factor[i] = (float)(1 + jitter * (2 * (double)numbers[BRIGHTNESS + i] - 1));
    }
    cli_picture_brightness(image, factor[0]);
    cli_picture_contrast(image, factor[1]);
    cli_picture_saturation(image, factor[2]);
}

static void fill_with_mean(cli_image *image, int64_t top, int64_t left, cli_extent part)
{
    const int channels = image->channels;
    const int64_t count = image->height * image->width;
    for (int c = 0; c < channels; c++) {
        double sum = 0;
        for (int64_t i = 0; i < count; i++) {
            sum += (double)image->pixels[i * channels + c];
        }
        for (int64_t y = top; y < top + part.height; y++) {
            for (int64_t x = left; x < left + part.width; x++) {
                image->pixels[(y * image->width + x) * channels + c] = (float)(sum / (double)count);
            }
        }
    }
}

/* Zhong, Zheng, Kang, Li, Yang, "Random Erasing Data Augmentation", 2017: 2% to 33% of the area,
 * with sides of ratio 3/10 to 10/3, in the picture's mean colour. */
static void erase(cli_image *image, const float numbers[ERASE_NUMBERS])
{
    const double area = (double)image->height * (double)image->width;
    const double part = area * (0.02 + 0.31 * (double)numbers[ERASE_AREA]);
    const double side = (double)numbers[ERASE_SIDES] * 2 - 1, longer = 1 + fabs(side) * 7 / 3;
    const double ratio = side < 0 ? 1 / longer : longer;
    const int64_t height = (int64_t)sqrt(part / ratio), width = (int64_t)sqrt(part * ratio);
    const cli_extent to = {height < image->height ? height : image->height,
                           width < image->width ? width : image->width};
    fill_with_mean(image, place(numbers[ERASE_Y], image->height - to.height + 1),
                   place(numbers[ERASE_X], image->width - to.width + 1), to);
}

/* Changes after the picture has its place and size. */
static bool change_at_random(const cli_augment *augment, const float numbers[NUMBERS],
                             cli_image *image, const char *name, cli_failure *failure)
{
    if (augment->jitter > 0) {
        change_colours(image, augment->jitter, numbers);
    }
    for (int64_t i = 0; i < augment->changes; i++) {
        const float *n = numbers + CHANGES + 2 * i;
        if (!cli_rand_augment(image, n[0], n[1], augment->magnitude, name, failure)) {
            return false;
        }
    }
    if ((double)numbers[ERASE] < augment->erase) {
        erase(image, numbers + ERASE);
    }
    return true;
}

bool cli_augment_picture(const cli_augment *augment, const cli_draw *draw, cli_extent to,
                         cli_image *image, const char *name, cli_failure *failure)
{
    float numbers[NUMBERS];
    draw_numbers(draw, numbers);
    if (augment->area > 0) {
        (void)cut_part(image, augment->area, numbers);
        if (!cli_image_resize(image, to.height, to.width, failure)) {
            return false;
        }
    } else if (augment->pad >= 0) {
        if (!pad(image, augment->pad, name, failure)) {
            return false;
        }
        if (image->height < to.height || image->width < to.width) {
            return fail_small(image, to, name, failure);
        }
        cut(image, place(numbers[PLACE_Y], image->height - to.height + 1),
            place(numbers[PLACE_X], image->width - to.width + 1), to.height, to.width);
    }
    if (augment->flip && numbers[FLIP] < 0.5f) {
        flip(image);
    }
    if (augment->turn) {
        turn(image, numbers[TURN]);
    }
    return change_at_random(augment, numbers, image, name, failure);
}

bool cli_augment_mask(const cli_augment *augment, const cli_draw *draw, cli_extent to,
                      cli_image *mask, const char *name, cli_failure *failure)
{
    cli_augment place = *augment;
    place.jitter = place.erase = 0;
    place.changes = 0;
    return cli_augment_picture(&place, draw, to, mask, name, failure);
}

/* Keeps the boxes of a part of the picture. */
static void cut_boxes(cli_sample *sample, part_place at)
{
    const double wide = (double)sample->picture.width, tall = (double)sample->picture.height;
    size_t kept = 0;
    for (size_t i = 0; i < sample->object_count; i++) {
        rynd_object o = sample->objects[i];
        const double area = o.width * o.height;
        const double right = fmin(o.left + o.width - (double)at.left, wide),
                     bottom = fmin(o.top + o.height - (double)at.top, tall);
        o.left = fmax(o.left - (double)at.left, 0);
        o.top = fmax(o.top - (double)at.top, 0);
        o.width = right - o.left;
        o.height = bottom - o.top;
        if (o.width > 0 && o.height > 0 && o.width * o.height >= area / 4) {
            sample->objects[kept++] = o;
        }
    }
    sample->object_count = kept;
}

void cli_augment_boxes(const cli_augment *augment, const cli_draw *draw, cli_sample *sample)
{
    cli_image *image = &sample->picture;
    float numbers[NUMBERS];
    draw_numbers(draw, numbers);
    if (augment->area > 0) {
        cut_boxes(sample, cut_part(image, augment->area, numbers));
    }
    if (augment->flip && numbers[FLIP] < 0.5f) {
        flip(image);
        for (size_t i = 0; i < sample->object_count; i++) {
            rynd_object *o = &sample->objects[i];
            o->left = (double)image->width - o->left - o->width;
        }
    }
    if (augment->jitter > 0) {
        change_colours(image, augment->jitter, numbers);
    }
    if ((double)numbers[ERASE] < augment->erase) {
        erase(image, numbers + ERASE);
    }
}

bool cli_augment_pair(const cli_augment *augment, const cli_draw *draw, cli_extent to,
                      cli_sample *sample, const char *name, cli_failure *failure)
{
    cli_image *low = &sample->picture, *high = &sample->target;
    float numbers[NUMBERS] = {0};
    const int64_t factor = high->height / low->height;
    if (to.height > low->height || to.width > low->width) {
        return fail_small(low, to, name, failure);
    }
    int64_t top = (low->height - to.height) / 2, left = (low->width - to.width) / 2;
    if (draw) {
        draw_numbers(draw, numbers);
        top = place(numbers[PLACE_Y], low->height - to.height + 1);
        left = place(numbers[PLACE_X], low->width - to.width + 1);
    }
    cut(low, top, left, to.height, to.width);
    cut(high, top * factor, left * factor, to.height * factor, to.width * factor);
    if (draw && augment->flip && numbers[FLIP] < 0.5f) {
        flip(low);
        flip(high);
    }
    if (draw && augment->turn) {
        turn(low, numbers[TURN]);
        turn(high, numbers[TURN]);
    }
    return true;
}
