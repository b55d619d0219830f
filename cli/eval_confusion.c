/* SPDX-License-Identifier: Apache-2.0 */
/* The confusion matrix of classes: as a table, as a list of mistakes, and as SVG. */
#include "eval_run.h"
#include "output_file.h"
#include "plot_style.h"
#include "svg.h"
#include "table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 100, NAME = 24, MOST_COLUMNS = 32, MISTAKES = 20 };

/* The classes that occur, and the counts of the whole matrix. */
typedef struct matrix {
    const cli_eval_model *model;
    const int64_t *counts;
    int64_t classes, *used, *rows; /* labels of occurring classes; true examples of each label */
    size_t count;
} matrix;

static void free_matrix(matrix *m)
{
    free(m->used);
    free(m->rows);
}

static bool take_matrix(const cli_eval_model *model, matrix *m, cli_failure *failure)
{
    *m = (matrix){.model = model};
    if (rynd_evaluation_get_confusion(model->evaluation, &m->counts, &m->classes) != RYND_OK) {
        return cli_fail_library(failure);
    }
    m->used = calloc((size_t)m->classes, sizeof *m->used);
    m->rows = calloc((size_t)m->classes, sizeof *m->rows);
    if (!m->used || !m->rows) {
        return cli_fail_memory(failure);
    }
    for (int64_t i = 0; i < m->classes; i++) {
        int64_t found = 0;
        for (int64_t k = 0; k < m->classes; k++) {
            m->rows[i] += m->counts[i * m->classes + k];
            found += m->counts[k * m->classes + i];
        }
        if (m->rows[i] > 0 || found > 0) {
            m->used[m->count++] = i;
        }
    }
    return true;
}

static int64_t count_at(const matrix *m, size_t row, size_t column)
{
    return m->counts[m->used[row] * m->classes + m->used[column]];
}

static int digits(int64_t number)
{
    char text[24];
    return snprintf(text, sizeof text, "%" PRId64, number);
}

/* Columns of the text that the table takes: names, labels, and a cell for each class. */
static size_t width_of(const matrix *m)
{
    size_t name = 4, width = 0;
    for (size_t i = 0; i < m->count; i++) {
        char number[24];
        const size_t length = strlen(cli_eval_class_name(m->model, m->used[i], number));
        int cell = digits(m->used[i]);
        name = length > name ? length : name;
        for (size_t k = 0; k < m->count; k++) {
            const int more = digits(count_at(m, k, i));
            cell = more > cell ? more : cell;
        }
        width += 2 + (size_t)cell;
    }
    return (name > NAME ? NAME : name) + 2 + 5 + width;
}

/* Rows are true classes, columns found ones. */
static bool print_table(const matrix *m, cli_failure *failure)
{
    char align[MOST_COLUMNS + 3] = "lr", labels[MOST_COLUMNS][24];
    const char *head[MOST_COLUMNS + 2] = {"true", "index"};
    for (size_t i = 0; i < m->count; i++) {
        snprintf(labels[i], sizeof labels[i], "%" PRId64, m->used[i]);
        head[i + 2] = labels[i];
        align[i + 2] = 'r';
    }
    cli_table table;
    printf("\nconfusion: a row per true class, a column per found class\n");
    cli_table_begin(&table, align, head);
    for (size_t i = 0; i < m->count; i++) {
        char number[24];
        cli_table_add(&table, "%.*s", NAME, cli_eval_class_name(m->model, m->used[i], number));
        cli_table_add(&table, "%" PRId64, m->used[i]);
        for (size_t k = 0; k < m->count; k++) {
            cli_table_add(&table, "%" PRId64, count_at(m, i, k));
        }
    }
    return cli_table_print(&table, stdout) || cli_fail_memory(failure);
}

typedef struct mistake {
    int64_t label, found, count;
} mistake;

/* Keeps the largest mistakes in order. */
static size_t find_mistakes(const matrix *m, mistake worst[MISTAKES])
{
    size_t count = 0;
    for (size_t i = 0; i < m->count; i++) {
        for (size_t k = 0; k < m->count; k++) {
            const mistake one = {m->used[i], m->used[k], count_at(m, i, k)};
            size_t at = count;
            while (at > 0 && worst[at - 1].count < one.count) {
                at--;
            }
            if (i == k || one.count == 0 || at == MISTAKES) {
                continue;
            }
            count += count < MISTAKES;
            memmove(worst + at + 1, worst + at, (count - at - 1) * sizeof *worst);
            worst[at] = one;
        }
    }
    return count;
}

static bool print_mistakes(const matrix *m, cli_failure *failure)
{
    static const char *const head[] = {"true", "index", "found", "index", "count", "share"};
    mistake worst[MISTAKES];
    const size_t count = find_mistakes(m, worst);
    cli_table table;
    if (count == 0) {
        return true;
    }
    printf("\nthe most frequent confusions\n");
    cli_table_begin(&table, "lrlrrr", head);
    for (size_t i = 0; i < count; i++) {
        char numbers[2][24];
        cli_table_add(&table, "%.*s", NAME,
                      cli_eval_class_name(m->model, worst[i].label, numbers[0]));
        cli_table_add(&table, "%" PRId64, worst[i].label);
        cli_table_add(&table, "%.*s", NAME,
                      cli_eval_class_name(m->model, worst[i].found, numbers[1]));
        cli_table_add(&table, "%" PRId64, worst[i].found);
        cli_table_add(&table, "%" PRId64, worst[i].count);
        cli_table_add(&table, "%.1f %%",
                      100 * (double)worst[i].count / (double)m->rows[worst[i].label]);
    }
    return cli_table_print(&table, stdout) || cli_fail_memory(failure);
}

