/* SPDX-License-Identifier: Apache-2.0 */
/* Collects cells and prints them in aligned columns that fit a page. */
#include "table.h"

#include "line.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 100, GAP = 2, NARROWEST = 10 };

static bool wide;

void cli_table_set_wide(bool all)
{
    wide = all;
}

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

/* UTF-8 continuation bytes take no column of a terminal. */
static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text; text++) {
        width += !is_continuation(*text);
    }
    return width;
}

/* Returns the text from its `columns`-th column on. */
static const char *skip(const char *text, size_t columns)
{
    for (; *text && columns > 0; text++) {
        columns -= !is_continuation(text[1]);
    }
    return text;
}

/* Prints a cell without its middle, if it is too long: names differ at their ends. */
static void print_cell(const char *cell, size_t width, FILE *file)
{
    static const char dots[] = "...";
    const size_t have = width_of(cell);
    if (have <= width) {
        fputs(cell, file);
        return;
    }
    const size_t kept = width - (sizeof dots - 1), first = kept / 2;
    fprintf(file, "%.*s%s%s", (int)(skip(cell, first) - cell), cell, dots,
            skip(cell, have - (kept - first)));
}

static void print_row(const cli_table *table, size_t first, const size_t *widths, FILE *file)
{
    size_t owed = 0; /* spaces that are printed only when something follows */
    for (size_t c = 0; c < table->columns; c++) {
        const char *cell = table->cells[first + c];
        const size_t have = width_of(cell), gap = widths[c] > have ? widths[c] - have : 0;
        const bool right = tolower((unsigned char)table->align[c]) == 'r';
        if (widths[c] == 0) {
            continue;
        }
        if (*cell) {
            fprintf(file, "%*s", (int)(owed + (right ? gap : 0)), "");
            print_cell(cell, widths[c], file);
            owed = right ? 0 : gap;
        } else {
            owed += gap;
        }
        owed += GAP;
    }
    fputc('\n', file);
}

static size_t sum_of(const cli_table *table, const size_t *widths)
{
    size_t sum = 0;
    for (size_t c = 0; c < table->columns; c++) {
        sum += widths[c] ? widths[c] + (sum ? GAP : 0) : 0;
    }
    return sum;
}

/* Leaves out optional columns, the last ones first; returns whether it did. */
static bool drop_columns(const cli_table *table, size_t *widths)
{
    bool dropped = false;
    for (size_t c = table->columns; c-- > 0 && sum_of(table, widths) > PAGE;) {
        if (isupper((unsigned char)table->align[c])) {
            widths[c] = 0;
            dropped = true;
        }
    }
    return dropped;
}

/* The first column has the names: it is narrowed when others have two thirds of its width. */
static size_t weight_of(const size_t *widths, size_t column)
{
    return column == 0 ? 2 * widths[0] / 3 : widths[column];
}

/* Narrows the widest columns of text; returns whether it did. */
static bool narrow_columns(const cli_table *table, size_t *widths)
{
    bool narrowed = false;
    while (sum_of(table, widths) > PAGE) {
        size_t widest = table->columns;
        for (size_t c = 0; c < table->columns; c++) {
            const bool text = tolower((unsigned char)table->align[c]) == 'l';
            if (text && widths[c] > NARROWEST &&
                (widest == table->columns || weight_of(widths, c) > weight_of(widths, widest))) {
                widest = c;
            }
        }
        if (widest == table->columns) {
            break;
        }
        widths[widest]--;
        narrowed = true;
    }
    return narrowed;
}

static void print_left_out(const cli_table *table, const size_t *widths, FILE *file)
{
    const char *before = "(--wide also shows ";
    for (size_t c = 0; c < table->columns; c++) {
        if (widths[c] == 0 && *table->cells[c]) {
            fprintf(file, "%s%s", before, table->cells[c]);
            before = ", ";
        }
    }
    fputs(*before == '(' ? "(--wide shows whole names)\n" : ")\n", file);
}

bool cli_table_print(cli_table *table, FILE *file)
{
    size_t *widths = calloc(table->columns + 1, sizeof *widths);
    bool done = widths && !table->failed;
    for (size_t i = 0; done && i < table->count; i++) {
        size_t width = width_of(table->cells[i]);
        size_t *widest = &widths[i % table->columns];
        *widest = width > *widest ? width : *widest;
    }
    const bool dropped = done && !wide && drop_columns(table, widths),
               narrowed = done && !wide && narrow_columns(table, widths);
    for (size_t i = 0; done && file && i + table->columns <= table->count; i += table->columns) {
        print_row(table, i, widths, file);
    }
    if (file && (dropped || narrowed)) {
        print_left_out(table, widths, file);
    }
    for (size_t i = 0; i < table->count; i++) {
        free(table->cells[i]);
    }
    free(table->cells);
    free(widths);
    *table = (cli_table){0};
    return done;
}
