/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from a float format alone, so that a test's bound need not be guessed; written
 * without the library's conversions, which are tested. */
#ifndef NUMBER_FORMAT_H
#define NUMBER_FORMAT_H

#include "tensor/dtype.h"

#include <math.h>

/* The largest error of rounding x to the nearest number of a type; 0 where nothing is rounded. */
static inline double rounding_error(ry_dtype dtype, double x)
{
    switch (dtype) {
    case RY_f16: return fmax(0x1p-11 * fabs(x), 0x1p-25);
    case RY_bf16: return fmax(0x1p-8 * fabs(x), 0x1p-134);
    case RY_f32: return fmax(0x1p-24 * fabs(x), 0x1p-150);
    default: return 0;
    }
}

/* x in bfloat16's eight significant bits, to the nearest, ties to even. */
static inline double nearest_bf16(double x)
{
    if (x == 0 || !isfinite(x)) {
        return x;
    }
    const double step = exp2(fmax(ilogb(x), -126) - 7);
    return nearbyint(x / step) * step;
}

/* x in tf32's eleven significant bits, to the nearest, ties away from zero. */
static inline double nearest_tf32(double x)
{
    if (x == 0 || !isfinite(x)) {
        return x;
    }
    const double step = exp2(fmax(ilogb(x), -126) - 10);
    return round(x / step) * step;
}

/* Rounds an operand as kernels of class tf32 or bf16 do. */
static inline double nearest_operand(bool tf32, double x)
{
    return tf32 ? nearest_tf32(x) : nearest_bf16(x);
}

#endif
