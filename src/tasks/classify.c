/* SPDX-License-Identifier: Apache-2.0 */
/* The classes of a picture. */
#include "tasks/classes.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static int by_score(const void *a, const void *b)
{
    const rynd_class *x = a, *y = b;
    return x->score != y->score ? (x->score < y->score ? 1 : -1)
                                : (x->label > y->label) - (x->label < y->label);
}

/* Probabilities stay; anything else is taken for logits. float16 sums to 1 within 1%. */
static void make_probabilities(rynd_class *all, int64_t count)
{
    double sum = 0, highest = -INFINITY;
    bool negative = false;
    for (int64_t i = 0; i < count; i++) {
        all[i].score = isnan(all[i].score) ? -INFINITY : all[i].score;
        sum += (double)all[i].score;
        negative = negative || all[i].score < 0;
        highest = fmax(highest, (double)all[i].score);
    }
    if ((!negative && fabs(sum - 1) < 0.01) || !isfinite(highest)) {
        return;
    }
    sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += exp((double)all[i].score - highest);
    }
    for (int64_t i = 0; i < count; i++) {
        all[i].score = (float)(exp((double)all[i].score - highest) / sum);
    }
}

rynd_status ry_classify(const ry_tensor *output, int64_t index, rynd_class *classes, size_t *count,
                        ry_arena *arena, ry_error *error)
{
    const int channel = output->rank > 1;
    int64_t others = 1;
    for (int d = channel + 1; d < output->rank; d++) {
        others *= output->dim[d];
    }
    if (output->rank < 1 || others != 1 || ry_tensor_count(output) < 1) {
        return ry_fail(error, RYND_ERROR_SHAPE,
                       "an output of rank %d has no score for each class: it needs [N, C] or "
                       "[N, C, 1, 1]",
                       output->rank);
    }
    if (index < 0 || index >= (channel ? output->dim[0] : 1)) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "picture %" PRId64 " is outside the batch",
                       index);
    }
    const int64_t many = output->dim[channel];
    rynd_class *all = RY_TAKE(arena, rynd_class, many);
    if (!all) {
        return ry_fail_memory(error);
    }
    for (int64_t i = 0; i < many; i++) {
        const int64_t at = (channel ? index * output->stride[0] : 0) + i * output->stride[channel];
        all[i] = (rynd_class){i, (float)ry_get_f64((ry_dtype)output->dtype, output->data, at)};
    }
    make_probabilities(all, many);
    qsort(all, (size_t)many, sizeof *all, by_score);
    *count = *count < (size_t)many ? *count : (size_t)many;
    for (size_t i = 0; i < *count; i++) {
        classes[i] = all[i];
    }
    return RYND_OK;
}
