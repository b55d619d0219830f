/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts inside a network, row-major or channels last, as a minimum cut.
 *
 * Every node has the layout that its kernel works in and every value the one that it is in; a node
 * costs its predicted time in each layout, and where a node and its operand differ, the operand is
 * converted. Only values with channels have a choice (channels.h). Inputs lie as the caller has
 * them: channels last, or with strides that are neither layout's, which a node reads as they are or
 * converted. Costs are of one worker. */
#include "plan/layouts.h"

#include "kernels/costs.h"
#include "plan/aliases.h"
#include "plan/channels.h"
#include "plan/choose_form.h"
#include "plan/fold.h"
#include "plan/make_steps.h"
#include "plan/minimum_cut.h"
#include "plan/plan_progress.h"
#include "predict/choices.h"

#include <math.h>

/* Nodes with more operands convert every operand in the other layout. */
enum { MAX_TRIALS = 64 };

typedef struct layouts {
    ry_plan_builder *b;
    ry_plan_form form; /* how predicted times are counted */
    ry_arena arena;    /* until the choice is made */
    bool *channels;    /* per value: channels.h */
    /* is it computed or read while running, has it channels, and do its two layouts differ? */
    bool *matters;
    bool *free;              /* may it be in either? */
    bool *last;              /* which are channels last, as far as it is decided: b->layouts */
    const ry_tensor **given; /* inputs with strides of neither layout: b->layouts */
    bool *labels;            /* per vertex: channels last */
    /* the same value row-major, and channels last; RY_NO_VALUE: not made */
    ry_value_id (*other)[2];
    ry_node_id nodes;   /* before copies are added */
    ry_value_id values; /* likewise */
    struct operand {
        ry_value_id id;
        bool made; /* by the node; else read */
    } * operands;  /* the current node's operands with a layout, each once */
    int operand_count;
    uint32_t *listed; /* per value: number of the last list that holds it */
    uint32_t lists;
    /* per value: its replacement in the current node; RY_NO_VALUE: itself */
    ry_value_id *instead;
    ry_error *error;
} layouts;

static void hold(layouts *l, ry_value_id id)
{
    if (id != RY_NO_VALUE) {
        l->free[id] = false;
    }
}

static void hold_input(layouts *l, ry_value_id id, const ry_tensor *input)
{
    if (l->b->graph->values[id].constant || ry_tensor_is_row_major(input)) {
        return;
    }
    l->last[id] = l->matters[id] && ry_tensor_is_channels_last(input);
    l->given[id] = l->last[id] ? NULL : input;
}

static void find_free_values(layouts *l)
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
        hold(l, graph->outputs[i]);
    }
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        if (ry_op_get_class(graph->nodes[n].op) == RY_CLASS_VIEW) {
            hold(l, graph->nodes[n].in[0]);
            hold(l, graph->nodes[n].out[0]);
        }
    }
}

static void set_layout(const layouts *l, ry_tensor *tensors, int count, const ry_value_id *ids,
                       bool last, ry_value_id except)
{
    for (int i = 0; i < count; i++) {
        if (ids[i] != RY_NO_VALUE && ids[i] == except && l->given[except]) {
            tensors[i] = *l->given[except];
        } else if (ids[i] != RY_NO_VALUE && l->matters[ids[i]] && last != (ids[i] == except)) {
            const ry_shape shape = ry_tensor_shape(&tensors[i]);
            tensors[i] = ry_tensor_channels_last((ry_dtype)tensors[i].dtype, &shape, NULL);
        }
    }
}

/* A node's time in one layout. */
typedef struct trial {
    double seconds; /* predicted, as they are counted */
    bool reference; /* no other kernel takes the layout */
} trial;

/* The time of a node whose operands all are in one layout, except one value, which is in the other
 * or as it is given: nothing for a transpose that so becomes an alias. */
static rynd_status try_node(layouts *l, const ry_node *node, bool last, ry_value_id except,
                            trial *found)
{
    *found = (trial){0};
    ry_problem problem;
    RY_TRY(ry_plan_problem(l->b->graph, node, l->b->options->accuracy, NULL, 0, &l->arena, &problem,
                           l->error));
    set_layout(l, (ry_tensor *)problem.in, node->inputs, node->in, last, except);
    set_layout(l, (ry_tensor *)problem.out, node->outputs, node->out, last, except);
    if (node->op == RY_OP_transpose &&
        ry_plan_keeps_memory(&problem.in[0], &problem.out[0], &node->attrs.transpose)) {
        return RYND_OK;
    }
    ry_choice choice;
    RY_TRY(ry_plan_predict_kernel(l->b, node, &problem, &choice, l->error));
    found->reference = choice.prepared.kernel->reference;
    found->seconds =
        last ? ry_plan_counted(&l->form, RY_PLAN_channels_last, choice.seconds) : choice.seconds;
    return RYND_OK;
}

