/* SPDX-License-Identifier: Apache-2.0 */
/* Separable resampling with a triangle filter that is widened by the reduction (the "bilinear with
 * antialias" of Pillow and PyTorch), in floats, first along the width, then along the height; and
 * the crop of the middle. */
#include "resample.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* For each position of the result: where its source begins, and a row of `taps` weights whose sum
 * is 1. */
typedef struct filter {
    int64_t *first;
    float *weights;
    int64_t taps;
} filter;

static void filter_free(filter *f)
{
    free(f->first);
    free(f->weights);
}

static bool filter_make(filter *f, int64_t from, int64_t to)
{
    double ratio = (double)from / (double)to;
    double radius = ratio > 1 ? ratio : 1;
    f->taps = (int64_t)ceil(radius) * 2 + 1;
    f->taps = f->taps < from ? f->taps : from;
    f->first = malloc((size_t)to * sizeof *f->first);
    f->weights = malloc((size_t)to * (size_t)f->taps * sizeof *f->weights);
    if (!f->first || !f->weights) {
        return false;
    }
    for (int64_t i = 0; i < to; i++) {
        double centre = ((double)i + 0.5) * ratio;
        int64_t first = (int64_t)floor(centre - radius + 0.5);
        first = first < 0 ? 0 : first > from - f->taps ? from - f->taps : first;
        float *weights = f->weights + i * f->taps;
        double sum = 0;
        for (int64_t t = 0; t < f->taps; t++) {
            double distance = fabs((double)(first + t) + 0.5 - centre) / radius;
            weights[t] = distance < 1 ? (float)(1 - distance) : 0.0f;
            sum += (double)weights[t];
        }
        for (int64_t t = 0; t < f->taps; t++) {
            weights[t] = (float)((double)weights[t] / sum);
        }
        f->first[i] = first;
    }
    return true;
}

static void resize_rows(const cli_image *image, const filter *f, int64_t width, float *to)
{
    int channels = image->channels;
    for (int64_t y = 0; y < image->height; y++) {
        const float *row = image->pixels + y * image->width * channels;
        for (int64_t x = 0; x < width; x++, to += channels) {
            const float *from = row + f->first[x] * channels, *weights = f->weights + x * f->taps;
            for (int c = 0; c < channels; c++) {
                float sum = 0;
                for (int64_t t = 0; t < f->taps; t++) {
                    sum += weights[t] * from[t * channels + c];
                }
                to[c] = sum;
            }
        }
    }
}

static void resize_columns(const float *from, const filter *f, int64_t row, int64_t height,
                           float *to)
{
    for (int64_t y = 0; y < height; y++, to += row) {
        const float *weights = f->weights + y * f->taps;
        memset(to, 0, (size_t)row * sizeof *to);
        for (int64_t t = 0; t < f->taps; t++) {
            const float *line = from + (f->first[y] + t) * row;
            for (int64_t x = 0; x < row; x++) {
                to[x] += weights[t] * line[x];
            }
        }
    }
}

bool cli_image_resize(cli_image *image, int64_t height, int64_t width, cli_failure *failure)
{
    if (height == image->height && width == image->width) {
        return true;
    }
    filter horizontal = {0}, vertical = {0};
    size_t row = (size_t)width * (size_t)image->channels;
    float *wide = malloc((size_t)image->height * row * sizeof *wide);
    float *pixels = malloc((size_t)height * row * sizeof *pixels);
    bool done = wide && pixels && filter_make(&horizontal, image->width, width) &&
                filter_make(&vertical, image->height, height);
    if (done) {
        resize_rows(image, &horizontal, width, wide);
        resize_columns(wide, &vertical, (int64_t)row, height, pixels);
        free(image->pixels);
        image->pixels = pixels;
        image->height = height;
        image->width = width;
    } else {
        free(pixels);
        cli_fail_memory_for(failure,
                            ((size_t)image->height + (size_t)height) * row * sizeof *pixels,
                            "a picture resized to %" PRId64 "x%" PRId64, height, width);
    }
    free(wide);
    filter_free(&horizontal);
    filter_free(&vertical);
    return done;
}

void cli_image_crop(cli_image *image, int64_t height, int64_t width)
{
    /* Half a pixel too much goes to the even side, as torchvision's CenterCrop rounds. */
    int64_t top = lrint((double)(image->height - height) / 2),
            left = lrint((double)(image->width - width) / 2);
    size_t row = (size_t)width * (size_t)image->channels;
    for (int64_t y = 0; y < height; y++) {
        memmove(image->pixels + (size_t)y * row,
                image->pixels + ((top + y) * image->width + left) * image->channels,
                row * sizeof *image->pixels);
    }
    image->height = height;
    image->width = width;
}
