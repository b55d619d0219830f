/* SPDX-License-Identifier: Apache-2.0 */
/* Values for words of a problem: "pad=0..8", "c=8..64:8", "k=8,16,32", "h+w=200..260" (both words
 * have the same value), "layout=nchw,nhwc". */
#ifndef CLI_RANGES_H
#define CLI_RANGES_H

#include "failure.h"

#include <stddef.h>
#include <stdint.h>

enum { CLI_RANGE_VALUES = 10000, CLI_RANGE_WORDS = 8, CLI_RANGE_TEXT = 32 };

typedef struct cli_range {
    char *words; /* "h+w", owned */
    size_t count;
    int64_t *numbers; /* ascending, each once; NULL: they are texts */
    char (*texts)[CLI_RANGE_TEXT];
} cli_range;

/* Reads one. A list may have ranges in it: "8,16..20". The caller frees also when this fails. */
bool cli_range_parse(const char *text, cli_range *range, cli_failure *failure);
void cli_range_free(cli_range *range);

/* Does the range give a value to the word? */
bool cli_range_has(const cli_range *range, const char *word, size_t length);

/* A problem's text with the words of all ranges set to values[i]: in place of those that it has,
 * else at its end. "{word}", "{word*2}" (or / + -) within a word of the problem is a place for the
 * value. free() it; NULL: out of memory. */
char *cli_range_problem(const char *problem, const cli_range *ranges, size_t count,
                        const size_t *values);

#endif
