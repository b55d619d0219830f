/* SPDX-License-Identifier: Apache-2.0 */
/* Text tables: cells are collected row by row, then printed in aligned columns. A table wider than
 * 100 columns loses its optional columns, and then the middle of long texts. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct cli_table {
    char **cells;
    size_t count, columns;
    const char
        *align;  /* one letter a column: 'l' left, 'r' right, 'w' left and never cut; 'L', 'R':
                        * optional */
    bool failed; /* out of memory: the table is not printed, and cli_table_print says so */
} cli_table;

/* Shall tables print everything, however wide? Set once, before the command runs. */
void cli_table_set_wide(bool all);

/* `head` holds the columns' names, `align` one letter for each. */
void cli_table_begin(cli_table *table, const char *align, const char *const *head);
/* A cell; what cannot be shown is escaped, as in cli_line. */
void cli_table_add(cli_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints and frees; file NULL: frees only. False when memory ran out. */
bool cli_table_print(cli_table *table, FILE *file);

#endif
