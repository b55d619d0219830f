/* SPDX-License-Identifier: Apache-2.0 */
/* The outputs of a run, kept and compared. */
#ifndef TESTS_GRAMMAR_CASE_COMPARE_H
#define TESTS_GRAMMAR_CASE_COMPARE_H

#include "grammar.h"
#include "reference.h"

#include <rynd/rynd.h>

typedef struct case_outputs {
    size_t count;
    rynd_tensor tensor[GRAMMAR_VALUES]; /* data: copies; freed by case_outputs_free */
} case_outputs;

bool case_outputs_take(const rynd_session *session, const rynd_model *model, case_outputs *outputs);
void case_outputs_free(case_outputs *outputs);
bool case_outputs_same(const case_outputs *a, const case_outputs *b); /* shapes and bits */
enum { CASE_NOISY_RUNS = 16 };

/* Runs of the references: one as it is, and up to CASE_NOISY_RUNS with noise. */
typedef struct case_expected {
    const reference_run *reference;
    reference_run noisy[CASE_NOISY_RUNS];
    int runs;
    bool sixteen_bits;
} case_expected;

/* Shapes and values against the references'. Gives the number of outputs of which values were
 * compared; -1: there is a difference. */
int case_outputs_agree(const case_outputs *outputs, const case_expected *expected, char *difference,
                       size_t size);

#endif
