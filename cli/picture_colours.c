/* SPDX-License-Identifier: Apache-2.0 */
/* Brightness, contrast, saturation, sharpness, and changes of levels. */
#include "picture_colours.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = 256 };

static float clamp(float value)
{
    return value < 0 ? 0 : value > 255 ? 255 : value;
}

static float grey_of(const float *pixel, int channels)
{
    return channels == 1 ? pixel[0] : 0.299f * pixel[0] + 0.587f * pixel[1] + 0.114f * pixel[2];
}

static size_t pixel_count(const cli_image *image)
{
    return (size_t)(image->height * image->width);
}

static size_t value_count(const cli_image *image)
{
    return pixel_count(image) * (size_t)image->channels;
}

void cli_picture_brightness(cli_image *image, float factor)
{
    for (size_t i = 0; i < value_count(image); i++) {
        image->pixels[i] = clamp(image->pixels[i] * factor);
    }
}

void cli_picture_contrast(cli_image *image, float factor)
{
    const size_t count = pixel_count(image);
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)grey_of(image->pixels + i * (size_t)image->channels, image->channels);
    }
    const float mean = (float)(sum / (double)count);
    for (size_t i = 0; i < value_count(image); i++) {
        image->pixels[i] = clamp(mean + factor * (image->pixels[i] - mean));
    }
}

void cli_picture_saturation(cli_image *image, float factor)
{
    const int channels = image->channels;
    for (size_t i = 0; i < pixel_count(image); i++) {
        float *pixel = image->pixels + i * (size_t)channels;
        const float grey = grey_of(pixel, channels);
        for (int c = 0; c < channels; c++) {
            pixel[c] = clamp(grey + factor * (pixel[c] - grey));
        }
    }
}

/* The weights 1 round a 5, over 13. */
static float smooth(const float *at, int64_t row, int channels)
{
    float sum = 4 * at[0];
    for (int y = -1; y <= 1; y++) {
        for (int x = -1; x <= 1; x++) {
            sum += at[y * row + x * channels];
        }
    }
    return sum / 13;
}

bool cli_picture_sharpness(cli_image *image, float factor, cli_failure *failure)
{
    const int64_t row = image->width * image->channels;
    const size_t size = value_count(image) * sizeof *image->pixels;
    float *before = malloc(size);
    if (!before) {
        return cli_fail_memory(failure);
    }
    memcpy(before, image->pixels, size);
    for (int64_t y = 1; y + 1 < image->height; y++) {
        for (int64_t i = y * row + image->channels; i < (y + 1) * row - image->channels; i++) {
            const float blurred = smooth(before + i, row, image->channels);
            image->pixels[i] = clamp(blurred + factor * (before[i] - blurred));
        }
    }
    free(before);
    return true;
}

void cli_picture_posterize(cli_image *image, int bits)
{
    const float step = (float)(1 << (8 - bits));
    for (size_t i = 0; i < value_count(image); i++) {
        image->pixels[i] = floorf(image->pixels[i] / step) * step;
    }
}

void cli_picture_solarize(cli_image *image, float threshold)
{
    for (size_t i = 0; i < value_count(image); i++) {
        image->pixels[i] =
            image->pixels[i] >= threshold ? 255 - image->pixels[i] : image->pixels[i];
    }
}

void cli_picture_autocontrast(cli_image *image)
{
    const size_t step = (size_t)image->channels;
    for (size_t c = 0; c < step; c++) {
        float least = 255, most = 0;
        for (size_t i = c; i < value_count(image); i += step) {
            least = fminf(least, image->pixels[i]);
            most = fmaxf(most, image->pixels[i]);
        }
        for (size_t i = c; most > least && i < value_count(image); i += step) {
            image->pixels[i] = clamp((image->pixels[i] - least) * (255 / (most - least)));
        }
    }
}

static int level_of(float value)
{
    return (int)(clamp(value) + 0.5f);
}

/* Where each level goes; false: the channel has one level alone, and stays. */
static bool equal_levels(const cli_image *image, size_t channel, float to[LEVELS])
{
    size_t counts[LEVELS] = {0}, all = 0, last = 0;
    for (size_t i = channel; i < value_count(image); i += (size_t)image->channels) {
        counts[level_of(image->pixels[i])]++;
        all++;
    }
    for (int level = 0; level < LEVELS; level++) {
        last = counts[level] ? counts[level] : last;
    }
    const size_t step = (all - last) / (LEVELS - 1);
    size_t sum = step / 2;
    for (int level = 0; step && level < LEVELS; level++) {
        to[level] = clamp((float)(sum / step));
        sum += counts[level];
    }
    return step > 0;
}

void cli_picture_equalize(cli_image *image)
{
    float to[LEVELS];
    for (size_t c = 0; c < (size_t)image->channels; c++) {
        if (!equal_levels(image, c, to)) {
            continue;
        }
        for (size_t i = c; i < value_count(image); i += (size_t)image->channels) {
            image->pixels[i] = to[level_of(image->pixels[i])];
        }
    }
}
