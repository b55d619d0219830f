/* SPDX-License-Identifier: Apache-2.0 */
/* Which constants of a model training changes: floating-point initializers, not those of one number
 * alone (rank 0), that an operator reads as an operand and not for a setting, and from which the
 * output is computed; and running statistics of batch normalisations. */
#include "graph/own_vector.h"
#include "train/dropout_nodes.h"
#include "train/frozen.h"
#include "train/initial.h"

#include <string.h>

typedef struct opening {
    ry_graph *graph;
    ry_training_builder *b;
    bool *leads;  /* per value: the output depends on it */
    bool *refuse; /* per value: a node reads it as a setting */
    bool *mean;   /* per value: a running statistic */
    bool *frozen; /* by value: training leaves it alone */
    ry_error *error;
} opening;

/* Bit i: input i of the operator is an operand that gradients may reach. The last bit stands for
 * all further inputs. */
enum { LAST_BIT = 31 };

static uint32_t operands_of(ry_op op)
{
    enum { FIRST = 1u << 0, FIRST_TWO = 3u, FIRST_THREE = 7u, FIRST_AND_THIRD = 5u, ALL = ~0u };
    switch (op) {
    case RY_OP_expr:
    case RY_OP_concat:
    case RY_OP_einsum:
    case RY_OP_conv:
    case RY_OP_convt:
    case RY_OP_matmul:
    case RY_OP_recurrent:
    case RY_OP_deform_conv: return ALL;
    case RY_OP_batch_norm:
    case RY_OP_group_norm:
    case RY_OP_layer_norm: return FIRST_THREE;
    case RY_OP_scatter_elements:
    case RY_OP_scatter_nd: return FIRST_AND_THIRD;
    case RY_OP_grid_sample: return FIRST_TWO;
    default: return FIRST;
    }
}

/* May a gradient come to input i? Statistics may where the model computes them. */
static bool is_operand(const ry_graph *graph, const ry_node *node, int i)
{
    const bool computed = node->op == RY_OP_batch_norm && !graph->values[node->in[i]].constant;
    return computed || operands_of(node->op) >> (i < LAST_BIT ? i : LAST_BIT) & 1u;
}

static bool is_weight(const opening *o, ry_value_id v)
{
    return ry_training_is_weight(o->graph, v);
}

/* Exporters write equal tensors once, and what was made of ones and zeros is equal at first:
 * normalisations that share a vector with somebody get copies (graph/own_vector.h). */
static rynd_status separate_vector(const opening *o, ry_node_id n, int i, bool *taken)
{
    ry_graph *graph = o->graph;
    const ry_node node = graph->nodes[n];
    const ry_value_id v = node.in[i];
    if (v == RY_NO_VALUE || !is_weight(o, v) || graph->values[v].shape.rank != 1) {
        return RYND_OK;
    }
    if (!taken[v]) {
        taken[v] = true;
        return RYND_OK;
    }
    const ry_value old = graph->values[v];
    const char *name = ry_own_vector_name(graph, &node, i, &graph->arena);
    const ry_value_id copy =
        name ? ry_graph_add_constant(graph, name, old.dtype, &old.shape, old.constant)
             : RY_NO_VALUE;
    if (copy == RY_NO_VALUE) {
        return ry_fail_memory(o->error);
    }
    graph->values[copy].initializer = true;
    graph->values[copy].unaligned = old.unaligned;
    ry_graph_set_input(graph, &graph->nodes[n], i, copy);
    return RYND_OK;
}

/* PyTorch gives what it writes once a node and a name for each further use: that is a parameter of
 * this name. */
static void name_copies(const opening *o)
{
    ry_graph *graph = o->graph;
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        const ry_node *node = &graph->nodes[n];
        if (node->op != RY_OP_identity || node->drop != 0 || !is_weight(o, node->in[0])) {
            continue;
        }
        const ry_value from = graph->values[node->in[0]];
        ry_value *to = &graph->values[node->out[0]];
        ry_graph_remove_node(graph, n);
        to->constant = from.constant;
        to->dtype = from.dtype;
        to->shape = from.shape;
        to->initializer = true;
        to->unaligned = from.unaligned;
    }
}

