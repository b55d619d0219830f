/* SPDX-License-Identifier: Apache-2.0 */
/* What the choice for a problem was made among, collected and in order. */
#ifndef CLI_CANDIDATE_LIST_H
#define CLI_CANDIDATE_LIST_H

#include "steps.h"

/* Texts are owned. */
typedef struct cli_candidate {
    rynd_candidate is;
    size_t list;  /* its kernel's place in the library's list; 0: of the chosen kernel */
    size_t forms; /* number of forms of its kernel; 0: refused */
    size_t rank;  /* among its kernel's forms, by predicted time, from 0 */
} cli_candidate;

typedef struct cli_candidates {
    cli_candidate *items;
    size_t count;
    bool failed;
} cli_candidates;

/* Lists a step's candidates: the chosen one, then forms by predicted time, then kernels that are
 * refused, in the order of the library's list. The caller frees also when this fails. */
bool cli_candidates_get(cli_candidates *candidates, const cli_steps *steps, size_t step,
                        cli_failure *failure);
void cli_candidates_free(cli_candidates *candidates);

#endif
