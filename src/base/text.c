/* SPDX-License-Identifier: Apache-2.0 */
/* Text that grows. */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Makes room for so many bytes more, and a NUL. */
static void make_room(ry_text *text, size_t more)
{
    const size_t wanted = text->used + more + 1;
    if (!text->failed && wanted > text->capacity) {
        const size_t capacity = wanted * 2;
        char *grown = RY_TAKE(text->arena, char, capacity);
        text->failed = grown == NULL;
        if (grown && text->used) {
            memcpy(grown, text->at, text->used);
        }
        text->at = grown ? grown : text->at;
        text->capacity = grown ? capacity : text->capacity;
    }
}

void ry_text_bytes(ry_text *text, const void *bytes, size_t size)
{
    make_room(text, size);
    if (!text->failed && size) {
        memcpy(text->at + text->used, bytes, size);
        text->used += size;
        text->at[text->used] = '\0';
    }
}

void ry_text_add(ry_text *text, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    make_room(text, (size_t)(length < 0 ? 0 : length));
    text->failed = text->failed || length < 0;
    if (!text->failed) {
        vsnprintf(text->at + text->used, (size_t)length + 1, format, again);
        text->used += (size_t)length;
    }
    va_end(again);
}

void ry_text_numbers(ry_text *text, int count, const int64_t *numbers)
{
    for (int i = 0; i < count; i++) {
        ry_text_add(text, "%s%lld", i ? "," : "", (long long)numbers[i]);
    }
}

void ry_text_quoted(ry_text *text, const char *string)
{
    ry_text_add(text, "'");
    for (; *string; string++) {
        ry_text_add(text, "%s%c", *string == '\'' || *string == '\\' ? "\\" : "", *string);
    }
    ry_text_add(text, "'");
}
