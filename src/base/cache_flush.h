/* SPDX-License-Identifier: Apache-2.0 */
/* Memory out of the caches: what is measured as a network has it reads its weights from memory. */
#ifndef RY_BASE_CACHE_FLUSH_H
#define RY_BASE_CACHE_FLUSH_H

#include <stdbool.h>
#include <stddef.h>

/* Does this processor let a process do so? */
bool ry_cache_can_flush(void);

/* Takes the lines of so many bytes out of every cache of the machine; their content stays. */
void ry_cache_flush(const void *memory, size_t bytes);

#endif
