/* SPDX-License-Identifier: Apache-2.0 */
/* Inference with constant folding. */
#include "plan/fold.h"

#include "kernels/prepared.h"

#include "graph/derive.h"
#include "graph/infer.h"
#include "graph/quantise.h"
#include "plan/fold_cost.h"

#include <stdio.h>
#include <string.h>

unsigned ry_plan_constants(const ry_graph *graph, const ry_node *node)
{
    unsigned bits = 0;
    for (int i = 0; i < node->inputs && i < 32; i++) {
        if (node->in[i] != RY_NO_VALUE && graph->values[node->in[i]].constant) {
            bits |= 1u << i;
        }
    }
    return bits;
}

static ry_tensor describe(const ry_graph *graph, ry_value_id id, const ry_value_layouts *layouts,
                          int64_t images)
{
    ry_tensor tensor = ry_value_description(graph, id, layouts);
    if (id != RY_NO_VALUE && images && !graph->values[id].constant) {
        tensor.dim[0] = images; /* no other dim's stride depends on it in any layout */
    }
    return tensor;
}

rynd_status ry_plan_problem(const ry_graph *graph, const ry_node *node, ry_accuracy accuracy,
                            const ry_value_layouts *layouts, int64_t images, ry_arena *arena,
                            ry_problem *problem, ry_error *error)
{
    ry_tensor *in = RY_TAKE(arena, ry_tensor, node->inputs);
    ry_tensor *out = RY_TAKE(arena, ry_tensor, node->outputs);
    if (!in || !out) {
        return ry_fail_memory(error);
    }
    for (int i = 0; i < node->inputs; i++) {
        in[i] = describe(graph, node->in[i], layouts, images);
    }
    for (int i = 0; i < node->outputs; i++) {
        out[i] = describe(graph, node->out[i], layouts, images);
    }
    *problem = (ry_problem){.op = node->op,
                            .accuracy = accuracy,
                            .attrs = node->attrs,
                            .inputs = node->inputs,
                            .outputs = node->outputs,
                            .in = in,
                            .out = out};
    return RYND_OK;
}

rynd_status ry_plan_fail_kernel(const ry_node *node, const ry_problem *problem, ry_error *error)
{
    char types[256] = "";
    size_t used = 0;
    for (int i = 0; i < problem->inputs && used + 16 < sizeof types; i++) {
        int written = snprintf(types + used, sizeof types - used, "%s%s", i ? ", " : "",
                               ry_dtype_name((ry_dtype)problem->in[i].dtype));
        used += written > 0 ? (size_t)written : 0;
    }
    return ry_fail(error, RYND_ERROR_UNSUPPORTED,
                   "node '%s' (%s): no kernel computes %s of types (%s)", node->name, node->source,
                   ry_op_name(node->op), types);
}

rynd_status ry_plan_fail_node(rynd_status status, const ry_node *node, ry_error *error)
{
    if (status == RYND_ERROR_OUT_OF_MEMORY) {
        ry_error_prefix(error, "node '%s' (%s): ", node->name, node->source);
    }
    return status;
}

static bool shapes_known(const ry_graph *graph, int count, const ry_value_id *values)
{
    for (int i = 0; i < count; i++) {
        if (values[i] == RY_NO_VALUE) {
            continue;
        }
        const ry_value *value = &graph->values[values[i]];
        if (value->dtype == RY_NONE || value->shape.rank < 0) {
            return false;
        }
        for (int d = 0; d < value->shape.rank; d++) {
            if (value->shape.dim[d] < 0) {
                return false;
            }
        }
    }
    return true;
}

static bool waits(const ry_graph *graph, const ry_node *node, const bool *late_value)
{
    for (int i = 0; i < node->inputs; i++) {
        ry_value_id id = node->in[i];
        if (id != RY_NO_VALUE && !graph->values[id].constant &&
            (late_value[id] || graph->values[id].bounded)) {
            return true;
        }
    }
    return false;
}

static bool has_constants(const ry_graph *graph, const ry_node *node)
{
    for (int i = 0; i < node->inputs; i++) {
        if (node->in[i] != RY_NO_VALUE && !graph->values[node->in[i]].constant &&
            node->op != RY_OP_shape) {
            return false;
        }
    }
    return true;
}

/* data NULL: it is a view of the constant `source`. */
static void become_constant(ry_graph *graph, ry_value_id id, const void *data,
                            const ry_value *source)
{
    ry_value *value = &graph->values[id];
    if (data) {
        ry_graph_set_derived(graph, id, data);
    } else {
        value->constant = source->constant;
        value->identity = source->identity;
    }
    value->folded = source->folded;
    value->producer = RY_NO_NODE;
    value->bounded = false;
}

/* What a node is folded into: shared content where another plan may need the same. */
typedef struct folding {
    void **data;                    /* one per output */
    void **to;                      /* the kernel's target: scratch for shared content */
    int64_t (*actual)[RY_MAX_RANK]; /* extents of bounded outputs */
    bool fill;                      /* some content is missing */
} folding;

