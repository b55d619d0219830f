/* SPDX-License-Identifier: Apache-2.0 */
/* Lines, letters and colours as wide as the picture asks for. */
#include "tasks/draw.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LETTER_WIDTH = 5, LETTER_HEIGHT = 7, FIRST_LETTER = 32, LAST_LETTER = 126 };

static const uint8_t letters[LAST_LETTER - FIRST_LETTER + 1][LETTER_HEIGHT] = {
#include "tasks/letters.inc"
};

/* A picture, the width of a line, and pixels of a letter's dot. */
typedef struct canvas {
    const ry_tensor *picture;
    int64_t height, width, line, dot;
} canvas;

typedef struct rectangle {
    int64_t left, top, right, bottom; /* right and bottom are outside */
} rectangle;

/* Hues a golden angle apart differ for any number of classes; the lightness changes, too. */
uint32_t ry_class_colour(int64_t label)
{
    const double hue = fmod(fabs((double)label) * 0.618033988749895 + 0.02, 1) * 6;
    const double light = label % 3 == 0 ? 1 : label % 3 == 1 ? 0.78 : 0.9;
    uint32_t colour = 0;
    for (int c = 0; c < 3; c++) {
        const double turned = fmod(hue + (c == 0 ? 0 : c == 1 ? 4 : 2), 6);
        const double part = fmin(fmax(fabs(turned - 3) - 1, 0), 1);
        colour = colour << 8 | (uint32_t)lrint(255 * light * (0.12 + 0.88 * part));
    }
    return colour;
}

static void blend(const canvas *on, int64_t y, int64_t x, uint32_t colour, double opacity)
{
    const ry_tensor *picture = on->picture;
    if (y < 0 || x < 0 || y >= on->height || x >= on->width) {
        return;
    }
    for (int c = 0; c < 3; c++) {
        const int64_t at = y * picture->stride[0] + x * picture->stride[1] + c * picture->stride[2];
        const double before = ry_get_f64((ry_dtype)picture->dtype, picture->data, at),
                     paint = colour >> (16 - 8 * c) & 255;
        ry_set_f64((ry_dtype)picture->dtype, picture->data, at,
                   rint(before + (paint - before) * opacity));
    }
}

static int64_t within(int64_t value, int64_t most)
{
    return value < 0 ? 0 : value > most ? most : value;
}

static void fill(const canvas *on, rectangle r, uint32_t colour)
{
    for (int64_t y = within(r.top, on->height); y < within(r.bottom, on->height); y++) {
        for (int64_t x = within(r.left, on->width); x < within(r.right, on->width); x++) {
            blend(on, y, x, colour, 1);
        }
    }
}

static void outline(const canvas *on, rectangle r, uint32_t colour)
{
    const int64_t line = on->line;
    fill(on, (rectangle){r.left, r.top, r.right, r.top + line}, colour);
    fill(on, (rectangle){r.left, r.bottom - line, r.right, r.bottom}, colour);
    fill(on, (rectangle){r.left, r.top, r.left + line, r.bottom}, colour);
    fill(on, (rectangle){r.right - line, r.top, r.right, r.bottom}, colour);
}

static void letter(const canvas *on, int64_t left, int64_t top, unsigned char code, uint32_t colour)
{
    const uint8_t *dots = letters[code < FIRST_LETTER || code > LAST_LETTER ? '?' - FIRST_LETTER
                                                                            : code - FIRST_LETTER];
    for (int64_t y = 0; y < LETTER_HEIGHT; y++) {
        for (int64_t x = 0; x < LETTER_WIDTH; x++) {
            if (dots[y] >> (LETTER_WIDTH - 1 - x) & 1) {
                const int64_t from = left + x * on->dot, at = top + y * on->dot;
                fill(on, (rectangle){from, at, from + on->dot, at + on->dot}, colour);
            }
        }
    }
}

/* Is a byte the first of a letter in UTF-8? */
static bool begins_letter(unsigned char byte)
{
    return (byte & 0xc0) != 0x80;
}

