/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the orientation from the Exif segment of a JPEG (Exif 2.32, 4.5 and 4.6), and turns
 * pictures. */
#include "exif.h"

#include <string.h>

/* A TIFF structure within a segment. */
typedef struct tiff {
    const unsigned char *data;
    size_t size;
    bool big; /* most significant byte first */
} tiff;

static unsigned number_at(const tiff *t, size_t at, size_t bytes)
{
    unsigned value = 0;
    for (size_t i = 0; i < bytes && at + i < t->size; i++) {
        value |= (unsigned)t->data[at + i] << 8 * (t->big ? bytes - 1 - i : i);
    }
    return value;
}

static int orientation_in(const tiff *t)
{
    enum { ORIENTATION = 0x0112, ENTRY = 12 };
    const size_t directory = number_at(t, 4, 4);
    if (t->size < 8 || directory > t->size - 2) {
        return 1;
    }
    const unsigned entries = number_at(t, directory, 2);
    for (unsigned i = 0; i < entries; i++) {
        const size_t at = directory + 2 + (size_t)ENTRY * i;
        if (at + ENTRY > t->size) {
            break;
        }
        if (number_at(t, at, 2) == ORIENTATION) {
            const unsigned value = number_at(t, at + 8, 2);
            return value >= 1 && value <= 8 ? (int)value : 1;
        }
    }
    return 1;
}

int cli_exif_orientation(const cli_bytes *jpeg)
{
    enum { EXIF = 0xe1, SCAN = 0xda, HEAD = 10 }; /* marker, length, "Exif\0\0" */
    const unsigned char *data = jpeg->data;
    for (size_t at = 2; at + HEAD <= jpeg->size && data[at] == 0xff && data[at + 1] != SCAN;) {
        const size_t length = (size_t)data[at + 2] << 8 | data[at + 3];
        if (length < 2 || length > jpeg->size - at - 2) {
            break;
        }
        if (data[at + 1] == EXIF && length >= 16 && memcmp(data + at + 4, "Exif\0", 6) == 0) {
            const unsigned char *order = data + at + HEAD;
            return orientation_in(&(tiff){order, length - 8, order[0] == 'M'});
        }
        at += 2 + length;
    }
    return 1;
}

bool cli_orientation_swaps(int orientation)
{
    return orientation >= 5;
}

void cli_image_turn(cli_image *image, const unsigned char *raw, int orientation)
{
    const bool swaps = cli_orientation_swaps(orientation);
    const int64_t height = swaps ? image->width : image->height, /* in the file */
        width = swaps ? image->height : image->width;
    const bool from_right =
                   orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8,
               from_below =
                   orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    float *to = image->pixels;
    for (int64_t y = 0; y < image->height; y++) {
        for (int64_t x = 0; x < image->width; x++, to += image->channels) {
            const int64_t v = swaps ? x : y, u = swaps ? y : x;
            const unsigned char *from = raw + ((from_below ? height - 1 - v : v) * width +
                                               (from_right ? width - 1 - u : u)) *
                                                  image->channels;
            for (int c = 0; c < image->channels; c++) {
                to[c] = from[c];
            }
        }
    }
}
