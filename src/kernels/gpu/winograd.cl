/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of 3x3 taps in Winograd's form: TILE_OUTPUTS by TILE_OUTPUTS outputs of a tile are made
 * of products at POINTS by POINTS points, TILE_OUTPUTS + 2 an axis. A transposed convolution (a data
 * gradient) is one of the taps in reverse order.
 *
 *   pack              u[point], packed for igemm.cl    of the weights, once
 *   transform_input   v[point][channel][tile]          of x's tiles, V_POINT floats a point
 *   mark              marks[tile]                      outputs that are summed directly
 *   run (igemm.cl)    m[point] = u[point] * v[point]   sums over channels, M_POINT a point
 *   transform_output  y of m, with what is added to it and the activation
 *
 * If x's channels are adjacent in memory, so are v's; m follows y likewise. The points are 0,
 * +POINT_A, -POINT_A, for four outputs +POINT_B, -POINT_B, and infinity. The transforms of x and of
 * the products have integers or products of these, that of the weights takes the divisors.
 *
 * Some outputs are summed over taps instead:
 * - all of a tile whose products are not finite: an infinity or NaN in x or the weights, and an
 *   overflow on the way, reaches every output of its tile;
 * - outputs of a tile that outweighs their windows (below);
 * - all of a filter with one weight far above its others. */
#if TILE_OUTPUTS == 2
#define POINTS 4
#else
#define POINT_A  0.625f
#define POINT_B  1.5f
#define SQUARE_A (POINT_A * POINT_A)
#define SQUARE_B (POINT_B * POINT_B)
#define POINTS   6
#endif

/* The tap that meets row or column r of an output's window, and where window 0 begins: taps of a
 * transposed convolution step back through x. */
#define TURNED   (STEP_1 < 0)
#define TAP(r)   (TURNED ? 2 - (r) : (r))
#define BEGIN_1  (FIRST_1(0) - (TURNED ? 2 : 0))
#define BEGIN_2  (FIRST_2(0) - (TURNED ? 2 : 0))

#define TILES (IMAGES * TILE_ROWS * TILE_COLUMNS)
#define V     WORKSPACE(float)
#define M     (WORKSPACE(float) + M_FIRST)
#define NORMS (WORKSPACE(float) + NORMS_FIRST) /* [chunk of channels][position of x] */
#define MARKS (WORKSPACE(uint) + MARKS_FIRST)  /* [tile], bit i * TILE_OUTPUTS + j: output i, j */
#define FILTERS (PACKED(float) + FILTERS_FIRST) /* [row] */
#define POSITIONS (IMAGES * IN_1 * IN_2)

/* The least and the largest normal float. */
#define LEAST_SIZE 0x1p-126f
#define MOST_SIZE  0x1.fffffep127f

/* Transforms one line of x's tile, elements `step` apart. */
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

/* Transforms three weights. */
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

/* Weight i of a filter, channel by channel, in the order of the window's rows and columns. */
FUNCTION float weight_of(GLOBAL const TYPE_1 *w, int row, int i)
{
    return LOAD_1(w, (INDEX)row * W_OUT + (INDEX)(i / 9) * W_IN +
                         (INDEX)TAP(i % 9 / 3) * W_STEP_1 + (INDEX)TAP(i % 3) * W_STEP_2);
}

FUNCTION void pack_weights(GLOBAL const TYPE_1 *w, GLOBAL float *packed)
{
    const int at = GROUP * GROUP_ITEMS + ITEM, channel = at / PANEL % CHANNELS,
              row = at / PANEL / CHANNELS * PANEL + at % PANEL;
    if (row < PACKED_PITCH) {
        float lines[3 * POINTS], u[POINTS * POINTS];
        UNROLL_SHORT
        for (int r = 0; r < 3; r++) {
            float taps[3];
            UNROLL_SHORT
            for (int s = 0; s < 3; s++) {
                taps[s] = row < ROWS ? weight_of(w, row, channel * 9 + r * 3 + s) : 0.0f;
            }
            weights_line(taps[0], taps[1], taps[2], lines + r * POINTS, 1);
        }
        UNROLL_SHORT
        for (int p = 0; p < POINTS; p++) {
            weights_line(lines[p], lines[POINTS + p], lines[2 * POINTS + p], u + p, POINTS);
        }
        UNROLL_SHORT
        for (int p = 0; p < POINTS * POINTS; p++) {
            packed[p * (CHANNELS * PACKED_PITCH) + at] = u[p];
        }
    }
}

/* The filter's largest weight over the norm of its others; 0: it is alone or not the only such one.
 * The scale of the others keeps their squares from overflow. */
