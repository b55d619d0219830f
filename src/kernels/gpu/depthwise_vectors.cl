/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions whose groups have few input channels, where a core takes the work-items of a group one
 * after another (a processor): a group is one of them. It copies what its outputs read of a channel into
 * local memory, zeros beside x, and sums in vectors of sixteen: positions, or neighbouring channels where
 * those are beside each other. Between depthwise.cl and depthwise_fours.cl.
 *
 * Defined for it: OUTPUT_ROWS by OUTPUT_COLUMNS, the positions of an item; LANES, the channels of a vector,
 * 1 or 16; SHARE, the channels of a group that read the same copy; COMPACT: are an item's positions beside
 * each other in y? HAS_RESIDUAL; UNROLL_TAPS. */
#if VECTORS
#define BLOCKS_2   ((OUT_2 + OUTPUT_COLUMNS - 1) / OUTPUT_COLUMNS)
#if LANES == 1
#define ROW_PARTS ((ROWS + SHARE - 1) / SHARE) /* a group's items at a position */
#define K_PARTS   (BATCHES * ROW_PARTS)
#else
#define K_PARTS   ((CHANNELS_OUT + LANES - 1) / LANES)
#endif
#define TAPS       (WINDOW_1 * WINDOW_2)
#define EACH_LANE(f, v)                                                                           \
    ((VECTOR16)(f((v).s0), f((v).s1), f((v).s2), f((v).s3), f((v).s4), f((v).s5), f((v).s6),      \
                f((v).s7), f((v).s8), f((v).s9), f((v).sa), f((v).sb), f((v).sc), f((v).sd),      \
                f((v).se), f((v).sf)))
#if HAS_RESIDUAL
#define RESIDUAL16(image, k, o0, o1, o2) \
    LOAD16(IN(TYPE_3, 3), RESIDUAL_AT(image, k, o0, o1, o2))
#else
#define RESIDUAL16(image, k, o0, o1, o2) 0.0f
#endif
#define FINISH16(sum, bias, image, k, o0, o1, o2)                                           \
    {                                                                                       \
        const VECTOR16 v = (sum) + (bias) + RESIDUAL16(image, k, o0, o1, o2);               \
        STORE16(OUT(TYPE_Y, 0), Y_AT(image, k, o0, o1, o2), EACH_LANE(activate, v));        \
    }

/* An item's first output, and the number of its outputs. */
typedef struct part {
    int image, k, o0, o1, o2, rows, columns, lanes;
} part;

FUNCTION part part_of(int rest)
{
    part p;
    p.o2 = rest % BLOCKS_2 * OUTPUT_COLUMNS;
    rest /= BLOCKS_2;
    p.o1 = rest % BLOCKS * OUTPUT_ROWS;
    rest /= BLOCKS;
    p.o0 = rest % OUT_0;
    rest /= OUT_0;
    const int k = rest % K_PARTS;
    p.image = rest / K_PARTS;
#if LANES == 1
    p.k = k / ROW_PARTS * ROWS + k % ROW_PARTS * SHARE;
    p.lanes = min(ROWS - k % ROW_PARTS * SHARE, SHARE);
#else
    p.k = k * LANES;
    p.lanes = min(CHANNELS_OUT - p.k, LANES);
#endif
    p.rows = min(OUT_1 - p.o1, OUTPUT_ROWS);
    p.columns = min(OUT_2 - p.o2, OUTPUT_COLUMNS);
    return p;
}

#if LANES == 1
/* Inputs of a column or row of outputs are STRIDE apart: each residue is a plane, in which successive
 * outputs read successive elements. Planes have rows of PITCH elements, without gaps between them, so that
 * a vector of sums may reach over the end of a row; what lies there is no output. */
#define FIELD_1   ((WINDOW_1 - 1) * STEP_1)
#define FIELD_2   ((WINDOW_2 - 1) * STEP_2)
#define PLANES_1  (STRIDE_1 <= FIELD_1 ? STRIDE_1 : FIELD_1 + 1)
#define PLANES_2  (STRIDE_2 <= FIELD_2 ? STRIDE_2 : FIELD_2 + 1)
#define PITCH     (OUTPUT_COLUMNS + FIELD_2 / STRIDE_2)
#define PLANE_ROWS (OUTPUT_ROWS + FIELD_1 / STRIDE_1)
#define SUMS      ((OUTPUT_ROWS * PITCH + 31) / 32 * 32)
#define PLANE     (SUMS + FIELD_1 / STRIDE_1 * PITCH + FIELD_2 / STRIDE_2 + 16)
#define ALL_SUMS  (SHARE * SUMS + 16)
#define X_TILE    (PLANES_1 * PLANES_2 * PLANE)
#define TAP_AT(j1, j2)                                                                         \
    (((j1) * STEP_1 % STRIDE_1 * PLANES_2 + (j2) * STEP_2 % STRIDE_2) * PLANE +                \
     (j1) * STEP_1 / STRIDE_1 * PITCH + (j2) * STEP_2 / STRIDE_2)

