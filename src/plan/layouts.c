/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts inside a network, row-major or channels last, as a minimum cut.
 *
 * Every node has the layout that its kernel works in and every value the one that it is in; a node
 * costs its predicted time in each layout, and where a node and its operand differ, the operand is
 * converted. Only values with channels have a choice (channels.h). Inputs lie as the caller has
 * them: channels last, or with strides that are neither layout's, which a node reads as they are or
 * converted. So do outputs; a copy writes strides that are neither layout's. Costs are of one
 * worker. */
#include "plan/layouts.h"

#include "plan/channels.h"
#include "plan/choose_form.h"
#include "plan/layouts_inside.h"
#include "plan/minimum_cut.h"
#include "plan/plan_progress.h"

#include <math.h>

/* Nodes with more operands convert every operand in the other layout. */
enum { MAX_TRIALS = 64 };

static void hold(ry_layouts *l, ry_value_id id)
{
    if (id != RY_NO_VALUE) {
        l->free[id] = false;
    }
}

static void hold_input(ry_layouts *l, ry_value_id id, const ry_tensor *input)
{
    if (l->b->graph->values[id].constant || ry_tensor_is_row_major(input)) {
        return;
    }
    l->last[id] = l->matters[id] && ry_tensor_is_channels_last(input);
    l->given[id] = l->last[id] ? NULL : input;
}

/* The plan's description of the graph's output `at`; NULL: there is none. */
static const ry_tensor *output_tensor(const ry_layouts *l, size_t at)
{
    const ry_plan *plan = l->b->plan;
    for (size_t i = 0, next = 0; i < plan->output_count; i++) {
        if (!plan->outputs[i].later && next++ == at) {
            return &plan->outputs[i].tensor;
        }
    }
    return NULL;
}

/* Channels last if the caller wants it so and a kernel can write it: a view's memory is its
 * input's. */
static void hold_output(ry_layouts *l, ry_value_id id, const ry_tensor *output)
{
    const ry_node_id producer = l->b->graph->values[id].producer;
    hold(l, id);
    if (producer != RY_NO_NODE && l->matters[id] && output && !ry_tensor_is_row_major(output) &&
        ry_op_get_class(l->b->graph->nodes[producer].op) != RY_CLASS_VIEW) {
        l->last[id] = ry_tensor_is_channels_last(output);
    }
}

static void find_free_values(ry_layouts *l)
{
    const ry_graph *graph = l->b->graph;
    for (ry_value_id v = 0; v < l->values; v++) {
        const ry_value *value = &graph->values[v];
        l->matters[v] = !value->constant && l->channels[v] && ry_value_has_layouts(value);
        l->free[v] = l->matters[v] && value->producer != RY_NO_NODE && !value->bounded;
        l->other[v][0] = l->other[v][1] = l->instead[v] = RY_NO_VALUE;
    }
    for (size_t i = 0; i < l->b->plan->input_count; i++) {
        hold_input(l, graph->inputs[i], &l->b->plan->inputs[i]);
    }
    for (size_t i = 0; i < graph->output_count; i++) {
        hold_output(l, graph->outputs[i], output_tensor(l, i));
    }
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        if (ry_op_get_class(graph->nodes[n].op) == RY_CLASS_VIEW) {
            hold(l, graph->nodes[n].in[0]);
            hold(l, graph->nodes[n].out[0]);
        }
    }
}

static int64_t picoseconds(double seconds)
{
    return seconds < 1e5 ? (int64_t)(seconds * 1e12) : (int64_t)1e17;
}

static uint32_t node_vertex(ry_node_id id)
{
    return RY_CUT_LABELS + id;
}

static uint32_t value_vertex(const ry_layouts *l, ry_value_id id)
{
    return RY_CUT_LABELS + l->nodes + id;
}

static void list_operands(ry_layouts *l, const ry_node *node)
{
    l->operand_count = 0;
    l->lists++;
    for (int i = 0; i < node->inputs + node->outputs; i++) {
        const bool made = i >= node->inputs;
        const ry_value_id id = made ? node->out[i - node->inputs] : node->in[i];
        if (id != RY_NO_VALUE && id < l->values && (l->matters[id] || l->given[id]) &&
            l->listed[id] != l->lists) {
            l->listed[id] = l->lists;
            l->operands[l->operand_count++] = (struct ry_operand){id, made};
        }
    }
}

/* The layout that a node which works in `last` has of a value. */
static bool wants_last(const ry_layouts *l, ry_value_id id, bool last)
{
    return last && l->matters[id];
}

