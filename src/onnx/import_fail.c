/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with a node, told by its name. */
#include "onnx/operators.h"

#include <stdarg.h>
#include <stdio.h>

void ry_import_fail(ry_import *import, rynd_status status, const char *format, ...)
{
    ry_error message;
    va_list args;
    va_start(args, format);
    vsnprintf(message.text, sizeof message.text, format, args);
    va_end(args);
    if (import->status == RYND_OK) {
        import->status = ry_fail(import->reader->error, status, "node '%s' (%s): %s",
                                 import->node->name, import->node->op, message.text);
    }
}
