/* SPDX-License-Identifier: Apache-2.0 */
/* A block of bytes: a file that was mapped, or one to be written. */
#ifndef CLI_BYTES_H
#define CLI_BYTES_H

#include <stddef.h>

typedef struct cli_bytes {
    void *data;
    size_t size;
} cli_bytes;

#endif
