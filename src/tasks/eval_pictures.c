/* SPDX-License-Identifier: Apache-2.0 */
/* Compares pictures with target pictures: PSNR and SSIM. */
#include "tasks/evaluation.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { WINDOW = 11, MEANS = 5 }; /* means of x, y, xx, yy and xy */

static double pixel(const ry_tensor *picture, int64_t y, int64_t x, int64_t c)
{
    return ry_get_f64((ry_dtype)picture->dtype, picture->data,
                      y * picture->stride[0] + x * picture->stride[1] + c * picture->stride[2]);
}

/* Weights of a Gaussian of deviation 1.5, with the sum 1. */
static void fill_window(double window[WINDOW])
{
    const double deviation = 1.5;
    double sum = 0;
    for (int i = 0; i < WINDOW; i++) {
        const double d = (i - WINDOW / 2) / deviation;
        window[i] = exp(-d * d / 2);
        sum += window[i];
    }
    for (int i = 0; i < WINDOW; i++) {
        window[i] /= sum;
    }
}

/* Weighted means along a row: `means` has MEANS numbers for each of the columns. */
static void filter_row(const ry_tensor *found, const ry_tensor *truth, int64_t y, int64_t c,
                       const double window[WINDOW], double *means)
{
    const int64_t columns = found->dim[1] - WINDOW + 1;
    for (int64_t x = 0; x < columns; x++) {
        double *to = means + x * MEANS;
        for (int m = 0; m < MEANS; m++) {
            to[m] = 0;
        }
        for (int i = 0; i < WINDOW; i++) {
            const double a = pixel(found, y, x + i, c), b = pixel(truth, y, x + i, c);
            to[0] += window[i] * a;
            to[1] += window[i] * b;
            to[2] += window[i] * a * a;
            to[3] += window[i] * b * b;
            to[4] += window[i] * a * b;
        }
    }
}

/* Similarity at a window, from means along both sides. */
static double similarity_of(const double m[MEANS], double range)
{
    const double c1 = 0.01 * range * 0.01 * range, c2 = 0.03 * range * 0.03 * range;
    const double both = m[0] * m[1], squares = m[0] * m[0] + m[1] * m[1];
    return (2 * both + c1) * (2 * (m[4] - both) + c2) /
           ((squares + c1) * (m[2] + m[3] - squares + c2));
}

/* The sum over the windows whose first row is `top`. `rows` holds WINDOW rows of means; row y is at
 * y % WINDOW. */
static double sum_row(const double *rows, int64_t columns, int64_t top, const double window[WINDOW],
                      double range)
{
    double sum = 0;
    for (int64_t x = 0; x < columns; x++) {
        double means[MEANS] = {0};
        for (int i = 0; i < WINDOW; i++) {
            const double *from = rows + ((top + i) % WINDOW * columns + x) * MEANS;
            for (int m = 0; m < MEANS; m++) {
                means[m] += window[i] * from[m];
            }
        }
        sum += similarity_of(means, range);
    }
    return sum;
}

/* Mean structural similarity over all windows inside the pictures. */
static rynd_status find_similarity(const rynd_evaluation *e, const ry_tensor *found,
                                   const ry_tensor *truth, double *similarity, ry_error *error)
{
    const int64_t height = found->dim[0], columns = found->dim[1] - WINDOW + 1;
    double window[WINDOW], sum = 0;
    double *rows = ry_allocate_array(&e->allocator, (size_t)columns * WINDOW * MEANS, sizeof *rows);
    if (!rows) {
        return ry_fail_memory(error);
    }
    fill_window(window);
    for (int64_t c = 0; c < found->dim[2]; c++) {
        for (int64_t y = 0; y < height; y++) {
            filter_row(found, truth, y, c, window, rows + y % WINDOW * columns * MEANS);
            if (y >= WINDOW - 1) {
                sum += sum_row(rows, columns, y - WINDOW + 1, window, e->range);
            }
        }
    }
    ry_release(&e->allocator, rows);
    *similarity = sum / ((double)columns * (double)(height - WINDOW + 1) * (double)found->dim[2]);
    return RYND_OK;
}

static double mean_square(const ry_tensor *found, const ry_tensor *truth)
{
    double sum = 0;
    for (int64_t y = 0; y < found->dim[0]; y++) {
        for (int64_t x = 0; x < found->dim[1]; x++) {
            for (int64_t c = 0; c < found->dim[2]; c++) {
                const double d = pixel(found, y, x, c) - pixel(truth, y, x, c);
                sum += d * d;
            }
        }
    }
    return sum / (double)ry_tensor_count(found);
}

rynd_status ry_eval_add_picture(rynd_evaluation *e, const ry_tensor *found, const ry_tensor *truth,
                                ry_error *error)
{
    double similarity;
    if (found->dim[0] < WINDOW || found->dim[1] < WINDOW) {
        return ry_fail(error, RYND_ERROR_SHAPE,
                       "the picture is %" PRId64 "x%" PRId64 "; SSIM needs at least %dx%d pixels",
                       found->dim[0], found->dim[1], WINDOW, WINDOW);
    }
    RY_TRY(find_similarity(e, found, truth, &similarity, error));
    e->psnr += 10 * log10(e->range * e->range / mean_square(found, truth));
    e->ssim += similarity;
    e->pictures++;
    return RYND_OK;
}

void ry_eval_settle_pictures(rynd_evaluation *e)
{
    if (e->pictures > 0) {
        e->figures[0] = e->psnr / (double)e->pictures;
        e->figures[1] = e->ssim / (double)e->pictures;
    }
}
