/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept and what is recomputed, as a problem of numbers: schedules have everything at hand
 * that a step reads; the choice fits its limit, and takes about the least time of all there are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/philox.h"
#include "plan/recompute_choose.h"
#include "plan/recompute_cuts.h"

#include <string.h>

/* Layer i makes value i of layer i - 1's, or of that before it, too; a last step is the loss. The
 * backward pass goes the other way: the gradient of layer i reads value i, value i - 1 and the
 * gradient of the layer behind it. */
enum { MAX_LAYERS = 24, MAX_STEPS = 2 * MAX_LAYERS, ROOM = 4 * MAX_STEPS };

typedef struct network {
    ry_recompute_graph graph;
    ry_recompute_value value[MAX_STEPS];
    double seconds[MAX_STEPS];
    uint32_t itself[MAX_STEPS], reads_at[MAX_STEPS + 1], reads[ROOM], makes_at[MAX_STEPS + 1],
        makes[MAX_STEPS], readers_at[MAX_STEPS + 1], readers[ROOM];
    uint32_t layers;
} network;

static uint32_t draw(uint64_t seed, uint32_t place, uint32_t below)
{
    const ry_random random = {.seed = seed};
    return ry_random_word(&random, place) % below;
}

static void read_value(network *n, uint32_t step, uint32_t value)
{
    n->reads[n->reads_at[step + 1]++] = value;
}

static void list_readers(network *n)
{
    uint32_t used = 0;
    for (uint32_t v = 0; v < n->graph.values; v++) {
        n->readers_at[v] = used;
        for (uint32_t s = 0; s < n->graph.steps; s++) {
            for (uint32_t i = n->reads_at[s]; i < n->reads_at[s + 1]; i++) {
                if (n->reads[i] == v) {
                    n->readers[used++] = s;
                }
            }
        }
    }
    n->readers_at[n->graph.values] = used;
}

static void make(network *n, uint64_t seed, uint32_t layers, bool skips)
{
    memset(n, 0, sizeof *n);
    n->layers = layers;
    n->graph = (ry_recompute_graph){.steps = 2 * layers,
                                    .forward = layers,
                                    .seconds = n->seconds,
                                    .first = n->itself,
                                    .last = n->itself,
                                    .values = 2 * layers,
                                    .value = n->value,
                                    .reads = {n->reads_at, n->reads},
                                    .makes = {n->makes_at, n->makes},
                                    .readers = {n->readers_at, n->readers}};
    for (uint32_t s = 0; s < n->graph.steps; s++) {
        const bool back = s >= layers;
        const uint32_t layer = back ? n->graph.steps - 1 - s : s;
        n->itself[s] = n->makes[s] = n->makes_at[s] = s;
        n->reads_at[s + 1] = n->reads_at[s];
        n->seconds[s] = 1 + draw(seed, s, 10);
        n->value[s] = (ry_recompute_value){.bytes = 64u * (1 + draw(seed, MAX_STEPS + layer, 20)),
                                           .maker = s};
        if (layer > 0) {
            read_value(n, s, layer - 1);
        }
        if (skips && layer > 1 && layer % 3 == 2) {
            read_value(n, s, layer - 2);
        }
        if (back) {
            read_value(n, s, layer);
        }
        if (s > layers) {
            read_value(n, s, s - 1);
        }
    }
    n->makes_at[n->graph.steps] = n->graph.steps;
    n->value[layers - 1].bytes = 0; /* the loss */
    n->value[layers - 1].stays = true;
    list_readers(n);
}

/* Whoever reads a value finds it: as it was made first, or made again before. */
static void check_schedule(const network *n, const bool *keep, const ry_recompute_schedule *s)
{
    bool made[MAX_STEPS] = {false}, anew[MAX_STEPS] = {false};
    double seconds = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const uint32_t step = s->order[i].step;
        const bool again = s->order[i].again, behind = again || step >= n->layers;
        for (uint32_t k = n->reads_at[step]; k < n->reads_at[step + 1]; k++) {
            const uint32_t v = n->reads[k];
            const bool kept = keep[v] || n->value[v].stays || v >= n->layers;
            assert_true(behind && !kept ? anew[v] : made[v]);
        }
        *(again ? &anew[step] : &made[step]) = true;
        seconds += again ? n->seconds[step] : 0;
    }
    for (uint32_t step = 0; step < n->graph.steps; step++) {
        assert_true(made[step]);
    }
    assert_true(seconds == s->seconds);
}

static void evaluate(const network *n, const bool *keep, double *seconds, size_t *bytes)
{
    ry_arena arena;
    ry_recompute_schedule schedule;
    ry_arena_init(&arena, &ry_system_allocator);
    assert_true(ry_recompute_evaluate(&n->graph, keep, &arena, &schedule));
    check_schedule(n, keep, &schedule);
    *seconds = schedule.seconds;
    *bytes = schedule.bytes;
    ry_arena_free(&arena);
}

static void schedules_have_what_they_read(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        network n;
        bool keep[MAX_STEPS];
        double seconds;
        size_t bytes, all;
        make(&n, seed, 3 + draw(seed, 9000, MAX_LAYERS - 3), seed % 2);
        memset(keep, 1, sizeof keep);
        evaluate(&n, keep, &seconds, &all);
        assert_true(seconds == 0);
        for (uint32_t v = 0; v < n.graph.values; v++) {
            keep[v] = draw(seed, 8000 + v, 2);
        }
        evaluate(&n, keep, &seconds, &bytes);
        assert_true(bytes > 0);
    }
}

