/* SPDX-License-Identifier: Apache-2.0 */
/* Peak loop of products of tiles of bfloat16. */
#include "kernels/cpu/peak/peak.h"
#include "kernels/cpu/simd/amx_tile.h"
#include "kernels/cpu/simd/isa.h"

double RY_ISA_SYMBOL(peak_tiles)(size_t rounds, float *sink)
{
    enum { CHAINS = 6, FLOP = 2 * RY_AMX_ROWS * RY_AMX_ROWS * 2 * RY_AMX_ROWS };
    uint16_t operand[2 * RY_AMX_ROWS * RY_AMX_ROWS];
    float sums[RY_AMX_ROWS * RY_AMX_ROWS];
    for (int i = 0; i < 2 * RY_AMX_ROWS * RY_AMX_ROWS; i++) {
        operand[i] = 0x3586; /* 1e-6: no sum grows beyond all bounds */
    }
    ry_amx tiles;
    ry_amx_begin(&tiles);
    ry_amx_zero(&tiles, 0);
    ry_amx_zero(&tiles, 1);
    ry_amx_zero(&tiles, 2);
    ry_amx_zero(&tiles, 3);
    ry_amx_zero(&tiles, 4);
    ry_amx_zero(&tiles, 5);
    ry_amx_load(&tiles, 6, operand, RY_AMX_ROW_BYTES);
    ry_amx_load(&tiles, 7, operand, RY_AMX_ROW_BYTES);
    for (size_t r = 0; r < rounds; r++) {
        ry_amx_dot_bf16(&tiles, 0, 6, 7);
        ry_amx_dot_bf16(&tiles, 1, 6, 7);
        ry_amx_dot_bf16(&tiles, 2, 6, 7);
        ry_amx_dot_bf16(&tiles, 3, 6, 7);
        ry_amx_dot_bf16(&tiles, 4, 6, 7);
        ry_amx_dot_bf16(&tiles, 5, 6, 7);
    }
    ry_amx_store(&tiles, 0, sums, RY_AMX_ROW_BYTES);
    ry_amx_end(&tiles);
    *sink = sums[0];
    return (double)FLOP * CHAINS * (double)rounds;
}
