/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the results of `rynd tune`. */
#ifndef CLI_TUNE_REPORT_H
#define CLI_TUNE_REPORT_H

#include "json_out.h"
#include "table.h"

#include <rynd/rynd.h>

/* One row a problem: what it took before and takes after, and by which kernel; with `full` two
 * rows, of the untuned choice and of the tuned one, with their statistics. */
void cli_tune_table_begin(cli_table *table, bool full);
bool cli_tune_table_add(cli_table *table, const rynd_tuning *tuning, bool full,
                        cli_failure *failure);

/* A line of what became of a whole model, or of a problem alone. */
bool cli_tune_print_summary(FILE *file, const char *name, const rynd_tuning *tuning, bool model,
                            cli_failure *failure);

/* An object of what was tuned, appended to `results`. */
bool cli_tune_add_json(cJSON *results, const char *name, const rynd_tuning *tuning, bool model,
                       cli_failure *failure);

#endif
