/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices by tiles: of convolutions, whose second matrix is gathered from x as it is
 * read (implicit GEMM), and of the operator matmul.
 *
 *   y[m][n] = sum over k of w[m][k] * x[k][n]
 *     convolution  m: an output channel of a group, n: a position of a phase in any image of the
 *                  batch, k: an input channel and a tap
 *     product      m: a row of a, n: a column of b
 *
 * A work-group sums TILE_M by TILE_N of them, a work-item ITEM_M by ITEM_N, in chunks of at most
 * four that lie apart, so that neighbours read neighbours. While a tile of TILE_K is multiplied,
 * each item has its part of the next one on the way from memory; two buffers in local memory take
 * turns. Which items are neighbours along what follows the tensors' unit strides. SPLITS work-groups
 * share a long sum: entry `join` adds what they leave in the workspace.
 *
 * Defined for it: CONVOLUTION (0: a product) and gpu_igemm.c's numbers. */
#define ITEMS_M   (TILE_M / ITEM_M)
#define ITEMS_N   (TILE_N / ITEM_N)
#define ITEMS     (ITEMS_M * ITEMS_N)
#define CHUNK_M   (ITEM_M < 4 ? ITEM_M : 4)
#define CHUNK_N   (ITEM_N < 4 ? ITEM_N : 4)
#define LOADS_W   (TILE_M * TILE_K / ITEMS)
#define LOADS_X   (TILE_N * TILE_K / ITEMS)
/* Four more where items that are neighbours along k store into different rows. */
#define PITCH_W   (TILE_M + (W_ALONG_K ? 4 : 0))
#define PITCH_X   (TILE_N + (X_ALONG_K ? 4 : 0))
#define TILES_ALL (TILES_M * TILES_N * BATCHES * PHASES)

/* Of the tile: where load l of an item goes. */
#define W_M(l)    (W_ALONG_K ? (ITEM + (l) * ITEMS) / TILE_K : (ITEM + (l) * ITEMS) % TILE_M)
#define W_K(l)    (W_ALONG_K ? (ITEM + (l) * ITEMS) % TILE_K : (ITEM + (l) * ITEMS) / TILE_M)
#define X_N(l)    (X_ALONG_K ? (ITEM + (l) * ITEMS) / TILE_K : (ITEM + (l) * ITEMS) % TILE_N)
#define X_K(l)    (X_ALONG_K ? (ITEM + (l) * ITEMS) % TILE_K : (ITEM + (l) * ITEMS) / TILE_N)
/* The columns of an item's loads of x: its other loads are of the same ones. */
#define COLUMNS   (X_ALONG_K ? LOADS_X : TILE_N > ITEMS ? TILE_N / ITEMS : 1)

/* Of the tile: where sum i or j of an item is. */
#define ITEM_AT_M (Y_ALONG_M ? ITEM % ITEMS_M : ITEM / ITEMS_N)
#define ITEM_AT_N (Y_ALONG_M ? ITEM / ITEMS_M : ITEM % ITEMS_N)
#define SUM_M(i)  ((i) / CHUNK_M * (CHUNK_M * ITEMS_M) + ITEM_AT_M * CHUNK_M + (i) % CHUNK_M)
#define SUM_N(j)  ((j) / CHUNK_N * (CHUNK_N * ITEMS_N) + ITEM_AT_N * CHUNK_N + (j) % CHUNK_N)

