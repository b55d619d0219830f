/* SPDX-License-Identifier: Apache-2.0 */
/** @file place.h
 *  @brief Which device does which part of which network, by prediction.
 *
 *  A fleet is devices and the links between them (docs/placement.md has its file). A placement
 * gives whole networks, or parts of them that were cut between nodes, to its devices. */
#ifndef RYND_PLACE_H
#define RYND_PLACE_H

#include <rynd/predict.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Opaque and immutable. Must outlive its placements. */
typedef struct rynd_fleet rynd_fleet;

/** Reads devices and links from a text file, and makes a context for each device. options: of these
 * contexts, but for what the file says (device, threads, profile); NULL: all defaults. Fails with
 * IO, FORMAT (naming file and line), and as rynd_context_create for a device (naming its line). */
RYND_API rynd_status rynd_fleet_load(const char *path, const rynd_context_options *options,
                                     rynd_fleet **fleet);
/** Frees a fleet; NULL is allowed. Everything made with it must be gone. */
RYND_API void rynd_fleet_destroy(rynd_fleet *fleet);

/** A device of a fleet. Strings live as long as the fleet. */
typedef struct rynd_fleet_device {
    size_t size;           /**< set by the caller to sizeof(rynd_fleet_device) */
    const char *name;      /**< as the file has it */
    const char *device;    /**< "cpu", "opencl:0": as rynd_context_options.device takes it */
    const char *profile;   /**< file of its machine; NULL: it is here, and runs what is placed on it
                            */
    unsigned threads;      /**< 0: all that there are */
    double memory;         /**< bytes that it may hold; 0: no limit is stated */
    double watts;          /**< while it computes; 0: it has no meter */
    rynd_context *context; /**< the fleet's own: plans for the device are made with it */
} rynd_fleet_device;

RYND_API size_t rynd_fleet_device_count(const rynd_fleet *fleet); /**< 0 for NULL */
/** Fails with ARGUMENT when index is out of range. */
RYND_API rynd_status rynd_fleet_get_device(const rynd_fleet *fleet, size_t index,
                                           rynd_fleet_device *device);
/** Bytes a second and seconds of the link between two devices, the same both ways: the file's, or
 * the default. Fails with ARGUMENT when one is out of range, or both are the same. */
RYND_API rynd_status rynd_fleet_get_link(const rynd_fleet *fleet, size_t a, size_t b,
                                         double *bandwidth, double *latency);

/** What a placement makes least. */
typedef enum rynd_objective {
    /** seconds from the inputs of all networks to their outputs, each device and link doing its own
     * one after another */
    RYND_OBJECTIVE_LATENCY = 0,
    /** seconds from one input of every network to the next, when many are under way: the busiest
     * device's or link's */
    RYND_OBJECTIVE_THROUGHPUT,
    /** joules that the devices take for one input of every network; transfers are not counted */
    RYND_OBJECTIVE_ENERGY,
    RYND_OBJECTIVE_MEMORY, /**< bytes on the device that holds most */
} rynd_objective;

/** Options. Set `size` to sizeof(rynd_placement_options) and everything else that is not wanted to
 * 0. Borrowed during the call only. */
typedef struct rynd_placement_options {
    size_t size;
    rynd_objective objective;
    rynd_accuracy accuracy;
    const rynd_dim *dims; /**< as rynd_plan_options.dims, of every network; NULL: none */
    size_t dim_count;
    int64_t batch; /**< as rynd_plan_options.batch: one input is a batch of so many */
    size_t parts;  /**< that a network is cut into at most, 1 (not at all) to 32; 0: 12,
                    * or fewer for many different devices and networks */
    size_t nodes;  /**< the search's limit, after which a gap is left; 0: four million, or fewer for
                    * many devices (some seconds) */
    /** Hears how far it is, `done` of `all`, from the calling thread; what is not 0 ends it
     * (CANCELLED). NULL: nobody. */
    int (*progress)(void *user, size_t done, size_t all);
    void *progress_user;
} rynd_placement_options;

/** Opaque and immutable. */
typedef struct rynd_placement rynd_placement;

/** Places networks. Inputs come from, and outputs return to, the fleet's first device. Every part
 * is predicted on every device, alone and together with those behind it: parts that follow one
 * another on one device are planned as one. Nothing is run, and the same is found every time. The
 * models, loaded with any context, must outlive the placement. A network whose shapes depend on
 * data is not cut. options NULL: all defaults. Fails with ARGUMENT, NOT_FOUND (the devices have not
 * the memory), UNSUPPORTED (energy, and a device has no watts: there is no meter), CANCELLED, and
 * as rynd_plan_create (naming the device). */
RYND_API rynd_status rynd_placement_create(rynd_fleet *fleet, rynd_model *const *models,
                                           size_t model_count,
                                           const rynd_placement_options *options,
                                           rynd_placement **placement);
/** Frees a placement; NULL is allowed. Plans of its parts must be gone. */
RYND_API void rynd_placement_destroy(rynd_placement *placement);

/** What a placement comes to, by prediction, and how good it is. */
typedef struct rynd_placement_info {
    size_t size; /**< set by the caller to sizeof(rynd_placement_info) */
    rynd_objective objective;
    double value;   /**< of the objective: one of the four below */
    double bound;   /**< no placement of these parts is below; equal to `value`: it is the best */
    size_t nodes;   /**< that the search went through */
    size_t parts;   /**< rynd_placement_get_part */
    double latency; /**< seconds */
    double period;  /**< seconds from an input to the next */
    double energy;  /**< joules of one input of every network; 0: a device has no meter */
    double memory;  /**< bytes on the device that holds most */
    int complete;   /**< 0: steps that are planned while running are in none of these */
} rynd_placement_info;

/** Fails with ARGUMENT. */
RYND_API rynd_status rynd_placement_get_info(const rynd_placement *placement,
                                             rynd_placement_info *info);

/** What a device has of a network: its nodes from `first` to before `end`, of those that are left
 * when constants are folded. Strings and the model live as long as the placement. */
typedef struct rynd_placed_part {
    size_t size;    /**< set by the caller to sizeof(rynd_placed_part) */
    size_t network; /**< index of its model */
    size_t device;  /**< index in the fleet */
    size_t first, end;
    size_t steps;                       /**< of its plan */
    const char *first_node, *last_node; /**< their names */
    /** to be planned, with the placement's accuracy, and run; its context is the device's. Its
     * inputs are inputs of the network and outputs of parts before it, by their names. */
    rynd_model *model;
    double seconds;
    rynd_memory memory;
    double bytes_in, bytes_out; /**< that cross the cut, or are the network's inputs and outputs */
} rynd_placed_part;

/** Parts are in the order of networks, and of nodes. Fails with ARGUMENT when index is out of
 * range. */
RYND_API rynd_status rynd_placement_get_part(const rynd_placement *placement, size_t index,
                                             rynd_placed_part *part);

/** Predicted seconds until `inputs` inputs of every network are done that are all there at the
 * beginning: parts run at the same time on different devices. Fails with ARGUMENT (not 1 to 1024
 * inputs), OUT_OF_MEMORY. */
RYND_API rynd_status rynd_placement_get_makespan(const rynd_placement *placement, size_t inputs,
                                                 double *seconds);

#ifdef __cplusplus
}
#endif
#endif
