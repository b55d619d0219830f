/* SPDX-License-Identifier: Apache-2.0 */
/* Records of wisdom as tables and as JSON, one by one as the library gives them. */
#ifndef CLI_WISDOM_TABLES_H
#define CLI_WISDOM_TABLES_H

#include "json_out.h"
#include "progress.h"
#include "table.h"

/* A table for each machine. The list is the user of cli_wisdom_list_add. */
typedef struct cli_wisdom_list {
    cJSON *results; /* NULL: text */
    cli_table table;
    char *machine; /* machine of the current table; NULL before the first */
    bool here, failed;
} cli_wisdom_list;

void cli_wisdom_list_begin(cli_wisdom_list *list, cJSON *results);
int cli_wisdom_list_add(void *user, const rynd_wisdom_record *record);
/* status: what showing came to. Prints what is left, and frees. */
bool cli_wisdom_list_end(cli_wisdom_list *list, rynd_status status, cli_failure *failure);

/* What was measured again, and how all of it has changed. */
typedef struct cli_wisdom_drifts {
    cJSON *results; /* NULL: text */
    cli_progress progress;
    cli_table table;
    size_t count;
    double logarithms, least, most; /* statistics of the ratios */
} cli_wisdom_drifts;

void cli_wisdom_drifts_begin(cli_wisdom_drifts *drifts, const cli_common *common, cJSON *results);
int cli_wisdom_drifts_add(void *user, const rynd_wisdom_drift *drift);
bool cli_wisdom_drifts_end(cli_wisdom_drifts *drifts, rynd_status status, cli_failure *failure);

#endif
