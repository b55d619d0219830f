/* SPDX-License-Identifier: Apache-2.0 */
/* What wide tiles copy for convolutions whose x has neighbouring channels: the packed weights and x, as
 * copied_window.cl does. */
#define TAP_W (CHANNELS / TILE_K * BLOCK_W)
/* Is a chunk of bytes copied for what is outside x? */
#define FILLED (X_BEYOND != 0)

/* What an item copies next. */
typedef struct copier {
    cursor x;
    GLOBAL const uint4 *weights;
    INDEX base[COPIES_X];
    uint inside[COPIES_X];
} copier;

FUNCTION copier copier_at(int begin, tile t, GLOBAL const TYPE_0 *x, GLOBAL const STAGED *packed)
{
    const INDEX panel = (INDEX)t.batch * TILES_M + t.m / TILE_M,
                block = panel * PACKED_BLOCKS + weights_of(begin, t) / TILE_K;
    copier c;
    c.x = cursor_at(begin + COPY_TERM, t, x);
#if FILLED
    c.x.outside = (GLOBAL const TYPE_0 *)(packed + (STARTS - OUTSIDE_QUADS));
#endif
    c.weights = (GLOBAL const uint4 *)packed + block * BLOCK_W;
    UNROLL
    for (int l = 0; l < COPIES_X; l++) {
        find_column(t.n + COPY_COLUMN(l), t, &c.base[l], &c.inside[l]);
    }
    return c;
}

#define BEGIN_COPIES(t, begin) copier c = copier_at(begin, t, IN(TYPE_0, 0), PACKED(STAGED));
#define ALIGNED_COPIES         ((ulong)IN(TYPE_0, 0) % CHUNK == 0)

FUNCTION void copy_tiles(target to, copier *c)
{
    copy_weights(to, c->weights);
    UNROLL
    for (int l = 0; l < COPIES_X; l++) {
        const int inside = (c->inside[l] & c->x.tap) != 0;
        copy_chunk(to, l, inside || !FILLED || !to.aligned ? c->x.x + c->base[l] : c->x.outside,
                   inside || (FILLED && to.aligned) ? CHUNK : 0);
    }
    advance(&c->x);
    c->weights += BLOCK_W + c->x.skipped * TAP_W;
}

/* Packs the weights, zeros beyond the last row and term. */
KERNEL(pack)(ARGUMENTS)
{
    const INDEX at = (INDEX)GROUP * PACK_ITEMS + ITEM, block = at / (TILE_K * TILE_M);
    const int side = (int)(at / TILE_K % TILE_M),
              row = (int)(block % PACKED_BLOCKS) * TILE_K + packed_term(side, (int)(at % TILE_K)),
              m = (int)(block / PACKED_BLOCKS % TILES_M) * TILE_M + side,
              group = (int)(block / (PACKED_BLOCKS * TILES_M)), channel = row % CHANNELS,
              tap = row / CHANNELS;
    if (group < BATCHES) {
        const INDEX from = (INDEX)group * W_GROUP + (INDEX)m * W_OUT + (INDEX)channel * W_IN +
                           (INDEX)(tap / (WINDOW_2 * WINDOW_1)) * W_STEP_0 +
                           (INDEX)(tap / WINDOW_2 % WINDOW_1) * W_STEP_1 +
                           (INDEX)(tap % WINDOW_2) * W_STEP_2;
        const int there = m < ROWS && tap < WINDOW;
        PACKED(STAGED)[at] = there ? W_ELEMENT(IN(TYPE_1, 1), from, channel) : (STAGED)0;
    }
    PACK_STARTS(at)
}
