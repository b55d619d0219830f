/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as lines of wisdom: a line is refused with a message, or it is a record whose own line
 * reads back as the same record, and which a wisdom takes and gives back. */
#include "wisdom/wisdom_lines.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool any(void *user, const ry_wisdom_record *record)
{
    (void)user;
    (void)record;
    return true;
}

static void keep(const ry_wisdom_row *row, ry_arena *arena)
{
    ry_wisdom *wisdom;
    ry_wisdom_record found;
    size_t taken;
    if (ry_wisdom_open(NULL, false, &ry_system_allocator, &wisdom, NULL) != RYND_OK ||
        ry_wisdom_merge(wisdom, row, 1, &taken, NULL) != RYND_OK || taken != 1) {
        abort();
    }
    const bool best = ry_wisdom_best(wisdom, &row->key, any, NULL, arena, &found);
    if (best != !row->record.rejected ||
        (best && (found.median != row->record.median || found.source != row->record.source ||
                  strcmp(found.kernel, row->record.kernel) != 0))) {
        abort();
    }
    ry_wisdom_close(wisdom);
}

static void round_trip(const ry_wisdom_row *row, ry_arena *arena)
{
    ry_text first = {.arena = arena}, second = {.arena = arena};
    ry_wisdom_row again;
    ry_wisdom_print_line(&row->key, &row->record, &first);
    if (first.failed ||
        ry_wisdom_parse_line(first.at, first.used, arena, &again, NULL) != RYND_OK) {
        abort();
    }
    ry_wisdom_print_line(&again.key, &again.record, &second);
    if (second.failed || strcmp(first.at, second.at) != 0 ||
        ry_wisdom_prefers(&row->record, &again.record) ||
        ry_wisdom_prefers(&again.record, &row->record)) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data, *end = at + size;
    ry_arena arena;
    ry_arena_init(&arena, &ry_system_allocator);
    while (at < end) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        next = next ? next : end;
        ry_wisdom_row row;
        ry_error error = {.text = ""};
        if (ry_wisdom_parse_line(at, (size_t)(next - at), &arena, &row, &error) == RYND_OK) {
            round_trip(&row, &arena);
            keep(&row, &arena);
        } else if (!error.text[0]) {
            abort();
        }
        at = next + 1;
    }
    ry_arena_free(&arena);
    return 0;
}
