/* SPDX-License-Identifier: Apache-2.0 */
/* Files mapped into memory, read-only: a model and the external data files beside it. */
#ifndef RY_ONNX_MAPPING_H
#define RY_ONNX_MAPPING_H

#include "base/memory.h"
#include "base/status.h"

typedef struct ry_mapping {
    struct ry_mapping *next;
    const void *data;
    size_t size;
    char path[]; /* as it was opened */
} ry_mapping;

/* Finds the file among the list's, or maps it and puts it in front. Refuses what is not a regular
 * file with bytes in it. */
rynd_status ry_mapping_open(const char *path, const ry_allocator *allocator, ry_mapping **list,
                            const ry_mapping **mapping, ry_error *error);
void ry_mapping_close(const ry_allocator *allocator, ry_mapping *list);

/* As ry_mapping_open, for a path that a model names: relative to `folder`, without "..", and, links
 * followed, inside the folder. */
rynd_status ry_mapping_open_inside(const char *folder, const char *location,
                                   const ry_allocator *allocator, ry_mapping **list,
                                   const ry_mapping **mapping, ry_error *error);

/* The bytes will not be read soon: whole pages of them inside a mapping go back to the system, and
 * come from the file again when they are. */
void ry_mapping_unneeded(const ry_mapping *list, const void *data, size_t size);

#endif
