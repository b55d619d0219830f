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
 * A work-group sums TILE_M by TILE_N of them, a work-item ITEM_M by ITEM_N, in chunks of at most
 * four that lie apart, so that neighbours read neighbours. While a tile of TILE_K is multiplied,
 * each item has its part of the next one on the way from memory; two buffers in local memory take
 * turns. Which items are neighbours along what follows the tensors' unit strides. SPLITS work-groups
 * share a long sum: entry `join` adds what they leave in the workspace.
 *
 * MATRIX_UNITS: units of the device multiply (CUDA's tensor cores). Operands are STAGED in local memory
 * as they take them, rounded to tf32, or PAIR of f16 or bf16 a word, neighbours along k; 32
 * work-items multiply 16 by 8 sums and 8 words at a time, of which each has its share.
 *
 * QUANTISED: sums are whole numbers. QUADS of four channels' bytes are elements of 32 bits, of which
 * w has signed bytes and x 128 less than its own; else bytes are floats, whose sums over a tile's
 * terms are exact.
 *
 * PANELS: where a core takes the work-items of a group one after another (a processor), a group is
 * one of them. It keeps TILE_K terms of its tile's columns in local memory and multiplies 8 by 32 at
 * a time in vectors, along the columns, or along the rows where x's terms are beside each other.
 *
 * Columns are positions beside each other, image by image; IMAGES_FIRST: of all images in turn.
 *
 * Defined for it: CONVOLUTION (of x, read by LOAD_X; 0: a product with MATRIX_B, whose elements of
 * TYPE_B are read by LOAD_B), PACKED_A (of PACKED_TERMS by PACKED_PITCH elements a batch, rows PANEL by
 * PANEL; 0: MATRIX_A, read by LOAD_A), MATRIX_UNITS and what gpu_operands.h says, PANELS and the
 * numbers of gpu_tile.c. A convolution's `pack` reads weights by LOAD_W; FINISH_SUM ends a sum. */
#if !QUADS
#define X_ELEMENT(x, at, channel) LOAD_X(x, at)
#define W_ELEMENT(w, at, channel) STAGE_W(LOAD_W(w, at))
#define X_OUTSIDE                 ((FETCHED_X)0)
#define ADD_PRODUCT(sum, w, x)    ((sum) += (w) * (x))
#endif
#define ITEMS_M   (TILE_M / ITEM_M)
#define ITEMS_N   (TILE_N / ITEM_N)
#define ITEMS     (ITEMS_M * ITEMS_N)
#define CHUNK_M   (ITEM_M < 4 ? ITEM_M : 4)
#define CHUNK_N   (ITEM_N < 4 ? ITEM_N : 4)
#define LOADS_W   (TILE_M * TILE_K / ITEMS)
#define LOADS_X   (TILE_N * TILE_K / ITEMS)
#define TILES_ALL (TILES_M * TILES_N * BATCHES * PHASES)

/* Row or column, and k, of an item's load l. */
#define W_M(l)    (W_ALONG_K ? (ITEM + (l) * ITEMS) / TILE_K : (ITEM + (l) * ITEMS) % TILE_M)
#define W_K(l)    (W_ALONG_K ? (ITEM + (l) * ITEMS) % TILE_K : (ITEM + (l) * ITEMS) / TILE_M)
#define X_N(l)    (X_ALONG_K ? (ITEM + (l) * ITEMS) / TILE_K : (ITEM + (l) * ITEMS) % TILE_N)
#define X_K(l)    (X_ALONG_K ? (ITEM + (l) * ITEMS) % TILE_K : (ITEM + (l) * ITEMS) / TILE_N)
/* The columns of an item's loads of x: its other loads are of the same ones. */
#define COLUMNS   (X_ALONG_K ? LOADS_X : TILE_N > ITEMS ? TILE_N / ITEMS : 1)

#if MATRIX_UNITS
/* Words of a tile: a row of them where operands are beside each other in memory, along k or across
 * it. Rows are so long that what 32 items read together, 8 rows or columns of 4 words along k, lies
 * in as many banks. */
#define WORDS_K      (TILE_K / PAIR)
#define WORD_W(k, m) (W_ALONG_K ? (m) * (WORDS_K + 4) + (k) : (k) * (TILE_M + 8) + (m))
#define WORD_X(k, n) (X_ALONG_K ? (n) * (WORDS_K + 4) + (k) : (k) * (TILE_N + 8) + (n))
#define WORDS_W      (W_ALONG_K ? TILE_M * (WORDS_K + 4) : WORDS_K * (TILE_M + 8))
#define WORDS_X      (X_ALONG_K ? TILE_N * (WORDS_K + 4) : WORDS_K * (TILE_N + 8))
#define SIZE_W       (WORDS_W * PAIR)
#define SIZE_X       (WORDS_X * PAIR)
#define PLACE_W(k, m) (WORD_W((k) / PAIR, m) * PAIR + (k) % PAIR)
#define PLACE_X(k, n) (WORD_X((k) / PAIR, n) * PAIR + (k) % PAIR)

/* Row and column of an item's sum (i, j). A unit has 16 by 8 sums, an item two neighbours along n
 * in two of the rows. UNIT_N(j) is the first column of the unit of j and j + 1. */
#define UNITS_M   (ITEMS_M / 8)
#define LANE_8    (ITEM % 32 / 4)
#define LANE_4    (ITEM % 4)
#define SUM_M(i)  (ITEM / 32 % UNITS_M * (ITEM_M * 8) + (i) * 8 + LANE_8)
#define UNIT_N(j) (ITEM / 32 / UNITS_M * (ITEM_N * 4) + (j) / 2 * 8)
#define SUM_N(j)  (UNIT_N(j) + LANE_4 * 2 + (j) % 2)
#else
/* Rows of a tile: of four more where items that are neighbours along k store into different ones. */
#define PITCH_W       (TILE_M + (W_ALONG_K ? 4 : 0))
#define PITCH_X       (TILE_N + (X_ALONG_K ? 4 : 0))
#define SIZE_W        (TILE_K * PITCH_W)
#define SIZE_X        (TILE_K * PITCH_X)
#define PLACE_W(k, m) ((k) * PITCH_W + (m))
#define PLACE_X(k, n) ((k) * PITCH_X + (n))

/* Row and column of an item's sum (i, j). */
#define ITEM_AT_M (Y_ALONG_M ? ITEM % ITEMS_M : ITEM / ITEMS_N)
#define ITEM_AT_N (Y_ALONG_M ? ITEM / ITEMS_M : ITEM % ITEMS_N)
#define SUM_M(i)  ((i) / CHUNK_M * (CHUNK_M * ITEMS_M) + ITEM_AT_M * CHUNK_M + (i) % CHUNK_M)
#define SUM_N(j)  ((j) / CHUNK_N * (CHUNK_N * ITEMS_N) + ITEM_AT_N * CHUNK_N + (j) % CHUNK_N)
#endif

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
#if QUADS
    if (at >= STARTS && at < STARTS + BATCHES * ROWS) {
        PACKED(int)[at] = start_of(IN(TYPE_1, 1), (int)(at - STARTS));
    }
#endif
}

