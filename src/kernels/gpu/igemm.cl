/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices by tiles: of convolutions, whose second matrix is gathered from x as it is
 * read (implicit GEMM), and of the operator matmul.
 *
 *   y[m][n] = sum over k of w[m][k] * x[k][n]
 *     convolution  m: an output channel of a group, n: a position of a phase in any image of the
 *                  batch, k: an input channel and a tap
 *     product      m: a row of a, n: a column of b
 *     weight gradient: a convolution, of x by y's gradient, whose images are input channels, whose
 *                  channels are images, and whose positions and taps have changed places; SUMS_OF_W:
 *                  groups behind those of the tiles sum a row of w each, the bias' gradient
 *
 * A work-group sums TILE_M by TILE_N of them, a work-item ITEM_M by ITEM_N. Which items are neighbours
 * along what follows the tensors' unit strides. SLICES of a group's items share a step's terms: each sums the
 * whole tile, and the first adds the others' sums. SPLITS work-groups share a long sum: entry `join`
 * (join.cl) adds what they leave in the workspace. Behind this text comes the entry `run` of one kind of
 * tile: items.cl, copied.cl or panels.cl.
 *
 * QUANTISED: sums are whole numbers. QUADS of four channels' bytes are elements of 32 bits, of which
 * w has signed bytes and x 128 less than its own; else bytes are floats, whose sums over a tile's
 * terms are exact.
 *
 * Columns are positions beside each other, image by image; IMAGES_FIRST: of all images in turn.
 *
 * Defined for it: CONVOLUTION (of x, read by LOAD_X; 0: a product with MATRIX_B, whose elements of
 * TYPE_B are read by LOAD_B), PACKED_A (of PACKED_TERMS by PACKED_PITCH elements a batch, rows PANEL by
 * PANEL; 0: MATRIX_A, read by LOAD_A), MATRIX_UNITS and what gpu_operands.h says, PANELS, COPIED and the
 * numbers of gpu_tile.c. A convolution's `pack` reads weights by LOAD_W; FINISH_SUM ends a sum. */
#if !QUADS
#define X_ELEMENT(x, at, channel) LOAD_X(x, at)
#define W_ELEMENT(w, at, channel) STAGE_W(LOAD_W(w, at))
#define X_OUTSIDE                 ((FETCHED_X)0)
#define ADD_PRODUCT(sum, w, x)    ((sum) += (w) * (x))
#endif
#define TILES_ALL (TILES_M * TILES_N * BATCHES * PHASES)
#define ITEMS_M   (TILE_M / ITEM_M)
#define ITEMS_N   (TILE_N / ITEM_N)
#define OWN_ITEMS (ITEMS_M * ITEMS_N)  /* a slice's */
#define ITEMS     (OWN_ITEMS * SLICES)
#define SLICE     (ITEM / OWN_ITEMS)
#define OWN       (ITEM % OWN_ITEMS)

/* The first term of a work-group's share of the sums, and the end. */
#define FIRST_TERM(t) ((t).split * SPLIT_TERMS)
#define END_TERM(t)   (SPLITS > 1 ? min(terms_of(t), FIRST_TERM(t) + SPLIT_TERMS) : terms_of(t))

/* What a work-group computes. */
typedef struct tile {
    int m, n;  /* the first ones */
    int batch; /* the product's batch; a convolution's group */
    int residue_0, residue_1, residue_2;
    int split;
} tile;

FUNCTION tile tile_of(int task)
{
    tile t;
    t.m = task % TILES_M * TILE_M;
    task /= TILES_M;
    t.n = task % TILES_N * TILE_N;
    task /= TILES_N;
    t.batch = task % BATCHES;
    task /= BATCHES;
    t.residue_2 = task % RESIDUES_2;
    task /= RESIDUES_2;
    t.residue_1 = task % RESIDUES_1;
    task /= RESIDUES_1;
    t.residue_0 = task % RESIDUES_0;
    t.split = task / RESIDUES_0;
    return t;
}

#if CONVOLUTION
/* A position of a phase. */
typedef struct position {
    int image, at_0, at_1, at_2;
} position;

FUNCTION position position_of(int n, tile t)
{
    const int grid_0 = GRID_0(t.residue_0), grid_1 = GRID_1(t.residue_1),
              grid_2 = GRID_2(t.residue_2);
    position p;
#if IMAGES_FIRST
    p.image = n % IMAGES;
    n /= IMAGES;
#endif
    p.at_2 = n % grid_2;
    n /= grid_2;
    p.at_1 = n % grid_1;
    n /= grid_1;
#if IMAGES_FIRST
    p.at_0 = n;
#else
    p.at_0 = n % grid_0;
    p.image = n / grid_0;
#endif
    return p;
}

FUNCTION int columns_of(tile t)
{
    return IMAGES * GRID_0(t.residue_0) * GRID_1(t.residue_1) * GRID_2(t.residue_2);
}

FUNCTION int terms_of(tile t)
{
    return CHANNELS * COUNT_0(t.residue_0) * COUNT_1(t.residue_1) * COUNT_2(t.residue_2);
}

/* An input channel and a tap of a phase. */
typedef struct term {
    int channel, tap, tap_0, tap_1, tap_2;
} term;

FUNCTION term term_of(int k, tile t)
{
    /* a phase without taps has no terms, but is asked for the first */
    const int count_1 = max(COUNT_1(t.residue_1), 1), count_2 = max(COUNT_2(t.residue_2), 1);
    const int taps = max(COUNT_0(t.residue_0), 1) * count_1 * count_2;
    term s;
    s.channel = TAPS_FIRST ? k / taps : k % CHANNELS;
    s.tap = TAPS_FIRST ? k % taps : k / CHANNELS;
    s.tap_2 = s.tap % count_2;
    s.tap_1 = s.tap / count_2 % count_1;
    s.tap_0 = s.tap / (count_2 * count_1);
    return s;
}

