/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures: decoded to floats from 0 to 255, channels last. */
#ifndef CLI_IMAGE_H
#define CLI_IMAGE_H

#include "bytes.h"
#include "failure.h"

#include <rynd/rynd.h>
#include <stdint.h>

typedef struct cli_image {
    int64_t height, width;
    int channels;  /* 1 grey or 3 red, green, blue */
    float *pixels; /* [height][width][channels]; free() it */
    bool dropped_alpha;
    int bits; /* per channel, in the file */
} cli_image;

/* Asked with a picture's size once its header is read, before memory is taken for its pixels:
 * false, with the reason, when it cannot be used. */
typedef struct cli_image_check {
    void *user;
    bool (*fits)(void *user, const cli_image *head, cli_failure *failure); /* pixels: NULL */
} cli_image_check;

void cli_image_free(cli_image *image);
/* The pixels as a tensor [height, width, channels] of f32. */
rynd_tensor cli_image_view(const cli_image *image);
/* Sets the sizes and takes memory for the pixels. `name`: of the file, for messages. */
bool cli_image_make(cli_image *image, int64_t height, int64_t width, int channels, const char *name,
                    cli_failure *failure);
/* The same for a file's picture: asks the check (NULL: none) first, and refuses what is larger than
 * any camera's. */
bool cli_image_begin(cli_image *image, int64_t height, int64_t width, int channels,
                     const cli_image_check *check, const char *name, cli_failure *failure);

/* Every kind of PNG: palettes become colours, 16 bits keep their precision (value/257),
 * transparency is dropped. */
bool cli_png_read(const cli_bytes *bytes, const char *name, const cli_image_check *check,
                  cli_image *image, cli_failure *failure);
/* A map of classes: pixels are the numbers of a grey PNG of 1 to 16 bits, or indices of a palette. */
bool cli_png_read_classes(const cli_bytes *bytes, const char *name, cli_image *image,
                          cli_failure *failure);
/* 8 bits; pixels are rounded and clamped to 0..255, NaN becomes 0. The caller frees bytes->data. */
bool cli_png_write(const cli_image *image, cli_bytes *bytes, cli_failure *failure);
/* Grey and colour JPEG. A damaged or truncated one is refused. */
bool cli_jpeg_read(const cli_bytes *bytes, const char *name, const cli_image_check *check,
                   cli_image *image, cli_failure *failure);
/* An uncompressed bitmap of Windows; a WebP or TIFF, in 8 bits. Builds without libwebp or libtiff
 * refuse those. */
bool cli_bmp_read(const cli_bytes *bytes, const char *name, const cli_image_check *check,
                  cli_image *image, cli_failure *failure);
bool cli_webp_read(const cli_bytes *bytes, const char *name, const cli_image_check *check,
                   cli_image *image, cli_failure *failure);
bool cli_tiff_read(const cli_bytes *bytes, const char *name, const cli_image_check *check,
                   cli_image *image, cli_failure *failure);
/* 8 bits, quality 95, colours at full size. The caller frees bytes->data. */
bool cli_jpeg_write(const cli_image *image, cli_bytes *bytes, cli_failure *failure);
/* Pixels as bytes, rounded and clamped; NaN becomes 0. free() them; NULL: out of memory. */
unsigned char *cli_image_bytes(const cli_image *image);

#endif
