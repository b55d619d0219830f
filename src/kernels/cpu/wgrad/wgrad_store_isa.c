/* SPDX-License-Identifier: Apache-2.0 */
/* Sums into weights: squares transposed in registers where the weights of an output channel are
 * together, else element by element. */
#include "kernels/cpu/wgrad/wgrad_store.h"

#include "base/integer.h"
#include "kernels/cpu/simd/simd.h"

static void store_dense(const wgrad_shape *s, const wgrad_piece *piece, const float *sums,
                        float *dw)
{
    for (int64_t row = 0; row < piece->rows; row += RY_W) {
        for (int64_t channel = 0; channel < piece->channels; channel += RY_W) {
            const float *from = sums + row * piece->pitch + channel;
            float *to = dw + channel * s->dw_k + row;
            ry_vf v[RY_W];
#pragma GCC unroll 16
            for (int i = 0; i < RY_W; i++) {
                v[i] = row + i < piece->rows ? ry_vf_load(from + i * piece->pitch) : ry_vf_zero();
            }
            ry_vf_transpose(v);
            const ry_vm lanes = ry_vm_first(piece->rows - row);
            for (int i = 0; i < RY_W && channel + i < piece->channels; i++) {
                ry_vf_store_m(to + i * s->dw_k, lanes, v[i]);
            }
        }
    }
}

void RY_ISA_SYMBOL(wgrad_store)(const wgrad_shape *s, const wgrad_piece *piece, const float *sums,
                                float *dw)
{
    dw += (piece->group * s->k + piece->channel) * s->dw_k;
    if (s->dense) {
        store_dense(s, piece, sums, dw + piece->row);
        return;
    }
    for (int64_t i = 0; i < piece->rows; i++) {
        const int64_t row = piece->row + i;
        float *to = dw + row / s->taps * s->dw_c + ry_wgrad_tap_offset(s, row % s->taps);
        for (int64_t channel = 0; channel < piece->channels; channel++) {
            to[channel * s->dw_k] = sums[i * piece->pitch + channel];
        }
    }
}

void RY_ISA_SYMBOL(wgrad_store_bias)(const wgrad_shape *s, const wgrad_piece *piece,
                                     const float *sums, float *db)
{
    db += (piece->group * s->k + piece->channel) * s->db_step;
    for (int64_t channel = 0; channel < piece->channels; channel++) {
        db[channel * s->db_step] = sums[channel];
    }
}

void RY_ISA_SYMBOL(wgrad_add_parts)(float *sums, int64_t count, int64_t parts, int64_t part_floats)
{
    for (int64_t apart = 1; apart < parts; apart *= 2) {
        for (int64_t part = 0; part + apart < parts; part += 2 * apart) {
            float *to = sums + part * part_floats, *from = to + apart * part_floats;
            for (int64_t i = 0; i < count; i += RY_W) {
                ry_vf_store(to + i, ry_vf_add(ry_vf_load(to + i), ry_vf_load(from + i)));
            }
        }
    }
}