/* Is a value as a node that works in layout `last` has it? */
static bool lies_in(const ry_layouts *l, ry_value_id id, bool last)
{
    return !l->given[id] && l->last[id] == wants_last(l, id, last);
}

/* The extra cost of one operand in the other layout, or as it is given, for a node that works in
 * layout `last` and takes `pure` with all operands there. *convert: a copy is the cheaper way. */
static rynd_status bridge_seconds(ry_layouts *l, const ry_node *node, bool last, ry_value_id id,
                                  const ry_trial *pure, double *bridge, bool *convert)
{
    double mixed = INFINITY; /* a ry_trial looks at all operands: none is made if they are many */
    if (l->operand_count <= MAX_TRIALS) {
        ry_trial found;
        RY_TRY(ry_layouts_try_node(l, node, last, id, &found));
        mixed = ry_layouts_seconds_compared(&found, pure);
    }
    const bool to = wants_last(l, id, last);
    double conversion = 0; /* again it costs nothing */
    if (l->other[id][to] == RY_NO_VALUE) {
        RY_TRY(ry_layouts_conversion_seconds(l, id, to, &conversion));
    }
    const double more = mixed > pure->seconds ? mixed - pure->seconds : 0;
    *convert = conversion < more;
    *bridge = *convert ? conversion : more;
    return RYND_OK;
}

static rynd_status add_node(ry_layouts *l, ry_cut *cut, ry_node_id n)
{
    const ry_node *node = &l->b->graph->nodes[n];
    ry_trial pure[2]; /* row-major, channels last */
    double held[2] = {0, 0};
    RY_TRY(ry_layouts_try_node(l, node, false, RY_NO_VALUE, &pure[0]));
    RY_TRY(ry_layouts_try_node(l, node, true, RY_NO_VALUE, &pure[1]));
    for (int i = 0; i < l->operand_count; i++) {
        const ry_value_id id = l->operands[i].id;
        if (l->free[id]) {
            double conversion;
            RY_TRY(ry_layouts_conversion_seconds(l, id, true, &conversion));
            const int64_t cost = picoseconds(conversion);
            if (!ry_cut_add(cut, node_vertex(n), value_vertex(l, id), cost, cost)) {
                return ry_fail_memory(l->error);
            }
        }
        for (int last = 0; last < 2 && !l->free[id]; last++) {
            double bridge = 0;
            bool convert;
            if (!lies_in(l, id, last)) {
                RY_TRY(bridge_seconds(l, node, last, id, &pure[last], &bridge, &convert));
            }
            held[last] += bridge;
        }
    }
    const double row_major = ry_layouts_seconds_compared(&pure[0], &pure[1]) + held[0],
                 last = ry_layouts_seconds_compared(&pure[1], &pure[0]) + held[1];
    const bool added = ry_cut_add(cut, RY_CUT_FIRST, node_vertex(n), picoseconds(last), 0) &&
                       ry_cut_add(cut, node_vertex(n), RY_CUT_SECOND, picoseconds(row_major), 0);
    return added ? RYND_OK : ry_fail_memory(l->error);
}

/* Lists the node's operands: is there any that may lie otherwise? */
static bool has_choice(ry_layouts *l, const ry_node *node)
{
    list_operands(l, node);
    return l->operand_count > 0 && ry_op_get_class(node->op) != RY_CLASS_VIEW;
}

/* The cheapest layouts: labels of vertices. */
static rynd_status label(ry_layouts *l, bool **labels)
{
    const ry_graph *graph = l->b->graph;
    const size_t vertices = RY_CUT_LABELS + (size_t)l->nodes + l->values;
    *labels = RY_TAKE(&l->arena, bool, vertices);
    ry_cut cut;
    if (!*labels || vertices > UINT32_MAX || !ry_cut_start(&cut, &l->arena, (uint32_t)vertices)) {
        return ry_fail_memory(l->error);
    }
    for (ry_node_id n = 0; n < l->nodes; n++) {
        if (labels == &l->labels) {
            RY_TRY(ry_plan_advance(l->b, RY_STAGE_LAYOUTS, n, l->nodes, l->error));
        }
        if (has_choice(l, &graph->nodes[n])) {
            RY_TRY(add_node(l, &cut, n));
        }
    }
    ry_cut_solve(&cut, *labels);
    return RYND_OK;
}

