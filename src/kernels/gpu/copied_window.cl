/* SPDX-License-Identifier: Apache-2.0 */
/* What copied tiles copy for convolutions: the packed weights (copied_weights.cl) and x.
 *
 * Channels of x beside each other: an item copies one chunk of them of COPIES_OF(1) columns. Positions beside
 * each other (X_ACROSS): chunks of positions where X_CHUNKS says that each lies in one image's row at a
 * multiple of 16 bytes, else floats, one by one; all of a tile's terms are of one tap, or there is but one.
 * Where columns begin and which taps read inside x is known before the loop. Past a tap's channels the item
 * steps to the next tap: nothing is divided. */
#define TAP_W (CHANNELS / TILE_K * BLOCK_OF(0))

/* Columns, or chunks of them, of which an item copies terms; its first term and the ones between two. */
#if !X_ACROSS
#define COLUMNS     COPIES_OF(1)
#define COLUMN(i)   (ITEM_ROW(1) + (i) * ROWS_OF(1))
#define ITEM_TERM   (ITEM_CHUNK(1) * LANES_OF(1))
#elif X_CHUNKS
#define COLUMNS     1
#define COLUMN(i)   (ITEM_CHUNK(1) * LANES_OF(1))
#define ITEM_TERM   ITEM_ROW(1)
#else
#define COLUMNS     (TILE_N > ITEMS ? TILE_N / ITEMS : 1)
#define COLUMN(i)   (ITEM % TILE_N + (i) * ITEMS)
#define ITEM_TERM   (ITEM / TILE_N)
#define WORDS       (TILE_N * TILE_K / ITEMS)
#define TERM_OF(l)  ((l) * ITEMS / TILE_N)
#endif
/* Is a chunk of bytes copied for what is outside x? */
#define FILLED (QUADS && X_ZERO != 0)
/* Across, does the sum end with a tile? */
#define WHOLE_TERMS (CHANNELS % TILE_K == 0)

/* What an item copies next. */
typedef struct copier {
    cursor x; /* across: of the tile's first term */
    GLOBAL const uint4 *weights;
    INDEX base[COLUMNS];
    uint inside[COLUMNS];
    int left; /* terms */
} copier;

FUNCTION copier copier_at(int begin, tile t, GLOBAL const TYPE_0 *x, GLOBAL const STAGED *packed)
{
    copier c;
    c.x = cursor_at(begin + (X_ACROSS ? 0 : ITEM_TERM), t, x);
    c.weights = weights_at(begin, t, packed);
    c.left = END_TERM(t) - begin;
#if FILLED
    c.x.outside = (GLOBAL const TYPE_0 *)(packed + (STARTS - OUTSIDE_QUADS));
#endif
    UNROLL
    for (int i = 0; i < COLUMNS; i++) {
        find_column(t.n + COLUMN(i), t, &c.base[i], &c.inside[i]);
        c.base[i] += X_ACROSS ? (INDEX)ITEM_TERM * X_CHANNEL : 0;
    }
    return c;
}

#define BEGIN_COPIES(t, begin) copier c = copier_at(begin, t, IN(TYPE_0, 0), PACKED(STAGED));
#define ALIGNED_COPIES         (!X_CHUNKS || (ulong)IN(TYPE_0, 0) % CHUNK == 0)

#if X_ACROSS && !X_CHUNKS
/* Floats of the item's columns. Where they lie: rows turn alike every 4. */
FUNCTION void copy_x(target to, const copier *c)
{
    UNROLL
    for (int l = 0; l < WORDS; l++) {
        const int i = l % COLUMNS, turn = turn_of(ITEM_TERM + TERM_OF(l) % 4, 1),
                  place = ((COLUMN(i) / 4) ^ turn) * CHUNK + ITEM % 4 * 4 +
                          (ITEM_TERM + TERM_OF(l)) * (CHUNKS_OF(1) * CHUNK);
        const int there = (c->inside[i] & c->x.tap) != 0 &&
                          (WHOLE_TERMS || ITEM_TERM + TERM_OF(l) < c->left);
        copy_word_async(to.address + (uint)(BEGIN_OF(1) + place),
                        c->x.x + c->base[i] + (INDEX)TERM_OF(l) * X_CHANNEL, there ? 4 : 0);
    }
}
#else
#if QUADS
/* A chunk of bytes of x, or what is outside. */
FUNCTION void copy_inside(target to, int place, GLOBAL const TYPE_0 *from, const cursor *c,
                          int inside)
{
    if (to.aligned) {
        copy_async(to.address + (uint)place, inside || !FILLED ? from : c->outside,
                   inside || FILLED ? CHUNK : 0);
        return;
    }
    ROLLED
    for (int i = 0; i < CHUNK; i++) {
        ((TO_LOCAL TYPE_0 *)(to.stage + place))[i] = inside ? from[i] : (TYPE_0)X_ZERO;
    }
}
#else
#define copy_inside(to, place, from, c, inside) \
    copy_chunk(to, place, (GLOBAL const uchar *)(from), (inside) ? CHUNK : 0, 1)
#endif

FUNCTION void copy_x(target to, const copier *c)
{
    UNROLL
    for (int l = 0; l < COPIES_OF(1); l++) {
        const int i = X_ACROSS ? 0 : l, next = X_ACROSS ? l * ROWS_OF(1) : 0;
        const int there = (c->inside[i] & c->x.tap) != 0 &&
                          (!X_ACROSS || WHOLE_TERMS || ITEM_TERM + next < c->left);
        copy_inside(to, copy_place(l, 1), c->x.x + c->base[i] + (INDEX)next * X_CHANNEL, &c->x,
                    there);
    }
}
#endif

FUNCTION void copy_tiles(target to, copier *c)
{
    copy_weights(to, c->weights);
    copy_x(to, c);
    advance(&c->x);
    c->left -= TILE_K;
    c->weights += BLOCK_OF(0) + c->x.skipped * TAP_W;
}