static rynd_status separate_vectors(const opening *o, ry_arena *scratch)
{
    const ry_graph *graph = o->graph;
    bool *taken = RY_TAKE(scratch, bool, graph->value_count);
    if (!taken) {
        return ry_fail_memory(o->error);
    }
    for (ry_node_id n = 0; n < graph->node_count; n++) { /* those of all others are theirs */
        const ry_node *node = &graph->nodes[n];
        for (int i = 0; i < node->inputs && !ry_is_norm(node->op); i++) {
            if (node->in[i] != RY_NO_VALUE) {
                taken[node->in[i]] = true;
            }
        }
    }
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        const int inputs = ry_is_norm(graph->nodes[n].op) ? graph->nodes[n].inputs : 0;
        for (int i = 1; i < inputs; i++) {
            RY_TRY(separate_vector(o, n, i, taken));
        }
    }
    return RYND_OK;
}

/* Normalisations by the statistics of their own batch (ONNX's training_mode) read the running ones
 * from here on, as the others: a step takes the batch's again (train_batch_norms). Running ones
 * that are no weights cannot be trained: such a node keeps what it computes. */
static void read_running(const opening *o)
{
    ry_graph *graph = o->graph;
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        ry_node *node = &graph->nodes[n];
        if (node->op != RY_OP_batch_norm || node->running[0] == RY_NO_VALUE ||
            !is_weight(o, node->running[0]) || !is_weight(o, node->running[1])) {
            continue;
        }
        for (int i = 0; i < 2; i++) {
            ry_graph_set_input(graph, node, 3 + i, node->running[i]);
            node->running[i] = RY_NO_VALUE;
        }
    }
}

/* Only what leads to the outputs of the loss is trained and evaluated. */
static rynd_status keep_output(const opening *o)
{
    ry_graph_clear_outputs(o->graph);
    for (size_t i = 0; i < o->b->training->loss.output_count; i++) {
        if (!ry_graph_add_output(o->graph, o->b->training->loss.outputs[i])) {
            return ry_fail_memory(o->error);
        }
    }
    return ry_graph_compact(o->graph, o->error);
}

/* From the last node to the first. */
static void look_back(const opening *o)
{
    const ry_graph *graph = o->graph;
    for (size_t i = 0; i < o->b->training->loss.output_count; i++) {
        o->leads[o->b->training->loss.outputs[i]] = true;
    }
    for (size_t n = graph->node_count; n-- > 0;) {
        const ry_node *node = &graph->nodes[n];
        bool leads = false;
        for (int i = 0; i < node->outputs; i++) {
            leads |= node->out[i] != RY_NO_VALUE && o->leads[node->out[i]];
        }
        for (int i = 0; i < node->inputs; i++) {
            const ry_value_id v = node->in[i];
            if (v != RY_NO_VALUE && is_operand(graph, node, i)) {
                o->leads[v] |= leads;
            } else if (v != RY_NO_VALUE) {
                o->refuse[v] = true;
            }
        }
    }
}

/* A batch normalisation whose parameters all stay as they are works as in inference. */
static void find_statistics(opening *o)
{
    const ry_graph *graph = o->graph;
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        const ry_node *node = &graph->nodes[n];
        if (node->op != RY_OP_batch_norm || !node->attrs.batch_norm.spatial ||
            !o->leads[node->out[0]]) {
            continue;
        }
        const ry_value_id mean = node->in[3], variance = node->in[4];
        bool trains = mean != variance;
        for (int i = 3; i < 5; i++) {
            trains = trains && is_weight(o, node->in[i]) && graph->values[node->in[i]].uses == 1 &&
                     !o->frozen[node->in[i]];
        }
        const bool scale = is_weight(o, node->in[1]) && o->frozen[node->in[1]],
                   bias = is_weight(o, node->in[2]) && o->frozen[node->in[2]];
        o->mean[mean] = o->mean[variance] = trains && !(scale && bias);
    }
}

static rynd_status take(opening *o, ry_arena *arena)
{
    ry_graph *graph = o->graph;
    ry_training_builder *b = o->b;
    b->parameters = RY_TAKE(arena, ry_training_parameter, graph->value_count);
    b->training->parameters = b->parameters;
    if (!b->parameters) {
        return ry_fail_memory(o->error);
    }
    for (ry_value_id v = 0; v < graph->value_count; v++) {
        ry_value *value = &graph->values[v];
        const bool weight = is_weight(o, v) && o->leads[v] && !o->refuse[v];
        if (!o->mean[v] && !(weight && !o->frozen[v])) {
            continue;
        }
        if (value->dtype != RY_f32) {
            return ry_fail(o->error, RYND_ERROR_UNSUPPORTED,
                           "parameter '%s' is %s: only float32 is trained; convert the model",
                           value->name, ry_dtype_name(value->dtype));
        }
        const char *name = ry_arena_format(arena, "%s", value->name);
        if (!name) {
            return ry_fail_memory(o->error);
        }
        b->parameters[b->training->count++] = (ry_training_parameter){.name = name,
                                                                      .value = v,
                                                                      .content = value->constant,
                                                                      .initial = value->constant,
                                                                      .statistic = o->mean[v]};
        value->constant = NULL;
    }
    return RYND_OK;
}

