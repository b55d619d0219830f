/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts of races from times that the tests give: no clock. */
#include "tune/race.h"
#include "tune/sample_statistics.h"
#include "tune/shuffle.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Seconds of a racer in a round. */
typedef double (*times)(int racer, int round, uint64_t *random);

static void begin(ry_race *race, int count)
{
    *race = (ry_race){.gap = RY_RACE_GAP, .count = count, .random = 1};
    for (int i = 0; i < count; i++) {
        race->racer[i].order = i;
    }
}

/* One round by `seconds`; the canary's second time is `drift` times its first. */
static bool run_round(ry_race *race, times seconds, int round, double drift, uint64_t *random)
{
    int order[RY_RACE_CANDIDATES];
    const int left = ry_race_begin_round(race, order);
    const double canary = seconds(race->untuned, round, random);
    ry_race_note_canary(race, 0, canary);
    for (int i = 0; i < left; i++) {
        assert_int_not_equal(order[i], race->untuned);
        assert_false(race->racer[order[i]].out);
        ry_race_note(race, order[i], seconds(order[i], round, random));
    }
    ry_race_note_canary(race, 1, canary * drift);
    return ry_race_end_round(race);
}

static int run(ry_race *race, times seconds)
{
    uint64_t random = 7;
    for (int round = 0; !ry_race_is_over(race); round++) {
        run_round(race, seconds, round, 1, &random);
    }
    return ry_race_verdict(race);
}

/* Some per cent either way, and now and then an interruption. */
static double noise(uint64_t *random)
{
    const double u = (double)(ry_random_next(random) >> 11) * 0x1p-53;
    return 1 + 0.02 * u + (u > 0.95 ? 0.5 : 0);
}

static double second_is_faster(int racer, int round, uint64_t *random)
{
    (void)round;
    return (racer == 1 ? 0.8 : 1.0) * noise(random);
}

static void the_fastest_is_taken(void **state)
{
    (void)state;
    ry_race race;
    begin(&race, 4);
    assert_int_equal(run(&race, second_is_faster), 1);
    assert_false(race.racer[0].out || race.racer[1].out);
    assert_true(fabs(ry_race_ratio(&race, 1) - 0.8) < 0.03);
}

static double all_alike(int racer, int round, uint64_t *random)
{
    (void)round;
    return (racer == 2 ? 0.985 : 1.0) * noise(random);
}

static void what_is_nearer_than_the_gap_stays_untuned(void **state)
{
    (void)state;
    ry_race race;
    begin(&race, 3);
    assert_int_equal(run(&race, all_alike), 0);
}

/* A gain that is smaller than the noise is none until there are rounds enough to know. */
static double wild(int racer, int round, uint64_t *random)
{
    (void)random;
    return (racer == 1 ? 0.9 : 1.0) * (racer == 1 && round % 2 ? 1.4 : racer == 1 ? 0.7 : 1);
}

static void noise_is_not_a_gain(void **state)
{
    (void)state;
    ry_race race;
    uint64_t random = 1;
    begin(&race, 2);
    for (int round = 0; round < 9; round++) {
        run_round(&race, wild, round, 1, &random);
        assert_int_equal(ry_race_verdict(&race), 0);
    }
    assert_false(ry_race_is_over(&race));
}

static double both_faster(int racer, int round, uint64_t *random)
{
    (void)round;
    (void)random;
    return racer == 0 ? 1.0 : racer == 1 ? 0.805 : racer == 2 ? 0.8 : 0.81;
}

static void of_equals_the_smaller_workspace_then_the_order(void **state)
{
    (void)state;
    ry_race race;
    begin(&race, 4);
    for (int i = 1; i < 4; i++) {
        race.racer[i].workspace = i == 3 ? 100 : 1000;
    }
    assert_int_equal(run(&race, both_faster), 3);
    begin(&race, 4);
    assert_int_equal(run(&race, both_faster), 1);
    begin(&race, 4);
    race.racer[1].order = 9;
    assert_int_equal(run(&race, both_faster), 2);
}

static void a_disturbed_round_does_not_count(void **state)
{
    (void)state;
    ry_race race;
    uint64_t random = 1;
    begin(&race, 2);
    for (int round = 0; round < 4; round++) {
        assert_true(run_round(&race, both_faster, round, 1.01, &random));
    }
    assert_false(run_round(&race, second_is_faster, 4, 1.6, &random));
    assert_false(run_round(&race, second_is_faster, 5, 1 / 1.6, &random));
    assert_int_equal(race.rounds, 4);
    assert_int_equal(race.disturbed, 2);
    assert_true(fabs(ry_race_ratio(&race, 1) - 0.805) < 0.01);
}

