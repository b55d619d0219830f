/* SPDX-License-Identifier: Apache-2.0 */
/* What became of many models. */
#ifndef TESTS_GRAMMAR_CASE_TOTALS_H
#define TESTS_GRAMMAR_CASE_TOTALS_H

#include "model_case.h"

enum { CASE_ROWS = 1024 }; /* at least as many as onnx/operators.inc has */

typedef struct case_totals {
    int64_t models, outcomes[CASE_WRONG + 1], compared, nodes;
    int64_t rows[CASE_ROWS]; /* nodes of each table row in models that ran */
} case_totals;

const char *case_outcome_name(case_outcome outcome);
void case_totals_count(case_totals *totals, const grammar *g, const case_report *report);
void case_totals_print(const case_totals *totals, FILE *file); /* one line */

#endif