static rynd_status check_parameters(const opening *o)
{
    const ry_training_options *options = &o->b->options;
    size_t weights = 0;
    for (size_t i = 0; i < o->b->training->count; i++) {
        weights += !o->b->parameters[i].statistic;
    }
    const bool some = options->freeze_count || options->train_only_count || options->train_last;
    return weights ? RYND_OK
                   : ry_fail(o->error, RYND_ERROR_UNSUPPORTED,
                             "nothing to train: output '%s' depends on no floating-point "
                             "initializer%s",
                             o->graph->values[o->b->training->loss.outputs[0]].name,
                             some ? " that is not frozen" : "");
}

/* One, or all for detection, whose head is known once sizes are bound. */
static rynd_status find_outputs(opening *o, ry_arena *arena)
{
    const char *name = o->b->options.output;
    const ry_graph *graph = o->graph;
    ry_training *training = o->b->training;
    const bool all = training->loss.options.loss == RY_LOSS_detection;
    training->loss.outputs = RY_TAKE(arena, ry_value_id, graph->output_count + 1);
    if (!training->loss.outputs) {
        return ry_fail_memory(o->error);
    }
    for (size_t i = 0; i < graph->output_count && (all || training->loss.output_count == 0); i++) {
        if (all || !name || strcmp(graph->values[graph->outputs[i]].name, name) == 0) {
            training->loss.outputs[training->loss.output_count++] = graph->outputs[i];
        }
    }
    return training->loss.output_count > 0
               ? RYND_OK
               : ry_fail(o->error, RYND_ERROR_NOT_FOUND, "the model has no output '%s'",
                         name ? name : "0");
}

static rynd_status open_graph(opening *o, ry_arena *scratch, ry_arena *arena)
{
    ry_training_builder *b = o->b;
    RY_TRY(ry_graph_compact(o->graph, o->error));
    RY_TRY(find_outputs(o, arena));
    name_copies(o);
    read_running(o);
    RY_TRY(keep_output(o));
    RY_TRY(ry_training_open_drops(o->graph, !b->options.no_dropout, o->error));
    RY_TRY(separate_vectors(o, scratch));
    const size_t count = o->graph->value_count;
    o->leads = RY_TAKE(scratch, bool, count);
    o->refuse = RY_TAKE(scratch, bool, count);
    o->mean = RY_TAKE(scratch, bool, count);
    if (!o->leads || !o->refuse || !o->mean) {
        return ry_fail_memory(o->error);
    }
    RY_TRY(ry_training_find_frozen(o->graph, &b->options, scratch, &o->frozen, o->error));
    b->training->loss.target =
        ry_graph_find(o->graph, "target") == RY_NO_VALUE ? "target" : "train/target";
    b->training->rate = ry_graph_find(o->graph, "learning_rate") == RY_NO_VALUE
                            ? "learning_rate"
                            : "train/learning_rate";
    look_back(o);
    find_statistics(o);
    RY_TRY(take(o, arena));
    b->training->opened = b->training->count;
    const size_t room = b->training->count + 1; /* and the loss */
    ry_exchanged_list *lists[] = {&b->training->exchanged, &b->training->exchanged_sums};
    for (int i = 0; i < 2; i++) {
        *lists[i] = (ry_exchanged_list){.items = RY_TAKE(arena, ry_exchanged, room),
                                        .ranks = b->options.ranks};
        if (!lists[i]->items) {
            return ry_fail_memory(o->error);
        }
    }
    RY_TRY(check_parameters(o));
    return b->options.init == RY_INIT_model ? RYND_OK
                                            : ry_training_initialise(o->graph, b, arena, o->error);
}

rynd_status ry_training_open(ry_graph *graph, const ry_training_options *options, ry_arena *arena,
                             ry_training_builder *b, ry_error *error)
{
    opening o = {.graph = graph, .b = b, .error = error};
    ry_arena scratch;
    *b = (ry_training_builder){.options = *options, .training = RY_TAKE(arena, ry_training, 1)};
    if (!b->training) {
        return ry_fail_memory(error);
    }
    b->training->loss.options = options->loss;
    ry_arena_init(&scratch, graph->arena.allocator);
    const rynd_status status = open_graph(&o, &scratch, arena);
    ry_arena_free(&scratch);
    return status;
}
