/* SPDX-License-Identifier: Apache-2.0 */
/* Assignments of parts to devices: the search finds what trying everything finds, its bound is
 * one, and it always ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "place_instance.h"
#include "placement/assign_search.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Sums as the header defines them, without the library: of one chain at `device`. */
typedef struct sums {
    double chain, energy;
    double device[PLACE_DEVICES], held[PLACE_DEVICES], link[PLACE_DEVICES][PLACE_DEVICES];
} sums;

static void pass(const place_instance *in, sums *s, size_t c, size_t part, size_t a, size_t b)
{
    const double bytes = in->chains[c].crossing[part];
    if (a != b && bytes > 0) {
        const size_t pair = a * in->problem.devices + b;
        const double seconds = in->latency[pair] + bytes / in->bandwidth[pair];
        s->link[a < b ? a : b][a < b ? b : a] += seconds;
        s->chain += seconds;
    }
}

static void sum_chain(const place_instance *in, size_t c, const unsigned char *device, sums *s)
{
    const ry_assign_chain *chain = &in->chains[c];
    size_t at = 0;
    s->chain = 0;
    for (size_t first = 0; first < chain->parts;) {
        size_t end = first + 1;
        while (end < chain->parts && device[end] == device[first]) {
            end++;
        }
        const size_t d = device[first];
        const size_t entry = (first * chain->parts + end - 1) * in->problem.devices + d;
        pass(in, s, c, first, at, d);
        s->device[d] += chain->seconds[entry];
        s->chain += chain->seconds[entry];
        s->held[d] += chain->bytes[entry];
        s->energy += chain->seconds[entry] * in->watts[d];
        at = d;
        first = end;
    }
    pass(in, s, c, chain->parts, at, 0);
}

/* The objective's value; INFINITY: not possible. Of several chains' latency a lower bound only. */
static double value_of(const place_instance *in, const unsigned char *device)
{
    sums s = {0};
    double longest = 0, busiest = 0, busiest_link = 0, largest = 0;
    for (size_t c = 0, first = 0; c < in->problem.chains; first += in->chains[c++].parts) {
        sum_chain(in, c, device + first, &s);
        longest = fmax(longest, s.chain);
    }
    for (size_t a = 0; a < in->problem.devices; a++) {
        if (s.held[a] > in->memory[a]) {
            return INFINITY;
        }
        busiest = fmax(busiest, s.device[a]);
        largest = fmax(largest, s.held[a]);
        for (size_t b = 0; b < in->problem.devices; b++) {
            busiest_link = fmax(busiest_link, s.link[a][b]);
        }
    }
    const double loads = fmax(busiest, busiest_link);
    const double values[] = {fmax(longest, loads), loads, s.energy,
                             busiest == INFINITY ? INFINITY : largest};
    return values[in->problem.objective];
}

static bool next_assignment(const place_instance *in, unsigned char *device)
{
    for (size_t p = 0; p < in->parts; p++) {
        if (++device[p] < in->problem.devices) {
            return true;
        }
        device[p] = 0;
    }
    return false;
}

static double least_of_all(const place_instance *in)
{
    unsigned char device[PLACE_CHAINS * RY_ASSIGN_PARTS] = {0};
    const bool scheduled = in->problem.objective == RY_ASSIGN_LATENCY && in->problem.chains > 1;
    double least = INFINITY;
    ry_arena arena;
    ry_arena_init(&arena, &ry_system_allocator);
    do {
        double value = value_of(in, device);
        if (scheduled && value < least) {
            double seconds;
            assert_int_equal(ry_assign_makespan(&in->problem, device, 1, &arena, &seconds, NULL),
                             RYND_OK);
            assert_true(seconds > value * (1 - 1e-9));
            value = seconds;
        }
        least = fmin(least, value);
    } while (next_assignment(in, device));
    ry_arena_free(&arena);
    return least;
}

static void check(const place_instance *in)
{
    ry_arena arena;
    ry_assignment found;
    ry_error error = {""};
    const double least = least_of_all(in);
    ry_arena_init(&arena, &ry_system_allocator);
    const rynd_status status = ry_assign(&in->problem, &arena, &found, &error);
    if (least == INFINITY) {
        assert_int_equal(status, RYND_ERROR_NOT_FOUND);
        assert_non_null(strstr(error.text, "memory"));
    } else {
        assert_int_equal(status, RYND_OK);
        assert_true(fabs(found.value - least) <= 1e-9 * least);
        assert_true(found.bound == found.value);
        assert_true(value_of(in, found.device) <= found.value * (1 + 1e-9));
    }
    ry_arena_free(&arena);
}

