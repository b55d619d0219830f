/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory this process can still fill. Linux promises more, and kills a process that fills
 * what was promised. */
#ifndef RY_BASE_MACHINE_MEMORY_H
#define RY_BASE_MACHINE_MEMORY_H

#include <stddef.h>

/* Free memory and swap of the machine, or the limit of the process's control group if that is less,
 * in bytes; SIZE_MAX if the system does not say. Reads files: not for small blocks. */
size_t ry_machine_memory(void);

/* The same from the text of /proc/meminfo and of a control group's memory.max ("" if there is
 * none). */
size_t ry_memory_of(const char *meminfo, const char *limit);

#endif
