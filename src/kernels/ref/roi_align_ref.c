/* SPDX-License-Identifier: Apache-2.0 */
/* Reference RoI align (He et al., arXiv:1703.06870): bilinear samples of each bin, averaged, or
 * their largest weighted corner. */
#include "kernels/ref/ref_common.h"

/* A bin is sampled at most this often along an axis: an adaptive count comes from data, and must
 * not decide how long a run takes. */
enum { MAX_SAMPLES = 512 };

typedef struct bins {
    double start, size; /* of the bin, in feature-map pixels */
    int64_t samples;
} bins;

/* Bin `bin` of `count` between the two ends of a region along one axis. */
static bins bins_of(const ry_roi_align_attrs *attrs, double begin, double end, int64_t bin,
                    int64_t count)
{
    double offset = attrs->half_pixel ? 0.5 : 0;
    double start = begin * attrs->spatial_scale - offset,
           extent = end * attrs->spatial_scale - offset - start;
    if (!attrs->half_pixel) {
        extent = fmax(extent, 1);
    }
    bins b = {.size = extent / (double)count};
    b.start = start + (double)bin * b.size;
    double samples = attrs->sampling_ratio > 0 ? (double)attrs->sampling_ratio : ceil(b.size);
    b.samples = samples > 0 ? (int64_t)fmin(samples, MAX_SAMPLES) : 0;
    return b;
}

/* The two taps at sample s; none (count 0) beyond one pixel outside the map. */
static ry_ref_taps sample_taps(const bins *b, int64_t s, int64_t size)
{
    double x = b->start + ((double)s + 0.5) * b->size / (double)b->samples;
    ry_ref_taps taps = {0};
    if (!(x >= -1 && x <= (double)size) || size == 0) {
        return taps;
    }
    x = fmin(fmax(x, 0), (double)(size - 1));
    int64_t low = (int64_t)x;
    double fraction = x - (double)low;
    taps = (ry_ref_taps){.count = 2,
                         .index = {low, low + 1 < size ? low + 1 : low},
                         .weight = {1 - fraction, fraction}};
    return taps;
}

/* The largest of the four weighted corners, which is what ONNX's `max` takes the maximum of. */
static double largest_corner(const ry_tensor *x, const void *data, int64_t offset,
                             const ry_ref_taps *taps)
{
    double largest = taps[0].count && taps[1].count ? -INFINITY : 0;
    for (int i = 0; i < taps[0].count; i++) {
        for (int j = 0; j < taps[1].count; j++) {
            int64_t at = offset + taps[0].index[i] * x->stride[2] + taps[1].index[j] * x->stride[3];
            largest = fmax(largest, taps[0].weight[i] * taps[1].weight[j] *
                                        ry_ref_get(ry_ref_dtype(x), data, at));
        }
    }
    return largest;
}

static double bin_value(const ry_cpu_launch *launch, const bins *rows, const bins *columns,
                        int64_t offset)
{
    const ry_tensor *x = &launch->problem->in[0];
    bool max = launch->problem->attrs.roi_align.max != 0;
    double sum = 0, largest = -INFINITY;
    for (int64_t i = 0; i < rows->samples; i++) {
        const ry_ref_taps row = sample_taps(rows, i, x->dim[2]);
        if (!row.count) { /* a row of zeros: a region of any size takes no longer than the map */
            largest = fmax(largest, 0);
            continue;
        }
        for (int64_t j = 0; j < columns->samples; j++) {
            ry_ref_taps taps[2] = {row, sample_taps(columns, j, x->dim[3])};
            if (max) {
                largest = fmax(largest, largest_corner(x, launch->in[0], offset, taps));
            } else {
                sum += ry_ref_interpolate(ry_ref_dtype(x), launch->in[0], offset, 2, taps,
                                          x->stride + 2);
            }
        }
    }
    int64_t samples = rows->samples * columns->samples;
    return samples == 0 ? 0 : max ? largest : sum / (double)samples;
}

static void note_batch(const ry_cpu_launch *launch, int64_t roi, int64_t batch)
{
    ry_fault bad = {.found = (uint64_t)roi + 1,
                    .value = batch,
                    .most = launch->problem->in[0].dim[0] - 1,
                    .input = 2};
    ry_fault_note(launch->fault, &bad);
}

/* index is [roi, channel, row, column]. */
static void element(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_tensor *x = &p->in[0], *rois = &p->in[1], *batches = &p->in[2], *y = &p->out[0];
    int64_t batch = ry_get_i64(ry_ref_dtype(batches), launch->in[2], index[0] * batches->stride[0]);
    double value = 0;
    if (batch >= 0 && batch < x->dim[0]) {
        double corner[4];
        for (int i = 0; i < 4; i++) {
            corner[i] = ry_ref_get(ry_ref_dtype(rois), launch->in[1],
                                   index[0] * rois->stride[0] + i * rois->stride[1]);
        }
        bins rows = bins_of(&p->attrs.roi_align, corner[1], corner[3], index[2], y->dim[2]);
        bins columns = bins_of(&p->attrs.roi_align, corner[0], corner[2], index[3], y->dim[3]);
        value = bin_value(launch, &rows, &columns, batch * x->stride[0] + index[1] * x->stride[1]);
    } else {
        note_batch(launch, index[0], batch);
    }
    ry_set_f64(ry_ref_dtype(y), launch->out[0], ry_index_offset(y, index), value);
}

static bool applicable(const ry_problem *problem)
{
    return ry_ref_floats(problem) && ry_problem_has_input(problem, 1) &&
           ry_problem_has_input(problem, 2) && problem->in[0].rank == 4 &&
           problem->in[1].rank == 2 && problem->in[2].rank == 1;
}

RY_REF_ELEMENTS(roi_align, applicable, element)
