/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the head of a model, by the names and shapes of its outputs. */
#include "tasks/head.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t ry_head_field_count(const char *fields, int64_t classes)
{
    int64_t count = 0;
    while (*fields) {
        char *end;
        const bool rest = fields[1] == '*';
        count += rest ? classes : strtol(fields + 1, &end, 10);
        fields = rest ? fields + 2 : end;
        fields += *fields == ' ';
    }
    return count;
}

int64_t ry_head_classes(const ry_head_match *match)
{
    const ry_head *head = match->head;
    const bool background = head->background != RY_HEAD_NONE;
    int64_t count = match->classes;
    for (int p = 0; p < RY_HEAD_PARTS && head->parts[p].fields; p++) {
        const char *c = strchr(head->parts[p].fields, 'c');
        count = c && c[1] != '*' ? strtol(c + 1, NULL, 10) : count;
    }
    return count > background ? count - background : 0;
}

int64_t ry_head_cells(const ry_head_level *level, int64_t side)
{
    return (side + level->stride - 1) / level->stride;
}

int ry_head_level_count(const ry_head *head)
{
    int count = 0;
    while (count < RY_HEAD_LEVELS && head->levels[count].stride > 0) {
        count++;
    }
    return count;
}

/* Compares one alternative; '%' is the stride, '*' the rest. */
static bool is_name(const char *pattern, size_t length, int stride, const char *name)
{
    char wanted[128];
    size_t used = 0;
    for (size_t i = 0; i < length && used + 16 < sizeof wanted; i++) {
        if (pattern[i] == '*') {
            return strncmp(name, wanted, used) == 0;
        }
        used += pattern[i] == '%' ? (size_t)snprintf(wanted + used, 16, "%d", stride) : 1;
        if (pattern[i] != '%') {
            wanted[used - 1] = pattern[i];
        }
    }
    return strlen(name) == used && memcmp(name, wanted, used) == 0;
}

static bool has_name(const char *names, int stride, const char *name)
{
    for (; names && *names; names += strcspn(names, "|"), names += *names == '|') {
        if (is_name(names, strcspn(names, "|"), stride, name)) {
            return true;
        }
    }
    return !names;
}

/* What the shapes say so far; -1: nothing yet. */
typedef struct known {
    int64_t candidates, classes;
} known;

static bool agree(int64_t *have, int64_t dim)
{
    *have = *have < 0 ? dim : *have;
    return dim < 0 || dim == *have;
}

/* Solves the width '*' by the number of fields; several widths '*' do not occur in one text. */
static bool agree_fields(const char *fields, int64_t dim, int64_t each, int64_t *classes)
{
    const int64_t fixed = ry_head_field_count(fields, 0);
    if (dim < 0) {
        return true;
    }
    if (dim % each != 0) {
        return false;
    }
    return strchr(fields, '*') ? dim / each > fixed && agree(classes, dim / each - fixed)
                               : dim / each == fixed;
}

static int64_t cells_or_open(const ry_head_level *level, int64_t side)
{
    return side < 0 || level->stride == 0 ? -1 : ry_head_cells(level, side);
}

/* Candidates of a level, or of all; -1: unknown. */
static int64_t candidates_of(const ry_head *head, const ry_head_outputs *outputs, int level)
{
    const int first = level < 0 ? 0 : level,
              last = level < 0 ? ry_head_level_count(head) : level + 1;
    int64_t sum = 0;
    if (outputs->height < 0 || outputs->width < 0 || last == 0) {
        return -1;
    }
    for (int l = first; l < last; l++) {
        sum += ry_head_cells(&head->levels[l], outputs->height) *
               ry_head_cells(&head->levels[l], outputs->width) * head->levels[l].each;
    }
    return sum;
}

static bool fits_shape(const ry_head *head, const ry_head_outputs *outputs, int part, int level,
                       const ry_tensor *tensor, known *found)
{
    const char *layout = head->parts[part].layout, *fields = head->parts[part].fields;
    const ry_head_level *at = &head->levels[level];
    if (tensor->rank < 0) {
        return true;
    }
    if (strlen(layout) != (size_t)tensor->rank) {
        return false;
    }
    known now = *found;
    for (int d = 0; layout[d]; d++) {
        const int64_t dim = tensor->dim[d];
        int64_t want = -1;
        switch (layout[d]) {
        case 'a': want = -2; break;
        case 'c': want = agree_fields(fields, dim, 1, &now.classes) ? -1 : -3; break;
        case 'C': want = agree_fields(fields, dim, at->each, &now.classes) ? -1 : -3; break;
        case 'h': want = head->split ? cells_or_open(at, outputs->height) : -1; break;
        case 'w': want = head->split ? cells_or_open(at, outputs->width) : -1; break;
        case 'k': want = at->each; break;
        case 'x': want = 1; break;
        }
        if (want == -3 || (want == -2 && !agree(&now.candidates, dim)) ||
            (want >= 0 && dim >= 0 && dim != want)) {
            return false;
        }
    }
    *found = now;
    return true;
}

