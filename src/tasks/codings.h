/* SPDX-License-Identifier: Apache-2.0 */
/* Codings of a box: from 4 raw numbers to corners. */
#ifndef RY_TASKS_CODINGS_H
#define RY_TASKS_CODINGS_H

#include "tasks/head.h"

ry_head_coding ry_coding_corners; /* left, top, right, bottom */
ry_head_coding ry_coding_rows;    /* top, left, bottom, right */
ry_head_coding ry_coding_centre;  /* centre x, y, width, height */
ry_head_coding ry_coding_grid;    /* offsets from the cell, logarithms of sizes in strides: YOLOX */
ry_head_coding ry_coding_anchor;  /* sigmoid offsets, logarithms of sizes in anchors: YOLO v2 to
                                    * v4 */
ry_head_coding ry_coding_square;  /* squared sigmoids: YOLO v5 and v7 */
ry_head_coding ry_coding_distance; /* distances of the sides in strides: FCOS, NanoDet */
ry_head_coding ry_coding_prior;    /* offsets and sizes of a prior with variances 0.1, 0.2: SSD */
ry_head_coding ry_coding_tanh;     /* FastestDet */

double ry_sigmoid(double x);

#endif
