/* SPDX-License-Identifier: Apache-2.0 */
/* Plans and profiles as one page of HTML, with its data, styles and scripts in it: no network. */
#ifndef CLI_PAGE_H
#define CLI_PAGE_H

#include "limit.h"
#include "setup.h"

#include <cjson/cJSON.h>

/* The data of a plan's page: document.kind is "plan", document.steps has one object a step. A
 * profile changes the kind and adds times and spans. NULL: failed. */
cJSON *cli_page_data(const cli_setup *setup, const cli_limit *limit, const char *model,
                     cli_failure *failure);

/* Frees the data and writes the page. */
bool cli_page_write(cJSON *data, const char *path, cli_failure *failure);

#endif