#if !SUMS_OF_W
#define SUM_ROW
#endif
#else
#define columns_of(t)    N
#define terms_of(t)      TERMS
#define weights_of(k, t) (k)
#define SUM_ROW
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
                    FINISH_SUM((sum)[i * ITEM_N + j], p.image, channel, o0, o1, o2, t.residue_0,   \
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
                FINISH_PRODUCT(t.batch, m, n, (sum)[i * ITEM_N + j]);                              \
            }                                                                                      \
        }                                                                                          \
    }
#endif

#if !PANELS
#define PARTIAL(split, l) \
    (((INDEX)(split) * TILES_ALL + GROUP % TILES_ALL) * (TILE_M * TILE_N) + (l) * ITEMS + ITEM)

KERNEL(join)(ARGUMENTS)
{
    const tile t = tile_of(GROUP);
    SUM sum[ITEM_M * ITEM_N];
    GLOBAL const SUM *partial = WORKSPACE(SUM);
    UNROLL
    for (int l = 0; l < ITEM_M * ITEM_N; l++) {
        SUM s = partial[PARTIAL(0, l)];
        for (int split = 1; split < SPLITS; split++) {
            s += partial[PARTIAL(split, l)];
        }
        sum[l] = s;
    }
    FINISH(sum)
}

/* A tile of each matrix from memory, an item's part of it, which is STAGEd when it is kept. */
#if PACKED_A
#define NEXT_W    STAGED
#define KEPT_W(v) (v)
#define FETCH_W(k0)                                                                                \
    UNROLL                                                                                         \
    for (int l = 0; l < LOADS_W; l++) {                                                            \
        const int k = (k0) + W_K(l);                                                               \
        w_next[l] = k < end ? weights[(INDEX)weights_of(k, t) * PACKED_PITCH + W_M(l)] : (STAGED)0; \
    }
