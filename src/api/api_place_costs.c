/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts networks, and asks for each run of parts on each device what it takes there. */
#include "api/api_part.h"
#include "api/api_plan.h"
#include "api/placement.h"
#include "base/progress_ends.h"

#include <string.h>

static bool whole(const ry_placed_network *network, size_t first, size_t last)
{
    return first == 0 && last + 1 == network->parts;
}

rynd_status ry_placement_model(const rynd_placement *placement, const ry_placed_network *network,
                               size_t first, size_t last, size_t device, rynd_model **model,
                               ry_error *error)
{
    rynd_context *context = placement->fleet->context[device];
    ry_graph *graph = NULL;
    if (whole(network, first, last)) {
        RY_TRY(ry_graph_clone(network->whole, &graph, error));
        return ry_api_part_of(network->model, context, graph, model, error);
    }
    ry_value_list inputs, outputs;
    RY_TRY(ry_graph_clone(network->graph, &graph, error));
    rynd_status status = ry_graph_boundary(&network->lifetimes, network->cut[first],
                                           network->cut[last + 1], &graph->arena, &inputs, &outputs)
                             ? ry_graph_keep_part(graph, inputs.items, inputs.count, outputs.items,
                                                  outputs.count, error)
                             : ry_fail_memory(error);
    if (status != RYND_OK) {
        ry_graph_destroy(graph);
        return status;
    }
    return ry_api_part_of(network->model, context, graph, model, error);
}

static rynd_status look_at(rynd_plan *plan, ry_placed_cost *cost)
{
    rynd_prediction prediction = RYND_SIZED(rynd_prediction);
    cost->memory = RYND_SIZED(rynd_memory);
    cost->steps = rynd_plan_step_count(plan);
    cost->complete = rynd_plan_complete(plan);
    RY_TRY(rynd_plan_predict(plan, &prediction));
    cost->seconds = prediction.median;
    return rynd_plan_get_memory(plan, &cost->memory);
}

rynd_status ry_placement_cost(const rynd_placement *placement, const rynd_model *model,
                              size_t device, ry_placed_cost *cost, ry_error *error)
{
    const rynd_plan_options options =
        RYND_SIZED(rynd_plan_options, .accuracy = placement->accuracy, .without_weights = 1);
    rynd_plan *plan;
    rynd_status status = rynd_plan_create(model, &options, &plan);
    if (status == RYND_OK) {
        status = look_at(plan, cost);
        rynd_plan_destroy(plan);
    }
    return status == RYND_OK
               ? RYND_OK
               : ry_fail(error, status, "device '%s': %s",
                         placement->fleet->list.device[device].name, rynd_last_error());
}

/* Only a graph whose outputs are computed from known shapes is cut. */
static bool can_be_cut(const ry_graph *graph, bool later)
{
    bool can = !later;
    for (size_t i = 0; i < graph->output_count; i++) {
        const ry_value *value = &graph->values[graph->outputs[i]];
        can = can && value->producer != RY_NO_NODE && !value->constant;
    }
    for (size_t v = 0; v < graph->value_count; v++) {
        can = can && !graph->values[v].bounded;
    }
    return can;
}

rynd_status ry_placement_cut(rynd_placement *placement, ry_placed_network *network,
                             const rynd_model *model, const rynd_placement_options *options,
                             ry_error *error)
{
    ry_arena *arena = &placement->arena;
    const ry_dim_binding *dims;
    const size_t most =
        ry_placement_parts(&placement->fleet->list, placement->network_count, options->parts);
    size_t cuts = 0;
    bool later;
    network->model = model;
    RY_TRY(ry_api_take_dims(options->dims, options->dim_count, "rynd_placement_options", arena,
                            &dims, error));
    RY_TRY(ry_api_bound_graph(model, dims, options->dim_count, options->batch, false,
                              &network->whole, NULL, error));
    RY_TRY(ry_api_bound_graph(model, dims, options->dim_count, options->batch, true,
                              &network->graph, &later, error));
    if (can_be_cut(network->graph, later)) {
        RY_TRY(ry_graph_choose_cuts(network->graph, most, arena, network->cut + 1, &cuts, error));
    }
    network->parts = cuts + 1;
    network->cut[network->parts] = (ry_node_id)network->graph->node_count;
    return ry_graph_lifetimes(network->graph, arena, &network->lifetimes) ? RYND_OK
                                                                          : ry_fail_memory(error);
}

