/* SPDX-License-Identifier: Apache-2.0 */
/* Records as JSON Lines: the same records, the same bytes; what is no record is refused by its
 * place. */
#include "wisdom/wisdom_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define LINE                                                                                \
    "{\"machine\":\"m\",\"problem\":\"conv \\\"x\\\" \\\\\",\"constants\":4294967295,"      \
    "\"threads\":2,\"kernel\":\"k\",\"form\":\"\",\"source\":\"00000000deadbeef\","         \
    "\"rejected\":null,\"samples\":3,\"mean\":0.0001,\"variance\":1e-12,\"median\":0.0001," \
    "\"min\":9.999999999999999e-05,\"max\":0.00011,\"predicted\":0,\"time\":1790000000}"

static rynd_status parse(const char *line, ry_arena *arena, ry_wisdom_row *row, ry_error *error)
{
    /* without an end behind it, so that reading beyond it is noticed */
    const size_t length = strlen(line);
    char *copy = malloc(length ? length : 1);
    memcpy(copy, line, length);
    const rynd_status status = ry_wisdom_parse_line(copy, length, arena, row, error);
    free(copy);
    return status;
}

static void test_round_trip(void **state)
{
    (void)state;
    ry_arena arena;
    ry_wisdom_row row;
    ry_error error = {""};
    ry_arena_init(&arena, &ry_system_allocator);
    assert_int_equal(parse(LINE, &arena, &row, &error), RYND_OK);
    assert_string_equal(row.key.problem, "conv \"x\" \\");
    assert_true(row.key.constants == UINT32_MAX && row.record.source == 0xdeadbeef &&
                row.record.median == 1e-4 && !row.record.rejected);
    ry_text text = {.arena = &arena};
    ry_wisdom_print_line(&row.key, &row.record, &text);
    assert_string_equal(text.at, LINE);
    ry_arena_free(&arena);
}

static void replaced(const char *from, const char *to, char *line, size_t size)
{
    const char *at = strstr(LINE, from);
    assert_non_null(at);
    snprintf(line, size, "%.*s%s%s", (int)(at - LINE), LINE, to, at + strlen(from));
}

