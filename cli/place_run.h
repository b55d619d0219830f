/* SPDX-License-Identifier: Apache-2.0 */
/* Runs what was placed: a thread a device, inputs one after another through the parts. */
#ifndef CLI_PLACE_RUN_H
#define CLI_PLACE_RUN_H

#include "options.h"

typedef struct cli_place_outcome {
    double predicted, measured; /* seconds until all inputs of all networks are done */
    double unplaced;            /* measured: the networks whole, on this machine's CPU */
    /* the largest root mean square of the difference to the unplaced networks' outputs, over that
     * of the outputs */
    double difference;
} cli_place_outcome;

/* Random inputs, the same every time; every device that has a part must be here. */
bool cli_place_run(const rynd_fleet *fleet, rynd_model *const *models, size_t model_count,
                   const rynd_placement *placement, const cli_common *common, size_t inputs,
                   cli_place_outcome *outcome, cli_failure *failure);

#endif