FUNCTION float contrast_of_filter(GLOBAL const TYPE_1 *w, int row, TO_LOCAL float *room)
{
    float largest = 0.0f, second = 0.0f, times = 0.0f, squares = 0.0f;
    for (int i = ITEM; i < CHANNELS * 9; i += GROUP_ITEMS) {
        largest = fmax(largest, fabs(weight_of(w, row, i)));
    }
    largest = max_of_group(largest, room);
    for (int i = ITEM; i < CHANNELS * 9; i += GROUP_ITEMS) {
        const float size = fabs(weight_of(w, row, i));
        times += size < largest ? 0.0f : 1.0f;
        second = size < largest ? fmax(second, size) : second;
    }
    times = sum_of_group(times, room);
    second = max_of_group(second, room);
    for (int i = ITEM; i < CHANNELS * 9; i += GROUP_ITEMS) {
        const float size = fabs(weight_of(w, row, i)), part = size / second;
        squares += size < largest ? part * part : 0.0f;
    }
    squares = sum_of_group(squares, room);
    return times > 1.0f || second < LEAST_SIZE ? 0.0f : largest / second / sqrt(squares);
}

/* The groups behind those of the weights have a filter each. */
KERNEL(pack)(ARGUMENTS)
{
    LOCAL float room[GROUP_ITEMS];
    const int row = GROUP - PACK_GROUPS;
    if (row < 0) {
        pack_weights(IN(TYPE_1, 1), PACKED(float));
    } else {
        const float contrast = contrast_of_filter(IN(TYPE_1, 1), row, room);
        if (ITEM == 0) {
            FILTERS[row] = contrast;
        }
    }
}

/* A tile of an image: the first output. */
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

FUNCTION void transform_tile(GLOBAL const TYPE_0 *x, GLOBAL float *v, int at)
{
    const int channel = X_ALONG_K ? at % CHANNELS : at / TILES,
              n = X_ALONG_K ? at / CHANNELS : at % TILES;
    const winograd_tile t = winograd_tile_of(n);
    const INDEX base = (INDEX)t.image * X_IMAGE + (INDEX)channel * X_CHANNEL;
    float d[POINTS * POINTS];
    UNROLL_SHORT
    for (int i = 0; i < POINTS; i++) {
        UNROLL_SHORT
        for (int j = 0; j < POINTS; j++) {
            d[i * POINTS + j] =
                element_of(x, base, t.at_1 + BEGIN_1 + i, t.at_2 + BEGIN_2 + j);
        }
        input_line(d + i * POINTS, 1);
    }
    UNROLL_SHORT
    for (int j = 0; j < POINTS; j++) {
        input_line(d + j, POINTS);
    }
    UNROLL_SHORT
    for (int p = 0; p < POINTS * POINTS; p++) {
        v[p * V_POINT + at] = d[p];
    }
}

/* Tiles that outweigh their windows.
 *
 * Winograd's form computes all outputs of a tile from all of its inputs, so each output's rounding
 * error is in proportion to the norm of the tile. An output is summed directly if the tile's sum of
 * squares exceeds CONTRAST times that of the output's window without its largest position
 * (docs/accuracy.md). Squares are summed over all channels. Infinities, NaNs and numbers that are
 * all below LEAST_SIZE count as 0. */

FUNCTION float size_of(float value)
{
    const float size = fabs(value);
    return size <= MOST_SIZE ? size : 0.0f;
}

/* A sixteenth of the norm of numbers whose sum of squares is no normal float. */
FUNCTION float scaled_norm(GLOBAL const TYPE_0 *x, INDEX base, int channels)
{
    float largest = 0.0f, squares = 0.0f;
    for (int c = 0; c < channels; c++) {
        largest = fmax(largest, size_of(LOAD_0(x, base + (INDEX)c * X_CHANNEL)));
    }
    for (int c = 0; c < channels && largest >= LEAST_SIZE; c++) {
        const float part = size_of(LOAD_0(x, base + (INDEX)c * X_CHANNEL)) / largest;
        squares += part * part;
    }
    return largest * (0.0625f * sqrt(squares));
}

/* A sixteenth of the norm of a chunk of channels at one position of x: no norm overflows. */
FUNCTION float norm_of(GLOBAL const TYPE_0 *x, int at)
{
    const int position = at % POSITIONS, first = at / POSITIONS * CHUNK,
              channels = min(CHANNELS - first, CHUNK);
    const INDEX base = (INDEX)(position / (IN_1 * IN_2)) * X_IMAGE +
                       (INDEX)(position / IN_2 % IN_1) * X_STEP_1 +
                       (INDEX)(position % IN_2) * X_STEP_2 + (INDEX)first * X_CHANNEL;
    float squares = 0.0f;
    for (int c = 0; c < channels; c++) {
        const float value = LOAD_0(x, base + (INDEX)c * X_CHANNEL);
        squares += value * value;
    }
    return squares >= 0x1p-100f && squares <= MOST_SIZE ? 0.0625f * sqrt(squares)
                                                        : scaled_norm(x, base, channels);
}

