/* SPDX-License-Identifier: Apache-2.0 */
/* The lines that Winograd's form fetches ahead: together the blocks' lists name every line of x and
 * of y, and none beyond. */
#include "every_kernel.h"
#include "kernels/cpu/winograd/winograd_prefetch.h"
#include "problem/problem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LINE = RY_LINE_BYTES, STRETCHES = 8 };

static void mark(winograd_prefetch *ahead, const char *base, int64_t lines, char *seen)
{
    int64_t left = ahead->lines;
    ahead->at_once = 5;
    while (left > 0) {
        ry_tile_lines list[STRETCHES];
        const int count = ry_winograd_prefetch_next(ahead, list, STRETCHES);
        assert_true(count > 0);
        for (int i = 0; i < count; i++) {
            assert_true(list[i].count > 0 && list[i].count <= 5);
            for (int64_t j = 0; j < list[i].count; j++, left--) {
                const int64_t line = (list[i].at + j * LINE - base) / LINE;
                /* a stretch may end within the line behind */
                assert_true(list[i].at >= base && line <= lines);
                seen[line] = 1;
            }
        }
    }
    assert_int_equal(left, 0);
    assert_int_equal(ahead->lines, 0);
}

static void check_all_seen(const char *what, const char *text, const char *seen, int64_t lines)
{
    for (int64_t i = 0; i < lines; i++) {
        if (!seen[i]) {
            fail_msg("%s: line %d of %s is not fetched", text, (int)i, what);
        }
    }
}

static void check(const char *text, ry_isa isa)
{
    ry_arena arena;
    ry_problem problem;
    ry_error error = {0};
    ry_arena_init(&arena, &ry_system_allocator);
    assert_int_equal(ry_problem_parse(text, &arena, &problem, &error), RYND_OK);
    char name[64];
    snprintf(name, sizeof name, "%s_fwd_f32_winograd_%s", ry_op_name(problem.op), ry_isa_name(isa));
    const ry_kernel *kernel = every_kernel_find(name);
    ry_prepared prepared;
    if (!kernel) {
        ry_arena_free(&arena);
        return;
    }
    assert_int_equal(every_kernel_prepare(kernel, &problem, &prepared, &error), RYND_OK);
    winograd_plan *plan = calloc(1, prepared.state_size);
    assert_non_null(plan);
    every_kernel_initialise(&prepared, plan);
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t floats[2] = {ry_tensor_count(&problem.in[0]), ry_tensor_count(&problem.out[0])};
    const int64_t lines[2] = {floats[0] * 4 / LINE, floats[1] * 4 / LINE};
    /* only addresses are looked at: anything aligned will do */
    const float *x = aligned_alloc(LINE, LINE), *y = x;
    assert_non_null(x);
    char *seen[2] = {calloc((size_t)lines[0] + 1, 1), calloc((size_t)lines[1] + 1, 1)};
    assert_true(seen[0] && seen[1]);
    for (int64_t group = 0; group < g->groups; group++) {
        for (int64_t first = 0; first < plan->tiles; first += plan->block) {
            const int64_t count =
                plan->tiles - first < plan->block ? plan->tiles - first : plan->block;
            winograd_prefetch ahead = {0};
            ry_winograd_prefetch_input(plan, x + group * g->channels_in * g->x_channel, first,
                                       count, &ahead);
            mark(&ahead, (const char *)x, lines[0], seen[0]);
            ahead = (winograd_prefetch){0};
            ry_winograd_prefetch_output(plan, y + group * g->channels_out * g->y_channel, first,
                                        count, 0, g->channels_out, &ahead);
            mark(&ahead, (const char *)y, lines[1], seen[1]);
        }
    }
    check_all_seen("x", text, seen[0], lines[0]);
    check_all_seen("y", text, seen[1], lines[1]);
    free(seen[0]);
    free(seen[1]);
    free((void *)(uintptr_t)x);
    free(plan);
    ry_arena_free(&arena);
}

static void test_every_line(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "conv c=16 h=40 w=50 k=32 r=3 s=3 pad=1 layout=nhwc",
        "conv c=16 h=40 w=48 k=32 r=3 s=3 pad=1",
        "conv n=2 c=32 h=21 w=33 k=16 r=5 s=5 pad=2 layout=nhwc",
        "conv c=64 h=24 w=24 k=64 r=3 s=3 pad=1 groups=4 layout=nhwc",
        "conv c=16 h=30 w=34 k=16 r=3 s=3 pad=2 dilation=2 layout=nhwc",
        "conv c=32 h=32 w=32 k=32 r=3 s=3 pad=1 stride=2 layout=nhwc",
        "conv c=16 d=4 h=20 w=20 k=16 t=3 r=3 s=3 pad=1 layout=nhwc",
        "conv c=32 w=300 k=32 s=3 pad=1 layout=nhwc",
        "convt c=32 h=14 w=14 k=32 r=4 s=4 pad=1 stride=2 layout=nhwc",
        "convt c=16 h=9 w=16 k=32 r=4 s=4 pad=1 stride=2",
        "convt c=32 h=14 w=14 k=20 r=6 s=6 pad=2 stride=2 layout=nhwc",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        for (int isa = 0; isa < RY_ISAS; isa++) {
            check(texts[i], (ry_isa)isa);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_line)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
