/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions' short form of a problem's text. */
#ifndef RY_PROBLEM_PROBLEM_CONV_H
#define RY_PROBLEM_PROBLEM_CONV_H

#include "problem/problem.h"
#include "problem/problem_words.h"

/* false: it does not fit, and nothing is written */
bool ry_problem_print_short(const ry_problem *problem, ry_text *text);
rynd_status ry_problem_parse_short(ry_op op, const char *words, const char *text, ry_arena *arena,
                                   ry_problem *problem, ry_error *error);

#endif
