/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of 3x3 taps in Winograd's form: TILE_OUTPUTS by TILE_OUTPUTS outputs of a tile are made
 * of products at POINTS by POINTS points, TILE_OUTPUTS + 2 an axis.
 *
 *   pack              u[point], packed for igemm.cl    of the weights, once
 *   transform_input   v[point][channel][tile]          of x's tiles, V_POINT floats a point
 *   run (igemm.cl)    m[point] = u[point] * v[point]   sums over channels, M_POINT a point
 *   transform_output  y of m, with what is added to it and the activation
 *
 * Where x's channels are beside each other so are v's, and m's where y's are. The points are 0,
 * +POINT_A, -POINT_A, for four outputs +POINT_B, -POINT_B, and infinity; the transforms of x and of
 * the products have integers or products of these, that of the weights takes the divisors.
 *
 * An infinity or NaN in x or the weights, and what overflows on the way, is not finite in any output
 * that it reaches: the outputs of a tile that has some which are not are summed over taps. */
#if TILE_OUTPUTS == 2
#define POINTS 4
#else
#define POINT_A  0.625f
#define POINT_B  1.5f
#define SQUARE_A (POINT_A * POINT_A)
#define SQUARE_B (POINT_B * POINT_B)
#define POINTS   6
#endif

#define TILES (IMAGES * TILE_ROWS * TILE_COLUMNS)
#define V     WORKSPACE(float)
#define M     (WORKSPACE(float) + M_FIRST)

/* Of one line of x's tile; `step` apart. */
FUNCTION void input_line(float *d, int step)
{
#if TILE_OUTPUTS == 2
    const float d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step];
    d[0] = d2 - d0;
    d[step] = d2 + d1;
    d[2 * step] = d2 - d1;
    d[3 * step] = d3 - d1;
#else
    const float d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step],
                d5 = d[5 * step];
    const float a_even = d4 - SQUARE_B * d2, a_odd = POINT_A * (d3 - SQUARE_B * d1),
                b_even = d4 - SQUARE_A * d2, b_odd = POINT_B * (d3 - SQUARE_A * d1);
    d[0] = d4 - (SQUARE_A + SQUARE_B) * d2 + SQUARE_A * SQUARE_B * d0;
    d[step] = a_even + a_odd;
    d[2 * step] = a_even - a_odd;
    d[3 * step] = b_even + b_odd;
    d[4 * step] = b_even - b_odd;
    d[5 * step] = d5 - (SQUARE_A + SQUARE_B) * d3 + SQUARE_A * SQUARE_B * d1;
#endif
}

/* Of three weights. */
FUNCTION void weights_line(float w0, float w1, float w2, float *u, int step)
{
#if TILE_OUTPUTS == 2
    u[0] = -w0;
    u[step] = 0.5f * (w0 + w1 + w2);
    u[2 * step] = 0.5f * (w0 - w1 + w2);
    u[3 * step] = w2;
#else
    const float a = 1.0f / (2.0f * SQUARE_A * (SQUARE_A - SQUARE_B)),
                b = 1.0f / (2.0f * SQUARE_B * (SQUARE_B - SQUARE_A));
    u[0] = w0 * (1.0f / (SQUARE_A * SQUARE_B));
    u[step] = a * (w0 + SQUARE_A * w2 + POINT_A * w1);
    u[2 * step] = a * (w0 + SQUARE_A * w2 - POINT_A * w1);
    u[3 * step] = b * (w0 + SQUARE_B * w2 + POINT_B * w1);
    u[4 * step] = b * (w0 + SQUARE_B * w2 - POINT_B * w1);
    u[5 * step] = w2;
#endif
}

