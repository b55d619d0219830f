/* SPDX-License-Identifier: Apache-2.0 */
/* A list of devices, each with its context. */
#ifndef RY_API_API_FLEET_H
#define RY_API_API_FLEET_H

#include "placement/fleet.h"

#include <rynd/rynd.h>

struct rynd_fleet {
    ry_allocator allocator;
    ry_arena arena;
    ry_fleet list;
    rynd_context *context[RY_FLEET_DEVICES];
};

#endif
