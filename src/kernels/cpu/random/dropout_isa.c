/* SPDX-License-Identifier: Apache-2.0 */
/* Dropout of f32: the mask is made in registers and stored only if it is wanted. A backward pass that
 * makes it again reads nothing for it. */
#include "base/integer.h"
#include "kernels/common/dropout.h"
#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/random/dropout_plan.h"
#include "kernels/cpu/simd/philox_lanes.h"

_Static_assert((int)RY_DROPOUT_GROUP == (int)RY_PHILOX_WORDS,
               "a group is what is made side by side");

RY_INLINE void drop(const ry_dropout *drop, const uint32_t *word, const float *restrict x,
                    float *restrict y, int64_t count)
{
    const float scale = (float)drop->scale;
    const uint32_t least = drop->least;
    for (int64_t i = 0; i < count; i++) {
        y[i] = word[i] < least ? 0 : x[i] * scale;
    }
}

RY_INLINE void mark(uint32_t least, const uint32_t *word, uint8_t *restrict mask, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        mask[i] = word[i] >= least;
    }
}

/* The groups of a task: those whose count is a constant are one loop of vectors. */
static void run(const ry_cpu_launch *launch, size_t task)
{
    const ry_dropout_plan *plan = launch->state;
    const ry_dropout how = ry_dropout_of(launch->problem, launch->in);
    const ry_cut_range elements = ry_cut_part(&plan->elements, task);
    const float *x = launch->in[0];
    float *y = launch->out[0];
    uint8_t *mask = ry_problem_has_output(launch->problem, 1) ? launch->out[1] : NULL;
    for (int64_t i = elements.first; i < elements.end; i += RY_DROPOUT_GROUP) {
        const int64_t count = ry_min(elements.end - i, RY_DROPOUT_GROUP);
        uint32_t word[RY_PHILOX_WORDS];
        ry_philox_words(&how.random, how.offset + (uint64_t)i / 4, word);
        if (count == RY_PHILOX_WORDS) {
            drop(&how, word, x + i, y + i, RY_PHILOX_WORDS);
        } else {
            drop(&how, word, x + i, y + i, count);
        }
        if (mask) {
            mark(how.least, word, mask + i, count);
        }
    }
}

RY_CPU_KERNEL(dropout_f32, dropout, strict, .simd = RY_SIMD, .applicable = ry_dropout_applicable,
              .prepare = ry_dropout_prepare, .initialise = ry_dropout_initialise, .run = run);
