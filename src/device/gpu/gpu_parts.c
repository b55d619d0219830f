/* SPDX-License-Identifier: Apache-2.0 */
/* Launches in parts, which a display's watchdog does not end. */
#include "device/gpu/gpu_device.h"

#include <rynd/machine.h>

size_t ry_gpu_part(const ry_gpu_device *device, const ry_launch *launch, int phase)
{
    const rynd_machine *machine = device->base.machine;
    const double seconds = launch->seconds ? launch->seconds[phase] : 0,
                 limit = machine && launch->program.gpu->in_parts ? machine->launch_limit : 0;
    const size_t groups = launch->tasks[phase];
    if (limit <= 0 || seconds <= limit) {
        return groups;
    }
    const double part = (double)groups * limit / seconds;
    return part > 1 ? (size_t)part : 1;
}
