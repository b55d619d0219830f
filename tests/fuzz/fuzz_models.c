/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as choices of a grammar: models that are nearly right, loaded, planned, run and
 * compared with the references. One thread, because libFuzzer chooses inputs by the code that they
 * reach, and waiting threads reach other code in each run: model_cases has the threads. Prints at
 * the end how many cases ran. */
#include "case_totals.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static case_engine engine;
static case_totals totals;

static void print_totals(void)
{
    case_totals_print(&totals, stderr);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    if (!case_engine_create(&engine, NULL, false) || atexit(print_totals) != 0) {
        fprintf(stderr, "%s\n", rynd_last_error());
        exit(1);
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static grammar g;
    static case_report report;
    grammar_make(&g, data, size);
    model_case_run(&engine, &g, &report);
    case_totals_count(&totals, &g, &report);
    if (report.outcome == CASE_WRONG) {
        grammar_print(&g, stderr);
        fprintf(stderr, "%s\n", report.message);
        abort();
    }
    grammar_free(&g);
    return 0;
}