/* A row of a plane: elements of a row of x from position i2 on, STRIDE_2 apart; `room`: from the row's
 * begin to the end of x's plane. Vectors may reach over the row's end: what they leave there is
 * overwritten by zeros and by the next row, or is no row's. */
FUNCTION void copy_row(GLOBAL const float *x, int room, int i2, TO_LOCAL float *to)
{
    const int first = room <= 0 ? PITCH : i2 < 0 ? min((-i2 + STRIDE_2 - 1) / STRIDE_2, PITCH) : 0,
              end = room > 0 && i2 < IN_2 ? min((IN_2 - 1 - i2) / STRIDE_2 + 1, PITCH) : 0;
    int j = 0;
    for (; j < first; j++) {
        to[j] = 0.0f;
    }
#if STRIDE_2 == 1 && X_STEP_2 == 1
    for (; j < end && i2 + j + 16 <= room; j += 16) {
        STORE16(to, j, LOAD16(x, i2 + j));
    }
#elif STRIDE_2 == 2 && X_STEP_2 == 1
    for (; j < end && i2 + 2 * j + 32 <= room; j += 16) {
        STORE16(to, j, (VECTOR16)(LOAD16(x, i2 + 2 * j).even, LOAD16(x, i2 + 2 * j + 16).even));
    }
#endif
    for (; j < end; j++) {
        to[j] = x[(INDEX)(i2 + j * STRIDE_2) * X_STEP_2];
    }
    for (j = max(first, end); j < PITCH; j++) {
        to[j] = 0.0f;
    }
}

FUNCTION void copy_x(GLOBAL const float *x, part p, TO_LOCAL float *to)
{
    for (int p1 = 0; p1 < PLANES_1; p1++) {
        for (int row = 0; row < PLANE_ROWS; row++) {
            const int i1 = (p.o1 + row) * STRIDE_1 + p1 + FIRST_1(0);
            const int below = (uint)i1 < (uint)IN_1 ? IN_1 - 1 - i1 : -1,
                      room = below < 0 ? 0 : IN_2 + min(below, 32) * min((int)X_STEP_1, 32);
            for (int p2 = 0; p2 < PLANES_2; p2++) {
                copy_row(x + (INDEX)i1 * X_STEP_1, room, p.o2 * STRIDE_2 + p2 + FIRST_2(0),
                         to + (p1 * PLANES_2 + p2) * PLANE + row * PITCH);
            }
        }
    }
}

/* Adds the products of a window's taps to all sums. */
FUNCTION void add_window(TO_LOCAL const float *x, TO_LOCAL const float *w, int first,
                         TO_LOCAL float *sums)
{
    for (int at = 0; at < SUMS; at += 32) {
        VECTOR16 a = first ? (VECTOR16)0.0f : LOAD16(sums, at),
                 b = first ? (VECTOR16)0.0f : LOAD16(sums, at + 16);
        UNROLL_TAPS
        for (int j1 = 0; j1 < WINDOW_1; j1++) {
            UNROLL_TAPS
            for (int j2 = 0; j2 < WINDOW_2; j2++) {
                const float factor = w[j1 * WINDOW_2 + j2];
                a += factor * LOAD16(x, at + TAP_AT(j1, j2));
                b += factor * LOAD16(x, at + 16 + TAP_AT(j1, j2));
            }
        }
        STORE16(sums, at, a);
        STORE16(sums, at + 16, b);
    }
}

/* Ends a row of a channel's sums and stores them. */
#define FINISH_ROW(from, length, k, o1)                                                          \
    {                                                                                            \
        const INDEX o0 = p.o0, o2 = p.o2;                                                        \
        int j = 0;                                                                               \
        for (; j + 16 <= (length); j += 16) {                                                    \
            FINISH16(LOAD16(from, j), bias, p.image, k, o0, (INDEX)(o1), o2 + j)                 \
        }                                                                                        \
        for (; j < (length); j++) {                                                              \
            FINISH_SUM((from)[j], p.image, k, o0, (INDEX)(o1), o2 + j, 0, 0, 0);                 \
        }                                                                                        \
    }