/* Where the weights of channel and tap are packed, all taps of the window numbered. */
#define PACKED_ROW(channel, tap) \
    (TAPS_FIRST ? (channel) * WINDOW + (tap) : (tap) * CHANNELS + (channel))

FUNCTION int weights_of(int k, tile t)
{
#if !ALL_TAPS
    const term s = term_of(k, t);
    const int tap = ((TAP_0(t.residue_0) + s.tap_0 * TAP_STEP_0) * WINDOW_1 + TAP_1(t.residue_1) +
                     s.tap_1 * TAP_STEP_1) *
                        WINDOW_2 +
                    TAP_2(t.residue_2) + s.tap_2 * TAP_STEP_2;
    return PACKED_ROW(s.channel, tap);
#else
    return k;
#endif
}

/* Is it inside x? Asked only where some position reads outside. */
FUNCTION int is_inside(int masked, int at, int extent)
{
    return masked ? (uint)at < (uint)extent : 1;
}

/* Behind quads of weights: a chunk of what is outside x, and where the sums of output channels begin. */
#if QUADS
#define PACK_STARTS(at)                                                \
    if (at >= STARTS - OUTSIDE_QUADS && at < STARTS) {                 \
        PACKED(uint)[at] = X_OUTSIDE;                                  \
    } else if (at >= STARTS && at < STARTS + BATCHES * ROWS) {         \
        PACKED(int)[at] = start_of(IN(TYPE_1, 1), (int)(at - STARTS)); \
    }
#else
#define PACK_STARTS(at)
#endif

#if !COPIED
/* Packs the weights as the tiles read them: PANEL output channels beside each other, all where there
 * are no panels. */
KERNEL(pack)(ARGUMENTS)
{
    const INDEX at = (INDEX)GROUP * PACK_ITEMS + ITEM;
    const INDEX panel = at / PANEL / (CHANNELS * WINDOW);
    const int row = (int)(at / PANEL % (CHANNELS * WINDOW)),
              m = (int)(panel % (PACKED_PITCH / PANEL) * PANEL + at % PANEL),
              group = (int)(panel / (PACKED_PITCH / PANEL));
    const int channel = TAPS_FIRST ? row / WINDOW : row % CHANNELS,
              tap = TAPS_FIRST ? row % WINDOW : row / CHANNELS;
    if (group < BATCHES) {
        const INDEX from = (INDEX)group * W_GROUP + (INDEX)m * W_OUT + (INDEX)channel * W_IN +
                           (INDEX)(tap / (WINDOW_2 * WINDOW_1)) * W_STEP_0 +
                           (INDEX)(tap / WINDOW_2 % WINDOW_1) * W_STEP_1 +
                           (INDEX)(tap % WINDOW_2) * W_STEP_2;
        PACKED(STAGED)[at] = m < ROWS ? W_ELEMENT(IN(TYPE_1, 1), from, channel) : (STAGED)0;
    }
    PACK_STARTS(at)
}
#endif

#if !SUMS_OF_W
#define SUM_ROW
#define SUM_ROW_IN(room)
#endif
#else
#define columns_of(t)    N
#define terms_of(t)      TERMS
#define weights_of(k, t) (k)
#define SUM_ROW
#define SUM_ROW_IN(room)
#endif

/* Ends the item's sums: what is added to them, the activation, the store. */
#if CONVOLUTION
#define FINISH(sum)                                                                                \
    UNROLL                                                                                         \
    for (int j = 0; j < ITEM_N; j++) {                                                             \
        const int n = t.n + SUM_N(j);                                                              \
        if (n < columns_of(t)) {                                                                   \
            const position p = position_of(n, t);                                                  \
            const INDEX o0 = (INDEX)(p.at_0 * SPREAD_0 + t.residue_0),                             \
                        o1 = (INDEX)(p.at_1 * SPREAD_1 + t.residue_1),                             \
                        o2 = (INDEX)(p.at_2 * SPREAD_2 + t.residue_2);                             \
            UNROLL                                                                                 \
            for (int i = 0; i < ITEM_M; i++) {                                                     \
                const int m = t.m + SUM_M(i);                                                      \
                if (m < ROWS) {                                                                    \
                    const int channel = t.batch * ROWS + m;                                        \
                    FINISH_SUM(SUM_OF(sum, i, j), p.image,     channel, o0, o1, o2, t.residue_0,   \
                               t.residue_1, t.residue_2);                                          \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
#else
#define FINISH(sum)                                                                                \
    UNROLL                                                                                         \
    for (int j = 0; j < ITEM_N; j++) {                                                             \
        const int n = t.n + SUM_N(j);                                                              \
        UNROLL                                                                                     \
        for (int i = 0; i < ITEM_M; i++) {                                                         \
            const int m = t.m + SUM_M(i);                                                          \
            if (n < N && m < ROWS) {                                                               \
                FINISH_PRODUCT(t.batch, m, n, SUM_OF(sum, i, j));                                  \
            }                                                                                      \
        }                                                                                          \
    }
#endif

/* Ends an item's sums: all, or its share of the terms. */
#define PARTIAL(split, l) \
    (((INDEX)(split) * TILES_ALL + GROUP % TILES_ALL) * (TILE_M * TILE_N) + (l) * OWN_ITEMS + OWN)
#if SPLITS > 1
#define END_SUMS(sum)                                  \
    UNROLL                                             \
    for (int l = 0; l < ITEM_M * ITEM_N; l++) {        \
        WORKSPACE(SUM)[PARTIAL(t.split, l)] = (sum)[l]; \
    }
#else
#define END_SUMS(sum) FINISH(sum)
#endif
