/* SPDX-License-Identifier: Apache-2.0 */
/* A list schedule of an assignment: segments take their turns on devices, transfers on links. */
#ifndef RY_PLACEMENT_ASSIGN_SCHEDULE_H
#define RY_PLACEMENT_ASSIGN_SCHEDULE_H

#include "placement/assign_problem.h"

typedef struct ry_assign_schedule ry_assign_schedule;

/* For `inputs` inputs of every chain. NULL: out of memory. */
ry_assign_schedule *ry_assign_schedule_make(const ry_assign_problem *problem, size_t inputs,
                                            ry_arena *arena);
/* Seconds until all is done. Never below a device's, a link's or a chain's load. */
double ry_assign_schedule_run(const ry_assign_problem *problem, const unsigned char *device,
                              ry_assign_schedule *schedule);

#endif
