/* SPDX-License-Identifier: Apache-2.0 */
/* Resizes pictures by the library; crops the middle. */
#include "resample.h"

#include <inttypes.h>
#include <math.h>
#include <rynd/tasks.h>
#include <stdlib.h>
#include <string.h>

static void take_nearest(const cli_image *from, cli_image *to)
{
    const size_t channels = (size_t)to->channels;
    for (int64_t y = 0; y < to->height; y++) {
        const int64_t row = (2 * y + 1) * from->height / (2 * to->height);
        for (int64_t x = 0; x < to->width; x++) {
            const int64_t column = (2 * x + 1) * from->width / (2 * to->width);
            memcpy(to->pixels + (size_t)(y * to->width + x) * channels,
                   from->pixels + (size_t)(row * from->width + column) * channels,
                   channels * sizeof *to->pixels);
        }
    }
}

bool cli_image_resize(cli_image *image, int64_t height, int64_t width, cli_failure *failure)
{
    if (height == image->height && width == image->width) {
        return true;
    }
    cli_image resized;
    if (!cli_image_make(&resized, height, width, image->channels, "resized", failure)) {
        return cli_fail_prefix(failure, "a picture of %" PRId64 "x%" PRId64 ": ", image->height,
                               image->width);
    }
    const rynd_tensor from = cli_image_view(image), to = cli_image_view(&resized);
    if (image->classes) {
        take_nearest(image, &resized);
    } else if (rynd_picture_resize(NULL, &from, &to, 1) != RYND_OK) {
        cli_image_free(&resized);
        return cli_fail_library(failure);
    }
    free(image->pixels);
    image->pixels = resized.pixels;
    image->height = height;
    image->width = width;
    return true;
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
