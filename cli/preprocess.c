/* SPDX-License-Identifier: Apache-2.0 */
/* Prepares pictures, by options and presets. */
#include "preprocess.h"

#include "resample.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the order of the option's choices. Means and deviations are of red, green, blue. */
static const cli_preprocess presets[] = {
    /* torchvision's reference transforms for ImageNet classification. */
    {.size = {0, 256},
     .crop = {224, 224},
     .scale = 1.0 / 255,
     .mean = {3, {0.485, 0.456, 0.406}},
     .std = {3, {0.229, 0.224, 0.225}}},
};

static cli_channels in_order(cli_channels channels, int order)
{
    if (order == CLI_ORDER_BGR && channels.count == 3) {
        double red = channels.value[0];
        channels.value[0] = channels.value[2];
        channels.value[2] = red;
    }
    return channels;
}

static void spread(cli_channels *channels, double otherwise)
{
    if (channels->count == 0) {
        channels->value[0] = otherwise;
    }
    if (channels->count < 3) {
        channels->value[1] = channels->value[2] = channels->value[0];
    }
}

bool cli_preprocess_is_empty(const cli_preprocess *p)
{
    return !p->preset && !p->size.width && !p->crop.width && !p->order && p->scale == 0 &&
           !p->mean.count && !p->std.count;
}

bool cli_preprocess_has_values(const cli_preprocess *p)
{
    return p->preset || p->scale != 0 || p->mean.count || p->std.count;
}

void cli_preprocess_settle(cli_preprocess *p)
{
    if (p->preset) {
        const cli_preprocess *from = &presets[p->preset - 1];
        p->size = p->size.width ? p->size : from->size;
        p->crop = p->crop.width ? p->crop : from->crop;
        p->scale = p->scale != 0 ? p->scale : from->scale;
        p->mean = p->mean.count ? p->mean : in_order(from->mean, p->order);
        p->std = p->std.count ? p->std : in_order(from->std, p->order);
    }
    p->scale = p->scale != 0 ? p->scale : 1;
    spread(&p->mean, 0);
    spread(&p->std, 1);
    if (p->crop.width && !p->crop.height) {
        p->crop.height = p->crop.width;
    }
}

static void add_did(char *did, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void add_did(char *did, size_t size, const char *format, ...)
{
    size_t used = strlen(did);
    if (used && used + 2 < size) {
        used += (size_t)snprintf(did + used, size - used, ", ");
    }
    va_list args;
    va_start(args, format);
    vsnprintf(did + used, size - used, format, args);
    va_end(args);
}

/* torchvision's Resize(N): the longer side is cut to a whole number, not rounded. */
static cli_extent shorter_side(const cli_image *image, int64_t side)
{
    if (image->height < image->width) {
        return (cli_extent){side, side * image->width / image->height};
    }
    return (cli_extent){side * image->height / image->width, side};
}

/* Grey to three equal channels, or colours to the luma of ITU-R BT.601, as JPEG has it. */
static bool change_channels(cli_image *image, int channels, cli_failure *failure)
{
    size_t count = (size_t)image->height * (size_t)image->width;
    float *pixels = calloc(count * (size_t)channels, sizeof *pixels);
    if (!pixels) {
        return cli_fail_memory_for(failure, count * (size_t)channels * sizeof *pixels,
                                   "a picture's %d channels", channels);
    }
    for (size_t i = 0; i < count; i++) {
        const float *from = image->pixels + i * (size_t)image->channels;
        if (channels == 1) {
            pixels[i] = 0.299f * from[0] + 0.587f * from[1] + 0.114f * from[2];
        } else {
            pixels[3 * i] = pixels[3 * i + 1] = pixels[3 * i + 2] = from[0];
        }
    }
    free(image->pixels);
    image->pixels = pixels;
    image->channels = channels;
    return true;
}

static void change_values(const cli_preprocess *p, cli_image *image)
{
    size_t channels = (size_t)image->channels,
           count = (size_t)image->height * (size_t)image->width * channels;
    for (size_t i = 0; i + channels <= count; i += channels) {
        float *pixel = image->pixels + i;
        if (p->order == CLI_ORDER_BGR && channels == 3) {
            float red = pixel[0];
            pixel[0] = pixel[2];
            pixel[2] = red;
        }
        for (size_t c = 0; c < channels; c++) {
            pixel[c] = (float)(((double)pixel[c] * p->scale - p->mean.value[c]) / p->std.value[c]);
        }
    }
}

bool cli_preprocess_place(const cli_preprocess *p, cli_image *image, const char *file, char *did,
                          size_t did_size, cli_failure *failure)
{
    if (p->size.width) {
        cli_extent to = p->size.height ? p->size : shorter_side(image, p->size.width);
        if (to.height > 65535 || to.width > 65535) {
            return cli_fail(failure,
                            "'%s': resized, the picture of %" PRId64 "x%" PRId64
                            " would be %" PRId64 "x%" PRId64 "; give --size HxW",
                            file, image->height, image->width, to.height, to.width);
        }
        if (to.height != image->height || to.width != image->width) {
            add_did(did, did_size, "resized to %" PRId64 "x%" PRId64, to.height, to.width);
        }
        if (!cli_image_resize(image, to.height, to.width, failure)) {
            return false;
        }
    }
    if (p->crop.width) {
        if (p->crop.height > image->height || p->crop.width > image->width) {
            return cli_fail(failure,
                            "'%s': --crop %" PRId64 "x%" PRId64
                            " is larger than the picture, %" PRId64 "x%" PRId64
                            "; enlarge it with --size",
                            file, p->crop.height, p->crop.width, image->height, image->width);
        }
        if (p->crop.height != image->height || p->crop.width != image->width) {
            add_did(did, did_size, "cropped to %" PRId64 "x%" PRId64, p->crop.height,
                    p->crop.width);
        }
        cli_image_crop(image, p->crop.height, p->crop.width);
    }
    return true;
}

bool cli_preprocess_values(const cli_preprocess *p, cli_image *image, int channels, char *did,
                           size_t did_size, cli_failure *failure)
{
    if (channels != image->channels) {
        add_did(did, did_size, channels == 1 ? "made grey" : "grey in three channels");
        if (!change_channels(image, channels, failure)) {
            return false;
        }
    }
    change_values(p, image);
    return true;
}

bool cli_preprocess_apply(const cli_preprocess *p, cli_image *image, int channels, const char *file,
                          char *did, size_t did_size, cli_failure *failure)
{
    return cli_preprocess_place(p, image, file, did, did_size, failure) &&
           cli_preprocess_values(p, image, channels, did, did_size, failure);
}