static rynd_status take_outputs(ry_graph *graph, const ry_node *node, const ry_problem *problem,
                                ry_arena *scratch, folding *f, ry_error *error)
{
    const bool shared = graph->derived && ry_op_get_class(node->op) != RY_CLASS_BOUNDED;
    const char *text = shared ? ry_problem_print(problem, scratch) : "";
    for (int i = 0; text && i < node->outputs; i++) {
        if (node->out[i] == RY_NO_VALUE) {
            continue;
        }
        const ry_shape shape = graph->values[node->out[i]].shape;
        const size_t bytes = ry_tensor_bytes(&problem->out[i]) + RY_ALIGNMENT;
        const ry_recipe recipe = {text, shared ? node->inputs : 0, node->in, &i, sizeof i};
        bool fill;
        f->data[i] =
            ry_graph_derive(graph, &recipe, graph->values[node->out[i]].dtype, &shape, &fill);
        f->fill = f->fill || fill;
        f->to[i] = fill || !f->data[i] ? f->data[i] : ry_arena_take(scratch, bytes, 1);
        text = f->to[i] ? text : NULL;
    }
    return text ? RYND_OK : ry_fail_memory(error);
}

static rynd_status run_node(ry_graph *graph, const ry_node *node, const ry_target *target,
                            ry_arena *scratch, folding *f, ry_error *error)
{
    ry_problem problem;
    RY_TRY(ry_plan_problem(graph, node, RY_ACCURACY_strict, NULL, 0, scratch, &problem, error));
    size_t at = 0;
    const ry_query query = {ry_kernel_next(&problem, target, &at), &problem, target, NULL};
    if (!query.kernel) {
        return ry_plan_fail_kernel(node, &problem, error);
    }
    RY_TRY(take_outputs(graph, node, &problem, scratch, f, error));
    if (!f->fill) {
        return RYND_OK;
    }
    const void **in = RY_TAKE(scratch, const void *, node->inputs);
    if (!in) {
        return ry_fail_memory(error);
    }
    for (int i = 0; i < node->inputs; i++) {
        if (node->in[i] != RY_NO_VALUE && graph->values[node->in[i]].constant) {
            in[i] = ry_graph_align_constant(graph, node->in[i]);
            if (!in[i]) {
                return ry_fail_memory(error);
            }
        }
    }
    rynd_status status =
        ry_kernel_execute(&query, in, f->to, f->actual, graph->arena.allocator, error);
    if (status != RYND_OK) {
        ry_error_prefix(error, "node '%s' (%s): ", node->name, node->source);
    }
    return status;
}

static rynd_status fold_node(ry_graph *graph, ry_node_id id, const ry_target *target,
                             ry_error *error)
{
    ry_node *node = &graph->nodes[id];
    ry_arena scratch;
    ry_arena_init(&scratch, graph->arena.allocator);
    folding f = {.data = RY_TAKE(&scratch, void *, node->outputs),
                 .to = RY_TAKE(&scratch, void *, node->outputs),
                 .actual = ry_arena_take(&scratch, (size_t)node->outputs, sizeof *f.actual)};
    rynd_status status = f.data && f.to && f.actual ? RYND_OK : ry_fail_memory(error);
    bool view = ry_op_get_class(node->op) == RY_CLASS_VIEW;
    if (status == RYND_OK && !view) {
        status = run_node(graph, node, target, &scratch, &f, error);
    }
    if (status == RYND_OK) {
        const ry_value_id *out = node->out;
        int outputs = node->outputs;
        const ry_value source = view ? graph->values[node->in[0]] : (ry_value){.folded = true};
        for (int i = 0; i < outputs; i++) {
            if (out[i] == RY_NO_VALUE) {
                continue;
            }
            ry_value *value = &graph->values[out[i]];
            if (value->bounded) {
                memcpy(value->shape.dim, f.actual[i], sizeof f.actual[i]);
            }
        }
        ry_graph_remove_node(graph, id);
        for (int i = 0; i < outputs; i++) {
            if (out[i] != RY_NO_VALUE) {
                become_constant(graph, out[i], view ? NULL : f.data[i], &source);
            }
        }
    }
    ry_arena_free(&scratch);
    return status;
}

/* Operators that may refuse the content of an input, whatever the size of the output. */
static const ry_op checking[] = {RY_OP_gather,     RY_OP_gather_elements,  RY_OP_gather_nd,
                                 RY_OP_max_unpool, RY_OP_scatter_elements, RY_OP_scatter_nd,
                                 RY_OP_roi_align,  RY_OP_reverse_sequence, RY_OP_one_hot};

