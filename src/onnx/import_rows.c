/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that are data: an expression, or one graph operator. */
#include "onnx/operators.h"

#include <string.h>

enum { MAX_PARAMETERS = 8 };

/* The row's float and int attributes are the expression's parameters. */
static int row_parameters(ry_import *import, ry_expr_parameter *parameters)
{
    int count = 0;
    for (const ry_attribute_spec *spec = import->row->attributes;
         spec->name && count < MAX_PARAMETERS; spec++) {
        if (!spec->field || *spec->field) {
            continue;
        }
        if (spec->type == RY_ATTRIBUTE_float) {
            parameters[count++] =
                (ry_expr_parameter){spec->name, ry_import_float(import, spec->name)};
        } else if (spec->type == RY_ATTRIBUTE_int) {
            parameters[count++] =
                (ry_expr_parameter){spec->name, (double)ry_import_int(import, spec->name)};
        }
    }
    return count;
}

void ry_import_expr(ry_import *import)
{
    ry_expr_parameter parameters[MAX_PARAMETERS];
    int count = row_parameters(import, parameters);
    ry_onnx_emit_expr(import, import->row->text, parameters, count, NULL, import->node->inputs,
                      import->in, ry_import_out(import, 0));
}

/* A function of floats that ONNX also defines on integers: computed in f64, whose 53 bits hold what
 * the result can show. */
void ry_import_expr_float(ry_import *import)
{
    ry_value_id x = ry_import_in(import, 0);
    ry_dtype dtype = ry_import_dtype(import, x);
    if (dtype == RY_NONE || ry_dtype_is_float(dtype)) {
        ry_import_expr(import);
        return;
    }
    ry_expr_parameter parameters[MAX_PARAMETERS];
    int count = row_parameters(import, parameters);
    x = ry_onnx_emit_cast(import, x, RY_f64, RY_NO_VALUE);
    x = ry_onnx_emit_expr(import, import->row->text, parameters, count, NULL, 1, &x, RY_NO_VALUE);
    ry_onnx_emit_cast(import, x, dtype, ry_import_out(import, 0));
}

/* The ONNX inputs and outputs as they are. */
void ry_import_node_row(ry_import *import)
{
    ry_attrs attrs = ry_import_attrs(import, import->row->op);
    int outputs = import->node->outputs;
    ry_value_id *out = RY_TAKE(import->reader->source.arena, ry_value_id, outputs);
    if (!out) {
        import->status = ry_fail_memory(import->reader->error);
        return;
    }
    for (int i = 0; i < outputs; i++) {
        out[i] = ry_import_out(import, i);
    }
    ry_onnx_emit_many(import, import->row->op, &attrs, import->node->inputs, import->in, outputs,
                      out);
}
