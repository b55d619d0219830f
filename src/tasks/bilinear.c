/* SPDX-License-Identifier: Apache-2.0 */
/* Separable resampling with a triangle filter, in floats: first along the width, then along the
 * height. */
#include "tasks/bilinear.h"

#include <math.h>
#include <string.h>

/* For each position of the result: where its source begins, and a row of `taps` weights whose sum
 * is 1. */
typedef struct filter {
    int64_t *first;
    float *weights;
    int64_t taps;
} filter;

static rynd_status filter_make(filter *f, int64_t from, int64_t to, bool antialias, ry_arena *arena)
{
    const double ratio = (double)from / (double)to, radius = antialias && ratio > 1 ? ratio : 1;
    f->taps = (int64_t)ceil(radius) * 2 + 1;
    f->taps = f->taps < from ? f->taps : from;
    f->first = RY_TAKE(arena, int64_t, to);
    f->weights = RY_TAKE(arena, float, to * f->taps);
    if (!f->first || !f->weights) {
        return RYND_ERROR_OUT_OF_MEMORY;
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
    return RYND_OK;
}

static void resample_rows(const ry_pixels *from, const filter *f, int64_t width, float *to)
{
    const int64_t channels = from->channels;
    for (int64_t y = 0; y < from->height; y++) {
        const float *row = from->data + y * from->width * channels;
        for (int64_t x = 0; x < width; x++, to += channels) {
            const float *pixel = row + f->first[x] * channels, *weights = f->weights + x * f->taps;
            for (int64_t c = 0; c < channels; c++) {
                float sum = 0;
                for (int64_t t = 0; t < f->taps; t++) {
                    sum += weights[t] * pixel[t * channels + c];
                }
                to[c] = sum;
            }
        }
    }
}

static void resample_columns(const float *from, const filter *f, int64_t row, int64_t height,
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

rynd_status ry_pixels_make(ry_pixels *pixels, ry_arena *arena, ry_error *error)
{
    size_t count = 0;
    if (ry_mul_size((size_t)pixels->height, (size_t)pixels->width, &count) &&
        ry_mul_size(count, (size_t)pixels->channels, &count)) {
        pixels->data = RY_TAKE(arena, float, count);
    }
    return pixels->data ? RYND_OK : ry_fail_memory(error);
}

rynd_status ry_resample(const ry_pixels *from, const ry_pixels *to, bool antialias, ry_arena *arena,
                        ry_error *error)
{
    filter horizontal, vertical;
    const int64_t row = to->width * to->channels;
    if (from->height == to->height && from->width == to->width) {
        memcpy(to->data, from->data, (size_t)(to->height * row) * sizeof *to->data);
        return RYND_OK;
    }
    ry_pixels wide = {from->height, to->width, to->channels, NULL};
    RY_TRY(ry_pixels_make(&wide, arena, error));
    if (filter_make(&horizontal, from->width, to->width, antialias, arena) != RYND_OK ||
        filter_make(&vertical, from->height, to->height, antialias, arena) != RYND_OK) {
        return ry_fail_memory(error);
    }
    resample_rows(from, &horizontal, to->width, wide.data);
    resample_columns(wide.data, &vertical, row, to->height, to->data);
    return RYND_OK;
}