/* Where every round is as bad, that is how the machine is. */
static void a_machine_that_is_never_quiet(void **state)
{
    (void)state;
    ry_race race;
    uint64_t random = 1;
    begin(&race, 2);
    for (int round = 0; round < 8; round++) {
        assert_true(run_round(&race, both_faster, round, round % 2 ? 1.4 : 1 / 1.4, &random));
    }
    assert_int_equal(ry_race_verdict(&race), 1);
}

/* What slows whole rounds slows nobody's ratio. */
static double drifting(int racer, int round, uint64_t *random)
{
    (void)random;
    return (racer == 1 ? 0.9 : 1.0) * (1 + 0.3 * round);
}

static void drift_does_not_matter(void **state)
{
    (void)state;
    ry_race race;
    begin(&race, 2);
    assert_int_equal(run(&race, drifting), 1);
    assert_int_equal(race.rounds, RY_RACE_LEAST_ROUNDS);
}

static void without_rounds_nothing_changes(void **state)
{
    (void)state;
    ry_race race;
    uint64_t random = 1;
    begin(&race, 3);
    race.untuned = 2;
    assert_int_equal(ry_race_verdict(&race), 2);
    assert_true(ry_race_ratio(&race, 1) == 1);
    for (int round = 0; round < RY_RACE_LEAST_ROUNDS - 1; round++) {
        run_round(&race, second_is_faster, round, 1, &random);
        assert_int_equal(ry_race_verdict(&race), 2);
        assert_false(ry_race_is_over(&race));
    }
}

static double two_alike(int racer, int round, uint64_t *random)
{
    (void)racer;
    (void)random;
    return round % 3 ? 1 : 1.3;
}

static double two_apart(int racer, int round, uint64_t *random)
{
    (void)random;
    return racer == 1 && round % 2 ? 1.2 : 1;
}

static void it_ends(void **state)
{
    (void)state;
    ry_race race;
    begin(&race, 2);
    assert_int_equal(run(&race, two_apart), 0);
    assert_true(race.rounds <= RY_RACE_ROUNDS);
    begin(&race, 1);
    assert_int_equal(run(&race, two_alike), 0);
    assert_int_equal(race.rounds, RY_RACE_LEAST_ROUNDS);
    /* without a gap two that are the same are told apart by nothing */
    begin(&race, 2);
    race.gap = 0;
    assert_int_equal(run(&race, second_is_faster), 1);
}

static void orders_are_random_and_reproducible(void **state)
{
    (void)state;
    ry_race race, again;
    bool first[4] = {false};
    begin(&race, 4);
    begin(&again, 4);
    for (int round = 0; round < 60; round++) {
        int order[RY_RACE_CANDIDATES], other[RY_RACE_CANDIDATES];
        assert_int_equal(ry_race_begin_round(&race, order), 3);
        ry_race_begin_round(&again, other);
        assert_memory_equal(order, other, 3 * sizeof *order);
        assert_int_equal(order[0] + order[1] + order[2], 1 + 2 + 3);
        first[order[0]] = true;
    }
    assert_true(!first[0] && first[1] && first[2] && first[3]);
}

static void statistics(void **state)
{
    (void)state;
    double odd[] = {3, 1, 8}, even[] = {4, 1, 3, 2}, one[] = {5};
    ry_statistics s = ry_statistics_of(odd, 3);
    assert_true(s.n == 3 && s.mean == 4 && s.median == 3 && s.min == 1 && s.max == 8);
    assert_true(fabs(s.variance - 13) < 1e-12);
    assert_true(ry_median(even, 4) == 2.5);
    s = ry_statistics_of(one, 1);
    assert_true(s.variance == 0 && s.mean == 5 && s.min == 5 && s.max == 5);
    s = ry_statistics_of(one, 0);
    assert_true(s.n == 0 && s.median == 0);
    assert_true(isinf(ry_student_bound(1, 1)));
    assert_true(fabs(ry_student_bound(2, 1) - 31.821 / sqrt(2)) < 1e-9);
    assert_true(fabs(ry_student_bound(11, 1) - 2.764 / sqrt(11)) < 1e-9);
    assert_true(ry_student_bound(1000, 0) < ry_student_bound(1000, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fastest_is_taken),
        cmocka_unit_test(what_is_nearer_than_the_gap_stays_untuned),
        cmocka_unit_test(noise_is_not_a_gain),
        cmocka_unit_test(of_equals_the_smaller_workspace_then_the_order),
        cmocka_unit_test(a_disturbed_round_does_not_count),
        cmocka_unit_test(a_machine_that_is_never_quiet),
        cmocka_unit_test(drift_does_not_matter),
        cmocka_unit_test(without_rounds_nothing_changes),
        cmocka_unit_test(it_ends),
        cmocka_unit_test(orders_are_random_and_reproducible),
        cmocka_unit_test(statistics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
