/* SPDX-License-Identifier: Apache-2.0 */
/* What wide tiles copy for matrix products: b, packed, and rows of a, as they are. Beyond the last row and term
 * are zeros. */
#define WHOLE_TERMS (TERMS % TILE_K == 0)

/* What an item copies next. */
typedef struct copier {
    GLOBAL const TYPE_0 *x;
    GLOBAL const uint4 *weights;
    uint there; /* its columns that are, a bit each */
    int left;   /* terms, from its first on */
} copier;

FUNCTION copier copier_at(int begin, tile t, GLOBAL const TYPE_0 *x, GLOBAL const STAGED *packed)
{
    const INDEX panel = (INDEX)(PACKED_BATCHES > 1 ? t.batch : 0) * TILES_M + t.m / TILE_M,
                block = panel * PACKED_BLOCKS + begin / TILE_K;
    const int n = t.n + COPY_COLUMN(0), k = begin + COPY_TERM;
    copier c;
    c.x = x + AT_0(t.batch) + (INDEX)n * X_COLUMN + k;
    c.weights = (GLOBAL const uint4 *)packed + block * BLOCK_W;
    c.there = 0;
    c.left = END_TERM(t) - k;
    UNROLL
    for (int l = 0; l < COPIES_X; l++) {
        c.there |= t.n + COPY_COLUMN(l) < N ? 1u << l : 0u;
    }
    return c;
}

#define BEGIN_COPIES(t, begin) copier c = copier_at(begin, t, IN(TYPE_0, 0), PACKED(STAGED));
#define ALIGNED_COPIES         ((ulong)IN(TYPE_0, 0) % CHUNK == 0)

FUNCTION void copy_tiles(target to, copier *c)
{
    const int bytes = WHOLE_TERMS ? CHUNK : min(max(c->left, 0), LANES_X) * BYTES_X;
    copy_weights(to, c->weights);
    UNROLL
    for (int l = 0; l < COPIES_X; l++) {
        copy_chunk(to, l, c->x + (INDEX)(l * (ITEMS / CHUNKS_X)) * X_COLUMN,
                   N % TILE_N == 0 || c->there >> l & 1u ? bytes : 0);
    }
    c->x += TILE_K;
    c->left -= TILE_K;
    c->weights += BLOCK_W;
}

/* Packs b, zeros beyond the last column and term. */
KERNEL(pack)(ARGUMENTS)
{
    const INDEX at = (INDEX)GROUP * PACK_ITEMS + ITEM, block = at / (TILE_K * TILE_M);
    const int side = (int)(at / TILE_K % TILE_M),
              k = (int)(block % PACKED_BLOCKS) * TILE_K + packed_term(side, (int)(at % TILE_K)),
              m = (int)(block / PACKED_BLOCKS % TILES_M) * TILE_M + side,
              batch = (int)(block / (PACKED_BLOCKS * TILES_M));
    if (batch < PACKED_BATCHES) {
        const INDEX from = AT_1(batch) + (INDEX)m * W_ROW + (INDEX)k * W_TERM;
        PACKED(STAGED)[at] =
            m < ROWS && k < TERMS ? STAGE_W(LOAD_W(IN(TYPE_1, 1), from)) : (STAGED)0;
    }
}
