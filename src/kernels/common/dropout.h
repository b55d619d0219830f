/* SPDX-License-Identifier: Apache-2.0 */
/* What a dropout does to an element: the numbers of its attributes and of the step. */
#ifndef RY_KERNELS_COMMON_DROPOUT_H
#define RY_KERNELS_COMMON_DROPOUT_H

#include "base/philox.h"
#include "problem/attrs.h"

#include <math.h>

/* An element stays, times `scale`, where its word is at least `least`: where its uniform number
 * (ry_random_uniform_of), a multiple of 2^-24, is at least the ratio. */
typedef struct ry_dropout {
    ry_random random;
    uint32_t least;
    double scale;
} ry_dropout;

static inline ry_dropout ry_dropout_of(const ry_dropout_attrs *attrs, double step)
{
    const double numbers = ceil(attrs->ratio * 0x1p24), first = numbers * 256;
    return (ry_dropout){
        .random = {.seed = (uint64_t)attrs->seed,
                   .stream = (uint32_t)attrs->stream,
                   .step = step >= 0 && step < 0x1p53 ? (uint32_t)(uint64_t)step : 0},
        .least = first < (double)UINT32_MAX ? (uint32_t)first : UINT32_MAX,
        .scale = 1 / (1 - attrs->ratio)};
}

#endif
