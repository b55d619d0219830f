/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of a model's nodes and parameters. */
#ifndef CLI_INSPECT_LIST_H
#define CLI_INSPECT_LIST_H

#include "setup.h"

/* Prints the nodes, the parameters, or both. Shapes are those of the plan, if there is one. */
bool cli_inspect_list(const cli_setup *setup, bool layers, bool parameters, bool json,
                      cli_failure *failure);

#endif
