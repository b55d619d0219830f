/* SPDX-License-Identifier: Apache-2.0 */
/** @file place.h
 *  @brief Experimental (see <rynd/rynd.h>): assigns networks, or parts of them, to devices.
 *
 * A fleet is a set of devices with links (docs/placement.md describes its file). A placement
 * assigns whole networks, or parts cut between nodes, to the fleet's devices, by prediction. */
#ifndef RYND_PLACE_H
#define RYND_PLACE_H

#include <rynd/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Opaque and immutable. Must outlive its placements. */
typedef struct rynd_fleet rynd_fleet;

/** Reads devices and links from a text file, and makes a context for each device; the caller
 * destroys the fleet. `options` apply to these contexts, except device, threads and machine, which
 * the file sets. NULL: all defaults. Fails with IO, FORMAT (naming file and line), and as
 * rynd_context_create does (naming the device's line). */
RYND_API rynd_status rynd_fleet_load(const char *path, const rynd_context_options *options,
                                     rynd_fleet **fleet);

/** Frees a fleet. Everything made with it must be gone. */
RYND_API void rynd_fleet_destroy(rynd_fleet *fleet);

/** A device of a fleet. */
typedef struct rynd_fleet_device {
    size_t size;
    const char *name;      /**< its name in the file */
    const char *device;    /**< "cpu", "opencl:0", as rynd_context_options.device */
    const char *machine;   /**< its machine file; NULL: the device is here, and can run its parts */
    unsigned threads;      /**< 0: all */
    double memory;         /**< limit in bytes; 0: none */
    double watts;          /**< power while computing; 0: unknown */
    rynd_context *context; /**< the fleet's context for plans on the device */
} rynd_fleet_device;

/** Number of devices. */
RYND_API size_t rynd_fleet_device_count(const rynd_fleet *fleet);

/** Describes a device. */
RYND_API rynd_status rynd_fleet_get_device(const rynd_fleet *fleet, size_t index,
                                           rynd_fleet_device *device);

/** Gives a link's bandwidth in bytes per second, and its latency in seconds; equal both ways. Fails
 * with ARGUMENT if a == b. */
RYND_API rynd_status rynd_fleet_get_link(const rynd_fleet *fleet, size_t a, size_t b,
                                         double *bandwidth, double *latency);

/** The quantity that a placement minimises. */
typedef enum rynd_objective {
    /** Seconds from all networks' inputs to their outputs; each device and link works in sequence.
     */
    RYND_OBJECTIVE_LATENCY = 0,
    /** Seconds between inputs in a full pipeline: the busiest device or link. */
    RYND_OBJECTIVE_THROUGHPUT,
    /** Joules of the devices for one input of each network, without transfers. */
    RYND_OBJECTIVE_ENERGY,
    RYND_OBJECTIVE_MEMORY, /**< bytes on the fullest device */
} rynd_objective;

/** Options of rynd_placement_create. */
typedef struct rynd_placement_options {
    size_t size;
    rynd_objective objective;
    rynd_accuracy accuracy;
    const rynd_dim *dims; /**< as rynd_plan_options.dims, for each network; NULL: none */
    size_t dim_count;
    int64_t batch; /**< as rynd_plan_options.batch: one input is one batch */
    size_t parts;  /**< most parts of one network, 1 (uncut) to 32; 0: 12, or fewer for many
                    * different devices and networks */
    size_t nodes;  /**< limit of the search, which then leaves a gap to `bound`; 0: four million, or
                    * fewer for many devices */
    rynd_progress_function progress; /**< NULL: none */
    void *progress_user;
} rynd_placement_options;

/** Opaque and immutable. */
typedef struct rynd_placement rynd_placement;

/** Places networks; the caller destroys the placement. Inputs come from the fleet's first device,
 * and outputs return to it. The search predicts every part on every device, alone and joined with
 * its successors: consecutive parts on one device are planned as one. It runs nothing, and finds
 * the same placement each time. The models may have any context and must outlive the placement.
 * Networks whose shapes depend on data are not cut. options NULL: all defaults.
 *
 * Fails with NOT_FOUND (too little memory on the devices), UNSUPPORTED (energy, if a device has no
 * watts), CANCELLED, and as rynd_plan_create does (naming the device). */
RYND_API rynd_status rynd_placement_create(const rynd_fleet *fleet, rynd_model *const *models,
                                           size_t model_count,
                                           const rynd_placement_options *options,
                                           rynd_placement **placement);

/** Frees a placement. Plans of its parts must be gone. */
RYND_API void rynd_placement_destroy(rynd_placement *placement);

/** Predicted figures of a placement. Steps that are planned during runs are not included. */
typedef struct rynd_placement_info {
    size_t size;
    rynd_objective objective;
    double value;   /**< the objective's figure, one of the last four */
    double bound;   /**< lower bound for these parts; equal to `value`: the best placement */
    size_t nodes;   /**< nodes that the search visited */
    size_t parts;   /**< rynd_placement_get_part */
    double latency; /**< seconds */
    double period;  /**< seconds between inputs in a full pipeline */
    double energy;  /**< joules for one input of each network; 0: a device has no watts */
    double memory;  /**< bytes on the fullest device */
    int complete;   /**< 0: some steps are planned during runs */
} rynd_placement_info;

/** Describes a placement. */
RYND_API rynd_status rynd_placement_get_info(const rynd_placement *placement,
                                             rynd_placement_info *info);

/** A part of a network on its device: nodes `first` to before `end`, counted after constants are
 * folded. */
typedef struct rynd_placed_part {
    size_t size;
    size_t network; /**< index of its model */
    size_t device;  /**< index in the fleet */
    size_t first, end;
    size_t steps;                       /**< steps of its plan */
    const char *first_node, *last_node; /**< their names */
    /** The part as a model of the device's context, to plan with the placement's accuracy, and to
     * run. Its inputs have the names of the network's inputs or of earlier parts' outputs. It lives
     * as long as the placement. */
    rynd_model *model;
    double seconds;
    rynd_memory memory;
    double bytes_in, bytes_out; /**< transfers, the network's inputs and outputs included */
} rynd_placed_part;

/** Describes a part. Parts are sorted by network and node. */
RYND_API rynd_status rynd_placement_get_part(const rynd_placement *placement, size_t index,
                                             rynd_placed_part *part);

/** Gives the predicted seconds for `inputs` inputs (1 to 1024) of each network that are all ready
 * at the start; devices work in parallel. Fails with OUT_OF_MEMORY. */
RYND_API rynd_status rynd_placement_get_makespan(const rynd_placement *placement, size_t inputs,
                                                 double *seconds);

#ifdef __cplusplus
}
#endif
#endif