#else
#define NEXT_W    FETCHED_A
#define KEPT_W(v) STAGE_A(v)
#define FETCH_W(k0)                                                                                \
    UNROLL                                                                                         \
    for (int l = 0; l < LOADS_W; l++) {                                                            \
        const int k = (k0) + W_K(l), m = t.m + W_M(l);                                             \
        const INDEX at = a_base + (INDEX)m * A_ROW + (INDEX)k * A_TERM;                            \
        w_next[l] = k < end && m < ROWS ? LOAD_A(a, at) : (NEXT_W)0;                               \
    }
#endif
#if CONVOLUTION
#define FETCH_X(k0)                                                                                \
    UNROLL                                                                                         \
    for (int l = 0; l < LOADS_X; l++) {                                                            \
        const int k = (k0) + X_K(l), c = l % COLUMNS;                                              \
        const term s = term_of(k, t);                                                              \
        const int inside = k < end && there[c] &&                                                  \
                           is_inside(MASK_0, at_0[c] + s.tap_0 * STEP_0, IN_0) &&         \
                           is_inside(MASK_1, at_1[c] + s.tap_1 * STEP_1, IN_1) &&         \
                           is_inside(MASK_2, at_2[c] + s.tap_2 * STEP_2, IN_2);           \
        const INDEX at = base[c] + (INDEX)s.channel * X_CHANNEL +                                  \
                         (INDEX)(s.tap_0 * STEP_0) * X_STEP_0 +                                    \
                         (INDEX)(s.tap_1 * STEP_1) * X_STEP_1 +                                    \
                         (INDEX)(s.tap_2 * STEP_2) * X_STEP_2;                                     \
        x_next[l] = inside ? X_ELEMENT(x, at, s.channel) : X_OUTSIDE;                              \
    }
#else
#define FETCH_X(k0)                                                                                \
    UNROLL                                                                                         \
    for (int l = 0; l < LOADS_X; l++) {                                                            \
        const int k = (k0) + X_K(l), n = t.n + X_N(l);                                             \
        const INDEX at = b_base + (INDEX)n * B_COLUMN + (INDEX)k * B_TERM;                         \
        x_next[l] = k < end && n < N ? LOAD_B(b, at) : (FETCHED_X)0;                               \
    }
#endif

#define KEEP(buffer)                                                                               \
    UNROLL                                                                                         \
    for (int l = 0; l < LOADS_W; l++) {                                                            \
        w_tile[(buffer) * SIZE_W + PLACE_W(W_K(l), W_M(l))] = KEPT_W(w_next[l]);                   \
    }                                                                                              \
    UNROLL                                                                                         \
    for (int l = 0; l < LOADS_X; l++) {                                                            \
        x_tile[(buffer) * SIZE_X + PLACE_X(X_K(l), X_N(l))] = STAGE_X(x_next[l]);                  \
    }

#if MATRIX_UNITS
/* Words of operands: 8 deep, of 16 rows a work-item has two words of two rows, of 8 columns two of
 * one. */