/* The outputs of one line of products take the place of its first ones. */
FUNCTION void output_line(float *m, int step)
{
#if TILE_OUTPUTS == 2
    const float m0 = m[0], m1 = m[step], m2 = m[2 * step], m3 = m[3 * step];
    m[0] = m0 + m1 + m2;
    m[step] = m1 - m2 + m3;
#else
    const float a_sum = m[step] + m[2 * step], a_difference = m[step] - m[2 * step],
                b_sum = m[3 * step] + m[4 * step], b_difference = m[3 * step] - m[4 * step];
    m[0] = m[0] + a_sum + b_sum;
    m[step] = POINT_A * a_difference + POINT_B * b_difference;
    m[2 * step] = SQUARE_A * a_sum + SQUARE_B * b_sum;
    m[3 * step] = POINT_A * SQUARE_A * a_difference + POINT_B * SQUARE_B * b_difference +
                  m[5 * step];
#endif
}

KERNEL(pack)(ARGUMENTS)
{
    const int at = GROUP * TRANSFORM_ITEMS + ITEM, channel = at / PANEL % CHANNELS,
              row = at / PANEL / CHANNELS * PANEL + at % PANEL;
    if (row < PACKED_PITCH) {
        GLOBAL const TYPE_1 *w = IN(TYPE_1, 1);
        const INDEX from = (INDEX)row * W_OUT + (INDEX)channel * W_IN;
        float lines[3 * POINTS], u[POINTS * POINTS];
        UNROLL_SHORT
        for (int r = 0; r < 3; r++) {
            float taps[3];
            UNROLL_SHORT
            for (int s = 0; s < 3; s++) {
                taps[s] =
                    row < ROWS
                        ? LOAD_1(w, from + (INDEX)r * W_STEP_1 + (INDEX)s * W_STEP_2)
                        : 0.0f;
            }
            weights_line(taps[0], taps[1], taps[2], lines + r * POINTS, 1);
        }
        UNROLL_SHORT
        for (int p = 0; p < POINTS; p++) {
            weights_line(lines[p], lines[POINTS + p], lines[2 * POINTS + p], u + p, POINTS);
        }
        UNROLL_SHORT
        for (int p = 0; p < POINTS * POINTS; p++) {
            PACKED(float)[p * (CHANNELS * PACKED_PITCH) + at] = u[p];
        }
    }
}

/* A tile of an image: where its outputs begin. */
typedef struct winograd_tile {
    int image, at_1, at_2;
} winograd_tile;

FUNCTION winograd_tile winograd_tile_of(int n)
{
    winograd_tile t;
    t.at_2 = n % TILE_COLUMNS * TILE_OUTPUTS;
    n /= TILE_COLUMNS;
    t.at_1 = n % TILE_ROWS * TILE_OUTPUTS;
    t.image = n / TILE_ROWS;
    return t;
}

/* What a tap or a tile reads of x, zero beside it. */
FUNCTION float element_of(GLOBAL const TYPE_0 *x, INDEX base, int at_1, int at_2)
{
    return (uint)at_1 < (uint)IN_1 && (uint)at_2 < (uint)IN_2
               ? LOAD_0(x, base + (INDEX)at_1 * X_STEP_1 + (INDEX)at_2 * X_STEP_2)
               : 0.0f;
}

KERNEL(transform_input)(ARGUMENTS)
{
    const int at = GROUP * TRANSFORM_ITEMS + ITEM;
    if (at < CHANNELS * TILES) {
        const int channel = X_ALONG_K ? at % CHANNELS : at / TILES,
                  n = X_ALONG_K ? at / CHANNELS : at % TILES;
        const winograd_tile t = winograd_tile_of(n);
        const INDEX base = (INDEX)t.image * X_IMAGE + (INDEX)channel * X_CHANNEL;
        GLOBAL const TYPE_0 *x = IN(TYPE_0, 0);
        float d[POINTS * POINTS];
        UNROLL_SHORT
        for (int i = 0; i < POINTS; i++) {
            UNROLL_SHORT
            for (int j = 0; j < POINTS; j++) {
                d[i * POINTS + j] =
                    element_of(x, base, t.at_1 + FIRST_1(0) + i, t.at_2 + FIRST_2(0) + j);
            }
            input_line(d + i * POINTS, 1);
        }
        UNROLL_SHORT
        for (int j = 0; j < POINTS; j++) {
            input_line(d + j, POINTS);
        }
        UNROLL_SHORT
        for (int p = 0; p < POINTS * POINTS; p++) {
            V[p * V_POINT + at] = d[p];
        }
    }
}

