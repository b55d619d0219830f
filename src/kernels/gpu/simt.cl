/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of igemm.cl that work-items fetch and multiply: an item's sums are in chunks of at most four that lie
 * apart, so that neighbours read neighbours. While a tile of TILE_K terms is multiplied, each item has its
 * part of the next one on the way from memory; two buffers in local memory take turns.
 *
 * An item fetches fours: of neighbouring rows or columns of a term where those lie beside each other, else of
 * neighbouring terms. Where a convolution's terms are STEPPED through, a tile's terms are channels of one
 * tap, and all items share a cursor; else an item has a term of several columns or terms of one (walk.cl).
 * Nothing is divided behind the first tile.
 *
 * Defined for it: FOURS_W, FOURS_X: fours lie beside each other, at multiples of four elements. */
#define CHUNK_M   (ITEM_M < 4 ? ITEM_M : 4)
#define CHUNK_N   (ITEM_N < 4 ? ITEM_N : 4)
#define ITEM_AT_M (Y_ALONG_M ? OWN % ITEMS_M : OWN / ITEMS_N)
#define ITEM_AT_N (Y_ALONG_M ? OWN / ITEMS_M : OWN % ITEMS_N)
#define SUM_M(i)  ((i) / CHUNK_M * (CHUNK_M * ITEMS_M) + ITEM_AT_M * CHUNK_M + (i) % CHUNK_M)
#define SUM_N(j)  ((j) / CHUNK_N * (CHUNK_N * ITEMS_N) + ITEM_AT_N * CHUNK_N + (j) % CHUNK_N)
#define SUM_OF(sum, i, j) ((sum)[(i) * ITEM_N + (j)])

/* Rows of a tile in local memory: of four more where items store neighbouring terms. */
#define PITCH_W  (TILE_M + (W_ALONG_K ? 4 : 0))
#define PITCH_X  (TILE_N + (X_ALONG_K ? 4 : 0))
#define SIZE_W   (TILE_K * PITCH_W)
#define SIZE_X   (TILE_K * PITCH_X)

/* Fours of a tile, those of an item, and the first side and term of its number l. */
#define QUADS_W    (TILE_M * TILE_K / 4)
#define QUADS_X    (TILE_N * TILE_K / 4)
#define LOADS_W    ((QUADS_W + ITEMS - 1) / ITEMS)
#define LOADS_X    ((QUADS_X + ITEMS - 1) / ITEMS)
#define QUAD(l)    (ITEM + (l) * ITEMS)
#define QUAD_M(l)  (W_ALONG_K ? QUAD(l) / (TILE_K / 4) : QUAD(l) % (TILE_M / 4) * 4)
#define QUAD_KW(l) (W_ALONG_K ? QUAD(l) % (TILE_K / 4) * 4 : QUAD(l) / (TILE_M / 4))
#define QUAD_N(l)  (X_ALONG_K ? QUAD(l) / (TILE_K / 4) : QUAD(l) % (TILE_N / 4) * 4)
#define QUAD_KX(l) (X_ALONG_K ? QUAD(l) % (TILE_K / 4) * 4 : QUAD(l) / (TILE_N / 4))
#define HAS_W(l)   (QUADS_W % ITEMS == 0 || QUAD(l) < QUADS_W)
#define HAS_X(l)   (QUADS_X % ITEMS == 0 || QUAD(l) < QUADS_X)

#if QUADS
#define STAGED_FOUR uint4
#else
#define STAGED_FOUR float4
#endif

/* Single elements of x, where no fours are fetched: of one column, or of a term. Terms of a column are apart
 * where they are STEPPED through, and neighbours where they are listed. */
#define SINGLES    (TILE_N * TILE_K / ITEMS)
#define ONE_COLUMN (STEPPED || (LISTED && !X_ALONG_K))
#define SINGLE_N0  (ONE_COLUMN ? ITEM % TILE_N : X_ALONG_K ? ITEM / TILE_K : ITEM % (ITEMS / TILE_K))
#define SINGLE_K0                                                  \
    (ONE_COLUMN  ? ITEM / TILE_N * (STEPPED ? 1 : SINGLES)         \
     : X_ALONG_K ? ITEM % TILE_K : ITEM / (ITEMS / TILE_K))
