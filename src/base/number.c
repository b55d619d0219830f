/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers through the C library, whose decimal point is the locale's: it is put in and taken out
 * here. */
#include "base/number.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *locale_point(void)
{
    const struct lconv *conventions = localeconv();
    return conventions->decimal_point[0] ? conventions->decimal_point : ".";
}

static void replace_point(char *text)
{
    const char *point = locale_point();
    char *at = strstr(text, point);
    if (at && strcmp(point, ".") != 0) {
        size_t length = strlen(point);
        *at = '.';
        memmove(at + 1, at + length, strlen(at + length) + 1);
    }
}

void ry_number_print(double number, char text[RY_NUMBER_SIZE])
{
    if (isnan(number) || isinf(number)) {
        snprintf(text, RY_NUMBER_SIZE, "%s", isnan(number) ? "nan" : number < 0 ? "-inf" : "inf");
        return;
    }
    /* 17 digits tell every double from its neighbours */
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, RY_NUMBER_SIZE, "%.*g", digits, number);
        if (strtod(text, NULL) == number) {
            break;
        }
    }
    replace_point(text);
}

void ry_number_print_fixed(double number, int decimals, char text[RY_NUMBER_SIZE])
{
    if (!(fabs(number) < 1e18)) {
        ry_number_print(number, text);
        return;
    }
    snprintf(text, RY_NUMBER_SIZE, "%.*f", decimals, number);
    replace_point(text);
}

/* [-+] digits [. digits] [e [-+] digits], at least one digit before the exponent. */
static bool is_decimal(const char *text, size_t length)
{
    size_t i = 0, digits = 0;
    i += length > 0 && (text[0] == '-' || text[0] == '+');
    for (; i < length && text[i] >= '0' && text[i] <= '9'; i++) {
        digits++;
    }
    for (i += i < length && text[i] == '.'; i < length && text[i] >= '0' && text[i] <= '9'; i++) {
        digits++;
    }
    if (digits && i < length && (text[i] == 'e' || text[i] == 'E')) {
        i++;
        i += i < length && (text[i] == '-' || text[i] == '+');
        size_t first = i;
        while (i < length && text[i] >= '0' && text[i] <= '9') {
            i++;
        }
        return i == length && i > first;
    }
    return digits && i == length;
}

static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

bool ry_number_parse(const char *text, size_t length, double *number)
{
    enum { LONGEST = 128 };
    if (is_word(text, length, "inf") || is_word(text, length, "-inf")) {
        *number = text[0] == '-' ? -INFINITY : INFINITY;
        return true;
    }
    if (is_word(text, length, "nan")) {
        *number = NAN;
        return true;
    }
    if (length > LONGEST || !is_decimal(text, length)) {
        return false;
    }
    char copy[LONGEST + 16];
    const char *dot = memchr(text, '.', length), *point = locale_point();
    size_t before = dot ? (size_t)(dot - text) : length;
    snprintf(copy, sizeof copy, "%.*s%s%.*s", (int)before, text, dot ? point : "",
             (int)(dot ? length - before - 1 : 0), dot ? dot + 1 : "");
    *number = strtod(copy, NULL);
    return true;
}

bool ry_integer_parse(const char *text, size_t length, int64_t *number)
{
    size_t i = length > 0 && text[0] == '-';
    bool negative = i == 1;
    int64_t value = 0;
    if (i == length) {
        return false;
    }
    for (; i < length; i++) {
        if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(value, 10, &value) ||
            (negative ? __builtin_sub_overflow(value, text[i] - '0', &value)
                      : __builtin_add_overflow(value, text[i] - '0', &value))) {
            return false;
        }
    }
    *number = value;
    return true;
}
