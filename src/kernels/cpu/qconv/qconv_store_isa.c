/* SPDX-License-Identifier: Apache-2.0 */
/* From finished sums of an oc block to y: scaled, rounded to even, bounded, with a residual. */
#include "base/integer.h"
#include "kernels/cpu/qconv/qconv.h"
#include "kernels/cpu/qconv/requantise.h"

/* A row of channels of a pixel. */
typedef struct row {
    const int32_t *sum;
    const float *scale;
    const uint8_t *residual;
    uint8_t *y; /* channels are next to each other */
    int64_t channels;
} row;

/* A vector of channels; the channels from `rest` on are padding. */
RY_INLINE ry_vi quantised(const ry_ends *e, const row *r, int64_t c, int64_t rest, bool residual)
{
    const ry_vm some = ry_vm_first(rest);
    const ry_vf scale = rest >= RY_W ? ry_vf_load(r->scale + c) : ry_vf_load_m(r->scale + c, some);
    const ry_vi sum = ry_vi_load(r->sum + c);
    return residual ? ry_requantise_residual(e, sum, scale, ry_vf_load_u8(r->residual + c, rest))
                    : ry_requantise(e, sum, scale);
}

RY_INLINE void store_row(const ry_ends *e, const row *r, bool residual)
{
    int64_t c = 0;
    for (; c + RY_W <= r->channels; c += RY_W) {
        ry_vi_store_u8(r->y + c, RY_W, quantised(e, r, c, RY_W, residual));
    }
    if (c < r->channels) {
        const int64_t rest = r->channels - c;
        ry_vi_store_u8(r->y + c, rest, quantised(e, r, c, rest, residual));
    }
}

/* A row of y that is no bytes. */
static void store_wide(const row *r, ry_dtype dtype, void *y, int64_t at, int64_t step)
{
    if (dtype == RY_f32 && step == 1) {
        float *to = (float *)y + at;
        for (int64_t c = 0; c < r->channels; c++) {
            to[c] = (float)r->sum[c] * r->scale[c];
        }
        return;
    }
    for (int64_t c = 0; c < r->channels; c++) {
        if (dtype == RY_f32) {
            ((float *)y)[at + c * step] = (float)r->sum[c] * r->scale[c];
        } else {
            ((int32_t *)y)[at + c * step] = r->sum[c];
        }
    }
}

/* Pixels of y whose channels are apart, by way of a row of their own. */
static void store_strided(const ry_ends *e, row r, int64_t y_step, int64_t r_step, uint8_t *y)
{
    enum { MOST = 64 };
    uint8_t bytes[MOST], residual[MOST];
    const uint8_t *from = r.residual;
    for (int64_t c = 0; c < r.channels; c += MOST) {
        const row part = {r.sum + c, r.scale + c, from ? residual : NULL, bytes,
                          ry_min(MOST, r.channels - c)};
        for (int64_t i = 0; from && i < part.channels; i++) {
            residual[i] = from[(c + i) * r_step];
        }
        if (from) {
            store_row(e, &part, true);
        } else {
            store_row(e, &part, false);
        }
        for (int64_t i = 0; i < part.channels; i++) {
            y[(c + i) * y_step] = bytes[i];
        }
    }
}

void RY_ISA_SYMBOL(qconv_store_oc_block)(const void *how, const igemm_task *t, int64_t oc_block)
{
    const qconv_store *store = how;
    const ry_problem *problem = store->problem;
    const ry_conv_geometry *g = &t->plan->geometry;
    const ry_ends e = ry_ends_of(&problem->attrs.qconv);
    const ry_dtype dtype = ry_type_of(&problem->out[0]);
    const bool residual = ry_problem_has_input(problem, 3);
    const int64_t first = igemm_oc_block_first(t->plan, oc_block),
                  channel = t->group * g->channels_out + first;
    const bool together = g->y_channel == 1 && (!residual || g->r_channel == 1);
    for (const epilogue_run *run = t->run; run < t->run + t->runs; run++) {
        for (int64_t i = 0; i < run->length; i++) {
            const int64_t at = run->y + i * run->y_step + channel * g->y_channel;
            row r = {(const int32_t *)(const void *)t->block + (run->column + i) * t->block_step +
                         (first - t->block_channel),
                     store->scale + channel, NULL, NULL, igemm_oc_block_count(t->plan, oc_block)};
            if (dtype != RY_u8) {
                store_wide(&r, dtype, t->launch->out[0], at, g->y_channel);
                continue;
            }
            r.y = (uint8_t *)t->launch->out[0] + at;
            r.residual = residual ? (const uint8_t *)t->launch->in[3] + run->r + i * run->r_step +
                                        channel * g->r_channel
                                  : NULL;
            if (!together) {
                store_strided(&e, r, g->y_channel, g->r_channel, r.y);
            } else if (residual) {
                store_row(&e, &r, true);
            } else {
                store_row(&e, &r, false);
            }
        }
    }
}
