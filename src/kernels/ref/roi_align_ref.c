/* SPDX-License-Identifier: Apache-2.0 */
/* Reference RoI align (He et al., arXiv:1703.06870): bilinear samples of each bin, averaged, or
 * their largest weighted corner. */
#include "kernels/common/roi_bins.h"
#include "kernels/ref/ref_common.h"

/* The two taps at sample s; none (count 0) beyond one pixel outside the map. */
static ry_ref_taps sample_taps(const ry_roi_bins *b, int64_t s, int64_t size)
{
    int64_t low, high;
    double weight;
    if (!ry_roi_sample(b, s, size, &low, &high, &weight)) {
        return (ry_ref_taps){0};
    }
    return (ry_ref_taps){.count = 2, .index = {low, high}, .weight = {1 - weight, weight}};
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

static double bin_value(const ry_cpu_launch *launch, const ry_roi_bins *rows,
                        const ry_roi_bins *columns, int64_t offset)
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
        ry_roi_bins rows =
            ry_roi_bins_of(&p->attrs.roi_align, corner[1], corner[3], index[2], y->dim[2]);
        ry_roi_bins columns =
            ry_roi_bins_of(&p->attrs.roi_align, corner[0], corner[2], index[3], y->dim[3]);
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
