/* SPDX-License-Identifier: Apache-2.0 */
/* Collects cells and prints them in aligned columns. */
#include "table.h"

#include "line.h"

#include <stdlib.h>
#include <string.h>

static void add(cli_table *table, char *cell)
{
    char **cells = cell ? realloc(table->cells, (table->count + 1) * sizeof *cells) : NULL;
    if (!cells) {
        free(cell);
        table->failed = true;
        return;
    }
    table->cells = cells;
    table->cells[table->count++] = cell;
}

void cli_table_begin(cli_table *table, const char *align, const char *const *head)
{
    *table = (cli_table){.columns = strlen(align), .align = align};
    for (size_t i = 0; i < table->columns; i++) {
        add(table, strdup(head[i]));
    }
}

void cli_table_add(cli_table *table, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(table, cli_line_text(format, args));
    va_end(args);
}

/* Columns of a terminal: UTF-8 continuation bytes take none. */
static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text; text++) {
        width += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return width;
}

static void print_row(const cli_table *table, size_t first, const size_t *widths, FILE *file)
{
    size_t owed = 0; /* spaces that are printed only when something follows */
    for (size_t c = 0; c < table->columns; c++) {
        const char *cell = table->cells[first + c];
        size_t gap = widths[c] - width_of(cell);
        bool right = table->align[c] == 'r';
        if (*cell) {
            fprintf(file, "%*s%s", (int)(owed + (right ? gap : 0)), "", cell);
            owed = right ? 0 : gap;
        } else {
            owed += gap;
        }
        owed += 2;
    }
    fputc('\n', file);
}

bool cli_table_print(cli_table *table, FILE *file)
{
    size_t *widths = calloc(table->columns, sizeof *widths);
    bool done = widths && !table->failed;
    for (size_t i = 0; done && i < table->count; i++) {
        size_t width = width_of(table->cells[i]);
        size_t *widest = &widths[i % table->columns];
        *widest = width > *widest ? width : *widest;
    }
    for (size_t i = 0; done && file && i + table->columns <= table->count; i += table->columns) {
        print_row(table, i, widths, file);
    }
    for (size_t i = 0; i < table->count; i++) {
        free(table->cells[i]);
    }
    free(table->cells);
    free(widths);
    *table = (cli_table){0};
    return done;
}
