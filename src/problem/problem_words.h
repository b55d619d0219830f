/* SPDX-License-Identifier: Apache-2.0 */
/* What printing, parsing and hashing of problems share. */
#ifndef RY_PROBLEM_PROBLEM_WORDS_H
#define RY_PROBLEM_PROBLEM_WORDS_H

#include "base/memory.h"
#include "base/status.h"
#include "base/text.h"
#include "problem/accuracy.h"

/* One `key=value` of a problem's text. */
typedef struct ry_word {
    const char *key, *value;
    size_t key_length, value_length;
    size_t column; /* from 1 */
    bool quoted;
} ry_word;

/* Steps over the next word from *at: 1 found, 0 the end, -1 malformed (*word then says where). */
int ry_word_next(const char *text, const char **at, ry_word *word);
bool ry_word_is(const ry_word *word, const char *key);
/* "problem text, column 12, 'pad=x': " and what is expected. */
rynd_status ry_word_fail(const ry_word *word, ry_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Up to `most` integers separated by commas: how many; 0 when malformed or more. */
int ry_word_integers(const ry_word *word, int64_t *numbers, int most);
rynd_status ry_word_accuracy(const ry_word *word, ry_accuracy *accuracy, ry_error *error);
const char *ry_accuracy_word(ry_accuracy accuracy);

/* Index of the word in `words`, or -1 with a message that lists them. */
int ry_word_choice(const ry_word *word, const char *const *words, int count, ry_error *error);

#endif
