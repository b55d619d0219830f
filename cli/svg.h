/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures as SVG 1.1, written element by element into memory. Texts may hold anything: what XML
 * forbids is escaped. */
#ifndef CLI_SVG_H
#define CLI_SVG_H

#include <stdbool.h>
#include <stddef.h>

typedef struct cli_svg {
    char *text;
    size_t used, room;
    bool failed; /* out of memory: cli_svg_end says so */
} cli_svg;

/* style: CSS; title: what a reader is told that the picture shows. */
void cli_svg_begin(cli_svg *svg, double width, double height, const char *title, const char *style);

/* An element without content. Attributes are the caller's own words and numbers. */
void cli_svg_element(cli_svg *svg, const char *name, const char *attributes, ...)
    __attribute__((format(printf, 3, 4)));
/* Opens an element with content, and closes it. */
void cli_svg_open(cli_svg *svg, const char *name, const char *attributes, ...)
    __attribute__((format(printf, 3, 4)));
void cli_svg_close(cli_svg *svg, const char *name);
/* An element without content, with a note that a browser shows where the pointer rests; NULL: none. */
void cli_svg_noted(cli_svg *svg, const char *note, const char *name, const char *attributes, ...)
    __attribute__((format(printf, 4, 5)));
/* Text at a place; attributes as above. */
void cli_svg_text(cli_svg *svg, double x, double y, const char *attributes, const char *text);

/* A line through points: of x and y in turn. */
void cli_svg_path(cli_svg *svg, const double *xy, size_t points, bool closed,
                  const char *attributes);

/* The document; free() it. NULL: out of memory. */
char *cli_svg_end(cli_svg *svg, size_t *size);

#endif
