/* SPDX-License-Identifier: Apache-2.0 */
/* Text that grows. */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void ry_text_add(ry_text *text, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    size_t wanted = text->used + (size_t)(length < 0 ? 0 : length) + 1;
    if (!text->failed && wanted > text->capacity) {
        size_t capacity = wanted * 2;
        char *grown = RY_TAKE(text->arena, char, capacity);
        text->failed = grown == NULL;
        if (grown && text->used) {
            memcpy(grown, text->at, text->used);
        }
        text->at = grown ? grown : text->at;
        text->capacity = grown ? capacity : text->capacity;
    }
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