/* A line of text on a ground of the colour, above the box, or inside where there is no room. */
static void caption(const canvas *on, const rectangle *box, const char *text, uint32_t colour)
{
    const int64_t step = (LETTER_WIDTH + 1) * on->dot, tall = (LETTER_HEIGHT + 4) * on->dot;
    const double light =
        0.299 * (colour >> 16 & 255) + 0.587 * (colour >> 8 & 255) + 0.114 * (colour & 255);
    int64_t wide = on->dot;
    for (const char *c = text; *c; c++) {
        wide += begins_letter((unsigned char)*c) ? step : 0;
    }
    const int64_t top = box->top >= tall ? box->top - tall : box->top,
                  room = on->width - wide - 2 * on->dot,
                  left = box->left < room ? box->left
                         : room > 0       ? room
                                          : 0;
    fill(on, (rectangle){left, top, left + wide + on->dot, top + tall}, colour);
    int64_t x = left + on->dot;
    for (const char *c = text; *c; c++) {
        if (begins_letter((unsigned char)*c)) {
            letter(on, x, top + 2 * on->dot, (unsigned char)*c, light > 128 ? 0 : 0xffffff);
            x += step;
        }
    }
}

/* Far outside is as good as just outside; NaN is 0. */
static int64_t pixel_of(float place, int64_t side)
{
    return place > -(float)side    ? (place < 2 * (float)side ? lrintf(place) : 2 * side)
           : place <= -(float)side ? -side
                                   : 0;
}

static void keypoints(const canvas *on, const rynd_box *box, uint32_t colour)
{
    for (int64_t i = 0; i < box->keypoint_count && i < RYND_MAX_KEYPOINTS; i++) {
        const int64_t x = pixel_of(box->keypoints[i][0], on->width),
                      y = pixel_of(box->keypoints[i][1], on->height), r = on->line + 1;
        fill(on, (rectangle){x - r, y - r, x + r, y + r}, 0xffffff);
        fill(on, (rectangle){x - r + 1, y - r + 1, x + r - 1, y + r - 1}, colour);
    }
}

void ry_draw_boxes(const ry_tensor *picture, const rynd_box *boxes, size_t count,
                   const char *const *labels, size_t label_count)
{
    const int64_t side = picture->dim[0] > picture->dim[1] ? picture->dim[0] : picture->dim[1],
                  few = side < 300 ? 1 : 2;
    const canvas on = {.picture = picture,
                       .height = picture->dim[0],
                       .width = picture->dim[1],
                       .line = side / 320 > few ? side / 320 : few,
                       .dot = side / 500 > 1 ? side / 500 : 1};
    for (size_t i = count; i-- > 0;) { /* the best on top */
        const rynd_box *box = &boxes[i];
        const rectangle where = {pixel_of(box->left, on.width), pixel_of(box->top, on.height),
                                 pixel_of(box->right, on.width), pixel_of(box->bottom, on.height)};
        const uint32_t colour = ry_class_colour(box->label);
        char text[160], number[24];
        snprintf(number, sizeof number, "%" PRId64, box->label);
        const bool named = labels && box->label >= 0 && (size_t)box->label < label_count;
        snprintf(text, sizeof text, "%.120s %.2f", named ? labels[box->label] : number,
                 (double)box->score);
        outline(&on, where, colour);
        keypoints(&on, box, colour);
        caption(&on, &where, text, colour);
    }
}

void ry_draw_classes(const ry_tensor *picture, const ry_tensor *classes, double opacity)
{
    const canvas on = {.picture = picture, .height = picture->dim[0], .width = picture->dim[1]};
    for (int64_t y = 0; y < on.height; y++) {
        for (int64_t x = 0; x < on.width; x++) {
            const int64_t label = ry_get_i64((ry_dtype)classes->dtype, classes->data,
                                             y * classes->stride[0] + x * classes->stride[1]);
            if (label != 0) {
                blend(&on, y, x, ry_class_colour(label), opacity);
            }
        }
    }
}
