/* SPDX-License-Identifier: Apache-2.0 */
/* What a graph means: its nodes one after another, by the reference kernels alone, every value
 * row-major, nothing folded, rewritten or planned. All that a node reads is known when its shape is
 * inferred, so what depends on data takes no second plan here.
 *
 * Beside its elements each value has a level: how far an engine that rounds elsewhere may differ.
 *   exact    by nothing: it was moved, compared, selected or computed in integers, out of what is
 *            exact
 *   rounded  by what perturbed runs show: a run with `noise` multiplies what a summing or rounding
 *            node reads and writes by 1 +- noise
 *   step     by a step, and by what perturbed runs show: a rounded number, quantised
 *   loose    by anything: a decision (a comparison, an index, rounding to an integer) was made
 *            about a rounded number */
#ifndef TESTS_GRAMMAR_REFERENCE_H
#define TESTS_GRAMMAR_REFERENCE_H

#include "graph/graph.h"
#include "problem/problem.h"

typedef enum reference_level {
    LEVEL_EXACT,
    LEVEL_ROUNDED,
    LEVEL_STEP,
    LEVEL_LOOSE
} reference_level;

typedef struct reference_options {
    uint64_t seed;       /* 0: no noise */
    bool sixteen_bits;   /* products may round their operands to bfloat16 */
    double flop_limit;   /* limit of the whole run */
    size_t memory_limit; /* limit of all values together */
} reference_options;

typedef struct reference_run {
    ry_graph *graph; /* inputs bound; the caller's, who frees it */
    reference_level *level;
    /* false: a shape or an index hangs on a rounded number, and what comes behind was not run */
    bool certain;
    bool too_large; /* beyond the limits: likewise */
    double flop;
} reference_run;

/* `graph` is bound and compacted; values of its inputs are constants (row-major data). Results
 * become constants, too: graph->values[id].constant and .shape. */
rynd_status reference_execute(ry_graph *graph, const reference_options *options, reference_run *run,
                              ry_error *error);
/* The part by which a sum of this type may be off: half of what a comparison allows for. */
double reference_noise(ry_dtype dtype, bool sixteen_bits);
/* Whether each operator of the graph has a rule. */
bool reference_knows(ry_op op);

#endif
