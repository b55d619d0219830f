/* SPDX-License-Identifier: Apache-2.0 */
/* Compares nodes with the programs of quantised models. */
#include "graph/quantise_match.h"

#include "graph/rewrite.h"

#include <string.h>

rynd_status ry_quantise_programs_read(ry_graph *graph, ry_quantise_programs *programs,
                                      ry_error *error)
{
    const struct {
        const char *text;
        const ry_expr **program;
    } texts[] = {
        {"cast(cast(x0, f32) * cast(x1, f32), f32)", &programs->dequantise},
        {"cast(cast(cast(x0, i32) - cast(x2, i32), f32) * cast(x1, f32), f32)",
         &programs->dequantise_zero},
        {"saturate(round(cast(x0, f32) / cast(x1, f32)), u8)", &programs->quantise[0]},
        {"saturate(round(cast(x0, f32) / cast(x1, f32)), i8)", &programs->quantise[1]},
        {"saturate(round(cast(x0, f32) / cast(x1, f32)) + cast(x2, f32), u8)",
         &programs->quantise_zero[0]},
        {"saturate(round(cast(x0, f32) / cast(x1, f32)) + cast(x2, f32), i8)",
         &programs->quantise_zero[1]},
        {"x0 + x1", &programs->add},
        {"mean(x0)", &programs->mean},
        {"cast(x0, i32)", &programs->centre},
        {"cast(x0, i32) - cast(x1, i32)", &programs->centre_zero},
        {"saturate(round(cast(x0, f32) * (cast(x1, f32) * cast(x2, f32) / cast(x3, f32))) + "
         "cast(x4, f32), u8)",
         &programs->requantise[0]},
        {"saturate(round(cast(x0, f32) * (cast(x1, f32) * cast(x2, f32) / cast(x3, f32))) + "
         "cast(x4, f32), i8)",
         &programs->requantise[1]},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        RY_TRY(ry_expr_parse(texts[i].text, NULL, 0, &graph->arena, texts[i].program, error));
    }
    return RYND_OK;
}

double ry_quantise_number(const ry_graph *graph, ry_value_id id, int64_t index)
{
    const ry_value *value = &graph->values[id];
    const size_t size = ry_dtype_size(value->dtype);
    uint64_t element = 0;
    memcpy(&element, (const char *)value->constant + index * (int64_t)size, size);
    return ry_get_f64(value->dtype, &element, 0);
}

static bool is_one_constant(const ry_graph *graph, ry_value_id id)
{
    return id != RY_NO_VALUE && graph->values[id].constant &&
           ry_shape_elements(&graph->values[id].shape) == 1;
}

bool ry_read_zero(const ry_graph *graph, ry_value_id id, ry_dtype dtype, int64_t *zero)
{
    if (!ry_is_byte(dtype) || (id != RY_NO_VALUE && !is_one_constant(graph, id))) {
        return false;
    }
    const double number =
        (id != RY_NO_VALUE ? ry_quantise_number(graph, id, 0) : 0) + (dtype == RY_i8 ? 128 : 0);
    *zero = number >= 0 && number <= UINT8_MAX ? (int64_t)number : -1;
    return *zero >= 0;
}

bool ry_read_quantiser(const ry_graph *graph, ry_value_id scale, ry_value_id zero, ry_dtype dtype,
                       ry_quantiser *q)
{
    if (!is_one_constant(graph, scale) || graph->values[scale].dtype != RY_f32) {
        return false;
    }
    q->scale = (float)ry_quantise_number(graph, scale, 0);
    return q->scale > 0 && isfinite(q->scale) && ry_read_zero(graph, zero, dtype, &q->zero);
}

/* Inputs 1 and 2 of a node. */
static bool read_quantiser(const ry_graph *graph, const ry_node *node, ry_dtype dtype,
                           ry_quantiser *q)
{
    return ry_read_quantiser(graph, node->in[1], node->inputs > 2 ? node->in[2] : RY_NO_VALUE,
                             dtype, q);
}

bool ry_is_centring(const ry_quantise_programs *programs, const ry_node *node)
{
    return node && node->op == RY_OP_expr && node->outputs == 1 &&
           ((node->inputs == 1 && ry_rewrite_is_expr(node, programs->centre)) ||
            (node->inputs == 2 && ry_rewrite_is_expr(node, programs->centre_zero)));
}

bool ry_is_requantise(const ry_quantise_programs *programs, const ry_graph *graph,
                      const ry_node *node)
{
    return node && node->op == RY_OP_expr && node->outputs == 1 && node->inputs == 5 &&
           ry_is_byte(graph->values[node->out[0]].dtype) &&
           ry_rewrite_is_expr(node,
                              programs->requantise[graph->values[node->out[0]].dtype == RY_i8]);
}

bool ry_is_dequantise(const ry_quantise_programs *programs, const ry_node *node)
{
    return node && node->op == RY_OP_expr && node->outputs == 1 &&
           ((node->inputs == 2 && ry_rewrite_is_expr(node, programs->dequantise)) ||
            (node->inputs == 3 && ry_rewrite_is_expr(node, programs->dequantise_zero)));
}

const ry_node *ry_find_dequantise(const ry_graph *graph, const ry_quantise_programs *programs,
                                  ry_value_id value, ry_quantiser *q)
{
    const ry_node *node = ry_rewrite_producer(graph, value);
    return ry_is_dequantise(programs, node) &&
                   read_quantiser(graph, node, graph->values[node->in[0]].dtype, q)
               ? node
               : NULL;
}

bool ry_find_quantise(const ry_graph *graph, const ry_quantise_programs *programs,
                      const ry_node *node, ry_quantiser *q)
{
    if (!node || node->op != RY_OP_expr || node->outputs != 1 ||
        graph->values[node->in[0]].dtype != RY_f32) {
        return false;
    }
    const ry_dtype dtype = graph->values[node->out[0]].dtype;
    const bool is = dtype == RY_i8;
    return ry_is_byte(dtype) &&
           ((node->inputs == 2 && ry_rewrite_is_expr(node, programs->quantise[is])) ||
            (node->inputs == 3 && ry_rewrite_is_expr(node, programs->quantise_zero[is]))) &&
           read_quantiser(graph, node, dtype, q);
}
