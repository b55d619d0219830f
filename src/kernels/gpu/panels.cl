/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of igemm.cl where a core takes the work-items of a group one after another (a processor): a group
 * is one of them. It keeps TILE_K terms of its tile's columns in local memory and multiplies 8 by 32 at
 * a time in vectors, along the columns, or along the rows where x's terms are beside each other. */
#define BEGIN FIRST_TERM(t)
#define END   END_TERM(t)
/* Offsets in the tile: column n of term k; sum (m, n). */
#define X_AT(k, n)   (X_ALONG_K ? (n) * TILE_K + (k) : (k) * TILE_N + (n))
#define SUM_AT(m, n) (X_ALONG_K ? (n) * TILE_M + (m) : (m) * TILE_N + (n))
/* What is multiplied at once: eight of one side, two vectors of the other. */
#define ACROSS       8
#define ALONG        32
/* Elements of x and of a product's matrices as floats. */
#define FLOAT_X(at)  STAGE_X(LOAD_X(x, at))
#define FLOAT_A(at)  STAGE_A(LOAD_A(a, at))
#define FLOAT_B(at)  STAGE_X(LOAD_B(b, at))
#undef PARTIAL
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
        to[j] = FLOAT_X(from + (INDEX)j * (step * X_STEP_2));
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
            to[j] = FLOAT_X(from + (INDEX)j * X_CHANNEL);
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
                    FLOAT_A(a_base + (INDEX)(t.m + m) * A_ROW + (INDEX)(k0 + k) * A_TERM);
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
                    FLOAT_B(b_base + (INDEX)(t.n + n) * B_COLUMN + (INDEX)(k0 + k) * B_TERM);
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
