/* SPDX-License-Identifier: Apache-2.0 */
/* Included before loops in plain C that are counted (memory.c): their copies count, too. */
#ifndef COUNTED_MEMORY_H
#define COUNTED_MEMORY_H

#include <stddef.h>
#include <string.h>

void *counted_copy(void *to, const void *from, size_t bytes);
void *counted_fill(void *to, int value, size_t bytes);

#endif
