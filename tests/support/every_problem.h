/* SPDX-License-Identifier: Apache-2.0 */
/* A table of problems that reaches every kernel: of each operator a few, with odd shapes, all its
 * attributes and types among them. */
#ifndef EVERY_PROBLEM_H
#define EVERY_PROBLEM_H

#include <stddef.h>

/* On the CPU the reference alone takes it: it is run, and known values are held against it
 * elsewhere. */
#define EVERY_PROBLEM_REFERENCE (-1)

typedef struct every_problem {
    /* relative to the largest magnitude of an output; kernel_case adds the rounding of narrower
     * types. 0: exact */
    double bound;
    const char *problem;
} every_problem;

extern const every_problem every_problems[];
extern const size_t every_problem_count;

#endif
