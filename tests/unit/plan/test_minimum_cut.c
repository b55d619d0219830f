/* SPDX-License-Identifier: Apache-2.0 */
/* The minimum cut is as cheap as the best of all labellings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "plan/minimum_cut.h"

enum { MOST = 9, MAX_EDGES = 40 };

typedef struct edge {
    uint32_t a, b;
    int64_t cost, back;
} edge;

static int64_t cost_of(const edge *edges, int count, const bool *second)
{
    int64_t sum = 0;
    for (int i = 0; i < count; i++) {
        const edge *e = &edges[i];
        sum += !second[e->a] && second[e->b]   ? e->cost
               : second[e->a] && !second[e->b] ? e->back
                                               : 0;
    }
    return sum;
}

static int64_t least_of_all(const edge *edges, int count, uint32_t vertices)
{
    int64_t least = INT64_MAX;
    for (uint32_t bits = 0; bits < 1u << (vertices - RY_CUT_LABELS); bits++) {
        bool second[MOST] = {false, true};
        for (uint32_t v = RY_CUT_LABELS; v < vertices; v++) {
            second[v] = bits >> (v - RY_CUT_LABELS) & 1u;
        }
        const int64_t cost = cost_of(edges, count, second);
        least = cost < least ? cost : least;
    }
    return least;
}

static void check(const edge *edges, int count, uint32_t vertices)
{
    ry_arena arena;
    ry_arena_init(&arena, &ry_system_allocator);
    ry_cut cut;
    assert_true(ry_cut_start(&cut, &arena, vertices));
    for (int i = 0; i < count; i++) {
        assert_true(ry_cut_add(&cut, edges[i].a, edges[i].b, edges[i].cost, edges[i].back));
    }
    bool second[MOST];
    ry_cut_solve(&cut, second);
    assert_false(second[RY_CUT_FIRST]);
    assert_true(second[RY_CUT_SECOND]);
    assert_int_equal(cost_of(edges, count, second), least_of_all(edges, count, vertices));
    ry_arena_free(&arena);
}

static void random_graphs(void **state)
{
    (void)state;
    srand(3);
    for (int round = 0; round < 3000; round++) {
        const uint32_t vertices = 3 + (uint32_t)rand() % (MOST - 2);
        const int count = rand() % MAX_EDGES, most = round % 3 == 0 ? 2 : 1000;
        edge edges[MAX_EDGES];
        for (int i = 0; i < count; i++) {
            const uint32_t a = (uint32_t)rand() % vertices,
                           b = (a + 1 + (uint32_t)rand() % (vertices - 1)) % vertices;
            edges[i] = (edge){a, b, rand() % most, rand() % most};
        }
        check(edges, count, vertices);
    }
}

static void a_vertex_that_never_changes(void **state)
{
    (void)state;
    const edge edges[] = {{RY_CUT_FIRST, 2, (int64_t)1 << 60, 0},
                          {2, RY_CUT_SECOND, 50, 0},
                          {2, 3, 7, 7},
                          {3, RY_CUT_SECOND, 9, 0}};
    check(edges, 4, 4);
}

static void nothing_to_label(void **state)
{
    (void)state;
    check(NULL, 0, RY_CUT_LABELS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_graphs),
                                       cmocka_unit_test(a_vertex_that_never_changes),
                                       cmocka_unit_test(nothing_to_label)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