bool ry_head_fits(const ry_head *head, const ry_head_outputs *outputs, ry_head_match *match)
{
    const int levels = head->split ? ry_head_level_count(head) : 1;
    known found = {-1, -1};
    size_t used = 0;
    bool taken[RY_HEAD_PARTS * RY_HEAD_LEVELS + 1] = {false};
    *match = (ry_head_match){.head = head};
    for (int l = 0; l < levels; l++) {
        found.candidates = head->candidates ? head->candidates
                                            : candidates_of(head, outputs, head->split ? l : -1);
        for (int p = 0; p < RY_HEAD_PARTS && head->parts[p].layout; p++) {
            size_t o = 0;
            const size_t most = sizeof taken / sizeof *taken;
            while (o < outputs->count && o < most &&
                   (taken[o] ||
                    !has_name(head->parts[p].names, head->levels[l].stride, outputs->names[o]) ||
                    !fits_shape(head, outputs, p, l, &outputs->tensors[o], &found))) {
                o++;
            }
            if (o == outputs->count || o == most) {
                return false;
            }
            taken[o] = true;
            match->output[p][l] = o;
            used++;
        }
    }
    match->classes = found.classes;
    return head->rest || used == outputs->count;
}

/* "output f32 [1, 3549, 85], ..." */
static void list_outputs(const ry_head_outputs *outputs, char *text, size_t size)
{
    size_t used = 0;
    text[0] = 0;
    for (size_t i = 0; i < outputs->count && used + 64 < size; i++) {
        const ry_tensor *tensor = &outputs->tensors[i];
        used += (size_t)snprintf(text + used, size - used, "%s%.100s", i ? ", " : "",
                                 outputs->names[i]);
        for (int d = 0; d < tensor->rank && used + 32 < size; d++) {
            used += (size_t)snprintf(text + used, size - used, "%s", d ? ", " : " [");
            used += (size_t)(tensor->dim[d] < 0
                                 ? snprintf(text + used, size - used, "?")
                                 : snprintf(text + used, size - used, "%" PRId64, tensor->dim[d]));
        }
        if (tensor->rank >= 0 && used + 8 < size) {
            used += (size_t)snprintf(text + used, size - used, "%s", tensor->rank ? "]" : " []");
        }
    }
}

static const ry_head *find_name(const char *name)
{
    for (size_t i = 0; i < ry_head_count; i++) {
        if (strcmp(ry_heads[i].name, name) == 0) {
            return &ry_heads[i];
        }
    }
    return NULL;
}

static rynd_status fail_unknown(const char *name, ry_error *error)
{
    char list[1024];
    size_t used = 0;
    for (size_t i = 0; i < ry_head_count && used + 32 < sizeof list; i++) {
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "",
                                 ry_heads[i].name);
    }
    return ry_fail(error, RYND_ERROR_ARGUMENT, "no head is called '%s'; there are %s", name, list);
}

rynd_status ry_head_find(const char *name, const ry_head_outputs *outputs, ry_head_match *match,
                         ry_error *error)
{
    char list[1024];
    const ry_head *named = name ? find_name(name) : NULL;
    if (name && !named) {
        return fail_unknown(name, error);
    }
    if (named && ry_head_fits(named, outputs, match)) {
        return RYND_OK;
    }
    for (size_t i = 0; !named && i < ry_head_count; i++) {
        if (!ry_heads[i].by_name && ry_head_fits(&ry_heads[i], outputs, match)) {
            return RYND_OK;
        }
    }
    list_outputs(outputs, list, sizeof list);
    return named ? ry_fail(error, RYND_ERROR_UNSUPPORTED,
                           "the outputs are not those of head '%s', %s; for an input of %" PRId64
                           "x%" PRId64 " they are %s",
                           named->name, named->about, outputs->height, outputs->width, list)
                 : ry_fail(error, RYND_ERROR_UNSUPPORTED,
                           "the outputs fit none of the known detection heads; for an input of "
                           "%" PRId64 "x%" PRId64 " (height x width; -1: open) they are %s; "
                           "docs/tasks.md lists the heads",
                           outputs->height, outputs->width, list);
}