/* Seconds of `tried`, compared with `other`, which becomes possible by conversions. INFINITY for a
 * reference kernel if a real one takes the other: a plan converts operands to avoid references. */
static double seconds_beside(const trial *tried, const trial *other)
{
    return tried->reference && !other->reference ? INFINITY : tried->seconds;
}

static rynd_status copy_seconds(layouts *l, const ry_tensor *from, const ry_tensor *to,
                                double *seconds)
{
    const ry_problem copy = {.op = RY_OP_copy,
                             .accuracy = l->b->options->accuracy,
                             .attrs = ry_attrs_default(RY_OP_copy),
                             .inputs = 1,
                             .outputs = 1,
                             .in = from,
                             .out = to};
    ry_choice choice;
    RY_TRY(ry_choices_find(&l->b->choices, &copy, 0, NULL, &choice, l->error));
    const ry_machine *machine = l->b->choices.target.machine;
    const ry_cost_column column =
        ry_cost_column_of(machine, machine->vector_bytes / (int64_t)sizeof(float));
    const double taken = choice.seconds * ry_costs_of(column)->prediction.conversion;
    *seconds = ry_plan_counted(&l->form, RY_PLAN_conversions, RY_STEP_SECONDS + taken);
    return RYND_OK;
}

/* Seconds of a copy into a layout (`last`); the slower direction of the two. */
static rynd_status conversion_seconds(layouts *l, ry_value_id id, bool last, double *seconds)
{
    const ry_value *value = &l->b->graph->values[id];
    const ry_tensor lies[] = {ry_tensor_row_major(value->dtype, &value->shape, NULL),
                              ry_tensor_channels_last(value->dtype, &value->shape, NULL)};
    if (l->given[id]) {
        return copy_seconds(l, l->given[id], &lies[last], seconds);
    }
    double ways[2];
    for (int way = 0; way < 2; way++) {
        RY_TRY(copy_seconds(l, &lies[way], &lies[1 - way], &ways[way]));
    }
    *seconds = fmax(ways[0], ways[1]);
    return RYND_OK;
}

static int64_t picoseconds(double seconds)
{
    return seconds < 1e5 ? (int64_t)(seconds * 1e12) : (int64_t)1e17;
}

static uint32_t node_vertex(ry_node_id id)
{
    return RY_CUT_LABELS + id;
}

static uint32_t value_vertex(const layouts *l, ry_value_id id)
{
    return RY_CUT_LABELS + l->nodes + id;
}

static void list_operands(layouts *l, const ry_node *node)
{
    l->operand_count = 0;
    l->lists++;
    for (int i = 0; i < node->inputs + node->outputs; i++) {
        const bool made = i >= node->inputs;
        const ry_value_id id = made ? node->out[i - node->inputs] : node->in[i];
        if (id != RY_NO_VALUE && id < l->values && (l->matters[id] || l->given[id]) &&
            l->listed[id] != l->lists) {
            l->listed[id] = l->lists;
            l->operands[l->operand_count++] = (struct operand){id, made};
        }
    }
}

/* The layout that a node which works in `last` has of a value. */
static bool wants_last(const layouts *l, ry_value_id id, bool last)
{
    return last && l->matters[id];
}

/* Is a value as a node that works in layout `last` has it? */
static bool lies_in(const layouts *l, ry_value_id id, bool last)
{
    return !l->given[id] && l->last[id] == wants_last(l, id, last);
}

/* The extra cost of one operand in the other layout, or as it is given, for a node that works in
 * layout `last` and takes `pure` with all operands there. *convert: a copy is the cheaper way. */
static rynd_status bridge_seconds(layouts *l, const ry_node *node, bool last, ry_value_id id,
                                  const trial *pure, double *bridge, bool *convert)
{
    double mixed = INFINITY; /* a trial looks at all operands: none is made if they are many */
    if (l->operand_count <= MAX_TRIALS) {
        trial found;
        RY_TRY(try_node(l, node, last, id, &found));
        mixed = seconds_beside(&found, pure);
    }
    const bool to = wants_last(l, id, last);
    double conversion = 0; /* again it costs nothing */
    if (l->other[id][to] == RY_NO_VALUE) {
        RY_TRY(conversion_seconds(l, id, to, &conversion));
    }
    const double more = mixed > pure->seconds ? mixed - pure->seconds : 0;
    *convert = conversion < more;
    *bridge = *convert ? conversion : more;
    return RYND_OK;
}

