/* SPDX-License-Identifier: Apache-2.0 */
/* Records as JSON (RFC 8259), one a line. */
#include "wisdom/wisdom_lines.h"

#include "base/number.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

/* A FLAG is written as 1 if set, else left out. */
typedef enum kind { TEXT, MAYBE, HEX, UNSIGNED, FLAG, INTEGER, SECONDS } kind;

typedef struct field {
    const char *name;
    kind kind;
    size_t offset;
} field;

#define KEY(member)    offsetof(ry_wisdom_row, key.member)
#define RECORD(member) offsetof(ry_wisdom_row, record.member)

/* THE list of what a line has, in its order. */
static const field fields[] = {
    {"machine", TEXT, KEY(machine)},
    {"problem", TEXT, KEY(problem)},
    {"constants", UNSIGNED, KEY(constants)},
    {"threads", UNSIGNED, KEY(threads)},
    {"kernel", TEXT, RECORD(kernel)},
    {"form", TEXT, RECORD(form)},
    {"source", HEX, RECORD(source)},
    {"rejected", MAYBE, RECORD(rejected)},
    {"samples", INTEGER, RECORD(samples)},
    {"mean", SECONDS, RECORD(mean)},
    {"variance", SECONDS, RECORD(variance)},
    {"median", SECONDS, RECORD(median)},
    {"min", SECONDS, RECORD(min)},
    {"max", SECONDS, RECORD(max)},
    {"predicted", SECONDS, RECORD(predicted)},
    {"time", INTEGER, RECORD(time)},
    {"cold", FLAG, RECORD(cold)},
};
enum { FIELDS = sizeof fields / sizeof *fields };

static void add_string(ry_text *text, const char *string)
{
    ry_text_add(text, "\"");
    while (*string) {
        const size_t plain = strcspn(string, "\"\\");
        ry_text_add(text, "%.*s", (int)plain, string);
        string += plain;
        if (*string) {
            ry_text_add(text, "\\%c", *string++);
        }
    }
    ry_text_add(text, "\"");
}

static void add_value(ry_text *text, kind as, const void *at)
{
    char number[RY_NUMBER_SIZE];
    const char *string = as == TEXT || as == MAYBE ? *(const char *const *)at : NULL;
    switch (as) {
    case TEXT:
    case MAYBE:
        if (string) {
            add_string(text, string);
        } else {
            ry_text_add(text, "null");
        }
        break;
    case HEX: ry_text_add(text, "\"%016" PRIx64 "\"", *(const uint64_t *)at); break;
    case FLAG:
    case UNSIGNED: ry_text_add(text, "%u", *(const unsigned *)at); break;
    case INTEGER: ry_text_add(text, "%" PRId64, *(const int64_t *)at); break;
    default: ry_number_print(*(const double *)at, number); ry_text_add(text, "%s", number);
    }
}

void ry_wisdom_print_line(const ry_wisdom_key *key, const ry_wisdom_record *record, ry_text *text)
{
    const ry_wisdom_row row = {*key, *record};
    for (int i = 0; i < FIELDS; i++) {
        const void *at = (const char *)&row + fields[i].offset;
        if (fields[i].kind != FLAG || *(const unsigned *)at) {
            ry_text_add(text, "%s\"%s\":", i ? "," : "{", fields[i].name);
            add_value(text, fields[i].kind, at);
        }
    }
    ry_text_add(text, "}");
}

typedef struct reader {
    const char *begin, *at, *end;
    ry_arena *arena;
    ry_error *error;
} reader;

static rynd_status fail(const reader *r, const char *what)
{
    return ry_fail(r->error, RYND_ERROR_FORMAT, "column %zu: %s", (size_t)(r->at - r->begin) + 1,
                   what);
}

static void skip_blanks(reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r')) {
        r->at++;
    }
}

static bool take(reader *r, char c)
{
    skip_blanks(r);
    if (r->at < r->end && *r->at == c) {
        r->at++;
        return true;
    }
    return false;
}

/* Four hexadecimal digits of what is ASCII. */
static bool take_code(reader *r, char *c)
{
    static const char digits[] = "0123456789abcdef";
    unsigned code = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        const char lower = r->at < r->end ? (char)(*r->at | ' ') : 0;
        const char *digit = lower ? strchr(digits, lower) : NULL;
        if (!digit) {
            return false;
        }
        code = code << 4 | (unsigned)(digit - digits);
    }
    *c = (char)code;
    return code > 0 && code < 0x80;
}

static bool take_escape(reader *r, char *c)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (r->at == r->end) {
        return false;
    }
    const char which = *r->at++;
    if (which == 'u') {
        return take_code(r, c);
    }
    const char *found = which ? strchr(from, which) : NULL;
    *c = found ? to[found - from] : 0;
    return found != NULL;
}

