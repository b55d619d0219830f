/* SPDX-License-Identifier: Apache-2.0 */
/* The variant of depthwise_rotating.h. */
#include "kernels/cpu/depthwise/depthwise_rotating.h"

#include "base/integer.h"

enum { TAPS = 3 };

/* Some neighbouring rows of one vector of columns. */
typedef struct part {
    const float *x; /* what tap (0, 0) of the first row's first output reads */
    float *to;
    const float *residual; /* NULL: none */
    const float *weight;
    const ry_vm *mask;
    int64_t rows;
    float bias;
    bool above, below; /* are the first and the last row that the window reaches inside x? */
} part;

/* Which loads of a row have masks: those of a vector at the left end, at the right one, at both. */
enum { INNER = 0, LEFT = 1, RIGHT = 2, ALONE = LEFT | RIGHT };

RY_INLINE ry_vf load_lanes(const float *x, const ry_vm *mask, const bool masked)
{
    return ry_vf_keep(masked ? ry_vf_load_m(x, *mask) : ry_vf_load(x));
}

/* What each tap of a row of the window reads; the plan knows where these loads are. */
RY_INLINE void load_row(const float *x, const ry_vm mask[ROTATING_LOADS], const int stride,
                        const int ends, ry_vf v[TAPS])
{
    const bool left = ends & LEFT, right = ends & RIGHT, both = left && right;
    const ry_vf first = load_lanes(x, mask, left);
    if (stride == 1) {
        v[0] = first;
        v[1] = load_lanes(x + 1, mask + 1, both);
        v[2] = load_lanes(x + 2, mask + 2, right);
    } else {
        ry_vf between;
        ry_vf_deinterleave_loose(first, load_lanes(x + RY_W, mask + 1, both), &v[0], &v[1]);
        ry_vf_deinterleave_loose(load_lanes(x + 1, mask + 2, both),
                                 load_lanes(x + 1 + RY_W, mask + 3, right), &between, &v[2]);
    }
}

/* Adds row r of the window. */
RY_INLINE ry_vf add_taps(ry_vf sum, ry_vf w[TAPS][TAPS], const ry_vf v[TAPS], const int r)
{
#pragma GCC unroll 4
    for (int s = 0; s < TAPS; s++) {
        sum = ry_vf_fma(w[s][r], v[s], sum);
    }
    return sum;
}

/* Residual, bounds, store: a full vector, or (at 0) some lanes. */
RY_INLINE void end_row(const depthwise_rotating *t, float *to, const float *residual, ry_vf sum,
                       const int stride, const bool full, const bool over)
{
    ry_vf y = stride == 1 ? sum : ry_vf_tidy(sum);
    if (residual) {
        y = ry_vf_add(y,
                      full ? ry_vf_load(residual) : ry_vf_load_m(residual, ry_vm_first(t->lanes)));
    }
    y = ry_vf_min(t->high, ry_vf_max(t->low, y));
    if (full || over) {
        ry_vf_store(to, y);
    } else {
        ry_vf_store_first(to, t->lanes, y);
    }
}

RY_INLINE void rotate_down(const depthwise_rotating *t, const part *p, const int stride,
                           const int ends)
{
    const bool full = ends != ALONE; /* are all lanes outputs? */
    ry_vf w[TAPS][TAPS], v[TAPS];
#pragma GCC unroll 16
    for (int i = 0; i < TAPS * TAPS; i++) {
        w[i / TAPS][i % TAPS] = ry_vf_set(p->weight[i]);
    }
    const ry_vf bias = ry_vf_set(p->bias);
    const float *x = p->x, *residual = p->residual;
    float *to = p->to;
    const int64_t pitch = t->pitch, to_row = t->to_row, residual_row = t->residual_row;
    const ry_vm *mask = p->mask;
    const bool over = t->over, fetches = t->plan->fetches;
    /* the rows that roll next, below */
    const int64_t ahead = t->rows * stride * pitch, to_prefetch = t->rows * to_row;
    ry_vf sum = bias, next = bias;
    if (p->above) {
        load_row(x, mask, stride, ends, v);
        sum = add_taps(sum, w, v, 0);
    }
    x += pitch;
    load_row(x, mask, stride, ends, v);
    sum = add_taps(sum, w, v, 1);
    if (stride == 1) {
        next = add_taps(next, w, v, 0);
    }
    for (int64_t left = p->rows; --left > 0; to += to_row, residual += residual_row) {
        x += pitch;
        if (fetches) {
            __builtin_prefetch(x + ahead, 0, 3);
            __builtin_prefetch(to + to_prefetch, 1, 3);
        }
        load_row(x, mask, stride, ends, v);
        end_row(t, to, residual, add_taps(sum, w, v, 2), stride, full, over);
        if (stride == 1) {
            sum = add_taps(next, w, v, 1);
            next = add_taps(bias, w, v, 0);
        } else {
            sum = add_taps(bias, w, v, 0);
            x += pitch;
            if (fetches) {
                __builtin_prefetch(x + ahead, 0, 3);
            }
            load_row(x, mask, stride, ends, v);
            sum = add_taps(sum, w, v, 1);
        }
    }
    if (p->below) {
        load_row(x + pitch, mask, stride, ends, v);
        sum = add_taps(sum, w, v, 2);
    }
    end_row(t, to, residual, sum, stride, full, false);
}

