/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of pixels for one element type (each_type.h), for points_isa.c. */

#ifndef LOAD_ONE
#define LOAD_ONE LOAD
#endif

/* Adds tap by tap, for any number of taps; sums begin as `carry`, if any. */
static void LANE(plane)(const table *t, const ELEMENT *x, int64_t x_pixel, SUM *restrict sum)
{
    for (int64_t k = 0; k < t->taps; k++) {
        const void *pixel = t->pixel;
        const bool far = t->far;
        const int64_t first = k * t->pitch;
        const SUM *w = (const SUM *)t->weight + first;
        if (t->largest) {
            for (int64_t i = 0; i < t->count; i++) {
                const int64_t from = ry_points_number(pixel, far, first + i);
                const SUM v = from < 0 ? 0 : w[i] * LOAD_ONE(x[from * x_pixel]);
                sum[i] = v > sum[i] ? v : sum[i];
            }
        } else {
            for (int64_t i = 0; i < t->count; i++) {
                const int64_t from = ry_points_number(pixel, far, first + i);
                sum[i] += from < 0 ? 0 : w[i] * LOAD_ONE(x[from * x_pixel]);
            }
        }
    }
}

/* The sums of `taps` products, for a constant number of taps: they stay in registers. */
RY_INLINE void LANE(few)(const table *t, const int taps, const ELEMENT *restrict x,
                         ELEMENT *restrict y)
{
    const int64_t pitch = t->pitch;
    const int32_t *restrict pixel = t->pixel;
    const SUM *restrict w = t->weight;
    for (int64_t i = 0; i < t->count; i++) {
        SUM sum = 0;
#pragma GCC unroll 16
        for (int k = 0; k < taps; k++) {
            const int32_t from = pixel[k * pitch + i];
            sum += from < 0 ? 0 : w[k * pitch + i] * LOAD_ONE(x[from]);
        }
        y[i] = STORE(sum);
    }
}

/* Channels are planes: lanes are positions. */
static void LANE(planes)(const table *t, const ry_points_memory *m, void *carried)
{
    for (int64_t c = 0; c < m->channels; c++) {
        const ELEMENT *x = (const ELEMENT *)m->x + c * m->x_channel;
        ELEMENT *y = (ELEMENT *)m->y + c * m->y_channel;
        SUM own[RY_POINTS_BLOCK], *sum = carried ? (SUM *)carried + c * t->count : own;
        if (!t->far && m->y_position == 1 && m->x_pixel == 1 && t->first && t->last &&
            !t->largest && (t->taps == 2 || t->taps == 4 || t->taps == 8 || t->taps == 16)) {
            switch (t->taps) {
            case 2: LANE(few)(t, 2, x, y); break;
            case 4: LANE(few)(t, 4, x, y); break;
            case 8: LANE(few)(t, 8, x, y); break;
            default: LANE(few)(t, 16, x, y); break;
            }
            continue;
        }
        for (int64_t i = 0; t->first && i < t->count; i++) {
            sum[i] = t->largest ? (SUM)-INFINITY : 0;
        }
        LANE(plane)(t, x, m->x_pixel, sum);
        for (int64_t i = 0; t->last && i < t->count; i++) {
            y[i * m->y_position] = STORE(sum[i]);
        }
    }
}

/* y[i] = the sum (or the largest) of w[k] * x[k][i], after `sum`, if that is carried. */
static void LANE(row)(const table *t, int64_t n, const ELEMENT *const *x, const SUM *w,
                      int64_t taps, SUM *carried, ELEMENT *restrict y)
{
    if (!carried && !t->largest && taps == 4) {
        const ELEMENT *a = x[0], *b = x[1], *c = x[2], *d = x[3];
        const SUM p = w[0], q = w[1], r = w[2], s = w[3];
        for (int64_t i = 0; i < n; i++) {
            y[i] = STORE(p * LOAD(a[i]) + q * LOAD(b[i]) + r * LOAD(c[i]) + s * LOAD(d[i]));
        }
        return;
    }
    enum { PART = 64 };
    for (int64_t at = 0; at < n; at += PART) {
        const int64_t part = n - at < PART ? n - at : PART;
        SUM own[PART], *restrict sum = carried ? carried + at : own;
        for (int64_t i = 0; (!carried || t->first) && i < part; i++) {
            sum[i] = t->largest ? (SUM)-INFINITY : 0;
        }
        for (int64_t i = 0; t->largest && taps < t->taps && i < part; i++) {
            sum[i] = sum[i] > 0 ? sum[i] : 0;
        }
        for (int64_t k = 0; k < taps; k++) {
            const ELEMENT *from = x[k] + at;
            const SUM p = w[k];
            for (int64_t i = 0; t->largest && i < part; i++) {
                const SUM v = p * LOAD(from[i]);
                sum[i] = v > sum[i] ? v : sum[i];
            }
            for (int64_t i = 0; !t->largest && i < part; i++) {
                sum[i] += p * LOAD(from[i]);
            }
        }
        for (int64_t i = 0; t->last && i < part; i++) {
            y[at + i] = STORE(sum[i]);
        }
    }
}

/* Channels are beside each other: lanes are channels. */
static void LANE(pixels)(const table *t, const ry_points_memory *m, void *carried)
{
    for (int64_t i = 0; i < t->count; i++) {
        const ELEMENT *x[RY_POINTS_PASS];
        SUM w[RY_POINTS_PASS];
        int64_t taps = 0;
        for (int64_t k = 0; k < t->taps; k++) {
            const int64_t from = ry_points_number(t->pixel, t->far, k * t->pitch + i);
            if (from >= 0) {
                x[taps] = (const ELEMENT *)m->x + from * m->x_pixel;
                w[taps++] = ((const SUM *)t->weight)[k * t->pitch + i];
            }
        }
        LANE(row)
        (t, m->channels, x, w, taps, carried ? (SUM *)carried + i * m->channels : NULL,
         (ELEMENT *)m->y + i * m->y_position);
    }
}

/* One tap of weight 1: elements are copied. */
static void LANE(picks)(const table *t, const ry_points_memory *m, void *carried)
{
    (void)carried;
    const void *pixel = t->pixel;
    const bool far = t->far;
    if (m->x_channel == 1 && m->y_channel == 1) {
        for (int64_t i = 0; i < t->count; i++) {
            ELEMENT *y = (ELEMENT *)m->y + i * m->y_position;
            const int64_t from = ry_points_number(pixel, far, i);
            if (from < 0) {
                memset(y, 0, (size_t)m->channels * sizeof *y);
            } else {
                memcpy(y, (const ELEMENT *)m->x + from * m->x_pixel,
                       (size_t)m->channels * sizeof *y);
            }
        }
        return;
    }
    for (int64_t c = 0; c < m->channels; c++) {
        const ELEMENT *x = (const ELEMENT *)m->x + c * m->x_channel;
        ELEMENT *y = (ELEMENT *)m->y + c * m->y_channel;
        for (int64_t i = 0; i < t->count; i++) {
            const int64_t from = ry_points_number(pixel, far, i);
            y[i * m->y_position] = from < 0 ? 0 : x[from * m->x_pixel];
        }
    }
}

#undef LANE
#undef ELEMENT
#undef SUM
#undef LOAD
#undef LOAD_ONE
#undef STORE