static rynd_status take_string(reader *r, const char **string)
{
    if (!take(r, '"')) {
        return fail(r, "a text in quotes is missing");
    }
    const char *close = r->at;
    while (close < r->end && *close != '"') {
        close += *close == '\\' && close + 1 < r->end ? 2 : 1;
    }
    if (close >= r->end) {
        return fail(r, "a text has no end");
    }
    char *text = ry_arena_take(r->arena, (size_t)(close - r->at) + 1, 1);
    if (!text) {
        return ry_fail_memory(r->error);
    }
    *string = text;
    while (r->at < close) {
        char c = *r->at++;
        if (c == '\\' ? !take_escape(r, &c) : (unsigned char)c < ' ' || (unsigned char)c > '~') {
            return fail(r, "a text has something else than printable ASCII");
        }
        *text++ = c;
    }
    r->at = close + 1;
    return RYND_OK;
}

/* A number, true, false or null: what is up to the next comma or bracket. */
static size_t take_word(reader *r, const char **word)
{
    skip_blanks(r);
    *word = r->at;
    while (r->at < r->end && !strchr(" \t\r,}", *r->at)) {
        r->at++;
    }
    return (size_t)(r->at - *word);
}

static bool is_word(const char *word, size_t length, const char *wanted)
{
    return strlen(wanted) == length && memcmp(word, wanted, length) == 0;
}

static bool is_number(const char *word, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (!word[i] || !strchr("+-.0123456789eE", word[i])) {
            return false;
        }
    }
    return length > 0 && (*word == '-' || (*word >= '0' && *word <= '9'));
}

static rynd_status take_hash(reader *r, uint64_t *hash)
{
    static const char digits[] = "0123456789abcdef";
    const char *text;
    RY_TRY(take_string(r, &text));
    *hash = 0;
    if (strlen(text) != 16 || strspn(text, digits) != 16) {
        return fail(r, "a source has 16 hexadecimal digits");
    }
    for (; *text; text++) {
        *hash = *hash << 4 | (uint64_t)(strchr(digits, *text) - digits);
    }
    return RYND_OK;
}

static rynd_status take_number(reader *r, kind as, void *to)
{
    const char *word;
    int64_t whole;
    const size_t length = take_word(r, &word);
    if (!is_number(word, length)) {
        return fail(r, "a number is missing");
    }
    if (as == SECONDS) {
        return ry_number_parse(word, length, to) ? RYND_OK : fail(r, "that is no number");
    }
    if (!ry_integer_parse(word, length, &whole) ||
        (as != INTEGER && (whole < 0 || whole > (as == FLAG ? 1 : UINT32_MAX)))) {
        return fail(r, "a whole number within its range is missing");
    }
    if (as != INTEGER) {
        *(unsigned *)to = (unsigned)whole;
    } else {
        *(int64_t *)to = whole;
    }
    return RYND_OK;
}

static rynd_status take_value(reader *r, kind as, void *to)
{
    const char *word;
    skip_blanks(r);
    if (as == MAYBE && r->at < r->end && *r->at == 'n') {
        *(const char **)to = NULL;
        const size_t length = take_word(r, &word);
        return is_word(word, length, "null") ? RYND_OK : fail(r, "that is no value");
    }
    return as == TEXT || as == MAYBE ? take_string(r, to)
           : as == HEX               ? take_hash(r, to)
                                     : take_number(r, as, to);
}

static rynd_status pass_over(reader *r)
{
    const char *word;
    skip_blanks(r);
    if (r->at < r->end && *r->at == '"') {
        return take_string(r, &word);
    }
    const size_t length = take_word(r, &word);
    return is_number(word, length) || is_word(word, length, "null") ||
                   is_word(word, length, "true") || is_word(word, length, "false")
               ? RYND_OK
               : fail(r, "a value is a text, a number, true, false or null");
}

static rynd_status take_field(reader *r, ry_wisdom_row *row, unsigned *seen)
{
    const char *name;
    RY_TRY(take_string(r, &name));
    if (!take(r, ':')) {
        return fail(r, "':' is missing");
    }
    for (int i = 0; i < FIELDS; i++) {
        if (strcmp(fields[i].name, name) == 0) {
            *seen |= 1u << i;
            return take_value(r, fields[i].kind, (char *)row + fields[i].offset);
        }
    }
    return pass_over(r);
}

rynd_status ry_wisdom_parse_line(const char *line, size_t length, ry_arena *arena,
                                 ry_wisdom_row *row, ry_error *error)
{
    reader r = {line, line, line + length, arena, error};
    unsigned seen = 0;
    *row = (ry_wisdom_row){0};
    if (!take(&r, '{')) {
        return fail(&r, "a record begins with '{'");
    }
    do {
        RY_TRY(take_field(&r, row, &seen));
    } while (take(&r, ','));
    if (!take(&r, '}')) {
        return fail(&r, "',' or '}' is missing");
    }
    skip_blanks(&r);
    if (r.at != r.end) {
        return fail(&r, "something stands behind the record");
    }
    for (int i = 0; i < FIELDS; i++) {
        if (!(seen >> i & 1u) && fields[i].kind != MAYBE && fields[i].kind != FLAG) {
            return ry_fail(error, RYND_ERROR_FORMAT, "it has no \"%s\"", fields[i].name);
        }
    }
    const char *wrong = ry_wisdom_complaint(&row->key, &row->record);
    return wrong ? ry_fail(error, RYND_ERROR_FORMAT, "its \"%s\" is none that a record may have",
                           wrong)
                 : RYND_OK;
}
