/* SPDX-License-Identifier: Apache-2.0 */
/* Dropout of f32: the mask is made in registers and never stored, so a backward pass that makes it
 * again reads nothing for it. */
#include "base/integer.h"
#include "kernels/common/dropout.h"
#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/random/dropout_plan.h"
#include "kernels/cpu/simd/simd.h"

/* The words of RY_DROPOUT_BLOCKS blocks, each word in a row of its own: ry_philox of each, in an
 * order that compilers make vectors of. */
typedef struct words {
    uint32_t row[4][RY_DROPOUT_BLOCKS];
} words;

static void next_round(words *w, uint32_t key0, uint32_t key1)
{
    for (int l = 0; l < RY_DROPOUT_BLOCKS; l++) {
        const ry_philox_block c = ry_philox_round(
            (ry_philox_block){{w->row[0][l], w->row[1][l], w->row[2][l], w->row[3][l]}}, key0,
            key1);
        w->row[0][l] = c.word[0];
        w->row[1][l] = c.word[1];
        w->row[2][l] = c.word[2];
        w->row[3][l] = c.word[3];
    }
}

static void draw(const ry_random *random, uint64_t block, words *w)
{
    uint32_t key0 = (uint32_t)random->seed, key1 = (uint32_t)(random->seed >> 32);
    for (int l = 0; l < RY_DROPOUT_BLOCKS; l++) {
        w->row[0][l] = (uint32_t)(block + (uint64_t)l);
        w->row[1][l] = (uint32_t)((block + (uint64_t)l) >> 32);
        w->row[2][l] = random->step;
        w->row[3][l] = random->stream;
    }
    for (int round = 0; round < 10; round++) {
        next_round(w, key0, key1);
        key0 += UINT32_C(0x9E3779B9);
        key1 += UINT32_C(0xBB67AE85);
    }
}

/* y[4 l + k] is decided by word k of block l. */
static void group(const ry_dropout *drop, uint64_t block, const float *restrict x,
                  float *restrict y, int64_t count)
{
    const float scale = (float)drop->scale;
    words w;
    draw(&drop->random, block, &w);
    if (count == RY_DROPOUT_GROUP) {
        for (int l = 0; l < RY_DROPOUT_BLOCKS; l++) {
            for (int k = 0; k < 4; k++) {
                y[4 * l + k] = w.row[k][l] < drop->least ? 0 : x[4 * l + k] * scale;
            }
        }
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        y[i] = w.row[i % 4][i / 4] < drop->least ? 0 : x[i] * scale;
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const ry_dropout_plan *plan = launch->state;
    const ry_dropout drop =
        ry_dropout_of(&launch->problem->attrs.dropout, *(const double *)launch->in[1]);
    const int64_t first = (int64_t)task * plan->elements_of_task,
                  end = ry_min(first + plan->elements_of_task, plan->count);
    const float *x = launch->in[0];
    float *y = launch->out[0];
    for (int64_t i = first; i < end; i += RY_DROPOUT_GROUP) {
        group(&drop, (uint64_t)i / 4, x + i, y + i, ry_min(end - i, RY_DROPOUT_GROUP));
    }
}

RY_CPU_KERNEL(dropout_f32, dropout, strict, .simd = RY_SIMD, .applicable = ry_dropout_applicable,
              .prepare = ry_dropout_prepare, .initialise = ry_dropout_initialise, .run = run);