static rynd_status fill_entry(rynd_placement *placement, const ry_placed_network *network,
                              size_t first, size_t last, size_t device, ry_error *error)
{
    const size_t entry = (first * network->parts + last) * placement->fleet->list.count + device;
    ry_placed_cost cost;
    rynd_model *model;
    RY_TRY(ry_placement_model(placement, network, first, last, device, &model, error));
    const rynd_status status = ry_placement_cost(placement, model, device, &cost, error);
    rynd_model_destroy(model);
    if (status == RYND_OK) {
        network->seconds[entry] = cost.seconds;
        network->bytes[entry] = (double)cost.memory.total;
        placement->info.complete = placement->info.complete && cost.complete;
    }
    return status;
}

static bool same_machine(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* The first device that takes the same time for everything; itself, if it is the first. */
static size_t first_like(const ry_fleet *fleet, size_t device)
{
    const ry_fleet_device *own = &fleet->device[device];
    for (size_t d = 0; d < device; d++) {
        const ry_fleet_device *other = &fleet->device[d];
        if (strcmp(own->kind, other->kind) == 0 && own->threads == other->threads &&
            same_machine(own->machine, other->machine)) {
            return d;
        }
    }
    return device;
}

static size_t count_kinds(const ry_fleet *fleet)
{
    size_t kinds = 0;
    for (size_t d = 0; d < fleet->count; d++) {
        kinds += first_like(fleet, d) == d;
    }
    return kinds;
}

size_t ry_placement_parts(const ry_fleet *fleet, size_t networks, size_t most)
{
    enum { USUAL = 12, LEAST = 4, PLANS = 800 };
    const size_t sets = count_kinds(fleet) * networks;
    size_t parts = most ? most : USUAL;
    while (!most && parts > LEAST && parts * (parts + 1) / 2 * sets > PLANS) {
        parts--;
    }
    return parts;
}

static size_t entry_count(const rynd_placement *placement)
{
    const size_t kinds = count_kinds(&placement->fleet->list);
    size_t count = 0;
    for (size_t n = 0; n < placement->network_count; n++) {
        const size_t parts = placement->networks[n].parts;
        count += parts * (parts + 1) / 2 * kinds;
    }
    return count;
}

static void copy_entry(const ry_placed_network *network, size_t row, size_t from, size_t to)
{
    network->seconds[row + to] = network->seconds[row + from];
    network->bytes[row + to] = network->bytes[row + from];
}

static rynd_status fill_network(rynd_placement *placement, const ry_placed_network *network,
                                const rynd_placement_options *options, size_t *done,
                                ry_error *error)
{
    const size_t all = entry_count(placement);
    for (size_t part = 0; part <= network->parts; part++) {
        network->crossing[part] = ry_graph_crossing(&network->lifetimes, network->cut[part]);
    }
    for (size_t first = 0; first < network->parts; first++) {
        for (size_t last = first; last < network->parts; last++) {
            for (size_t d = 0; d < placement->fleet->list.count; d++) {
                const size_t like = first_like(&placement->fleet->list, d);
                if (like < d) {
                    copy_entry(network,
                               (first * network->parts + last) * placement->fleet->list.count, like,
                               d);
                    continue;
                }
                if (ry_progress_ends(options->progress, options->progress_user, (*done)++, all)) {
                    return ry_fail(error, RYND_ERROR_CANCELLED,
                                   "the placement was ended by its caller");
                }
                RY_TRY(fill_entry(placement, network, first, last, d, error));
            }
        }
    }
    return RYND_OK;
}

rynd_status ry_placement_costs(rynd_placement *placement, const rynd_placement_options *options,
                               ry_error *error)
{
    const size_t devices = placement->fleet->list.count;
    size_t done = 0;
    placement->info.complete = 1;
    for (size_t n = 0; n < placement->network_count; n++) {
        ry_placed_network *network = &placement->networks[n];
        const size_t entries = network->parts * network->parts * devices;
        network->seconds = RY_TAKE(&placement->arena, double, entries);
        network->bytes = RY_TAKE(&placement->arena, double, entries);
        network->crossing = RY_TAKE(&placement->arena, double, network->parts + 1);
        if (!network->seconds || !network->bytes || !network->crossing) {
            return ry_fail_memory(error);
        }
        const rynd_status status = fill_network(placement, network, options, &done, error);
        if (status != RYND_OK) {
            return status;
        }
    }
    return RYND_OK;
}
