/* SPDX-License-Identifier: Apache-2.0 */
/* Dropout of f32: the mask is made in registers and never stored, so a backward pass that makes it
 * again reads nothing for it. */
#include "base/integer.h"
#include "kernels/common/dropout.h"
#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/random/dropout_plan.h"
#include "kernels/cpu/simd/philox_lanes.h"

_Static_assert((int)RY_DROPOUT_GROUP == (int)RY_PHILOX_WORDS,
               "a group is what is made side by side");

static void group(const ry_dropout *drop, uint64_t block, const float *restrict x,
                  float *restrict y, int64_t count)
{
    const float scale = (float)drop->scale;
    const uint32_t least = drop->least;
    uint32_t word[RY_PHILOX_WORDS];
    ry_philox_words(&drop->random, block, word);
    if (count == RY_PHILOX_WORDS) {
        for (int i = 0; i < RY_PHILOX_WORDS; i++) {
            y[i] = word[i] < least ? 0 : x[i] * scale;
        }
    } else {
        for (int64_t i = 0; i < count; i++) {
            y[i] = word[i] < least ? 0 : x[i] * scale;
        }
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const ry_dropout_plan *plan = launch->state;
    const ry_dropout drop =
        ry_dropout_of(&launch->problem->attrs.dropout, *(const double *)launch->in[1]);
    const ry_cut_range elements = ry_cut_part(&plan->elements, task);
    const float *x = launch->in[0];
    float *y = launch->out[0];
    for (int64_t i = elements.first; i < elements.end; i += RY_DROPOUT_GROUP) {
        group(&drop, (uint64_t)i / 4, x + i, y + i, ry_min(elements.end - i, RY_DROPOUT_GROUP));
    }
}

RY_CPU_KERNEL(dropout_f32, dropout, strict, .simd = RY_SIMD, .applicable = ry_dropout_applicable,
              .prepare = ry_dropout_prepare, .initialise = ry_dropout_initialise, .run = run);
