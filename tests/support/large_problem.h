/* SPDX-License-Identifier: Apache-2.0 */
/* Problems with one size or attribute made large, so that planning which takes time or memory in
 * proportion to it never ends. */
#ifndef LARGE_PROBLEM_H
#define LARGE_PROBLEM_H

#include "problem/problem.h"

/* A place in a problem that holds a number: a dim of an input, or a number of an attribute. */
typedef struct large_site {
    int tensor, dim;  /* tensor -1: an attribute */
    bool alike;       /* change all dims of inputs and outputs that are equal to this one, too */
    int field, index; /* index in ry_op_fields; index in the list */
} large_site;

/* Walks all sites of a problem, in a fixed order. Begin with *at = 0; false: there are no more. */
bool large_site_next(const ry_problem *problem, size_t *at, large_site *site);

/* `problem` with `number` at the site and outputs as large as inference makes them, in the layout
 * they had. False: there is no such problem. The copy lives in the arena. */
bool large_problem_make(const ry_problem *problem, const large_site *site, int64_t number,
                        ry_arena *arena, ry_problem *large);

#endif
