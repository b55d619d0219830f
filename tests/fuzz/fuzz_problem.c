/* SPDX-License-Identifier: Apache-2.0 */
/* Any text: it is refused with a message, or it is a problem whose canonical text parses back to
 * itself, and whose shapes are checked by inference. */
#include "graph/infer.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void round_trip(const ry_problem *problem, ry_arena *arena)
{
    ry_problem again;
    ry_error error = {.text = ""};
    const char *text = ry_problem_print(problem, arena);
    if (!text || ry_problem_parse(text, arena, &again, &error) != RYND_OK) {
        abort();
    }
    const char *same = ry_problem_print(&again, arena);
    if (!same || strcmp(text, same) != 0 || ry_problem_hash(problem) != ry_problem_hash(&again)) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ry_arena arena;
    ry_arena_init(&arena, &ry_system_allocator);
    char *text = ry_arena_string(&arena, (const char *)data, size);
    ry_problem problem;
    ry_error error = {.text = ""};
    if (ry_problem_parse(text, &arena, &problem, &error) == RYND_OK) {
        round_trip(&problem, &arena);
        (void)ry_problem_flop(&problem);
        (void)ry_problem_bytes(&problem);
        (void)ry_problem_check(&problem, &ry_system_allocator, &error);
    } else if (!error.text[0]) {
        abort();
    }
    ry_arena_free(&arena);
    return 0;
}
