/* SPDX-License-Identifier: Apache-2.0 */
/* What a dropout and a random fill do to an element: their attributes and numbers. */
#ifndef RY_KERNELS_COMMON_DROPOUT_H
#define RY_KERNELS_COMMON_DROPOUT_H

#include "base/philox.h"
#include "problem/problem.h"

#include <math.h>

/* The least word whose uniform number (ry_random_uniform_of), a multiple of 2^-24, is at least
 * `part`: 2^32 if none is. */
static inline uint64_t ry_random_least(double part)
{
    return (uint64_t)(ceil(part * 0x1p24) * 256);
}

/* An element stays, times `scale`, where its word is at least `least`. Its word is number `element`
 * of the blocks from `offset` on. */
typedef struct ry_dropout {
    ry_random random;
    uint64_t offset; /* blocks of four words */
    uint32_t least;
    double scale;
} ry_dropout;

/* `in`: the inputs step, seed and offset; NULL where one is absent. */
static inline ry_dropout ry_dropout_of(const ry_problem *problem, const void *const *in)
{
    const ry_dropout_attrs *attrs = &problem->attrs.dropout;
    const double step = ry_problem_has_input(problem, 1) ? *(const double *)in[1] : 0;
    const uint64_t least = ry_random_least(attrs->ratio);
    return (ry_dropout){
        .random = {.seed = ry_problem_has_input(problem, 2) ? *(const uint64_t *)in[2]
                                                            : (uint64_t)attrs->seed,
                   .stream = (uint32_t)attrs->stream,
                   .step = step >= 0 && step < 0x1p53 ? (uint32_t)(uint64_t)step : 0},
        .offset = ry_problem_has_input(problem, 3) ? *(const uint64_t *)in[3] : 0,
        .least = least < UINT32_MAX ? (uint32_t)least : UINT32_MAX,
        .scale = 1 / (1 - attrs->ratio)};
}

/* A fill: y = base + number * factor, rounded to float32 after each operation; of bernoulli 1 below
 * `least`, else 0. */
typedef struct ry_fill {
    ry_random random;
    uint64_t offset;
    ry_random_kind kind;
    float base, factor;
    uint64_t least;
} ry_fill;

static inline ry_fill ry_fill_of(const ry_problem *problem, const void *const *in)
{
    const ry_random_attrs *a = &problem->attrs.random;
    const bool normal = a->kind == RY_random_kind_normal;
    return (ry_fill){.random = {.seed = *(const uint64_t *)in[0], .stream = (uint32_t)a->stream},
                     .offset = *(const uint64_t *)in[1],
                     .kind = a->kind,
                     .base = (float)(normal ? a->mean : a->low),
                     .factor = normal ? (float)a->deviation : (float)a->high - (float)a->low,
                     .least = ry_random_least(a->p)};
}

static inline float ry_fill_element(const ry_fill *fill, uint32_t word)
{
    if (fill->kind == RY_random_kind_bernoulli) {
        return word < fill->least ? 1 : 0;
    }
    const float number = fill->kind == RY_random_kind_normal ? ry_random_normal_of(word)
                                                             : ry_random_uniform_of(word);
    const float scaled = number * fill->factor;
    return fill->base + scaled;
}

#endif
