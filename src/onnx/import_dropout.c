/* SPDX-License-Identifier: Apache-2.0 */
/* Dropout: nothing in inference. In training mode an input of a stated shape gets the mask that
 * ONNX's reference draws, by NumPy's legacy generator seeded by the attribute; any other input gets
 * the same mask in every run, too, by Philox (rynd/random.h).
 *
 * Source: M. Matsumoto, T. Nishimura: Mersenne Twister, ACM TOMACS 8(1), 1998 (MT19937); doubles of
 * 53 bits from two draws, as in its genrand_res53. */
#include "onnx/operators.h"

#include <math.h>

enum { STATE = 624, SHIFT = 397 };

/* The mask is a constant of the graph; a larger one is not worth its memory. */
#define MAX_MASK (INT64_C(1) << 24)

typedef struct twister {
    uint32_t state[STATE];
    int next;
} twister;

static void twister_seed(twister *t, uint32_t seed)
{
    t->state[0] = seed;
    for (uint32_t i = 1; i < STATE; i++) {
        t->state[i] = 1812433253u * (t->state[i - 1] ^ t->state[i - 1] >> 30) + i;
    }
    t->next = STATE;
}

static void twister_fill(twister *t)
{
    for (int i = 0; i < STATE; i++) {
        uint32_t y = (t->state[i] & 0x80000000u) | (t->state[(i + 1) % STATE] & 0x7fffffffu);
        t->state[i] = t->state[(i + SHIFT) % STATE] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
    }
    t->next = 0;
}

static uint32_t twister_draw(twister *t)
{
    if (t->next == STATE) {
        twister_fill(t);
    }
    uint32_t y = t->state[t->next++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

static double twister_uniform(twister *t)
{
    double high = twister_draw(t) >> 5, low = twister_draw(t) >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0; /* 2^26, 2^53 */
}

/* Is x of a stated shape that the mask of ONNX's reference is made for? */
static bool has_reference_mask(const ry_import *import, ry_value_id x)
{
    const ry_shape *shape = &import->graph->values[x].shape;
    const int64_t count = shape->rank < 0 ? -1 : ry_shape_elements(shape);
    return count >= 0 && count <= MAX_MASK;
}

static ry_value_id uniform_like(ry_import *import, ry_value_id x)
{
    if (ry_import_failed(import)) {
        return RY_NO_VALUE;
    }
    const ry_shape shape = import->graph->values[x].shape;
    const int64_t count = ry_shape_elements(&shape);
    if (!has_reference_mask(import, x)) {
        ry_import_fail(import, RYND_ERROR_UNSUPPORTED,
                       "its ratio or its training mode is computed: its input needs a shape that "
                       "the model states, of at most 2^24 elements");
        return RY_NO_VALUE;
    }
    ry_value_id mask = ry_graph_add_constant(import->graph, NULL, RY_f64, &shape, NULL);
    if (mask == RY_NO_VALUE) {
        import->status = ry_fail_memory(import->reader->error);
        return mask;
    }
    twister t;
    twister_seed(&t, (uint32_t)ry_import_int(import, "seed"));
    double *numbers = ry_graph_constant_data(import->graph, mask);
    for (int64_t i = 0; i < count; i++) {
        numbers[i] = twister_uniform(&t);
    }
    return mask;
}

/* Training takes input 0 instead, and drops `ratio` (NaN: not known) of it by its own numbers. */
static void let_training_drop(ry_import *import, double ratio)
{
    if (!ry_import_failed(import) && ry_import_wants(import, 0)) {
        ry_graph *graph = import->graph;
        graph->nodes[graph->values[ry_import_out(import, 0)].producer].drop = ratio;
    }
}

/* True everywhere, of x's shape. */
static const char *const all_true = "or(isnan(x0), x0 == x0)";

static void inference(ry_import *import)
{
    ry_value_id x = ry_import_in(import, 0);
    ry_onnx_emit_identity(import, x, 0);
    if (ry_import_wants(import, 1)) {
        ry_value_id mask = ry_onnx_emit_expr1(import, all_true, x);
        /* Below opset 10 the mask has the data's type. */
        ry_onnx_emit_cast(import, mask,
                          import->node->opset < 10 ? ry_import_dtype(import, x) : RY_bool,
                          ry_import_out(import, 1));
    }
}

/* y, and the mask: what is left of ones by the same numbers. */
static void drop_by_philox(ry_import *import, ry_value_id x, double ratio)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_dropout);
    attrs.dropout.ratio = ratio;
    attrs.dropout.seed = ry_import_int(import, "seed");
    attrs.dropout.stream = (int64_t)import->graph->node_count; /* each node has its own mask */
    ry_value_id in[] = {x, ry_onnx_emit_scalar(import, RY_f64, 0)};
    ry_onnx_emit(import, RY_OP_dropout, &attrs, 2, in, ry_import_out(import, 0));
    if (ry_import_wants(import, 1)) {
        in[0] =
            ry_onnx_emit_cast(import, ry_onnx_emit_expr1(import, all_true, x), RY_f32, RY_NO_VALUE);
        const ry_value_id left = ry_onnx_emit(import, RY_OP_dropout, &attrs, 2, in, RY_NO_VALUE);
        ry_onnx_emit_cast(import, left, RY_bool, ry_import_out(import, 1));
    }
}

void ry_import_dropout_old(ry_import *import)
{
    inference(import);
    let_training_drop(import, ry_import_float(import, "ratio"));
}

void ry_import_dropout(ry_import *import)
{
    ry_value_id x = ry_import_in(import, 0), ratio = ry_import_in(import, 1),
                training = ry_import_in(import, 2);
    double mode = 0, known_ratio = 0.5;
    const bool known =
        !ry_import_has(import, 1) || ry_import_scalar_of(import, ratio, &known_ratio);
    const bool never =
        !ry_import_has(import, 2) || (ry_import_scalar_of(import, training, &mode) && mode == 0);
    if (never || (known && known_ratio == 0)) {
        inference(import);
        let_training_drop(import, known ? known_ratio : (double)NAN);
        return;
    }
    if (known && known_ratio > 0 && known_ratio < 1 && mode != 0 &&
        !has_reference_mask(import, x)) {
        drop_by_philox(import, x, known_ratio);
        let_training_drop(import, known_ratio);
        return;
    }
    if (!ry_import_has(import, 1)) {
        ratio = ry_onnx_emit_scalar(import, RY_f32, 0.5);
    }
    ry_value_id keep_in[] = {uniform_like(import, x), training, ratio};
    ry_value_id keep = ry_onnx_emit_expr(import, "or(or(not(x1), x2 == 0), x0 >= cast(x2, f64))",
                                         NULL, 0, NULL, 3, keep_in, ry_import_out(import, 1));
    ry_value_id in[] = {x, keep,
                        ry_onnx_emit_cast(import, ratio, ry_import_dtype(import, x), RY_NO_VALUE),
                        training};
    ry_onnx_emit_expr(import, "select(x1, select(x3, x0 / (1 - x2), x0), 0)", NULL, 0, NULL, 4, in,
                      ry_import_out(import, 0));
    let_training_drop(import, known ? known_ratio : (double)NAN);
}
