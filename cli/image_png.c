/* SPDX-License-Identifier: Apache-2.0 */
/* PNG in and out with libpng, which reports errors by longjmp: what is used after a jump lives in a
 * struct, not in registers. */
#include "image.h"

#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

/* Deflate's largest expansion, as in npz.c: a picture that claims more pixels than its file can
 * hold is refused before memory is taken for it. */
#define MAX_EXPANSION 1032

typedef struct work {
    png_structp png;
    png_infop info;
    const unsigned char *in;
    size_t in_left;
    unsigned char *raw;
    png_bytep *rows;
    unsigned char *out;
    size_t out_size, out_room;
    bool classes; /* numbers as the file has them */
    char message[256];
} work;

static void on_error(png_structp png, png_const_charp message)
{
    work *w = png_get_error_ptr(png);
    snprintf(w->message, sizeof w->message, "%s", message);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

static void read_some(png_structp png, png_bytep to, size_t size)
{
    work *w = png_get_io_ptr(png);
    if (size > w->in_left) {
        png_error(png, "the file ends too early");
    }
    memcpy(to, w->in, size);
    w->in += size;
    w->in_left -= size;
}

static void write_some(png_structp png, png_bytep from, size_t size)
{
    work *w = png_get_io_ptr(png);
    if (w->out_size + size > w->out_room) {
        size_t room = 2 * (w->out_size + size);
        unsigned char *grown = realloc(w->out, room);
        if (!grown) {
            png_error(png, "out of memory");
        }
        w->out = grown;
        w->out_room = room;
    }
    memcpy(w->out + w->out_size, from, size);
    w->out_size += size;
}

static void flush_nothing(png_structp png)
{
    (void)png;
}

/* Palettes to colours (but for classes), 1, 2 and 4 bits to 8, and no alpha: what remains is 1 or 3
 * channels of 8 or 16 bits. */
static void set_transforms(work *w, bool *had_alpha)
{
    int type = png_get_color_type(w->png, w->info);
    *had_alpha = (type & PNG_COLOR_MASK_ALPHA) || png_get_valid(w->png, w->info, PNG_INFO_tRNS);
    if (w->classes) {
        png_set_packing(w->png); /* a byte each */
    } else if (type == PNG_COLOR_TYPE_PALETTE) {
        png_set_palette_to_rgb(w->png);
    }
    if (!w->classes && type == PNG_COLOR_TYPE_GRAY && png_get_bit_depth(w->png, w->info) < 8) {
        png_set_expand_gray_1_2_4_to_8(w->png);
    }
    if (*had_alpha) {
        png_set_strip_alpha(w->png);
    }
    png_set_interlace_handling(w->png);
    png_read_update_info(w->png, w->info);
}

static bool decode(work *w, size_t file_size, const char *name, const cli_image_check *check,
                   cli_image *image, cli_failure *failure)
{
    png_read_info(w->png, w->info);
    size_t height = png_get_image_height(w->png, w->info),
           width = png_get_image_width(w->png, w->info);
    image->bits = png_get_bit_depth(w->png, w->info);
    double packed =
        (double)height * (double)width * image->bits * png_get_channels(w->png, w->info) / 8;
    if (packed > (double)file_size * MAX_EXPANSION) {
        return cli_fail(
            failure, "'%s' is damaged: %zu bytes cannot hold a picture of %zux%zu (height x width)",
            name, file_size, height, width);
    }
    bool had_alpha;
    int bits = image->bits;
    set_transforms(w, &had_alpha);
    const float scale = bits == 16 && !w->classes ? 257 : 1;
    size_t stride = png_get_rowbytes(w->png, w->info);
    int channels = png_get_channels(w->png, w->info);
    if (!cli_image_begin(image, (int64_t)height, (int64_t)width, channels, check, name, failure)) {
        return false;
    }
    image->bits = bits;
    image->dropped_alpha = had_alpha;
    w->raw = malloc(height * stride);
    w->rows = malloc(height * sizeof *w->rows);
    if (!w->raw || !w->rows) {
        return cli_fail_memory_for(failure, height * (stride + sizeof *w->rows), "the picture '%s'",
                                   name);
    }
    for (size_t y = 0; y < height; y++) {
        w->rows[y] = w->raw + y * stride;
    }
    png_read_image(w->png, w->rows);
    png_read_end(w->png, NULL);
    size_t count = width * (size_t)channels;
    for (size_t y = 0; y < height; y++) {
        const unsigned char *row = w->rows[y];
        for (size_t x = 0; x < count; x++) {
            image->pixels[y * count + x] =
                bits == 16 ? (float)(row[2 * x] << 8 | row[2 * x + 1]) / scale : (float)row[x];
        }
    }
    return true;
}

static bool read_png(const cli_bytes *bytes, const char *name, bool classes,
                     const cli_image_check *check, cli_image *image, cli_failure *failure)
{
    work w = {.in = bytes->data, .in_left = bytes->size, .classes = classes};
    *image = (cli_image){0};
    w.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &w, on_error, on_warning);
    w.info = w.png ? png_create_info_struct(w.png) : NULL;
    if (!w.info) {
        png_destroy_read_struct(&w.png, NULL, NULL);
        return cli_fail_memory(failure);
    }
    volatile bool done = false;
    if (setjmp(png_jmpbuf(w.png)) == 0) {
        png_set_read_fn(w.png, &w, read_some);
        done = decode(&w, bytes->size, name, check, image, failure);
    } else {
        done = cli_fail(failure, "'%s' is not a readable PNG: %s", name, w.message);
    }
    png_destroy_read_struct(&w.png, &w.info, NULL);
    free(w.raw);
    free(w.rows);
    if (!done) {
        cli_image_free(image);
    }
    return done;
}