#define MULTIPLY(buffer)                                                                           \
    UNROLL                                                                                         \
    for (int k = 0; k < WORDS_K; k += 8) {                                                         \
        uint w_part[ITEM_M * 2], x_part[ITEM_N];                                                   \
        UNROLL                                                                                     \
        for (int i = 0; i < ITEM_M; i++) {                                                         \
            UNROLL                                                                                 \
            for (int l = 0; l < 2; l++) {                                                          \
                w_part[i / 2 * 4 + i % 2 + l * 2] =                                                \
                    w_words[(buffer) * WORDS_W + WORD_W(k + LANE_4 + l * 4, SUM_M(i))];            \
            }                                                                                      \
        }                                                                                          \
        UNROLL                                                                                     \
        for (int j = 0; j < ITEM_N; j++) {                                                         \
            x_part[j] = x_words[(buffer) * WORDS_X +                                               \
                                WORD_X(k + LANE_4 + j % 2 * 4, UNIT_N(j) + LANE_8)];               \
        }                                                                                          \
        UNROLL                                                                                     \
        for (int i = 0; i < ITEM_M; i += 2) {                                                      \
            UNROLL                                                                                 \
            for (int j = 0; j < ITEM_N; j += 2) {                                                  \
                MULTIPLY_UNITS(sum + i * ITEM_N + j, sum + (i + 1) * ITEM_N + j, w_part + i * 2,   \
                               x_part + j);                                                        \
            }                                                                                      \
        }                                                                                          \
    }
#else
#define MULTIPLY(buffer)                                                                           \
    UNROLL                                                                                         \
    for (int k = 0; k < TILE_K; k++) {                                                             \
        TO_LOCAL const STAGED *w_row = w_tile + (buffer) * SIZE_W + k * PITCH_W;                   \
        TO_LOCAL const STAGED *x_row = x_tile + (buffer) * SIZE_X + k * PITCH_X;                   \
        STAGED w_part[ITEM_M], x_part[ITEM_N];                                                     \
        UNROLL                                                                                     \
        for (int i = 0; i < ITEM_M; i++) {                                                         \
            w_part[i] = w_row[SUM_M(i)];                                                           \
        }                                                                                          \
        UNROLL                                                                                     \
        for (int j = 0; j < ITEM_N; j++) {                                                         \
            x_part[j] = x_row[SUM_N(j)];                                                           \
        }                                                                                          \
        UNROLL                                                                                     \
        for (int i = 0; i < ITEM_M; i++) {                                                         \
            UNROLL                                                                                 \
            for (int j = 0; j < ITEM_N; j++) {                                                     \
                ADD_PRODUCT(sum[i * ITEM_N + j], w_part[i], x_part[j]);                            \
            }                                                                                      \
        }                                                                                          \
    }
#endif

KERNEL(run)(ARGUMENTS)
{
#if MATRIX_UNITS
    LOCAL uint w_words[2 * WORDS_W];
    LOCAL uint x_words[2 * WORDS_X];
    TO_LOCAL STAGED *w_tile = (TO_LOCAL STAGED *)w_words, *x_tile = (TO_LOCAL STAGED *)x_words;
#else
    LOCAL STAGED w_tile[2 * SIZE_W];
    LOCAL STAGED x_tile[2 * SIZE_X];
#endif
    SUM_ROW
    const tile t = tile_of(GROUP);
    const int begin = t.split * SPLIT_TERMS,
              end = SPLITS > 1 ? min(terms_of(t), begin + SPLIT_TERMS) : terms_of(t);
    NEXT_W w_next[LOADS_W];
    FETCHED_X x_next[LOADS_X];
    SUM sum[ITEM_M * ITEM_N];
#if PACKED_A
    GLOBAL const STAGED *weights =
        PACKED(STAGED) + (INDEX)t.batch * PACKED_TERMS * PACKED_PITCH + t.m;
#else
    GLOBAL const TYPE_A *a = MATRIX_A;
    const INDEX a_base = AT_0(t.batch);
#endif
#if CONVOLUTION
    GLOBAL const TYPE_0 *x = IN(TYPE_0, 0);
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
        base[c] = (INDEX)p.image * X_IMAGE + (INDEX)t.batch * X_GROUP +
                  (INDEX)at_0[c] * X_STEP_0 + (INDEX)at_1[c] * X_STEP_1 +
                  (INDEX)at_2[c] * X_STEP_2;
    }
