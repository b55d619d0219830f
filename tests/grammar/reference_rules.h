/* SPDX-License-Identifier: Apache-2.0 */
/* How each operator of the graph passes on that what it reads was rounded. */
#ifndef TESTS_GRAMMAR_REFERENCE_RULES_H
#define TESTS_GRAMMAR_REFERENCE_RULES_H

#include "graph/graph.h"
#include "reference.h"

typedef enum rule_kind {
    RULE_NONE,
    RULE_MOVE,   /* gives elements of its inputs */
    RULE_SUM,    /* rounds, and is continuous in its inputs */
    RULE_DECIDE, /* not continuous: of rounded inputs nothing is known */
    RULE_EXPR    /* its program says */
} rule_kind;

typedef struct rule {
    rule_kind kind;
    /* inputs whose content decides shapes or places: bit i; these must be exact */
    unsigned steering;
    unsigned deciding; /* outputs that are decisions, though the others are not */
    /* inputs that must be finite for anything to be known (docs/accuracy.md, docs/operators.md) */
    unsigned finite;
} rule;

rule reference_rule(const ry_graph *graph, const ry_node *node);

#endif
