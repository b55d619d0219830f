/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of copied tiles, packed as the tiles lie in local memory. The terms of a row are in the order in
 * which LOADED_PAIRS takes floats: one of words c and c + 4 is a pair. */

/* The item's first chunk of the tile in which a work-group's terms begin. */
FUNCTION GLOBAL const uint4 *weights_at(int begin, tile t, GLOBAL const STAGED *packed)
{
    const INDEX panel = (INDEX)t.batch * TILES_M + t.m / TILE_M,
                block = panel * PACKED_BLOCKS + weights_of(begin, t) / TILE_K;
    return (GLOBAL const uint4 *)packed + block * BLOCK_OF(0) + ITEM;
}

FUNCTION void copy_weights(target to, GLOBAL const uint4 *weights)
{
    UNROLL
    for (int l = 0; l < COPIES_OF(0); l++) {
        copy_async(to.address + (uint)((ITEM + l * ITEMS) * CHUNK), weights + l * ITEMS, CHUNK);
    }
}

/* The term of an element of a packed row. */
FUNCTION int packed_term(int row, int at)
{
    const int k = ((at / LANES_OF(0)) ^ turn_of(row, 0)) * LANES_OF(0) + at % LANES_OF(0);
    return LOADED_X == LOADED_PAIRS ? k / 16 * 16 + k % 16 / 8 * 8 + k % 8 / 2 + k % 2 * 4 : k;
}

/* Packs the weights, zeros beyond the last row and term. */
KERNEL(pack)(ARGUMENTS)
{
    const INDEX at = (INDEX)GROUP * PACK_ITEMS + ITEM, block = at / (TILE_K * TILE_M);
    const int side = (int)(at / TILE_K % TILE_M),
              row = (int)(block % PACKED_BLOCKS) * TILE_K + packed_term(side, (int)(at % TILE_K)),
              m = (int)(block / PACKED_BLOCKS % TILES_M) * TILE_M + side,
              group = (int)(block / (PACKED_BLOCKS * TILES_M)),
              channel = TAPS_FIRST ? row / WINDOW : row % CHANNELS,
              tap = TAPS_FIRST ? row % WINDOW : row / CHANNELS;
    if (group < BATCHES) {
        const INDEX from = (INDEX)group * W_GROUP + (INDEX)m * W_OUT + (INDEX)channel * W_IN +
                           (INDEX)(tap / (WINDOW_2 * WINDOW_1)) * W_STEP_0 +
                           (INDEX)(tap / WINDOW_2 % WINDOW_1) * W_STEP_1 +
                           (INDEX)(tap % WINDOW_2) * W_STEP_2;
        const int there = m < ROWS && tap < WINDOW && channel < CHANNELS;
        PACKED(STAGED)[at] = there ? W_ELEMENT(IN(TYPE_1, 1), from, channel) : (STAGED)0;
    }
    PACK_STARTS(at)
}
