/* SPDX-License-Identifier: Apache-2.0 */
/* What `rynd sweep` is made of: ranges, and what is a cliff. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cliffs.h"
#include "ranges.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void close_to(double is, double wanted)
{
    if (!(is > wanted - 1e-9 && is < wanted + 1e-9)) {
        fail_msg("%.12g, not %.12g", is, wanted);
    }
}

/* All values of a range with spaces between them. */
static void check_range(const char *text, const char *words, const char *values, bool numbers)
{
    cli_range range;
    cli_failure failure = {0};
    char all[256] = "";
    if (!cli_range_parse(text, &range, &failure)) {
        fail_msg("%s: %s", text, failure.text);
    }
    for (size_t i = 0; i < range.count; i++) {
        strcat(strcat(all, i ? " " : ""), range.texts[i]);
    }
    assert_string_equal(range.words, words);
    assert_string_equal(all, values);
    assert_int_equal(range.numbers != NULL, numbers);
    cli_range_free(&range);
}

static void ranges(void **state)
{
    (void)state;
    check_range("pad=0..3", "pad", "0 1 2 3", true);
    check_range("w=200..211:4", "w", "200 204 208", true);
    check_range("k=32,8,16..18,16", "k", "8 16 17 18 32", true);
    check_range("c=7", "c", "7", true);
    check_range("h+w=8,9", "h+w", "8 9", true);
    check_range("layout=nhwc,nchw", "layout", "nhwc nchw", false);
    check_range("alpha=0.5,1", "alpha", "0.5 1", false);
    check_range("x=9223372036854775806..9223372036854775807", "x",
                "9223372036854775806 9223372036854775807", true);
    check_range("x=-2..-1", "x", "-2 -1", true);
    check_range("x=-9223372036854775808..9223372036854775807:9223372036854775807", "x",
                "-9223372036854775808 -1 9223372036854775806", true);
}

static void wrong_ranges(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"pad", "is no range"},
        {"=1..2", "is no range"},
        {"pad=", "is no range"},
        {"pad=1,", "is no range"},
        {"pad=..", "is no range"},
        {"pad=1..", "is no range"},
        {"pad=..2", "is no range"},
        {"pad=1..2..3", "is no range"},
        {"pad=1..2:", "is no range"},
        {"pad=1..2:x", "is no range"},
        {"pad=a..b", "is no range"},
        {"pad=1..9223372036854775808", "is no range"},
        {"PAD=1", "is no range"},
        {"h+=1", "is no range"},
        {"+h=1", "is no range"},
        {"a+b+c+d+e+f+g+h+i=1", "is no range"},
        {"dtype=f32 layout=nhwc", "is no range"},
        {"dtype='", "is no range"},
        {"dtype=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "is no range"},
        {"pad=8..0", "must ascend"},
        {"pad=0..8:0", "must ascend"},
        {"pad=0..8:-1", "must ascend"},
        {"pad=0..10000", "more than 10000 values"},
        {"pad=-9223372036854775808..9223372036854775807", "more than 10000 values"},
        {"pad=0..9999,10000", "more than 10000 values"},
        {"layout=nchw,nchw", "twice"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cli_range range;
        cli_failure failure = {0};
        if (cli_range_parse(cases[i].text, &range, &failure)) {
            fail_msg("%s was taken", cases[i].text);
        }
        assert_int_equal(failure.exit_code, CLI_EXIT_USAGE);
        if (!strstr(failure.text, cases[i].part)) {
            fail_msg("%s: %s", cases[i].text, failure.text);
        }
        cli_range_free(&range);
    }
}

static void check_problem(const char *problem, const char *first, const char *second,
                          const char *wanted)
{
    cli_range both[2];
    cli_failure failure = {0};
    const size_t values[2] = {1, 0}, count = second ? 2 : 1;
    assert_true(cli_range_parse(first, &both[0], &failure));
    assert_true(!second || cli_range_parse(second, &both[1], &failure));
    char *text = cli_range_problem(problem, both, count, values);
    assert_non_null(text);
    assert_string_equal(text, wanted);
    free(text);
    for (size_t i = 0; i < count; i++) {
        cli_range_free(&both[i]);
    }
}

static void problems(void **state)
{
    (void)state;
    check_problem("conv c=3 pad=7 k=8", "pad=0,1", NULL, "conv c=3 pad=1 k=8");
    check_problem("conv c=3 k=8", "pad=0,1", NULL, "conv c=3 k=8 pad=1");
    check_problem("conv  c=3 k=8 ", "k=1,2", "c=4,5", "conv  c=4 k=2");
    check_problem("conv c=3 h=1", "h+w=8,9", "k=4", "conv c=3 h=9 w=9 k=4");
    check_problem("conv c=3 w=5 h=1", "h+w=8,9", NULL, "conv c=3 w=9 h=9");
    /* a word within a text is none, and one that only begins alike is another */
    check_problem("expr program='x0 + k=3 k=3' kk=1", "k=5,6", NULL,
                  "expr program='x0 + k=3 k=3' kk=1 k=6");
    check_problem("", "k=5,6", NULL, " k=6");
}

