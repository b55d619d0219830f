/* SPDX-License-Identifier: Apache-2.0 */
/* From sums to y: bias, residual, activation, and y's own order in memory. */
#include "kernels/cpu/amx/split_conv.h"
#include "kernels/cpu/parts/activation.h"
#include "kernels/cpu/parts/epilogue.h"
#include "kernels/cpu/simd/simd.h"

/* n values next to each other in y; biases: one each, else one for all. */
static void end_run(const split_end *end, float *values, int64_t n, const float *bias, bool biases,
                    const float *residual, float *y)
{
    for (int64_t i = 0; i < n; i += RY_W) {
        const ry_vm some = ry_vm_first(n - i);
        ry_vf v =
            ry_vf_add(ry_vf_load(values + i), biases ? ry_vf_load(bias + i) : ry_vf_set(*bias));
        if (residual) {
            v = ry_vf_add(v, ry_vf_load_m(residual + i, some));
        }
        if (end->bounds) {
            v = ry_vf_min(ry_vf_set(end->high), ry_vf_max(ry_vf_set(end->low), v));
            ry_vf_store_m(y + i, some, v);
        } else {
            ry_vf_store_m(values + i, some, v); /* the next piece's values may follow */
        }
    }
    if (!end->bounds) {
        RY_BASE_SYMBOL(activate)(end->activation, values, n);
        memcpy(y, values, (size_t)n * sizeof *y);
    }
}

/* The same with steps in y and the residual. */
static void end_spread(const split_end *end, float *values, int64_t n, float bias,
                       const float *residual, int64_t r_step, float *y, int64_t y_step)
{
    for (int64_t i = 0; i < n; i++) {
        values[i] += bias + (residual ? residual[i * r_step] : 0.0f);
    }
    RY_BASE_SYMBOL(activate)(end->activation, values, n);
    for (int64_t i = 0; i < n; i++) {
        y[i * y_step] = values[i];
    }
}

/* Pixels of one row of y, the first of them `at` in the block. */
typedef struct piece {
    int64_t at, length, y, r;
} piece;

static void end_channels(const split_plan *plan, const split_end *end, const piece *p, float *sums)
{
    for (int64_t i = 0; i < p->length; i++) {
        const float *residual =
            end->residual ? end->residual + p->r + i * plan->phase.r_step[2] : NULL;
        end_run(end, sums + (p->at + i) * SPLIT_OC_BLOCK, end->channels, end->bias, true, residual,
                end->y + p->y + i * plan->phase.y_step[2]);
    }
}

static void end_pixels(const split_plan *plan, const split_end *end, const piece *p,
                       float *transposed, int64_t transposed_step)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t y_step = plan->phase.y_step[2], r_step = plan->phase.r_step[2];
    const bool contiguous = (y_step == 1 && (!end->residual || r_step == 1)) || p->length == 1;
    for (int64_t c = 0; c < end->channels; c++) {
        const float *residual = end->residual ? end->residual + p->r + c * g->r_channel : NULL;
        float *values = transposed + c * transposed_step + p->at,
              *y = end->y + p->y + c * g->y_channel;
        if (contiguous) {
            end_run(end, values, p->length, &end->bias[c], false, residual, y);
        } else {
            end_spread(end, values, p->length, end->bias[c], residual, r_step, y, y_step);
        }
    }
}

void RY_ISA_SYMBOL(split_output)(const split_plan *plan, const split_task *t, const split_end *end,
                                 float *sums, float *transposed)
{
    const ry_conv_geometry *g = &plan->geometry;
    const ry_conv_phase *phase = &plan->phase;
    const int64_t transposed_step = (t->count + 15) / 16 * 16;
    if (!plan->along_channels) {
        RY_BASE_SYMBOL(transpose_block)
        (sums, SPLIT_OC_BLOCK, t->count, end->channels, transposed, transposed_step);
    }
    for (int64_t i = 0; i < t->count;) {
        const int64_t f = t->first + i, row = t->row + f / plan->plane[2],
                      column = f % plan->plane[2];
        const int64_t left = t->count - i, rest = plan->plane[2] - column,
                      inside = g->out[2] - column;
        if (inside > 0) {
            const piece p = {
                i, inside < left ? inside : left,
                t->depth * phase->y_step[0] + row * phase->y_step[1] + column * phase->y_step[2],
                t->depth * phase->r_step[0] + row * phase->r_step[1] + column * phase->r_step[2]};
            if (plan->along_channels) {
                end_channels(plan, end, &p, sums);
            } else {
                end_pixels(plan, end, &p, transposed, transposed_step);
            }
        }
        i += rest < left ? rest : left;
    }
}
