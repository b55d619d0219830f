/* SPDX-License-Identifier: Apache-2.0 */
/* The largest values of each row of a tensor: what a classifier says. */
#ifndef CLI_TOP_VALUES_H
#define CLI_TOP_VALUES_H

#include "held_tensor.h"

typedef struct cli_top_value {
    int64_t index;
    double value;
} cli_top_value;

typedef struct cli_top_values {
    /* the first dimension of a tensor of rank 2 or more (1 otherwise), and the elements behind
     * one of it */
    int64_t rows, row;
    int64_t top;          /* as asked, at most `row` */
    cli_top_value *items; /* [rows][top], largest first; among equals the lower index; NaN last */
} cli_top_values;

bool cli_top_values_make(cli_top_values *values, const rynd_tensor *tensor, int64_t top,
                         cli_failure *failure);
void cli_top_values_free(cli_top_values *values);

#endif