/* Two axes: padding, which contains, in two layouts, which do not. */
static void dominance(void **state)
{
    (void)state;
    const cli_grid line = {1, {4}, {true}, {true}};
    double d[6];
    assert_int_equal(cli_grid_points(&line), 4);
    /* the seed of it all: padding 0 takes 178 us, padding 1 takes 30 */
    cli_dominance(&line, (const double[]){178, 30, 31, 60}, d);
    close_to(d[0], 178.0 / 30);
    close_to(d[1], 30.0 / 31);
    close_to(d[2], 31.0 / 60);
    close_to(d[3], 0); /* nothing contains it */
    assert_int_equal(cli_dominance_most(d, 4), 0);
    const cli_grid both = {2, {3, 2}, {true, false}, {true, false}};
    cli_dominance(&both, (const double[]){4, 5, 3, 40, 50, 60}, d);
    close_to(d[0], 4.0 / 3); /* not only its neighbour's */
    close_to(d[1], 5.0 / 3);
    close_to(d[3], 0.8);
    close_to(d[4], 50.0 / 60);
    close_to(d[2] + d[5], 0);
    assert_int_equal(cli_dominance_most(d, 6), 1);
    /* with two that contain, any point that is larger in either counts */
    const cli_grid square = {2, {2, 2}, {true, true}, {true, true}};
    cli_dominance(&square, (const double[]){8, 6, 4, 5}, d);
    close_to(d[0], 2);
    close_to(d[1], 6.0 / 5);
    close_to(d[2], 4.0 / 5);
    close_to(d[3], 0);
    const cli_grid words = {1, {2}, {false}, {false}};
    cli_dominance(&words, (const double[]){1, 2}, d);
    assert_int_equal(cli_dominance_most(d, 2), 2);
}

static void grids(void **state)
{
    (void)state;
    const cli_grid grid = {3, {2, 3, 4}, {false}, {false}};
    assert_int_equal(cli_grid_points(&grid), 24);
    assert_int_equal(cli_grid_stride(&grid, 2), 6);
    assert_int_equal(cli_grid_value(&grid, 23, 0), 1);
    assert_int_equal(cli_grid_value(&grid, 15, 1), 1);
    assert_int_equal(cli_grid_value(&grid, 15, 2), 2);
}

static void excess(void **state)
{
    (void)state;
    close_to(cli_excess(10, 20, 1, 1), 2);
    close_to(cli_excess(20, 10, 1, 1), 2);
    close_to(cli_excess(10, 20, 1, 2), 1); /* twice the work */
    close_to(cli_excess(10, 30, 1, 2), 1.5);
    close_to(cli_excess(10, 20, 2, 1), 2); /* more time for less work: work excuses nothing */
    close_to(cli_excess(20, 10, 1, 2), 2);
    close_to(cli_excess(10, 10, 1, 2), 1);
    close_to(cli_excess(10, 20, 0, 5), 0); /* from no work to some */
    close_to(cli_excess(10, 20, 0, 0), 2);
    close_to(cli_excess(0, 20, 1, 1), 1);
}

static void bounds(void **state)
{
    (void)state;
    const double one[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1},
                 other[9] = {2, 2.5, 1.9, 2.2, 2.1, 9, 2.3, 2.4, 0.5};
    /* four heads in a row come in more than 5 of 100 cases, five do not */
    close_to(cli_excess_bound(one, other, 4, 1, 1), 0);
    close_to(cli_excess_bound(one, other, 5, 1, 1), 1.9);
    /* one of nine may be below: P(at most 1 head) = 10/512, P(at most 2) = 46/512 */
    close_to(cli_excess_bound(one, other, 9, 1, 1), 1.9);
    close_to(cli_excess_bound(other, one, 9, 1, 1), 1.9);
    close_to(cli_excess_bound(one, other, 9, 1, 1.9), 1);
    close_to(cli_excess_bound(one, one, 9, 1, 1), 1);
    double many[2000], twice[2000];
    for (size_t i = 0; i < 2000; i++) {
        many[i] = 1;
        twice[i] = 2;
    }
    close_to(cli_excess_bound(many, twice, 2000, 1, 1), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges), cmocka_unit_test(wrong_ranges), cmocka_unit_test(problems),
        cmocka_unit_test(grids),  cmocka_unit_test(dominance),    cmocka_unit_test(excess),
        cmocka_unit_test(bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
