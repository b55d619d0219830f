/* SPDX-License-Identifier: Apache-2.0 */
/* What a symbol is: a linear form in other symbols ("2*H+W-1"), or itself. */
#ifndef RY_GRAPH_GRAPH_SYMBOLS_H
#define RY_GRAPH_GRAPH_SYMBOLS_H

#include "graph/graph.h"

/* Longer sums become symbols of their own, which only costs recognising that two of them are equal.
 */
#define RY_FORM_TERMS 4

typedef struct ry_dim_term {
    int64_t factor;
    uint32_t symbol;
} ry_dim_term;

typedef struct ry_dim_form {
    int64_t constant;
    int count;
    ry_dim_term term[RY_FORM_TERMS]; /* sorted by symbol; no factor is 0 */
} ry_dim_form;

#endif