#define SINGLE_N(l) (ONE_COLUMN ? SINGLE_N0 : SINGLE_N0 + (l) * (ITEMS / TILE_K))
#define SINGLE_K(l) (SINGLE_K0 + (l) * (STEPPED ? ITEMS / TILE_N : ONE_COLUMN))

#define EACH_PART(of) of(x, 0) of(y, 1) of(z, 2) of(w, 3)
#define PART_FROM(part, e) v.part = from[e];
#define READ_FOUR(v, T, from)           \
    if (aligned) {                         \
        v = *(GLOBAL const T *)(from);     \
    } else {                               \
        EACH_PART(PART_FROM)               \
    }

/* Fours of w: rows of a term that is packed, or of a matrix in memory. `end`: of the group's terms. */
#if PACKED_A
typedef STAGED_FOUR four_w;
#define STAGED_W(v) (v)

FUNCTION four_w fetch_w(GLOBAL const STAGED *from, int k, int end)
{
    four_w v;
    v.x = v.y = v.z = v.w = 0;
    if (PACKED_TERMS % TILE_K == 0 || k < end) {
        v = *(GLOBAL const four_w *)from;
    }
    return v;
}
#else
typedef FOUR_A four_w;
#define STAGED_W(v) STAGE_A(v)

/* A four from row m and term k on; beyond the last row any. */
FUNCTION four_w fetch_w(GLOBAL const TYPE_A *a, INDEX base, int m, int k, int end, int aligned)
{
    four_w v;
    v.x = v.y = v.z = v.w = 0;
#if FOURS_W
    m = min(m, ROWS - (W_ALONG_K ? 1 : 4));
    if (TERMS % TILE_K == 0 || k < end) {
        GLOBAL const TYPE_A *from = a + base + (INDEX)m * A_ROW + (INDEX)k * A_TERM;
        READ_FOUR(v, four_w, from)
    }
#else
#define FETCH_ELEMENT_W(part, e)                                                               \
    if (TERMS % TILE_K == 0 || k + (W_ALONG_K ? (e) : 0) < end) {                              \
        v.part = LOAD_A(a, base + (INDEX)min(m + (W_ALONG_K ? 0 : (e)), ROWS - 1) * A_ROW +    \
                               (INDEX)(k + (W_ALONG_K ? (e) : 0)) * A_TERM);                   \
    }
    EACH_PART(FETCH_ELEMENT_W)
#endif
    return v;
}
#endif

/* Four staged elements: of neighbouring rows or columns at once. */
#define KEEP_FOUR(tile, pitch, side, k, along_k, stage, v)          \
    {                                                               \
        STAGED_FOUR four;                                           \
        four.x = stage((v).x);                                      \
        four.y = stage((v).y);                                      \
        four.z = stage((v).z);                                      \
        four.w = stage((v).w);                                      \
        TO_LOCAL STAGED *to = (tile) + (k) * (pitch) + (side);      \
        if (along_k) {                                              \
            to[0] = four.x;                                         \
            to[pitch] = four.y;                                     \
            to[2 * (pitch)] = four.z;                               \
            to[3 * (pitch)] = four.w;                               \
        } else {                                                    \
            *(TO_LOCAL STAGED_FOUR *)to = four;                     \
        }                                                           \
    }

/* What an item has of x's next tile. BY_FOURS: fours; else elements. */
#if !CONVOLUTION
#define BY_FOURS 1
typedef FOUR_X four_x;

FUNCTION four_x fetch_x(GLOBAL const TYPE_B *b, INDEX base, int n, int k, int end, int aligned)
{
    four_x v;
    v.x = v.y = v.z = v.w = 0;
#if FOURS_X
    n = min(n, N - (X_ALONG_K ? 1 : 4));
    if (TERMS % TILE_K == 0 || k < end) {
        GLOBAL const TYPE_B *from = b + base + (INDEX)n * B_COLUMN + (INDEX)k * B_TERM;
        READ_FOUR(v, four_x, from)
    }
#else
#define FETCH_ELEMENT_X(part, e)                                                                \
    if (TERMS % TILE_K == 0 || k + (X_ALONG_K ? (e) : 0) < end) {                               \
        v.part = LOAD_B(b, base + (INDEX)min(n + (X_ALONG_K ? 0 : (e)), N - 1) * B_COLUMN +     \
                               (INDEX)(k + (X_ALONG_K ? (e) : 0)) * B_TERM);                    \
    }
    EACH_PART(FETCH_ELEMENT_X)
#endif
    return v;
}
#elif STEPPED && X_ALONG_K
#define BY_FOURS 1
typedef FOUR_X four_x;

