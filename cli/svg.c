/* SPDX-License-Identifier: Apache-2.0 */
/* Appends to a text that grows. */
#include "svg.h"

#include <rynd/text.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_bytes(cli_svg *svg, const char *bytes, size_t length)
{
    if (!svg->failed && svg->used + length + 1 > svg->room) {
        const size_t room = 2 * (svg->used + length + 1);
        char *text = realloc(svg->text, room);
        svg->failed = !text;
        svg->text = text ? text : svg->text;
        svg->room = text ? room : svg->room;
    }
    if (!svg->failed) {
        memcpy(svg->text + svg->used, bytes, length);
        svg->used += length;
        svg->text[svg->used] = 0;
    }
}

static void put(cli_svg *svg, const char *text)
{
    put_bytes(svg, text, strlen(text));
}

__attribute__((format(printf, 2, 0))) static void put_list(cli_svg *svg, const char *format,
                                                           va_list args)
{
    char text[512];
    const int length = vsnprintf(text, sizeof text, format, args);
    svg->failed = svg->failed || length < 0 || (size_t)length >= sizeof text;
    put(svg, svg->failed ? "" : text);
}

/* What XML does not have (control characters, broken UTF-8) is escaped as in lines of text; then
 * what means something in XML. */
static void put_escaped(cli_svg *svg, const char *raw)
{
    const size_t room = rynd_text_escape(raw, RYND_ESCAPE_LINE, NULL, 0) + 1;
    char *text = malloc(room);
    if (!text) {
        svg->failed = true;
        return;
    }
    rynd_text_escape(raw, RYND_ESCAPE_LINE, text, room);
    for (const char *at = text; *at; at++) {
        switch (*at) {
        case '&': put(svg, "&amp;"); break;
        case '<': put(svg, "&lt;"); break;
        case '>': put(svg, "&gt;"); break;
        case '"': put(svg, "&quot;"); break;
        default: put_bytes(svg, at, 1);
        }
    }
    free(text);
}

void cli_svg_begin(cli_svg *svg, double width, double height, const char *title, const char *style)
{
    char size[160];
    *svg = (cli_svg){0};
    snprintf(size, sizeof size, "width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\"", width,
             height, width, height);
    put(svg, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
             "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" ");
    put(svg, size);
    put(svg, ">\n<title>");
    put_escaped(svg, title);
    put(svg, "</title>\n<style>\n");
    put(svg, style);
    put(svg, "</style>\n");
}

void cli_svg_element(cli_svg *svg, const char *name, const char *attributes, ...)
{
    va_list args;
    va_start(args, attributes);
    put(svg, "<");
    put(svg, name);
    put(svg, " ");
    put_list(svg, attributes, args);
    put(svg, "/>\n");
    va_end(args);
}

void cli_svg_open(cli_svg *svg, const char *name, const char *attributes, ...)
{
    va_list args;
    va_start(args, attributes);
    put(svg, "<");
    put(svg, name);
    put(svg, " ");
    put_list(svg, attributes, args);
    put(svg, ">\n");
    va_end(args);
}

void cli_svg_close(cli_svg *svg, const char *name)
{
    put(svg, "</");
    put(svg, name);
    put(svg, ">\n");
}

void cli_svg_noted(cli_svg *svg, const char *note, const char *name, const char *attributes, ...)
{
    va_list args;
    va_start(args, attributes);
    put(svg, "<");
    put(svg, name);
    put(svg, " ");
    put_list(svg, attributes, args);
    if (note) {
        put(svg, "><title>");
        put_escaped(svg, note);
        put(svg, "</title></");
        put(svg, name);
        put(svg, ">\n");
    } else {
        put(svg, "/>\n");
    }
    va_end(args);
}

void cli_svg_text(cli_svg *svg, double x, double y, const char *attributes, const char *text)
{
    char place[96];
    snprintf(place, sizeof place, "<text x=\"%.1f\" y=\"%.1f\" ", x, y);
    put(svg, place);
    put(svg, attributes);
    put(svg, ">");
    put_escaped(svg, text);
    put(svg, "</text>\n");
}

void cli_svg_path(cli_svg *svg, const double *xy, size_t points, bool closed,
                  const char *attributes)
{
    put(svg, "<path d=\"");
    for (size_t i = 0; i < points; i++) {
        char step[64];
        snprintf(step, sizeof step, "%s%.1f %.1f", i ? "L" : "M", xy[2 * i], xy[2 * i + 1]);
        put(svg, step);
    }
    put(svg, closed ? "Z\" " : "\" ");
    put(svg, attributes);
    put(svg, "/>\n");
}

char *cli_svg_end(cli_svg *svg, size_t *size)
{
    put(svg, "</svg>\n");
    char *text = svg->text;
    if (svg->failed) {
        free(text);
        text = NULL;
    }
    *size = text ? svg->used : 0;
    *svg = (cli_svg){0};
    return text;
}