/* The least seconds of all that fit; -1: nothing does. */
static double least_seconds(const network *n, size_t limit, size_t *least)
{
    double best = -1;
    *least = SIZE_MAX;
    for (uint32_t kept = 0; kept < 1u << (n->layers - 1); kept++) {
        bool keep[MAX_STEPS] = {false};
        double seconds;
        size_t bytes;
        for (uint32_t v = 0; v < n->layers; v++) {
            keep[v] = kept >> v & 1u;
        }
        evaluate(n, keep, &seconds, &bytes);
        *least = bytes < *least ? bytes : *least;
        if (bytes <= limit && (best < 0 || seconds < best)) {
            best = seconds;
        }
    }
    return best;
}

static void choices_are_about_the_best(void **state)
{
    (void)state;
    double found = 0, best = 0;
    size_t feasible = 0, missed = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        network n;
        bool keep[MAX_STEPS];
        double seconds;
        size_t all, least;
        make(&n, seed, 9, seed % 2);
        memset(keep, 1, sizeof keep);
        evaluate(&n, keep, &seconds, &all);
        for (int percent = 30; percent <= 100; percent += 10) {
            const size_t limit = all * (size_t)percent / 100;
            const double wanted = least_seconds(&n, limit, &least);
            ry_recompute_choice choice;
            ry_arena arena;
            ry_arena_init(&arena, &ry_system_allocator);
            assert_true(ry_recompute_choose(&n.graph, limit, &arena, &choice));
            assert_true(choice.least >= least);
            if (percent == 100) { /* everything is kept, and no other way is tried */
                assert_true(choice.seconds == 0 && choice.bytes == all && choice.least == all);
            }
            if (choice.keep) {
                size_t bytes;
                evaluate(&n, choice.keep, &seconds, &bytes);
                assert_true(bytes == choice.bytes && bytes <= limit && choice.least <= bytes);
                assert_true(seconds == choice.seconds && seconds >= wanted && wanted >= 0);
                found += seconds;
                best += wanted;
            }
            feasible += wanted >= 0;
            missed += wanted >= 0 && !choice.keep;
            ry_arena_free(&arena);
        }
    }
    if (!(found <= 1.1 * best) || missed * 20 > feasible || best == 0) {
        fail_msg("%g seconds run again, where %g would do; of %zu that fit %zu are not found",
                 found, best, feasible, missed);
    }
}

/* A part of the forward pass alone, from any step on. */
static void a_part_runs_again(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        network n;
        bool keep[MAX_STEPS], asked[2][MAX_STEPS] = {{false}}, again[2][MAX_STEPS + 1] = {{false}};
        make(&n, seed, MAX_LAYERS, seed % 2);
        for (uint32_t v = 0; v < n.graph.values; v++) {
            keep[v] = draw(seed, 8000 + v, 2);
        }
        const uint32_t begin = 1 + draw(seed, 9000, MAX_LAYERS - 2);
        again[1][MAX_LAYERS - begin] = true; /* behind the part: not touched */
        ry_recompute_find_again(&n.graph, 0, MAX_LAYERS, keep, asked[0], again[0]);
        ry_recompute_find_again(&n.graph, begin, MAX_LAYERS, keep, asked[1], again[1]);
        assert_memory_equal(again[1], again[0] + begin, MAX_LAYERS - begin);
        assert_true(again[1][MAX_LAYERS - begin]);
    }
}

/* The first step of the backward pass may be a value's only reader there. */
static void the_loss_is_read_back(void **state)
{
    (void)state;
    network n;
    make(&n, 0, 3, false);
    n.readers_at[3] = n.readers_at[2] + 1;
    n.readers[n.readers_at[2]] = n.layers;
    assert_true(ry_recompute_is_read_back(&n.graph, 2));
    n.readers[n.readers_at[2]] = n.layers - 1;
    assert_false(ry_recompute_is_read_back(&n.graph, 2));
}

/* A chain of equal layers: the square root keeps about 2 sqrt(n) of n values, and runs each layer
 * at most once more. */
static void the_root_is_one(void **state)
{
    (void)state;
    network n;
    bool keep[MAX_STEPS];
    double seconds;
    size_t bytes, all;
    ry_arena arena;
    make(&n, 0, MAX_LAYERS, false);
    for (uint32_t s = 0; s < n.graph.steps; s++) {
        n.value[s].bytes = n.value[s].bytes ? 64 : 0;
        n.seconds[s] = 1;
    }
    memset(keep, 1, sizeof keep);
    evaluate(&n, keep, &seconds, &all);
    ry_arena_init(&arena, &ry_system_allocator);
    const ry_recompute_cuts *cuts = ry_recompute_cuts_create(&n.graph, &arena);
    assert_non_null(cuts);
    assert_true(ry_recompute_keep_root(cuts, 5, keep));
    evaluate(&n, keep, &seconds, &bytes);
    assert_true(bytes <= 64 * 13 && all >= 64 * MAX_LAYERS);
    assert_true(seconds > 0 && seconds < MAX_LAYERS);
    double least, most;
    bool found;
    ry_recompute_cuts_range(cuts, &least, &most);
    assert_true(least < most);
    assert_true(ry_recompute_keep_optimal(cuts, most, keep, &found) && found);
    evaluate(&n, keep, &seconds, &bytes);
    assert_true(seconds == 0 && bytes == all);
    assert_true(ry_recompute_keep_optimal(cuts, least / 2, keep, &found) && !found);
    ry_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_have_what_they_read),
        cmocka_unit_test(choices_are_about_the_best),
        cmocka_unit_test(a_part_runs_again),
        cmocka_unit_test(the_loss_is_read_back),
        cmocka_unit_test(the_root_is_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
