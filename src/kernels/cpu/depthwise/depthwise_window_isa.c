/* SPDX-License-Identifier: Apache-2.0 */
/* Strips of the greatest height with windows of 5x5 and 7x7, whose size is known to the compiler.
 */
#include "kernels/cpu/depthwise/depthwise_strip.h"

enum {
    HEIGHT = STRIP_ROWS,
    /* floats from what a vector reads and writes to what is fetched: columns that come two
     * passes later */
    PREFETCHED = 2 * RY_W
};

/* A vector of a strip: see strip. */
typedef struct unit {
    const float *x;
    int64_t pitch, step;
    uint64_t inside;
    const uint32_t *mask; /* mask of each window column */
    const float *weight;
    float bias;
    bool fetches;
    int64_t left; /* pixels from its first one on */
    float *to;
    int64_t to_row;
    const float *residual; /* NULL: none */
    int64_t residual_row;
} unit;

static const uint32_t all[STRIP_TAPS] = {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u};

/* Residual, bounds, store. */
RY_INLINE void end_unit(const unit *u, const float low, const float high, const ry_vf sum[HEIGHT])
{
    const ry_vf min = ry_vf_set(low), max = ry_vf_set(high);
    const ry_vm last = ry_vm_first(u->left);
    const int64_t to_row = u->to_row, residual_row = u->residual_row, left = u->left;
    float *to = u->to;
    const float *residual = u->residual;
#pragma GCC unroll 8
    for (int i = 0; i < HEIGHT; i++) {
        ry_vf y = sum[i];
        if (residual) {
            y = ry_vf_add(y, ry_vf_load_m(residual + i * residual_row, last));
        }
        ry_vf_store_first(to + i * to_row, left, ry_vf_min(max, ry_vf_max(min, y)));
    }
}

RY_INLINE void sum_unit(const unit *u, const float low, const float high, const int taps,
                        const bool full)
{
    ry_vf sum[HEIGHT];
    const ry_vf bias = ry_vf_set(u->bias);
#pragma GCC unroll 8
    for (int i = 0; i < HEIGHT; i++) {
        sum[i] = bias;
    }
    const int64_t pitch = u->pitch, step = u->step;
    const uint32_t *mask = u->mask;
    const float *weight = u->weight, *x = u->x;
    for (int s = 0; s < taps; s++, weight += taps, x += step) {
        ry_vf w[STRIP_TAPS];
        load_weights(w, weight, taps);
        const ry_vm m = ry_vm_bits(mask[s] & (uint32_t)((1ull << RY_W) - 1));
        uint64_t inside = u->inside;
        /* asked for row after row: GCC would keep all answers, on the stack */
        __asm__("" : "+r"(inside));
#pragma GCC unroll 16
        for (int j = 0; j < HEIGHT + taps - 1; j++) {
            if (full || inside >> j & 1) {
                add_row(sum, w, ry_vf_keep(ry_vf_load_m(x + j * pitch, m)), j, HEIGHT, taps, 1, 1);
            }
        }
    }
    end_unit(u, low, high, sum);
}

#define UNIT(name, taps, full)                                         \
    static void name(const unit *u, const float low, const float high) \
    {                                                                  \
        sum_unit(u, low, high, taps, full);                            \
    }
UNIT(five, 5, false)
UNIT(five_full, 5, true)
UNIT(seven, 7, false)
UNIT(seven_full, 7, true)

typedef void (*unit_function)(const unit *u, float low, float high);

/* [window][are all rows inside?] */
static const unit_function forms[2][2] = {{five, five_full}, {seven, seven_full}};

/* The last vectors of pairs of strips, which share one. */
static void sum_two_strips(const depthwise_nchw_plan *plan, const depthwise_plane *p, const unit *u,
                           int64_t strips)
{
    const ry_conv_geometry *g = &plan->geometry;
    strip s = {.plan = plan,
               .pitch = u->pitch,
               .weight = u->weight,
               .bias = u->bias,
               .low = ry_vf_set(p->low),
               .high = ry_vf_set(p->high),
               .to_row = u->to_row,
               .residual_row = u->residual_row};
    for (int64_t t = 0; t + 1 < strips; t += 2) {
        const int64_t y = p->first_row + t * HEIGHT, at = y - g->before[1];
        s.x = p->x + at * u->pitch - g->before[2];
        s.inside = depthwise_nchw_inside(plan, at, 2 * HEIGHT + g->kernel[1] - 1);
        s.to = p->y + y * u->to_row;
        s.residual = p->residual ? p->residual + y * u->residual_row : NULL;
        RY_ISA_SYMBOL(depthwise_nchw_two_strips)(&s);
    }
}

/* Lines of x and y further along the rows, which memory's prefetchers do not see coming: columns go
 * down the plane. */
RY_INLINE void prefetch(const unit *u, int64_t first)
{
#pragma GCC unroll 8
    for (int i = 0; i < HEIGHT; i++) {
        __builtin_prefetch(u->x + (first + i) * u->pitch + PREFETCHED, 0, 3);
        __builtin_prefetch(u->to + i * u->to_row + PREFETCHED, 1, 3);
    }
}

/* A vector of each strip from one on. */
static void sum_vector(const depthwise_nchw_plan *plan, const depthwise_plane *p, unit *u,
                       int64_t column, int64_t t, int64_t strips)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t rows = HEIGHT + g->kernel[1] - 1;
    u->left = g->out[2] - column;
    for (; t < strips; t++) {
        const int64_t y = p->first_row + t * HEIGHT, at = y - g->before[1];
        u->x = p->x + at * u->pitch + column - g->before[2];
        u->to = p->y + y * u->to_row + column;
        u->residual = p->residual ? p->residual + y * u->residual_row + column : NULL;
        if (u->fetches) {
            prefetch(u, g->kernel[1] - 1);
        }
        const bool full = at >= 0 && at + rows <= g->in[1];
        u->inside = full ? 0 : depthwise_nchw_rows(depthwise_nchw_inside(plan, at, rows), 0);
        forms[g->kernel[1] == 7][full](u, p->low, p->high);
    }
}

void RY_ISA_SYMBOL(depthwise_nchw_windows)(const depthwise_nchw_plan *plan,
                                           const depthwise_plane *p, int64_t strips)
{
    unit u = {.fetches = plan->fetches,
              .pitch = plan->geometry.x_step[1],
              .step = plan->geometry.dilation[2],
              .weight = p->weight,
              .bias = p->bias,
              .to_row = plan->phase.y_step[1],
              .residual_row = p->residual_row};
    const uint32_t *mask = plan->mask;
    for (int64_t v = 0; v < plan->vectors; v++) {
        const bool edge = v < plan->left || v >= plan->vectors - plan->right,
                   halved = plan->two_strips && v == plan->vectors - 1;
        u.mask = edge ? mask : all;
        mask += edge ? plan->loads : 0;
        sum_vector(plan, p, &u, v * RY_W, halved ? strips / 2 * 2 : 0, strips);
    }
    if (plan->two_strips) {
        sum_two_strips(plan, p, &u, strips);
    }
}
