/* SPDX-License-Identifier: Apache-2.0 */
/* One model of the grammar through the library, under limits, and what must hold of it:
 *   a refusal has a message;
 *   a plan made twice is the same; a second run, and in some cases one with three threads, give
 *       the same bits;
 *   the references (reference.h) succeed where the library does, and fail where it fails;
 *   shapes are theirs, and so are values, by their level. */
#ifndef TESTS_GRAMMAR_MODEL_CASE_H
#define TESTS_GRAMMAR_MODEL_CASE_H

#include "base/cpuid.h"
#include "grammar.h"

#include <rynd/rynd.h>

typedef enum case_outcome {
    CASE_REFUSED,   /* when it was loaded or planned */
    CASE_TOO_LARGE, /* beyond the limits: not run */
    CASE_FAILED,    /* its run ended with an error, as the references' did */
    CASE_RAN,       /* and all outputs were compared but those that are loose */
    CASE_WRONG      /* a mistake of the library; the message says which */
} case_outcome;

typedef struct case_report {
    case_outcome outcome;
    int compared;       /* outputs, by value */
    char message[4400]; /* message of a refusal or failure */
} case_report;

/* Contexts of one thread, and of three or NULL, for each instruction set that the machine has. All
 * share a budget of memory. */
typedef struct case_engine {
    int isas;
    rynd_context *one[RY_ISAS], *three[RY_ISAS];
} case_engine;

/* isa NULL: all. Without `threads` all runs take one thread, and repeat exactly. False where the
 * library refuses (rynd_last_error). */
bool case_engine_create(case_engine *engine, const char *isa, bool threads);
void case_engine_destroy(case_engine *engine);
/* The instruction set, accuracy and the like are choices, too: the next of g->c. */
void model_case_run(const case_engine *engine, grammar *g, case_report *report);

#endif