/* Notes the nodes that would work in the other layout if every time counted as it is predicted. */
static rynd_status concern_others(ry_layouts *l)
{
    const ry_plan_form form = l->form;
    bool *predicted;
    l->b->plan->whole.asked |= 1u << RY_PLAN_channels_last | 1u << RY_PLAN_conversions;
    if (form.percent[RY_PLAN_channels_last] == RY_PLAN_PREDICTED &&
        form.percent[RY_PLAN_conversions] == RY_PLAN_PREDICTED) {
        return RYND_OK;
    }
    l->form = ry_plan_form_predicted();
    RY_TRY(label(l, &predicted));
    l->form = form;
    for (ry_node_id n = 0; n < l->nodes; n++) {
        if (predicted[node_vertex(n)] != l->labels[node_vertex(n)]) {
            RY_TRY(ry_plan_concern(l->b, l->b->graph->nodes[n].name, l->error));
        }
    }
    return RYND_OK;
}

/* The value in a layout (`last`) that it is not in, copied by a node of its own: from `id`, or
 * (`back`) to it. */
static rynd_status convert(ry_layouts *l, ry_value_id id, bool last, bool back, ry_value_id *other)
{
    ry_graph *graph = l->b->graph;
    if (l->other[id][last] == RY_NO_VALUE) {
        const ry_value value = graph->values[id];
        const char *name = ry_arena_format(&l->arena, "%s/%s", value.name, last ? "nhwc" : "nchw");
        const ry_value_id made =
            name ? ry_graph_add_value(graph, name, value.dtype, &value.shape) : RY_NO_VALUE;
        if (made == RY_NO_VALUE ||
            ry_graph_add_node(graph, RY_OP_copy, name, "layout", NULL, 1, back ? &made : &id, 1,
                              back ? &id : &made) == RY_NO_NODE) {
            return ry_fail_memory(l->error);
        }
        l->other[id][last] = made;
        l->last[made] = last;
    }
    *other = l->other[id][last];
    return RYND_OK;
}

/* Puts what stands instead of operands into their places. */
static void take_instead(ry_layouts *l, ry_node_id n)
{
    ry_node *node = &l->b->graph->nodes[n];
    for (int i = 0; i < node->inputs; i++) {
        const ry_value_id id = node->in[i];
        if (id != RY_NO_VALUE && id < l->values && l->instead[id] != RY_NO_VALUE) {
            ry_graph_set_input(l->b->graph, node, i, l->instead[id]);
        }
    }
    for (int i = 0; i < node->outputs; i++) {
        const ry_value_id id = node->out[i];
        if (id != RY_NO_VALUE && id < l->values && l->instead[id] != RY_NO_VALUE) {
            node->out[i] = l->instead[id];
        }
    }
    for (int i = 0; i < l->operand_count; i++) {
        l->instead[l->operands[i].id] = RY_NO_VALUE;
    }
}

/* Gives a node, whose operands are listed, those in the layout that it works in, or lets it bridge
 * the difference, whichever is cheaper. */
static rynd_status bridge(ry_layouts *l, ry_node_id n)
{
    const ry_node node = l->b->graph->nodes[n];
    const bool last = l->labels[node_vertex(n)];
    ry_trial pure = {.seconds = -1};
    for (int i = 0; i < l->operand_count; i++) {
        const ry_value_id id = l->operands[i].id;
        if (lies_in(l, id, last)) {
            continue;
        }
        if (pure.seconds < 0) {
            RY_TRY(ry_layouts_try_node(l, &node, last, RY_NO_VALUE, &pure));
        }
        double cost;
        bool apart;
        RY_TRY(bridge_seconds(l, &node, last, id, &pure, &cost, &apart));
        if (apart) {
            RY_TRY(convert(l, id, wants_last(l, id, last), l->operands[i].made, &l->instead[id]));
        }
    }
    take_instead(l, n);
    return RYND_OK;
}

/* What is another value's memory, or the caller's, is read row by row. */
static rynd_status make_row_major(ry_layouts *l, ry_value_id *id)
{
    return *id >= l->values || lies_in(l, *id, false) ? RYND_OK : convert(l, *id, false, false, id);
}

static rynd_status bridge_view(ry_layouts *l, ry_node_id n)
{
    ry_value_id x = l->b->graph->nodes[n].in[0];
    RY_TRY(make_row_major(l, &x));
    ry_graph_set_input(l->b->graph, &l->b->graph->nodes[n], 0, x);
    return RYND_OK;
}