#else
    GLOBAL const TYPE_B *b = MATRIX_B;
    const INDEX b_base = AT_1(t.batch);
#endif
    UNROLL
    for (int l = 0; l < ITEM_M * ITEM_N; l++) {
        sum[l] = 0;
    }
    int buffer = 0;
    FETCH_W(begin)
    FETCH_X(begin)
    KEEP(0)
    BARRIER;
    for (int k0 = begin; k0 < end; k0 += TILE_K) {
        const int more = k0 + TILE_K < end;
        if (more) {
            FETCH_W(k0 + TILE_K)
            FETCH_X(k0 + TILE_K)
        }
        MULTIPLY(buffer)
        buffer = 1 - buffer;
        if (more) {
            KEEP(buffer)
        }
        BARRIER;
    }
#if SPLITS > 1
    GLOBAL SUM *partial = WORKSPACE(SUM);
    UNROLL
    for (int l = 0; l < ITEM_M * ITEM_N; l++) {
        partial[PARTIAL(t.split, l)] = sum[l];
    }
#else
    FINISH(sum)
#endif
}
#else
#define BEGIN (t.split * SPLIT_TERMS)
#define END   (SPLITS > 1 ? min(terms_of(t), BEGIN + SPLIT_TERMS) : terms_of(t))
/* Offsets in the tile: column n of term k; sum (m, n). */
#define X_AT(k, n)   (X_ALONG_K ? (n) * TILE_K + (k) : (k) * TILE_N + (n))
#define SUM_AT(m, n) (X_ALONG_K ? (n) * TILE_M + (m) : (m) * TILE_N + (n))
/* What is multiplied at once: eight of one side, two vectors of the other. */
#define ACROSS       8
#define ALONG        32
#define PARTIAL(split) \
    (((INDEX)(split) * TILES_ALL + GROUP % TILES_ALL) * (INDEX)(TILE_M * TILE_N))

#if CONVOLUTION
#define X_VECTORS (X_FLOATS || QUANTISED)
#if QUANTISED
#define LOAD_X16(x, at) (FLOATS_OF(LOAD16(x, at)) - (float)X_ZERO)
#else
#define LOAD_X16(x, at) LOAD16(x, at)
#endif

/* Columns one behind the other in a row of y. */
typedef struct stretch {
    int n, length; /* n: of the tile */
    position at;
    int at_0, at_1, at_2; /* what its first column reads by a window's first tap */
    INDEX base;
} stretch;

/* Cuts the tile into stretches, of one column where terms are beside each other. */
FUNCTION int stretches_of(tile t, stretch *list)
{
    const int end = min(columns_of(t), t.n + TILE_N), width = GRID_2(t.residue_2);
    int count = 0;
    for (int n = t.n; n < end; count++) {
        stretch *s = &list[count];
        s->n = n - t.n;
        s->at = position_of(n, t);
        s->length = X_ALONG_K ? 1 : min(width - s->at.at_2, end - n);
        s->at_0 = s->at.at_0 * STRIDE_0 + FIRST_0(t.residue_0);
        s->at_1 = s->at.at_1 * STRIDE_1 + FIRST_1(t.residue_1);
        s->at_2 = s->at.at_2 * STRIDE_2 + FIRST_2(t.residue_2);
        s->base = (INDEX)s->at.image * X_IMAGE + (INDEX)t.batch * X_GROUP;
        n += s->length;
    }
    return count;
}

/* What a stretch reads of a channel by a tap, zeros beside x; or what its first position reads by
 * that tap and those behind it: `length` elements that are `step` of x's apart. */
