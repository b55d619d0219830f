/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of text with names in them that may hold anything: of files, of a model's nodes and
 * values, of labels. */
#ifndef CLI_LINE_H
#define CLI_LINE_H

#include <stdarg.h>
#include <stdio.h>

/* Prints one line and its end. Control characters and the like are escaped (rynd_text_escape),
 * so that what is printed is one line indeed. */
void cli_line(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same as text, escaped; free() it. NULL: out of memory. */
char *cli_line_text(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

#endif
