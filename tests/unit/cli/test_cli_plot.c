/* SPDX-License-Identifier: Apache-2.0 */
/* Plots: ticks, places, and documents that hold together whatever the names are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plot.h"
#include "plot_axis.h"
#include "svg.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_ticks(cli_axis axis, size_t wanted, bool whole, const char *ticks)
{
    double values[CLI_MAX_TICKS];
    char text[512] = "";
    const size_t count = cli_axis_ticks(&axis, wanted, whole, values);
    for (size_t i = 0; i < count; i++) {
        char one[32];
        snprintf(one, sizeof one, "%s%.6g", i ? " " : "", values[i]);
        strcat(text, one);
    }
    assert_string_equal(text, ticks);
}

static void ticks(void **state)
{
    (void)state;
    check_ticks((cli_axis){.low = 0, .high = 8}, 14, true, "0 1 2 3 4 5 6 7 8");
    check_ticks((cli_axis){.low = 0, .high = 2}, 14, true, "0 1 2");
    check_ticks((cli_axis){.low = 0, .high = 2}, 4, false, "0 0.5 1 1.5 2");
    check_ticks((cli_axis){.low = 1, .high = 130}, 14, true,
                "10 20 30 40 50 60 70 80 90 100 110 120 130");
    check_ticks((cli_axis){.low = 200, .high = 260}, 7, true, "200 210 220 230 240 250 260");
    check_ticks((cli_axis){.low = 0, .high = 234.5}, 7, false, "0 50 100 150 200");
    check_ticks((cli_axis){.low = -3, .high = 3}, 7, true, "-3 -2 -1 0 1 2 3");
    check_ticks((cli_axis){.low = 5, .high = 5}, 7, true, "5");
    check_ticks((cli_axis){.low = 16, .high = 520, .log = true}, 7, false, "20 50 100 200 500");
    check_ticks((cli_axis){.low = 1e-3, .high = 1e9, .log = true}, 7, false,
                "0.001 0.1 10 1000 100000 1e+07 1e+09");
    check_ticks((cli_axis){.low = 31, .high = 44, .log = true}, 7, false, "32 34 36 38 40 42 44");
}

static void places_on_an_axis(void **state)
{
    (void)state;
    const cli_axis linear = {.low = 0, .high = 10, .from = 100, .to = 200},
                   down = {.low = 1, .high = 100, .from = 300, .to = 100, .log = true},
                   point = {.low = 3, .high = 3, .from = 0, .to = 50};
    assert_true(cli_axis_place(&linear, 0) == 100 && cli_axis_place(&linear, 5) == 150);
    const double middle = cli_axis_place(&down, 10);
    assert_true(middle > 199.999 && middle < 200.001);
    assert_true(cli_axis_place(&point, 3) == 25);
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part)) {
        count++;
    }
    return count;
}

/* Every '<' opens a tag, which closes; nothing else that means something in XML is left. */
static void check_document(const char *text, size_t size)
{
    assert_int_equal(strlen(text), size);
    assert_int_equal(count_of(text, "<"), count_of(text, ">"));
    assert_int_equal(count_of(text, "<svg "), 1);
    assert_true(strcmp(text + size - 7, "</svg>\n") == 0);
    assert_int_equal(count_of(text, "<text "), count_of(text, "</text>"));
    for (const char *at = text; (at = strchr(at, '&')) != NULL; at++) {
        assert_true(strncmp(at, "&amp;", 5) == 0 || strncmp(at, "&lt;", 4) == 0 ||
                    strncmp(at, "&gt;", 4) == 0 || strncmp(at, "&quot;", 6) == 0);
    }
    for (size_t i = 0; i < size; i++) {
        assert_true((unsigned char)text[i] >= ' ' || text[i] == '\n');
    }
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
}