FUNCTION void gather_row(GLOBAL const TYPE_0 *x, const stretch *s, term k, int length, int step,
                         TO_LOCAL float *to)
{
    const int i0 = s->at_0 + k.tap_0 * STEP_0, i1 = s->at_1 + k.tap_1 * STEP_1,
              i2 = s->at_2 + k.tap_2 * STEP_2;
    const int there = is_inside(MASK_0, i0, IN_0) && is_inside(MASK_1, i1, IN_1);
    const int first = i2 < 0 ? min((-i2 + step - 1) / step, length) : 0,
              end = i2 < IN_2 ? min((IN_2 - 1 - i2) / step + 1, length) : 0;
    const INDEX from = s->base + (INDEX)k.channel * X_CHANNEL + (INDEX)i0 * X_STEP_0 +
                       (INDEX)i1 * X_STEP_1 + (INDEX)i2 * X_STEP_2;
    int j = 0;
    for (; j < (there ? first : length); j++) {
        to[j] = 0.0f;
    }
#if X_VECTORS && X_STEP_2 == 1
    for (; step == 1 && j + 16 <= end; j += 16) {
        STORE16(to, j, LOAD_X16(x, from + j));
    }
#endif
    for (; j < end; j++) {
        to[j] = LOAD_X(x, from + (INDEX)j * (step * X_STEP_2));
    }
    for (; j < length; j++) {
        to[j] = 0.0f;
    }
}

/* Copies `count` channels of a position and a tap. */
FUNCTION void gather_channels(GLOBAL const TYPE_0 *x, const stretch *s, term k, int count,
                              TO_LOCAL float *to)
{
    const int i0 = s->at_0 + k.tap_0 * STEP_0, i1 = s->at_1 + k.tap_1 * STEP_1,
              i2 = s->at_2 + k.tap_2 * STEP_2;
    const int there = is_inside(MASK_0, i0, IN_0) && is_inside(MASK_1, i1, IN_1) &&
                      is_inside(MASK_2, i2, IN_2);
    const INDEX from = s->base + (INDEX)k.channel * X_CHANNEL + (INDEX)i0 * X_STEP_0 +
                       (INDEX)i1 * X_STEP_1 + (INDEX)i2 * X_STEP_2;
    int j = 0;
    if (there) {
#if X_VECTORS && X_CHANNEL == 1
        for (; j + 16 <= count; j += 16) {
            STORE16(to, j, LOAD_X16(x, from + j));
        }
#endif
        for (; j < count; j++) {
            to[j] = LOAD_X(x, from + (INDEX)j * X_CHANNEL);
        }
    }
    for (; j < count; j++) {
        to[j] = 0.0f;
    }
}

FUNCTION void gather(GLOBAL const TYPE_0 *x, tile t, const stretch *list, int stretches, int k0,
                     int count, TO_LOCAL float *x_tile)
{
#if X_ALONG_K && TAPS_FIRST
    for (int k = 0; k < count;) {
        const term s = term_of(k0 + k, t);
        const int taps = min(COUNT_2(t.residue_2) - s.tap_2, count - k);
        for (int i = 0; i < stretches; i++) {
            gather_row(x, &list[i], s, taps, STEP_2, x_tile + list[i].n * TILE_K + k);
        }
        k += taps;
    }
#elif X_ALONG_K
    for (int k = 0; k < count;) {
        const term s = term_of(k0 + k, t);
        const int channels = min(CHANNELS - s.channel, count - k);
        for (int i = 0; i < stretches; i++) {
            gather_channels(x, &list[i], s, channels, x_tile + list[i].n * TILE_K + k);
        }
        k += channels;
    }
#else
    for (int k = 0; k < count; k++) {
        const term s = term_of(k0 + k, t);
        for (int i = 0; i < stretches; i++) {
            gather_row(x, &list[i], s, list[i].length, STRIDE_2, x_tile + k * TILE_N + list[i].n);
        }
    }
#endif
}

#define FINISH_ONE(s, i, j)                                                                        \
    {                                                                                              \
        const int channel = t.batch * ROWS + t.m + (i);                                            \
        const INDEX o2 = (INDEX)(((s)->at.at_2 + (j)) * SPREAD_2 + t.residue_2);                   \
        FINISH_SUM(sums[SUM_AT(i, (s)->n + (j))], (s)->at.image, channel, o0, o1, o2, t.residue_0, \
                   t.residue_1, t.residue_2);                                                      \
    }

