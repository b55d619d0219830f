/* SPDX-License-Identifier: Apache-2.0 */
/* Each coding of a box as one function. */
#include "tasks/codings.h"

#include <math.h>

double ry_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static void around(double x, double y, double width, double height, double box[4])
{
    box[0] = x - width / 2;
    box[1] = y - height / 2;
    box[2] = x + width / 2;
    box[3] = y + height / 2;
}

void ry_coding_corners(const ry_head_cell *cell, const double raw[4], double box[4])
{
    (void)cell;
    for (int i = 0; i < 4; i++) {
        box[i] = raw[i];
    }
}

void ry_coding_rows(const ry_head_cell *cell, const double raw[4], double box[4])
{
    (void)cell;
    for (int i = 0; i < 4; i++) {
        box[i] = raw[i ^ 1];
    }
}

void ry_coding_centre(const ry_head_cell *cell, const double raw[4], double box[4])
{
    (void)cell;
    around(raw[0], raw[1], raw[2], raw[3], box);
}

void ry_coding_grid(const ry_head_cell *cell, const double raw[4], double box[4])
{
    around((cell->x + raw[0]) * cell->stride, (cell->y + raw[1]) * cell->stride,
           exp(raw[2]) * cell->stride, exp(raw[3]) * cell->stride, box);
}

/* Redmon and Farhadi, "YOLOv3: An incremental improvement", 2018; spread: Bochkovskiy et al.,
 * "YOLOv4", 2020. */
void ry_coding_anchor(const ry_head_cell *cell, const double raw[4], double box[4])
{
    const double spread = cell->spread, less = (spread - 1) / 2;
    around((ry_sigmoid(raw[0]) * spread - less + cell->x) * cell->stride,
           (ry_sigmoid(raw[1]) * spread - less + cell->y) * cell->stride, exp(raw[2]) * cell->width,
           exp(raw[3]) * cell->height, box);
}

void ry_coding_square(const ry_head_cell *cell, const double raw[4], double box[4])
{
    const double wide = 2 * ry_sigmoid(raw[2]), tall = 2 * ry_sigmoid(raw[3]);
    around((2 * ry_sigmoid(raw[0]) - 0.5 + cell->x) * cell->stride,
           (2 * ry_sigmoid(raw[1]) - 0.5 + cell->y) * cell->stride, wide * wide * cell->width,
           tall * tall * cell->height, box);
}

void ry_coding_distance(const ry_head_cell *cell, const double raw[4], double box[4])
{
    const double x = cell->x * cell->stride, y = cell->y * cell->stride;
    box[0] = x - raw[0] * cell->stride;
    box[1] = y - raw[1] * cell->stride;
    box[2] = x + raw[2] * cell->stride;
    box[3] = y + raw[3] * cell->stride;
}

/* Liu et al., "SSD: Single shot multibox detector", ECCV 2016. */
void ry_coding_prior(const ry_head_cell *cell, const double raw[4], double box[4])
{
    around(cell->x * cell->stride + 0.1 * raw[0] * cell->width,
           cell->y * cell->stride + 0.1 * raw[1] * cell->height, cell->width * exp(0.2 * raw[2]),
           cell->height * exp(0.2 * raw[3]), box);
}

void ry_coding_tanh(const ry_head_cell *cell, const double raw[4], double box[4])
{
    around((tanh(raw[0]) + cell->x) * cell->stride, (tanh(raw[1]) + cell->y) * cell->stride,
           ry_sigmoid(raw[2]) * cell->input_width, ry_sigmoid(raw[3]) * cell->input_height, box);
}
