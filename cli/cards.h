/* SPDX-License-Identifier: Apache-2.0 */
/* The cards whose machines are built in, as a table. */
#ifndef CLI_CARDS_H
#define CLI_CARDS_H

#include "failure.h"

#include <stdbool.h>

bool cli_show_cards(bool json, cli_failure *failure);

#endif
