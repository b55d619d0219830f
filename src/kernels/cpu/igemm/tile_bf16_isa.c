/* SPDX-License-Identifier: Apache-2.0 */
/* Products of bfloat16 pairs with sums in f32: the micro-kernels of tile.h, where a step of k is
 * two products, and their operands. */
#include "kernels/cpu/igemm/igemm_bf16.h"
#include "kernels/cpu/simd/simd_bf16.h"

#define OPERAND         int32_t
#define O_VECTOR        ry_vi
#define O_SET           ry_vi_set
#define O_LOAD          ry_vi_load
#define O_LOAD_M        ry_vi_load_m
#define V_FMA           ry_vf_dot_bf16
#define TILE_NAME(part) bf16_##part
#include "kernels/cpu/parts/tile_template.h"

#define BF16_1(rows)  bf16_1x##rows,
#define BF16_2(rows)  bf16_2x##rows,
#define BF16_1K(rows) bf16_1x##rows##k,
#define BF16_2K(rows) bf16_2x##rows##k,

static const ry_tile_set tiles = {{{TILE_ROWS_LIST(BF16_1)}, {TILE_ROWS_LIST(BF16_2)}},
                                  {{TILE_ROWS_LIST(BF16_1K)}, {TILE_ROWS_LIST(BF16_2K)}}};

static void pair_micropanel(float *micropanel, int64_t depth, int64_t columns)
{
    int32_t *to = (int32_t *)(void *)micropanel;
    for (int64_t k = 0; k < depth; k += 2, to += columns) {
        const float *even = micropanel + k * columns;
        for (int64_t j = 0; j < columns; j += RY_W) {
            const ry_vf odd = k + 1 < depth ? ry_vf_load(even + columns + j) : ry_vf_zero();
            ry_vi_store(to + j, ry_vi_pairs_bf16(ry_vf_load(even + j), odd));
        }
    }
}

static void pair_row(float *row, int64_t depth)
{
    int32_t *to = (int32_t *)(void *)row;
    for (int64_t k = 0; k < depth; k += 2 * RY_W, to += RY_W) {
        const int64_t rest = depth - k;
        const ry_vf low = ry_vf_load_m(row + k, ry_vm_first(rest));
        const ry_vf high =
            rest > RY_W ? ry_vf_load_m(row + k + RY_W, ry_vm_first(rest - RY_W)) : ry_vf_zero();
        ry_vi_store(to, ry_vi_row_bf16(low, high));
    }
}

const ry_tile_pairs RY_ISA_SYMBOL(bf16_pairs) = {
    .tiles = &tiles, .micropanel = pair_micropanel, .row = pair_row};
