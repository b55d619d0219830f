/* SPDX-License-Identifier: Apache-2.0 */
/* Imports operators that make data, and old forms of operators that move data. */
#include "onnx/operators.h"

#include <string.h>

static void add_constant(ry_import *import, ry_dtype dtype, const ry_shape *shape, const void *data,
                         bool copy)
{
    if (ry_import_failed(import)) {
        return;
    }
    ry_value_id value = ry_graph_add_constant(import->graph, import->node->out[0], dtype, shape,
                                              copy ? NULL : data);
    if (value == RY_NO_VALUE) {
        import->status = ry_fail_memory(import->reader->error);
        return;
    }
    int64_t bytes = ry_shape_bytes(shape, dtype);
    if (copy && bytes > 0) {
        memcpy(ry_graph_constant_data(import->graph, value), data, (size_t)bytes);
    }
}

/* A tensor is read once, though a loop's body has its node once a turn. */
static void constant_tensor(ry_import *import, const ry_attribute_record *attribute)
{
    ry_reader *reader = import->reader;
    const char *place =
        ry_arena_format(reader->source.arena, "%p", (const void *)attribute->tensor.data);
    const ry_value_id other =
        place ? ry_names_find(&reader->body_constants, place) : (ry_value_id)RY_NO_NAME;
    ry_tensor_record tensor;
    if (other != RY_NO_NAME) {
        const ry_value *same = &import->graph->values[other];
        tensor =
            (ry_tensor_record){NULL, same->dtype, same->shape, same->constant, same->unaligned};
    } else {
        import->status = ry_reader_tensor(reader, attribute->tensor, import->node->out[0],
                                          &import->graph->arena, &tensor);
    }
    if (import->status != RYND_OK) {
        ry_error_prefix(reader->error, "node '%s' (%s): ", import->node->name, import->node->op);
        return;
    }
    add_constant(import, tensor.dtype, &tensor.shape, tensor.data, false);
    const ry_value_id value = ry_graph_find(import->graph, import->node->out[0]);
    if (ry_import_failed(import) || value == RY_NO_VALUE) {
        return;
    }
    import->graph->values[value].unaligned = tensor.unaligned;
    if (!place || !ry_names_add(&reader->body_constants, reader->source.arena, place, value)) {
        import->status = ry_fail_memory(reader->error);
    }
}

/* The list forms may be longer than a ry_ints. */
static void constant_list(ry_import *import, const ry_attribute_record *attribute)
{
    bool floats = attribute->type == RY_ATTRIBUTE_floats;
    size_t count = floats ? attribute->numbers.size / sizeof(float)
                          : ry_packed_count_varints(attribute->numbers);
    ry_shape shape = {.rank = 1, .dim = {(int64_t)count}};
    if (floats) {
        add_constant(import, RY_f32, &shape, attribute->numbers.data, true);
        return;
    }
    int64_t *numbers = RY_TAKE(import->reader->source.arena, int64_t, count);
    if (!numbers) {
        import->status = ry_fail_memory(import->reader->error);
        return;
    }
    ry_slice rest = attribute->numbers;
    uint64_t number;
    bool bad = false;
    for (size_t i = 0; ry_packed_varint(&rest, &number, &bad); i++) {
        numbers[i] = (int64_t)number;
    }
    if (bad) {
        ry_import_fail(import, RYND_ERROR_FORMAT, "its attribute '%s' is damaged", attribute->name);
    }
    add_constant(import, RY_i64, &shape, numbers, true);
}

void ry_import_constant(ry_import *import)
{
    static const char *const forms[] = {"value", "value_float", "value_int", "value_floats",
                                        "value_ints"};
    const ry_shape scalar = {.rank = 0};
    const ry_attribute_record *attribute = NULL;
    for (size_t i = 0; i < sizeof forms / sizeof *forms && !attribute; i++) {
        attribute = ry_import_attribute(import, forms[i]);
    }
    if (!attribute) {
        ry_import_fail(import, RYND_ERROR_FORMAT, "it has no value");
    } else if (attribute->type == RY_ATTRIBUTE_tensor) {
        constant_tensor(import, attribute);
    } else if (attribute->type == RY_ATTRIBUTE_float) {
        add_constant(import, RY_f32, &scalar, &attribute->f, true);
    } else if (attribute->type == RY_ATTRIBUTE_int) {
        add_constant(import, RY_i64, &scalar, &attribute->i, true);
    } else {
        constant_list(import, attribute);
    }
}

