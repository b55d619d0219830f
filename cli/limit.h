/* SPDX-License-Identifier: Apache-2.0 */
/* The seconds that work takes at least on a machine: its operations at the peak, or its bytes
 * through the smallest memory that holds them, whichever is more (the roofline of Williams,
 * Waterman and Patterson, 2009). */
#ifndef CLI_LIMIT_H
#define CLI_LIMIT_H

#include "options.h"

typedef struct cli_limit {
    rynd_machine machine;
    unsigned threads;
} cli_limit;

/* Those of a context; says with --verbose when the rates are built in. */
bool cli_limit_open(cli_limit *limit, const rynd_context *context, const cli_common *common,
                    cli_failure *failure);

/* Returns the rate of as many cores as there are threads. */
double cli_limit_rate(const cli_limit *limit, const rynd_rate *rate);

/* Returns the roofline limit of a step in seconds; negative if no peak is known to bound its
 * type. */
double cli_limit_of(const cli_limit *limit, const rynd_step_info *step);

#endif
