/* SPDX-License-Identifier: Apache-2.0 */
/* Points in a device's queue. */
#ifndef RY_API_API_EVENT_H
#define RY_API_API_EVENT_H

#include "device/device.h"

#include <rynd/rynd.h>

struct rynd_event {
    rynd_context *context;
    ry_event *event;
};

#endif