/* What a work-group computes. */
typedef struct tile {
    int m, n;  /* the first ones */
    int batch; /* of a product; a convolution's group */
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
    p.at_2 = n % grid_2;
    n /= grid_2;
    p.at_1 = n % grid_1;
    n /= grid_1;
    p.at_0 = n % grid_0;
    p.image = n / grid_0;
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

/* Packs the weights as the tiles read them: output channels beside each other. */
KERNEL(pack)(ARGUMENTS)
{
    const INDEX at = (INDEX)GROUP * PACK_ITEMS + ITEM;
    const int m = (int)(at % PACKED_PITCH), row = (int)(at / PACKED_PITCH % (CHANNELS * WINDOW)),
              group = (int)(at / PACKED_PITCH / (CHANNELS * WINDOW));
    const int channel = TAPS_FIRST ? row / WINDOW : row % CHANNELS,
              tap = TAPS_FIRST ? row % WINDOW : row / CHANNELS;
    if (group < BATCHES) {
        const INDEX from = (INDEX)group * W_GROUP + (INDEX)m * W_OUT + (INDEX)channel * W_IN +
                           (INDEX)(tap / (WINDOW_2 * WINDOW_1)) * W_STEP_0 +
                           (INDEX)(tap / WINDOW_2 % WINDOW_1) * W_STEP_1 +
                           (INDEX)(tap % WINDOW_2) * W_STEP_2;
        PACKED(float)[at] = m < ROWS ? LOAD_1(IN(TYPE_1, 1), from) : 0.0f;
    }
}
#else
#define columns_of(t) N
#define terms_of(t)   TERMS
#endif

/* Ends the item's sums: what is added to them, the activation, the store. */
#if CONVOLUTION
#define FINISH(sum)                                                                                \
    for (int j = 0; j < ITEM_N; j++) {                                                             \
        const int n = t.n + SUM_N(j);                                                              \
        if (n < columns_of(t)) {                                                                   \
            const position p = position_of(n, t);                                                  \
            const INDEX o0 = (INDEX)(p.at_0 * SPREAD_0 + t.residue_0),                             \
                        o1 = (INDEX)(p.at_1 * SPREAD_1 + t.residue_1),                             \
                        o2 = (INDEX)(p.at_2 * SPREAD_2 + t.residue_2);                             \
            for (int i = 0; i < ITEM_M; i++) {                                                     \
                const int m = t.m + SUM_M(i);                                                      \
                if (m < ROWS) {                                                                    \
                    const int channel = t.batch * ROWS + m;                                        \
                    float y = (sum)[i * ITEM_N + j];                                               \
                    y = ADD_BIAS(y, channel, t.residue_0, t.residue_1, t.residue_2);               \
                    y = ADD_RESIDUAL(y, p.image, channel, o0, o1, o2);                             \
                    STORE_Y(p.image, channel, o0, o1, o2, activate(y));                          \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
#else
#define FINISH(sum)                                                                                \
    for (int j = 0; j < ITEM_N; j++) {                                                             \
        const int n = t.n + SUM_N(j);                                                              \
        for (int i = 0; i < ITEM_M; i++) {                                                         \
            const int m = t.m + SUM_M(i);                                                          \
            if (n < N && m < ROWS) {                                                               \
                FINISH_PRODUCT(t.batch, m, n, (sum)[i * ITEM_N + j]);                              \
            }                                                                                      \
        }                                                                                          \
    }
#endif

#define PARTIAL(split, l) \
    (((INDEX)(split) * TILES_ALL + GROUP % TILES_ALL) * (TILE_M * TILE_N) + (l) * ITEMS + ITEM)

KERNEL(join)(ARGUMENTS)
{
    const tile t = tile_of(GROUP);
    float sum[ITEM_M * ITEM_N];
    GLOBAL const float *partial = WORKSPACE(float);
    for (int l = 0; l < ITEM_M * ITEM_N; l++) {
        float s = partial[PARTIAL(0, l)];
        for (int split = 1; split < SPLITS; split++) {
            s += partial[PARTIAL(split, l)];
        }
        sum[l] = s;
    }
    FINISH(sum)
}

/* A tile of each matrix from memory, an item's part of it. */
#if CONVOLUTION
#define FETCH(k0)                                                                                  \
    UNROLL                                                                                         \
    for (int l = 0; l < LOADS_W; l++) {                                                            \
        const int k = (k0) + W_K(l);                                                               \
        w_next[l] = k < end ? weights[(INDEX)weights_of(k, t) * PACKED_PITCH + W_M(l)] : 0.0f;     \
    }                                                                                              \
    UNROLL                                                                                         \
    for (int l = 0; l < LOADS_X; l++) {                                                            \
        const int k = (k0) + X_K(l), c = l % COLUMNS;                                              \
        const term s = term_of(k, t);                                                              \
        const int inside = k < end && there[c] &&                                                  \
                           is_inside(MASK_0, at_0[c] + s.tap_0 * STEP_0, IN_0) &&         \
                           is_inside(MASK_1, at_1[c] + s.tap_1 * STEP_1, IN_1) &&         \
                           is_inside(MASK_2, at_2[c] + s.tap_2 * STEP_2, IN_2);           \
        x_next[l] = inside ? LOAD_0(x, base[c] + (INDEX)s.channel * X_CHANNEL +                    \
                                           (INDEX)(s.tap_0 * STEP_0) * X_STEP_0 +                  \
                                           (INDEX)(s.tap_1 * STEP_1) * X_STEP_1 +                  \
                                           (INDEX)(s.tap_2 * STEP_2) * X_STEP_2)                   \
                           : 0.0f;                                                                 \
    }
#else
#define FETCH(k0)                                                                                  \
    UNROLL                                                                                         \
    for (int l = 0; l < LOADS_W; l++) {                                                            \
        const int k = (k0) + W_K(l), m = t.m + W_M(l);                                             \
        w_next[l] = k < end && m < ROWS                                                            \
                        ? LOAD_0(a, a_base + (INDEX)m * A_ROW + (INDEX)k * A_TERM)                 \
                        : 0.0f;                                                                    \
    }                                                                                              \
    UNROLL                                                                                         \
    for (int l = 0; l < LOADS_X; l++) {                                                            \
        const int k = (k0) + X_K(l), n = t.n + X_N(l);                                             \
        x_next[l] = k < end && n < N                                                               \
                        ? LOAD_1(b, b_base + (INDEX)n * B_COLUMN + (INDEX)k * B_TERM)              \
                        : 0.0f;                                                                    \
    }
#endif

#define KEEP(buffer)                                                                               \
    UNROLL                                                                                         \
    for (int l = 0; l < LOADS_W; l++) {                                                            \
        w_tile[(buffer) * (TILE_K * PITCH_W) + W_K(l) * PITCH_W + W_M(l)] = w_next[l];             \
    }                                                                                              \
    UNROLL                                                                                         \
    for (int l = 0; l < LOADS_X; l++) {                                                            \
        x_tile[(buffer) * (TILE_K * PITCH_X) + X_K(l) * PITCH_X + X_N(l)] = x_next[l];             \
    }

KERNEL(run)(ARGUMENTS)
{
    LOCAL float w_tile[2 * TILE_K * PITCH_W];
    LOCAL float x_tile[2 * TILE_K * PITCH_X];
    const tile t = tile_of(GROUP);
    const int begin = t.split * SPLIT_TERMS,
              end = SPLITS > 1 ? min(terms_of(t), begin + SPLIT_TERMS) : terms_of(t);
    float w_next[LOADS_W], x_next[LOADS_X], sum[ITEM_M * ITEM_N];
#if CONVOLUTION
    GLOBAL const TYPE_0 *x = IN(TYPE_0, 0);
    GLOBAL const float *weights =
        PACKED(float) + (INDEX)t.batch * (CHANNELS * WINDOW) * PACKED_PITCH + t.m;
    int there[COLUMNS], at_0[COLUMNS], at_1[COLUMNS], at_2[COLUMNS];
    INDEX base[COLUMNS];
    UNROLL
    for (int c = 0; c < COLUMNS; c++) {
        const int n = t.n + X_N(c);
        there[c] = n < columns_of(t);
        const position p = position_of(there[c] ? n : 0, t);
        at_0[c] = p.at_0 * STRIDE_0 + FIRST_0(t.residue_0);
        at_1[c] = p.at_1 * STRIDE_1 + FIRST_1(t.residue_1);
        at_2[c] = p.at_2 * STRIDE_2 + FIRST_2(t.residue_2);
        base[c] = (INDEX)p.image * X_IMAGE + (INDEX)t.batch * CHANNELS * X_CHANNEL +
                  (INDEX)at_0[c] * X_STEP_0 + (INDEX)at_1[c] * X_STEP_1 +
                  (INDEX)at_2[c] * X_STEP_2;
    }
#else
    GLOBAL const TYPE_0 *a = IN(TYPE_0, 0);
    GLOBAL const TYPE_1 *b = IN(TYPE_1, 1);
    const INDEX a_base = AT_0(t.batch), b_base = AT_1(t.batch);
#endif
    UNROLL
    for (int l = 0; l < ITEM_M * ITEM_N; l++) {
        sum[l] = 0.0f;
    }
    int buffer = 0;
    FETCH(begin)
    KEEP(0)
    BARRIER;
    for (int k0 = begin; k0 < end; k0 += TILE_K) {
        const int more = k0 + TILE_K < end;
        if (more) {
            FETCH(k0 + TILE_K)
        }
        UNROLL
        for (int k = 0; k < TILE_K; k++) {
            TO_LOCAL const float *w_row = w_tile + buffer * (TILE_K * PITCH_W) + k * PITCH_W;
            TO_LOCAL const float *x_row = x_tile + buffer * (TILE_K * PITCH_X) + k * PITCH_X;
            float w_part[ITEM_M], x_part[ITEM_N];
            UNROLL
            for (int i = 0; i < ITEM_M; i++) {
                w_part[i] = w_row[SUM_M(i)];
            }
            UNROLL
            for (int j = 0; j < ITEM_N; j++) {
                x_part[j] = x_row[SUM_N(j)];
            }
            UNROLL
            for (int i = 0; i < ITEM_M; i++) {
                UNROLL
                for (int j = 0; j < ITEM_N; j++) {
                    sum[i * ITEM_N + j] += w_part[i] * x_part[j];
                }
            }
        }
        buffer = 1 - buffer;
        if (more) {
            KEEP(buffer)
        }
        BARRIER;
    }
#if SPLITS > 1
    GLOBAL float *partial = WORKSPACE(float);
    UNROLL
    for (int l = 0; l < ITEM_M * ITEM_N; l++) {
        partial[PARTIAL(t.split, l)] = sum[l];
    }
#else
    FINISH(sum)
#endif
}
