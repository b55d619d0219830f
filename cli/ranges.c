/* SPDX-License-Identifier: Apache-2.0 */
/* Reads ranges, and puts their values into problems. */
#include "ranges.h"

#include "options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char WORD[] = "abcdefghijklmnopqrstuvwxyz0123456789_";

static bool fail_form(const char *text, cli_failure *failure)
{
    return cli_fail_usage(
        failure,
        "'%s' is no range: give WORD=A..B, WORD=A..B:STEP or WORD=V,V,..., where WORD is a "
        "word of the problem, or several (h+w=8..64)",
        text);
}

static bool fail_many(const char *text, cli_failure *failure)
{
    return cli_fail_usage(failure, "'%s' has more than %d values", text, CLI_RANGE_VALUES);
}

static bool check_words(const char *text, size_t length)
{
    size_t words = 0;
    for (size_t at = 0; at <= length; words++) {
        const size_t word = strspn(text + at, WORD);
        if (word == 0 || (at + word < length && text[at + word] != '+') || at + word > length) {
            return false;
        }
        at += word + 1;
    }
    return words <= CLI_RANGE_WORDS;
}

static bool add_text(cli_range *range, const char *text, size_t length, cli_failure *failure)
{
    char(*texts)[CLI_RANGE_TEXT] = realloc(range->texts, (range->count + 1) * sizeof *texts);
    if (!texts) {
        return cli_fail_memory(failure);
    }
    range->texts = texts;
    snprintf(texts[range->count++], CLI_RANGE_TEXT, "%.*s", (int)length, text);
    return true;
}

static bool add_number(cli_range *range, int64_t number, cli_failure *failure)
{
    char text[CLI_RANGE_TEXT];
    const int length = snprintf(text, sizeof text, "%" PRId64, number);
    return add_text(range, text, (size_t)length, failure);
}

/* "0..8" or "200..260:4". */
static bool add_span(cli_range *range, const char *whole, const char *text, size_t length,
                     cli_failure *failure)
{
    int64_t first, last, step = 1;
    const char *dots = strstr(text, ".."), *colon = memchr(text, ':', length);
    const size_t end = colon ? (size_t)(colon - text) : length, begin = (size_t)(dots - text);
    if (begin + 2 > end || !cli_parse_integer(text, begin, &first) ||
        !cli_parse_integer(dots + 2, end - begin - 2, &last) ||
        (colon && !cli_parse_integer(colon + 1, length - end - 1, &step))) {
        return fail_form(whole, failure);
    }
    if (step < 1 || last < first) {
        return cli_fail_usage(failure, "'%s': a range must ascend, in steps of at least 1", whole);
    }
    /* numbers below 2^63: the distance fits without a sign */
    const uint64_t steps = ((uint64_t)last - (uint64_t)first) / (uint64_t)step;
    if (steps >= CLI_RANGE_VALUES || range->count + steps + 1 > CLI_RANGE_VALUES) {
        return fail_many(whole, failure);
    }
    for (uint64_t i = 0; i <= steps; i++) {
        if (!add_number(range, (int64_t)((uint64_t)first + i * (uint64_t)step), failure)) {
            return false;
        }
    }
    return true;
}

static bool add_item(cli_range *range, const char *whole, const char *text, size_t length,
                     cli_failure *failure)
{
    const char *dots = strstr(text, "..");
    if (dots && (size_t)(dots - text) < length) {
        return add_span(range, whole, text, length, failure);
    }
    if (length == 0 || length >= CLI_RANGE_TEXT || memchr(text, ' ', length) ||
        memchr(text, '\'', length)) {
        return fail_form(whole, failure);
    }
    return range->count < CLI_RANGE_VALUES ? add_text(range, text, length, failure)
                                           : fail_many(whole, failure);
}

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Numbers when all of them are, ascending and each once. */
static bool settle_numbers(cli_range *range, cli_failure *failure)
{
    int64_t *numbers = calloc(range->count, sizeof *numbers);
    if (!numbers) {
        return cli_fail_memory(failure);
    }
    for (size_t i = 0; i < range->count; i++) {
        if (!cli_parse_integer(range->texts[i], strlen(range->texts[i]), &numbers[i])) {
            free(numbers);
            return true;
        }
    }
    qsort(numbers, range->count, sizeof *numbers, compare);
    size_t kept = 0;
    for (size_t i = 0; i < range->count; i++) {
        if (kept == 0 || numbers[i] != numbers[kept - 1]) {
            numbers[kept++] = numbers[i];
        }
    }
    range->count = kept;
    range->numbers = numbers;
    for (size_t i = 0; i < kept; i++) {
        snprintf(range->texts[i], CLI_RANGE_TEXT, "%" PRId64, numbers[i]);
    }
    return true;
}

static bool check_texts(const cli_range *range, const char *whole, cli_failure *failure)
{
    for (size_t i = 0; !range->numbers && i < range->count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (strcmp(range->texts[i], range->texts[j]) == 0) {
                return cli_fail_usage(failure, "'%s' has '%s' twice", whole, range->texts[i]);
            }
        }
    }
    return true;
}

bool cli_range_parse(const char *text, cli_range *range, cli_failure *failure)
{
    *range = (cli_range){0};
    const char *equals = strchr(text, '=');
    if (!equals || !check_words(text, (size_t)(equals - text))) {
        return fail_form(text, failure);
    }
    range->words = strndup(text, (size_t)(equals - text));
    if (!range->words) {
        return cli_fail_memory(failure);
    }
    for (const char *item = equals + 1;;) {
        const size_t length = strcspn(item, ",");
        if (!add_item(range, text, item, length, failure)) {
            return false;
        }
        if (!item[length]) {
            return settle_numbers(range, failure) && check_texts(range, text, failure);
        }
        item += length + 1;
    }
}

