/* SPDX-License-Identifier: Apache-2.0 */
/* Formats, escapes and prints lines. */
#define _GNU_SOURCE /* vasprintf */
#include "line.h"

#include <rynd/text.h>
#include <stdlib.h>

char *cli_line_text(const char *format, va_list args)
{
    char *raw = NULL;
    if (vasprintf(&raw, format, args) < 0) {
        return NULL;
    }
    const size_t room = rynd_text_escape(raw, RYND_ESCAPE_LINE, NULL, 0) + 1;
    char *text = malloc(room);
    if (text) {
        rynd_text_escape(raw, RYND_ESCAPE_LINE, text, room);
    }
    free(raw);
    return text;
}

void cli_line(FILE *file, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = cli_line_text(format, args);
    va_end(args);
    fprintf(file, "%s\n", text ? text : "out of memory");
    free(text);
}