static void as_brute_force(void **state)
{
    (void)state;
    static const struct {
        size_t devices, chains, parts;
        int rounds;
    } sizes[] = {{2, 1, 8, 40}, {3, 1, 7, 40}, {4, 1, 5, 40}, {1, 1, 4, 5},
                 {2, 2, 3, 40}, {3, 2, 3, 30}, {2, 4, 1, 40}, {4, 3, 1, 40}};
    srand(7);
    for (int objective = 0; objective < RY_ASSIGN_OBJECTIVES; objective++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            for (int round = 0; round < sizes[i].rounds; round++) {
                place_instance in;
                place_instance_make(&in, (ry_assign_objective)objective, sizes[i].devices,
                                    sizes[i].chains, sizes[i].parts);
                check(&in);
                place_instance_release(&in);
            }
        }
    }
}

/* A dozen parts on eight devices is solved to the end, whatever is optimised. */
static void a_dozen_parts(void **state)
{
    (void)state;
    srand(11);
    for (int objective = 0; objective < RY_ASSIGN_OBJECTIVES; objective++) {
        for (int round = 0; round < 4; round++) {
            place_instance in;
            ry_arena arena;
            ry_assignment found;
            place_instance_make(&in, (ry_assign_objective)objective, 8, 1, 12);
            for (size_t d = 0; d < 8; d++) {
                in.memory[d] = INFINITY;
            }
            ry_arena_init(&arena, &ry_system_allocator);
            assert_int_equal(ry_assign(&in.problem, &arena, &found, NULL), RYND_OK);
            print_message("objective %d: %g, %zu nodes\n", objective, found.value, found.nodes);
            assert_true(found.bound == found.value);
            ry_arena_free(&arena);
            place_instance_release(&in);
        }
    }
}

/* Out of nodes: an assignment, and a bound that is below it and below the best. */
static void within_nodes(void **state)
{
    (void)state;
    srand(5);
    size_t open = 0;
    for (int round = 0; round < 60; round++) {
        place_instance in;
        ry_arena arena;
        ry_assignment found;
        place_instance_make(&in, round % 2 ? RY_ASSIGN_THROUGHPUT : RY_ASSIGN_MEMORY, 3, 1, 7);
        for (size_t d = 0; d < 3; d++) {
            in.memory[d] = INFINITY;
        }
        in.problem.most_nodes = 2;
        const double least = least_of_all(&in);
        ry_arena_init(&arena, &ry_system_allocator);
        assert_int_equal(ry_assign(&in.problem, &arena, &found, NULL), RYND_OK);
        assert_true(found.nodes <= 2);
        assert_true(found.bound <= least * (1 + 1e-9) && least <= found.value * (1 + 1e-9));
        assert_true(found.bound > 0.3 * found.value);
        open += found.bound < found.value;
        ry_arena_free(&arena);
        place_instance_release(&in);
    }
    assert_true(open > 0);
}

static void large_problems_end(void **state)
{
    (void)state;
    srand(9);
    for (int objective = 0; objective < RY_ASSIGN_OBJECTIVES; objective++) {
        place_instance in;
        ry_arena arena;
        ry_assignment found;
        place_instance_make(&in, (ry_assign_objective)objective, 6, 4, 24);
        for (size_t d = 0; d < 6; d++) {
            in.memory[d] = INFINITY;
        }
        in.problem.most_nodes = 2000;
        ry_arena_init(&arena, &ry_system_allocator);
        assert_int_equal(ry_assign(&in.problem, &arena, &found, NULL), RYND_OK);
        print_message("objective %d: %g, bound %g, %zu nodes\n", objective, found.value,
                      found.bound, found.nodes);
        assert_true(found.bound > 0 && found.bound <= found.value);
        assert_true(found.nodes <= 2000);
        ry_arena_free(&arena);
        place_instance_release(&in);
    }
}

/* From all parts on a slow device: whatever the chain, its parts move to the fast one. */
static void improvement_reaches_every_chain(void **state)
{
    (void)state;
    enum { CHAINS = 3, PARTS = 3, SLOW = 0, FAST = 1 };
    place_instance in;
    ry_arena arena;
    ry_assign_scratch scratch;
    unsigned char device[CHAINS * PARTS] = {SLOW};
    place_instance_make(&in, RY_ASSIGN_ENERGY, 2, CHAINS, PARTS);
    for (size_t d = 0; d < 2; d++) {
        in.memory[d] = INFINITY;
        in.watts[d] = 1;
    }
    for (size_t c = 0; c < CHAINS; c++) {
        for (size_t row = 0; row < PARTS * PARTS; row++) {
            in.tables[c][0][2 * row + SLOW] = 2;
            in.tables[c][0][2 * row + FAST] = 1;
        }
    }
    ry_arena_init(&arena, &ry_system_allocator);
    assert_true(ry_assign_scratch_make(&in.problem, &arena, &scratch));
    ry_assign_score best = ry_assign_score_of(&in.problem, device, &scratch);
    ry_assign_improve(&in.problem, &scratch, device, &best);
    for (size_t i = 0; i < CHAINS * PARTS; i++) {
        assert_int_equal(device[i], FAST);
    }
    ry_arena_free(&arena);
    place_instance_release(&in);
}