bool cli_png_read(const cli_bytes *bytes, const char *name, const cli_image_check *check,
                  cli_image *image, cli_failure *failure)
{
    return read_png(bytes, name, false, check, image, failure);
}

bool cli_png_read_classes(const cli_bytes *bytes, const char *name, cli_image *image,
                          cli_failure *failure)
{
    if (!read_png(bytes, name, true, NULL, image, failure)) {
        return false;
    }
    if (image->channels == 1) {
        return true;
    }
    cli_image_free(image);
    return cli_fail(failure,
                    "'%s' is a picture of colours; a map of classes is grey or has a "
                    "palette",
                    name);
}

static void encode(work *w, const cli_image *image)
{
    size_t count = (size_t)image->width * (size_t)image->channels;
    png_set_write_fn(w->png, w, write_some, flush_nothing);
    png_set_IHDR(w->png, w->info, (png_uint_32)image->width, (png_uint_32)image->height, 8,
                 image->channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(w->png, w->info);
    for (int64_t y = 0; y < image->height; y++) {
        png_write_row(w->png, w->raw + (size_t)y * count);
    }
    png_write_end(w->png, w->info);
}

bool cli_png_write(const cli_image *image, cli_bytes *bytes, cli_failure *failure)
{
    work w = {.raw = cli_image_bytes(image)};
    *bytes = (cli_bytes){0};
    w.png = w.raw ? png_create_write_struct(PNG_LIBPNG_VER_STRING, &w, on_error, on_warning) : NULL;
    w.info = w.png ? png_create_info_struct(w.png) : NULL;
    if (!w.info) {
        png_destroy_write_struct(&w.png, NULL);
        free(w.raw);
        return cli_fail_memory(failure);
    }
    volatile bool done = true;
    if (setjmp(png_jmpbuf(w.png)) == 0) {
        encode(&w, image);
    } else {
        done = cli_fail(failure, "cannot make a PNG: %s", w.message);
    }
    png_destroy_write_struct(&w.png, &w.info);
    free(w.raw);
    if (done) {
        *bytes = (cli_bytes){.data = w.out, .size = w.out_size};
    } else {
        free(w.out);
    }
    return done;
}