void ry_import_constant_of_shape(ry_import *import)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_constant_of_shape);
    const ry_attribute_record *attribute = ry_import_attribute(import, "value");
    attrs.constant_of_shape.dtype = RY_f32;
    if (attribute) {
        ry_tensor_record tensor;
        import->status = ry_reader_tensor(import->reader, attribute->tensor, "value",
                                          import->reader->source.arena, &tensor);
        if (ry_import_failed(import)) {
            ry_error_prefix(import->reader->error, "node '%s' (%s): ", import->node->name,
                            import->node->op);
            return;
        }
        if (ry_shape_elements(&tensor.shape) != 1) {
            ry_import_fail(import, RYND_ERROR_SHAPE, "its value must have one element");
            return;
        }
        attrs.constant_of_shape.dtype = (int64_t)tensor.dtype;
        attrs.constant_of_shape.value = ry_get_f64(tensor.dtype, tensor.data, 0);
        attrs.constant_of_shape.integer =
            ry_dtype_is_float(tensor.dtype) ? 0 : ry_get_i64(tensor.dtype, tensor.data, 0);
    }
    ry_onnx_emit(import, RY_OP_constant_of_shape, &attrs, 1, import->in, ry_import_out(import, 0));
}

void ry_import_eye_like(ry_import *import)
{
    ry_attrs attrs = ry_import_attrs(import, RY_OP_eye_like);
    attrs.eye_like.dtype = (int64_t)ry_import_type(import, "dtype");
    ry_onnx_emit(import, RY_OP_eye_like, &attrs, 1, import->in, ry_import_out(import, 0));
}

/* Opset 1 to 12: the parts are an attribute (in opset 1 also an input, of the data's type). */
void ry_import_split_old(ry_import *import)
{
    ry_attrs attrs = ry_import_attrs(import, RY_OP_split);
    ry_ints parts = ry_import_ints(import, "split");
    ry_value_id in[2] = {ry_import_in(import, 0), ry_import_in(import, 1)};
    ry_value_id *out = RY_TAKE(import->reader->source.arena, ry_value_id, import->node->outputs);
    if (!out) {
        import->status = ry_fail_memory(import->reader->error);
        return;
    }
    if (in[1] != RY_NO_VALUE && !ry_import_ints_of(import, in[1], &parts)) {
        ry_import_fail(import, RYND_ERROR_UNSUPPORTED, "its parts must be a constant");
    }
    if (parts.count) {
        in[1] = ry_onnx_emit_i64s(import, &parts);
    }
    for (int i = 0; i < import->node->outputs; i++) {
        out[i] = ry_import_out(import, i);
    }
    ry_onnx_emit_many(import, RY_OP_split, &attrs, parts.count ? 2 : 1, in, import->node->outputs,
                      out);
}

/* Opset 1 to 5: how often, and along which axis. */
void ry_import_tile_1(ry_import *import)
{
    ry_ints tiles = {0}, axis = {0}, repeats = {0};
    if (!ry_import_ints_of(import, ry_import_in(import, 1), &tiles) ||
        !ry_import_ints_of(import, ry_import_in(import, 2), &axis) || tiles.count != 1 ||
        axis.count != 1) {
        ry_import_fail(import, RYND_ERROR_UNSUPPORTED,
                       "its tiles and axis must be constants of one number");
        return;
    }
    repeats.count = ry_import_rank(import, ry_import_in(import, 0));
    int where = ry_axis(axis.at[0], repeats.count);
    if (where < 0) {
        ry_import_fail(import, RYND_ERROR_SHAPE, "its axis is outside its input's %d dimensions",
                       repeats.count);
        return;
    }
    for (int i = 0; i < repeats.count; i++) {
        repeats.at[i] = i == where ? tiles.at[0] : 1;
    }
    ry_value_id in[] = {ry_import_in(import, 0), ry_onnx_emit_i64s(import, &repeats)};
    ry_onnx_emit(import, RY_OP_tile, NULL, 2, in, ry_import_out(import, 0));
}

/* Without an axis the input is flattened. */
void ry_import_compress(ry_import *import)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_compress);
    attrs.compress.flat = !ry_import_attribute(import, "axis");
    attrs.compress.axis = ry_import_int(import, "axis");
    ry_onnx_emit(import, RY_OP_compress, &attrs, 2, import->in, ry_import_out(import, 0));
}
