/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and products of bytes as quantisers write them, in several nodes. */
#include "grammar.h"

enum { GRAMMAR_MOST_SCALES = 64 };

/* Scales are powers of 2, so that float32 sums are exact. */
static const float X_SCALE = 0.125F, W_SCALE = 0.03125F;

static int constant(grammar *g, ry_dtype dtype, int rank, const int64_t *dim,
                    grammar_content content)
{
    const int id = grammar_new(g, dtype, rank, dim, content, 9);
    g->values[id].source = SOURCE_INITIALIZER;
    g->values[id].constant = true;
    g->values[id].symbolic = 0;
    return id;
}

static int number(grammar *g, float scale)
{
    const int id = grammar_floats(g, -1, &scale);
    g->values[id].source = SOURCE_INITIALIZER;
    g->values[id].constant = true;
    return id;
}

static int dequantise(grammar *g, int bytes, float scale)
{
    const int in[] = {bytes, number(g, scale),
                      constant(g, g->values[bytes].dtype, 0, NULL, CONTENT_COUNTS)};
    return grammar_append(g, "DequantizeLinear", 3, in);
}

/* Weights with a scale for each of `channels`, along the axis. */
static int dequantise_channels(grammar *g, int bytes, int64_t channels, int64_t axis)
{
    static const float scales[] = {0.03125F, 0.0625F, 0.0078125F};
    float each[GRAMMAR_MOST_SCALES];
    for (int64_t i = 0; i < channels; i++) {
        each[i] = scales[i % 3];
    }
    const int scale = grammar_floats(g, (int)channels, each);
    g->values[scale].source = SOURCE_INITIALIZER;
    g->values[scale].constant = true;
    const int in[] = {bytes, scale, constant(g, RY_i8, 1, &channels, CONTENT_COUNTS)};
    return grammar_append_with(g, "DequantizeLinear", 3, in, "axis", axis);
}

static int quantise(grammar *g, int y)
{
    static const float scales[] = {0.0625F, 0.5F, 2};
    const int in[] = {y, number(g, scales[choose(&g->c, 3)]),
                      constant(g, chance(&g->c, 128) ? RY_u8 : RY_i8, 0, NULL, CONTENT_COUNTS)};
    return grammar_append(g, "QuantizeLinear", 3, in);
}

static bool has_room(const grammar *g, int nodes)
{
    return g->node_count + nodes <= GRAMMAR_NODES;
}

/* A convolution or product, perhaps depthwise, with a bias, with scales per channel; -1: the
 * library refuses it. */
static int make_layer(grammar *g)
{
    const bool image = chance(&g->c, 160), depthwise = image && chance(&g->c, 80);
    const int64_t c = grammar_channels(g), k = depthwise ? c : grammar_channels(g),
                  x[] = {1 + (int64_t)choose(&g->c, 2), c, 2 + (int64_t)choose(&g->c, 6), 5},
                  filters[] = {k, depthwise ? 1 : c, 1 + (int64_t)choose(&g->c, 2), 2},
                  matrix[] = {c, k};
    const int rank = image ? 4 : 2;
    const ry_dtype dtype = chance(&g->c, 128) ? RY_u8 : RY_i8;
    int in[] = {dequantise(g, grammar_new(g, dtype, rank, x, CONTENT_NUMBERS, 0), X_SCALE), -1, -1};
    const int w = constant(g, RY_i8, rank, image ? filters : matrix, CONTENT_NUMBERS);
    const bool channels = g->opset >= 13 && k <= GRAMMAR_MOST_SCALES && chance(&g->c, 100);
    const bool bias = image && !channels && chance(&g->c, 100);
    in[1] = in[0] < 0  ? -1
            : channels ? dequantise_channels(g, w, k, image ? 0 : 1)
                       : dequantise(g, w, W_SCALE);
    if (bias && in[1] >= 0) {
        /* small: sums of integers wrap around, those of floats do not */
        in[2] = dequantise(g, constant(g, RY_i32, 1, &k, CONTENT_COUNTS), X_SCALE * W_SCALE);
    }
    return in[1] < 0 || (bias && in[2] < 0)
               ? -1
               : grammar_append_with(g, image ? "Conv" : "MatMul", bias ? 3 : 2, in,
                                     depthwise ? "group" : NULL, c);
}

static int make_bound(grammar *g, int y)
{
    const bool clips = g->opset >= 11 && chance(&g->c, 80);
    const int in[] = {y, clips ? number(g, 0) : -1, clips ? number(g, 6) : -1};
    return grammar_append(g, clips ? "Clip" : "Relu", clips ? 3 : 1, in);
}

/* What stands between quantised layers: a sum of two tensors, or a move. */
static int make_next(grammar *g, int bytes)
{
    static const char *const moves[] = {"GlobalMaxPool", "Transpose", "GlobalAveragePool",
                                        "Concat"};
    const grammar_value like = g->values[bytes];
    const int x = dequantise(g, bytes, 0.5F);
    if (x < 0 || like.rank < 3 || chance(&g->c, 128)) {
        const int other =
            x < 0
                ? -1
                : dequantise(g, grammar_new(g, RY_u8, like.rank, like.dim, CONTENT_NUMBERS, 0), 1);
        const int sum = other < 0 ? -1 : grammar_append(g, "Add", 2, (int[]){x, other});
        return sum < 0 ? -1 : quantise(g, sum);
    }
    const char *move = moves[choose(&g->c, 4)];
    const bool joins = *move == 'C';
    const int y =
        grammar_append_with(g, move, joins ? 2 : 1, (int[]){x, x}, joins ? "axis" : NULL, 1);
    return y < 0 ? -1 : quantise(g, y);
}

bool grammar_make_quantised(grammar *g)
{
    int y = make_layer(g);
    if (y >= 0 && chance(&g->c, 100)) {
        y = make_bound(g, y);
    }
    const bool quantised = chance(&g->c, 200);
    if (y >= 0 && quantised) {
        y = quantise(g, y);
    }
    if (y >= 0 && quantised && has_room(g, 4) && chance(&g->c, 160)) {
        y = make_next(g, y);
    }
    return y >= 0;
}