static void hostile_names(void **state)
{
    (void)state;
    static const char name[] = "</text><script>\"&'\x1b[31m\n\xff\xef\xbf\xbf\xe2\x80\xae";
    cli_svg svg;
    size_t size;
    cli_svg_begin(&svg, 100, 50, name, "");
    cli_svg_text(&svg, 1, 2, "class=\"t\"", name);
    cli_svg_noted(&svg, name, "circle", "cx=\"%.1f\"", 1.0);
    cli_svg_noted(&svg, NULL, "circle", "cx=\"%.1f\"", 1.0);
    char *text = cli_svg_end(&svg, &size);
    assert_non_null(text);
    check_document(text, size);
    assert_null(strstr(text, "<script>"));
    assert_int_equal(
        count_of(text, "&lt;/text&gt;&lt;script&gt;&quot;&amp;'\\x1b[31m\\n\\xff\\uffff\\u202e"),
        3);
    free(text);
}

/* Two lines of so many points, the second dashed, with two marks. */
static char *draw(size_t count, const char *title, size_t groups, bool log, size_t *size)
{
    static cli_plot_point points[400];
    static const char *names[40];
    static char kernels[40][48];
    const cli_plot_line lines[] = {{"k=8 layout=<nchw>", points, count, false, true},
                                   {"", points, count, true, false}};
    for (size_t i = 0; i < count; i++) {
        const double y = i == 4 ? 90 : 10 + (double)(i % 7);
        points[i] = (cli_plot_point){(double)i + log, y, y / 2, y * 2, i % groups, "<note>"};
    }
    const double last = points[count - 1].x;
    const cli_plot_mark marks[] = {{last, points[count - 1].y, 0, "D_max 1.31"},
                                   {4, 90, 1, "E 2.25"},
                                   {5, 15, 1, "E 1.75"},
                                   {6, 16, 1, "E 1.60"}};
    for (size_t g = 0; g < groups; g++) {
        snprintf(kernels[g], sizeof kernels[g], "conv_fwd_f32_method_%zu_avx512", g);
        names[g] = kernels[g];
    }
    const cli_plot plot = {.title = title,
                           .subtitle = "predicted on a machine",
                           .x_label = "pad",
                           .y_label = "time (us)",
                           .x_log = log,
                           .lines = lines,
                           .line_count = 2,
                           .groups = names,
                           .group_count = groups,
                           .dashed_name = "predicted",
                           .marks = marks,
                           .mark_count = count > 8 ? 4 : 0};
    return cli_plot_draw(&plot, 1, size);
}

static void pictures(void **state)
{
    (void)state;
    char longest[600];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    memcpy(longest + 90, "\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80", 16);
    const struct {
        size_t count, groups;
        bool log;
        const char *title;
    } cases[] = {{1, 1, false, "conv"},
                 {2, 2, false, "conv"},
                 {9, 3, false, "a & b"},
                 {9, 3, true, "conv"},
                 {400, 30, false, longest}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t size;
        char *text = draw(cases[i].count, cases[i].title, cases[i].groups, cases[i].log, &size);
        assert_non_null(text);
        check_document(text, size);
        assert_int_equal(count_of(text, "&lt;note&gt;"), cases[i].count);
        assert_int_equal(count_of(text, "_avx512</text>"), cases[i].groups);
        assert_int_equal(count_of(text, ">E 2.25</text>"), cases[i].count > 8);
        assert_int_equal(count_of(text, ">D_max 1.31</text>"), cases[i].count > 8);
        assert_int_equal(count_of(text, ">k=8 layout=&lt;nchw&gt;</text>"), 1);
        const char *folder = getenv("RYND_TEST_PLOTS"); /* to look at them */
        if (folder) {
            char path[512];
            snprintf(path, sizeof path, "%s/plot%zu.svg", folder, i);
            FILE *file = fopen(path, "w");
            assert_non_null(file);
            fwrite(text, 1, size, file);
            fclose(file);
        }
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks),
        cmocka_unit_test(places_on_an_axis),
        cmocka_unit_test(hostile_names),
        cmocka_unit_test(pictures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
