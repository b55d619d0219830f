/* SPDX-License-Identifier: Apache-2.0 */
/* Bottom-up merge sort of positions. */
#include "kernels/ref/ref_sort.h"

/* Whether position b must come before position a. */
static bool before(const ry_ref_row *row, int64_t b, int64_t a)
{
    int order = ry_ref_compare(row->dtype, row->data, row->offset + b * row->step,
                               row->offset + a * row->step);
    return row->descending ? order > 0 : order < 0;
}

static void merge(const ry_ref_row *row, const int64_t *from, int64_t *to, int64_t begin,
                  int64_t middle, int64_t end)
{
    int64_t i = begin, j = middle;
    for (int64_t k = begin; k < end; k++) {
        bool right = i == middle || (j < end && before(row, from[j], from[i]));
        to[k] = right ? from[j++] : from[i++];
    }
}

void ry_ref_sort(const ry_ref_row *row, int64_t *positions, int64_t *spare, int64_t count)
{
    int64_t *from = positions, *to = spare;
    for (int64_t width = 1; width < count; width *= 2) {
        for (int64_t begin = 0; begin < count; begin += 2 * width) {
            int64_t middle = begin + width < count ? begin + width : count;
            int64_t end = middle + width < count ? middle + width : count;
            merge(row, from, to, begin, middle, end);
        }
        int64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != positions && count > 0) {
        memcpy(positions, from, (size_t)count * sizeof *positions);
    }
}
