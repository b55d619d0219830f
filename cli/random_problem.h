/* SPDX-License-Identifier: Apache-2.0 */
/* Random problems, for samples: convolutions of the kinds that networks have. */
#ifndef CLI_RANDOM_PROBLEM_H
#define CLI_RANDOM_PROBLEM_H

#include "options.h"

#include <stdint.h>

enum { CLI_PROBLEM = 256 }; /* room for a problem */

typedef enum cli_random_number {
    CLI_RANDOM_N,    /* images */
    CLI_RANDOM_C,    /* input channels */
    CLI_RANDOM_K,    /* output channels */
    CLI_RANDOM_SIZE, /* height and width */
    CLI_RANDOM_FLOP, /* operations of the whole */
    CLI_RANDOM_NUMBERS
} cli_random_number;

typedef struct cli_random_ranges {
    double least[CLI_RANDOM_NUMBERS], most[CLI_RANDOM_NUMBERS];
} cli_random_ranges;

/* Those of networks, but for what `given` says: "NAME=A..B" or "NAME=A" each, of n, c, k, size,
 * flop. */
bool cli_random_ranges_read(const cli_list *given, cli_random_ranges *ranges, cli_failure *failure);

/* The next of a sequence that a seed begins: the same on every machine. Fails where none is found
 * in the ranges. */
bool cli_random_problem(const cli_random_ranges *ranges, uint64_t *state, char text[CLI_PROBLEM],
                        cli_failure *failure);

#endif
