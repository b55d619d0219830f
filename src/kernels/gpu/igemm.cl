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
 * tile: simt.cl, subgroups.cl, items.cl, copied.cl, wide.cl or panels.cl.
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
    return TERM_CHANNELS * COUNT_0(t.residue_0) * COUNT_1(t.residue_1) * COUNT_2(t.residue_2);
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
    s.channel = TAPS_FIRST ? k / taps : k % TERM_CHANNELS;
    s.tap = TAPS_FIRST ? k % taps : k / TERM_CHANNELS;
    s.tap_2 = s.tap % count_2;
    s.tap_1 = s.tap / count_2 % count_1;
    s.tap_0 = s.tap / (count_2 * count_1);
    return s;
}

/* Where the weights of channel and tap are packed, all taps of the window numbered. */
#define PACKED_ROW(channel, tap) \
    (TAPS_FIRST ? (channel) * WINDOW + (tap) : (tap) * TERM_CHANNELS + (channel))

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
    const INDEX panel = at / PANEL / PACKED_TERMS;
    const int row = (int)(at / PANEL % PACKED_TERMS),
              m = (int)(panel % (PACKED_PITCH / PANEL) * PANEL + at % PANEL),
              group = (int)(panel / (PACKED_PITCH / PANEL));
    const int channel = TAPS_FIRST ? row / WINDOW : row % TERM_CHANNELS,
              tap = TAPS_FIRST ? row % WINDOW : row / TERM_CHANNELS;
    if (group < BATCHES) {
        const INDEX from = (INDEX)group * W_GROUP + (INDEX)m * W_OUT + (INDEX)channel * W_IN +
                           (INDEX)(tap / (WINDOW_2 * WINDOW_1)) * W_STEP_0 +
                           (INDEX)(tap / WINDOW_2 % WINDOW_1) * W_STEP_1 +
                           (INDEX)(tap % WINDOW_2) * W_STEP_2;
        const int there = m < ROWS && channel < CHANNELS && tap < WINDOW;
        PACKED(STAGED)[at] = there ? W_ELEMENT(IN(TYPE_1, 1), from, channel) : (STAGED)0;
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

#if !PANELS
/* Ends of sums. An item's sums are in runs of RUN, which are neighbours in y along the tile's rows
 * (RUN_ALONG_M) or columns, and as many bytes are moved at once. What is added to RUNS_AT_ONCE runs is
 * read before they are stored: no read waits for a store. */
#define RUNS         (ITEM_M * ITEM_N / RUN)
#define MOST_AT_ONCE (16 / RUN)
#define RUNS_AT_ONCE (RUNS < MOST_AT_ONCE ? RUNS : MOST_AT_ONCE)
/* The first sum (i, j) of run r, and its sum number e. */
#define RUN_I(r)     (RUN_ALONG_M ? (r) % (ITEM_M / RUN) * RUN : (r) % ITEM_M)
#define RUN_J(r)     (RUN_ALONG_M ? (r) / (ITEM_M / RUN) : (r) / ITEM_M * RUN)
#define RUN_SUM(sum, r, e) \
    SUM_OF(sum, RUN_I(r) + (RUN_ALONG_M ? (e) : 0), RUN_J(r) + (RUN_ALONG_M ? 0 : (e)))

/* What the runs from `first` on begin with: row and column in the tile's matrix. */
#define FIND_RUNS(m, n, first, count)        \
    UNROLL                                   \
    for (int r = 0; r < (count); r++) {      \
        (m)[r] = t.m + SUM_M(RUN_I((first) + r)); \
        (n)[r] = t.n + SUM_N(RUN_J((first) + r)); \
    }

#if QUANTISED
#define END_RUNS(sums, m, n, count)                                                                \
    UNROLL                                                                                         \
    for (int r = 0; r < (count); r++) {                                                            \
        if ((m)[r] < ROWS && (n)[r] < columns_of(t)) {                                             \
            const column at = column_of((n)[r], t);                                                \
            FINISH_SUM((sums)[r], at.image, t.batch * ROWS + (m)[r], at.o0, at.o1, at.o2,          \
                       t.residue_0, t.residue_1, t.residue_2);                                     \
        }                                                                                          \
    }
#else
#define END_RUNS(sums, m, n, count) end_runs(sums, m, n, count, t, END_POINTERS)
#endif

#if CONVOLUTION
/* A position of y. */
typedef struct column {
    int image;
    INDEX o0, o1, o2;
} column;

FUNCTION column column_of(int n, tile t)
{
    const position p = position_of(n, t);
    column c;
    c.image = p.image;
    c.o0 = (INDEX)(p.at_0 * SPREAD_0 + t.residue_0);
    c.o1 = (INDEX)(p.at_1 * SPREAD_1 + t.residue_1);
    c.o2 = (INDEX)(p.at_2 * SPREAD_2 + t.residue_2);
    return c;
}
#define END_AT(m, c)   Y_AT((c).image, t.batch * ROWS + (m), (c).o0, (c).o1, (c).o2)
#define END_C_AT(m, c) BIAS_AT(t.batch * ROWS + (m), t.residue_0, t.residue_1, t.residue_2)
#define END_RESIDUAL_AT(m, c) \
    RESIDUAL_AT((c).image, t.batch * ROWS + (m), (c).o0, (c).o1, (c).o2)
#else
typedef int column;
#define column_of(n, t)       (n)
#define END_AT(m, c)          PRODUCT_AT(t.batch, m, c)
#define END_C_AT(m, c)        PRODUCT_C_AT(t.batch, m, c)
#define END_RESIDUAL_AT(m, c) PRODUCT_RESIDUAL_AT(t.batch, m, c)
#endif

#if !QUANTISED
/* A run of elements to or from floats: at once where the operand has a run there and its address is
 * a multiple of as many bytes. */
#if RUN == 4
#define READ_VECTOR(to, load, p, at)             \
    {                                            \
        const VECTOR4 vector = load(p, at);      \
        (to)[0] = vector.x, (to)[1] = vector.y;  \
        (to)[2] = vector.z, (to)[3] = vector.w;  \
    }
#define END_LOAD_C_RUN         END_LOAD4_C
#define END_LOAD_RESIDUAL_RUN  END_LOAD4_RESIDUAL
#define WRITE_VECTOR(p, at, v) \
    END_STORE4_Y(p, at, MAKE_VECTOR4((v)[0], (v)[1], (v)[2], (v)[3]))
#else
#define READ_VECTOR(to, load, p, at)            \
    {                                           \
        const VECTOR2 vector = load(p, at);     \
        (to)[0] = vector.x, (to)[1] = vector.y; \
    }
#define END_LOAD_C_RUN         END_LOAD2_C
#define END_LOAD_RESIDUAL_RUN  END_LOAD2_RESIDUAL
#define WRITE_VECTOR(p, at, v) END_STORE2_Y(p, at, MAKE_VECTOR2((v)[0], (v)[1]))
#endif

#define READ_ELEMENTS(to, load, p, at, step)          \
    UNROLL                                            \
    for (int e = 0; e < RUN; e++) {                   \
        (to)[e] = load(p, (at) + (INDEX)(e) * (step)); \
    }

#if END_C
FUNCTION void read_c(float *to, GLOBAL const TYPE_2 *p, INDEX at, int aligned)
{
#if END_C_RUN
    if (aligned) {
        READ_VECTOR(to, END_LOAD_C_RUN, p, at)
        return;
    }
#endif
    READ_ELEMENTS(to, END_LOAD_C, p, at, END_C_STEP)
}
#endif

#if END_RESIDUAL
FUNCTION void read_residual(float *to, GLOBAL const TYPE_3 *p, INDEX at, int aligned)
{
#if END_RESIDUAL_RUN
    if (aligned) {
        READ_VECTOR(to, END_LOAD_RESIDUAL_RUN, p, at)
        return;
    }
#endif
    READ_ELEMENTS(to, END_LOAD_RESIDUAL, p, at, END_RESIDUAL_STEP)
}
#endif

/* Adds to `count` runs of sums what is added, activates and stores them. */
FUNCTION void end_runs(const float *sums, const int *m, const int *n, int count, tile t,
                       END_PARAMETERS)
{
    /* the widest elements are floats; those of 16 bits need not be aligned as well */
    const int aligned = END_ADDRESSES % (RUN * 4) == 0;
    INDEX at[RUNS_AT_ONCE];
    float added[RUNS_AT_ONCE * RUN * 2];
    UNROLL
    for (int r = 0; r < count; r++) {
        const int there = m[r] < ROWS && n[r] < columns_of(t);
        const column c = column_of(n[r], t);
        at[r] = there ? END_AT(m[r], c) : -1;
        if (there) {
#if END_C
            read_c(added + r * 2 * RUN, c_from, END_C_AT(m[r], c), aligned);
#endif
#if END_RESIDUAL
            read_residual(added + (r * 2 + 1) * RUN, residual_from, END_RESIDUAL_AT(m[r], c),
                          aligned);
#endif
        }
    }
    UNROLL
    for (int r = 0; r < count; r++) {
        float ended[RUN];
        UNROLL
        for (int e = 0; e < RUN; e++) {
            float v = END_SCALE(sums[r * RUN + e]);
#if END_C
            v += END_SCALE_C(added[r * 2 * RUN + e]);
#endif
#if END_RESIDUAL
            v += added[(r * 2 + 1) * RUN + e];
#endif
            ended[e] = END_ACTIVATE(v);
        }
        if (at[r] < 0) {
            continue;
        }
#if RUN > 1
        if (aligned) {
            WRITE_VECTOR(y, at[r], ended);
            continue;
        }
#endif
        UNROLL
        for (int e = 0; e < RUN; e++) {
            END_STORE_Y(y, at[r] + e, ended[e]);
        }
    }
}
#endif

/* Partial sums lie in the workspace by fours: sums of groups, in the order of their runs, an item's four
 * beside those of the next one. */
#define PARTIAL(split, tile, part) \
    (((INDEX)(split) * TILES_ALL + (tile)) * (TILE_M * TILE_N / 4) + (part) * OWN_ITEMS + OWN)
#define PARTS (ITEM_M * ITEM_N / 4)
#if QUANTISED
#define SUM_VECTOR int4
#else
#define SUM_VECTOR float4
#endif

/* Ends an item's sums: all, or its share of the terms. */
#if SPLITS > 1
#define END_SUMS(sum)                                                                  \
    UNROLL                                                                             \
    for (int l = 0; l < PARTS; l++) {                                                  \
        SUM_VECTOR part;                                                               \
        part.x = RUN_SUM(sum, l * 4 / RUN, 0);                                         \
        part.y = RUN_SUM(sum, (l * 4 + 1) / RUN, 1 % RUN);                             \
        part.z = RUN_SUM(sum, (l * 4 + 2) / RUN, 2 % RUN);                             \
        part.w = RUN_SUM(sum, (l * 4 + 3) / RUN, 3 % RUN);                             \
        WORKSPACE(SUM_VECTOR)[PARTIAL(t.split, GROUP % TILES_ALL, l)] = part;          \
    }
#else
#define END_SUMS(sum)                                          \
    UNROLL                                                     \
    for (int first = 0; first < RUNS; first += RUNS_AT_ONCE) { \
        SUM ended[RUNS_AT_ONCE * RUN];                         \
        int m[RUNS_AT_ONCE], n[RUNS_AT_ONCE];                  \
        FIND_RUNS(m, n, first, RUNS_AT_ONCE)                   \
        UNROLL                                                 \
        for (int l = 0; l < RUNS_AT_ONCE * RUN; l++) {         \
            ended[l] = RUN_SUM(sum, first + l / RUN, l % RUN); \
        }                                                      \
        END_RUNS(ended, m, n, RUNS_AT_ONCE);                   \
    }
#endif

/* Slices behind the first leave their sums to it. */
#if SLICES > 1
#define ROOM_OF_SLICES LOCAL SUM others[(SLICES - 1) * TILE_M * TILE_N];
#define END_SLICES(sum)                                                                            \
    if (SLICE > 0) {                                                                               \
        UNROLL                                                                                     \
        for (int l = 0; l < ITEM_M * ITEM_N; l++) {                                                \
            others[(SLICE - 1) * (TILE_M * TILE_N) + l * OWN_ITEMS + OWN] = (sum)[l];               \
        }                                                                                          \
    }                                                                                              \
    BARRIER;                                                                                       \
    if (SLICE == 0) {                                                                              \
        UNROLL                                                                                     \
        for (int l = 0; l < ITEM_M * ITEM_N; l++) {                                                \
            UNROLL                                                                                 \
            for (int s = 0; s < SLICES - 1; s++) {                                                 \
                (sum)[l] += others[s * (TILE_M * TILE_N) + l * OWN_ITEMS + OWN];                   \
            }                                                                                      \
        }                                                                                          \
        END_SUMS(sum)                                                                              \
    }
#else
#define ROOM_OF_SLICES
#define END_SLICES(sum) END_SUMS(sum)
#endif
#endif
