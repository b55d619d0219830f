/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes of groups. */
#include "kernels/gpu/gpu_lanes.h"

#include "base/integer.h"
#include "kernels/gpu/gpu_define.h"
#include "kernels/gpu/gpu_texts.h"

int64_t ry_gpu_lanes_of(const ry_tensor *tensor, int64_t group)
{
    enum { LANES = 16 }; /* floats of a line of 64 bytes */
    return ry_gpu_is_along_channels(tensor) ? ry_min(LANES, group) : 1;
}

void ry_gpu_lanes_define(const ry_prepared *prepared, int64_t lanes, ry_text *text)
{
    ry_gpu_define(text, "GROUP_ITEMS", prepared->form.value[RY_GPU_GROUP_KNOB]);
    ry_gpu_define(text, "LANES", lanes);
    ry_text_add(text, "%s", ry_gpu_text_lanes);
}