/* A copy with the strides of an output that are neither layout's. */
static rynd_status write_given(ry_layouts *l, const ry_tensor *output, ry_value_id *id)
{
    ry_graph *graph = l->b->graph;
    const ry_value value = graph->values[*id];
    const char *name = ry_arena_format(&l->arena, "%s/strided", value.name);
    const ry_value_id made =
        name ? ry_graph_add_value(graph, name, value.dtype, &value.shape) : RY_NO_VALUE;
    if (made == RY_NO_VALUE ||
        ry_graph_add_node(graph, RY_OP_copy, name, "layout", NULL, 1, id, 1, &made) == RY_NO_NODE) {
        return ry_fail_memory(l->error);
    }
    l->given[made] = output;
    *id = made;
    return RYND_OK;
}

static rynd_status bridge_output(ry_layouts *l, const ry_tensor *output, ry_value_id *id)
{
    const bool original = *id < l->values;
    if (!output || ry_tensor_is_row_major(output)) {
        return make_row_major(l, id);
    }
    if (!original || !l->matters[*id] || !ry_tensor_is_channels_last(output)) {
        return write_given(l, output, id);
    }
    return lies_in(l, *id, true) ? RYND_OK : convert(l, *id, true, false, id);
}

static rynd_status bridge_outputs(ry_layouts *l)
{
    ry_graph *graph = l->b->graph;
    const ry_value_id *output = graph->outputs; /* keeps its content while the list is made anew */
    const size_t count = graph->output_count;
    ry_graph_clear_outputs(graph);
    for (size_t i = 0; i < count; i++) {
        ry_value_id id = output[i];
        RY_TRY(bridge_output(l, output_tensor(l, i), &id));
        if (!ry_graph_add_output(graph, id)) {
            return ry_fail_memory(l->error);
        }
    }
    return RYND_OK;
}

static rynd_status bridge_all(ry_layouts *l)
{
    ry_graph *graph = l->b->graph;
    for (ry_value_id v = 0; v < l->values; v++) {
        l->last[v] |= l->free[v] && l->labels[value_vertex(l, v)];
    }
    for (ry_node_id n = 0; n < l->nodes; n++) {
        if (ry_op_get_class(graph->nodes[n].op) == RY_CLASS_VIEW) {
            RY_TRY(bridge_view(l, n));
        } else if (has_choice(l, &graph->nodes[n])) {
            RY_TRY(bridge(l, n));
        }
    }
    RY_TRY(bridge_outputs(l));
    return graph->node_count > l->nodes ? ry_graph_compact(graph, l->error) : RYND_OK;
}

/* Allocates the builder's layouts: of each value, of at most two conversions of each, and of a copy
 * of each output. */
static rynd_status take_layouts(ry_layouts *l)
{
    const size_t count = 3 * l->b->graph->value_count + l->b->graph->output_count;
    l->last = RY_TAKE(&l->b->plan->arena, bool, count);
    l->given = RY_TAKE(&l->b->plan->arena, const ry_tensor *, count);
    l->b->layouts = (ry_value_layouts){l->last, l->given};
    return l->last && l->given ? RYND_OK : ry_fail_memory(l->error);
}

static rynd_status choose(ry_layouts *l)
{
    l->nodes = (ry_node_id)l->b->graph->node_count;
    l->values = (ry_value_id)l->b->graph->value_count;
    l->matters = RY_TAKE(&l->arena, bool, l->values);
    l->free = RY_TAKE(&l->arena, bool, l->values);
    l->other = ry_arena_take(&l->arena, l->values, sizeof *l->other);
    l->instead = RY_TAKE(&l->arena, ry_value_id, l->values);
    l->listed = RY_TAKE(&l->arena, uint32_t, l->values);
    l->operands = RY_TAKE(&l->arena, struct ry_operand, l->values);
    if (!l->matters || !l->free || !l->other || !l->instead || !l->listed || !l->operands) {
        return ry_fail_memory(l->error);
    }
    RY_TRY(take_layouts(l));
    RY_TRY(ry_plan_find_channels(l->b->graph, &l->arena, &l->channels, l->error));
    find_free_values(l);
    RY_TRY(label(l, &l->labels));
    RY_TRY(concern_others(l));
    return bridge_all(l);
}

rynd_status ry_plan_choose_layouts(ry_plan_builder *b, ry_error *error)
{
    ry_layouts l = {.b = b, .form = b->plan->whole.form, .error = error};
    ry_arena_init(&l.arena, b->plan->arena.allocator);
    const rynd_status status = choose(&l);
    ry_arena_free(&l.arena);
    return status;
}
