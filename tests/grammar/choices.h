/* SPDX-License-Identifier: Apache-2.0 */
/* Choices out of bytes: a fuzzer's input, or random ones. Where the bytes end, every choice is the
 * first and plainest, so a shorter input is a simpler case, and what a fuzzer minimises stays
 * readable. */
#ifndef TESTS_GRAMMAR_CHOICES_H
#define TESTS_GRAMMAR_CHOICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct choices {
    const uint8_t *at, *end; /* borrowed */
    int slips;               /* mistakes that may still be made */
} choices;

/* How many mistakes there will be is the first choice: most often none, so that the model runs. */
choices choices_begin(const uint8_t *bytes, size_t size);
/* One of 0 to count-1; count is at least 1 and at most 65536. */
unsigned choose(choices *c, unsigned count);
int64_t choose_between(choices *c, int64_t least, int64_t most);
/* True `parts` times in 256. */
bool chance(choices *c, unsigned parts);
/* True where a mistake is to be made now. */
bool slip(choices *c);
int64_t choose_edge(choices *c); /* a number at some edge: 0, -1, 2^31, 2^62, ... */

/* Numbers that cost no bytes. */
typedef struct generator {
    uint64_t state;
} generator;

uint64_t generator_next(generator *n);
double generator_unit(generator *n); /* in [0, 1) */

#endif
