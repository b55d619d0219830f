/* SPDX-License-Identifier: Apache-2.0 */
/* Imports recurrent layers: lists of activations become one text. */
#include "onnx/operators.h"

#include <ctype.h>

static const char *activations(ry_import *import)
{
    const ry_attribute_record *attribute = ry_import_attribute(import, "activations");
    const char *text = NULL;
    for (size_t i = 0; attribute && i < attribute->strings.count; i++) {
        const ry_slice word = attribute->strings.at[i];
        char *lower = RY_TAKE(&import->graph->arena, char, word.size + 1);
        for (size_t c = 0; lower && c < word.size; c++) {
            lower[c] = (char)tolower(word.data[c]);
        }
        text = lower ? ry_arena_format(&import->graph->arena, "%s%s%.*s", text ? text : "",
                                       text ? "," : "", (int)word.size, lower)
                     : NULL;
        if (!text) {
            import->status = ry_fail_memory(import->reader->error);
            return NULL;
        }
    }
    return text;
}

void ry_import_recurrent(ry_import *import)
{
    ry_attrs attrs = ry_import_attrs(import, RY_OP_recurrent);
    ry_value_id out[3] = {RY_NO_VALUE, RY_NO_VALUE, RY_NO_VALUE};
    attrs.recurrent.activations = activations(import);
    for (int i = 0; i < import->node->outputs && i < 3; i++) {
        out[i] = ry_import_out(import, i);
    }
    ry_onnx_emit_many(import, RY_OP_recurrent, &attrs, import->node->inputs, import->in,
                      import->node->outputs, out);
}
