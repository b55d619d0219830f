/* SPDX-License-Identifier: Apache-2.0 */
/* The search over forms, on a method of three knobs, and the decoding of tasks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/common/task_cut.h"
#include "kernels/form_method.h"
#include "kernels/knob_values.h"

#include <math.h>
#include <string.h>

enum { MODE, ROWS, COLUMNS, KNOBS };

/* Mode 1 has rows up to 8, mode 0 up to 4; mode 2 is not legal. */
typedef struct toy {
    int64_t mode, rows, columns;
    double wanted; /* rows * columns of cost 0 */
    int64_t room;  /* rows * columns that fit */
    int set, weighed;
} toy;

static void list_values(const ry_query *query, const void *plan, int knob, ry_knob_values *values)
{
    (void)query;
    if (knob == MODE) {
        *values = (ry_knob_values){3, {0, 1, 2}};
    } else {
        ry_knob_values_counts(values, knob == COLUMNS ? 4 : ((const toy *)plan)->mode == 0 ? 4 : 8);
    }
}

static bool set_axis(const ry_query *query, void *plan, int knob, const ry_form *form)
{
    (void)query;
    toy *t = plan;
    t->set++;
    int64_t *const to[KNOBS] = {&t->mode, &t->rows, &t->columns};
    *to[knob] = form->value[knob];
    return t->mode != 2;
}

static bool fits(const ry_query *query, const void *plan)
{
    (void)query;
    const toy *t = plan;
    return t->rows * t->columns <= t->room;
}

static double cost_of(const ry_query *query, void *plan, double least)
{
    (void)query;
    (void)least;
    toy *t = plan;
    t->weighed++;
    return fabs((double)(t->rows * t->columns) - t->wanted);
}

static const ry_form_axis axes[] = {{.knob = MODE},
                                    {.knob = ROWS, .after = 1, .memory = true},
                                    {.knob = COLUMNS, .largest_first = true, .memory = true}};
static const ry_form_search search = {axes, KNOBS, list_values, set_axis, fits, cost_of};

static toy choose(double wanted, int64_t room, const ry_form *form)
{
    toy t = {.wanted = wanted, .room = room};
    const ry_query query = {.form = form};
    assert_true(ry_form_least(&search, &query, &t));
    return t;
}

static void assert_form(const toy *t, int64_t mode, int64_t rows, int64_t columns)
{
    assert_int_equal(t->mode, mode);
    assert_int_equal(t->rows, rows);
    assert_int_equal(t->columns, columns);
}

static void test_the_plan_is_left_in_the_cheapest_form(void **state)
{
    (void)state;
    const toy t = choose(32, 1000, NULL);
    assert_form(&t, 1, 8, 4);
    assert_int_equal(t.weighed, 4 * 4 + 6 * 4);
}

/* 4 = 1 x 4 = 2 x 2 = 4 x 1: outer axes decide, and the larger value of columns. */
static void test_the_earlier_of_equal_forms_wins(void **state)
{
    (void)state;
    const toy t = choose(4, 1000, NULL);
    assert_form(&t, 0, 1, 4);
}

static void test_what_does_not_fit_is_left_out_but_for_the_smallest(void **state)
{
    (void)state;
    toy t = choose(32, 6, NULL);
    assert_int_equal(t.rows * t.columns, 6);
    t = choose(32, 0, NULL);
    assert_form(&t, 0, 1, 1);
}

static void test_a_knob_that_is_set_has_no_other_value(void **state)
{
    (void)state;
    ry_form form = ry_form_free();
    form.value[ROWS] = 3;
    toy t = choose(32, 1000, &form);
    assert_form(&t, 0, 3, 4);
    form.value[MODE] = 1;
    form.value[COLUMNS] = 2;
    t = choose(32, 0, &form);
    assert_form(&t, 1, 3, 2);
    assert_int_equal(t.weighed, 1);
    form.value[MODE] = 2;
    const ry_query query = {.form = &form};
    assert_false(ry_form_least(&search, &query, &t));
}

static void test_values_are_listed_for_all_values_of_outer_axes(void **state)
{
    (void)state;
    toy t = {.mode = 0};
    ry_form form = ry_form_free();
    const ry_query query = {.form = &form};
    ry_knob_values rows = {0}, columns = {0};
    ry_form_list(&search, &query, &t, ROWS, &rows);
    assert_int_equal(rows.count, 6); /* 1, 2, 3, 4, 6, 8 */
    ry_form_list(&search, &query, &t, COLUMNS, &columns);
    assert_int_equal(columns.count, 4);
    form.value[MODE] = 0;
    rows.count = 0;
    ry_form_list(&search, &query, &t, ROWS, &rows);
    assert_int_equal(rows.count, 4);
}

