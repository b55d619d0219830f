/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of igemm.cl that work-items fetch and matrix units multiply (CUDA's tensor cores). While a tile of
 * TILE_K terms is multiplied, each item has its part of the next one on the way from memory; two buffers in
 * local memory take turns.
 *
 * Operands are STAGED in local memory as units take them, rounded to tf32, or PAIR of f16 or bf16 a word,
 * neighbours along k; 32 work-items multiply 16 by 8 sums and 8 words at a time, of which each has its
 * share. */
#define LOADS_W   (TILE_M * TILE_K / ITEMS)
#define LOADS_X   (TILE_N * TILE_K / ITEMS)

/* Row or column, and k, of an item's load l. */
#define W_M(l)    (W_ALONG_K ? (ITEM + (l) * ITEMS) / TILE_K : (ITEM + (l) * ITEMS) % TILE_M)
#define W_K(l)    (W_ALONG_K ? (ITEM + (l) * ITEMS) % TILE_K : (ITEM + (l) * ITEMS) / TILE_M)
#define X_N(l)    (X_ALONG_K ? (ITEM + (l) * ITEMS) / TILE_K : (ITEM + (l) * ITEMS) % TILE_N)
#define X_K(l)    (X_ALONG_K ? (ITEM + (l) * ITEMS) % TILE_K : (ITEM + (l) * ITEMS) / TILE_N)
/* The columns of an item's loads of x: its other loads are of the same ones. */
#define COLUMNS   (X_ALONG_K ? LOADS_X : TILE_N > ITEMS ? TILE_N / ITEMS : 1)

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
#define SUM_M(i)  (OWN / 32 % UNITS_M * (ITEM_M * 8) + (i) * 8 + LANE_8)
#define UNIT_N(j) (OWN / 32 / UNITS_M * (ITEM_N * 4) + (j) / 2 * 8)
#define SUM_N(j)  (UNIT_N(j) + LANE_4 * 2 + (j) % 2)
#define SUM_OF(sum, i, j) ((sum)[(i) * ITEM_N + (j)])

/* A tile of each matrix from memory, an item's part of it, which is STAGEd when it is kept. */
#if PACKED_A && ALL_TAPS
#define NEXT_W    STAGED
#define KEPT_W(v) (v)
/* w_from: the row of term k0 */
#define FETCH_W(k0)                                                                                \
    UNROLL                                                                                         \
    for (int l = 0; l < LOADS_W; l++) {                                                            \
        w_next[l] = (k0) + W_K(l) < end ? w_from[W_K(l) * PACKED_PITCH + W_M(l)] : (STAGED)0;      \
    }                                                                                              \
    w_from += TILE_K * PACKED_PITCH;
#elif PACKED_A
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
#if STEPPED
#define FETCH_X(k0)                                                                                \
    UNROLL                                                                                         \
    for (int l = 0; l < LOADS_X; l++) {                                                            \
        x_next[l] = inside[l] & c.tap ? X_ELEMENT(c.x, base[l], c.channel) : X_OUTSIDE;            \
    }                                                                                              \
    advance(&c);
#elif CONVOLUTION
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

/* Words of operands: 8 deep, of 16 rows a work-item has two words of two rows, of 8 columns two of
 * one. */
#define MULTIPLY(buffer)                                                                           \
    UNROLL                                                                                         \
    for (int own = 0; own < WORDS_K / SLICES; own += 8) {                                          \
        const int k = SLICE * (WORDS_K / SLICES) + own;                                            \
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

KERNEL(run)(ARGUMENTS)
{
    LOCAL uint w_words[2 * WORDS_W];
    LOCAL uint x_words[2 * WORDS_X];
    TO_LOCAL STAGED *w_tile = (TO_LOCAL STAGED *)w_words, *x_tile = (TO_LOCAL STAGED *)x_words;
    ROOM_OF_SLICES SUM_ROW
    const tile t = tile_of(GROUP);
    const int begin = FIRST_TERM(t), end = END_TERM(t);
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
#if PACKED_A && ALL_TAPS
    GLOBAL const STAGED *w_from = weights + (INDEX)begin * PACKED_PITCH;
#endif
#if STEPPED
    cursor c = cursor_at(begin + X_K(0), t, IN(TYPE_0, 0));
    INDEX base[LOADS_X];
    uint inside[LOADS_X];
    UNROLL
    for (int l = 0; l < LOADS_X; l++) {
        find_column(t.n + X_N(l), t, &base[l], &inside[l]);
    }
#elif CONVOLUTION
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
    END_SLICES(sum)
}
