/* SPDX-License-Identifier: Apache-2.0 */
/* Emitters and messages of gradient rules. */
#include "train/gradient.h"

#include <stdarg.h>
#include <stdio.h>

ry_emitter ry_gradient_emitter(const ry_gradient_call *call)
{
    const char *name =
        ry_arena_format(&call->graph->arena, "%s/grad", call->graph->nodes[call->node].name);
    return (ry_emitter){.graph = call->graph,
                        .name = name ? name : "",
                        .error = call->error,
                        .status = name ? RYND_OK : ry_fail_memory(call->error)};
}

rynd_status ry_gradient_refuse(const ry_gradient_call *call, const char *format, ...)
{
    char text[512];
    const ry_node *node = &call->graph->nodes[call->node];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return ry_fail(call->error, RYND_ERROR_UNSUPPORTED, "node '%s' (%s): %s", node->name,
                   node->source, text);
}
