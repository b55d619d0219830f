/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the classes of well-known data sets. */
#ifndef RY_TASKS_LABELS_H
#define RY_TASKS_LABELS_H

#include <stdbool.h>
#include <stddef.h>

/* False: no set has this name. */
bool ry_labels_find(const char *name, const char *const **labels, size_t *count);

#endif
