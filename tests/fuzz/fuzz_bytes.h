/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzzers of the command's file formats share: the input as a file that was read. */
#ifndef TESTS_FUZZ_BYTES_H
#define TESTS_FUZZ_BYTES_H

#include "bytes.h"
#include "failure.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A copy of the exact size (AddressSanitizer sees reads beyond it). */
static inline cli_bytes fuzz_bytes(const uint8_t *data, size_t size)
{
    cli_bytes bytes = {.data = NULL, .size = size};
    if (posix_memalign(&bytes.data, 64, size ? size : 1) != 0) {
        abort();
    }
    memcpy(bytes.data, data, size);
    return bytes;
}

/* A refusal says why. */
static inline void fuzz_refused(const cli_failure *failure)
{
    if (!failure->text[0] || failure->exit_code == 0) {
        abort();
    }
}

#endif
