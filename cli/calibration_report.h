/* SPDX-License-Identifier: Apache-2.0 */
/* Calibrates a device, and prints the errors of predictions by family, as a table or as JSON. */
#ifndef CLI_CALIBRATION_REPORT_H
#define CLI_CALIBRATION_REPORT_H

#include "json_out.h"
#include "setup.h"

/* Calibrates the context's device for about `seconds` (0: the default). *machine receives the
 * calibrated machine. */
bool cli_calibrate(const cli_setup *setup, const cli_common *common, double seconds,
                   rynd_machine *machine, cli_failure *failure);

/* Prints the last calibration; into `result` where it is not NULL. */
bool cli_report_calibration(const cli_setup *setup, cJSON *result, cli_failure *failure);

#endif