/* Four channels of a tap, from `from` on; beyond the last channel zeros. */
FUNCTION four_x fetch_x(GLOBAL const TYPE_0 *from, int channel, int inside, int aligned)
{
    four_x v;
    v.x = v.y = v.z = v.w = X_OUTSIDE;
#if FOURS_X
    if (inside & (TERM_CHANNELS == CHANNELS || channel < CHANNELS)) {
        READ_FOUR(v, four_x, from)
    }
#else
#define FETCH_ELEMENT_X(part, e)                                                         \
    if (inside && (TERM_CHANNELS == CHANNELS || channel + (e) < CHANNELS)) {             \
        v.part = X_ELEMENT(from, (e) * X_CHANNEL, channel + (e));                        \
    }
    EACH_PART(FETCH_ELEMENT_X)
#endif
    return v;
}
#else
#define BY_FOURS 0
#endif

#if CONVOLUTION
/* The columns of an item's part of x: where they begin, and what they read by a window's first tap or
 * which taps read inside. */
#define COLUMNS (BY_FOURS ? LOADS_X : ONE_COLUMN ? 1 : SINGLES)
typedef struct columns {
    INDEX base[COLUMNS];
#if STEPPED || FEW_TAPS
    uint inside[COLUMNS];
#else
    int at_0[COLUMNS], at_1[COLUMNS], at_2[COLUMNS];
#endif
} columns;

FUNCTION void find_columns(columns *found, tile t)
{
    UNROLL
    for (int l = 0; l < COLUMNS; l++) {
#if STEPPED
        find_column(t.n + (BY_FOURS ? QUAD_N(l) : SINGLE_N0), t, &found->base[l],
                    &found->inside[l]);
        found->base[l] += (BY_FOURS ? QUAD_KX(l) : SINGLE_K0) * X_CHANNEL;
#else
        const position p = position_of(min(t.n + SINGLE_N(l), columns_of(t) - 1), t);
        const int at_0 = p.at_0 * STRIDE_0 + FIRST_0(t.residue_0),
                  at_1 = p.at_1 * STRIDE_1 + FIRST_1(t.residue_1),
                  at_2 = p.at_2 * STRIDE_2 + FIRST_2(t.residue_2);
        found->base[l] = (INDEX)p.image * X_IMAGE + (INDEX)t.batch * X_GROUP +
                         (INDEX)at_0 * X_STEP_0 + (INDEX)at_1 * X_STEP_1 + (INDEX)at_2 * X_STEP_2;
#if FEW_TAPS
        found->inside[l] = bits_inside(at_0, at_1, at_2, t);
#else
        found->at_0[l] = at_0;
        found->at_1[l] = at_1;
        found->at_2[l] = at_2;
#endif
#endif
    }
}
#endif

/* Sums are made of chunks that are read at once. */
#define READ_PART(part, row, sum_at, count, chunk)                          \
    UNROLL                                                                  \
    for (int i = 0; i < (count); i += (chunk)) {                            \
        TO_LOCAL const STAGED *from = (row) + sum_at(i);                    \
        if ((chunk) == 4) {                                                 \
            const STAGED_FOUR four = *(TO_LOCAL const STAGED_FOUR *)from;   \
            (part)[i] = four.x;                                             \
            (part)[i + 1 % (count)] = four.y;                               \
            (part)[i + 2 % (count)] = four.z;                               \
            (part)[i + 3 % (count)] = four.w;                               \
        } else {                                                            \
            UNROLL                                                          \
            for (int e = 0; e < (chunk); e++) {                             \
                (part)[i + e] = from[e];                                    \
            }                                                               \
        }                                                                   \
    }

