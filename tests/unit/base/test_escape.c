/* SPDX-License-Identifier: Apache-2.0 */
/* Names as text to be shown: every class of characters, broken UTF-8, small buffers, and messages
 * of the library. */
#define _XOPEN_SOURCE 700

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <rynd/rynd.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *text, *line, *json;
} cases[] = {
    {"", "", "\"\""},
    {"conv_1/Relu:0", "conv_1/Relu:0", "\"conv_1/Relu:0\""},
    {"a \"b\" \\n", "a \"b\" \\n", "\"a \\\"b\\\" \\\\n\""},
    {"\x1b[31m\a", "\\x1b[31m\\x07", "\"\\u001b[31m\\u0007\""},
    {"a\nb\rc\td\x7f", "a\\nb\\rc\\td\\x7f", "\"a\\nb\\rc\\td\\u007f\""},
    {"\xc2\x9b"
     "31m",
     "\\u009b31m", "\"\\u009b31m\""}, /* C1: CSI */
    {"Gr\xc3\xb6\xc3\x9f"
     "e \xe6\xbc\xa2 \xf0\x9f\x98\x80",
     "Gr\xc3\xb6\xc3\x9f"
     "e \xe6\xbc\xa2 \xf0\x9f\x98\x80",
     "\"Gr\xc3\xb6\xc3\x9f"
     "e \xe6\xbc\xa2 \xf0\x9f\x98\x80\""}, /* ö, ß, a CJK character, an emoji */
    {"\xe2\x80\xae"
     "gpj.exe\xe2\x81\xa6",
     "\\u202egpj.exe\\u2066", "\"\\u202egpj.exe\\u2066\""}, /* overrides of direction */
    {"\xe2\x80\xa8\xe2\x80\xa9\xef\xbb\xbf", "\\u2028\\u2029\\ufeff",
     "\"\\u2028\\u2029\\ufeff\""}, /* separators of lines, a byte order mark */
    {"\xf3\xa0\x81\x81", "\\U000e0041", "\"\\udb40\\udc41\""},        /* a tag */
    {"\x80\xff\xc3", "\\x80\\xff\\xc3", "\"\\\\x80\\\\xff\\\\xc3\""}, /* no UTF-8; cut */
    {"\xc0\xaf\xe0\x80\xaf", "\\xc0\\xaf\\xe0\\x80\\xaf",
     "\"\\\\xc0\\\\xaf\\\\xe0\\\\x80\\\\xaf\""},                      /* longer forms of '/' */
    {"\xed\xa0\x80", "\\xed\\xa0\\x80", "\"\\\\xed\\\\xa0\\\\x80\""}, /* a surrogate */
    /* beyond U+10FFFF */
    {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", "\"\\\\xf4\\\\x90\\\\x80\\\\x80\""},
    {"\xe2\x80", "\\xe2\\x80", "\"\\\\xe2\\\\x80\""},
};

static void test_cases(void **state)
{
    (void)state;
    char text[256];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(rynd_text_escape(cases[i].text, RYND_ESCAPE_LINE, text, sizeof text),
                         strlen(cases[i].line));
        assert_string_equal(text, cases[i].line);
        assert_int_equal(rynd_text_escape(cases[i].text, RYND_ESCAPE_JSON, text, sizeof text),
                         strlen(cases[i].json));
        assert_string_equal(text, cases[i].json);
    }
    assert_int_equal(rynd_text_escape(NULL, RYND_ESCAPE_JSON, text, sizeof text), 2);
    assert_string_equal(text, "\"\"");
}

/* Any bytes: a line stays what it is when it is escaped again, and holds no control character. */
static void test_any_bytes(void **state)
{
    (void)state;
    uint64_t random = 1;
    char raw[33], line[256], again[256];
    for (int turn = 0; turn < 20000; turn++) {
        for (int i = 0; i < 32; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            const unsigned char byte = (unsigned char)(random >> 56);
            raw[i] = (char)(byte ? byte : 1);
        }
        raw[32] = 0;
        const size_t length = rynd_text_escape(raw, RYND_ESCAPE_LINE, line, sizeof line);
        assert_true(length < sizeof line && length == strlen(line));
        for (const char *c = line; *c; c++) {
            assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
        }
        assert_int_equal(rynd_text_escape(line, RYND_ESCAPE_LINE, again, sizeof again), length);
        assert_string_equal(line, again);
    }
}

/* What does not fit is left out by whole characters, and nothing is written behind the buffer. */
static void test_small_buffers(void **state)
{
    (void)state;
    const char text[] = "a\xc3\xb6\x1b!";
    static const char *const expected[] = {"",
                                           "a",
                                           "a",
                                           "a\xc3\xb6",
                                           "a\xc3\xb6",
                                           "a\xc3\xb6",
                                           "a\xc3\xb6",
                                           "a\xc3\xb6\\x1b",
                                           "a\xc3\xb6\\x1b!"};
    for (size_t size = 1; size <= sizeof expected / sizeof *expected; size++) {
        char *to = malloc(size);
        assert_non_null(to);
        assert_int_equal(rynd_text_escape(text, RYND_ESCAPE_LINE, to, size), 8);
        assert_string_equal(to, expected[size - 1]);
        free(to);
    }
    assert_int_equal(rynd_text_escape(text, RYND_ESCAPE_LINE, NULL, 0), 8);
}

static char logged[4096];

static void keep(void *user, int level, const char *message)
{
    (void)user, (void)level;
    strncat(logged, message, sizeof logged - strlen(logged) - 1);
}

/* A file's name in an error, and in a warning. */
static void test_messages(void **state)
{
    (void)state;
    rynd_context *context;
    rynd_model *model;
    const rynd_context_options options = RYND_SIZED(rynd_context_options, .log = keep);
    setenv("RYND_MACHINE", "/dev/null/\x1b]0;title\x07", 1);
    assert_int_equal(rynd_context_create(&options, &context), RYND_OK);
    assert_non_null(strstr(logged, "/dev/null/\\x1b]0;title\\x07"));
    assert_null(strchr(logged, '\x1b'));
    assert_int_not_equal(rynd_model_load(context, "no\x1b[2J\xff.onnx", &model), RYND_OK);
    assert_non_null(strstr(rynd_last_error(), "no\\x1b[2J\\xff.onnx"));
    rynd_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_any_bytes),
        cmocka_unit_test(test_small_buffers),
        cmocka_unit_test(test_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
