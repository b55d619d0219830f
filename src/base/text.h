/* SPDX-License-Identifier: Apache-2.0 */
/* Text that grows: problems as words, programs of devices. */
#ifndef RY_BASE_TEXT_H
#define RY_BASE_TEXT_H

#include "base/memory.h"

/* In an arena; `failed` when memory is out. `at` is NULL until something is added. */
typedef struct ry_text {
    ry_arena *arena;
    char *at;
    size_t used, capacity;
    bool failed;
} ry_text;

void ry_text_add(ry_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ry_text_numbers(ry_text *text, int count, const int64_t *numbers); /* "1,2,3" */
/* These bytes as they are, zeros too. */
void ry_text_bytes(ry_text *text, const void *bytes, size_t size);
void ry_text_quoted(ry_text *text, const char *string); /* 'it\'s' */

#endif
