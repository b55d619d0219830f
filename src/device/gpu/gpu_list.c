/* SPDX-License-Identifier: Apache-2.0 */
#include "device/gpu/gpu_list.h"

static const char *separator(const ry_gpu_list *list, unsigned index)
{
    return index == 0 ? "" : index + 1 < list->count ? ", " : " and ";
}

rynd_status ry_gpu_fail_index(const ry_gpu_list *list, unsigned index, ry_error *error)
{
    ry_error there = {""};
    for (unsigned i = 0; i < list->count; i++) {
        const ry_error before = there;
        char name[RY_GPU_NAME] = "";
        list->name(list->context, i, name);
        ry_error_write(&there, "%s%s%s:%u (%s)", before.text, separator(list, i), list->kind, i,
                       name);
    }
    return list->count ? ry_fail(error, RYND_ERROR_NOT_FOUND,
                                 "there is no device %s:%u: this machine has %s", list->kind, index,
                                 there.text)
                       : ry_fail(error, RYND_ERROR_NOT_FOUND,
                                 "there is no device %s:%u, nor another of its kind: %s",
                                 list->kind, index, list->none);
}