FUNCTION void multiply_tile(SUM *sum, TO_LOCAL const STAGED *w_tile, TO_LOCAL const STAGED *x_tile)
{
    UNROLL_TERMS
    for (int own = 0; own < TILE_K / SLICES; own++) {
        const int k = SLICE * (TILE_K / SLICES) + own;
        STAGED w_part[ITEM_M], x_part[ITEM_N];
        READ_PART(w_part, w_tile + k * PITCH_W, SUM_M, ITEM_M, CHUNK_M)
        READ_PART(x_part, x_tile + k * PITCH_X, SUM_N, ITEM_N, CHUNK_N)
        UNROLL
        for (int i = 0; i < ITEM_M; i++) {
            UNROLL
            for (int j = 0; j < ITEM_N; j++) {
                ADD_PRODUCT(sum[i * ITEM_N + j], w_part[i], x_part[j]);
            }
        }
    }
}

/* ---- an item's part of the next tile, from term k0 on ---- */

/* Behind the last tile (from term `last` on) w and what is listed are read once more, x not at all: a
 * condition around the loads lets compilers move them behind the products, to where they are kept. */
#define KNOWN(k0) min(k0, last)

#if PACKED_A
#define FETCH_W(k0)                                                                       \
    UNROLL                                                                                \
    for (int l = 0; l < LOADS_W; l++) {                                                   \
        if (HAS_W(l)) {                                                                   \
            w_next[l] = fetch_w(w_from + (l) * ITEMS * 4 / TILE_M * PACKED_PITCH,         \
                                KNOWN(k0) + QUAD_KW(l), end);                             \
        }                                                                                 \
    }
#else
#define FETCH_W(k0)                                                                         \
    UNROLL                                                                                  \
    for (int l = 0; l < LOADS_W; l++) {                                                     \
        if (HAS_W(l)) {                                                                     \
            w_next[l] = fetch_w(a, a_base, t.m + QUAD_M(l), KNOWN(k0) + QUAD_KW(l), end,    \
                                aligned);                                                   \
        }                                                                                   \
    }
#endif

#if !CONVOLUTION
#define FETCH_X(k0)                                                                         \
    UNROLL                                                                                  \
    for (int l = 0; l < LOADS_X; l++) {                                                     \
        if (HAS_X(l)) {                                                                     \
            x_next[l] = fetch_x(b, b_base, t.n + QUAD_N(l), KNOWN(k0) + QUAD_KX(l), end,    \
                                aligned);                                                   \
        }                                                                                   \
    }
#elif BY_FOURS
#define FETCH_X(k0)                                                                    \
    UNROLL                                                                             \
    for (int l = 0; l < LOADS_X; l++) {                                                \
        if (HAS_X(l)) {                                                                \
            x_next[l] = fetch_x(c.x + at.base[l], c.channel + QUAD_KX(l),                 \
                                (at.inside[l] & c.tap) != 0, aligned);                    \
        }                                                                              \
    }
#elif STEPPED
#define FETCH_X(k0)                                                                             \
    UNROLL                                                                                      \
    for (int l = 0; l < SINGLES; l++) {                                                         \
        const int channel = c.channel + SINGLE_K(l);                                            \
        x_next[l] = (at.inside[0] & c.tap) && (TERM_CHANNELS == CHANNELS || channel < CHANNELS)    \
                        ? X_ELEMENT(c.x, at.base[0] + (l) * (ITEMS / TILE_N) * X_CHANNEL, channel) \
                        : X_OUTSIDE;                                                            \
    }
#elif LISTED && ONE_COLUMN
#define FETCH_X(k0)                                                                         \
    INDEX offset[SINGLES];                                                                  \
    uint taps[SINGLES];                                                                     \
    READ_LIST(offset, taps, SINGLES, KNOWN(k0) - begin + SINGLE_K0)                         \
    UNROLL                                                                                  \
    for (int l = 0; l < SINGLES; l++) {                                                     \
        const int there = (at.inside[0] & taps[l]) == taps[l];                              \
        x_next[l] = there ? X_ELEMENT(x, at.base[0] + offset[l], 0) : X_OUTSIDE;            \
    }
