/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of reading between the positions of images, by what every network has: rows of channels
 * are gathered, and scattered with addition.
 *
 * Images are rows, [images * positions, channels], or, with few channels, planes, [images, channels,
 * positions]; `points` of each image are read. A tap of a point is a tap of each of `rank` axes: an
 * index and a weight. */
#ifndef RY_TRAIN_SAMPLE_ROWS_H
#define RY_TRAIN_SAMPLE_ROWS_H

#include "graph/emitter.h"

/* Dims and taps that are unrolled: 4 taps a dim are 64 corners. */
enum { RY_SAMPLE_DIMS = 3, RY_SAMPLE_TAPS = 4 };

/* The taps of one axis, [images, points] or broadcasting with it. */
typedef struct ry_sample_axis {
    int64_t size;
    int taps;
    ry_value_id index[RY_SAMPLE_TAPS];  /* i64, inside */
    ry_value_id weight[RY_SAMPLE_TAPS]; /* 0: outside */
    ry_value_id slope[RY_SAMPLE_TAPS];  /* derivative of the weight by the position */
} ry_sample_axis;

typedef struct ry_sample {
    int rank;
    int64_t images, points, channels;
    ry_sample_axis axis[RY_SAMPLE_DIMS];
    ry_value_id first; /* the first row of a point's image: i64, broadcasting; planes: 0 */
    bool planes;
} ry_sample;

/* Fills an axis from a program's outputs: indices, weights, slopes. */
void ry_sample_take_axis(ry_emitter *e, ry_sample_axis *axis, const char *text,
                         const ry_expr_parameter *parameters, int parameter_count, int inputs,
                         const ry_value_id *in);

/* [images, channels, positions] as rows, and back. */
ry_value_id ry_sample_rows(ry_emitter *e, ry_value_id x, int64_t images, int64_t channels);
ry_value_id ry_sample_planes(ry_emitter *e, ry_value_id rows, int64_t images, int64_t channels,
                             const ry_shape *shape);
/* first of images that follow each other: [images, 1]. */
ry_value_id ry_sample_first_rows(ry_emitter *e, const ry_sample *s);

/* Fewer channels are planes: rows of them would be shorter than a cache line. */
enum { RY_SAMPLE_ROW = 16 };

/* Adds to `into` (rows or planes of the images) what each tap has of dy (those of the points). */
ry_value_id ry_sample_scatter(ry_emitter *e, const ry_sample *s, ry_value_id into, ry_value_id dy);

/* By each point's position along each axis, and by a factor of each point (value; NULL: not
 * wanted): images * points numbers each. x: rows or planes of the images. */
void ry_sample_slopes(ry_emitter *e, const ry_sample *s, ry_value_id x, ry_value_id dy,
                      ry_value_id *position, ry_value_id *value);

#endif
