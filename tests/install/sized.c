/* SPDX-License-Identifier: Apache-2.0 */
/* RYND_SIZED with and without fields, compiled as C11 and as C++17 without a warning. */
#include <rynd/rynd.h>

size_t sized(void);

size_t sized(void)
{
    rynd_memory memory = RYND_SIZED(rynd_memory);
    rynd_device_memory device = RYND_SIZED(rynd_device_memory);
#ifdef __cplusplus
    rynd_plan_options options = RYND_SIZED(rynd_plan_options);
    options.batch = 1;
#else
    const rynd_plan_options options = RYND_SIZED(rynd_plan_options, .batch = 1);
#endif
    return memory.size + device.size + options.size;
}