#elif LISTED
#define FETCH_X(k0)                                                                         \
    const INDEX offset = offsets[KNOWN(k0) - begin + SINGLE_K0];                            \
    const uint taps = tap_bits[KNOWN(k0) - begin + SINGLE_K0];                              \
    UNROLL                                                                                  \
    for (int l = 0; l < SINGLES; l++) {                                                     \
        x_next[l] = (at.inside[l] & taps) == taps ? X_ELEMENT(x, at.base[l] + offset, 0)    \
                                                  : X_OUTSIDE;                              \
    }
#elif FEW_TAPS
#define FETCH_X(k0)                                                                       \
    const uint taps = (k0) + SINGLE_K0 < end ? taps_of(&c) : ~0u;                         \
    UNROLL                                                                                \
    for (int l = 0; l < SINGLES; l++) {                                                   \
        x_next[l] = (at.inside[l] & taps) == taps ? X_ELEMENT(x, at.base[l] + c.at, c.channel) \
                                                  : X_OUTSIDE;                            \
    }
#else
#define FETCH_X(k0)                                                                     \
    UNROLL                                                                              \
    for (int l = 0; l < SINGLES; l++) {                                                 \
        const int there = (k0) + SINGLE_K0 < end &&                                     \
                          is_inside(MASK_0, at.at_0[l] + c.tap_0 * STEP_0, IN_0) &&        \
                          is_inside(MASK_1, at.at_1[l] + c.tap_1 * STEP_1, IN_1) &&        \
                          is_inside(MASK_2, at.at_2[l] + c.tap_2 * STEP_2, IN_2);          \
        x_next[l] = there ? X_ELEMENT(x, at.base[l] + c.at, c.channel) : X_OUTSIDE;        \
    }
#endif

/* Steps to the tile behind. */
#if PACKED_A && (ALL_TAPS || !CONVOLUTION)
#define ADVANCE_W(k0) w_from += (k0) + TILE_K < end ? TILE_K * PACKED_PITCH : 0;
#elif PACKED_A && STEPPED
#define ADVANCE_W(k0) \
    w_from += (k0) + TILE_K < end ? (TILE_K + c.skipped * TERM_CHANNELS) * PACKED_PITCH : 0;
#elif PACKED_A
#define ADVANCE_W(k0) \
    w_from = weights + (INDEX)weights_of(min((k0) + TILE_K, last) + QUAD_KW(0), t) * PACKED_PITCH;
#else
#define ADVANCE_W(k0)
#endif
#if STEPPED
#define ADVANCE_X advance(&c);
#elif CONVOLUTION && !LISTED
#define ADVANCE_X walk_on(&c, t);
#else
#define ADVANCE_X
#endif

#define FETCH(k0)   \
    FETCH_W(k0)     \
    FETCH_X(k0)     \
    ADVANCE_X       \
    ADVANCE_W(k0)

#if BY_FOURS
#define KEEP_X(x_tile)                                                                          \
    UNROLL                                                                                      \
    for (int l = 0; l < LOADS_X; l++) {                                                         \
        if (HAS_X(l)) {                                                                         \
            KEEP_FOUR(x_tile, PITCH_X, QUAD_N(l), QUAD_KX(l), X_ALONG_K, STAGE_X, x_next[l])    \
        }                                                                                       \
    }
#else
#define KEEP_X(x_tile)                                                           \
    UNROLL                                                                       \
    for (int l = 0; l < SINGLES; l++) {                                          \
        (x_tile)[SINGLE_K(l) * PITCH_X + SINGLE_N(l)] = STAGE_X(x_next[l]);      \
    }
#endif

#define KEEP(to)                                                                                \
    UNROLL                                                                                      \
    for (int l = 0; l < LOADS_W; l++) {                                                         \
        if (HAS_W(l)) {                                                                         \
            KEEP_FOUR(to, PITCH_W, QUAD_M(l), QUAD_KW(l), W_ALONG_K, STAGED_W, w_next[l])       \
        }                                                                                       \
    }                                                                                           \
    KEEP_X((to) + SIZE_W)