void cli_range_free(cli_range *range)
{
    free(range->words);
    free(range->numbers);
    free(range->texts);
    *range = (cli_range){0};
}

bool cli_range_has(const cli_range *range, const char *word, size_t length)
{
    for (const char *at = range->words; at; at = strchr(at, '+')) {
        at += *at == '+';
        if (strcspn(at, "+") == length && memcmp(at, word, length) == 0) {
            return true;
        }
    }
    return false;
}

/* To the end of a word of a problem, whose texts in quotes may have spaces. */
static size_t word_length(const char *text)
{
    size_t length = 0;
    for (bool quoted = false; text[length] && (quoted || !strchr(" \t", text[length])); length++) {
        quoted = quoted != (text[length] == '\'');
    }
    return length;
}

typedef struct text_room {
    char *text;
    size_t used, room;
} text_room;

static void put(text_room *to, const char *text, size_t length)
{
    if (to->used + length < to->room) {
        memcpy(to->text + to->used, text, length);
        to->used += length;
        to->text[to->used] = 0;
    }
}

static void put_value(text_room *to, const char *word, size_t length, const char *value)
{
    put(to, word, length);
    put(to, "=", 1);
    put(to, value, strlen(value));
}

/* Which range has the word, or `count`. */
static size_t find(const cli_range *ranges, size_t count, const char *word, size_t length)
{
    size_t i = 0;
    while (i < count && !cli_range_has(&ranges[i], word, length)) {
        i++;
    }
    return i;
}

/* A place for a value in a problem: "{n}", "{n*2}", "{n/2}", "{n+1}" or "{n-1}". */
typedef struct place {
    size_t length, name; /* characters: all, and the word behind the brace */
    char sign;           /* 0: none */
    int64_t number;
} place;

/* False: there is none at `at`. */
static bool read_place(const char *at, place *found)
{
    if (*at != '{') {
        return false;
    }
    const size_t name = strspn(at + 1, WORD), close = strcspn(at, "}");
    *found =
        (place){.length = close + 1, .name = name, .sign = at[1 + name] == '}' ? 0 : at[1 + name]};
    return name > 0 && at[close] &&
           (found->sign == 0 ||
            (strchr("*/+-", found->sign) &&
             cli_parse_integer(at + name + 2, close - name - 2, &found->number) &&
             found->number > 0));
}

static bool has_word(const char *problem, const char *word, size_t length)
{
    for (const char *at = problem; *at;) {
        const size_t own = word_length(at);
        if (own > length && at[length] == '=' && memcmp(at, word, length) == 0) {
            return true;
        }
        for (size_t i = 0; i < own; i++) {
            place found;
            if (read_place(at + i, &found) && found.name == length &&
                memcmp(at + i + 1, word, length) == 0) {
                return true;
            }
        }
        at += own;
        at += strspn(at, " \t");
    }
    return false;
}

/* False: the value leaves 63 bits. */
static bool compute(const place *p, int64_t value, int64_t *result)
{
    switch (p->sign) {
    case '*': return !__builtin_mul_overflow(value, p->number, result);
    case '+': return !__builtin_add_overflow(value, p->number, result);
    case '-': return !__builtin_sub_overflow(value, p->number, result);
    default: *result = value / p->number; return true;
    }
}

/* A text that no number follows from stays as it is, and the problem is refused. */
static void put_place(text_room *to, const place *p, const char *text)
{
    char result[CLI_RANGE_TEXT];
    int64_t value = 0;
    if (p->sign && cli_parse_integer(text, strlen(text), &value) && compute(p, value, &value)) {
        put(to, result, (size_t)snprintf(result, sizeof result, "%" PRId64, value));
    } else {
        put(to, text, strlen(text));
    }
}

/* A word of the problem, with values in its places. */
static void put_word(text_room *to, const char *at, size_t length, const cli_range *ranges,
                     size_t count, const size_t *values)
{
    for (size_t used = 0; used < length;) {
        place found;
        const bool is = read_place(at + used, &found);
        const size_t i = is ? find(ranges, count, at + used + 1, found.name) : count;
        if (i < count) {
            put_place(to, &found, ranges[i].texts[values[i]]);
            used += found.length;
        } else {
            put(to, at + used++, 1);
        }
    }
}

char *cli_range_problem(const char *problem, const cli_range *ranges, size_t count,
                        const size_t *values)
{
    text_room to = {.room = strlen(problem) + 1};
    for (size_t i = 0; i < count; i++) {
        to.room += CLI_RANGE_WORDS * (strlen(ranges[i].words) + CLI_RANGE_TEXT + 2);
    }
    for (const char *at = problem; (at = strchr(at, '{')) != NULL; at++) {
        to.room += CLI_RANGE_TEXT;
    }
    to.text = calloc(to.room, 1);
    for (const char *at = problem; to.text && *at;) {
        const size_t length = word_length(at), key = strcspn(at, "= \t");
        const size_t i = key < length ? find(ranges, count, at, key) : count;
        if (i < count) {
            put_value(&to, at, key, ranges[i].texts[values[i]]);
        } else {
            put_word(&to, at, length, ranges, count, values);
        }
        const size_t space = strspn(at + length, " \t");
        put(&to, at + length, at[length + space] ? space : 0);
        at += length + space;
    }
    for (size_t i = 0; to.text && i < count; i++) {
        for (const char *word = ranges[i].words; word; word = strchr(word, '+')) {
            word += *word == '+';
            const size_t length = strcspn(word, "+");
            if (!has_word(problem, word, length)) {
                put(&to, " ", 1);
                put_value(&to, word, length, ranges[i].texts[values[i]]);
            }
        }
    }
    return to.text;
}
