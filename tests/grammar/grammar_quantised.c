/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and products of bytes as quantisers write them, in several nodes. */
#include "grammar.h"

/* Scales are powers of 2, so that float32 sums are exact. */
static const float X_SCALE = 0.125F;

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

bool grammar_make_quantised(grammar *g)
{
    static const float y_scales[] = {0.0625F, 0.5F, 2};
    const bool image = chance(&g->c, 160);
    const ry_dtype dtype = chance(&g->c, 128) ? RY_u8 : RY_i8,
                   result = chance(&g->c, 128) ? RY_u8 : RY_i8;
    const int64_t c = grammar_channels(g), k = grammar_channels(g),
                  x[] = {1 + (int64_t)choose(&g->c, 2), c, 2 + (int64_t)choose(&g->c, 6), 5},
                  filters[] = {k, c, 1 + (int64_t)choose(&g->c, 2), 2}, matrix[] = {c, k};
    const int rank = image ? 4 : 2;
    int y = dequantise(g, grammar_new(g, dtype, rank, x, CONTENT_NUMBERS, 0), X_SCALE);
    const int w = constant(g, RY_i8, rank, image ? filters : matrix, CONTENT_NUMBERS);
    const int weights = y < 0 ? -1 : dequantise(g, w, 0.03125F);
    y = weights < 0 ? -1 : grammar_append(g, image ? "Conv" : "MatMul", 2, (int[]){y, weights});
    if (y >= 0 && chance(&g->c, 100)) {
        y = grammar_append(g, "Relu", 1, &y);
    }
    if (y >= 0 && chance(&g->c, 200)) {
        const int in[] = {y, number(g, y_scales[choose(&g->c, 3)]),
                          constant(g, result, 0, NULL, CONTENT_COUNTS)};
        y = grammar_append(g, "QuantizeLinear", 3, in);
    }
    return y >= 0;
}
