/* SPDX-License-Identifier: Apache-2.0 */
/* gather, gather_elements and gather_nd on a GPU against their definitions: legal indices, counted
 * from the end, too, and illegal ones, which are told of and touch nothing. */
#include "index_case.h"

enum { ROUNDS = 24, GATHERS = 3 };

static void start(int round)
{
    gpu_run_need();
    move_group = (int64_t)64 << round % 3;
}

static void of_slices(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        start(round);
        index_gather(round);
    }
}

static void of_elements(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        start(round);
        index_gather_elements(round);
    }
}

static void of_tuples(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        start(round);
        index_gather_nd(round);
    }
}

/* Rows that are moved four elements at once, by more than one group. */
static void of_wide_rows(void **state)
{
    (void)state;
    for (int round = 0; round < 6; round++) {
        move_case c;
        const int64_t dim[] = {9, 5, 64}, index[] = {41}, to[] = {9, 41, 64};
        start(round);
        move_begin(&c, RY_OP_gather);
        c.problem.attrs.gather.axis = 1;
        move_in(&c, round & 1 ? RY_f16 : RY_f32, 3, dim);
        move_fill(move_in(&c, RY_i64, 1, index), -5, 4);
        move_out(&c, round & 1 ? RY_f16 : RY_f32, 3, to, false);
        move_runs_on_gpu = 0;
        move_check(&c, expect_gather);
        assert_int_equal(move_runs_on_gpu, 1);
    }
}

static void of_illegal_indices(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        start(round);
        move_runs_on_gpu = 0;
        index_illegally(round % GATHERS, round);
        assert_int_equal(move_runs_on_gpu, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_slices),          cmocka_unit_test(of_elements),
        cmocka_unit_test(of_tuples),          cmocka_unit_test(of_wide_rows),
        cmocka_unit_test(of_illegal_indices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
