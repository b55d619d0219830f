/* SPDX-License-Identifier: Apache-2.0 */
/* Reads names of classes. */
#include "class_labels.h"

#include "input_file.h"

#include <rynd/tasks.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Length of "7," or "7: " before a name; 0: the line does not begin with the number `index`. */
static size_t number_length(const char *line, size_t index)
{
    char *end;
    const unsigned long long number = strtoull(line, &end, 10);
    const size_t mark = strspn(end, ",:; \t");
    return *line >= '0' && *line <= '9' && number == index && mark ? (size_t)(end - line) + mark
                                                                   : 0;
}

/* Length of "n01440764 ", ImageNet's code of a class; 0: none. */
static size_t code_length(const char *line, size_t index)
{
    enum { DIGITS = 8 };
    const size_t mark = strspn(line + (*line != 0), "0123456789") == DIGITS
                            ? strspn(line + DIGITS + 1, ",: \t")
                            : 0;
    (void)index;
    return *line == 'n' && mark && line[DIGITS + 1 + mark] ? DIGITS + 1 + mark : 0;
}

/* Removes what stands before each name, if it stands before all. */
static void strip(cli_labels *labels, size_t (*length)(const char *line, size_t index))
{
    for (size_t i = 0; i < labels->count; i++) {
        if (*labels->lines[i] && length(labels->lines[i], i) == 0) {
            return;
        }
    }
    for (size_t i = 0; i < labels->count; i++) {
        labels->lines[i] += *labels->lines[i] ? length(labels->lines[i], i) : 0;
    }
}

bool cli_labels_open(cli_labels *labels, const char *name, cli_failure *failure)
{
    const size_t most = 64u << 20; /* millions of labels */
    *labels = (cli_labels){0};
    if (access(name, F_OK) != 0 &&
        rynd_labels_get(name, &labels->items, &labels->count) == RYND_OK) {
        return true;
    }
    labels->text = cli_input_text(name, most, failure);
    if (!labels->text) {
        return false;
    }
    size_t lines = 1;
    for (const char *c = labels->text; *c; c++) {
        lines += *c == '\n';
    }
    labels->lines = calloc(lines, sizeof *labels->lines);
    if (!labels->lines) {
        return cli_fail_memory(failure);
    }
    for (char *line = labels->text; *line;) {
        size_t length = strcspn(line, "\n");
        bool last = !line[length];
        line[length] = 0;
        if (length > 0 && line[length - 1] == '\r') {
            line[length - 1] = 0;
        }
        labels->lines[labels->count++] = line;
        line += length + !last;
    }
    strip(labels, number_length);
    strip(labels, code_length);
    labels->items = labels->lines;
    return true;
}

bool cli_labels_of_model(cli_labels *labels, const rynd_model *model, cli_failure *failure)
{
    *labels = (cli_labels){0};
    const bool done = cli_facts_names(model, &labels->names, failure);
    labels->items = (const char *const *)labels->names.items;
    labels->count = labels->names.count;
    return done;
}

void cli_labels_free(cli_labels *labels)
{
    cli_class_names_free(&labels->names);
    free(labels->text);
    free(labels->lines);
    *labels = (cli_labels){0};
}

const char *cli_label_of(const cli_labels *labels, int64_t index)
{
    return index >= 0 && (uint64_t)index < labels->count ? labels->items[index] : NULL;
}