/* An output of a tile as the sum over taps; a NaN stays one. */
FUNCTION float direct_sum(GLOBAL const TYPE_0 *x, GLOBAL const TYPE_1 *w, winograd_tile t, int row,
                          int i, int j)
{
    float sum = 0.0f;
    for (int channel = 0; channel < CHANNELS && sum == sum; channel++) {
        const INDEX base = (INDEX)t.image * X_IMAGE + (INDEX)channel * X_CHANNEL,
                    from = (INDEX)row * W_OUT + (INDEX)channel * W_IN;
        for (int tap = 0; tap < 9; tap++) {
            const int r = tap / 3, s = tap % 3;
            sum += element_of(x, base, t.at_1 + FIRST_1(0) + i + r, t.at_2 + FIRST_2(0) + j + s) *
                   LOAD_1(w, from + (INDEX)r * W_STEP_1 + (INDEX)s * W_STEP_2);
        }
    }
    return sum;
}

/* What is added to a sum, the activation, the store. */
#define FINISH_OUTPUT(i, j, sum)                                                  \
    {                                                                             \
        const INDEX o0 = 0, o1 = (INDEX)(t.at_1 + (i)), o2 = (INDEX)(t.at_2 + (j)); \
        float y = ADD_BIAS(sum, row, 0, 0, 0);                                    \
        y = ADD_RESIDUAL(y, t.image, row, o0, o1, o2);                            \
        STORE_Y(t.image, row, o0, o1, o2, activate(y));                           \
    }

KERNEL(transform_output)(ARGUMENTS)
{
    const int at = GROUP * TRANSFORM_ITEMS + ITEM;
    if (at < ROWS * TILES) {
        const int row = Y_ALONG_M ? at % ROWS : at / TILES, n = Y_ALONG_M ? at / ROWS : at % TILES;
        const winograd_tile t = winograd_tile_of(n);
        const int rows = min(OUT_1 - t.at_1, TILE_OUTPUTS),
                  columns = min(OUT_2 - t.at_2, TILE_OUTPUTS);
        GLOBAL const float *from = M;
        float m[POINTS * POINTS];
        float zero = 0.0f; /* NaN as soon as something is not finite */
        UNROLL_SHORT
        for (int p = 0; p < POINTS * POINTS; p++) {
            m[p] = from[p * M_POINT + at];
        }
        UNROLL_SHORT
        for (int i = 0; i < POINTS; i++) {
            output_line(m + i * POINTS, 1);
        }
        UNROLL_SHORT
        for (int j = 0; j < TILE_OUTPUTS; j++) {
            output_line(m + j, POINTS);
        }
        UNROLL_SHORT
        for (int i = 0; i < TILE_OUTPUTS; i++) {
            UNROLL_SHORT
            for (int j = 0; j < TILE_OUTPUTS; j++) {
                zero += m[i * POINTS + j] * 0.0f;
            }
        }
        if (zero != 0.0f) {
            /* rare, and long enough that nothing of it is unrolled */
            for (int o = 0; o < rows * columns; o++) {
                const int i = o / columns, j = o % columns;
                FINISH_OUTPUT(i, j, direct_sum(IN(TYPE_0, 0), IN(TYPE_1, 1), t, row, i, j))
            }
            return;
        }
        UNROLL_SHORT
        for (int i = 0; i < TILE_OUTPUTS; i++) {
            UNROLL_SHORT
            for (int j = 0; j < TILE_OUTPUTS; j++) {
                if (i < rows && j < columns) {
                    FINISH_OUTPUT(i, j, m[i * POINTS + j])
                }
            }
        }
    }
}
