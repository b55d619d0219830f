/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of memory as one writes them. */
#ifndef CLI_SIZE_H
#define CLI_SIZE_H

#include "failure.h"

#include <stddef.h>

/* "1500000000", "800M", "1.5G", "1.5GiB": K, M, G and T are 1024 times one another. `option` is for
 * the message; 0 is refused. */
bool cli_size_read(const char *text, const char *option, size_t *bytes, cli_failure *failure);

#endif
