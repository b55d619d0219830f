/* SPDX-License-Identifier: Apache-2.0 */
/* Compares pictures with target pictures: PSNR and SSIM. */
#include "tasks/evaluation.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { WINDOW = 11, EDGE = WINDOW / 2, MEANS = 5 }; /* means of x, y, xx, yy and xy */

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

/* A picture's windows: sizes, weights, and room for lines of numbers. Each of MEANS numbers of a line
 * has its own run of columns, so that loops over columns are vectors. */
typedef struct windows {
    int64_t width, columns; /* pixels of a row and EDGE more at both ends; windows */
    double weights[WINDOW], *line, *rows, *sums; /* a row; means of WINDOW rows; of a window */
} windows;

static bool make_windows(const rynd_evaluation *e, int64_t width, windows *w)
{
    w->width = width + 2 * EDGE;
    w->columns = width;
    w->line =
        ry_allocate_array(&e->allocator, (size_t)w->width * MEANS * (WINDOW + 2), sizeof(double));
    if (!w->line) {
        return false;
    }
    w->rows = w->line + w->width * MEANS;
    w->sums = w->rows + w->columns * MEANS * WINDOW;
    fill_window(w->weights);
    return true;
}

/* to += weight * from */
static void add_line(double *to, const double *from, double weight, int64_t count)
{
    for (int64_t x = 0; x < count; x++) {
        to[x] += weight * from[x];
    }
}

/* A place beyond an end, mirrored at the last pixel: -1 is 1. */
static int64_t mirror(int64_t place, int64_t size)
{
    return place < 0 ? -place : place < size ? place : 2 * (size - 1) - place;
}

/* Weighted means along row y - EDGE of both pictures. */
static void filter_row(const windows *w, const ry_tensor *found, const ry_tensor *truth, int64_t y,
                       int64_t c)
{
    double *means = w->rows + y % WINDOW * w->columns * MEANS, *line = w->line;
    const int64_t row = mirror(y - EDGE, found->dim[0]);
    for (int64_t x = 0; x < w->width; x++) {
        const int64_t column = mirror(x - EDGE, w->columns);
        const double a = pixel(found, row, column, c), b = pixel(truth, row, column, c);
        const double numbers[MEANS] = {a, b, a * a, b * b, a * b};
        for (int m = 0; m < MEANS; m++) {
            line[m * w->width + x] = numbers[m];
        }
    }
    memset(means, 0, (size_t)w->columns * MEANS * sizeof *means);
    for (int m = 0; m < MEANS; m++) {
        for (int i = 0; i < WINDOW; i++) {
            add_line(means + m * w->columns, line + m * w->width + i, w->weights[i], w->columns);
        }
    }
}

/* Similarity at a window, from means along both sides. */
static double similarity_of(const double m[MEANS], double range)
{
    const double c1 = 0.01 * range * 0.01 * range, c2 = 0.03 * range * 0.03 * range;
    const double both = m[0] * m[1], squares = m[0] * m[0] + m[1] * m[1],
                 variances = fmax(m[2] - m[0] * m[0], 0) + fmax(m[3] - m[1] * m[1], 0);
    return (2 * both + c1) * (2 * (m[4] - both) + c2) / ((squares + c1) * (variances + c2));
}

/* The sum over the windows whose first row is `top`; row y lies at y % WINDOW. */
static double sum_row(const windows *w, int64_t top, double range)
{
    const int64_t count = w->columns * MEANS;
    double sum = 0;
    memset(w->sums, 0, (size_t)count * sizeof *w->sums);
    for (int i = 0; i < WINDOW; i++) {
        add_line(w->sums, w->rows + (top + i) % WINDOW * count, w->weights[i], count);
    }
    for (int64_t x = 0; x < w->columns; x++) {
        double means[MEANS];
        for (int m = 0; m < MEANS; m++) {
            means[m] = w->sums[m * w->columns + x];
        }
        sum += similarity_of(means, range);
    }
    return sum;
}

/* Mean structural similarity over the windows around all pixels. */
static rynd_status find_similarity(const rynd_evaluation *e, const ry_tensor *found,
                                   const ry_tensor *truth, double *similarity, ry_error *error)
{
    const int64_t height = found->dim[0], channels = found->dim[2];
    windows w;
    double sum = 0;
    if (!make_windows(e, found->dim[1], &w)) {
        return ry_fail_memory(error);
    }
    for (int64_t c = 0; c < channels; c++) {
        for (int64_t y = 0; y < height + 2 * EDGE; y++) {
            filter_row(&w, found, truth, y, c);
            if (y >= WINDOW - 1) {
                sum += sum_row(&w, y - WINDOW + 1, e->range);
            }
        }
    }
    ry_release(&e->allocator, w.line);
    *similarity = sum / ((double)w.columns * (double)height * (double)channels);
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
