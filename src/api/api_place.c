/* SPDX-License-Identifier: Apache-2.0 */
/* Placements: costs become a problem of assignment, and its solution a list of parts. */
#include "api/api_check.h"
#include "api/api_fleet.h"
#include "api/api_status.h"
#include "api/placement.h"

#include <string.h>

enum { MOST_NETWORKS = 64, MOST_INPUTS = 1024, NODES = 4000000, WORK = 16000000 };

static const ry_assign_objective objectives[] = {
    [RYND_OBJECTIVE_LATENCY] = RY_ASSIGN_LATENCY,
    [RYND_OBJECTIVE_THROUGHPUT] = RY_ASSIGN_THROUGHPUT,
    [RYND_OBJECTIVE_ENERGY] = RY_ASSIGN_ENERGY,
    [RYND_OBJECTIVE_MEMORY] = RY_ASSIGN_MEMORY,
};

static rynd_status check_models(rynd_model *const *models, size_t count, ry_error *error)
{
    if (count == 0 || count > MOST_NETWORKS) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "model_count is %zu: give 1 to %d models", count,
                       MOST_NETWORKS);
    }
    for (size_t i = 0; i < count; i++) {
        if (!models[i]) {
            return ry_fail(error, RYND_ERROR_ARGUMENT, "rynd_placement_create: models[%zu] is NULL",
                           i);
        }
    }
    return RYND_OK;
}

static rynd_status check_options(const rynd_placement_options *options, const ry_fleet *fleet,
                                 ry_error *error)
{
    RY_TRY(ry_api_check_accuracy(options->accuracy, error));
    if ((unsigned)options->objective >= sizeof objectives / sizeof *objectives) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "objective %d is none of rynd_objective",
                       (int)options->objective);
    }
    if (options->batch < 0) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "batch is %lld: give at least 1",
                       (long long)options->batch);
    }
    if (options->parts > RY_ASSIGN_PARTS) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "parts is %zu: give at most %d", options->parts,
                       RY_ASSIGN_PARTS);
    }
    for (size_t d = 0; options->objective == RYND_OBJECTIVE_ENERGY && d < fleet->count; d++) {
        if (fleet->device[d].watts == 0) {
            return ry_fail(error, RYND_ERROR_UNSUPPORTED,
                           "no meter: device '%s' (line %d of the devices) has no watts=W, and "
                           "energy is not guessed",
                           fleet->device[d].name, fleet->device[d].line);
        }
    }
    return RYND_OK;
}

/* The fleet and the costs, as the search takes them. */
static rynd_status state_problem(rynd_placement *p, const rynd_placement_options *options,
                                 ry_error *error)
{
    const ry_fleet *fleet = &p->fleet->list;
    ry_assign_chain *chains = RY_TAKE(&p->arena, ry_assign_chain, p->network_count);
    double *memory = RY_TAKE(&p->arena, double, fleet->count);
    double *watts = RY_TAKE(&p->arena, double, fleet->count);
    if (!chains || !memory || !watts) {
        return ry_fail_memory(error);
    }
    for (size_t n = 0; n < p->network_count; n++) {
        const ry_placed_network *network = &p->networks[n];
        chains[n] =
            (ry_assign_chain){network->parts, network->seconds, network->bytes, network->crossing};
    }
    for (size_t d = 0; d < fleet->count; d++) {
        memory[d] = fleet->device[d].memory;
        watts[d] = fleet->device[d].watts;
    }
    p->problem = (ry_assign_problem){.objective = objectives[options->objective],
                                     .devices = fleet->count,
                                     .chains = p->network_count,
                                     .chain = chains,
                                     .bandwidth = fleet->bandwidth,
                                     .latency = fleet->latency,
                                     .memory = memory,
                                     .watts = watts,
                                     .most_nodes = options->nodes ? options->nodes : NODES,
                                     .most_work = options->nodes ? SIZE_MAX : WORK};
    return RYND_OK;
}