static void test_lists_of_parts(void **state)
{
    (void)state;
    ry_knob_values values = {0};
    ry_knob_values_cuts(&values, 5, 16, 70);
    const int64_t cuts[] = {16, 32, 48, 70};
    assert_int_equal(values.count, 4);
    assert_memory_equal(values.value, cuts, sizeof cuts);
    values.count = 0;
    ry_knob_values_around(&values, 12, 1);
    const int64_t around[] = {3, 6, 12, 24, 48};
    assert_int_equal(values.count, 5);
    assert_memory_equal(values.value, around, sizeof around);
}

static int64_t usual_rows(const ry_query *query, const void *plan)
{
    (void)query;
    return ((const toy *)plan)->mode == 0 ? 2 : 6;
}

static bool read_toy(const ry_query *query, void *plan)
{
    toy *t = plan;
    t->wanted = 24;
    t->room = 100;
    return query->problem == NULL;
}

static void describe_toy(const ry_query *query, const void *plan, ry_prepared *prepared)
{
    (void)query;
    prepared->tasks[0] = (size_t)((const toy *)plan)->columns;
}

static const ry_form_axis toy_axes[] = {
    {.knob = MODE}, {.knob = ROWS, .after = 1, .usual = usual_rows}, {.knob = COLUMNS}};
static const ry_form_method toy_method = {
    .search = {toy_axes, KNOBS, list_values, set_axis, fits, cost_of},
    .size = sizeof(toy),
    .begin = read_toy,
    .describe = describe_toy};

/* A knob with a usual value has that value, unless the query sets another; all others are legal. */
static void test_a_method_prepares_its_cheapest_form(void **state)
{
    (void)state;
    toy plan;
    ry_prepared prepared;
    ry_form form = ry_form_free();
    const ry_query query = {.form = &form};
    assert_int_equal(ry_form_method_prepare(&toy_method, &query, &plan, &prepared, NULL), RYND_OK);
    assert_int_equal(prepared.form.value[MODE], 1);
    assert_int_equal(prepared.form.value[ROWS], 6);
    assert_int_equal(prepared.form.value[COLUMNS], 4);
    assert_int_equal(prepared.tasks[0], 4);
    form.value[ROWS] = 8;
    assert_int_equal(ry_form_method_prepare(&toy_method, &query, &plan, &prepared, NULL), RYND_OK);
    assert_int_equal(prepared.form.value[ROWS], 8);
    assert_int_equal(prepared.form.value[COLUMNS], 3);
    ry_form_method_initialise(&toy_method, &(ry_query){.form = &prepared.form}, &plan);
    assert_int_equal(plan.rows, 8);
    ry_knob_values values = {0};
    ry_form_method_values(&toy_method, &query, ROWS, &plan, &values);
    assert_int_equal(values.count, 6); /* 1, 2, 3, 4, 6, 8 */
}

/* Every element belongs to one task. */
static void test_tasks_cover_their_axes_once(void **state)
{
    (void)state;
    const ry_task_cut cut = {{{2, 1}, {7, 3}, {5, 4}}};
    int seen[2][7][5] = {{{0}}};
    assert_int_equal(ry_cut_tasks(&cut), 2 * 3 * 2);
    for (size_t task = 0; task < 12; task++) {
        ry_cut_range range[RY_CUT_AXES];
        ry_cut_task(&cut, task, range);
        assert_int_equal(range[2].first, task % 2 * 4);
        assert_int_equal(range[3].count, 0);
        for (int64_t i = 0; i < range[1].count; i++) {
            for (int64_t j = 0; j < range[2].count; j++) {
                seen[range[0].first][range[1].first + i][range[2].first + j]++;
            }
        }
    }
    for (size_t i = 0; i < sizeof seen / sizeof seen[0][0][0]; i++) {
        assert_int_equal((&seen[0][0][0])[i], 1);
    }
    const ry_task_cut empty = {{{0, 1}, {7, 3}}};
    assert_int_equal(ry_cut_tasks(&empty), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_plan_is_left_in_the_cheapest_form),
        cmocka_unit_test(test_the_earlier_of_equal_forms_wins),
        cmocka_unit_test(test_what_does_not_fit_is_left_out_but_for_the_smallest),
        cmocka_unit_test(test_a_knob_that_is_set_has_no_other_value),
        cmocka_unit_test(test_values_are_listed_for_all_values_of_outer_axes),
        cmocka_unit_test(test_lists_of_parts),
        cmocka_unit_test(test_a_method_prepares_its_cheapest_form),
        cmocka_unit_test(test_tasks_cover_their_axes_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