/* The items behind those of the tiles have a chunk at a position each. */
KERNEL(transform_input)(ARGUMENTS)
{
    const int at = GROUP * GROUP_ITEMS + ITEM, norm = at - CHANNELS * TILES;
    if (norm < 0) {
        transform_tile(IN(TYPE_0, 0), V, at);
    } else if (norm < CHUNKS * POSITIONS) {
        NORMS[norm] = norm_of(IN(TYPE_0, 0), norm);
    }
}

/* Squares at a tile's positions, where the largest norm counts as 1; OUTSIDE in the padding. */
#define OUTSIDE (-1.0f)

/* Is output (i, j) of a tile with the sum `all` of squares to be summed directly? A position that is
 * alone in its window must not outweigh the tile's others either. */
FUNCTION int is_uneven(const float *squares, float all, int i, int j)
{
    float rest = 0.0f, largest = 0.0f;
    int inside = 0;
    UNROLL_SHORT
    for (int tap = 0; tap < 9; tap++) {
        const float square = squares[(i + tap / 3) * POINTS + j + tap % 3];
        rest += fmin(fmax(square, 0.0f), largest);
        largest = fmax(square, largest);
        inside += square != OUTSIDE;
    }
    rest = inside > 1 ? rest : fmin(largest, all - largest);
    return all > CONTRAST * rest;
}

/* Fills the squares of a tile; returns their sum, 0 if all inputs are. */
FUNCTION float tile_squares(GLOBAL const float *norms, winograd_tile t, float *squares)
{
    const int image = t.image * (IN_1 * IN_2);
    float largest = 0.0f, all = 0.0f;
    for (int p = 0; p < POINTS * POINTS; p++) {
        const int row = t.at_1 + BEGIN_1 + p / POINTS, column = t.at_2 + BEGIN_2 + p % POINTS;
        const int inside = (uint)row < (uint)IN_1 && (uint)column < (uint)IN_2;
        squares[p] = inside ? 0.0f : OUTSIDE;
        for (int c = 0; inside && c < CHUNKS; c++) {
            largest = fmax(largest, norms[c * POSITIONS + image + row * IN_2 + column]);
        }
    }
    if (largest < LEAST_SIZE) {
        return 0.0f;
    }
    for (int p = 0; p < POINTS * POINTS; p++) {
        const int row = t.at_1 + BEGIN_1 + p / POINTS, column = t.at_2 + BEGIN_2 + p % POINTS;
        for (int c = 0; squares[p] != OUTSIDE && c < CHUNKS; c++) {
            const float part = norms[c * POSITIONS + image + row * IN_2 + column] / largest;
            squares[p] += part * part;
            all += part * part;
        }
    }
    return all;
}

KERNEL(mark)(ARGUMENTS)
{
    const int n = GROUP * GROUP_ITEMS + ITEM;
    if (n < TILES) {
        float squares[POINTS * POINTS];
        const float all = tile_squares(NORMS, winograd_tile_of(n), squares);
        uint marks = 0;
        for (int o = 0; o < TILE_OUTPUTS * TILE_OUTPUTS; o++) {
            const int uneven = is_uneven(squares, all, o / TILE_OUTPUTS, o % TILE_OUTPUTS);
            marks |= uneven ? 1u << o : 0u;
        }
        MARKS[n] = marks;
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
            sum += element_of(x, base, t.at_1 + BEGIN_1 + i + r, t.at_2 + BEGIN_2 + j + s) *
                   LOAD_1(w, from + (INDEX)TAP(r) * W_STEP_1 + (INDEX)TAP(s) * W_STEP_2);
        }
    }
    return sum;
}

/* What is added to a sum, the activation, the store. */
#define FINISH_OUTPUT(i, j, sum)                                                  \
    {                                                                             \
        const INDEX o0 = 0, o1 = (INDEX)(t.at_1 + (i)), o2 = (INDEX)(t.at_2 + (j)); \
        FINISH_SUM(sum, t.image, row, o0, o1, o2, 0, 0, 0);                       \
    }

KERNEL(transform_output)(ARGUMENTS)
{
    const int at = GROUP * GROUP_ITEMS + ITEM;
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
        const uint direct =
            zero != 0.0f || FILTERS[row] > FILTER_CONTRAST ? ~0u : MARKS[n];
        UNROLL_SHORT
        for (int i = 0; i < TILE_OUTPUTS; i++) {
            UNROLL_SHORT
            for (int j = 0; j < TILE_OUTPUTS; j++) {
                if (i < rows && j < columns && !(direct >> (i * TILE_OUTPUTS + j) & 1u)) {
                    FINISH_OUTPUT(i, j, m[i * POINTS + j])
                }
            }
        }
        if (direct) {
            /* rare, and long enough that nothing is unrolled */
            for (int o = 0; o < rows * columns; o++) {
                const int i = o / columns, j = o % columns;
                if (direct >> (i * TILE_OUTPUTS + j) & 1u) {
                    FINISH_OUTPUT(i, j, direct_sum(IN(TYPE_0, 0), IN(TYPE_1, 1), t, row, i, j))
                }
            }
        }
    }
}