static rynd_status add_node(layouts *l, ry_cut *cut, ry_node_id n)
{
    const ry_node *node = &l->b->graph->nodes[n];
    trial pure[2]; /* row-major, channels last */
    double held[2] = {0, 0};
    RY_TRY(try_node(l, node, false, RY_NO_VALUE, &pure[0]));
    RY_TRY(try_node(l, node, true, RY_NO_VALUE, &pure[1]));
    for (int i = 0; i < l->operand_count; i++) {
        const ry_value_id id = l->operands[i].id;
        if (l->free[id]) {
            double conversion;
            RY_TRY(conversion_seconds(l, id, true, &conversion));
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
    const double row_major = seconds_beside(&pure[0], &pure[1]) + held[0],
                 last = seconds_beside(&pure[1], &pure[0]) + held[1];
    const bool added = ry_cut_add(cut, RY_CUT_FIRST, node_vertex(n), picoseconds(last), 0) &&
                       ry_cut_add(cut, node_vertex(n), RY_CUT_SECOND, picoseconds(row_major), 0);
    return added ? RYND_OK : ry_fail_memory(l->error);
}

/* Lists the node's operands: is there any that may lie otherwise? */
static bool has_choice(layouts *l, const ry_node *node)
{
    list_operands(l, node);
    return l->operand_count > 0 && ry_op_get_class(node->op) != RY_CLASS_VIEW;
}

/* The cheapest layouts: labels of vertices. */
static rynd_status label(layouts *l, bool **labels)
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
static rynd_status concern_others(layouts *l)
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
static rynd_status convert(layouts *l, ry_value_id id, bool last, bool back, ry_value_id *other)
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
static void take_instead(layouts *l, ry_node_id n)
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
static rynd_status bridge(layouts *l, ry_node_id n)
{
    const ry_node node = l->b->graph->nodes[n];
    const bool last = l->labels[node_vertex(n)];
    trial pure = {.seconds = -1};
    for (int i = 0; i < l->operand_count; i++) {
        const ry_value_id id = l->operands[i].id;
        if (lies_in(l, id, last)) {
            continue;
        }
        if (pure.seconds < 0) {
            RY_TRY(try_node(l, &node, last, RY_NO_VALUE, &pure));
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
static rynd_status make_row_major(layouts *l, ry_value_id *id)
{
    return *id >= l->values || lies_in(l, *id, false) ? RYND_OK : convert(l, *id, false, false, id);
}

static rynd_status bridge_view(layouts *l, ry_node_id n)
{
    ry_value_id x = l->b->graph->nodes[n].in[0];
    RY_TRY(make_row_major(l, &x));
    ry_graph_set_input(l->b->graph, &l->b->graph->nodes[n], 0, x);
    return RYND_OK;
}

static rynd_status bridge_outputs(layouts *l)
{
    ry_graph *graph = l->b->graph;
    const ry_value_id *output = graph->outputs; /* keeps its content while the list is made anew */
    const size_t count = graph->output_count;
    ry_graph_clear_outputs(graph);
    for (size_t i = 0; i < count; i++) {
        ry_value_id id = output[i];
        RY_TRY(make_row_major(l, &id));
        if (!ry_graph_add_output(graph, id)) {
            return ry_fail_memory(l->error);
        }
    }
    return RYND_OK;
}

static rynd_status bridge_all(layouts *l)
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

/* Allocates the builder's layouts: of each value, and of at most two conversions of each. */
static rynd_status take_layouts(layouts *l)
{
    const size_t count = 3 * l->b->graph->value_count;
    l->last = RY_TAKE(&l->b->plan->arena, bool, count);
    l->given = RY_TAKE(&l->b->plan->arena, const ry_tensor *, count);
    l->b->layouts = (ry_value_layouts){l->last, l->given};
    return l->last && l->given ? RYND_OK : ry_fail_memory(l->error);
}

static rynd_status choose(layouts *l)
{
    l->nodes = (ry_node_id)l->b->graph->node_count;
    l->values = (ry_value_id)l->b->graph->value_count;
    l->matters = RY_TAKE(&l->arena, bool, l->values);
    l->free = RY_TAKE(&l->arena, bool, l->values);
    l->other = ry_arena_take(&l->arena, l->values, sizeof *l->other);
    l->instead = RY_TAKE(&l->arena, ry_value_id, l->values);
    l->listed = RY_TAKE(&l->arena, uint32_t, l->values);
    l->operands = RY_TAKE(&l->arena, struct operand, l->values);
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
    layouts l = {.b = b, .form = b->plan->whole.form, .error = error};
    ry_arena_init(&l.arena, b->plan->arena.allocator);
    const rynd_status status = choose(&l);
    ry_arena_free(&l.arena);
    return status;
}
