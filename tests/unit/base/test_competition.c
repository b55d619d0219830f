/* SPDX-License-Identifier: Apache-2.0 */
/* Competing work, from lines of /proc/stat. */
#include "base/competition.h"

#include <rynd/rynd.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* 100 ticks a second: 1000 s in all, 600 idle, 50 waiting, 30 stolen; 200 were this process. */
static void counts_others(void **state)
{
    (void)state;
    ry_competition now;
    assert_true(ry_competition_parse("cpu  20000 5000 5000 60000 5000 1000 1000 3000 7 7\n", 100,
                                     200, &now));
    assert_true(fabs(now.all - 1000) < 1e-9 && fabs(now.others - 150) < 1e-9);
    assert_false(ry_competition_parse("intr 1 2 3", 100, 0, &now));
    assert_false(ry_competition_parse("cpu 1 2 3", 100, 0, &now));
    assert_true(ry_competition_parse("cpu 1 2 3 4", 1, 0, &now) && now.all == 10); /* old kernels */
}

static void is_a_share(void **state)
{
    (void)state;
    const ry_competition now = ry_competition_now(), unknown = {0, 0},
                         later = {now.all + 1e6, now.others}, none = {1e-3, 1e18};
    assert_true(ry_competition_since(&now) >= 0 && ry_competition_since(&now) <= 1);
    assert_true(ry_competition_since(&unknown) == 0);
    assert_true(ry_competition_since(&later) == 0 && ry_competition_since(&none) == 0);
}

/* The canary's loss, unless others took more. */
static void is_the_larger_share(void **state)
{
    (void)state;
    const ry_competition unknown = {0, 0}, none = {1e-3, 0};
    assert_true(fabs(ry_disturbance_since(&unknown, 3, 4) - 0.25) < 1e-12);
    assert_true(ry_disturbance_since(&unknown, 4, 4) == 0);
    assert_true(ry_disturbance_since(&unknown, 5, 4) == 0);
    const double both = ry_disturbance_since(&none, 3, 4);
    assert_true(both >= 0.25 && both <= 1);
}

static void is_public(void **state)
{
    (void)state;
    rynd_competition begin = RYND_SIZED(rynd_competition);
    assert_int_equal(rynd_competition_begin(&begin), RYND_OK);
    assert_true(begin.all >= 0 && rynd_competition_since(&begin) >= 0);
    assert_true(rynd_competition_since(&begin) <= 1);
    const double disturbance = rynd_disturbance_since(&begin, 1, 4);
    assert_true(disturbance >= 0.75 && disturbance <= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_others),
        cmocka_unit_test(is_a_share),
        cmocka_unit_test(is_the_larger_share),
        cmocka_unit_test(is_public),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
