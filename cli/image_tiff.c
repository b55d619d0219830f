/* SPDX-License-Identifier: Apache-2.0 */
/* TIFF in with libtiff, if rynd was built with it: the first picture of the file, in 8 bits. */
#include "image.h"

#if RYND_TIFF

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

/* Deflate's largest expansion, for pixels of one bit. */
#define MAX_PIXELS(bytes) (8 * 1032.0 * (double)(bytes))

typedef struct work {
    const cli_bytes *bytes;
    toff_t at;
    char message[256];
} work;

static tmsize_t read_some(thandle_t handle, void *to, tmsize_t size)
{
    work *w = handle;
    const toff_t left = w->at < w->bytes->size ? w->bytes->size - w->at : 0;
    const size_t taken = (toff_t)size < left ? (size_t)size : (size_t)left;
    memcpy(to, (const char *)w->bytes->data + (left ? w->at : 0), taken);
    w->at += taken;
    return (tmsize_t)taken;
}

static tmsize_t write_nothing(thandle_t handle, void *from, tmsize_t size)
{
    (void)handle, (void)from, (void)size;
    return 0;
}

static toff_t seek(thandle_t handle, toff_t offset, int whence)
{
    work *w = handle;
    w->at = offset + (whence == SEEK_CUR ? w->at : whence == SEEK_END ? w->bytes->size : 0);
    return w->at;
}

static int close_nothing(thandle_t handle)
{
    (void)handle;
    return 0;
}

static toff_t size_of(thandle_t handle)
{
    return ((const work *)handle)->bytes->size;
}

static int on_error(TIFF *tiff, void *user, const char *module, const char *format, va_list args)
    __attribute__((format(printf, 4, 0)));
static int on_warning(TIFF *tiff, void *user, const char *module, const char *format, va_list args)
    __attribute__((format(printf, 4, 0)));

/* Keeps the first message. */
static int on_error(TIFF *tiff, void *user, const char *module, const char *format, va_list args)
{
    (void)tiff, (void)module;
    work *w = user;
    if (!*w->message) {
        vsnprintf(w->message, sizeof w->message, format, args);
    }
    return 1;
}

/* A file that ends within a field is an error here; libtiff warns and goes on without the field. */
static int on_warning(TIFF *tiff, void *user, const char *module, const char *format, va_list args)
{
    return strstr(format, "IO error") ? on_error(tiff, user, module, format, args) : 1;
}

static TIFF *open_tiff(work *w)
{
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (!options) {
        return NULL;
    }
    TIFFOpenOptionsSetErrorHandlerExtR(options, on_error, w);
    TIFFOpenOptionsSetWarningHandlerExtR(options, on_warning, w);
    TIFF *tiff = TIFFClientOpenExt("picture", "rm", w, read_some, write_nothing, seek,
                                   close_nothing, size_of, NULL, NULL, options);
    TIFFOpenOptionsFree(options);
    return tiff;
}

static bool decode(TIFF *tiff, const work *w, const char *name, const cli_image_check *check,
                   cli_image *image, cli_failure *failure)
{
    uint32_t height = 0, width = 0;
    uint16_t bits = 8, photometric = PHOTOMETRIC_RGB;
    if (!TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height) ||
        !TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width)) {
        return cli_fail(failure, "'%s' is a TIFF without a picture; the file is damaged", name);
    }
    TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &bits);
    TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &photometric);
    if ((double)width * (double)height > MAX_PIXELS(w->bytes->size)) {
        return cli_fail(
            failure, "'%s' is damaged: %zu bytes cannot hold a picture of %ux%u (height x width)",
            name, w->bytes->size, height, width);
    }
    const bool grey =
        photometric == PHOTOMETRIC_MINISBLACK || photometric == PHOTOMETRIC_MINISWHITE;
    if (!cli_image_begin(image, height, width, grey ? 1 : 3, check, name, failure)) {
        return false;
    }
    const size_t count = (size_t)height * width;
    uint32_t *raw = malloc(count * sizeof *raw);
    bool done = raw ? true
                    : cli_fail_memory_for(failure, count * sizeof *raw, "the picture '%s' of %ux%u",
                                          name, height, width);
    /* libtiff goes on after some errors, such as a palette that ends too early */
    if (done && (!TIFFReadRGBAImageOriented(tiff, width, height, raw, ORIENTATION_TOPLEFT, 1) ||
                 *w->message)) {
        done = cli_fail(failure, "'%s' is not a readable TIFF: %s", name, w->message);
    }
    for (size_t i = 0; done && i < count; i++) {
        for (int c = 0; c < image->channels; c++) {
            image->pixels[i * (size_t)image->channels + (size_t)c] = (float)(raw[i] >> 8 * c & 255);
        }
    }
    image->bits = bits;
    free(raw);
    return done;
}

bool cli_tiff_read(const cli_bytes *bytes, const char *name, const cli_image_check *check,
                   cli_image *image, cli_failure *failure)
{
    work w = {.bytes = bytes};
    *image = (cli_image){0};
    TIFF *tiff = open_tiff(&w);
    if (!tiff) {
        return cli_fail(failure, "'%s' is not a readable TIFF: %s", name, w.message);
    }
    const bool done = decode(tiff, &w, name, check, image, failure);
    TIFFClose(tiff);
    if (!done) {
        cli_image_free(image);
    }
    return done;
}

#else

bool cli_tiff_read(const cli_bytes *bytes, const char *name, const cli_image_check *check,
                   cli_image *image, cli_failure *failure)
{
    (void)bytes, (void)check;
    *image = (cli_image){0};
    return cli_fail(failure, "'%s' is a TIFF, and rynd was built without libtiff 4.5", name);
}

#endif
