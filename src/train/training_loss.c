/* SPDX-License-Identifier: Apache-2.0 */
/* The loss of a step and of an evaluation: of one output, or of a detection head. */
#include "train/training_loss.h"

#include "train/detection.h"

rynd_status ry_training_add_input(ry_graph *graph, const char *name, ry_dtype dtype,
                                  const ry_shape *shape, ry_value_id *value, ry_error *error)
{
    *value = ry_graph_add_value(graph, name, dtype, shape);
    return *value != RY_NO_VALUE && ry_graph_add_input(graph, *value) ? RYND_OK
                                                                      : ry_fail_memory(error);
}

static bool adds_outputs(ry_graph *graph, const ry_training_loss *loss)
{
    bool good = true;
    for (size_t i = 0; good && i < loss->output_count; i++) {
        good = ry_graph_add_output(graph, loss->outputs[i]);
    }
    return good;
}

static rynd_status add_plain(ry_graph *graph, const ry_training_loss *loss, ry_loss_nodes *nodes,
                             ry_error *error)
{
    const ry_value output = graph->values[loss->outputs[0]];
    const ry_loss_options *options = &loss->options;
    ry_dtype dtype;
    ry_shape shape;
    ry_value_id target;
    const rynd_status status =
        ry_loss_target(options, output.dtype, &output.shape, &dtype, &shape, error);
    if (status != RYND_OK) {
        ry_error_prefix(error, "output '%s': ", output.name);
        return status;
    }
    RY_TRY(ry_training_add_input(graph, loss->target, dtype, &shape, &target, error));
    ry_emitter e = {.graph = graph, .name = "train/loss", .error = error};
    nodes->loss = ry_emit_loss(&e, options, loss->outputs[0], target);
    return e.status;
}

static rynd_status add_detection(ry_graph *graph, const ry_training_loss *loss,
                                 ry_loss_nodes *nodes, ry_error *error)
{
    const ry_loss_options *options = &loss->options;
    ry_emitter e = {.graph = graph, .name = "train/loss", .error = error};
    ry_head_view view;
    ry_candidates candidates;
    ry_assignment assigned;
    ry_value_id target;
    RY_TRY(ry_head_view_of(graph, options->head, &graph->arena, &view, error));
    RY_TRY(ry_emit_candidates(&e, &view, &candidates));
    const ry_shape shape = {.rank = 3, .dim = {candidates.batch, options->boxes, 5}};
    RY_TRY(ry_training_add_input(graph, loss->target, ry_emit_dtype(&e, candidates.scores), &shape,
                                 &target, error));
    ry_emit_assignment(&e, &candidates, target, &assigned);
    nodes->loss = ry_emit_detection_loss(&e, &candidates, &assigned, options->box_weight);
    nodes->held[0] = assigned.weight;
    nodes->held[1] = assigned.scores;
    for (int i = 0; i < 4; i++) {
        nodes->held[2 + i] = assigned.side[i];
    }
    nodes->held_count = RY_MOST_HELD;
    return e.status;
}

rynd_status ry_training_add_loss(ry_graph *graph, const ry_training_loss *loss,
                                 ry_loss_nodes *nodes, ry_error *error)
{
    *nodes = (ry_loss_nodes){.held_count = 0};
    ry_graph_clear_outputs(graph);
    if (!adds_outputs(graph, loss)) {
        return ry_fail_memory(error);
    }
    RY_TRY(ry_graph_compact(graph, error));
    RY_TRY(loss->options.loss == RY_LOSS_detection ? add_detection(graph, loss, nodes, error)
                                                   : add_plain(graph, loss, nodes, error));
    ry_graph_clear_outputs(graph);
    return ry_graph_add_output(graph, nodes->loss) && adds_outputs(graph, loss)
               ? RYND_OK
               : ry_fail_memory(error);
}

static bool is_read(const ry_head_match *match, size_t output)
{
    const int levels = match->head->split ? ry_head_level_count(match->head) : 1;
    for (int p = 0; p < RY_HEAD_PARTS && match->head->parts[p].layout; p++) {
        for (int l = 0; l < levels; l++) {
            if (match->output[p][l] == output) {
                return true;
            }
        }
    }
    return false;
}

static rynd_status check_head(const ry_graph *graph, const ry_head_view *view, ry_error *error)
{
    const ry_value *first = &graph->values[graph->outputs[view->match.output[0][0]]];
    RY_TRY(ry_head_check_trainable(view->match.head, error));
    if (view->outputs.height < 0 || view->outputs.width < 0) {
        return ry_fail(error, RYND_ERROR_UNSUPPORTED,
                       "the loss of detection needs an input of pictures, [N, C, H, W]");
    }
    return first->dtype == RY_f32 || first->dtype == RY_f64
               ? RYND_OK
               : ry_fail(error, RYND_ERROR_UNSUPPORTED,
                         "output '%s' is %s: the loss of detection reads float32", first->name,
                         ry_dtype_name(first->dtype));
}

rynd_status ry_training_settle_outputs(const ry_graph *graph, ry_training_loss *loss,
                                       ry_error *error)
{
    ry_head_view view;
    ry_arena scratch;
    size_t kept = 0;
    if (loss->options.loss != RY_LOSS_detection) {
        return RYND_OK;
    }
    ry_arena_init(&scratch, graph->arena.allocator);
    rynd_status status = ry_head_view_of(graph, loss->options.head, &scratch, &view, error);
    if (status == RYND_OK) {
        status = check_head(graph, &view, error);
    }
    for (size_t i = 0; status == RYND_OK && i < loss->output_count; i++) {
        if (is_read(&view.match, i)) {
            loss->outputs[kept++] = loss->outputs[i];
        }
    }
    if (status == RYND_OK) {
        loss->output_count = kept;
        loss->options.head = view.match.head->name;
        loss->classes = ry_head_classes(&view.match);
    }
    ry_arena_free(&scratch);
    return status;
}
