/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the numbers of a problem, and changes one. */
#include "large_problem.h"

#include "graph/infer.h"
#include "graph/infer_table.h"

#include <stdio.h>
#include <string.h>

static ry_ints *list_of(ry_attrs *attrs, const ry_field *field)
{
    return field->kind == RY_FIELD_INTS ? (ry_ints *)(void *)((char *)attrs + field->offset) : NULL;
}

/* How many numbers an attribute has. */
static int numbers_of(const ry_problem *problem, const ry_field *field)
{
    ry_attrs attrs = problem->attrs;
    const ry_ints *list = list_of(&attrs, field);
    return list ? list->count : field->kind == RY_FIELD_INT;
}

bool large_site_next(const ry_problem *problem, size_t *at, large_site *site)
{
    size_t left = (*at)++;
    for (int i = 0; i < problem->inputs; i++) {
        const size_t dims = ry_problem_has_input(problem, i) ? (size_t)problem->in[i].rank : 0;
        if (left < 2 * dims) {
            *site = (large_site){.tensor = i, .dim = (int)(left / 2), .alike = left % 2 != 0};
            return true;
        }
        left -= 2 * dims;
    }
    int fields = 0;
    const ry_field *field = ry_op_fields(problem->op, &fields);
    for (int i = 0; i < fields; i++) {
        const size_t numbers = (size_t)numbers_of(problem, &field[i]);
        if (left < numbers) {
            *site = (large_site){.tensor = -1, .field = i, .index = (int)left};
            return true;
        }
        left -= numbers;
    }
    return false;
}

static bool channels_last(const ry_tensor *tensor)
{
    return ry_tensor_is_channels_last(tensor) && !ry_tensor_is_row_major(tensor);
}

/* The tensor with another shape, stored as before. */
static ry_tensor reshaped(const ry_tensor *tensor, const ry_shape *shape)
{
    const ry_dtype dtype = (ry_dtype)tensor->dtype;
    return channels_last(tensor) ? ry_tensor_channels_last(dtype, shape, NULL)
                                 : ry_tensor_row_major(dtype, shape, NULL);
}

/* Changes the dims of `count` tensors; false: one would have too many bytes. */
static bool change_dims(ry_tensor *tensors, int count, const large_site *site, int own, int64_t old,
                        int64_t number)
{
    for (int i = 0; i < count; i++) {
        ry_shape shape = ry_tensor_shape(&tensors[i]);
        for (int d = 0; ry_tensor_present(&tensors[i]) && d < shape.rank; d++) {
            const bool changes = site->alike ? shape.dim[d] == old : i == own && d == site->dim;
            shape.dim[d] = changes ? number : shape.dim[d];
        }
        if (ry_tensor_present(&tensors[i])) {
            const int64_t bytes = ry_shape_bytes(&shape, (ry_dtype)tensors[i].dtype);
            if (bytes < 0 || bytes >> 61) {
                return false;
            }
            tensors[i] = reshaped(&tensors[i], &shape);
        }
    }
    return true;
}

static bool change(ry_problem *large, ry_tensor *in, ry_tensor *out, const large_site *site,
                   int64_t number)
{
    if (site->tensor >= 0) {
        const int64_t old = in[site->tensor].dim[site->dim];
        return change_dims(in, large->inputs, site, site->tensor, old, number) &&
               change_dims(out, large->outputs, site, -1, old, number);
    }
    int fields = 0;
    const ry_field *field = ry_op_fields(large->op, &fields) + site->field;
    ry_ints *list = list_of(&large->attrs, field);
    *(list ? &list->at[site->index] : (int64_t *)(void *)((char *)&large->attrs + field->offset)) =
        number;
    return true;
}

static ry_value_id add_operand(ry_graph *graph, const char *side, int i, const ry_tensor *tensor)
{
    char name[16];
    const ry_shape shape = ry_tensor_shape(tensor);
    snprintf(name, sizeof name, "%s%d", side, i);
    return ry_tensor_present(tensor)
               ? ry_graph_add_value(graph, name, (ry_dtype)tensor->dtype, &shape)
               : RY_NO_VALUE;
}

/* The dims that inference knows; others stay. */
static bool take_outputs(const ry_graph *graph, const ry_value_id *id, ry_tensor *out, int count)
{
    for (int i = 0; i < count; i++) {
        ry_shape shape = ry_tensor_shape(&out[i]);
        const ry_value *value = id[i] == RY_NO_VALUE ? NULL : &graph->values[id[i]];
        if (value && value->shape.rank >= 0 && value->shape.rank != shape.rank) {
            return false;
        }
        for (int d = 0; value && d < value->shape.rank; d++) {
            shape.dim[d] = value->shape.dim[d] >= 0 ? value->shape.dim[d] : shape.dim[d];
        }
        if (value) {
            const int64_t bytes = ry_shape_bytes(&shape, (ry_dtype)out[i].dtype);
            if (bytes < 0 || bytes >> 61) {
                return false;
            }
            out[i] = reshaped(&out[i], &shape);
        }
    }
    return true;
}

/* Inputs that give numbers may be absent from a problem, whose attributes have the numbers. */
static bool infer_outputs(ry_graph *graph, ry_problem *large, ry_tensor *out, ry_arena *arena)
{
    const int least = ry_infer_rows[large->op].min_inputs,
              inputs = large->inputs > least ? large->inputs : least;
    ry_value_id *in_id = RY_TAKE(arena, ry_value_id, inputs),
                *out_id = RY_TAKE(arena, ry_value_id, large->outputs);
    const ry_shape list = {.rank = 1, .dim = {ry_dim_unknown(graph)}};
    for (int i = 0; i < inputs; i++) {
        in_id[i] = i < large->inputs ? add_operand(graph, "x", i, &large->in[i]) : RY_NO_VALUE;
        if (in_id[i] == RY_NO_VALUE && i > 0 && i < least) {
            in_id[i] = ry_graph_add_value(graph, NULL, RY_i64, &list);
        }
    }
    for (int i = 0; i < large->outputs; i++) {
        out_id[i] = add_operand(graph, "y", i, &large->out[i]);
    }
    const ry_node_id id = ry_graph_add_node(graph, large->op, NULL, "problem", &large->attrs,
                                            inputs, in_id, large->outputs, out_id);
    ry_error error;
    rynd_status status;
    const ry_infer_result result = ry_infer_node(graph, &graph->nodes[id], &error, &status);
    if (result == RY_INFER_DONE) {
        large->attrs = graph->nodes[id].attrs;
    }
    return result != RY_INFER_FAILED && take_outputs(graph, out_id, out, large->outputs);
}

bool large_problem_make(const ry_problem *problem, const large_site *site, int64_t number,
                        ry_arena *arena, ry_problem *large)
{
    ry_tensor *in = RY_TAKE(arena, ry_tensor, problem->inputs),
              *out = RY_TAKE(arena, ry_tensor, problem->outputs);
    ry_error error;
    ry_graph *graph;
    memcpy(in, problem->in, (size_t)problem->inputs * sizeof *in);
    memcpy(out, problem->out, (size_t)problem->outputs * sizeof *out);
    *large = *problem;
    large->in = in;
    large->out = out;
    if (!change(large, in, out, site, number) ||
        ry_graph_create(&ry_system_allocator, &graph, &error) != RYND_OK) {
        return false;
    }
    const bool fits = infer_outputs(graph, large, out, arena);
    ry_graph_destroy(graph);
    return fits && ry_problem_check(large, &ry_system_allocator, &error) == RYND_OK;
}