/* May the node, or one behind its inputs, refuse content? refuses: the same of each value so far. */
static bool may_refuse(const ry_node *node, const bool *refuses)
{
    bool found = false;
    for (size_t i = 0; i < sizeof checking / sizeof *checking; i++) {
        found = found || node->op == checking[i];
    }
    for (int i = 0; !found && i < node->inputs; i++) {
        found = node->in[i] != RY_NO_VALUE && refuses[node->in[i]];
    }
    return found;
}

/* Does the node compute outputs without elements only? States keep their nodes: their next content
 * is a step's. */
static bool computes_nothing(const ry_graph *graph, const ry_node *node)
{
    bool nothing = ry_op_get_class(node->op) == RY_CLASS_COMPUTE && graph->state_count == 0;
    for (int i = 0; nothing && i < node->outputs; i++) {
        nothing = node->out[i] == RY_NO_VALUE ||
                  ry_shape_elements(&graph->values[node->out[i]].shape) == 0;
    }
    return nothing;
}

/* Would a kernel take the node? */
static rynd_status find_kernel(const ry_graph *graph, const ry_node *node, const ry_target *target,
                               bool *found, ry_error *error)
{
    ry_arena scratch;
    ry_problem problem;
    ry_arena_init(&scratch, graph->arena.allocator);
    const rynd_status status =
        ry_plan_problem(graph, node, RY_ACCURACY_strict, NULL, 0, &scratch, &problem, error);
    size_t at = 0;
    *found = status == RYND_OK && ry_kernel_next(&problem, target, &at) != NULL;
    ry_arena_free(&scratch);
    return status;
}

/* Outputs without elements become constants. The node stays if its types are for planning to
 * refuse. */
static rynd_status drop_node(ry_graph *graph, ry_node_id id, const ry_target *target,
                             ry_error *error)
{
    const ry_node node = graph->nodes[id];
    bool found;
    RY_TRY(find_kernel(graph, &node, target, &found, error));
    if (!found) {
        return RYND_OK;
    }
    const ry_value source = {.constant = ry_arena_take(&graph->arena, 1, 1), .folded = true};
    if (!source.constant) {
        return ry_fail_memory(error);
    }
    ry_graph_remove_node(graph, id);
    for (int i = 0; i < node.outputs; i++) {
        if (node.out[i] != RY_NO_VALUE) {
            become_constant(graph, node.out[i], NULL, &source);
        }
    }
    return RYND_OK;
}

/* Folds all nodes but those marked in `held` (NULL: no node is marked). */
static rynd_status fold(ry_graph *graph, const ry_target *target, const bool *held, bool **later,
                        ry_error *error)
{
    bool *late_value = RY_TAKE(&graph->arena, bool, graph->value_count);
    bool *refuses = RY_TAKE(&graph->arena, bool, graph->value_count);
    *later = RY_TAKE(&graph->arena, bool, graph->node_count);
    if (!late_value || !refuses || !*later) {
        return ry_fail_memory(error);
    }
    for (ry_node_id id = 0; id < graph->node_count; id++) {
        ry_node *node = &graph->nodes[id];
        rynd_status status = RYND_OK;
        const bool refusing = may_refuse(node, refuses);
        bool late = waits(graph, node, late_value);
        if (!late) {
            ry_infer_result result = ry_infer_node(graph, node, error, &status);
            if (result == RY_INFER_FAILED) {
                return status;
            }
            late = result == RY_INFER_LATER || !shapes_known(graph, node->outputs, node->out);
        }
        for (int i = 0; i < node->outputs; i++) {
            if (node->out[i] != RY_NO_VALUE) {
                refuses[node->out[i]] = refusing;
            }
        }
        if (late) {
            (*later)[id] = true;
            for (int i = 0; i < node->outputs; i++) {
                if (node->out[i] != RY_NO_VALUE) {
                    late_value[node->out[i]] = true;
                }
            }
        } else if (!refusing && computes_nothing(graph, node)) {
            RY_TRY(drop_node(graph, id, target, error));
        } else if ((!held || !held[id]) && has_constants(graph, node) &&
                   ry_plan_affords_fold(graph, node)) {
            status = fold_node(graph, id, target, error);
            if (status != RYND_OK) {
                return ry_plan_fail_node(status, node, error);
            }
        }
    }
    return RYND_OK;
}

rynd_status ry_plan_fold(ry_graph *graph, const ry_target *target, bool **later, ry_error *error)
{
    RY_TRY(ry_graph_compact(graph, error));
    return fold(graph, target, NULL, later, error);
}

rynd_status ry_plan_fold_quantised(ry_graph *graph, const ry_target *target, bool **later,
                                   bool *held_any, ry_error *error)
{
    RY_TRY(ry_graph_compact(graph, error));
    bool *held = RY_TAKE(&graph->arena, bool, graph->node_count);
    if (!held) {
        return ry_fail_memory(error);
    }
    RY_TRY(ry_graph_hold_weights(graph, held, held_any, error));
    return fold(graph, target, held, later, error);
}
