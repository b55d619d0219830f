/* SPDX-License-Identifier: Apache-2.0 */
/* A placement, and its costs. */
#ifndef RY_API_PLACEMENT_H
#define RY_API_PLACEMENT_H

#include "api/api_fleet.h"
#include "api/handles.h"
#include "graph/graph_part.h"
#include "placement/assign.h"

/* A network and its parts: part i has the nodes from cut[i] to before cut[i + 1] of `graph`. */
typedef struct ry_placed_network {
    const rynd_model *model;
    ry_graph *whole; /* bound: what is not cut is planned as the model is */
    ry_graph *graph; /* bound and folded */
    size_t parts;
    ry_node_id cut[RY_ASSIGN_PARTS + 1];
    ry_lifetimes lifetimes;
    double *seconds, *bytes, *crossing; /* ry_assign_chain */
} ry_placed_network;

struct rynd_placement {
    ry_allocator allocator;
    ry_arena arena;
    const rynd_fleet *fleet;
    ry_placed_network *networks;
    size_t network_count;
    ry_assign_problem problem;
    const unsigned char *device; /* device per part of each network */
    rynd_accuracy accuracy;
    rynd_placement_info info;
    rynd_placed_part *parts;
    size_t part_count;
};

/* What the parts first to last of a network are on a device. */
typedef struct ry_placed_cost {
    double seconds;
    rynd_memory memory;
    size_t steps;
    bool complete;
} ry_placed_cost;

/* Parts that a network is cut into at most. most: what the caller wants; 0: 12, but fewer for many
 * different devices or networks, whose plans would take too long. */
size_t ry_placement_parts(const ry_fleet *fleet, size_t networks, size_t most);

/* Binds, folds and cuts a network. */
rynd_status ry_placement_cut(rynd_placement *placement, ry_placed_network *network,
                             const rynd_model *model, const rynd_placement_options *options,
                             ry_error *error);

/* The model of parts of a network, for a device's context. */
rynd_status ry_placement_model(const rynd_placement *placement, const ry_placed_network *network,
                               size_t first, size_t last, size_t device, rynd_model **model,
                               ry_error *error);

/* Plans a model of parts, to look at; the model must be the device's. */
rynd_status ry_placement_cost(const rynd_placement *placement, const rynd_model *model,
                              size_t device, ry_placed_cost *cost, ry_error *error);

/* All costs of all networks. */
rynd_status ry_placement_costs(rynd_placement *placement, const rynd_placement_options *options,
                               ry_error *error);

#endif