static void test_other_spellings(void **state)
{
    (void)state;
    static const char *const changes[][2] = {
        {"\"machine\":\"m\"", " \"machine\" :\t\"\\u006d\" "},
        {"\"rejected\":null,", ""},
        {"\"rejected\":null,", "\"later\":\"\\n\",\"more\":-1e5,\"and\":true,"},
        {"1e-12", "1E-12"},
        {"}", " } \r"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char line[1024];
        ry_arena arena;
        ry_wisdom_row row;
        ry_error error = {""};
        ry_arena_init(&arena, &ry_system_allocator);
        replaced(changes[i][0], changes[i][1], line, sizeof line);
        if (parse(line, &arena, &row, &error) != RYND_OK) {
            fail_msg("%s: %s", line, error.text);
        }
        ry_text text = {.arena = &arena};
        ry_wisdom_print_line(&row.key, &row.record, &text);
        assert_string_equal(text.at, LINE);
        ry_arena_free(&arena);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const changes[][3] = {
        {"{", "[", "'{'"},
        {"}", "", "',' or '}'"},
        {"}", "}}", "behind"},
        {"\"m\"", "\"m", "',' or '}'"},
        {"\"machine\":", "\"machine\"", "':' is missing"},
        {"\"m\"", "m", "text in quotes"},
        {"\"m\"", "\"\\u00e9\"", "ASCII"},
        {"\"m\"", "\"\\x\"", "ASCII"},
        {"\"m\"", "\"\\u12\"", "ASCII"},
        {"\"m\"", "\"\x1b[2J\"", "ASCII"},
        {"\"m\"", "\"\"", "machine"},
        {"\"m\"", "null", "text in quotes"},
        {"4294967295", "4294967296", "whole number"},
        {"4294967295", "-1", "whole number"},
        {"4294967295", "1.5", "whole number"},
        {"\"threads\":2,", "", "no \"threads\""},
        {"\"threads\":2,", "\"threads\":0,", "threads"},
        {"00000000deadbeef", "deadbeef", "16 hexadecimal"},
        {"00000000deadbeef", "00000000DEADBEEF", "16 hexadecimal"},
        {"1e-12", "nan", "number is missing"},
        {"1e-12", "+1", "number is missing"},
        {"1e-12", "1e-12x", "number is missing"},
        {"1e-12", "-1", "variance"},
        {"0.00011", "1e999", "max"},
        {"\"rejected\":null", "\"rejected\":nil", "no value"},
        {"\"rejected\":null", "\"rejected\":{}", "text in quotes"},
        {"\"rejected\":null", "\"later\":[1]", "a value is"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char line[1024];
        ry_arena arena;
        ry_wisdom_row row;
        ry_error error = {""};
        ry_arena_init(&arena, &ry_system_allocator);
        replaced(changes[i][0], changes[i][1], line, sizeof line);
        assert_int_equal(parse(line, &arena, &row, &error), RYND_ERROR_FORMAT);
        if (!strstr(error.text, changes[i][2])) {
            fail_msg("%s: '%s' has no '%s'", line, error.text, changes[i][2]);
        }
        ry_arena_free(&arena);
    }
    for (size_t length = 0; length < strlen(LINE); length++) {
        char line[1024];
        ry_arena arena;
        ry_wisdom_row row;
        ry_error error = {""};
        ry_arena_init(&arena, &ry_system_allocator);
        memcpy(line, LINE, length);
        line[length] = 0;
        assert_int_equal(parse(line, &arena, &row, &error), RYND_ERROR_FORMAT);
        ry_arena_free(&arena);
    }
}

static void test_files(void **state)
{
    (void)state;
    char path[] = "/tmp/rynd_wisdom_lines_XXXXXX", copy[64];
    const int file = mkstemp(path);
    FILE *stream = fdopen(file, "w");
    fprintf(stream, "\n" LINE "\r\n  \n" LINE); /* the last without an end */
    fclose(stream);
    ry_arena arena;
    ry_wisdom_row *rows;
    ry_error error = {""};
    size_t count, taken;
    ry_arena_init(&arena, &ry_system_allocator);
    assert_int_equal(ry_wisdom_read_lines(path, &arena, &rows, &count, &error), RYND_OK);
    assert_int_equal(count, 2);
    ry_wisdom *w;
    assert_int_equal(ry_wisdom_open(NULL, false, &ry_system_allocator, &w, &error), RYND_OK);
    assert_int_equal(ry_wisdom_merge(w, rows, count, &taken, &error), RYND_OK);
    assert_int_equal(taken, 1); /* the second is no better */
    snprintf(copy, sizeof copy, "%s.copy", path);
    assert_int_equal(ry_wisdom_write_lines(w, NULL, copy, &ry_system_allocator, &count, &error),
                     RYND_OK);
    assert_int_equal(count, 1);
    char text[1024];
    stream = fopen(copy, "r");
    text[fread(text, 1, sizeof text - 1, stream)] = 0;
    fclose(stream);
    assert_string_equal(text, LINE "\n");
    assert_int_equal(
        ry_wisdom_write_lines(w, NULL, "/dev/full", &ry_system_allocator, &count, &error),
        RYND_ERROR_IO);
    assert_non_null(strstr(error.text, "/dev/full: "));
    assert_int_equal(
        ry_wisdom_write_lines(w, NULL, "/nowhere/x", &ry_system_allocator, &count, &error),
        RYND_ERROR_IO);
    stream = fopen(path, "w");
    fprintf(stream, LINE "\n{}\n");
    fclose(stream);
    assert_int_equal(ry_wisdom_read_lines(path, &arena, &rows, &count, &error), RYND_ERROR_FORMAT);
    assert_non_null(strstr(error.text, ": line 2: "));
    stream = fopen(path, "w");
    for (int i = 0; i < 200000; i++) {
        fputc(' ', stream);
    }
    fclose(stream);
    assert_int_equal(ry_wisdom_read_lines(path, &arena, &rows, &count, &error), RYND_ERROR_FORMAT);
    assert_int_equal(ry_wisdom_read_lines("/nowhere/x", &arena, &rows, &count, &error),
                     RYND_ERROR_IO);
    assert_int_equal(ry_wisdom_read_lines("/tmp", &arena, &rows, &count, &error), RYND_ERROR_IO);
    ry_wisdom_close(w);
    ry_arena_free(&arena);
    remove(path);
    remove(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_other_spellings),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
