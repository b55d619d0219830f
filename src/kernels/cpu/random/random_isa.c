/* SPDX-License-Identifier: Apache-2.0 */
/* Fills with uniform and normal numbers, and with zeros and ones. */
#include "base/integer.h"
#include "kernels/common/dropout.h"
#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/random/dropout_plan.h"
#include "kernels/cpu/simd/philox_lanes.h"

/* The quantile near the middle is vectors of plain arithmetic; the tails are recomputed one by one.
 */
static void normal(const ry_fill *fill, const uint32_t *word, float *restrict y)
{
    for (int i = 0; i < RY_PHILOX_WORDS; i++) {
        y[i] = ry_random_normal_near(word[i]) * fill->factor;
    }
    for (int i = 0; i < RY_PHILOX_WORDS; i++) {
        if (!ry_random_is_near(word[i])) {
            y[i] = ry_random_normal_of(word[i]) * fill->factor;
        }
    }
    for (int i = 0; i < RY_PHILOX_WORDS; i++) {
        y[i] = fill->base + y[i];
    }
}

static void group(const ry_fill *fill, const uint32_t *word, float *restrict y)
{
    if (fill->kind == RY_random_kind_normal) {
        normal(fill, word, y);
    } else if (fill->kind == RY_random_kind_uniform) {
        for (int i = 0; i < RY_PHILOX_WORDS; i++) {
            const float scaled = ry_random_uniform_of(word[i]) * fill->factor;
            y[i] = fill->base + scaled;
        }
    } else {
        for (int i = 0; i < RY_PHILOX_WORDS; i++) {
            y[i] = word[i] < fill->least ? 1 : 0;
        }
    }
}

/* Stores float32 numbers as `dtype`. */
static void store(ry_dtype dtype, const float *y, int64_t first, int64_t count, void *out)
{
    if (dtype == RY_f32) {
        memcpy((float *)out + first, y, (size_t)count * sizeof *y);
        return;
    }
    for (int64_t j = 0; j < count; j++) {
        switch (dtype) {
        case RY_f64: ((double *)out)[first + j] = (double)y[j]; break;
        case RY_f16: ((uint16_t *)out)[first + j] = ry_f32_to_f16(y[j]); break;
        case RY_bf16: ((uint16_t *)out)[first + j] = ry_f32_to_bf16(y[j]); break;
        default: ((uint8_t *)out)[first + j] = y[j] != 0; break;
        }
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const ry_dropout_plan *plan = launch->state;
    const ry_fill fill = ry_fill_of(launch->problem, launch->in);
    const ry_cut_range elements = ry_cut_part(&plan->elements, task);
    const ry_dtype dtype = (ry_dtype)launch->problem->out[0].dtype;
    for (int64_t i = elements.first; i < elements.end; i += RY_DROPOUT_GROUP) {
        const int64_t count = ry_min(elements.end - i, RY_DROPOUT_GROUP);
        uint32_t word[RY_PHILOX_WORDS];
        float y[RY_PHILOX_WORDS];
        ry_philox_words(&fill.random, fill.offset + (uint64_t)i / 4, word);
        group(&fill, word, y);
        store(dtype, y, i, count, launch->out[0]);
    }
}

RY_CPU_KERNEL(random_fill, random, strict, .simd = RY_SIMD, .applicable = ry_fill_applicable,
              .prepare = ry_dropout_prepare, .initialise = ry_dropout_initialise, .run = run);
