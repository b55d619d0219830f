/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a plan as a graph in Graphviz's language. */
#ifndef CLI_PLAN_DOT_H
#define CLI_PLAN_DOT_H

#include "failure.h"

#include <rynd/rynd.h>

/* Prints a node for each step, input and output of the model, and an edge, with its layout and
 * shape, for each value. */
bool cli_plan_print_dot(const rynd_plan *plan, cli_failure *failure);

#endif
