/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of RandAugment: one row each. */
#include "rand_augment.h"

#include "picture_colours.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An operation by a strength of -1 to 1, or 0 to 1 where it has one side. */
typedef struct change {
    cli_image *image;
    double strength;
    const char *name; /* the picture's file */
    cli_failure *failure;
} change;

/* A pixel's centre (x, y) comes from (m[0] x + m[1] y + m[2], m[3] x + m[4] y + m[5]): the nearest
 * pixel there, or black. */
static bool warp(const change *c, const double m[6])
{
    cli_image *image = c->image, moved;
    if (!cli_image_make(&moved, image->height, image->width, image->channels, c->name,
                        c->failure)) {
        return false;
    }
    const size_t size = (size_t)image->channels * sizeof *image->pixels;
    float *to = moved.pixels;
    for (int64_t y = 0; y < image->height; y++) {
        for (int64_t x = 0; x < image->width; x++, to += image->channels) {
            const double v = (double)y + 0.5, u = (double)x + 0.5;
            const double from_x = floor(m[0] * u + m[1] * v + m[2]);
            const double from_y = floor(m[3] * u + m[4] * v + m[5]);
            if (from_x < 0 || from_y < 0 || from_x >= (double)image->width ||
                from_y >= (double)image->height) {
                memset(to, 0, size);
            } else {
                const int64_t at = (int64_t)from_y * image->width + (int64_t)from_x;
                memcpy(to, image->pixels + at * image->channels, size);
            }
        }
    }
    moved.bits = image->bits;
    moved.dropped_alpha = image->dropped_alpha;
    free(image->pixels);
    *image = moved;
    return true;
}

static bool identity(const change *c)
{
    (void)c;
    return true;
}

static bool shear_x(const change *c)
{
    return warp(c, (double[]){1, 0.3 * c->strength, 0, 0, 1, 0});
}

static bool shear_y(const change *c)
{
    return warp(c, (double[]){1, 0, 0, 0.3 * c->strength, 1, 0});
}

/* Whole pixels: the part of a side is that of 331, the networks' size in AutoAugment. */
static double shift(int64_t side, double strength)
{
    return trunc(150.0 / 331.0 * (double)side * strength);
}

static bool translate_x(const change *c)
{
    return warp(c, (double[]){1, 0, shift(c->image->width, c->strength), 0, 1, 0});
}

static bool translate_y(const change *c)
{
    return warp(c, (double[]){1, 0, 0, 0, 1, shift(c->image->height, c->strength)});
}

/* Up to 30 degrees round the middle. Sine and cosine by their series, whose bits are the same on
 * every machine. */
static bool rotate(const change *c)
{
    const double angle = c->strength * 0.52359877559829887308, a = angle * angle;
    const double sine = angle * (1 - a / 6 * (1 - a / 20 * (1 - a / 42 * (1 - a / 72))));
    const double cosine = 1 - a / 2 * (1 - a / 12 * (1 - a / 30 * (1 - a / 56)));
    const double x = (double)c->image->width / 2, y = (double)c->image->height / 2;
    return warp(c, (double[]){cosine, -sine, x - cosine * x + sine * y, sine, cosine,
                              y - sine * x - cosine * y});
}

static float factor(const change *c)
{
    return (float)(1 + 0.9 * c->strength);
}

static bool brightness(const change *c)
{
    cli_picture_brightness(c->image, factor(c));
    return true;
}

static bool saturation(const change *c)
{
    cli_picture_saturation(c->image, factor(c));
    return true;
}

static bool contrast(const change *c)
{
    cli_picture_contrast(c->image, factor(c));
    return true;
}

static bool sharpness(const change *c)
{
    return cli_picture_sharpness(c->image, factor(c), c->failure);
}

static bool posterize(const change *c)
{
    cli_picture_posterize(c->image, 8 - (int)floor(4 * c->strength + 0.5));
    return true;
}

static bool solarize(const change *c)
{
    cli_picture_solarize(c->image, (float)(255 * (1 - c->strength)));
    return true;
}

static bool autocontrast(const change *c)
{
    cli_picture_autocontrast(c->image);
    return true;
}

static bool equalize(const change *c)
{
    cli_picture_equalize(c->image);
    return true;
}

static const struct {
    bool (*apply)(const change *c);
    bool two_sides; /* the strength may be negative */
} operations[] = {
    {identity, false},     {shear_x, true},   {shear_y, true},    {translate_x, true},
    {translate_y, true},   {rotate, true},    {brightness, true}, {saturation, true},
    {contrast, true},      {sharpness, true}, {posterize, false}, {solarize, false},
    {autocontrast, false}, {equalize, false},
};

bool cli_rand_augment(cli_image *image, float choice, float side, int64_t magnitude,
                      const char *name, cli_failure *failure)
{
    const size_t count = sizeof operations / sizeof *operations;
    const size_t index = (size_t)((double)choice * (double)count);
    const double strength = (double)magnitude / CLI_RAND_AUGMENT_MAGNITUDES;
    const change c = {image, operations[index].two_sides && side < 0.5f ? -strength : strength,
                      name, failure};
    return operations[index].apply(&c);
}