#define ROTATING(name, stride, ends)                             \
    static void name(const depthwise_rotating *t, const part *p) \
    {                                                            \
        rotate_down(t, p, stride, ends);                         \
    }
ROTATING(inner_1, 1, INNER)
ROTATING(left_1, 1, LEFT)
ROTATING(right_1, 1, RIGHT)
ROTATING(alone_1, 1, ALONE)
ROTATING(inner_2, 2, INNER)
ROTATING(left_2, 2, LEFT)
ROTATING(right_2, 2, RIGHT)
ROTATING(alone_2, 2, ALONE)

typedef void (*rotate_function)(const depthwise_rotating *t, const part *p);

/* [stride - 1][ends] */
static const rotate_function rotates[2][4] = {{inner_1, left_1, right_1, alone_1},
                                              {inner_2, left_2, right_2, alone_2}};

static void rotate_columns(const depthwise_rotating *t, part *p)
{
    const int64_t stride = t->plan->geometry.stride[2];
    const rotate_function *rotating = rotates[stride - 1];
    int64_t left = t->plan->geometry.out[2];
    p->mask = t->mask[0];
    rotating[left <= RY_W ? ALONE : LEFT](t, p);
    for (left -= RY_W; left > 0; left -= RY_W) {
        /* the last vector ends with the row */
        const int64_t by = ry_min(left, RY_W);
        p->x += by * stride;
        p->to += by;
        p->residual += p->residual ? by : 0;
        p->mask = t->mask[1];
        rotating[left > RY_W ? INNER : RIGHT](t, p);
    }
}

void RY_ISA_SYMBOL(depthwise_rotating_make)(const depthwise_nchw_plan *plan,
                                            const depthwise_plane *plane,
                                            depthwise_rotating *rotating)
{
    const ry_conv_geometry *g = &plan->geometry;
    const ry_conv_phase *at = &plan->phase;
    const int64_t rows = plane->end_row - plane->first_row;
    *rotating = (depthwise_rotating){.plan = plan,
                                     .low = ry_vf_set(plane->low),
                                     .high = ry_vf_set(plane->high),
                                     .pitch = g->x_step[1],
                                     .to_row = at->y_step[1],
                                     .residual_row = plane->residual ? plane->residual_row : 0,
                                     .rows = ry_ceil_div(rows, ry_ceil_div(rows, ROTATING_ROWS)),
                                     .lanes = ry_min(g->out[2], RY_W),
                                     .over = at->y_step[1] == g->out[2] && 2 * g->out[2] >= RY_W};
    for (int64_t i = 0; i < 2 * plan->loads; i++) {
        rotating->mask[i / plan->loads][i % plan->loads] = ry_vm_bits(plan->mask[i]);
    }
}

void RY_ISA_SYMBOL(depthwise_rotating_plane)(const depthwise_rotating *rotating,
                                             const depthwise_plane *plane)
{
    const ry_conv_geometry *g = &rotating->plan->geometry;
    part p = {.weight = plane->weight, .bias = plane->bias};
    for (int64_t y = plane->first_row; y < plane->end_row; y += rotating->rows) {
        const int64_t end = ry_min(y + rotating->rows, plane->end_row),
                      first = y * g->stride[1] - g->before[1];
        p.x = plane->x + first * rotating->pitch - g->before[2];
        p.to = plane->y + y * rotating->to_row;
        p.residual = plane->residual ? plane->residual + y * rotating->residual_row : NULL;
        p.rows = end - y;
        p.above = first >= 0;
        p.below = (end - 1) * g->stride[1] - g->before[1] + TAPS <= g->in[1];
        rotate_columns(rotating, &p);
    }
}