/* What an item fetches from. */
#if PACKED_A
#define BEGIN_W                                                                        \
    GLOBAL const STAGED *weights =                                                     \
        PACKED(STAGED) + (INDEX)t.batch * PACKED_TERMS * PACKED_PITCH + t.m + QUAD_M(0); \
    GLOBAL const STAGED *w_from =                                                      \
        weights + ((INDEX)weights_of(begin, t) + QUAD_KW(0)) * PACKED_PITCH;
#else
#define BEGIN_W                          \
    GLOBAL const TYPE_A *a = MATRIX_A;   \
    const INDEX a_base = AT_0(t.batch);
#endif
#if !CONVOLUTION
#define BEGIN_X                          \
    GLOBAL const TYPE_B *b = MATRIX_B;   \
    const INDEX b_base = AT_1(t.batch);
#else
#if STEPPED
#define CURSOR cursor c = cursor_at(begin, t, x);
#elif LISTED
#define CURSOR                                   \
    LIST_ROOM                                    \
    list_terms(offsets, tap_bits, begin, end, t);
#else
#define CURSOR walk c = walk_at(begin + SINGLE_K0, t);
#endif
#define BEGIN_X                                                      \
    GLOBAL const TYPE_0 *x = IN(TYPE_0, 0);                          \
    columns at;                                                      \
    CURSOR                                                           \
    find_columns(&at, t);
#endif

/* May all fours be read at once? */
#if FOURS_W && !PACKED_A
#define W_ALIGNED MAY_READ_FOUR(a, TYPE_A)
#else
#define W_ALIGNED 1
#endif
#if FOURS_X && BY_FOURS && CONVOLUTION
#define X_ALIGNED MAY_READ_FOUR(x, TYPE_0)
#elif FOURS_X && BY_FOURS
#define X_ALIGNED MAY_READ_FOUR(b, TYPE_B)
#else
#define X_ALIGNED 1
#endif

/* Large tiles leave room for those of 512 work-items, but where what is fetched needs more registers. */
#if CONVOLUTION
#define FETCHES_LITTLE (PACKED_A && (BY_FOURS || (ONE_COLUMN && LOADS_W == 1)))
#elif FOURS_X && FOURS_W && !PACKED_A && TERMS % TILE_K == 0
#define FETCHES_LITTLE 1
#else
#define FETCHES_LITTLE 0
#endif
#define LEAST_RESIDENT (ITEM_M * ITEM_N == 64 && FETCHES_LITTLE ? 512 / ITEMS : 1)

/* Sums a group's terms. */
#define SUM_TILES(ALIGNED)                                          \
    {                                                               \
        const int aligned = (ALIGNED);                              \
        int now = 0;                                                \
        if (begin < end) {                                          \
            FETCH(begin)                                            \
            KEEP(tiles)                                             \
        }                                                           \
        BARRIER;                                                    \
        for (int k0 = begin; k0 < end; k0 += TILE_K) {              \
            FETCH(k0 + TILE_K)                                      \
            multiply_tile(sum, tiles + now, tiles + now + SIZE_W);  \
            now = SIZE_W + SIZE_X - now;                            \
            KEEP(tiles + now)                                       \
            BARRIER;                                                \
        }                                                           \
    }

KERNEL_RESIDENT(run, LEAST_RESIDENT)(ARGUMENTS)
{
    LOCAL STAGED_FOUR tile_room[(SIZE_W + SIZE_X) / 2];
    TO_LOCAL STAGED *tiles = (TO_LOCAL STAGED *)tile_room;
    ROOM_OF_SLICES SUM_ROW
    const tile t = tile_of(GROUP);
    const int begin = FIRST_TERM(t), end = END_TERM(t),
              last = begin + (end - 1 - begin) / TILE_K * TILE_K;
    four_w w_next[LOADS_W];
#if BY_FOURS
    four_x x_next[LOADS_X];
#else
    FETCHED_X x_next[SINGLES];
#endif
    SUM sum[ITEM_M * ITEM_N];
    BEGIN_W
    BEGIN_X
    UNROLL
    for (int l = 0; l < ITEM_M * ITEM_N; l++) {
        sum[l] = 0;
    }
    if (W_ALIGNED & X_ALIGNED) {
        SUM_TILES(1)
    } else {
        SUM_TILES(0)
    }
    END_SLICES(sum)
}