/* Thirty equal devices: the search tries one of the unused devices only. */
static void devices_that_are_alike(void **state)
{
    (void)state;
    enum { ALIKE = 30 };
    for (int objective = 0; objective < RY_ASSIGN_OBJECTIVES; objective++) {
        place_instance in;
        ry_arena arena;
        ry_assignment found;
        srand(3);
        place_instance_make(&in, (ry_assign_objective)objective, ALIKE, 2, 6);
        for (size_t d = 0; d < ALIKE; d++) {
            in.memory[d] = INFINITY;
            in.watts[d] = 7;
            for (size_t e = 0; e < ALIKE; e++) {
                in.bandwidth[d * ALIKE + e] = 4;
                in.latency[d * ALIKE + e] = d == e ? 0 : 0.1;
            }
            for (size_t c = 0; c < 2; c++) {
                for (size_t row = 0; row < 6 * 6; row++) {
                    in.tables[c][0][row * ALIKE + d] = in.tables[c][0][row * ALIKE];
                    in.tables[c][1][row * ALIKE + d] = in.tables[c][1][row * ALIKE];
                }
            }
        }
        ry_arena_init(&arena, &ry_system_allocator);
        assert_int_equal(ry_assign(&in.problem, &arena, &found, NULL), RYND_OK);
        print_message("objective %d: %zu nodes\n", objective, found.nodes);
        assert_true(found.bound == found.value && found.nodes < 20000);
        ry_arena_free(&arena);
        place_instance_release(&in);
    }
}

/* Many devices have more branches a node: work ends the search, too. */
static void within_work(void **state)
{
    (void)state;
    place_instance in;
    ry_arena arena;
    ry_assignment found;
    srand(11);
    place_instance_make(&in, RY_ASSIGN_THROUGHPUT, RY_ASSIGN_DEVICES, 3, 12);
    for (size_t d = 0; d < RY_ASSIGN_DEVICES; d++) {
        in.memory[d] = INFINITY;
    }
    in.problem.most_work = 100000;
    ry_arena_init(&arena, &ry_system_allocator);
    assert_int_equal(ry_assign(&in.problem, &arena, &found, NULL), RYND_OK);
    assert_true(found.nodes < 5000 && found.bound > 0 && found.bound <= found.value);
    ry_arena_free(&arena);
    place_instance_release(&in);
}

/* Two devices, a chain of two parts of 1 and 2 seconds, half a second between them: of three inputs
 * the second device takes one after another. */
static void pipelines(void **state)
{
    (void)state;
    const double seconds[] = {1, 1, 3, 3, 0, 0, 2, 2}, bytes[8] = {0}, crossing[] = {0, 1, 0};
    const double bandwidth[] = {2, 2, 2, 2}, latency[4] = {0}, memory[] = {INFINITY, INFINITY},
                 watts[] = {3, 5};
    const ry_assign_chain chain = {2, seconds, bytes, crossing};
    const ry_assign_problem problem = {.devices = 2,
                                       .chains = 1,
                                       .chain = &chain,
                                       .bandwidth = bandwidth,
                                       .latency = latency,
                                       .memory = memory,
                                       .watts = watts};
    const unsigned char device[] = {0, 1};
    ry_arena arena;
    ry_assign_costs costs;
    double makespan;
    ry_arena_init(&arena, &ry_system_allocator);
    assert_int_equal(ry_assign_makespan(&problem, device, 3, &arena, &makespan, NULL), RYND_OK);
    assert_true(makespan == 1 + 0.5 + 3 * 2);
    assert_int_equal(ry_assign_evaluate(&problem, device, &arena, &costs, NULL), RYND_OK);
    assert_true(costs.latency == 3.5 && costs.period == 2 && costs.memory == 0);
    assert_true(costs.energy == 1 * 3 + 2 * 5);
    ry_arena_free(&arena);
}

static void the_same_every_time(void **state)
{
    (void)state;
    srand(21);
    place_instance in;
    place_instance_make(&in, RY_ASSIGN_THROUGHPUT, 4, 2, 8);
    ry_arena arena;
    ry_assignment a, b;
    ry_arena_init(&arena, &ry_system_allocator);
    assert_int_equal(ry_assign(&in.problem, &arena, &a, NULL), RYND_OK);
    assert_int_equal(ry_assign(&in.problem, &arena, &b, NULL), RYND_OK);
    assert_memory_equal(a.device, b.device, in.parts);
    assert_true(a.value == b.value && a.nodes == b.nodes);
    ry_arena_free(&arena);
    place_instance_release(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_brute_force),
                                       cmocka_unit_test(a_dozen_parts),
                                       cmocka_unit_test(within_nodes),
                                       cmocka_unit_test(large_problems_end),
                                       cmocka_unit_test(devices_that_are_alike),
                                       cmocka_unit_test(improvement_reaches_every_chain),
                                       cmocka_unit_test(within_work),
                                       cmocka_unit_test(pipelines),
                                       cmocka_unit_test(the_same_every_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