/* What is added to the sums, the activation, the store: in the order in which y is stored. */
#define ROW_OF_Y                                                                                   \
    const INDEX o0 = (INDEX)(s->at.at_0 * SPREAD_0 + t.residue_0),                                 \
                o1 = (INDEX)(s->at.at_1 * SPREAD_1 + t.residue_1);
#if Y_ALONG_M
#define FINISH_TILE                                                                                \
    for (const stretch *s = list; s < list + stretches; s++) {                                     \
        ROW_OF_Y                                                                                   \
        for (int j = 0; j < s->length; j++) {                                                      \
            for (int i = 0; i < min(ROWS - t.m, TILE_M); i++) {                                    \
                FINISH_ONE(s, i, j)                                                                \
            }                                                                                      \
        }                                                                                          \
    }
#else
#define FINISH_TILE                                                                                \
    for (int i = 0; i < min(ROWS - t.m, TILE_M); i++) {                                            \
        for (const stretch *s = list; s < list + stretches; s++) {                                 \
            ROW_OF_Y                                                                               \
            for (int j = 0; j < s->length; j++) {                                                  \
                FINISH_ONE(s, i, j)                                                                \
            }                                                                                      \
        }                                                                                          \
    }
#endif
#else
#define FINISH_TILE                                                                                \
    for (int i = 0; i < min(ROWS - t.m, TILE_M); i++) {                                            \
        for (int j = 0; j < min(N - t.n, TILE_N); j++) {                                           \
            FINISH_PRODUCT(t.batch, t.m + i, t.n + j, sums[SUM_AT(i, j)]);                         \
        }                                                                                          \
    }
#endif

#define EACH(of) of(0) of(1) of(2) of(3) of(4) of(5) of(6) of(7)
#if QUANTISED
#define BEGIN_SUM(i) VECTOR16 a##i = (VECTOR16)0.0f, b##i = (VECTOR16)0.0f;
#else
#define BEGIN_SUM(i)                                                  \
    VECTOR16 a##i = first ? (VECTOR16)0.0f : LOAD16(sums, (i) * PITCH), \
             b##i = first ? (VECTOR16)0.0f : LOAD16(sums, (i) * PITCH + 16);
#endif
#define ADD_TERM(i)                      \
    {                                    \
        const float factor = ACROSS_AT(i); \
        a##i += factor * along_0;        \
        b##i += factor * along_1;        \
    }