#if COMPACT
/* Moves the rows behind each other, in vectors that the next row overwrites in part. */
FUNCTION void compact(TO_LOCAL const float *sums, TO_LOCAL float *to)
{
    for (int row = 0; row < OUTPUT_ROWS; row++) {
        for (int j = 0; j < OUT_2; j += 16) {
            STORE16(to, row * OUT_2 + j, LOAD16(sums, row * PITCH + j));
        }
    }
}

#define FINISH_CHANNEL(from, k)                        \
    compact(from, x_tile);                             \
    FINISH_ROW(x_tile, p.rows * OUT_2, k, p.o1)
#else
#define FINISH_CHANNEL(from, k)                                          \
    for (int row = 0; row < p.rows; row++) {                             \
        FINISH_ROW((from) + row * PITCH, p.columns, k, p.o1 + row)       \
    }
#endif
#define FINISH_PART                                            \
    for (int l = 0; l < p.lanes; l++) {                        \
        const float bias = ADD_BIAS(0.0f, p.k + l, 0, 0, 0);   \
        FINISH_CHANNEL(sums + l * SUMS, p.k + l)               \
    }

#else
/* An element of each of the lanes' channels for a position; one for all lanes if they have one group. */
#define X_LANES       (BATCHES == 1 ? 1 : LANES)
#define WHOLE_COLUMNS ((OUTPUT_COLUMNS + 3) / 4 * 4)
#define FIELD_1       ((OUTPUT_ROWS - 1) * STRIDE_1 + (WINDOW_1 - 1) * STEP_1 + 1)
#define FIELD_2       ((WHOLE_COLUMNS - 1) * STRIDE_2 + (WINDOW_2 - 1) * STEP_2 + 1)
#define X_TILE        (FIELD_1 * FIELD_2 * X_LANES)
#define SUMS          (OUTPUT_ROWS * WHOLE_COLUMNS * LANES)
#define ALL_SUMS      SUMS

/* Copies a position's elements of the lanes' groups. */
FUNCTION void copy_lanes(GLOBAL const float *x, part p, TO_LOCAL float *to)
{
#if BATCHES == 1
    to[0] = x[0];
#else
    if (ROWS == 1 && X_GROUP == 1 && p.lanes == LANES) {
        STORE16(to, 0, LOAD16(x, p.k));
        return;
    }
    for (int l = 0; l < LANES; l++) {
        to[l] = x[(INDEX)(min(p.k + l, CHANNELS_OUT - 1) / ROWS) * X_GROUP];
    }
#endif
}

FUNCTION void copy_x(GLOBAL const float *x, part p, TO_LOCAL float *to)
{
    for (int row = 0; row < FIELD_1; row++) {
        const int i1 = p.o1 * STRIDE_1 + row + FIRST_1(0);
        for (int column = 0; column < FIELD_2; column++) {
            const int i2 = p.o2 * STRIDE_2 + column + FIRST_2(0);
            TO_LOCAL float *at = to + (row * FIELD_2 + column) * X_LANES;
            if ((uint)i1 < (uint)IN_1 && (uint)i2 < (uint)IN_2) {
                copy_lanes(x + (INDEX)i1 * X_STEP_1 + (INDEX)i2 * X_STEP_2, p, at);
            } else {
                for (int l = 0; l < X_LANES; l++) {
                    at[l] = 0.0f;
                }
            }
        }
    }
}

#if BATCHES == 1
#define X_OF(column) x[at + (column) * STRIDE_2]
#else
#define X_OF(column) LOAD16(x, (at + (column) * STRIDE_2) * LANES)
#endif
#define ADD_COLUMN(column, sum) sum += X_OF(column) * factor;

FUNCTION void add_window(TO_LOCAL const float *x, TO_LOCAL const float *w, int first,
                         TO_LOCAL float *sums)
{
    for (int block = 0; block < OUTPUT_ROWS * WHOLE_COLUMNS; block += 4) {
        TO_LOCAL float *to = sums + block * LANES;
        const int row = block / WHOLE_COLUMNS, column = block % WHOLE_COLUMNS;
        VECTOR16 a = first ? (VECTOR16)0.0f : LOAD16(to, 0),
                 b = first ? (VECTOR16)0.0f : LOAD16(to, LANES),
                 c = first ? (VECTOR16)0.0f : LOAD16(to, 2 * LANES),
                 d = first ? (VECTOR16)0.0f : LOAD16(to, 3 * LANES);
        for (int j1 = 0; j1 < WINDOW_1; j1++) {
            for (int j2 = 0; j2 < WINDOW_2; j2++) {
                const int at = (row * STRIDE_1 + j1 * STEP_1) * FIELD_2 + column * STRIDE_2 +
                               j2 * STEP_2;
                const VECTOR16 factor = LOAD16(w, (j1 * WINDOW_2 + j2) * LANES);
                ADD_COLUMN(0, a)
                ADD_COLUMN(1, b)
                ADD_COLUMN(2, c)
                ADD_COLUMN(3, d)
            }
        }
        STORE16(to, 0, a);
        STORE16(to, LANES, b);
        STORE16(to, 2 * LANES, c);
        STORE16(to, 3 * LANES, d);
    }
}

