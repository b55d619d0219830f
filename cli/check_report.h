/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a device's kernels and tells what was found (rynd devices --check). */
#ifndef CLI_CHECK_REPORT_H
#define CLI_CHECK_REPORT_H

#include "failure.h"
#include "json_out.h"
#include "setup.h"

/* Adds "check" to `result`; NULL: prints a table and a closing line. *wrong grows by the kernels
 * that are not right. */
bool cli_report_check(const cli_setup *setup, const cli_common *common, cJSON *result,
                      size_t *wrong, cli_failure *failure);

#endif