#if QUANTISED
#define ADD_INTS(at, v) STORE16(sums, at, INTS_OF(v) + (first ? 0 : LOAD16(sums, at)));
#define END_SUM(i)              \
    ADD_INTS((i) * PITCH, a##i) \
    ADD_INTS((i) * PITCH + 16, b##i)
#else
#define END_SUM(i)                          \
    STORE16(sums, (i) * PITCH, a##i);       \
    STORE16(sums, (i) * PITCH + 16, b##i);
#endif

#if PACKED_A
#define WEIGHTS GLOBAL
/* Weights of term k and of a panel's first row. */
#define W_ROW(k) (ALL_TAPS ? (INDEX)(k0 + (k)) * PANEL : (INDEX)w_rows[k] * PANEL)
#else
#define WEIGHTS TO_LOCAL
#define W_ROW(k) ((k) * PANEL)
#endif

#if X_ALONG_K
#define PITCH        TILE_M
#define ACROSS_AT(i) x[(i) * TILE_K + k]
#define ALONG_AT(l)  LOAD16(w, W_ROW(k) + (l))
#else
#define PITCH        TILE_N
#define ACROSS_AT(i) w[W_ROW(k) + (i)]
#define ALONG_AT(l)  LOAD16(x, k * TILE_N + (l))
#endif

/* Adds `count` terms to 8 by 32 sums. */
FUNCTION void multiply(WEIGHTS const float *w, const int *w_rows, TO_LOCAL const float *x, int k0,
                       int count, int first, TO_LOCAL SUM *sums)
{
    EACH(BEGIN_SUM)
    for (int k = 0; k < count; k++) {
        const VECTOR16 along_0 = ALONG_AT(0), along_1 = ALONG_AT(16);
        EACH(ADD_TERM)
    }
    EACH(END_SUM)
}

KERNEL(join)(ARGUMENTS)
{
    LOCAL SUM sums[TILE_M * TILE_N];
    const tile t = tile_of(GROUP);
    GLOBAL const SUM *partial = WORKSPACE(SUM);
#if CONVOLUTION
    stretch list[TILE_N];
    const int stretches = stretches_of(t, list);
#endif
    for (int l = 0; l < TILE_M * TILE_N; l++) {
        SUM s = partial[PARTIAL(0) + l];
        for (int split = 1; split < SPLITS; split++) {
            s += partial[PARTIAL(split) + l];
        }
        sums[l] = s;
    }
    FINISH_TILE
}

KERNEL(run)(ARGUMENTS)
{
    LOCAL float x_tile[TILE_K * TILE_N];
    LOCAL SUM sums[TILE_M * TILE_N];
    SUM_ROW
    const tile t = tile_of(GROUP);
    const int rows = min(ROWS - t.m, TILE_M), columns = min(columns_of(t) - t.n, TILE_N);
    int w_rows[TILE_K];
#if CONVOLUTION
    stretch list[TILE_N];
    const int stretches = stretches_of(t, list);
#else
    GLOBAL const TYPE_B *b = MATRIX_B;
    const INDEX b_base = AT_1(t.batch);
#endif
#if PACKED_A
    GLOBAL const float *weights = PACKED(float) + (INDEX)t.batch * PACKED_TERMS * PACKED_PITCH;
#else
    LOCAL float w_tile[TILE_M * TILE_K];
    GLOBAL const TYPE_A *a = MATRIX_A;
    const INDEX a_base = AT_0(t.batch);
    for (int l = 0; l < TILE_M * TILE_K; l++) {
        w_tile[l] = 0.0f;
    }
#endif
    for (int l = 0; l < TILE_K * TILE_N; l++) {
        x_tile[l] = 0.0f; /* what no column fills */
    }
    int k0 = BEGIN;
    do {
        const int count = max(min(TILE_K, END - k0), 0);
#if !PACKED_A
        for (int m = 0; m < rows; m++) {
            for (int k = 0; k < count; k++) {
                w_tile[m / PANEL * (TILE_K * PANEL) + k * PANEL + m % PANEL] =
                    LOAD_A(a, a_base + (INDEX)(t.m + m) * A_ROW + (INDEX)(k0 + k) * A_TERM);
            }
        }
#endif
#if CONVOLUTION
        for (int k = 0; !ALL_TAPS && k < count; k++) {
            w_rows[k] = weights_of(k0 + k, t);
        }
        gather(IN(TYPE_0, 0), t, list, stretches, k0, count, x_tile);
#else
#if X_ALONG_K
        for (int n = 0; n < columns; n++) {
            for (int k = 0; k < count; k++) {
#else
        for (int k = 0; k < count; k++) {
            for (int n = 0; n < columns; n++) {
#endif
                x_tile[X_AT(k, n)] =
                    LOAD_B(b, b_base + (INDEX)(t.n + n) * B_COLUMN + (INDEX)(k0 + k) * B_TERM);
            }
        }
#endif
        for (int m = 0; m < rows; m += X_ALONG_K ? ALONG : ACROSS) {
#if PACKED_A
            WEIGHTS const float *w = weights + (INDEX)(t.m + m) * PACKED_TERMS;
#else
            WEIGHTS const float *w = w_tile + m * TILE_K;
#endif
            for (int n = 0; n < columns; n += X_ALONG_K ? ACROSS : ALONG) {
                multiply(w, w_rows, x_tile + X_AT(0, n), k0, count, k0 == BEGIN,
                         sums + SUM_AT(m, n));
            }
        }
        k0 += TILE_K;
    } while (k0 < END);
#if SPLITS > 1
    GLOBAL SUM *partial = WORKSPACE(SUM) + PARTIAL(t.split);
    for (int l = 0; l < TILE_M * TILE_N; l++) {
        partial[l] = sums[l];
    }
#else
    FINISH_TILE
#endif
}
#endif
