/* SPDX-License-Identifier: Apache-2.0 */
/* Occupancy of a GPU: how many work-groups a compute unit runs at once, and in how many waves all
 * units run a launch's groups. */
#ifndef RY_MACHINE_OCCUPANCY_H
#define RY_MACHINE_OCCUPANCY_H

#include "machine/machine.h"

/* Resources of a compute unit for one work-group. */
typedef struct ry_group_needs {
    unsigned items;     /* work-items */
    unsigned registers; /* 32-bit registers of an item */
    size_t local;       /* bytes of local memory */
} ry_group_needs;

/* One launch's work-groups, all alike. */
typedef struct ry_groups {
    double count;
    double seconds; /* a group's time at its unit's full rate */
    double latency; /* time of a group alone on its unit: waits that other groups fill */
    double full;    /* groups at once that reach the unit's rate: fewer have too few warps */
} ry_groups;

/* Is it a GPU whose limits are known? Other devices, processors with OpenCL among them, hand out
 * tasks to cores. */
bool ry_machine_has_waves(const ry_machine *machine);

/* Places for independent groups: Intel's vector engines run a group together. */
double ry_machine_group_places(const ry_machine *machine);

/* Groups running on one of these at once, at least 1. */
unsigned ry_machine_unit_groups(const ry_machine *machine, const ry_group_needs *needs);

/* Seconds of all groups where each unit runs `resident` at once: whole waves, and a last one of
 * fewer groups, which fill fewer waits. */
double ry_machine_waves(const ry_machine *machine, const ry_groups *groups, unsigned resident);

/* Warps of a group of so many work-items for each scheduler of its place. */
double ry_machine_warps(const ry_machine *machine, unsigned items);

/* Seconds to launch one phase: of a recording, if the device replays recordings. */
double ry_machine_launch(const ry_machine *machine, bool recorded);

#endif