/* Names are the folded graph's, which an uncut network's model need not have as nodes; they are
 * for people. */
static rynd_status add_part(rynd_placement *p, size_t index, size_t first, size_t last,
                            size_t device, ry_error *error)
{
    const ry_placed_network *network = &p->networks[index];
    const ry_graph *graph = network->graph;
    const ry_node_id from = network->cut[first], end = network->cut[last + 1];
    rynd_placed_part *part = &p->parts[p->part_count];
    ry_placed_cost cost;
    *part = (rynd_placed_part){.network = index,
                               .device = device,
                               .first = from,
                               .end = end,
                               .first_node = from < end ? graph->nodes[from].name : "",
                               .last_node = from < end ? graph->nodes[end - 1].name : "",
                               .bytes_in = network->crossing[first],
                               .bytes_out = network->crossing[last + 1]};
    RY_TRY(ry_placement_model(p, network, first, last, device, &part->model, error));
    p->part_count++; /* its model will be freed */
    RY_TRY(ry_placement_cost(p, part->model, device, &cost, error));
    part->steps = cost.steps;
    part->seconds = cost.seconds;
    part->memory = cost.memory;
    return RYND_OK;
}

/* Lists the parts, joining consecutive parts of one device. */
static rynd_status list_parts(rynd_placement *p, ry_error *error)
{
    const unsigned char *device = p->device;
    size_t most = 0;
    for (size_t n = 0; n < p->network_count; n++) {
        most += p->networks[n].parts;
    }
    p->parts = RY_TAKE(&p->arena, rynd_placed_part, most);
    if (!p->parts) {
        return ry_fail_memory(error);
    }
    for (size_t n = 0; n < p->network_count; n++) {
        for (size_t first = 0, last; first < p->networks[n].parts; first = last + 1) {
            for (last = first;
                 last + 1 < p->networks[n].parts && device[last + 1] == device[first];) {
                last++;
            }
            RY_TRY(add_part(p, n, first, last, device[first], error));
        }
        device += p->networks[n].parts;
    }
    return RYND_OK;
}

static rynd_status tell(rynd_placement *p, const ry_assignment *found, ry_arena *scratch,
                        ry_error *error)
{
    ry_assign_costs costs;
    RY_TRY(ry_assign_evaluate(&p->problem, p->device, scratch, &costs, error));
    p->info.value = found->value;
    p->info.bound = found->bound;
    p->info.nodes = found->nodes;
    p->info.parts = p->part_count;
    p->info.latency = costs.latency;
    p->info.period = costs.period;
    p->info.energy = costs.energy;
    p->info.memory = costs.memory;
    for (size_t i = 0; i < p->part_count; i++) {
        if (p->fleet->list.device[p->parts[i].device].watts == 0) {
            p->info.energy = 0;
        }
    }
    return RYND_OK;
}

static rynd_status solve(rynd_placement *p, ry_error *error)
{
    ry_arena scratch;
    ry_assignment found;
    ry_arena_init(&scratch, &p->allocator);
    rynd_status status = ry_assign(&p->problem, &scratch, &found, error);
    if (status == RYND_OK) {
        size_t parts = 0;
        for (size_t n = 0; n < p->network_count; n++) {
            parts += p->networks[n].parts;
        }
        p->device =
            (const unsigned char *)ry_arena_string(&p->arena, (const char *)found.device, parts);
        status = p->device ? list_parts(p, error) : ry_fail_memory(error);
    }
    status = status != RYND_OK ? status : tell(p, &found, &scratch, error);
    ry_arena_free(&scratch);
    return status;
}

