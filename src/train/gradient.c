/* SPDX-License-Identifier: Apache-2.0 */
/* The table of gradients, and what rules share. */
#include "train/gradient.h"

#include <stdarg.h>
#include <stdio.h>

static ry_gradient_rule *const rules[RY_OPS] = {
#define RY_GRADIENT(op, rule) [RY_OP_##op] = rule,
#include "train/gradients.inc"
#undef RY_GRADIENT
};

ry_gradient_rule *ry_gradient_rule_of(ry_op op)
{
    return op < RY_OPS ? rules[op] : NULL;
}

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
