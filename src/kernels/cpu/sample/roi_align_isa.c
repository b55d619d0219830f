/* SPDX-License-Identifier: Apache-2.0 */
/* RoiAlign: finds the taps of a region's rows and columns of bins, then reads by them. */
#include "base/room.h"
#include "kernels/cpu/sample/sample_plan.h"

#include "kernels/common/roi_bins.h"
#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/sample/points.h"
#include "kernels/cpu/simd/simd.h"

/* Samples of bins that are at most a pixel apart share their taps: one for each pixel that they
 * cover. Walks a bin of negative size from its end, so that pixels ascend. */
static void merge_bin(const ry_points_axis *axis, int64_t pitch, const ry_roi_bins *bin,
                      int64_t size, int64_t at)
{
    int64_t first = -1;
    for (int64_t k = 0; k < axis->taps; k++) {
        ry_points_set(axis->index, axis->far, k * pitch + at, -1);
        axis->weight[k * pitch + at] = 0;
    }
    for (int64_t i = 0; i < bin->samples; i++) {
        const int64_t s = bin->size < 0 ? bin->samples - 1 - i : i;
        int64_t low, high;
        double weight;
        if (ry_roi_sample(bin, s, size, &low, &high, &weight)) {
            first = first < 0 ? low : first;
            ry_points_set(axis->index, axis->far, (low - first) * pitch + at, low);
            ry_points_set(axis->index, axis->far, (high - first) * pitch + at, high);
            axis->weight[(low - first) * pitch + at] += (1 - weight) / (double)bin->samples;
            axis->weight[(high - first) * pitch + at] += weight / (double)bin->samples;
        }
    }
}

/* The taps of every sample, two each. */
static void list_bin(const ry_points_axis *axis, int64_t pitch, const ry_roi_bins *bin,
                     int64_t size, double scale, int64_t at)
{
    for (int64_t s = 0; s < bin->samples; s++) {
        int64_t low = -1, high = -1;
        double weight = 0;
        ry_roi_sample(bin, s, size, &low, &high, &weight);
        ry_points_set(axis->index, axis->far, 2 * s * pitch + at, low);
        ry_points_set(axis->index, axis->far, (2 * s + 1) * pitch + at, high);
        axis->weight[2 * s * pitch + at] = (1 - weight) * scale;
        axis->weight[(2 * s + 1) * pitch + at] = weight * scale;
    }
}

/* The taps of an axis's bins, or of the bin of each of `count` positions. */
static void locate(const ry_cpu_launch *launch, int64_t roi, int a, int64_t count,
                   ry_points_axis *axis)
{
    const ry_roi_align_plan *plan = launch->state;
    const ry_points_plan *s = &plan->points;
    const ry_roi_align_attrs *attrs = &launch->problem->attrs.roi_align;
    const ry_tensor *rois = &launch->problem->in[1];
    const int64_t bins = launch->problem->out[0].dim[2 + a];
    double end[2];
    for (int i = 0; i < 2; i++) { /* x1, y1, x2, y2 */
        end[i] = ry_get_f64((ry_dtype)rois->dtype, launch->in[1],
                            roi * rois->stride[0] + (2 * i + 1 - a) * rois->stride[1]);
    }
    for (int64_t b = 0; b < (plan->by_bin ? bins : count); b++) {
        const int64_t at = plan->by_bin ? b : axis->position[b];
        const ry_roi_bins bin = ry_roi_bins_of(attrs, end[0], end[1], at, bins);
        const bool near = !s->largest && bin.samples > 1 && fabs(bin.size) <= (double)bin.samples;
        axis->taps = near ? bin.samples + 1 : 2 * bin.samples;
        if (near) {
            merge_bin(axis, s->axis_length, &bin, s->size[a], b);
        } else {
            list_bin(axis, s->axis_length, &bin, s->size[a],
                     s->largest ? 1 : 1 / (double)bin.samples, b);
        }
    }
}

static void clear(const ry_points_memory *m, int64_t count, size_t size)
{
    for (int64_t i = 0; i < count; i++) {
        for (int64_t c = 0; c < m->channels; c++) {
            memset((char *)m->y + (c * m->y_channel + i * m->y_position) * (int64_t)size, 0, size);
        }
    }
}

/* The image of a region, or -1, which is noted. */
static int64_t image_of(const ry_cpu_launch *launch, int64_t roi)
{
    const ry_tensor *batches = &launch->problem->in[2];
    const int64_t images = launch->problem->in[0].dim[0],
                  image =
                      ry_get_i64((ry_dtype)batches->dtype, launch->in[2], roi * batches->stride[0]);
    if (image >= 0 && image < images) {
        return image;
    }
    const ry_fault bad = {
        .found = (uint64_t)roi + 1, .value = image, .most = images - 1, .input = 2};
    ry_fault_note(launch->fault, &bad);
    return -1;
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const ry_roi_align_plan *plan = launch->state;
    const ry_points_plan *s = &plan->points;
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&s->cut, task, range);
    const int64_t roi = range[0].first, first = range[1].first, count = range[1].count,
                  channel = range[2].first, columns = launch->problem->out[0].dim[3],
                  image = image_of(launch, roi);
    const size_t size = ry_dtype_size((ry_dtype)s->dtype);
    ry_points_memory m =
        ry_points_memory_of(s, launch->in[0], image < 0 ? 0 : image, launch->out[0], roi, first);
    m.x = (const char *)m.x + channel * m.x_channel * (int64_t)size;
    m.y = (char *)m.y + channel * m.y_channel * (int64_t)size;
    m.channels = range[2].count;
    ry_points_axis axis[2];
    for (int a = 0; a < 2; a++) {
        int32_t *position = RY_AT(int32_t, launch->scratch, plan->positions[a]);
        axis[a] = ry_points_axis_of(s, launch->scratch, a);
        for (int64_t i = 0; i < count; i++) {
            position[i] = (int32_t)(a == 0 ? (first + i) / columns : (first + i) % columns);
        }
        axis[a].position = position;
        locate(launch, roi, a, count, &axis[a]);
        axis[a].position = plan->by_bin ? position : NULL;
    }
    if (image < 0 || axis[0].taps == 0 || axis[1].taps == 0) {
        clear(&m, count, size);
        return;
    }
    RY_ISA_SYMBOL(points_run)(s, axis, count, &m, launch->scratch);
}

RY_CPU_KERNEL(roi_align, roi_align, strict, .simd = RY_SIMD, .applicable = ry_roi_align_applicable,
              .prepare = ry_roi_align_prepare, .initialise = ry_roi_align_initialise, .run = run);