static rynd_status place(rynd_placement *p, rynd_model *const *models, size_t count,
                         const rynd_placement_options *options, ry_error *error)
{
    RY_TRY(check_models(models, count, error));
    RY_TRY(check_options(options, &p->fleet->list, error));
    p->networks = RY_TAKE(&p->arena, ry_placed_network, count);
    if (!p->networks) {
        return ry_fail_memory(error);
    }
    p->network_count = count;
    p->accuracy = options->accuracy;
    p->info.objective = options->objective;
    for (size_t n = 0; n < count; n++) {
        const rynd_status status = ry_placement_cut(p, &p->networks[n], models[n], options, error);
        if (status != RYND_OK) {
            if (models[n]->onnx.path && *models[n]->onnx.path) {
                ry_error_prefix(error, "%s: ", models[n]->onnx.path);
            }
            return status;
        }
    }
    RY_TRY(ry_placement_costs(p, options, error));
    RY_TRY(state_problem(p, options, error));
    return solve(p, error);
}

rynd_status rynd_placement_create(const rynd_fleet *fleet, rynd_model *const *models,
                                  size_t model_count, const rynd_placement_options *given,
                                  rynd_placement **placement)
{
    RY_API_REQUIRE(fleet, models, placement);
    *placement = NULL;
    ry_error error = {""};
    rynd_placement_options options;
    rynd_status status =
        ry_api_options(&options, sizeof options, given, "rynd_placement_options", &error);
    rynd_placement *p = NULL;
    if (status == RYND_OK) {
        p = ry_allocate_array(&fleet->allocator, 1, sizeof *p);
        status = p ? RYND_OK : ry_fail_memory(&error);
    }
    if (status == RYND_OK) {
        p->allocator = fleet->allocator;
        p->fleet = fleet;
        ry_arena_init(&p->arena, &p->allocator);
        status = place(p, models, model_count, &options, &error);
    }
    if (status != RYND_OK) {
        rynd_placement_destroy(p);
        return ry_api_end(status, &error);
    }
    *placement = p;
    return RYND_OK;
}

void rynd_placement_destroy(rynd_placement *placement)
{
    if (!placement) {
        return;
    }
    for (size_t i = 0; i < placement->part_count; i++) {
        rynd_model_destroy(placement->parts[i].model);
    }
    for (size_t n = 0; n < placement->network_count; n++) {
        ry_graph_destroy(placement->networks[n].whole);
        ry_graph_destroy(placement->networks[n].graph);
    }
    ry_arena_free(&placement->arena);
    const ry_allocator allocator = placement->allocator;
    ry_release(&allocator, placement);
}

rynd_status rynd_placement_get_info(const rynd_placement *placement, rynd_placement_info *info)
{
    RY_API_REQUIRE(placement, info);
    ry_error error = {""};
    return ry_api_end(
        ry_api_info(info, &placement->info, sizeof placement->info, "rynd_placement_info", &error),
        &error);
}

rynd_status rynd_placement_get_part(const rynd_placement *placement, size_t index,
                                    rynd_placed_part *part)
{
    RY_API_REQUIRE(placement, part);
    ry_error error = {""};
    if (index >= placement->part_count) {
        return ry_api_end(ry_fail(&error, RYND_ERROR_ARGUMENT, "part %zu: the placement has %zu",
                                  index, placement->part_count),
                          &error);
    }
    return ry_api_end(ry_api_info(part, &placement->parts[index], sizeof placement->parts[index],
                                  "rynd_placed_part", &error),
                      &error);
}

rynd_status rynd_placement_get_makespan(const rynd_placement *placement, size_t inputs,
                                        double *seconds)
{
    RY_API_REQUIRE(placement, seconds);
    ry_error error = {""};
    if (inputs == 0 || inputs > MOST_INPUTS) {
        return ry_api_end(
            ry_fail(&error, RYND_ERROR_ARGUMENT, "%zu inputs: give 1 to %d", inputs, MOST_INPUTS),
            &error);
    }
    ry_arena scratch;
    ry_arena_init(&scratch, &placement->allocator);
    const rynd_status status = ry_assign_makespan(&placement->problem, placement->device, inputs,
                                                  &scratch, seconds, &error);
    ry_arena_free(&scratch);
    return ry_api_end(status, &error);
}
