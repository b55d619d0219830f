/* SPDX-License-Identifier: Apache-2.0 */
/* Non-maximum suppression, and boxes in the photo's pixels. */
#include "tasks/detect.h"

#include <math.h>
#include <stdlib.h>

/* Best score first; equal ones by class and place, so that the order does not depend on qsort. */
static int by_score(const void *a, const void *b)
{
    const rynd_box *x = a, *y = b;
    const float left[] = {y->score, x->left, x->top, x->right, x->bottom},
                right[] = {x->score, y->left, y->top, y->right, y->bottom};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        if (left[i] != right[i]) {
            return left[i] < right[i] ? -1 : 1;
        }
    }
    return (x->label > y->label) - (x->label < y->label);
}

static double area(double width, double height)
{
    return width > 0 && height > 0 ? width * height : 0;
}

static double overlap_of(const rynd_box *a, const rynd_box *b)
{
    const double common =
        area(fmin((double)a->right, (double)b->right) - fmax((double)a->left, (double)b->left),
             fmin((double)a->bottom, (double)b->bottom) - fmax((double)a->top, (double)b->top));
    const double both =
        area((double)a->right - (double)a->left, (double)a->bottom - (double)a->top) +
        area((double)b->right - (double)b->left, (double)b->bottom - (double)b->top) - common;
    return both > 0 ? common / both : 0;
}

void ry_suppress(ry_boxes *boxes, double overlap, size_t most)
{
    size_t kept = 0;
    if (boxes->count > 1) {
        qsort(boxes->items, boxes->count, sizeof *boxes->items, by_score);
    }
    for (size_t i = 0; i < boxes->count && kept < most; i++) {
        const rynd_box *box = &boxes->items[i];
        bool stays = true;
        for (size_t k = 0; stays && overlap > 0 && k < kept; k++) {
            stays =
                boxes->items[k].label != box->label || overlap_of(&boxes->items[k], box) <= overlap;
        }
        if (stays) {
            boxes->items[kept++] = *box;
        }
    }
    boxes->count = kept;
}

static float clip(double value, int64_t side)
{
    return (float)(value > 0 ? (value < (double)side ? value : (double)side) : 0);
}

void ry_boxes_to_photo(ry_boxes *boxes, const rynd_frame *frame)
{
    for (size_t i = 0; i < boxes->count; i++) {
        rynd_box *box = &boxes->items[i];
        float *const xs[] = {&box->left, &box->right}, *const ys[] = {&box->top, &box->bottom};
        for (int side = 0; side < 2; side++) {
            *xs[side] = clip(((double)*xs[side] - frame->offset_x) / frame->scale_x, frame->width);
            *ys[side] = clip(((double)*ys[side] - frame->offset_y) / frame->scale_y, frame->height);
        }
        for (int64_t k = 0; k < box->keypoint_count; k++) {
            float *point = box->keypoints[k];
            point[0] = (float)(((double)point[0] - frame->offset_x) / frame->scale_x);
            point[1] = (float)(((double)point[1] - frame->offset_y) / frame->scale_y);
        }
    }
}
