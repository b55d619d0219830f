/* SPDX-License-Identifier: Apache-2.0 */
/* Windows bitmaps in: uncompressed, with 24 or 32 bits a pixel, or 8 bits and a palette. */
#include "image.h"

#include <string.h>

enum { FILE_HEAD = 14, LEAST_HEAD = 40 };

typedef struct bitmap {
    const unsigned char *data;
    size_t size, pixels, palette, colours, row;
    int64_t height, width;
    unsigned bits;
    bool downwards; /* the first row is the top */
} bitmap;

static uint32_t number_at(const unsigned char *data, size_t at, size_t bytes)
{
    uint32_t value = 0;
    for (size_t i = 0; i < bytes; i++) {
        value |= (uint32_t)data[at + i] << 8 * i;
    }
    return value;
}

static bool take_head(const cli_bytes *bytes, const char *name, bitmap *b, cli_failure *failure)
{
    enum { UNCOMPRESSED = 0, BY_MASKS = 3 };
    const unsigned char *data = bytes->data;
    if (bytes->size < FILE_HEAD + LEAST_HEAD) {
        return cli_fail(failure, "'%s' is not a readable BMP: the file ends too early", name);
    }
    const uint32_t head = number_at(data, 14, 4), method = number_at(data, 30, 4),
                   used = number_at(data, 46, 4);
    const int32_t height = (int32_t)number_at(data, 22, 4);
    *b = (bitmap){.data = data,
                  .size = bytes->size,
                  .pixels = number_at(data, 10, 4),
                  .palette = (size_t)FILE_HEAD + head,
                  .colours = used > 0 && used <= 256 ? used : 256,
                  .height = height < 0 ? -(int64_t)height : height,
                  .width = (int32_t)number_at(data, 18, 4),
                  .bits = number_at(data, 28, 2),
                  .downwards = height < 0};
    if ((b->bits != 8 && b->bits != 24 && b->bits != 32) ||
        (method != UNCOMPRESSED && !(method == BY_MASKS && b->bits == 32)) || head < LEAST_HEAD) {
        return cli_fail(failure,
                        "'%s' is a BMP of %u bits with compression %u; rynd reads uncompressed "
                        "ones of 8, 24 or 32 bits",
                        name, b->bits, method);
    }
    if (b->height < 1 || b->width < 1) {
        return cli_fail(failure, "'%s' is a BMP without a picture; the file is damaged", name);
    }
    b->row = (((size_t)b->width * b->bits + 31) / 32) * 4;
    const bool fits =
        b->pixels <= b->size && (size_t)b->height <= (b->size - b->pixels) / b->row &&
        (b->bits != 8 || (b->palette <= b->size && 4 * b->colours <= b->size - b->palette));
    return fits ? true
                : cli_fail(failure, "'%s' is not a readable BMP: the file ends too early", name);
}

bool cli_bmp_read(const cli_bytes *bytes, const char *name, const cli_image_check *check,
                  cli_image *image, cli_failure *failure)
{
    bitmap b = {.data = NULL};
    *image = (cli_image){0};
    if (!take_head(bytes, name, &b, failure) ||
        !cli_image_begin(image, b.height, b.width, 3, check, name, failure)) {
        return false;
    }
    const size_t step = b.bits / 8;
    float *to = image->pixels;
    for (int64_t y = 0; y < b.height; y++) {
        const unsigned char *from =
            b.data + b.pixels + b.row * (size_t)(b.downwards ? y : b.height - 1 - y);
        for (int64_t x = 0; x < b.width; x++, from += step, to += 3) {
            const unsigned char *colour =
                step > 1 ? from : b.data + b.palette + 4 * (*from < b.colours ? (size_t)*from : 0);
            for (int c = 0; c < 3; c++) {
                to[c] = colour[2 - c];
            }
        }
    }
    image->bits = 8;
    return true;
}
