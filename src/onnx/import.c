/* SPDX-License-Identifier: Apache-2.0 */
/* What rows' functions have at hand: values, shapes and contents, and the checks before a row runs.
 */
#include "onnx/operators.h"

#include "graph/infer.h"

#include <string.h>

bool ry_import_failed(const ry_import *import)
{
    return import->status != RYND_OK;
}

ry_value_id ry_import_in(const ry_import *import, int i)
{
    return import->status == RYND_OK && i < import->node->inputs ? import->in[i] : RY_NO_VALUE;
}

bool ry_import_has(const ry_import *import, int i)
{
    return ry_import_in(import, i) != RY_NO_VALUE;
}

bool ry_import_wants(const ry_import *import, int i)
{
    return i < import->node->outputs && *import->node->out[i];
}

ry_value_id ry_import_out(ry_import *import, int i)
{
    if (import->status != RYND_OK || !ry_import_wants(import, i)) {
        return RY_NO_VALUE;
    }
    ry_value_id value = ry_graph_find(import->graph, import->node->out[i]);
    if (value == RY_NO_VALUE) {
        value = ry_graph_add_value(import->graph, import->node->out[i], RY_NONE, NULL);
    }
    if (value == RY_NO_VALUE) {
        import->status = ry_fail_memory(import->reader->error);
    }
    return value;
}

const ry_value *ry_import_value(const ry_import *import, ry_value_id value)
{
    return value == RY_NO_VALUE ? NULL : &import->graph->values[value];
}

ry_dtype ry_import_dtype(const ry_import *import, ry_value_id value)
{
    return value == RY_NO_VALUE ? RY_NONE : import->graph->values[value].dtype;
}

int ry_import_rank(ry_import *import, ry_value_id value)
{
    if (value == RY_NO_VALUE) {
        return 0;
    }
    const ry_value *v = &import->graph->values[value];
    if (v->shape.rank < 0) {
        ry_import_fail(import, RYND_ERROR_UNSUPPORTED,
                       "the rank of its input '%s' must be known, but depends on data", v->name);
        return 0;
    }
    return v->shape.rank;
}

int64_t ry_import_dim(ry_import *import, ry_value_id value, int axis)
{
    int rank = ry_import_rank(import, value);
    if (import->status != RYND_OK || value == RY_NO_VALUE) {
        return 1;
    }
    const ry_value *v = &import->graph->values[value];
    if (axis >= rank) {
        ry_import_fail(import, RYND_ERROR_SHAPE,
                       "its input '%s' has %d dimensions, at least %d are needed", v->name, rank,
                       axis + 1);
        return 1;
    }
    if (v->shape.dim[axis] < 0) {
        ry_import_fail(import, RYND_ERROR_UNSUPPORTED,
                       "dimension %d of its input '%s' must be a number in the model", axis,
                       v->name);
        return 1;
    }
    return v->shape.dim[axis];
}

bool ry_import_ints_of(ry_import *import, ry_value_id value, ry_ints *numbers)
{
    const ry_value *v = ry_import_value(import, value);
    int64_t count = v && v->constant ? ry_shape_elements(&v->shape) : -1;
    if (count < 0 || count > RY_MAX_INTS) {
        return false;
    }
    numbers->count = (int)count;
    for (int i = 0; i < numbers->count; i++) {
        numbers->at[i] = ry_get_i64(v->dtype, v->constant, i);
    }
    return true;
}

bool ry_import_scalar_of(ry_import *import, ry_value_id value, double *number)
{
    const ry_value *v = ry_import_value(import, value);
    if (!v || !v->constant || ry_shape_elements(&v->shape) != 1) {
        return false;
    }
    *number = ry_get_f64(v->dtype, v->constant, 0);
    return true;
}
