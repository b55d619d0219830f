/* SPDX-License-Identifier: Apache-2.0 */
/* Makes quantised convolutions of random bytes. */
#include "qconv_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Random whole numbers in [low, low + range), times `scale`. */
static void add(kernel_case *c, ry_dtype dtype, const char *shape, int64_t low, uint32_t range,
                double scale, uint32_t seed)
{
    int64_t count = 1;
    for (const char *at = shape; *at;) {
        char *end;
        count *= strtol(at, &end, 10);
        at = *end ? end + 1 : end;
    }
    double *values = calloc((size_t)count, sizeof *values);
    assert_non_null(values);
    for (int64_t i = 0; i < count; i++) {
        values[i] = (double)(low + (int64_t)(next(&seed) % range)) * scale;
    }
    kernel_case_values(c, dtype, shape, values);
    free(values);
}

void qconv_case_begin(kernel_case *c, const qconv_case *p, qconv_kind kind, uint32_t seed)
{
    char channels[16];
    snprintf(channels, sizeof channels, "%d", atoi(p->w));
    kernel_case_begin(c, RY_OP_qconv);
    ry_qconv_attrs *a = &c->attrs.qconv;
    a->pads = p->pads;
    a->stride = p->stride;
    a->dilation = p->dilation;
    a->groups = p->groups;
    a->x_zero = seed % 3 == 0 ? 0 : seed % 3 == 1 ? 255 : 117;
    a->zero = 100;
    a->low = 3;
    a->high = 250;
    a->dequantise = kind == QCONV_FLOATS;
    add(c, RY_u8, p->x, 0, 256, 1, seed + 1);
    add(c, RY_i8, p->w, -128, 256, 1, seed + 2);
    if (seed % 2) {
        kernel_case_absent(c);
    } else {
        add(c, RY_i32, channels, -100000, 200000, 1, seed + 3);
    }
    if (kind == QCONV_RESIDUAL) {
        a->sum_zero = 90;
        a->sum_low = 20;
        a->sum_scale = 0.7331f;
        a->residual_zero = 30;
        a->residual_scale = 0.25f;
        add(c, RY_u8, p->y, 0, 256, 1, seed + 4);
    } else {
        kernel_case_absent(c);
    }
    if (kind != QCONV_SUMS) {
        add(c, RY_f32, channels, 1, 1000, 1.0 / (1 << 21), seed + 5);
    }
    kernel_case_output(c,
                       kind == QCONV_SUMS     ? RY_i32
                       : kind == QCONV_FLOATS ? RY_f32
                                              : RY_u8,
                       p->y);
}