#define FINISH_PART                                                                       \
    float biases[LANES];                                                                  \
    for (int l = 0; l < LANES; l++) {                                                     \
        biases[l] = l < p.lanes ? ADD_BIAS(0.0f, p.k + l, 0, 0, 0) : 0.0f;                \
    }                                                                                     \
    const VECTOR16 bias = LOAD16(biases, 0);                                              \
    for (int row = 0; row < p.rows; row++) {                                              \
        for (int j = 0; j < p.columns; j++) {                                             \
            const INDEX o0 = p.o0, o1 = p.o1 + row, o2 = p.o2 + j;                        \
            TO_LOCAL const float *sum = sums + (row * WHOLE_COLUMNS + j) * LANES;         \
            if (p.lanes == LANES) {                                                       \
                FINISH16(LOAD16(sum, 0), bias, p.image, p.k, o0, o1, o2)                  \
            }                                                                             \
            for (int l = 0; p.lanes < LANES && l < p.lanes; l++) {                        \
                FINISH_SUM(sum[l], p.image, p.k + l, o0, o1, o2, 0, 0, 0);                \
            }                                                                             \
        }                                                                                 \
    }
#endif

/* The weights of a window's taps, of each tap's lanes behind each other. */
FUNCTION void copy_weights(GLOBAL const WEIGHT *weights, int lanes, TO_LOCAL float *to)
{
    for (int tap = 0; tap < TAPS; tap++) {
#if LANES == 16
        if (lanes == LANES) {
            STORE16(to, tap * LANES, LOAD16(weights, (INDEX)tap * CHANNELS_OUT));
            continue;
        }
#endif
        for (int l = 0; l < LANES; l++) {
            to[tap * LANES + l] = l < lanes ? weights[(INDEX)tap * CHANNELS_OUT + l] : 0.0f;
        }
    }
}

/* Adds a slice of the window, of a channel and a position of axis 0, to the sums of all channels. */
FUNCTION void add_slice(TO_LOCAL const float *x, GLOBAL const WEIGHT *weights, part p, int first,
                        TO_LOCAL float *w, TO_LOCAL float *sums)
{
#if LANES == 1
    for (int l = 0; l < p.lanes; l++) {
        copy_weights(weights + l, 1, w);
        add_window(x, w, first, sums + l * SUMS);
    }
#else
    copy_weights(weights, p.lanes, w);
    add_window(x, w, first, sums);
#endif
}

KERNEL(run)(ARGUMENTS)
{
    LOCAL float x_tile[X_TILE];
    LOCAL float w_tile[TAPS * LANES];
    LOCAL float sums[ALL_SUMS];
    const part p = part_of(GROUP);
    GLOBAL const float *x = IN(TYPE_0, 0) + (INDEX)p.image * X_IMAGE;
    int first = 1;
#if LANES == 1
    x += (INDEX)(p.k / ROWS) * X_GROUP;
    for (int plane = 0; plane < X_TILE; plane += PLANE) {
        for (int l = PLANE_ROWS * PITCH; l < PLANE; l++) {
            x_tile[plane + l] = 0.0f; /* no row's */
        }
    }
#endif
    for (int channel = 0; channel < CHANNELS; channel++) {
        for (int j0 = 0; j0 < WINDOW_0; j0++) {
            const int i0 = p.o0 * STRIDE_0 + FIRST_0(0) + j0 * STEP_0;
            if ((uint)i0 < (uint)IN_0) {
                copy_x(x + (INDEX)channel * X_CHANNEL + (INDEX)i0 * X_STEP_0, p, x_tile);
                add_slice(x_tile,
                          PACKED(const WEIGHT) + p.k +
                              (INDEX)(channel * WINDOW + j0 * TAPS) * CHANNELS_OUT,
                          p, first, w_tile, sums);
                first = 0;
            }
        }
    }
    for (int l = 0; first && l < ALL_SUMS; l++) {
        sums[l] = 0.0f;
    }
    FINISH_PART
}
#endif