bool cli_eval_print_confusion(const cli_eval_model *model, cli_failure *failure)
{
    matrix m;
    const int64_t *counts;
    int64_t classes;
    if (rynd_evaluation_get_confusion(model->evaluation, &counts, &classes) != RYND_OK) {
        return true; /* boxes and pictures have none */
    }
    bool done = take_matrix(model, &m, failure);
    if (done) {
        done = m.count <= MOST_COLUMNS && width_of(&m) <= WIDTH ? print_table(&m, failure)
                                                                : print_mistakes(&m, failure);
    }
    free_matrix(&m);
    return done;
}

/* Where the matrix lies in the picture. */
typedef struct grid {
    double left, top, cell;
    bool names, numbers;
} grid;

static void draw_cell(cli_svg *svg, const matrix *m, const grid *g, size_t row, size_t column)
{
    char note[160], text[24], numbers[2][24];
    const int64_t count = count_at(m, row, column), all = m->rows[m->used[row]];
    const double share = all > 0 ? (double)count / (double)all : 0,
                 x = g->left + (double)column * g->cell, y = g->top + (double)row * g->cell;
    if (count == 0) {
        return;
    }
    snprintf(note, sizeof note, "%.40s found as %.40s: %" PRId64 " (%.1f %%)",
             cli_eval_class_name(m->model, m->used[row], numbers[0]),
             cli_eval_class_name(m->model, m->used[column], numbers[1]), count, 100 * share);
    cli_svg_noted(svg, note, "rect",
                  "class=\"p %s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                  "fill-opacity=\"%.3f\"",
                  row == column ? "k0" : "k1", x, y, g->cell, g->cell, 0.12 + 0.88 * share);
    if (g->numbers) {
        snprintf(text, sizeof text, "%" PRId64, count);
        cli_svg_text(svg, x + g->cell / 2, y + g->cell / 2 + 4,
                     share > 0.45 ? "class=\"w\" text-anchor=\"middle\"" : "text-anchor=\"middle\"",
                     text);
    }
}

static void draw_names(cli_svg *svg, const matrix *m, const grid *g)
{
    for (size_t i = 0; i < m->count; i++) {
        char number[24], name[NAME + 1], turned[96];
        const double middle = ((double)i + 0.5) * g->cell;
        snprintf(name, sizeof name, "%s", cli_eval_class_name(m->model, m->used[i], number));
        cli_svg_text(svg, g->left - 6, g->top + middle + 4, "text-anchor=\"end\"", name);
        snprintf(turned, sizeof turned, "transform=\"rotate(-45 %.1f %.1f)\"", g->left + middle,
                 g->top - 6);
        cli_svg_text(svg, g->left + middle, g->top - 6, turned, name);
    }
}

static void draw_axes(cli_svg *svg, const matrix *m, const grid *g)
{
    const double side = g->cell * (double)m->count;
    cli_svg_text(svg, 14, 24, "class=\"t\"", "Confusion matrix");
    cli_svg_text(svg, 14, 42, "class=\"s\"",
                 "rows: true class; columns: found class; colour: share of the row");
    cli_svg_element(svg, "rect",
                    "class=\"a\" fill=\"none\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                    "height=\"%.1f\"",
                    g->left, g->top, side, side);
}

/* Letters of the longest name that is drawn. */
static double longest_name(const matrix *m)
{
    size_t most = 0;
    for (size_t i = 0; i < m->count; i++) {
        char number[24];
        const size_t length = strlen(cli_eval_class_name(m->model, m->used[i], number));
        most = length > most ? length : most;
    }
    return (double)(most < NAME ? most : NAME);
}

static char *draw(const matrix *m, size_t *size)
{
    enum { NUMBERS = 24, NAMES = 60, SIDE = 900 };
    const size_t count = m->count ? m->count : 1;
    grid g = {.left = 30, .top = 64, .names = count <= NAMES, .numbers = count <= NUMBERS};
    const double letters = g.names ? longest_name(m) : 0;
    g.cell = g.numbers ? 44 : SIDE / (double)count;
    g.left += letters * 7;
    g.top += letters * 5.5;
    cli_svg svg;
    const double side = g.cell * (double)count;
    const double width = g.left + side + letters * 5 + 20;
    cli_svg_begin(&svg, width > 460 ? width : 460, g.top + side + 24, "Confusion matrix",
                  CLI_PLOT_STYLE "text.w{fill:#ffffff}\n");
    cli_svg_element(&svg, "rect", "class=\"b\" width=\"100%%\" height=\"100%%\"");
    for (size_t i = 0; i < m->count; i++) {
        for (size_t k = 0; k < m->count; k++) {
            draw_cell(&svg, m, &g, i, k);
        }
    }
    if (g.names) {
        draw_names(&svg, m, &g);
    }
    draw_axes(&svg, m, &g);
    return cli_svg_end(&svg, size);
}

bool cli_eval_draw_confusion(const cli_eval_model *model, const char *path, cli_failure *failure)
{
    matrix m;
    size_t size = 0;
    char *text = take_matrix(model, &m, failure) ? draw(&m, &size) : NULL;
    const bool taken = m.used && m.rows;
    free_matrix(&m);
    const bool done = text    ? cli_file_write(path, text, size, failure)
                      : taken ? cli_fail_memory(failure)
                              : false;
    free(text);
    return done;
}
