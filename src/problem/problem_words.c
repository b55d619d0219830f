/* SPDX-License-Identifier: Apache-2.0 */
/* Words of a problem's text: taking it apart and putting it together. */
#include "problem/problem_words.h"

#include "base/number.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const accuracies[] = {
    [RY_ACCURACY_strict] = "strict", [RY_ACCURACY_near32] = "near32", [RY_ACCURACY_tf32] = "tf32",
    [RY_ACCURACY_bf16] = "bf16",     [RY_ACCURACY_int8] = "int8",
};
enum { ACCURACIES = sizeof accuracies / sizeof *accuracies };

const char *ry_accuracy_word(ry_accuracy accuracy)
{
    return accuracies[accuracy];
}

rynd_status ry_word_accuracy(const ry_word *word, ry_accuracy *accuracy, ry_error *error)
{
    int choice = ry_word_choice(word, accuracies, ACCURACIES, error);
    *accuracy = choice < 0 ? RY_ACCURACY_near32 : (ry_accuracy)choice;
    return choice < 0 ? RYND_ERROR_FORMAT : RYND_OK;
}

/* The end of a quoted value, behind the opening quote; NULL when it is not closed. */
static const char *closing_quote(const char *at)
{
    for (; *at && *at != '\''; at++) {
        if (at[0] == '\\' && at[1]) {
            at++;
        }
    }
    return *at ? at : NULL;
}

int ry_word_next(const char *text, const char **at, ry_word *word)
{
    *at += strspn(*at, " \t\r\n");
    if (!**at) {
        return 0;
    }
    *word = (ry_word){.key = *at, .column = (size_t)(*at - text) + 1};
    size_t length = strcspn(*at, " \t\r\n=");
    word->key_length = length;
    if ((*at)[length] != '=' || length == 0) {
        word->value = *at + length;
        return -1;
    }
    word->value = *at + length + 1;
    if (*word->value != '\'') {
        word->value_length = strcspn(word->value, " \t\r\n");
        *at = word->value + word->value_length;
        return word->value_length ? 1 : -1;
    }
    word->value++;
    word->quoted = true;
    const char *end = closing_quote(word->value);
    if (!end) {
        return -1;
    }
    word->value_length = (size_t)(end - word->value);
    *at = end + 1;
    return 1;
}

bool ry_word_is(const ry_word *word, const char *key)
{
    return strlen(key) == word->key_length && memcmp(key, word->key, word->key_length) == 0;
}

/* At most this much of a word or list goes into a message. */
enum { SHOWN = 60 };

static int shown(size_t length)
{
    return length > SHOWN ? SHOWN : (int)length;
}

rynd_status ry_word_fail(const ry_word *word, ry_error *error, const char *format, ...)
{
    char text[600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    bool has_value = word->value_length > 0;
    return ry_fail(error, RYND_ERROR_FORMAT, "problem text, column %zu, '%.*s%s%.*s': %s",
                   word->column, shown(word->key_length), word->key, has_value ? "=" : "",
                   has_value ? shown(word->value_length) : 0, word->value, text);
}

int ry_word_integers(const ry_word *word, int64_t *numbers, int most)
{
    const char *at = word->value, *end = word->value + word->value_length;
    for (int count = 0; count < most; count++) {
        const char *comma = memchr(at, ',', (size_t)(end - at)), *stop = comma ? comma : end;
        if (!ry_integer_parse(at, (size_t)(stop - at), &numbers[count])) {
            return 0;
        }
        if (!comma) {
            return count + 1;
        }
        at = comma + 1;
    }
    return 0;
}

int ry_word_choice(const ry_word *word, const char *const *words, int count, ry_error *error)
{
    char list[500];
    size_t used = 0;
    list[0] = 0;
    for (int i = 0; i < count; i++) {
        if (strlen(words[i]) == word->value_length &&
            memcmp(words[i], word->value, word->value_length) == 0) {
            return i;
        }
        if (used < sizeof list) {
            used +=
                (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", words[i]);
        }
    }
    ry_word_fail(word, error, "expected one of %s", list);
    return -1;
}
